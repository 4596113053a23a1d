from .classes import save_class as save_class
from .verifying import Verification as Verification
from .verifying import subject as subject
from .verifying import verify as verify
from .writing import save as save

__all__: list[str]
