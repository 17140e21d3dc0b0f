"""One joint encoding of a pair as points of Gower space: scaled numbers, integer codes, distinct rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# Order matters: the kernels compare the position (see neighbours_kernel).
RULES = ("level", "mismatch", "match", "ignore")
_MISSING_AT = 4.0


@dataclass(frozen=True)
class Rows:
    """Distinct rows of a table: their coordinates, how often each occurs, and the way back to the records."""

    numbers: np.ndarray
    codes: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    firsts: np.ndarray
    inverse: np.ndarray

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.inverse)

    @property
    def size(self) -> int:
        """Number of distinct rows."""
        return len(self.counts)

    @cached_property
    def members(self) -> np.ndarray:
        """Record numbers grouped by distinct row, ascending inside each."""
        return np.argsort(self.inverse, kind="stable")

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each distinct row's records begin in ``members``."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    @cached_property
    def ranks(self) -> np.ndarray:
        """Rank of each record among the records equal to it."""
        ranks = np.empty(self.n, np.int64)
        ranks[self.members] = np.arange(self.n) - np.repeat(self.starts, self.counts)
        return ranks


@dataclass(frozen=True)
class Encoded:
    """Scaled coordinates of every table. Columns are sorted numbers first, then categories; weights sum to one."""

    columns: tuple[str, ...]
    ranges: dict[str, float]
    weights: np.ndarray
    rule: int
    numbers: dict[str, np.ndarray]
    codes: dict[str, np.ndarray]
    ids: dict[str, np.ndarray]

    def distinct(self, table: str, subset: np.ndarray | None = None) -> Rows:
        """Distinct rows of a table, in the order of their joint identity; ``firsts`` counts inside the subset."""
        if table not in self.ids:
            raise NotApplicable(f"this pair has no {table} table")
        ids = self.ids[table] if subset is None else self.ids[table][subset]
        distinct, firsts, inverse, counts = np.unique(ids, return_index=True, return_inverse=True, return_counts=True)
        at = firsts if subset is None else np.asarray(subset)[firsts]
        numbers = np.ascontiguousarray(self.numbers[table][at])
        codes = np.ascontiguousarray(self.codes[table][at])
        return Rows(numbers, codes, distinct, counts, firsts, inverse.reshape(-1))

    def as_reference(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates for the searched side: under ``mismatch`` a missing value there differs from a missing query."""
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
    """Encode the chosen columns of original, release and holdout (or of the ``tables`` named) together."""
    if tables is None:
        tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    numeric: dict[str, list[np.ndarray]] = {}
    nominal: dict[str, list[np.ndarray]] = {}
    special: dict[str, list[np.ndarray]] = {}
    for name in columns:
        if pair.is_numeric(name):
            numeric[name] = [np.asarray(pair.values(name, table), float) for table in tables]
            if name in (pair.special_codes or {}):
                special[name] = [np.asarray(pair.special_mask(name, table), bool) for table in tables]
        elif pair.schema[name].kind == "ordinal":
            numeric[name] = [_ranks(pair, name, table) for table in tables]
        else:
            nominal[name] = [np.asarray(pair.codes(name).of(table), np.int32) for table in tables]
    return encode(tables, numeric, nominal, missing, weights, special)


def encode(
    tables: Sequence[str],
    numeric: Mapping[str, Sequence[np.ndarray]],
    nominal: Mapping[str, Sequence[np.ndarray]],
    missing: str = "level",
    weights: Mapping[str, float] | None = None,
    special: Mapping[str, Sequence[np.ndarray]] | None = None,
) -> Encoded:
    """Encode plain arrays: numbers (NaN = missing) and codes (negative = missing), one array per table and column.

    ``special`` marks numbers that are reasons for missing: under ``level`` each reason is a level of its own, under the
    other rules it counts as missing.
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
        key.add(np.unique(values, return_inverse=True)[1].reshape(-1))
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


def _scaled(
    values: np.ndarray, reasons: np.ndarray | None, weight: float, name: str, as_levels: bool
) -> tuple[np.ndarray, float]:
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


def row_ids(pair: Pair, columns: Sequence[str], round_digits: int | None = None) -> dict[str, np.ndarray]:
    """Equal numbers for records equal in every column (missing equals missing), over all tables of the pair."""
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
        self.key = np.zeros(n, np.int64)
        self.size = 1

    def add(self, codes: np.ndarray) -> None:
        levels = int(codes.max()) + 1 if len(codes) else 1
        if self.size * levels >= 2**62:
            self.key = self.ids()
            self.size = int(self.key.max()) + 1
        self.key = self.key * levels + codes
        self.size *= levels

    def ids(self) -> np.ndarray:
        return np.unique(self.key, return_inverse=True)[1].reshape(-1)


def _ranks(pair: Pair, name: str, table: str) -> np.ndarray:
    codes = np.asarray(pair.codes(name).of(table))
    return np.where(codes < 0, np.nan, codes.astype(float))
