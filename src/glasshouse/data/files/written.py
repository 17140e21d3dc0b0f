"""A changed table as the file it came from wrote it: postcodes keep their zeros, decimals their commas."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import polars as pl

from glasshouse.core.errors import GlasshouseError
from glasshouse.data.files import TEXT, contents_of
from glasshouse.data.files.text import read_csv, separator_of


def csv_like(table: pl.DataFrame, source: Path, encoding: str | None = None) -> str:
    """A table as CSV, columns that nobody changed as they stand in the file it was read from.

    Parameters
    ----------
    table : polars.DataFrame
        The table.
    source : Path
        The file it was read from; where it is no text, or has other records, all columns are written as they were read.
    encoding : str, optional
        Encoding of that file.

    Returns
    -------
    str
        With the separator of that file.
    """
    if not source.name.lower().endswith(TEXT):
        return table.write_csv()
    try:
        before, stands = contents_of(source, encoding).frame, read_csv(source, encoding, kinds=False).frame
        separator = separator_of(source, encoding)
    except GlasshouseError:  # read once before: it has gone or changed in between
        return table.write_csv()
    kept = [
        name
        for name in table.columns
        if name in before.columns and before.height == table.height and before[name].equals(table[name])
    ]
    into = StringIO()
    table.with_columns(stands[name] for name in kept).write_csv(into, separator=separator)
    return into.getvalue()
