"""One joint encoding of a pair as points of Gower space: scaled numbers, integer codes, distinct rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.engines.models.design import distinct_rows

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# Order matters: the kernels compare the position.
RULES = ("level", "mismatch", "match", "ignore")
LEVEL, MISMATCH, MATCH, IGNORE = range(4)
COUNTED = 8  # times as many possible numbers as entries, up to which they are counted and not sorted
TOL = 1e-9  # distances no further apart are equal
# Numbers are scaled to [0, w] and categories cost w; a missing number sits outside [0, w], at 4w (or -4w), so that
# |a - b| > 1.5 w says "one of the two is missing" without a second array.
_MISSING_AT = 4.0


@dataclass(frozen=True)
class Rows:
    """Distinct rows of a table: their coordinates, how often each occurs, and the way back to the records.

    Attributes
    ----------
    numbers : array of float
        [rows, numbers], scaled by weight and range.
    codes : array of int
        [rows, categories], negative missing.
    ids : array of int
        Joint identity over all tables.
    counts : array of int
        Records equal to the row.
    firsts : array of int
        The first of them.
    inverse : array of int
        The row of every record.
    """

    numbers: Floats
    codes: Ints
    ids: Ints
    counts: Ints
    firsts: Ints
    inverse: Ints

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.inverse)

    @property
    def size(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    def some(self, at: Ints) -> Rows:
        """Some of the distinct rows, each once, to ask about them again.

        Parameters
        ----------
        at : array of int
            Which.

        Returns
        -------
        Rows
        """
        one = np.arange(len(at))
        return Rows(self.numbers[at], self.codes[at], self.ids[at], np.ones_like(one), one, one)

    @cached_property
    def members(self) -> Ints:
        """Record numbers grouped by distinct row, ascending inside each."""
        return np.argsort(self.inverse, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where each distinct row's records begin in ``members``."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    @cached_property
    def ranks(self) -> Ints:
        """Rank of each record among the records equal to it."""
        ranks = np.empty(self.n, np.int64)
        ranks[self.members] = np.arange(self.n) - np.repeat(self.starts, self.counts)
        return ranks


def as_seen_by(query: Rows, reference: Rows) -> Rows:
    """The queries as the reference can tell them apart: who differs in categories that nobody there has is one row.

    Such a category is as far from everybody as any other. Where it is free text or an identifier, all the reference may
    be equally near to everybody, and who is would be listed for each of them anew.

    Parameters
    ----------
    query : Rows
        Who asks.
    reference : Rows
        Who is asked about.

    Returns
    -------
    Rows
        With the same records behind them; distances to the reference are the same.
    """
    codes, changed = query.codes.copy(), False
    for mine, theirs in zip(codes.T, reference.codes.T, strict=True):
        seen = np.zeros(int(max(mine.max(initial=0), theirs.max(initial=0))) + 1, np.bool_)
        seen[theirs[theirs >= 0]] = True
        unseen = (mine >= 0) & ~seen[np.maximum(mine, 0)]
        if unseen.sum() > 1:
            mine[unseen] = mine[unseen].min()  # a view: written where it stands
            changed = True
    if not changed:
        return query
    places = [np.unique(x, return_inverse=True)[1].reshape(-1) for x in query.numbers.T]
    first, row_of = distinct_rows(np.column_stack([*places, *(codes.T - codes.min(axis=0)[:, None])]))
    firsts = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(firsts, row_of, query.firsts)
    counts = np.bincount(row_of, weights=query.counts, minlength=len(first)).astype(query.counts.dtype)
    return Rows(query.numbers[first], codes[first], query.ids[first], counts, firsts, row_of[query.inverse])


@dataclass(frozen=True)
class Encoded:
    """Scaled coordinates of every table.

    Attributes
    ----------
    columns : tuple of str
        Numbers first, then categories.
    ranges : dict of str to float
        Range of each number over all tables.
    weights : array of float
        One per column, summing to one.
    rule : int
        Position of the missing-value rule in ``RULES``.
    numbers, codes, ids : dict of str to array
        Coordinates and joint identity of every record, per table.
    """

    columns: tuple[str, ...]
    ranges: dict[str, float]
    weights: Floats
    rule: int
    numbers: dict[str, Floats]
    codes: dict[str, Ints]
    ids: dict[str, Ints]

    def distinct(self, table: str, subset: Ints | None = None) -> Rows:
        """Distinct rows of a table, in the order of their joint identity.

        Parameters
        ----------
        table : str
            One of the tables encoded.
        subset : array of int, optional
            Some of its records; ``firsts`` then counts inside the subset. Default: all.

        Returns
        -------
        Rows
        """
        if table not in self.ids:
            raise NotApplicable(f"this pair has no {table} table")
        ids = self.ids[table] if subset is None else self.ids[table][subset]
        distinct, firsts, inverse, counts = _distinct(ids)
        at = firsts if subset is None else np.asarray(subset)[firsts]
        numbers = np.ascontiguousarray(self.numbers[table][at])
        codes = np.ascontiguousarray(self.codes[table][at])
        return Rows(numbers, codes, distinct, counts, firsts, inverse)

    def as_reference(self, rows: Rows) -> tuple[Floats, Ints]:
        """Coordinates for the searched side: under ``mismatch`` a missing value there differs from a missing query.

        Parameters
        ----------
        rows : Rows
            The searched side.

        Returns
        -------
        (numbers, codes) : tuple of arrays
        """
        if RULES[self.rule] != "mismatch":
            return rows.numbers, rows.codes
        weights = self.weights[: rows.numbers.shape[1]]
        numbers = np.where(rows.numbers > 1.5 * weights, -_MISSING_AT * weights, rows.numbers)
        return numbers, np.where(rows.codes < 0, np.int32(-2), rows.codes)


def encode_pair(
    pair: Pair,
    columns: Sequence[str],
    missing: str,
    weights: Mapping[str, float] | None,
    tables: Sequence[str] | None = None,
) -> Encoded:
    """Encode the chosen columns of several tables together.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns.
    missing : {"level", "mismatch", "match", "ignore"}
        How missing values are compared.
    weights : mapping of str to float or None
        Weight of each column; None weighs them alike.
    tables : sequence of str, optional
        The tables. Default: original, release and holdout.

    Returns
    -------
    Encoded
    """
    if tables is None:
        tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    numeric: dict[str, list[Floats]] = {}
    nominal: dict[str, list[Ints]] = {}
    special: dict[str, list[Bools]] = {}
    for name in columns:
        if pair.is_numeric(name):
            numeric[name] = [np.asarray(pair.values(name, table), float) for table in tables]
            if name in (pair.special_codes or {}):
                special[name] = [np.asarray(pair.special_mask(name, table), bool) for table in tables]
        elif pair.schema[name].kind == "ordinal":
            numeric[name] = [_ranks(pair, name, table) for table in tables]
        else:
            nominal[name] = [np.asarray(pair.codes(name).of(table), np.int32) for table in tables]
    places = {
        name: pair.memo(("value places", name, *tables), partial(_places, parts)) for name, parts in numeric.items()
    }
    return encode(tables, numeric, nominal, missing, weights, special, places)


def _places(parts: Sequence[Floats]) -> Ints:
    """Equal numbers for equal values, in their order, a missing value last."""
    return np.unique(np.concatenate(parts), return_inverse=True)[1].reshape(-1).astype(np.int32)


def encode(
    tables: Sequence[str],
    numeric: Mapping[str, Sequence[Floats]],
    nominal: Mapping[str, Sequence[Ints]],
    missing: str = "level",
    weights: Mapping[str, float] | None = None,
    special: Mapping[str, Sequence[Bools]] | None = None,
    places: Mapping[str, Ints] | None = None,
) -> Encoded:
    """Encode plain arrays, one per table and column.

    Parameters
    ----------
    tables : sequence of str
        Names of the tables.
    numeric : mapping of str to sequence of arrays of float
        Numbers, NaN missing.
    nominal : mapping of str to sequence of arrays of int
        Codes, negative missing.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        How missing values are compared.
    weights : mapping of str to float, optional
        Weight of each column. Default: all alike.
    special : mapping of str to sequence of arrays of bool, optional
        Marks numbers that are reasons for missing: under ``level`` each reason is a level of its own, under the other
        rules it counts as missing. Default: none.
    places : mapping of str to array of int, optional
        Place of every value among the values of its column, over all tables. Default: found out here.

    Returns
    -------
    Encoded

    Raises
    ------
    InputError
        For a negative or infinite weight, and for infinite values.
    NotApplicable
        When every weight is zero.
    """
    heavy = {name: 1.0 if weights is None else float(weights[name]) for name in (*numeric, *nominal)}
    wrong = [name for name, weight in heavy.items() if not 0 <= weight < np.inf]
    if wrong:
        raise InputError(f"the weight of column {wrong[0]!r} must be a finite number, zero or more")
    total = sum(heavy.values())
    if not total > 0:
        raise NotApplicable("every column has weight zero, so there is no distance between records")
    numeric = {name: parts for name, parts in numeric.items() if heavy[name] > 0}
    nominal = {name: parts for name, parts in nominal.items() if heavy[name] > 0}
    names = (*numeric, *nominal)
    share = np.array([heavy[name] / total for name in names])
    sizes = [len(part) for part in next(iter({**numeric, **nominal}.values()))]
    edges = np.cumsum([0, *sizes])
    n = int(edges[-1])
    numbers = np.empty((n, len(numeric)))
    codes = np.empty((n, len(nominal)), np.int32)
    ranges: dict[str, float] = {}
    key = _RowKey(n)
    for v, name in enumerate(nominal):
        codes[:, v] = np.maximum(np.concatenate(nominal[name]), -1)
        key.add(codes[:, v].astype(np.int64) + 1)
    for v, name in enumerate(numeric):
        values = np.concatenate(numeric[name])
        reasons = None if special is None or name not in special else np.concatenate(special[name])
        numbers[:, v], ranges[name] = _scaled(values, reasons, share[v], name, missing == "level")
        key.add(_places(numeric[name]) if places is None else places[name])
    ids = key.ids()
    cut = {table: slice(edges[i], edges[i + 1]) for i, table in enumerate(tables)}
    return Encoded(
        names,
        ranges,
        share,
        RULES.index(missing),
        {table: numbers[part] for table, part in cut.items()},
        {table: codes[part] for table, part in cut.items()},
        {table: ids[part] for table, part in cut.items()},
    )


def _scaled(values: Floats, reasons: Bools | None, weight: float, name: str, as_levels: bool) -> tuple[Floats, float]:
    """(x - min) w / R with R = 1 for a constant column, and R; missing values sit at 4w, reasons for missing beyond."""
    absent = np.isnan(values) if reasons is None else np.isnan(values) | reasons
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise InputError(
            f"column {name!r} has {infinite} infinite values; distances need finite numbers, so recode them as missing"
        )
    scaled = np.full(len(values), _MISSING_AT * weight)
    if reasons is not None and as_levels and reasons.any():
        kind = np.unique(values[reasons], return_inverse=True)[1].reshape(-1)
        scaled[reasons] = (2 * _MISSING_AT + _MISSING_AT * kind) * weight
    present = ~absent
    if not present.any():
        return scaled, 1.0
    # Halving keeps the range finite for numbers near the largest a float can hold.
    halves = values[present] / 2
    low = halves.min()
    spread = halves.max() - low
    if not spread > 0:
        spread = 0.5
    scaled[present] = (halves - low) / spread * weight
    return scaled, float(min(spread, np.finfo(float).max / 2) * 2)


def row_ids(pair: Pair, columns: Sequence[str], round_digits: int | None = None) -> dict[str, Ints]:
    """Equal numbers for records equal in every column (missing equals missing), over all tables of the pair.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns compared.
    round_digits : int, optional
        Decimals to which numbers are rounded first. Default: compared as they are.

    Returns
    -------
    dict of str to array of int
        Per table, one number per record.
    """
    tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    sizes = [pair.n(table) for table in tables]
    key = _RowKey(sum(sizes))
    for name in columns:
        if pair.is_numeric(name):
            values = np.concatenate([np.asarray(pair.values(name, table), float) for table in tables])
            if round_digits is not None:
                values = np.round(values, round_digits)
            key.add(np.unique(values, return_inverse=True)[1].reshape(-1))
        else:
            key.add(np.concatenate([pair.codes(name).of(table) for table in tables]).astype(np.int64) + 1)
    edges = np.cumsum([0, *sizes])
    ids = key.ids()
    return {table: ids[edges[i] : edges[i + 1]] for i, table in enumerate(tables)}


class _RowKey:
    """Joint identity of rows: codes packed into one integer, made dense whenever it would overflow."""

    def __init__(self, n: int) -> None:
        self.key: Ints = np.zeros(n, np.int64)
        self.size = 1

    def add(self, codes: Ints) -> None:
        """One more column, its codes from 0."""
        levels = int(codes.max()) + 1 if len(codes) else 1
        if self.size * levels >= 2**62:
            self.key = self.ids()
            self.size = int(self.key.max()) + 1
        self.key = self.key * levels + codes
        self.size *= levels

    def ids(self) -> Ints:
        """One dense number per distinct row."""
        if self.size > COUNTED * len(self.key):
            return np.unique(self.key, return_inverse=True)[1].reshape(-1)
        seen = np.zeros(self.size, np.bool_)
        seen[self.key] = True
        return (np.cumsum(seen) - 1)[self.key]


def _distinct(ids: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Distinct numbers ascending, where each comes first, which each entry is, and how often each occurs."""
    if int(ids.max(initial=0)) > COUNTED * len(ids):
        found = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
        return found[0], found[1], found[2].reshape(-1), found[3]
    counts = np.bincount(ids)
    distinct = np.flatnonzero(counts)
    place = np.cumsum(counts > 0) - 1
    firsts = np.empty(len(counts), np.int64)
    firsts[ids[::-1]] = np.arange(len(ids))[::-1]  # of several, what is written last stays
    return distinct, firsts[distinct], place[ids], counts[distinct]


def _ranks(pair: Pair, name: str, table: str) -> Floats:
    """Ranks of an ordinal column, missing as NaN."""
    codes = np.asarray(pair.codes(name).of(table))
    return np.where(codes < 0, np.nan, codes.astype(float))
