"""Which measures an assessment runs, and what that will cost, said before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.measure import AnyMeasure, Tier
from glasshouse.core.words import plural
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy

# Each set is the one before it and more; they differ in which measures run, never in how a measure is defined.
SETS: tuple[Tier, ...] = ("fast", "default", "full")
# Seconds per unit of work on one core, measured on two machines and rounded up: for the estimate, not for a promise.
SECONDS = {"cells": 2e-6, "rows": 2e-6, "neighbours": 6e-9, "attackers": 6e-5, "pairs": 2e-8}


def select(measures: str | Iterable[str | AnyMeasure], policy: Policy, row_paired: bool = False) -> list[AnyMeasure]:
    """The measures of a set or a list, plus those the policy names, in the order of the registry's families.

    Of a row-paired release the truth is known, so any set asks the measures that use it.
    """
    known = all_measures()
    if isinstance(measures, str) and measures in known:
        measures = [measures]
    if isinstance(measures, str):
        if measures not in SETS:
            raise InputError(
                f"measures={measures!r} is neither a set nor a measure{closest(measures, [*SETS, *known])}; the "
                f"sets are {listed(SETS)}"
            )
        most = SETS.index(measures)
        wanted = [m.name for m in known.values() if SETS.index(m.tier) <= most or (row_paired and m.paired)]
    else:
        wanted = [m if isinstance(m, str) else m.name for m in measures]
        for name in wanted:
            if name not in known:
                raise InputError(f"there is no measure {name!r}{closest(name, known)}; gh.measures() lists them")
        if not wanted and not policy.measures:
            raise InputError("measures is an empty list; name at least one measure")
    chosen = {*wanted, *policy.measures}
    return sorted((m for m in known.values() if m.name in chosen), key=lambda m: (m.side, m.family, m.name))


def left_out(measures: object, chosen: Sequence[AnyMeasure]) -> list[str]:
    """Tests of the default set that a smaller set leaves out; none where the measures were named one by one."""
    if not isinstance(measures, str) or measures not in SETS[: SETS.index("default")]:
        return []
    ran = {m.name for m in chosen}
    usual = (m for m in all_measures().values() if m.tier == "default" and m.side == "disclosure")
    return [m.name for m in usual if m.name not in ran and m.table == "pair"]


@dataclass(frozen=True)
class Cost:
    """What one measure will do: units of work, and a rough time."""

    measure: str
    kind: str
    work: float
    seconds: float
    runs: bool

    def __str__(self) -> str:
        unit = {
            "cells": "records to count",
            "rows": "records to count",
            "neighbours": "record comparisons at most",
            "pairs": "record pairs",
            "attackers": "records for models to learn and predict",
        }.get(self.kind, "steps")
        return f"{self.measure}: about {self.work:.2g} {unit}" if self.runs else f"{self.measure}: does not apply"


@dataclass(frozen=True)
class Estimate:
    """The cost of an assessment before it runs."""

    costs: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        return sum(c.seconds for c in self.costs if c.runs)

    def __str__(self) -> str:
        running = [c for c in self.costs if c.runs]
        costliest = max(running, key=lambda c: c.seconds, default=None)
        text = f"{len(running)} {plural(len(running), 'measure')}, roughly {_duration(self.seconds)} on one core"
        return text + (f"; the costliest is {costliest}" if costliest is not None else "")

    __repr__ = __str__


def estimate(pair: Pair, measures: str | Sequence[str] = "default", policy: Policy | str | None = None) -> Estimate:
    """How much work ``gh.assess`` would do with these arguments, without doing it."""
    chosen = select(measures, Policy.of(policy), pair.row_paired)
    n, released = pair.n("original"), sum(pair.n(table) for table in pair.releases)
    held = pair.n("holdout") if pair.has_holdout else 0
    # an exact search in a box tree visits far fewer records than there are; a power of 0.75 is what structured data
    # show
    work: Mapping[str, float] = {
        "cells": n + released,
        "rows": n + released,
        "neighbours": released * (n + held) ** 0.75,
        "attackers": n + released,
        "pairs": n * released,
    }
    columns = max(len(pair.columns), 1)
    costs = []
    for measure in chosen:
        amount = float(work.get(measure.cost, n + released))
        seconds = (
            amount
            * SECONDS.get(measure.cost, 2e-6)
            * (columns if measure.cost in ("cells", "rows", "neighbours") else 1)
            + 0.02
        )
        costs.append(Cost(measure.name, measure.cost, amount, seconds, measure.lacks(pair) is None))
    return Estimate(tuple(costs))


def _duration(seconds: float) -> str:
    return (
        f"{max(seconds, 1):.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
