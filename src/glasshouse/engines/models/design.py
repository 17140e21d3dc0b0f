"""The keys of a table as an attacker's model sees them: joint integer codes, and the numbers or labels behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

Array = NDArray[Any]
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
    levels: tuple[Any, ...]

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def n_levels(self) -> tuple[int, ...]:
        return tuple(len(levels) for levels in self.levels)

    @property
    def values(self) -> tuple[Array | None, ...]:
        """Numbers behind the codes of numeric keys, None for the others."""
        return tuple(
            np.asarray(levels, np.float64) if kind == "numeric" else None
            for kind, levels in zip(self.kinds, self.levels, strict=True)
        )

    @property
    def is_numeric(self) -> Array:
        return np.array([kind == "numeric" for kind in self.kinds], np.bool_)

    @property
    def is_ordered(self) -> Array:
        return np.array([kind != "categorical" for kind in self.kinds], np.bool_)

    def column(self, j: int) -> Array:
        """Key j as numbers (numeric keys) or level codes."""
        numbers = self.values[j]
        return self.codes[:, j].astype(np.float64) if numbers is None else numbers[self.codes[:, j]]

    def take(self, rows: Array) -> Design:
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

    def unseen_by(self, training: Design) -> Array:
        """Which records hold, in some categorical key, a level that no training record holds."""
        found = np.zeros(self.n, np.bool_)
        for j, kind in enumerate(self.kinds):
            if kind != "numeric":
                seen = np.zeros(len(self.levels[j]), np.bool_)
                seen[training.codes[:, j]] = True
                found |= ~seen[self.codes[:, j]]
        return found


def joint_designs(
    columns: Mapping[str, Sequence[Array]],
    levels: Mapping[str, Sequence[Any]] | None = None,
    ordinal: Sequence[str] = (),
) -> list[Design]:
    """Designs of several tables from plain arrays: ``columns[name]`` lists that column in each table.

    Number arrays become numeric keys; anything else becomes categorical with the given ``levels`` first (then the
    others, sorted) and None or NaN as a last level "missing". For use without a Pair, in tests and studies.
    """
    names = tuple(columns)
    kinds: list[str] = []
    all_levels: list[Any] = []
    tables: list[list[Array]] = [[] for _ in next(iter(columns.values()))]
    for name in names:
        parts = [np.asarray(part) for part in columns[name]]
        if all(part.dtype.kind in "iuf" for part in parts):
            union = np.unique(np.concatenate(parts).astype(np.float64))
            if np.isnan(union).any():
                raise InputError(_numeric_missing(name))
            kinds.append("numeric")
            coded = [np.searchsorted(union, part.astype(np.float64)) for part in parts]
            all_levels.append(union)
        else:
            texts = [[None if v is None or v != v else v for v in part.tolist()] for part in parts]
            known = list((levels or {}).get(name, ()))
            found = {v for part in texts for v in part if v is not None}
            labels = known + sorted(found - set(known))
            if any(v is None for part in texts for v in part):
                labels = [*labels, MISSING]
            where: dict[Any, int] = {label: i for i, label in enumerate(labels)}
            where[None] = len(labels) - 1
            coded = [np.array([where[v] for v in part], np.int64) for part in texts]
            kinds.append("ordinal" if name in ordinal else "categorical")
            all_levels.append(labels)
        for table, part in zip(tables, coded, strict=True):
            table.append(part)
    return [
        Design(names, tuple(kinds), np.ascontiguousarray(np.column_stack(table), dtype=np.int32), tuple(all_levels))
        for table in tables
    ]


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
    arrays: list[Array] = []
    all_levels: list[Any] = []
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


def as_numbers(levels: Sequence[Any]) -> Array:
    """Levels of a numeric column as float64; dates as days since 1970."""
    if levels and isinstance(levels[0], (date, datetime)):
        return np.array([_days(moment) for moment in levels])
    return np.asarray(levels, np.float64)


def _days(moment: date | datetime) -> float:
    if not isinstance(moment, datetime):
        return float((moment - date(1970, 1, 1)).days)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / 86_400


def _median_code(codes: Array, name: str) -> int:
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
