from .export import export as export
from .program_set import export_set as export_set

__all__: list[str]
