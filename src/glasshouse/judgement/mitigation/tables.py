"""A pair's tables as operations take them."""

from __future__ import annotations

from collections.abc import Mapping

from glasshouse.data.conversion import with_plain_numbers
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair


def own_table(pair: Pair, table: str) -> Frame:
    """The caller's own table; of a file, what the pair read of it.

    Who reads the file again knows neither the encoding nor that its first line holds names, as the pair was told, and
    lays garbled labels beside good ones.

    Parameters
    ----------
    pair
        With one release.
    table
        "original", "released" or "holdout".

    Returns
    -------
    frame
        In the caller's library; polars where it came from a file.
    """
    read = pair._tables.adopted[table]
    if read.contents is not None:
        return with_plain_numbers(read.native)
    given = pair._given[table]
    if table == "released" and isinstance(given, (list, tuple)):
        return given[0]
    return next(iter(given.values())) if table == "released" and isinstance(given, Mapping) else given
