"""Checks of regularizers, edge functions, formulations, oracles and backends: reports name what fails, with numbers."""

from boostopt.checks.backends import check_backend
from boostopt.checks.edges import check_edge
from boostopt.checks.oracles import check_oracle
from boostopt.checks.pages import check_formulation
from boostopt.checks.regularizers import check_regularizer
from boostopt.checks.report import Check, CheckReport, ChecksFailed

__all__ = [
    "Check",
    "CheckReport",
    "ChecksFailed",
    "check_backend",
    "check_edge",
    "check_formulation",
    "check_oracle",
    "check_regularizer",
]
