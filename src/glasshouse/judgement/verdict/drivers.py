"""Who is at risk and which columns drive it: the figure without each key, and the figure inside each subgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import narwhals as nw

from glasshouse.core.plain import Content
from glasshouse.core.result import Result
from glasshouse.core.words import SEVERITY
from glasshouse.data.pair import Pair
from glasshouse.judgement.verdict.judged import Judged, rank

MOST_LEVELS = 12
# records times keys up to which a model is refitted without each key; fixed, so that a report never depends on speed
MODEL_WORK = 50_000


@dataclass(frozen=True)
class Dropped:
    """The figure without one key, and how far it falls."""

    column: str
    without: float
    falls_by: float


@dataclass(frozen=True)
class Drivers:
    """Drop-one contributions of the keys to one measure, the largest first."""

    measure: str
    value: float
    keys: tuple[Dropped, ...]

    def to_dict(self) -> Content:
        """The contributions as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Group:
    """A measure's figure inside one level of one column."""

    column: str
    level: object
    n: int
    value: float | None
    low: float | None
    high: float | None
    small: bool


@dataclass(frozen=True)
class People:
    """How many records a measure flags, of how many it could tell, how many people that is beyond what strangers let
    expect, and the share inside each subgroup."""

    measure: str
    flagged: int
    known: int
    of: int
    groups: tuple[Group, ...]
    beyond: float | None = None
    strangers: float | None = None

    def to_dict(self) -> Content:
        """The counts as plain data."""
        return asdict(self)


def drivers(pair: Pair, judged: Sequence[Judged], options: Mapping[str, Mapping[str, Any]]) -> Drivers | None:
    """Drop-one contributions of the keys: how far a measure falls when the attacker does not know one of them.

    Takes the worst attribute measure that can be run again cheaply: one that counts cells, or a model on a small table.
    None when there is nothing to drop or nothing to explain.
    """
    small = pair.n("original") * max(len(pair.keys), 1) <= MODEL_WORK
    again = ("cells", "rows", "attackers") if small else ("cells", "rows")
    chosen = _worst(judged, lambda j: j.measure.cost in again and "keys" in j.measure.needs and _is(j, "attribute"))
    if chosen is None or len(pair.keys) < 2 or not chosen.result.value:
        return None
    measure, value = chosen.measure, float(chosen.result.value)
    rows = []
    for key in pair.keys:
        without = measure.run(pair.replace(keys=[k for k in pair.keys if k != key]), **options.get(measure.name, {}))
        if without.value is not None:
            rows.append(Dropped(key, float(without.value), value - float(without.value)))
    rows.sort(key=lambda row: (-row.falls_by, row.column))
    return Drivers(measure.name, value, tuple(rows)) if rows else None


def people(pair: Pair, judged: Sequence[Judged]) -> People | None:
    """How many original records the leading attribute (or identity) measure flags, and the share inside each
    subgroup.
    """
    chosen = _worst(judged, lambda j: j.result.flag is not None and _is(j, "attribute")) or _worst(
        judged, lambda j: j.result.flag is not None and _is(j, "identity")
    )
    if chosen is None:
        return None
    result = chosen.result
    flags, known = result.flags()
    groups: list[Group] = []
    for column in (*pair.keys, *pair.targets) if flags[known].any() else ():
        if len(pair.codes(column).levels) <= MOST_LEVELS:
            # an engine returns rows in any order
            place = {str(level): i for i, level in enumerate(pair.codes(column).levels)}
            groups += sorted(_groups(result, column), key=lambda g: place.get(str(g.level), len(place)))
    seen = result.exposure
    return People(
        result.name,
        round(float(flags[known].sum())),
        int(known.sum()),
        len(flags),
        tuple(groups),
        None if seen is None else seen.people,
        None if seen is None else seen.strangers,
    )


def _groups(result: Result, column: str) -> list[Group]:
    # the table comes in the user's own library, which may be one that answers only when asked
    table: Mapping[str, list[Any]] = nw.from_native(result.by(column)).lazy().collect("polars").to_dict(as_series=False)
    names = list(table)
    rows = zip(*(table[name] for name in names[:6]), strict=True)
    return [Group(column, level, n, value, low, high, small) for level, n, value, low, high, small in rows if n]


def _is(j: Judged, threat: str) -> bool:
    return j.measure.table == "pair" and j.measure.threat == threat


def _worst(judged: Sequence[Judged], wanted: Callable[[Judged], bool]) -> Judged | None:
    """The gravest of the wanted measures that have a figure; among equals the one with the largest excess, and what
    counts cells before what fits a model, because its answer can be checked by hand."""
    usable = [
        j
        for j in judged
        if j.decides and j.result.value is not None and j.status in ("pass", "warn", "fail") and wanted(j)
    ]
    return max(
        usable,
        key=lambda j: (SEVERITY[j.status], bool(j.result.value), j.measure.cost == "cells", rank(j)),
        default=None,
    )
