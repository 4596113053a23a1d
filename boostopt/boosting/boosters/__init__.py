"""The boosters of the literature that solve no convex program, over the same oracles, with the same runs.

Each booster has a formulation, and `boost("smoothboost", oracle, ...)` runs it.
A reweighting rule sets the distribution. If the distribution lies within the caps of nu, the run still certifies the
soft margin at nu over the class.
"""

from collections.abc import Mapping

from boostopt.boosting.boosters.adaboost_reg import AdaBoostREG
from boostopt.boosting.boosters.brownboost import BrownBoost
from boostopt.boosting.boosters.madaboost import MadaBoost
from boostopt.boosting.boosters.smoothboost import SmoothBoost
from boostopt.boosting.registry import PAGES
from boostopt.boosting.reweighting import Booster as Booster
from boostopt.boosting.reweighting import outside as outside

BOOSTERS: Mapping[str, Booster] = {
    booster.name: booster for booster in (AdaBoostREG(), SmoothBoost(), BrownBoost(), MadaBoost())
}
"""The boosters by the names in files of runs, which are those of the literature and no name of a formulation."""

PAGES.update({name.lower(): booster for name, booster in BOOSTERS.items()})
