"""The run-time type checker of the tests: shapes and types of every call, an int being good enough for a float."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
