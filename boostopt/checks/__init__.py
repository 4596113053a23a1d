"""Checks of regularizers, edge functions, formulations, oracles and backends: reports name what fails, with numbers."""

from boostopt.checks.backend_checks import check_backend
from boostopt.checks.check_report import Check, CheckReport, ChecksFailed
from boostopt.checks.edge_checks import check_edge
from boostopt.checks.formulation_checks import check_formulation
from boostopt.checks.oracle_checks import check_oracle
from boostopt.checks.regularizer_checks import check_regularizer

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
