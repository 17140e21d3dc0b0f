"""Utility measures, one file per question. gh.utility.<name>(pair)."""

from glasshouse.core.rooms import measure_room

__getattr__, __dir__ = measure_room(__name__, __path__, "utility")
