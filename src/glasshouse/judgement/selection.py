"""Which measures an assessment runs, and what that will cost, said before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed, names_wanted, shortened
from glasshouse.core.measure import AnyMeasure, Tier
from glasshouse.core.words import duration, plural
from glasshouse.data.pair import Pair
from glasshouse.engines.asked import number_asked
from glasshouse.engines.neighbours.effort import most_columns
from glasshouse.judgement.policy.policy import Policy

# Each set is the one before it and more; they differ in which measures run, never in how a measure is defined.
SETS: tuple[Tier, ...] = ("fast", "default", "full")
# Seconds per unit of work on one core: means over the measures of a kind that give what whole assessments of 1,000 to
# 300,000 records took. For the estimate, not for a promise.
SECONDS = {"cells": 2e-7, "rows": 2e-7, "neighbours": 5e-10, "attackers": 2e-5, "pairs": 2e-9}
MOST_PAIRS = 4e9  # compared by a measure that asks about people; of more a sample is asked about


def select(measures: str | Iterable[str | AnyMeasure], policy: Policy, row_paired: bool = False) -> list[AnyMeasure]:
    """The measures of a word or a list of words (:func:`meant`), plus those the policy names, in the order of the
    registry's families.
    """
    known = all_measures()
    words = [measures] if isinstance(measures, str) else list(measures)
    if not words and not policy.measures:
        raise InputError("measures is an empty list; name at least one measure")
    names_wanted("measures", words, spoken_of())
    chosen = {*policy.measures, *(name for word in words for name in meant(word, row_paired))}
    return sorted((m for m in known.values() if m.name in chosen), key=lambda m: (m.side, m.family, m.name))


def left_out(measures: object, chosen: Sequence[AnyMeasure]) -> list[str]:
    """Tests of the default set that a smaller set leaves out; none where the measures were named one by one."""
    if not isinstance(measures, str) or measures not in SETS[: SETS.index("default")]:
        return []
    ran = {m.name for m in chosen}
    usual = (m for m in all_measures().values() if m.tier == "default" and m.side == "disclosure")
    return [m.name for m in usual if m.name not in ran and m.table == "pair"]


def meant(word: str | AnyMeasure, row_paired: bool = False) -> list[str]:
    """The measures that one word means: a set, a side, a threat, a family, or one measure.

    The name of a measure is that measure, as it always was, also where a family is called so ("attribution": its
    threat, "attribute", holds the family). Any other word that is several of these means all of them: "identity" is a
    threat and a family. Of a row-paired release the truth is known, so any set asks the measures that use it.

    Parameters
    ----------
    word : str or Measure
        "fast", "default", "full"; "disclosure", "utility"; a threat; a family; the name of a measure, or itself.
    row_paired : bool, default False
        Whether the release is row-paired.

    Returns
    -------
    list of str
        Names of measures.

    Raises
    ------
    InputError
        When nothing is called so; the closest name is offered.
    """
    known = all_measures()
    if not isinstance(word, str):
        return [word.name]
    if word in known:
        return [word]
    if word in SETS:
        most = SETS.index(word)
        return [m.name for m in known.values() if SETS.index(m.tier) <= most or (row_paired and m.paired)]
    found = [m.name for m in known.values() if word in (m.family, m.threat, m.side)]
    if not found:
        raise InputError(
            f"there is no measure {shortened(word)!r}{closest(word, spoken_of())}; gh.measures() lists "
            f"them with their families and threats, and the sets are {listed(SETS)}"
        )
    return found


def spoken_of() -> list[str]:
    """Every word that means measures: sets, names, sides, threats, families."""
    known = all_measures()
    groups = dict.fromkeys(g for m in known.values() for g in (m.side, m.threat, m.family) if g is not None)
    return [*dict.fromkeys((*SETS, *known, *groups))]


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
        work = float(f"{self.work:.2g}")  # two digits, written out: a reader may not know 2e+03
        return f"{self.measure}: about {work:,.15g} {unit}" if self.runs else f"{self.measure}: does not apply"


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
        text = f"{len(running)} {plural(len(running), 'measure')}, roughly {duration(self.seconds)} on one core"
        return text + (f"; the costliest is {costliest}" if costliest is not None else "")

    __repr__ = __str__


def estimate(pair: Pair, measures: str | Sequence[str] = "default", policy: Policy | str | None = None) -> Estimate:
    """How much work ``gh.assess`` would do with these arguments, without doing it."""
    chosen = select(measures, Policy.of(policy), pair.row_paired)
    n, released = pair.n("original"), sum(pair.n(table) for table in pair.releases)
    held = pair.n("holdout") if pair.has_holdout else 0
    asking = sum(number_asked(None, pair.n(table)) or pair.n(table) for table in pair.releases)
    # an exact search in a box tree visits far fewer records than there are; a power of 0.75 is what structured data
    # show
    work: Mapping[str, float] = {
        "cells": n + released,
        "rows": n + released,
        "neighbours": asking * (n + held) ** 0.75,
        "attackers": n + released,
        "pairs": n * released,
    }
    columns = max(len(pair.columns), 1)
    wide = {"cells": columns, "rows": columns, "neighbours": min(columns, most_columns(pair))}
    costs = []
    for measure in chosen:
        amount = float(work.get(measure.cost, n + released))
        if measure.cost == "pairs" and "people" in measure.options:
            amount = min(amount, MOST_PAIRS)
        seconds = amount * SECONDS.get(measure.cost, 2e-6) * wide.get(measure.cost, 1) + 0.02
        costs.append(Cost(measure.name, measure.cost, amount, seconds, measure.lacks(pair) is None))
    return Estimate(tuple(costs))
