"""Utility measures, one folder per question. gh.utility.<name>(pair)."""

from glasshouse.core.rooms import attach_measures

__getattr__, __dir__, __all__ = attach_measures(__name__, __file__)
