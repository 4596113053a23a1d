"""boostopt's own solver: a structured primal-dual interior point method."""

from boostopt.backends.interior.backend import InteriorBackend

__all__ = ["InteriorBackend"]
