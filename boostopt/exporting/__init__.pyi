from .writing import export as export

__all__: list[str]
