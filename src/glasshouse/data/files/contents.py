"""What a file says: the table, and what its own format tells about the columns beyond their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import polars as pl

Code: TypeAlias = "float | str"  # a value that stands for something: a number, a short text, or the letter of a reason
Orders: TypeAlias = dict[str, tuple[list[str], bool]]  # levels of a category as declared, and whether they are ranked


@dataclass(frozen=True)
class CodeBook:
    """Value labels of one column.

    Parameters
    ----------
    labels : mapping
        What each code stands for.
    missing : frozenset, default empty
        Codes that the file declares to be reasons for missing.
    ranked : bool, default False
        Whether the file says that the codes run from low to high.
    """

    labels: Mapping[Code, str]
    missing: frozenset[Code] = frozenset()
    ranked: bool = False


@dataclass(frozen=True)
class Note:
    """Something a reader of the findings must know about how a file was read.

    Parameters
    ----------
    level : str
        "warning" or "note".
    code : str
        What it is, for machines.
    message : str
        What it is and what to do; ``{table}`` stands for the role of the table.
    """

    level: str
    code: str
    message: str


@dataclass(frozen=True)
class Contents:
    """A table as its file holds it, codes not yet turned into labels.

    Parameters
    ----------
    frame : polars.DataFrame
        The values.
    orders : dict, default empty
        Levels of text columns that the file declares (factors of R).
    books : mapping of str to CodeBook, default empty
        Value labels.
    labels : mapping of str to str, default empty
        What the columns are about, in the words of whoever made the file.
    reasons : mapping of str to tuple of float, default empty
        Values of numeric columns that the file declares to be reasons for missing, those that occur.
    tagged : mapping of str to polars.Series, default empty
        For columns with missing values of several kinds (.a to .z): the letter, missing where there is a value.
    notes : tuple of Note, default empty
        How the file was read, where that is not obvious.
    header_line : bool, default False
        Whether the names of the columns are the first line of a sheet or text, and may be missing there.
    """

    frame: pl.DataFrame
    orders: Orders = field(default_factory=dict)
    books: Mapping[str, CodeBook] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    tagged: Mapping[str, pl.Series] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    header_line: bool = False

    def but(self, **changes: object) -> Contents:
        """A changed copy."""
        return replace(self, **changes)  # type: ignore[arg-type]


def whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Decimals that are all whole become whole numbers: formats with one type of number say nothing about decimals."""
    decimals = [c for c, dtype in frame.schema.items() if dtype == pl.Float64 and frame[c].null_count() < frame.height]
    if not decimals:
        return frame
    known = [pl.when(pl.col(c).is_not_nan()).then(pl.col(c)).alias(c) for c in decimals]
    fits = frame.select(known).select(((pl.all() == pl.all().round(0)) & (pl.all().abs() < 2.0**53)).all())
    return frame.with_columns(k.cast(pl.Int64) for c, k in zip(decimals, known, strict=True) if fits[c].item())
