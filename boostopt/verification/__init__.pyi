from .certificate_writer import save as save
from .class_certificate_files import save_class as save_class
from .verify import Verification as Verification
from .verify import subject as subject
from .verify import verify as verify

__all__: list[str]
