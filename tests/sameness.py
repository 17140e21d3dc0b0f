"""Every figure of a result under a name that neither the order of rows nor that of columns changes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from glasshouse.core.result import Result

TYPED = (
    "excess_interval", "p_chance", "counts", "operating", "exposure", "null", "utility", "columns", "figures", "_table",
)  # fmt: skip


def figures(result: Result, by_position: bool = False) -> dict[str, float | None]:
    """Numbers, yes and no, and their absence, by place; text is left out. ``by_position``: also what is declared to go
    by the place of records in the file.
    """
    told = {k: v for k, v in result.to_dict().items() if k != "settings"}
    told |= {name: getattr(result, name) for name in TYPED}
    left_out = () if by_position or result.measure is None else result.measure.by_position
    return {name: value for name, value in _leaves(told, "") if name.rpartition(".")[2] not in left_out}


def changed(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> dict[str, tuple[Any, Any]]:
    """The figures that differ by more than rounding; fits end where a step changes no more than eight digits."""
    nothing = "no such figure"
    pairs = {name: (one.get(name, nothing), other.get(name, nothing)) for name in sorted({*one, *other})}
    return {name: both for name, both in pairs.items() if not _equal(*both)}


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b
    return bool(a == pytest.approx(b, rel=1e-8, abs=1e-9)) or (math.isnan(a) and math.isnan(b))


def _leaves(what: Any, at: str) -> Iterator[tuple[str, float | None]]:
    if dataclasses.is_dataclass(what) and not isinstance(what, type):
        what = {f.name: getattr(what, f.name) for f in dataclasses.fields(what)}
    if isinstance(what, Mapping):
        for key, value in what.items():
            yield from _leaves(value, f"{at}.{_named(str(key))}")
    elif isinstance(what, (list, tuple)):
        rows = [_row_name(row) if isinstance(row, Mapping) else "" for row in what]
        for i, value in enumerate(what):
            yield from _leaves(value, f"{at}[{rows[i] or i}]")
    elif what is None or isinstance(what, (bool, int, float)):
        yield at, what


def _row_name(row: Mapping[str, Any]) -> str:
    """Rows of a table are known by the columns they speak of, in whichever order they are named."""
    names = (row[k] for k in ("column", "pair", "a", "b", "target", "term", "table", "level") if k in row)
    return " ".join(sorted(_named(str(name)) for name in names))


def _named(name: str) -> str:
    return "|".join(sorted(re.split("[|:]", name)))
