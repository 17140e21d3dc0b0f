"""A column at every level of its hierarchy: codes, labels, and the share of the domain that each label covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.words import counted
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.conversion import iso_dates
from glasshouse.data.frames import label_text
from glasshouse.protection.binning import interval_labels
from glasshouse.protection.hierarchies import NAMED, SPANS, STAR, Hierarchy


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


def levels_of(hierarchy: Hierarchy, values: pl.Series) -> Levels:
    """The levels of a column.

    Parameters
    ----------
    hierarchy : Hierarchy
        How it is coarsened.
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
    if hierarchy.rows:
        labels, leaves = _of_rows(hierarchy.rows, distinct, name)
    elif hierarchy.breaks:
        if not values.dtype.is_numeric():
            raise InputError(f"the hierarchy of {name!r} is one of numbers, and the column holds none")
        labels, leaves = _of_breaks(hierarchy.breaks, distinct.cast(pl.Float64).to_numpy()), len(distinct)
    elif hierarchy.spans:
        labels, leaves = _of_spans(hierarchy.spans, distinct, name), len(distinct)
    else:
        labels, leaves = [], len(distinct)
    if not hierarchy.rows:
        labels = [*labels, [STAR] * len(distinct)]
    return Levels.of(values, distinct, labels, leaves, _domain(hierarchy.rows) if hierarchy.rows else None)


# -- labels of the values a column has ---------------------------------------------------------------------------------


def _of_rows(rows: Sequence[Sequence[str]], distinct: pl.Series, name: str) -> tuple[list[list[str]], int]:
    known = {row[0]: row for row in rows}
    texts = [label_text(value) for value in distinct]
    strange = sum(text not in known for text in texts)
    if texts and strange == len(texts):
        raise InputError(
            f"the hierarchy of column {name!r} names none of its {counted(len(texts), 'value')}; its first entries "
            "must be the values as the column holds them"
        )
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
    if not len(distinct):  # nobody has a value
        return [[] for _ in spans]
    read = iso_dates(distinct) if distinct.dtype == pl.String else distinct
    if read is None or read.dtype not in (pl.Date, pl.Datetime):
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
