"""The papers' boosters that are the solution of no convex program, over the same oracles, with the same runs.

Each is a function that boosts: its distribution is set by a rule of its own, and as far as it lies within the caps of
nu the run certifies the soft margin at nu over the class all the same.
"""

from collections.abc import Mapping

from boostopt.boosting.boosters.adaboost_reg import AdaBoostREG
from boostopt.boosting.boosters.adaboost_reg import adaboost_reg as adaboost_reg
from boostopt.boosting.boosters.base import Booster as Booster
from boostopt.boosting.boosters.base import Options as Options
from boostopt.boosting.boosters.base import outside as outside
from boostopt.boosting.boosters.brownboost import BrownBoost
from boostopt.boosting.boosters.brownboost import brownboost as brownboost
from boostopt.boosting.boosters.madaboost import MadaBoost
from boostopt.boosting.boosters.madaboost import madaboost as madaboost
from boostopt.boosting.boosters.smoothboost import SmoothBoost
from boostopt.boosting.boosters.smoothboost import smoothboost as smoothboost
from boostopt.boosting.saving import PAGES

BOOSTERS: Mapping[str, Booster] = {
    page.name: page for page in (AdaBoostREG(), SmoothBoost(), BrownBoost(), MadaBoost())
}
"""The pages by the names under which runs are saved: the literature's, which no formulation has."""

PAGES.update(BOOSTERS)
