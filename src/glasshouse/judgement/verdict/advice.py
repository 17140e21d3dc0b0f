"""What to do about a finding: the advice each measure declares, filled with the names and figures at hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from glasshouse.core.advice import BY_THREAT, REMEDIES
from glasshouse.core.plain import number, percent
from glasshouse.core.words import HOLDOUT_ADVICE, SEVERITY, spoken
from glasshouse.data.pair import Pair
from glasshouse.judgement.verdict.drivers import Drivers
from glasshouse.judgement.verdict.judged import Judged
from glasshouse.protection.operation import Protected

OPEN: Mapping[str, str] = {
    "holdout": f"No holdout was supplied: memorisation and membership cannot be judged. {HOLDOUT_ADVICE}",
    "keys": "No keys were named: identity and attribute disclosure cannot be judged. List the columns an attacker may "
    "know.",
    "target": "No target was named: attribute disclosure cannot be judged. Name the column an attacker would want to "
    "learn.",
}


VOID = f"The holdout that was given is none: memorisation and membership cannot be judged. {HOLDOUT_ADVICE}"
WHO = " Here it is not more of them than expected, but nearer or rarer ones."


@dataclass(frozen=True)
class Recommendation:
    """Advice that follows from one measure, or from an input that is missing.

    Attributes
    ----------
    measure, status, text : str
        Where it comes from, how grave that is, and what to do.
    operation : str or None
        The operation of ``gh.protection`` that would carry it out; None where there is none.
    """

    measure: str
    status: str
    text: str
    operation: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The advice as plain data."""
        return {"measure": self.measure, "status": self.status, "text": self.text, "operation": self.operation}

    def apply(self, pair: Pair, **arguments: Any) -> Protected:
        """Carry the advice out on the release of a pair.

        Parameters
        ----------
        pair
            What was assessed.
        **arguments
            Of the operation, in place of the mildest that ``gh.mitigate`` would try.

        Returns
        -------
        Protected
            The changed release and what was done to it. What that does to the risk is for ``gh.assess`` to say, and
            ``gh.mitigate`` does both.
        """
        # the search stands on verdicts, so it is looked up when it is wanted
        carried_out = import_module("glasshouse.judgement.mitigation.applying").carried_out
        made: Protected = carried_out(self, pair, arguments)
        return made


def recommend(
    pair: Pair,
    judged: Sequence[Judged],
    drivers: Drivers | None,
    population: Mapping[str, str] | None = None,
    figures: Callable[[Judged], Mapping[str, str]] | None = None,
    missing: Collection[str] | None = None,
) -> tuple[Recommendation, ...]:
    """One recommendation per kind of finding, in the order of the evidence: what decides alone, copies, then the
    smallest p value, whose order is not told outside. Measures that say the same thing say it once. ``population`` has
    the status of the measures for which the policy limits what anybody can infer about anybody; ``figures`` writes the
    figures of a result as readers outside see them, ``missing`` names the inputs that lack, where they are not those of
    open results."""
    names = _names(pair, drivers, inside=figures is None)
    written, chance = figures or _figures, _p if figures is None else _untold
    found = [j for j in judged if j.status in ("warn", "fail") and j.decides and _speaks(j)]
    surest: dict[str, float] = {}
    for j in found:
        surest[j.measure.group] = min(chance(j), surest.get(j.measure.group, 1.0))
    found.sort(
        key=lambda j: (_first(j), -SEVERITY[j.status], surest[j.measure.group], not _plainest(j), chance(j), j.name)
    )
    said: dict[str, Recommendation] = {}
    # outside, how a figure lies to its reference is not told, and so decides nothing
    below = {j.name for j in judged if figures is None and _below_reference(j)}
    telling = {j.measure.threat for j in found if j.name not in below}
    for j in [j for j in found if j.name not in below or j.measure.threat not in telling]:
        template = j.measure.advice or BY_THREAT.get(j.measure.threat or "", "")
        if template and template not in said:
            text = template.format_map({**names, **written(j)})
            said[template] = Recommendation(
                j.name, j.status, text + (WHO if j.name in below else ""), REMEDIES.get(template)
            )
    limits = {name: status for name, status in (population or {}).items() if status in ("warn", "fail")}
    # a limit may be broken by a figure that guessing reaches too: then the release is not what tells
    for j in (j for j in judged if j.name in limits and j.measure.advice and j.name not in below):
        text = j.measure.advice.format_map({**names, **written(j)})
        said.setdefault(j.measure.advice, Recommendation(j.name, limits[j.name], text, REMEDIES.get(j.measure.advice)))
    open_of = {j.missing for j in judged if j.status == "not_assessed" and j.decides}
    lacking = open_of if missing is None else set(missing)
    if pair.row_paired or pair.has_holdout:
        # who was in the data is no question of a file whose rows are the original's; a holdout too small is one
        lacking.discard("holdout")
    texts = {**OPEN, "holdout": VOID} if pair.void_holdout else OPEN
    open_ = [Recommendation(need, "not_assessed", text) for need, text in texts.items() if need in lacking]
    return (*said.values(), *open_)


def _speaks(j: Judged) -> bool:
    """A risk, or a utility measure whose copy alarm rings; a loss of utility asks for no protection."""
    return j.measure.side == "disclosure" or (j.test is not None and j.result.null is not None and j.result.null.copied)


def _below_reference(j: Judged) -> bool:
    """Whether the figure its advice would quote is no worse than its reference: the test saw who, not how many."""
    value, baseline = j.result.value, j.result.baseline
    return j.measure.better == "lower" and value is not None and baseline is not None and value <= baseline


def _p(j: Judged) -> float:
    return 1.0 if j.test is None else j.test.p


def _untold(j: Judged) -> float:
    """The p value of a single test as readers outside have it."""
    return 1.0


def _plainest(j: Judged) -> bool:
    return j.test is not None and j.test.plainest


def _first(j: Judged) -> int:
    """Published names and copies before all else: there is no use in coarsening what is published outright."""
    return 0 if j.measure.alone == "fail" else 1 if j.measure.alone or j.measure.threat == "copying" else 2


def _names(pair: Pair, drivers: Drivers | None, inside: bool = True) -> dict[str, str]:
    """The column names a recommendation speaks of; which columns are numeric follows the values, and stays inside."""
    falling = [] if drivers is None else [row.column for row in drivers.keys if row.falls_by > 0]
    keys = spoken(pair.keys) or "the keys"
    return {
        "keys": keys,
        "target": spoken(pair.targets[:1]) or "the target",
        "top_key": spoken(falling[:1] or pair.keys[:1]) or "the finest key",
        "top_keys": spoken(falling[:2]) or keys,
        "numeric": (spoken(pair.numeric[:4]) if inside else "") or "the numeric columns",
        "people": "people" if pair.cluster is None else "records",
        "records": "people's records" if pair.cluster is None else "the records",
        "elsewhere": "to people it never saw" if pair.has_holdout else "people are to each other",
        "synthetic": "" if pair.row_paired else "; of fully synthetic data read this with linkage and copying",
    }


def _figures(j: Judged) -> dict[str, str]:
    """The figures a recommendation speaks of; phrases that do not apply are empty."""
    result = j.result
    excess = result.excess if result.excess is not None else result.value
    baseline, holdout = result.baseline, result.holdout
    counts = result.counts
    rate = "" if counts is None or not counts.attempts else f", {percent(counts.rate)} of members {counts.label}"
    return {
        "title": j.measure.title,
        "value": "–" if result.value is None else percent(float(result.value)),
        "figure": number(result.value, 3),
        "excess": "–" if excess is None else percent(float(excess)),
        "guessing": "" if baseline is None else f" (guessing: {percent(baseline)})",
        "expected": "" if baseline is None else f", where {percent(baseline)} is expected",
        "strangers": "" if holdout is None else f" ({percent(holdout)} for people the synthesiser never saw)",
        "rate": rate,
    }
