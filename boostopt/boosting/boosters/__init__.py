"""The papers' boosters that are the solution of no convex program, over the same oracles, with the same runs.

Each has a page and a function that boosts: `boost("smoothboost", oracle, ...)` is `smoothboost(oracle, ...)`. Its
distribution is set by a rule of its own, and as far as it lies within the caps of nu the run certifies the soft margin
at nu over the class all the same.
"""

from collections.abc import Mapping

from boostopt.boosting.boosters.adaboost_reg import AdaBoostREG
from boostopt.boosting.boosters.adaboost_reg import adaboost_reg as adaboost_reg
from boostopt.boosting.boosters.brownboost import BrownBoost
from boostopt.boosting.boosters.brownboost import brownboost as brownboost
from boostopt.boosting.boosters.madaboost import MadaBoost
from boostopt.boosting.boosters.madaboost import madaboost as madaboost
from boostopt.boosting.boosters.smoothboost import SmoothBoost
from boostopt.boosting.boosters.smoothboost import smoothboost as smoothboost
from boostopt.boosting.registry import PAGES
from boostopt.boosting.reweighting import Booster as Booster
from boostopt.boosting.reweighting import outside as outside

BOOSTERS: Mapping[str, Booster] = {
    page.name: page for page in (AdaBoostREG(), SmoothBoost(), BrownBoost(), MadaBoost())
}
"""The pages by the names under which runs are saved: the literature's, which no formulation has."""

PAGES.update({name.lower(): page for name, page in BOOSTERS.items()})
