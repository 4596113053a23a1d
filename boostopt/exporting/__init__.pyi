from .sets import export_set as export_set
from .writing import export as export

__all__: list[str]
