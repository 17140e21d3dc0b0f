"""Hierarchies: how a key is coarsened step by step, from its values at level 0 to one value for all at the top."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.plain import Content
from glasshouse.core.words import counted
from glasshouse.core.writing import write_atomically
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import label_text
from glasshouse.protection.binning import interval_labels

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
            A label that a mapping leaves out stays as it is. A level of one value for all is added on top.

        Returns
        -------
        Hierarchy
        """
        if not levels or not all(isinstance(one, Mapping) for one in levels):
            raise InputError("from_mappings takes one mapping per level, the first from values to labels")
        rows = []
        for value in levels[0]:
            row = [str(value)]
            for level in levels:
                row.append(str(level.get(row[-1], row[-1])))
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
    def automatic(cls, values: pl.Series) -> Hierarchy:
        """What is used where a caller says nothing: quantile classes of numbers, spans of dates, all or nothing else.

        Parameters
        ----------
        values : polars.Series
            The column.

        Returns
        -------
        Hierarchy
        """
        if values.dtype in (pl.Date, pl.Datetime):
            return cls.dates()
        if not values.dtype.is_numeric() or values.drop_nulls().n_unique() < 4:
            return cls()
        known = np.sort(values.drop_nulls().cast(pl.Float64).to_numpy())
        fine = np.quantile(known, np.arange(1, CLASSES) / CLASSES, method="lower")
        levels = [sorted(set(fine[step - 1 :: step])) for step in (1, 2, 4, 8)]
        inside = [[float(b) for b in level if b < known[-1]] for level in levels]
        distinct = [level for i, level in enumerate(inside) if level and (i == 0 or level != inside[i - 1])]
        return cls(breaks=distinct)

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
        if not path.is_file():
            raise InputError(f"hierarchy file not found: {path}")
        if len(separator) != 1:
            raise InputError("separator is one character, such as ';'")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"hierarchy file {path} is not UTF-8 text") from None
        lines = [line for line in csv.reader(io.StringIO(text), delimiter=separator) if line]
        if not lines:
            raise InputError(f"hierarchy file {path} is empty")
        return cls(rows=lines)

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

    def on(self, values: pl.Series) -> Levels:
        """The levels of a column.

        Parameters
        ----------
        values : polars.Series
            The column.

        Returns
        -------
        Levels

        Raises
        ------
        InputError
            Where the column holds what the hierarchy says nothing about.
        """
        name = values.name
        distinct = values.drop_nulls().unique().sort()
        if self.rows:
            labels, leaves = _of_rows(self.rows, distinct, name)
        elif self.breaks:
            if not values.dtype.is_numeric():
                raise InputError(f"the hierarchy of {name!r} is one of numbers, and the column holds none")
            labels, leaves = _of_breaks(self.breaks, distinct.cast(pl.Float64).to_numpy()), len(distinct)
        elif self.spans:
            labels, leaves = _of_spans(self.spans, distinct, name), len(distinct)
        else:
            labels, leaves = [], len(distinct)
        if not self.rows:
            labels = [*labels, [STAR] * len(distinct)]
        return Levels.of(values, distinct, labels, leaves, _domain(self.rows) if self.rows else None)


@dataclass(frozen=True)
class Levels:
    """A column at every level of its hierarchy.

    Parameters
    ----------
    cells : array of int
        For every record its value: a number from 1 in the order of the values; 0 is missing.
    codes : list of array of int
        Per level the code of each value, 0 for missing; at a top with one label missing has its code too.
    labels : list of list of str
        Per level the label of each code from 1.
    share : list of array of float
        Per level, for each value, the share of the domain that its label covers: (leaves - 1) / (all leaves - 1).
    counts : array of int
        Records with each value, missing first.
    """

    cells: Ints
    codes: list[Ints]
    labels: list[list[str]]
    share: list[Floats]
    counts: Ints = field(repr=False)

    @property
    def height(self) -> int:
        """Number of levels above the values."""
        return len(self.codes) - 1

    @classmethod
    def of(
        cls,
        values: pl.Series,
        distinct: pl.Series,
        labels: Sequence[Sequence[str]],
        leaves: int,
        domain: Sequence[Mapping[str, int]] | None,
    ) -> Levels:
        """Levels from the labels of the distinct values."""
        cells = values.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
        n = len(distinct)
        codes: list[Ints] = [np.arange(n + 1)]
        names: list[list[str]] = [[label_text(v) for v in distinct]]
        share: list[Floats] = [np.zeros(n + 1)]
        for at, level in enumerate(labels):
            texts = sorted(set(level))
            place = {text: i + 1 for i, text in enumerate(texts)}
            made = np.array([0, *(place[text] for text in level)], np.int64)
            if domain is None:
                covered = np.bincount(made[1:], minlength=len(texts) + 1)[made].astype(float)
            else:
                covered = np.array([1, *(domain[at][text] for text in level)], np.float64)
            lost = np.minimum((covered - 1) / max(leaves - 1, 1), 1.0)
            lost[0] = 0.0
            if len(texts) == 1:
                made[0], lost[:] = 1, 1.0
            codes.append(made)
            names.append(texts)
            share.append(np.maximum(lost, 0.0))
        return cls(np.asarray(cells, np.int64), codes, names, share, np.bincount(cells, minlength=n + 1))


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
        return Hierarchy.load(given)
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
        raise InputError(f"{counted(twice, 'value')} of the hierarchy stand in more than one line")
    for level, (below, above) in enumerate(pairwise(zip(*made, strict=True))):
        parents: dict[str, str] = {}
        torn = {one for one, up in zip(below, above, strict=True) if parents.setdefault(one, up) != up}
        if torn:
            raise InputError(
                f"the hierarchy is not nested: {counted(len(torn), 'label')} of level {level} have several labels at "
                f"level {level + 1}"
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


# -- labels of the values a column has ---------------------------------------------------------------------------------


def _of_rows(rows: Sequence[Sequence[str]], distinct: pl.Series, name: str) -> tuple[list[list[str]], int]:
    known = {row[0]: row for row in rows}
    texts = [label_text(value) for value in distinct]
    strange = sum(text not in known for text in texts)
    if strange:
        raise InputError(
            f"column {name!r} has {counted(strange, 'value')} that its hierarchy does not name; add a line for each"
        )
    return [[known[text][level] for text in texts] for level in range(1, len(rows[0]))], len(rows)


def _domain(rows: Sequence[Sequence[str]]) -> list[dict[str, int]]:
    """Per level how many values each label covers, whether or not they occur."""
    found = []
    for column in list(zip(*rows, strict=True))[1:]:
        counts: dict[str, int] = {}
        for label in column:
            counts[label] = counts.get(label, 0) + 1
        found.append(counts)
    return found


def _of_breaks(breaks: Sequence[Sequence[float]], distinct: Floats) -> list[list[str]]:
    found = []
    for level in breaks:
        texts = interval_labels(level)
        found.append([texts[at] for at in np.searchsorted(np.asarray(level), distinct, side="left")])
    return found


def _of_spans(spans: Sequence[str], distinct: pl.Series, name: str) -> list[list[str]]:
    read = distinct.str.to_date("%Y-%m-%d", strict=False) if distinct.dtype == pl.String else distinct
    if read.dtype not in (pl.Date, pl.Datetime) or read.null_count():
        raise InputError(f"the hierarchy of {name!r} is one of dates, and the column does not hold dates throughout")
    found = []
    for span in spans:
        start = read.dt.truncate(SPANS[span])
        if span == "quarter":
            texts = [f"{d.year}-Q{(d.month + 2) // 3}" for d in start.to_list()]
        elif span == "decade":
            texts = [f"{d.year // 10 * 10}s" for d in read.to_list()]
        else:
            texts = start.dt.strftime(NAMED.get(span, "%G-W%V")).to_list()
        found.append(texts)
    return found
