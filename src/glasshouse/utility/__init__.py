"""Utility measures, one file per question. gh.utility.<name>(pair)."""

from glasshouse.core.rooms import measure_room

measure_room(__name__)
