"""The keys of a table as an attacker's model sees them: joint integer codes, and the numbers or labels behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError
from glasshouse.data.row_keys import RowKey

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

Levels: TypeAlias = "Sequence[object] | np.ndarray"  # labels in their order, or ascending numbers
MISSING = "missing"
NUMERIC_KEY_NA = ("error", "median+flag")


@dataclass(frozen=True)
class Design:
    """Coded keys of one table.

    ``codes`` int32 [n, p]: position in ``levels[j]``, never negative. ``kinds[j]``: "numeric" (levels are ascending
    numbers), "ordinal" (levels in their order) or "categorical". Tables to be compared share names, kinds and levels.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    codes: NDArray[np.int32]
    levels: tuple[Levels, ...]

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def n_levels(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.levels)

    @property
    def values(self) -> tuple[np.ndarray | None, ...]:
        """Numbers behind the codes of numeric keys, None for the others."""
        return tuple(
            np.asarray(levels, np.float64) if kind == "numeric" else None
            for kind, levels in zip(self.kinds, self.levels, strict=True)
        )

    @property
    def is_numeric(self) -> np.ndarray:
        return np.array([kind == "numeric" for kind in self.kinds], np.bool_)

    @property
    def is_ordered(self) -> np.ndarray:
        return np.array([kind != "categorical" for kind in self.kinds], np.bool_)

    def column(self, j: int) -> np.ndarray:
        """Key j as numbers (numeric keys) or level codes."""
        numbers = self.values[j]
        return self.codes[:, j].astype(np.float64) if numbers is None else numbers[self.codes[:, j]]

    def take(self, rows: np.ndarray) -> Design:
        """Some rows, by mask or position."""
        return replace(self, codes=np.ascontiguousarray(self.codes[rows]))

    def select(self, names: Sequence[str]) -> Design:
        """Some keys, in the order asked for."""
        where = [self.names.index(name) for name in names]
        return Design(
            tuple(names),
            tuple(self.kinds[j] for j in where),
            np.ascontiguousarray(self.codes[:, where]),
            tuple(self.levels[j] for j in where),
        )

    def stack(self, other: Design) -> Design:
        """The rows of both, this one first."""
        return replace(self, codes=np.concatenate([self.codes, other.codes]))

    def unseen_by(self, training: Design) -> np.ndarray:
        """Which records hold, in some categorical key, a level that no training record holds."""
        found = np.zeros(self.n, np.bool_)
        for j, kind in enumerate(self.kinds):
            if kind != "numeric":
                seen = np.zeros(len(self.levels[j]), np.bool_)
                seen[training.codes[:, j]] = True
                found |= ~seen[self.codes[:, j]]
        return found


def distinct_rows(codes: np.ndarray, labels: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Equal rows of codes as one.

    Parameters
    ----------
    codes
        Codes [n, p], not negative.
    labels
        Further codes [n] that must agree, too.

    Returns
    -------
    first : ndarray
        First record of each distinct row, rows in lexicographic order.
    row_of : ndarray
        For each record, the number of its row.
    """
    key = RowKey(len(codes))
    for column in (*(codes[:, j] for j in range(codes.shape[1])), *(() if labels is None else (labels,))):
        key.add(column)
    return key.distinct()


def lexicographic(columns: Sequence[np.ndarray], last: np.ndarray | None = None) -> np.ndarray:
    """The order of rows of codes, and of one more column of any kind among equal rows; ties as they stand.

    Columns are sorted by as mixed-radix numbers, as many at a time as fit into one: a dozen columns are mostly one or
    two sorts.

    Parameters
    ----------
    columns
        Codes, column by column, the first one deciding first; -1 is the least.
    last
        What decides among rows whose codes are equal.

    Returns
    -------
    ndarray
        Row numbers.
    """
    n = len(columns[0])
    words, span = [np.zeros(n, np.uint64)], 1
    for column in columns:
        low = min(int(column.min()), 0) if n else 0
        size = int(column.max()) - low + 1 if n else 1
        if span * size >= 2**63:
            words.append(np.zeros(n, np.uint64))
            span = 1
        words[-1] *= np.uint64(size)
        words[-1] += (column.astype(np.int64) - low).astype(np.uint64)
        span *= size
    return np.lexsort((*(() if last is None else (last,)), *words[::-1]))


def runs(codes: np.ndarray, labels: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`distinct_rows` finds, where equal rows stand together and in order."""
    new = np.ones(len(codes), np.bool_)
    new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    if labels is not None:
        new[1:] |= labels[1:] != labels[:-1]
    return np.flatnonzero(new), np.cumsum(new) - 1


def dummies(table: Design, *, first_dropped: bool) -> tuple[np.ndarray, np.ndarray]:
    """A dense matrix for libraries that want one.

    Parameters
    ----------
    table
        Coded keys.
    first_dropped
        Leave out the column of each category's first level.

    Returns
    -------
    key_of : ndarray
        Key behind each column.
    matrix : ndarray
        float32: numbers as they are, one 0/1 column per level.
    """
    blocks, key_of = [], []
    for j, kind in enumerate(table.kinds):
        if kind == "numeric":
            block = table.column(j)[:, None].astype(np.float32)
        else:
            levels = np.arange(1 if first_dropped else 0, len(table.levels[j]))
            block = (table.codes[:, j][:, None] == levels[None, :]).astype(np.float32)
        blocks.append(block)
        key_of += [j] * block.shape[1]
    return np.array(key_of, np.int64), np.concatenate(blocks, axis=1)


def design(pair: Pair, columns: Sequence[str], table: str = "original", *, numeric_key_na: str = "error") -> Design:
    """The columns of one table of a pair, coded by label over the union of all its tables.

    A missing category is a level "missing" of its own, last in the order. A missing number is an error that names the
    column, or, with ``numeric_key_na="median+flag"``, the median of the release plus a yes/no key ``<name>_missing``.
    """
    if numeric_key_na not in NUMERIC_KEY_NA:
        raise InputError(f"numeric_key_na={numeric_key_na!r} is no rule; choose 'error' or 'median+flag'")
    columns = tuple(columns)
    if not columns:
        raise InputError("an attacker needs at least one key; name them with keys=[...]")
    key = ("design", columns, table, numeric_key_na)
    return pair.memo(key, lambda: _design(pair, columns, table, numeric_key_na))


def _design(pair: Pair, columns: tuple[str, ...], table: str, numeric_key_na: str) -> Design:
    names: list[str] = []
    kinds: list[str] = []
    arrays: list[np.ndarray] = []
    all_levels: list[Levels] = []
    for name in columns:
        codes = pair.codes(name)
        array = codes.of(table)
        if pair.is_numeric(name):
            if codes.missing:
                if numeric_key_na == "error":
                    raise InputError(_numeric_missing(name))
                array = np.where(array < 0, _median_code(codes.of("released"), name), array)
            names.append(name)
            kinds.append("numeric")
            arrays.append(array)
            all_levels.append(as_numbers(codes.levels))
            if codes.missing:
                names.append(f"{name}_missing")
                kinds.append("categorical")
                arrays.append((codes.of(table) < 0).astype(np.int32))
                all_levels.append([False, True])
        else:
            names.append(name)
            kinds.append("ordinal" if codes.ordered else "categorical")
            levels = list(codes.levels)
            if codes.missing:
                array = np.where(array < 0, len(levels), array)
                levels.append(MISSING)
            arrays.append(array)
            all_levels.append(levels)
    return Design(
        tuple(names), tuple(kinds), np.ascontiguousarray(np.column_stack(arrays), dtype=np.int32), tuple(all_levels)
    )


def as_numbers(levels: Sequence[object]) -> np.ndarray:
    """Levels of a numeric column as float64; dates as days since 1970."""
    if levels and isinstance(levels[0], date):  # a datetime is a date, too
        return np.array([_days(moment) for moment in cast("Sequence[date]", levels)])
    return np.asarray(levels, np.float64)


def _days(moment: date) -> float:
    if not isinstance(moment, datetime):
        return float((moment - date(1970, 1, 1)).days)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86_400


def _median_code(codes: np.ndarray, name: str) -> int:
    """The middle value of the release (the lower one of two, so that it is a value of the column)."""
    known = np.sort(codes[codes >= 0])
    if not len(known):
        raise InputError(f"key {name!r} has no value at all in the release; drop it from keys")
    return int(known[(len(known) - 1) // 2])


def _numeric_missing(name: str) -> str:
    return (
        f"numeric key {name!r} has missing values, which models cannot use; fill them, leave the key out, or pass "
        'numeric_key_na="median+flag"'
    )
