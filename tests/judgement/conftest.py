"""Fixtures of this room."""

from tests.fakes import only_fakes

__all__ = ["only_fakes"]
