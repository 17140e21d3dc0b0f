"""Predicates for singling out: conjunctions of conditions on columns, made and counted in bulk on integer codes.

The joint codes of a pair follow the order of the values, so every condition is an interval of codes: ``== v`` is
[v, v], ``<= v`` is [first, v], ``>= v`` is [v, last], "is missing" is [-1, -1]. A set of predicates is then three small
integer arrays, and counting matches is one compiled scan that stops at the second match where only uniqueness is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.engines.canonical import canonical
from glasshouse.engines.workers import share_out

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

FORM = (
    "predicates= takes a list of predicates, each a list of (column, operator, value) triples joined by 'and', "
    "such as [[('age', '>=', 80), ('sex', '==', 'f')]]"
)
Description: TypeAlias = Sequence[Sequence[object]]  # conditions (column, operator, value), joined by "and"
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
MISSING = -1
BLOCK = 4096  # predicates whose columns are drawn together
FEW = 64  # predicates for which sorting a table costs more than it saves


@dataclass(frozen=True)
class Predicates:
    """q predicates of w conditions each: column position, lowest and highest code, and whether the condition is
    negated.

    Shorter predicates repeat their first condition.
    """

    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    negated: np.ndarray

    def __len__(self) -> int:
        return len(self.column)

    def take(self, chosen: np.ndarray) -> Predicates:
        return Predicates(self.column[chosen], self.low[chosen], self.high[chosen], self.negated[chosen])

    def keys(self) -> np.ndarray:
        """One row of integers per predicate, equal for equal predicates."""
        return np.hstack([self.column, self.low, self.high, self.negated.astype(np.int32)])

    @staticmethod
    def join(parts: Sequence[Predicates]) -> Predicates:
        return Predicates(
            np.concatenate([p.column for p in parts]),
            np.concatenate([p.low for p in parts]),
            np.concatenate([p.high for p in parts]),
            np.concatenate([p.negated for p in parts]),
        )


class Board:
    """The columns of a pair as codes, and what making predicates needs to know about them."""

    def __init__(self, pair: Pair, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._codes = [pair.codes(c) for c in columns]
        self.numeric = np.array([pair.is_numeric(c) for c in columns])
        self.levels = np.array([c.n_levels for c in self._codes], np.int32)
        # drawn from in an order that depends on neither rows nor labels
        self.released = self.table("released")[canonical(pair, columns).order("released")]
        self._sorted: dict[str, Sorted] = {}

    @cached_property
    def medians(self) -> np.ndarray:
        """Median code of every column of the release."""
        return np.array([_middle(codes) for codes in self.released.T])

    def table(self, name: str) -> np.ndarray:
        """Records by columns of a table, as codes."""
        return np.ascontiguousarray(np.column_stack([c.of(name) for c in self._codes]).astype(np.int32))

    def count(self, table: str, predicates: Predicates, stop_at: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Matches of each predicate in a table, and the match itself where it is the only one."""
        if len(predicates) <= FEW:
            return _scan(self.table(table), predicates)
        matches, listed = self.sorted(table).count(predicates, stop_at)
        return matches, listed[:, 0]

    def sorted(self, table: str) -> Sorted:
        """A table with its columns sorted, made once."""
        if table not in self._sorted:
            self._sorted[table] = Sorted(self.table(table), self.levels)
        return self._sorted[table]

    def univariate(self, rows: np.ndarray) -> Predicates:
        """Every condition on one column that exactly one of ``rows`` meets, by the four forms of the attack.

        In the order of the rows they fit, which is that of no label.
        """
        parts = []
        for v, codes in enumerate(rows.T):
            occurs = np.bincount(codes + 1, minlength=1)
            bounds = []
            if occurs[0] == 1:
                bounds.append((MISSING, MISSING))
            values = np.flatnonzero(occurs[1:])
            if len(values):
                counts = occurs[1:][values]
                bounds += [(value, value) for value in values[counts == 1].tolist()]
                if self.numeric[v] and counts[0] == 1:
                    bounds.append((0, int(values[0])))
                if self.numeric[v] and counts[-1] == 1:
                    bounds.append((int(values[-1]), int(self.levels[v]) - 1))
            if bounds:
                low, high = np.array(bounds, np.int32).T
                parts.append(_single(np.full(len(low), v, np.int32), low, high))
        if not parts:
            return _single(*(np.empty(0, np.int32),) * 3)
        made = Predicates.join(parts)
        fitted = Sorted(rows, self.levels).count(made)[1][:, 0]
        return made.take(np.lexsort((made.high[:, 0], made.low[:, 0], made.column[:, 0], fitted)))

    def multivariate(
        self, rows: np.ndarray, wanted: int, width: int, rng: np.random.Generator, most: int
    ) -> tuple[Predicates, int]:
        """Conjunctions met by exactly one of ``rows`` (released records), each guessed from a random one of them.

        Numbers above the release's median give >=, others <=; categories give ==; missing values "is missing". Returns
        up to ``wanted`` different predicates and the number of attempts (at most ``most``).
        """
        kept: list[Predicates] = []
        seen: set[bytes] = set()
        attempts = found = 0
        known = Sorted(rows, self.levels)
        batch = max(1024, 4 * wanted)
        while found < wanted and attempts < most:
            size = min(batch, most - attempts)
            attempts += size
            made = self._around_records(rows, size, width, rng)
            made = made.take(np.flatnonzero(known.count(made, stop_at=2)[0] == 1))
            fresh = []
            for position, key in enumerate(made.keys()):
                text = key.tobytes()
                if text not in seen:
                    seen.add(text)
                    fresh.append(position)
            if fresh:
                kept.append(made.take(np.array(fresh[: wanted - found])))
                found += len(kept[-1])
            if not fresh and attempts >= 100 * wanted:
                break  # the release has no more of them
            batch = min(2 * batch, 1 << 18)
        return (Predicates.join(kept) if kept else _single(*(np.empty(0, np.int32),) * 3)), attempts

    def _around_records(self, rows: np.ndarray, size: int, width: int, rng: np.random.Generator) -> Predicates:
        column = _column_sets(size, width, len(self.columns), rng)
        row = rng.integers(0, len(rows), size)
        low, high, medians = np.empty_like(column), np.empty_like(column), self.medians

        def guess(start: int, stop: int) -> None:
            some = column[start:stop]
            value = rows[row[start:stop, None], some]
            upper = self.numeric[some] & (value > medians[some])
            lower = self.numeric[some] & ~upper
            low[start:stop] = np.where(lower & (value >= 0), 0, value)
            high[start:stop] = np.where(upper & (value >= 0), self.levels[some] - 1, value)

        share_out(guess, size, BLOCK)
        return Predicates(column, low, high, np.zeros(column.shape, bool))

    def random(self, wanted: int, width: int, rng: np.random.Generator) -> Predicates:
        """The naive attacker's predicates: random columns, values drawn from the release, random operators."""
        column = _column_sets(wanted, width, len(self.columns), rng)
        value = self.released[rng.integers(0, len(self.released), column.shape), column]
        operator = np.where(self.numeric[column], rng.integers(0, 6, column.shape), rng.integers(0, 2, column.shape))
        top = self.levels[column] - 1
        known = value >= 0
        low = np.select([operator <= 1, operator <= 3, operator == 4], [value, 0, value + 1], value)
        high = np.select([operator <= 1, operator == 2, operator == 3], [value, value - 1, value], top)
        low, high = np.where(known, low, MISSING), np.where(known, high, MISSING)
        # An empty interval (below the smallest value) must match nobody, missing values included.
        empty = known & (high < low)
        low, high = np.where(empty, 1, low), np.where(empty, 0, high)
        return Predicates(column, low.astype(np.int32), high.astype(np.int32), (operator == 1) & known)

    def read(self, texts: Sequence[Description]) -> Predicates:
        """Predicates from lists of (column, operator, value); value None with == means "is missing"."""
        _check_form(texts)
        width = max((len(t) for t in texts), default=1)
        shape = (len(texts), width)
        column, low, high = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        negated = np.zeros(shape, bool)
        for q, conditions in enumerate(texts):
            padded = [*conditions, *[conditions[0]] * (width - len(conditions))]
            for j, (given, asked, value) in enumerate(padded):
                name, operator = str(given), str(asked)
                if name not in self.columns:
                    raise InputError(f"a predicate names column {name!r}, which is not among {listed(self.columns)}")
                if operator not in OPERATORS:
                    raise InputError(f"a predicate uses operator {operator!r}; the operators are {listed(OPERATORS)}")
                v = self.columns.index(name)
                column[q, j] = v
                low[q, j], high[q, j], negated[q, j] = self._interval(v, operator, value)
        return Predicates(column, low, high, negated)

    def _interval(self, v: int, operator: str, value: object) -> tuple[int, int, bool]:
        levels, top = self._codes[v].levels, int(self.levels[v]) - 1
        if value is None:
            return MISSING, MISSING, operator == "!="
        if not self.numeric[v] and operator not in ("==", "!="):
            raise InputError(f"column {self.columns[v]!r} is not numeric, so only == and != can be asked of it")
        if self.numeric[v]:
            known, asked = np.asarray(levels), np.asarray(value)
            left, right = int(np.searchsorted(known, asked, "left")), int(np.searchsorted(known, asked, "right"))
        else:
            left = levels.index(value) if value in levels else top + 1
            right = left + (left <= top)
        bounds = {"<": (0, left - 1), "<=": (0, right - 1), ">": (right, top), ">=": (left, top)}
        low, high = bounds.get(operator, (left, right - 1))
        if high < low:
            low, high = 1, 0
        return low, high, operator == "!="

    def write(self, predicates: Predicates) -> list[str]:
        """Predicates as text, for the custodian's eyes."""
        texts = []
        for q in range(len(predicates)):
            parts = []
            for j in range(predicates.column.shape[1]):
                v, low, high = (int(a[q, j]) for a in (predicates.column, predicates.low, predicates.high))
                levels = self._codes[v].levels
                if high < 0:
                    text = f"{self.columns[v]} is missing"
                elif low == high:
                    text = f"{self.columns[v]} {'!=' if predicates.negated[q, j] else '=='} {levels[low]!s}"
                elif low == 0:
                    text = f"{self.columns[v]} <= {levels[high]!s}"
                else:
                    text = f"{self.columns[v]} >= {levels[low]!s}"
                if text not in parts:
                    parts.append(text)
            texts.append(" and ".join(parts))
        return texts


def _check_form(texts: object) -> None:
    """Say how predicates are written, rather than fail inside them."""
    if isinstance(texts, (str, dict)) or not isinstance(texts, Sequence):
        raise InputError(f"{FORM}; got a {type(texts).__name__}")
    for position, conditions in enumerate(texts):
        if isinstance(conditions, (str, dict)) or not isinstance(conditions, Sequence) or not len(conditions):
            raise InputError(f"{FORM}; predicate {position} is a {type(conditions).__name__}, or empty")
        for condition in conditions:
            if isinstance(condition, (str, dict)) or not isinstance(condition, Sequence) or len(condition) != 3:
                raise InputError(f"{FORM}; predicate {position} has a condition that is no triple")


def _scan(table: np.ndarray, predicates: Predicates) -> tuple[np.ndarray, np.ndarray]:
    """Matches of a few predicates, column by column."""
    matches, where = np.zeros(len(predicates), np.int64), np.full(len(predicates), -1, np.int64)
    for q in range(len(predicates)):
        met = np.ones(len(table), bool)
        for j in range(predicates.column.shape[1]):
            codes = table[:, predicates.column[q, j]]
            inside = (codes >= predicates.low[q, j]) & (codes <= predicates.high[q, j])
            met &= inside != predicates.negated[q, j]
        matches[q] = met.sum()
        where[q] = met.argmax() if matches[q] else -1
    return matches, where


class Sorted:
    """Records as codes, with the order of every column, so that counting looks only at records that can match."""

    def __init__(self, table: np.ndarray, levels: np.ndarray) -> None:
        self.table = np.ascontiguousarray(table)
        self.order = np.ascontiguousarray(np.argsort(table, axis=0, kind="stable").T.astype(np.int32))
        self.base = np.concatenate([[0], np.cumsum(levels.astype(np.int64) + 3)])
        self.upto = np.zeros(int(self.base[-1]), np.int64)
        for v, codes in enumerate(table.T):
            counts = np.bincount(codes + 1, minlength=int(levels[v]) + 1)
            self.upto[self.base[v] + 1 : self.base[v] + 2 + int(levels[v])] = np.cumsum(counts)
            self.upto[self.base[v + 1] - 1] = len(codes)

    def count(self, predicates: Predicates, stop_at: int = 0, room: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Matches of each predicate and the first ``room`` of them (-1: none); counting ends at ``stop_at``."""
        from glasshouse.disclosure.gdpr.kernel import count

        listed = np.full((len(predicates), room), -1, np.int64)
        if not len(predicates):
            return np.zeros(0, np.int64), listed
        arrays = predicates.column, predicates.low, predicates.high, predicates.negated
        matches = count(self.table, self.order, self.upto, self.base, *arrays, stop_at, listed)
        return np.asarray(matches), listed


def _single(column: np.ndarray, low: np.ndarray, high: np.ndarray) -> Predicates:
    return Predicates(
        column.reshape(-1, 1).astype(np.int32),
        low.reshape(-1, 1).astype(np.int32),
        high.reshape(-1, 1).astype(np.int32),
        np.zeros((len(column), 1), bool),
    )


def _column_sets(size: int, width: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """``width`` different columns per predicate, in ascending order."""
    drawn, chosen = rng.random((size, columns)), np.empty((size, width), np.int32)

    def choose(start: int, stop: int) -> None:
        chosen[start:stop] = np.sort(np.argsort(drawn[start:stop], axis=1)[:, :width], axis=1)

    share_out(choose, size, BLOCK)
    return chosen


def _middle(codes: np.ndarray) -> float:
    """Median of the codes present; codes follow the values, so a value is above the median exactly when its code is."""
    present = codes[codes >= 0]
    return float(np.median(present)) if len(present) else -1.0
