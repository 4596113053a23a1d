from .backend_comparisons import intervals as intervals
from .backend_comparisons import profiles as profiles
from .claimed_gaps import claimed_against_certified as claimed_against_certified
from .decision_regions import decision_regions as decision_regions
from .example_weights import example_weights as example_weights
from .example_weights import weights_by_margin as weights_by_margin
from .heat_maps import heat_map as heat_map
from .margin_distributions import margin_distributions as margin_distributions
from .path_of_runs import path_of_runs as path_of_runs
from .picture_arguments import MatplotlibNotFound as MatplotlibNotFound
from .soft_margin_bounds import bounds as bounds
from .trajectories import cycles as cycles
from .trajectories import triangle as triangle
from .weights_on_triangle import weights_on_triangle as weights_on_triangle
from .work_precision_lines import work_precision as work_precision

__all__: list[str]
