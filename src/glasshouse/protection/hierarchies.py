"""Hierarchies: how a key is coarsened step by step, from its values at level 0 to one value for all at the top."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.plain import Content
from glasshouse.core.words import counted, plural
from glasshouse.core.writing import write_atomically
from glasshouse.data.frames import label_text
from glasshouse.protection.breaks import SHARED, SHIFT, at_ranks

STAR = "*"
SPANS = {"week": "1w", "month": "1mo", "quarter": "1q", "year": "1y", "decade": "10y"}
NAMED = {"month": "%Y-%m", "year": "%Y"}
CLASSES = 16  # of the finest automatic level of numbers


@door
@dataclass(frozen=True)
class Hierarchy:
    """Levels of one key; made by one of the class methods.

    Parameters
    ----------
    rows : sequence of sequence of str, default empty
        A row per value: the value and its label at every level above.
    breaks : sequence of sequence of float, default empty
        For numbers: inner breaks of the classes of every level above the values; both ends are open.
    spans : sequence of str, default empty
        For dates: "month", "quarter", "year", "decade", or "week" alone.

    Examples
    --------
    >>> import glasshouse as gh
    >>> region = gh.protection.Hierarchy.from_rows([("Wien", "east", "*"), ("Graz", "south", "*")])
    >>> region.height
    2
    >>> gh.protection.Hierarchy.intervals([[20, 30, 40, 50, 60], [30, 50]]).height
    3
    """

    rows: Sequence[Sequence[str]] = ()
    breaks: Sequence[Sequence[float]] = ()
    spans: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (bool(self.rows) + bool(self.breaks) + bool(self.spans)) > 1:
            raise InputError("a hierarchy is one of values, of numbers or of dates: give rows, breaks or spans")
        object.__setattr__(self, "rows", _checked_rows(self.rows))
        object.__setattr__(self, "breaks", _checked_breaks(self.breaks))
        object.__setattr__(self, "spans", _checked_spans(self.spans))

    @property
    def height(self) -> int:
        """Number of levels above the values."""
        if self.rows:
            return len(self.rows[0]) - 1
        return len(self.breaks) + len(self.spans) + 1

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """A hierarchy of values.

        Parameters
        ----------
        rows : sequence of sequence of str
            A row per value: the value, then its label at level 1, 2, ...

        Returns
        -------
        Hierarchy
        """
        return cls(rows=rows)

    @classmethod
    def from_mappings(cls, *levels: Mapping[str, str]) -> Hierarchy:
        """A hierarchy of values from one mapping per level, the first from values to labels, the next from those up.

        Parameters
        ----------
        *levels : mapping of str to str
            A label that a mapping leaves out stays as it is. A level of one value for all is added on top. 1, 1.0 and
            "1" are the same value.

        Returns
        -------
        Hierarchy
        """
        if not levels or not all(isinstance(one, Mapping) for one in levels):
            raise InputError("from_mappings takes one mapping per level, the first from values to labels")
        rows = []
        texts = [{label_text(old): label_text(new) for old, new in level.items()} for level in levels]
        below = set(texts[0])
        for at, level in enumerate(texts, start=1):
            if not below & set(level):
                raise InputError(
                    f"the mapping of level {at} names none of the labels below it; its keys must be those labels"
                )
            below = {level.get(label, label) for label in below}
        for value in texts[0]:
            row = [value]
            for level in texts:
                row.append(level.get(row[-1], row[-1]))
            rows.append(row)
        if len({row[-1] for row in rows}) > 1:
            rows = [[*row, STAR] for row in rows]
        return cls(rows=rows)

    @classmethod
    def intervals(cls, breaks: Sequence[Sequence[float]]) -> Hierarchy:
        """A hierarchy of numbers: classes that are open at both ends, and one class for all on top.

        Parameters
        ----------
        breaks : sequence of sequence of float
            Inner breaks, the finest level first; those of a level must be among those of the level below.

        Returns
        -------
        Hierarchy
        """
        return cls(breaks=breaks)

    @classmethod
    def dates(cls, spans: Sequence[str] = ("month", "quarter", "year", "decade")) -> Hierarchy:
        """A hierarchy of dates: spans of the calendar, and one for all on top.

        Parameters
        ----------
        spans : sequence of str, default ("month", "quarter", "year", "decade")
            From fine to coarse; weeks fit into none of the others and stand alone.

        Returns
        -------
        Hierarchy
        """
        return cls(spans=spans)

    @classmethod
    def load(cls, path: str | Path, separator: str = ";") -> Hierarchy:
        """Read a hierarchy as ARX writes it: no header, a line per value, its labels from fine to coarse.

        Parameters
        ----------
        path : str or Path
            The file.
        separator : str, default ";"
            Between labels.

        Returns
        -------
        Hierarchy

        Raises
        ------
        InputError
            For a file that is not there, lines of different lengths, a value that stands twice, levels that are not
            nested.
        """
        path = Path(path)
        if not is_file(path):
            raise InputError(f"hierarchy file not found: {as_told(path)}")
        if len(separator) != 1:
            raise InputError("separator is one character, such as ';'")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"hierarchy file {path} is not UTF-8 text") from None
        lines = [line for line in csv.reader(io.StringIO(text), delimiter=separator) if line]
        if not lines:
            raise InputError(f"hierarchy file {path} is empty")
        if all(len(line) == 1 for line in lines):
            raise InputError(
                f"hierarchy file {path} has no {separator!r} between a value and its labels; say separator= as in "
                f"Hierarchy.load(path, separator={_other_separator(text, separator)!r})"
            )
        try:
            return cls(rows=lines)
        except InputError as error:
            raise InputError(f"hierarchy file {path}: {error}") from None

    def save(self, path: str | Path, separator: str = ";") -> Path:
        """Write a hierarchy of values as ARX reads it.

        Parameters
        ----------
        path : str or Path
            Where to.
        separator : str, default ";"
            Between labels.

        Returns
        -------
        Path
        """
        if not self.rows:
            raise InputError(
                "only a hierarchy of values is written to a file; numbers and dates are said by their breaks"
            )
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(self.rows)
        return write_atomically(path, text.getvalue())

    def to_setting(self) -> Content:
        """Plain data that :func:`as_hierarchy` reads again.

        Returns
        -------
        dict
        """
        if self.rows:
            return {"rows": [list(row) for row in self.rows]}
        return {"breaks": [list(level) for level in self.breaks], "spans": list(self.spans)}


def as_hierarchy(given: object, name: str) -> Hierarchy:
    """A hierarchy from what a caller gave for a key.

    Parameters
    ----------
    given : Hierarchy, path, mapping or sequence
        A file as ARX writes it, ``[{value: label}, {label: coarser}]``, ``[[breaks], [coarser breaks]]``, or what
        ``to_setting`` said.
    name : str
        The key, for messages.

    Returns
    -------
    Hierarchy
    """
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, (str, Path)):
        try:
            return Hierarchy.load(given)
        except InputError as error:
            raise InputError(f"the hierarchy of column {name!r}: {error}") from None
    if isinstance(given, Mapping) and set(given) <= {"rows", "breaks", "spans"}:
        settings: dict[str, Any] = dict(given)
        return Hierarchy(**settings)
    if isinstance(given, Sequence) and given and all(isinstance(one, Mapping) for one in given):
        return Hierarchy.from_mappings(*given)
    if isinstance(given, Sequence) and given and all(isinstance(one, Sequence) for one in given):
        levels: list[Any] = list(given)
        return Hierarchy.intervals(levels)
    raise InputError(
        f"the hierarchy of {name!r} is a Hierarchy, a file as ARX writes it, a list of mappings from values to labels, "
        "or a list of lists of breaks"
    )


def automatic(values: pl.Series, k: int = SHARED) -> Hierarchy:
    """What is used where a caller says nothing: quantile classes of numbers, spans of dates, all or nothing else.

    Parameters
    ----------
    values : polars.Series
        The column.
    k : int, default 5
        Records that must have a number, for a break to coincide with it; other breaks are rounded.

    Returns
    -------
    Hierarchy
    """
    if values.dtype in (pl.Date, pl.Datetime):
        return Hierarchy.dates()
    if not values.dtype.is_numeric() or values.drop_nulls().n_unique() < 4:
        return Hierarchy()
    known = np.sort(values.drop_nulls().cast(pl.Float64).to_numpy())
    known = known[np.isfinite(known)]
    if not len(known):
        return Hierarchy()
    exact = np.quantile(known, np.arange(1, CLASSES) / CLASSES, method="lower")
    fine = at_ranks(known, exact, SHIFT / CLASSES, k)
    inside = [sorted({float(b) for b in fine[step - 1 :: step] if not np.isnan(b)}) for step in (1, 2, 4, 8)]
    distinct = [level for i, level in enumerate(inside) if level and (i == 0 or level != inside[i - 1])]
    return Hierarchy(breaks=distinct)


def _other_separator(text: str, tried: str) -> str:
    """The character that may stand between labels in place of the one that does not."""
    found = [one for one in (",", "\t", ";", "|") if one != tried and one in text.split("\n", 1)[0]]
    return found[0] if found else "," if tried != "," else ";"


# -- checks ------------------------------------------------------------------------------------------------------------


def _checked_rows(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    made = tuple(tuple(label_text(label) for label in row) for row in rows)
    if not made:
        return made
    if len({len(row) for row in made}) > 1 or len(made[0]) < 2:
        raise InputError("every line of a hierarchy has the value and one label per level: as many everywhere")
    values = [row[0] for row in made]
    twice = len(values) - len(set(values))
    if twice:
        stands = plural(twice, "stands", "stand")
        raise InputError(f"{counted(twice, 'value')} of the hierarchy {stands} in more than one line")
    for level, (below, above) in enumerate(pairwise(zip(*made, strict=True))):
        parents: dict[str, str] = {}
        torn = {one for one, up in zip(below, above, strict=True) if parents.setdefault(one, up) != up}
        if torn:
            raise InputError(
                f"the hierarchy is not nested: {counted(len(torn), 'label')} of level {level} "
                f"{plural(len(torn), 'has', 'have')} several labels at level {level + 1}"
            )
    return made


def _checked_breaks(breaks: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    made = []
    for level in breaks:
        if isinstance(level, str) or not isinstance(level, Sequence):
            raise InputError("breaks of a hierarchy are lists of numbers, one list per level, the finest first")
        numbers = tuple(sorted({float(b) for b in level}))
        if not numbers or not np.isfinite(numbers).all():
            raise InputError("every level of a hierarchy of numbers has at least one break, and finite ones only")
        made.append(numbers)
    for at, (fine, coarse) in enumerate(pairwise(made), start=1):
        if not set(coarse) <= set(fine):
            raise InputError(f"the breaks of level {at + 1} are not all among those of level {at}: it is not nested")
    return tuple(made)


def _checked_spans(spans: Sequence[str]) -> tuple[str, ...]:
    order = ["month", "quarter", "year", "decade"]
    made = tuple(str(one) for one in spans)
    if made not in ((), ("week",)) and [one for one in order if one in made] != list(made):
        raise InputError("spans of dates are month, quarter, year and decade, from fine to coarse, or week alone")
    return made
