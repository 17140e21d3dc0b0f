"""Risk measures, one file per family. gh.disclosure.<name>(pair)."""

from glasshouse.core.rooms import measure_room

__getattr__, __dir__ = measure_room(__name__, __path__, "disclosure")
