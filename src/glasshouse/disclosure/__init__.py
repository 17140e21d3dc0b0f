"""Risk measures, one folder per family. gh.disclosure.<name>(pair)."""

from glasshouse.core.rooms import attach_measures

__getattr__, __dir__, __all__ = attach_measures(__name__, __file__)
