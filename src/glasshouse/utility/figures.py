"""Figures per column, and the columns a utility measure looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, closest
from glasshouse.core.evidence import ColumnReading
from glasshouse.core.plain import number, plain
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair

LARGEST_NUMBER = 1e150  # the square of a larger one is no longer a number
PRACTICALLY_ZERO = 1e-9

Columns: TypeAlias = "Sequence[str] | str | None"  # the option columns=: some names, one name, or the default
Beside: TypeAlias = "Mapping[str, object]"  # the figures beside a column's own, by name
ColumnFigures: TypeAlias = "dict[str, tuple[float | None, Beside]]"


class Figure(float):
    """A column's figure: a number that also answers to the names of the figures beside it, ``figure["iqr_x"]``."""

    parts: dict[str, object]

    def __new__(cls, value: float, parts: Beside) -> Figure:
        made = super().__new__(cls, value)
        made.parts = plain(dict(parts))
        return made

    def __getitem__(self, name: str) -> object:
        return self.parts[name]

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def get(self, name: str, default: object = None) -> object:
        return self.parts.get(name, default)

    def keys(self) -> KeysView[str]:
        return self.parts.keys()

    def __repr__(self) -> str:
        return float.__repr__(self)

    def __reduce__(self) -> tuple[type[Figure], tuple[float, dict[str, object]]]:
        return Figure, (float(self), self.parts)


def with_columns(result: Result, columns: Mapping[str, tuple[float | None, Beside]]) -> Result:
    """The result with one figure per column.

    Parameters
    ----------
    result
        The result over all columns.
    columns
        By column, its own figure (None: it has none) and the figures beside it.

    Returns
    -------
    Result
        ``details`` holds the figures of every column under its name and under ``"columns"``, ``columns`` how each
        compares with its band, ``plot_data["readings"]`` the same for charts; ``to_frame`` has one row per column.
    """
    named: dict[str, dict[str, object]] = {}
    figures: dict[str, Figure | None] = {}
    rows: list[dict[str, object]] = []
    readings: dict[str, ColumnReading] = {}
    for name, (value, beside) in columns.items():
        known: float | None = plain(value)
        parts: dict[str, object] = plain(dict(beside))
        named[name] = {"figure": known, **parts}
        rows.append({"column": name, "figure": known, **{k: v for k, v in parts.items() if not _nested(v)}})
        figures[name] = None if known is None else Figure(known, beside)
        if known is not None:
            scaled = _float(parts.get("wasserstein_scaled"))  # its band is that of the scaled distance
            readings[name] = ColumnReading(
                float(known),
                lost=bool(parts.get("lost")),
                of_tolerable=_of_tolerable(known if scaled is None else scaled, _float(parts.get("null_high"))),
            )
    return result._copy(
        details={**figures, **result.details, "columns": named},
        columns=readings,
        plot_data={**result.plot_data, "readings": named},
        _table=rows,
    )


def _nested(value: object) -> bool:
    return isinstance(value, (list, dict))


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _of_tolerable(figure: float, top: float | None) -> float | None:
    """The figure as a multiple of the upper end of its band; None without a band."""
    return figure / top if top is not None and top > 0 else None


def small(value: float | None, digits: int = 3) -> str:
    """A number for a sentence: what is left of rounding errors is written as 0."""
    return "0" if value is not None and abs(value) < PRACTICALLY_ZERO else number(value, digits)


def of_columns(count: int, kind: str) -> str:
    """ "1 numeric column", "3 numeric columns"."""
    return f"{count} {kind} column{'' if count == 1 else 's'}"


def infinite_values(pair: Pair, name: str) -> int:
    """Values of a column, in all tables, that are infinite or too large to be squared."""

    def count() -> int:
        if not pair.is_numeric(name):
            return 0
        tables = ["original", *pair.releases]
        tables += ["holdout"] if pair.has_holdout else []
        # missing values compare as False
        return sum(int((np.abs(pair.values(name, t)) > LARGEST_NUMBER).sum()) for t in tables)

    return pair.memo(("infinite_values", name), count)


def require_finite(pair: Pair, names: Iterable[str]) -> None:
    """NotApplicable for a column that a model cannot do without and whose numbers it cannot take."""
    for name in names:
        if count := infinite_values(pair, name):
            raise NotApplicable(f"{_infinite(name, count)}; make them missing values first, or leave the column out")


def _infinite(name: str, count: int) -> str:
    return f"column {name!r} has {count:,} infinite value{'' if count == 1 else 's'} (or beyond {LARGEST_NUMBER:g})"


def usable(
    pair: Pair, names: Sequence[str], notes: list[str], valued: Literal["any", "one", "both"] = "any"
) -> tuple[str, ...]:
    """The columns without infinite values and with a value in ``one`` or ``both`` of the tables; ``notes`` takes a
    sentence for each of the others.
    """
    made = []
    for name in names:
        if count := infinite_values(pair, name):
            notes.append(f"{_infinite(name, count)} and is left out; make them missing values to keep it")
            continue
        if valued != "any":
            has = [bool((pair.codes(name).of(t) >= 0).any()) for t in ("original", "released")]
            if not (any(has) if valued == "one" else all(has)):
                where = "in one of the tables" if any(has) else "at all"
                notes.append(f"column {name!r} has no value {where} and is left out")
                continue
        made.append(name)
    return tuple(made)


def chosen(
    pair: Pair,
    columns: Columns,
    default: Sequence[str],
    kind: str,
    minimum: int = 1,
    *,
    notes: list[str] | None = None,
    valued: Literal["any", "one", "both"] = "any",
) -> tuple[str, ...]:
    """The columns a measure looks at: the ones named, or the default; NotApplicable when there are too few.

    With ``notes`` columns that cannot be used are left out and named there; one that was asked for by name is refused.
    """
    names = tuple(default) if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    for name in names:
        if name not in pair.columns:
            raise InputError(f"column {name!r} is not shared by original and release{closest(name, pair.columns)}")
    if len(set(names)) != len(names):
        raise InputError("columns names a column twice")
    left: list[str] = []
    if notes is not None:
        if columns is not None:
            require_finite(pair, names)
        names = usable(pair, names, left, valued)
        notes += left
    if len(names) < minimum:
        found = (
            f"{len(names)} of the {minimum} {kind} columns it needs" if minimum > 1 else f"no {kind} column to compare"
        )
        if left:
            found += f" ({'; '.join(left[:3])})"
        raise NotApplicable(f"there is {found}; name the columns with columns=[...] or give their kind in schema=")
    return names


def require_numeric(pair: Pair, columns: Sequence[str]) -> None:
    """InputError for a column that is no number."""
    for name in columns:
        if not pair.is_numeric(name):
            raise InputError(f"column {name!r} is {pair.schema[name].kind}, not numeric; leave it out of columns")


def ignored_weights(pair: Pair, measure: str) -> list[str]:
    """The warning of a measure in which survey weights have no meaning."""
    return [f"weights ignored: {measure} treats every record alike"] if pair.weights else []
