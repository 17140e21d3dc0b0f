"""A changed table as the file it came from wrote it: postcodes keep their zeros, decimals their commas."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import polars as pl

from glasshouse.core.errors import GlasshouseError
from glasshouse.data.conversion import with_plain_numbers
from glasshouse.data.files import TEXT, contents_of
from glasshouse.data.files.text import read_csv, separator_of


def csv_like(table: pl.DataFrame, source: Path, encoding: str | None = None) -> str:
    """A table as CSV, columns and values that nobody changed as they stand in the file it was read from.

    Parameters
    ----------
    table : polars.DataFrame
        The table.
    source : Path
        The file it was read from; where it is no text, all columns are written as they were read.
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
    read = with_plain_numbers(before)
    comma = {c for c in before.columns if read.schema[c].is_float() and before.schema[c] == pl.String}
    made: list[pl.Series] = []
    for name in (c for c in table.columns if c in before.columns):
        same = any(one[name].equals(table[name]) for one in (before, read))
        own = name in comma or (bool(comma) and not read.schema[name].is_float())  # whole ones that became decimals
        made.append(stands[name] if same else _spelt(table[name], read[name], stands[name], own))
    into = StringIO()
    table.with_columns(made).write_csv(into, separator=separator)
    return into.getvalue()


def _spelt(now: pl.Series, before: pl.Series, stands: pl.Series, comma: bool) -> pl.Series:
    """A changed column as text: a value the file has is spelt as it stands there, another one with the file's comma."""
    text = now.cast(pl.String)
    if now.dtype.is_float() and comma:
        text = text.str.replace(".", ",", literal=True)
    if now.dtype != before.dtype:
        return text
    known = pl.DataFrame({"value": before, "spelt": stands}).unique("value", keep="first", maintain_order=True)
    found = pl.DataFrame({"value": now}).join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["spelt"].fill_null(text).alias(now.name)
