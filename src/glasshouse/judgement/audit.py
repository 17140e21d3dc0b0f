"""gh.audit: the attacks that were really run on this release, against the ceiling its formal claim sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.formal.auditing import AttackCounts, Audit, audit_attacks, ceil_count, floor_count

ATTACKS = ("domias", "membership_classifier", "identical", "inference", "linkability", "rapid", "singling_out")
RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def audit(
    pair: Any,
    risk: Any = None,
    *,
    attacks: Sequence[str] | Mapping[str, Mapping[str, Any]] = ATTACKS,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Audit:
    """Compare measured attacks on this very release with what its formal claim allows.

    ``risk``: the claim, a gh.Risk (or gh.formal.gaussian / approximate); None for a release without one, which then
    only gets the lower bound on its privacy loss. ``attacks``: names, or ``{name: options}``. Needs a holdout: what an
    attack reaches on people who were left out is the baseline the claim speaks about. Ready-made results of the same
    pair can be placed with :func:`audit_results`.
    """
    if not isinstance(pair, Pair):
        raise InputError(
            "gh.audit takes a Pair; for counts or scores of your own attack use gh.formal.audit_counts or audit_scores"
        )
    known = all_measures()
    options = {name: dict(attacks[name]) if isinstance(attacks, Mapping) else {} for name in attacks}
    for name in options:
        if name not in ATTACKS:
            raise InputError(
                f"no audit by {name!r}{closest(name, ATTACKS)}; attacks an audit can place: {listed(ATTACKS)}"
            )
    found: list[AttackCounts] = []
    skipped: dict[str, str] = {}
    for name, given in options.items():
        measure = known.get(name)
        if measure is None:
            skipped[name] = "this measure is not installed"
            continue
        shared = {"random_state": random_state, "n_jobs": n_jobs}
        settings = {**{k: v for k, v in shared.items() if k in measure.options}, **given}
        reason = measure.lacks(pair) or (None if pair.has_holdout else f"{name} needs a holdout as its baseline")
        if reason:
            skipped[name] = reason
            continue
        for i in range(pair.m):
            one = pair.release(i) if pair.m > 1 else pair
            placed = attack_counts(measure.run(one, **settings), one, f"release {i + 1}" if pair.m > 1 else "")
            if isinstance(placed, str):
                skipped[name] = placed
            else:
                found += placed
    return audit_attacks(risk, found, confidence=confidence, delta=delta, sided=sided, skipped=skipped)


def audit_results(
    results: Mapping[str, Result],
    pair: Pair,
    risk: Any = None,
    *,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
) -> Audit:
    """The same from results already at hand, e.g. ``gh.assess(pair).results``; other measures are left aside."""
    found: list[AttackCounts] = []
    skipped: dict[str, str] = {}
    for name in (n for n in ATTACKS if n in results):
        placed = attack_counts(results[name], pair)
        if isinstance(placed, str):
            skipped[name] = placed
        else:
            found += placed
    return audit_attacks(risk, found, confidence=confidence, delta=delta, sided=sided, skipped=skipped)


def attack_counts(result: Result, pair: Pair, label: str = "") -> list[AttackCounts] | str:
    """The counts a claim can be held against, or why there are none."""
    if result.status != "ok":
        return result.reason or "it gave no value"
    reader: Callable[[Result, Pair, str], list[AttackCounts]] = _READERS[result.name]
    return reader(result, pair, label) or "it has no figure for people who were left out"


def _membership(result: Result, pair: Pair, label: str) -> list[AttackCounts]:
    """A few thresholds fixed by their share of false alarms, read off the ROC curve."""
    curve = result.plot_data.get("roc")
    if not curve:
        return []
    members, others = int(result.details["n_members"]), int(result.details["n_nonmembers"])
    points: dict[tuple[int, int], AttackCounts] = {}
    for rate in RATES:
        if rate * others < 1:
            continue
        within = [(f, t) for f, t in zip(curve["fpr"], curve["tpr"], strict=True) if f <= rate + 1e-12]
        if not within:
            continue
        fpr, tpr = max(within)
        hits, alarms = floor_count(tpr * members), ceil_count(fpr * others)
        text = f"at most {rate:.1%} false alarms" + (f", {label}" if label else "")
        points[hits, alarms] = AttackCounts(result.name, "membership", hits, members, alarms, others, text)
    return list(points.values())


def _per_person(result: Result, pair: Pair, label: str) -> list[AttackCounts]:
    """Attacks that ask about one given person at a time: success on members against success on people left out."""
    d = result.details
    if d.get("n_control") is None:
        return []
    hits, trials = floor_count(d["n_success"]), floor_count(d["n_attacks"])
    alarms, controls = ceil_count(d["n_control"]), floor_count(d["n_control_attacks"])
    threat = "attribute" if result.name == "inference" else "identity"
    return [AttackCounts(result.name, threat, hits, trials, min(alarms, controls), controls, label)]


def _singling_out(result: Result, pair: Pair, label: str) -> list[AttackCounts]:
    """A description may single out anybody, so a promise per person has to be summed over all of them."""
    return [
        AttackCounts(c.attack, c.threat, c.hits, c.members, c.alarms, c.nonmembers, label, aims=pair.n("original"))
        for c in _per_person(result, pair, label)
    ]


def _rapid(result: Result, pair: Pair, label: str) -> list[AttackCounts]:
    """RAPID's share at risk, for members and for people left out; the difference is the advantage of the release."""
    if result.holdout is None or result.value is None or pair.weights is not None:
        return []
    members = int(result.details.get("n_scored") or pair.n("original"))
    others = pair.n("holdout")
    hits, alarms = floor_count(result.value * members), ceil_count(result.holdout * others)
    return [AttackCounts("rapid", "attribute", hits, members, alarms, others, label)]


def _identical(result: Result, pair: Pair, label: str) -> list[AttackCounts]:
    """The simplest membership test: is there a released record equal to this person's?"""
    if not pair.has_holdout:
        return []
    columns = tuple(result.details["columns"])
    ids = pair.memo(("row_ids", columns, None), lambda: row_ids(pair, columns, None))
    hits, alarms = (int(np.isin(ids[table], ids["released"]).sum()) for table in ("original", "holdout"))
    return [AttackCounts("identical", "copying", hits, pair.n("original"), alarms, pair.n("holdout"), label)]


_READERS: dict[str, Callable[[Result, Pair, str], list[AttackCounts]]] = {
    "domias": _membership,
    "membership_classifier": _membership,
    "identical": _identical,
    "inference": _per_person,
    "linkability": _per_person,
    "singling_out": _singling_out,
    "rapid": _rapid,
}
