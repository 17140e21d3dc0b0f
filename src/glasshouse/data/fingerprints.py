"""A short hash of what a table holds, so that a report names exactly what was assessed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import narwhals as nw
import polars as pl
from polars import selectors as cs

from glasshouse.data.arrays import Ints
from glasshouse.data.conversion import collected
from glasshouse.data.findings import spoken
from glasshouse.data.frames import Adopted
from glasshouse.data.schema import family
from glasshouse.data.travel import carried, decoded, labels_of

CHUNK = 100_000  # records that are text at one time


def fingerprint(adopted: Adopted, table: str) -> str:
    """Hash of the content of a table and of the order of its columns, the same in every library.

    Parameters
    ----------
    adopted : Adopted
        The table as given: in the types the tables have in common, the release would tell of the original's.
    table : str
        Its name, for messages.

    Returns
    -------
    str
        16 hexadecimal digits of SHA-256.
    """
    digest = hashlib.sha256()
    for i, chunk in enumerate(_chunks(adopted, table)):
        plain = _plain(chunk)
        if not i:
            digest.update("\x1f".join(f"{c}:{t}" for c, t in plain.schema.items()).encode())
        digest.update(plain.write_csv(include_header=False).encode())
    return digest.hexdigest()[:16]


def content_of(frame: pl.DataFrame) -> str:
    """Hash of the records of a table, in whatever order its rows and columns stand, the same in every library.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; what only Python can read in it is left out.

    Returns
    -------
    str
        64 hexadecimal digits of SHA-256.
    """
    digest = hashlib.sha256()
    names = _named(frame)
    digest.update("\x1f".join(names).encode())
    if names:
        records = _records(frame, names).sort()
        for start in range(0, len(records), CHUNK):
            digest.update("\x1e".join([*records.slice(start, CHUNK), ""]).encode())
    return digest.hexdigest()


def drawn_order(frame: pl.DataFrame, *names: object) -> Ints:
    """Rows in a random order that follows from the stream called ``names`` and from what each row holds, and from
    nothing else: neither from the order of rows and columns, nor from who else is there.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; what only Python can read in it is left out.
    *names
        Of the stream, such as a seed.

    Returns
    -------
    array of int
        Row numbers.
    """
    records = _records(frame, _named(frame)).alias("record")
    # equal rows are told apart by counting them, or all of them would stand in one place
    table = records.to_frame().with_columns(pl.int_range(pl.len()).over("record").alias("nth"))
    start = hashlib.sha256("\x1f".join(str(n) for n in names).encode())
    keys = []
    for record, nth in table.iter_rows():
        digest = start.copy()
        digest.update(f"\x1e{nth}\x1f{record}".encode())
        keys.append(digest.digest())
    order: Ints = pl.Series(keys, dtype=pl.Binary).arg_sort().to_numpy()
    return order


def _named(frame: pl.DataFrame) -> list[str]:
    return sorted(name for name, kind in frame.schema.items() if kind != pl.Object)


def _records(frame: pl.DataFrame, names: list[str]) -> pl.Series:
    """Every record as one text."""
    if not names:
        return pl.Series([""] * frame.height, dtype=pl.String)
    cells = pl.all().cast(pl.String).fill_null("\x00")
    return _plain(frame.select(names)).select(pl.concat_str(cells, separator="\x1f")).to_series()


def _chunks(adopted: Adopted, table: str) -> Iterator[pl.DataFrame]:
    """The records in turn. Texts of a table that is elsewhere come as codes, and are texts for one chunk only."""
    names = list(adopted.lazy.collect_schema().names())
    levels: dict[str, list[str]] = {}
    if adopted.in_memory:
        frame = collected(adopted.lazy, spoken(table))
    else:
        texts = [c for c, kind in adopted.lazy.collect_schema().items() if family(kind) == "text"]
        lazy = adopted.lazy.with_columns(*(nw.col(c).cast(nw.String) for c in texts)) if texts else adopted.lazy
        levels = {c: found.sort().to_list() for c, found in labels_of(lazy, texts, spoken(table)).items()}
        frame = carried(lazy, adopted.library, names, levels, {}, spoken(table))
    for start in range(0, max(frame.height, 1), CHUNK):
        chunk = frame.slice(start, CHUNK)
        yield chunk.with_columns(decoded(chunk[c], labels) for c, labels in levels.items())


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Values whatever library held them and whatever stands beside them: numbers, and text."""
    numbers = cs.numeric().cast(pl.Float64).fill_nan(None)
    # a date is a moment in some libraries, and a length of time has no text in this one
    moments, lengths = (cs.date() | cs.datetime()).dt.epoch("us"), cs.duration().dt.total_microseconds()
    # a column of lists, records or bytes that only one table has is read by nobody, and still is part of the table
    nested = [pl.struct(c).struct.json_encode().alias(c) for c, t in frame.schema.items() if t.is_nested()]
    frame = frame.with_columns(numbers, moments, lengths, cs.binary().bin.encode("hex"), *nested)
    return frame.with_columns((~cs.by_dtype(pl.Float64)).cast(pl.String))
