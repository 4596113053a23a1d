"""boostopt's own solver: a structured primal-dual interior point method."""

from boostopt.backends.interior.interior_backend import InteriorBackend

__all__ = ["InteriorBackend"]
