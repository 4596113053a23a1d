"""Names for modules of `formulations/`, and for formulations, regularizers and backends of one's own."""

from boostopt._utils.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__)
