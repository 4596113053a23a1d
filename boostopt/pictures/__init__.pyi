from .by_margin import weights_by_margin as weights_by_margin
from .claims import claimed_against_certified as claimed_against_certified
from .comparisons import intervals as intervals
from .comparisons import profiles as profiles
from .heat_maps import heat_map as heat_map
from .margins import margin_distributions as margin_distributions
from .on_triangle import weights_on_triangle as weights_on_triangle
from .paths import path_of_runs as path_of_runs
from .regions import decision_regions as decision_regions
from .rounds import bounds as bounds
from .simplex import cycles as cycles
from .simplex import triangle as triangle
from .tools import MatplotlibNotFound as MatplotlibNotFound
from .weights import example_weights as example_weights

__all__: list[str]
