"""Figures per column, and the columns a utility measure looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from glasshouse.core.errors import InputError, NotApplicable, closest
from glasshouse.core.plain import plain
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair


class Figure(float):
    """A column's figure: a number that also answers to the names of the figures beside it, ``figure["iqr_x"]``."""

    parts: dict[str, Any]

    def __new__(cls, value: float, parts: Mapping[str, Any]) -> Figure:
        made = super().__new__(cls, value)
        made.parts = plain(dict(parts))
        return made

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def get(self, name: str, default: Any = None) -> Any:
        return self.parts.get(name, default)

    def keys(self) -> Iterable[str]:
        return self.parts.keys()

    def __repr__(self) -> str:
        return float.__repr__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Figure, (float(self), self.parts)


def with_columns(result: Result, columns: Mapping[str, tuple[float | None, Mapping[str, Any]]]) -> Result:
    """The result with one figure per column in front of its details; the figures beside it are also rows of
    ``to_frame``.

    ``columns[name]`` is the column's own figure and what stands beside it. A column without a figure stays in, as
    None.
    """
    figures: dict[str, Any] = {}
    rows = []
    for name, (value, parts) in columns.items():
        known = plain(value)
        figures[name] = None if known is None else Figure(known, parts)
        flat = {k: v for k, v in plain(dict(parts)).items() if not isinstance(v, (list, dict))}
        rows.append({"column": name, "figure": known, **flat})
    named = {name: plain({"figure": value, **parts}) for name, (value, parts) in columns.items()}
    result._set(details={**figures, **result.details, "columns": named}, _table=rows)
    return result


def chosen(
    pair: Pair, columns: Sequence[str] | str | None, default: Sequence[str], kind: str, minimum: int = 1
) -> tuple[str, ...]:
    """The columns a measure looks at: the ones named, or the default; NotApplicable when there are too few."""
    names = tuple(default) if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    for name in names:
        if name not in pair.columns:
            raise InputError(f"column {name!r} is not shared by original and release{closest(name, pair.columns)}")
    if len(set(names)) != len(names):
        raise InputError("columns names a column twice")
    if len(names) < minimum:
        found = (
            f"{len(names)} of the {minimum} {kind} columns it needs" if minimum > 1 else f"no {kind} column to compare"
        )
        raise NotApplicable(f"there is {found}; name the columns with columns=[...] or give their kind in schema=")
    return names


def require_numeric(pair: Pair, columns: Sequence[str]) -> None:
    for name in columns:
        if not pair.is_numeric(name):
            raise InputError(f"column {name!r} is {pair.schema[name].kind}, not numeric; leave it out of columns")


def ignored_weights(pair: Pair, measure: str) -> list[str]:
    """The warning of a measure in which survey weights have no meaning."""
    return [f"weights ignored: {measure} treats every record alike"] if pair.weights else []
