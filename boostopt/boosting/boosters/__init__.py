"""The boosters of the literature that solve no convex program, over the same oracles, with the same runs.

Each booster has a formulation, and `boost("smoothboost", oracle, ...)` runs it.
A reweighting rule sets the distribution. If the distribution lies within the caps of nu, the run still certifies the
soft margin at nu over the class.
"""

from collections.abc import Mapping
from types import ModuleType

from boostopt._utils.lazy_names import import_modules
from boostopt.boosting.booster_names import BOOSTERS_BY_NAME
from boostopt.boosting.reweighting import Booster as Booster
from boostopt.boosting.reweighting import outside as outside
from boostopt.programs.formulation_catalogue import formulation_in


def _booster_in(module: ModuleType) -> Booster:
    """Return the one booster that a module defines."""
    formulation = formulation_in(module)
    if not isinstance(formulation, Booster):
        raise TypeError(f"expected a Booster in {module.__file__}; got {formulation!r}. Derive its class from Booster.")
    return formulation


BOOSTERS: Mapping[str, Booster] = {booster.name: booster for booster in map(_booster_in, import_modules(__name__))}
"""The boosters by the names in files of runs, which are those of the literature and no name of a formulation.

Each module of this folder defines one.
"""

BOOSTERS_BY_NAME.update({name.lower(): booster for name, booster in BOOSTERS.items()})
