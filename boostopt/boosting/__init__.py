"""Column generation: `boost` grows a program until a stopping rule holds, and a `Run` proves how good the result is."""

from boostopt.boosting import boosters as boosters
from boostopt.boosting.boosts import boost
from boostopt.boosting.history import Round
from boostopt.boosting.options import BoostOptions
from boostopt.boosting.paths import RegularizationPath, path
from boostopt.boosting.reasons import StopReason
from boostopt.boosting.rules import RULES, Rule, Schedule
from boostopt.boosting.run import Run
from boostopt.boosting.soft_margin import ClassCertificate
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.trace import Row, Trace

__all__ = [
    "RULES",
    "BoostOptions",
    "ClassCertificate",
    "RegularizationPath",
    "Round",
    "Row",
    "Rule",
    "Run",
    "Schedule",
    "Stabilization",
    "StopReason",
    "Trace",
    "boost",
    "path",
]
