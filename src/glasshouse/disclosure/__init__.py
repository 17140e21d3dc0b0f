"""Risk measures, one file per family. gh.disclosure.<name>(pair)."""

from glasshouse.core.rooms import measure_room

measure_room(__name__)
