"""Column generation: `boost` adds columns until a stopping rule holds, and a `Run` certifies the result."""

from boostopt.boosting import boosters as boosters
from boostopt.boosting.boost_function import boost
from boostopt.boosting.boost_options import BoostOptions
from boostopt.boosting.objectives.class_certificate import ClassCertificate
from boostopt.boosting.regularization_path import RegularizationPath, path
from boostopt.boosting.run.run import Run
from boostopt.boosting.run.stop_reason import StopReason
from boostopt.boosting.run.trace import Trace, TraceRow
from boostopt.boosting.run.weight_history import Round
from boostopt.boosting.stabilization import Stabilization
from boostopt.boosting.stopping_rules import RULES, Rule, Schedule
from boostopt.boosting.weight_limits import LimitCertificate, certify_limits

__all__ = [
    "RULES",
    "BoostOptions",
    "ClassCertificate",
    "LimitCertificate",
    "RegularizationPath",
    "Round",
    "Rule",
    "Run",
    "Schedule",
    "Stabilization",
    "StopReason",
    "Trace",
    "TraceRow",
    "boost",
    "certify_limits",
    "path",
]
