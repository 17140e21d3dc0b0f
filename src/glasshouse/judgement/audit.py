"""gh.audit: the attacks that were really run on this release, against the ceiling its formal claim sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed, names_wanted
from glasshouse.core.interrupts import heeded
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.options import door
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import NEEDS
from glasshouse.data.pair import Pair
from glasshouse.engines.devices import placed
from glasshouse.formal.auditing import AttackCounts, Audit, audit_attacks, ceil_count, floor_count
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.risk import Risk
from glasshouse.judgement.run import Options, known_options, printable_seed, run


def auditable() -> dict[str, AnyMeasure]:
    """The measures whose counts a formal claim can be held against, by name."""
    return {name: m for name, m in all_measures().items() if m.audited}


@door
@heeded()
@placed
def audit(
    pair: Pair,
    risk: Risk | Guarantee | None = None,
    *,
    attacks: Sequence[str] | Options | None = None,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    device: str | None = None,
) -> Audit:
    """Compare measured attacks on this very release with what its formal claim allows.

    Parameters
    ----------
    pair
        The original, the release and a holdout: what an attack reaches on people who were left out is the baseline the
        claim speaks about.
    risk
        The claim, a gh.Risk (or gh.formal.gaussian / approximate); None for a release without one, which then only
        gets the lower bound on its privacy loss.
    attacks
        Names, or ``{name: options}``; None for every attack an audit can place.
    confidence
        Of all crosses together.
    delta
        The delta at which a lower bound on epsilon is stated.
    sided
        "two" for intervals on both rates, "one" for lower bounds only.
    random_state
        Seed of the attacks; None draws.
    n_jobs
        Threads; never changes a figure.
    device
        As in ``gh.assess``; never changes a figure.

    Returns
    -------
    Audit
        Every attack as a point under, on or above the ceiling, and what follows.

    See Also
    --------
    audit_results : the same from results already at hand.
    """
    if not isinstance(pair, Pair):
        raise InputError(
            "gh.audit takes a Pair; for counts or scores of your own attack use gh.formal.audit_counts or audit_scores"
        )
    known = auditable()
    names = list(known if attacks is None else attacks)
    names_wanted("attacks", names, known)
    for name in names:
        if name not in known:
            raise InputError(f"no audit by {name!r}{closest(name, known)}; attacks an audit can place: {listed(known)}")
    chosen = [known[name] for name in names]
    options = known_options(chosen, attacks if isinstance(attacks, Mapping) else None)
    skipped = {m.name: reason for m in chosen if (reason := _unable(m, pair)) is not None}
    able = [m for m in chosen if m.name not in skipped]
    found: list[AttackCounts] = []
    for i, release in enumerate(pair.release_names):
        said = release if isinstance(release, str) else f"release {i + 1}"
        label = said if pair.m > 1 else ""
        made = run(able, pair.release(i), seed=printable_seed(random_state), options=options, n_jobs=n_jobs)
        placed, without = _placed(made.results.values(), label)
        found += placed
        skipped |= without
    return audit_attacks(risk, found, confidence=confidence, delta=delta, sided=sided, skipped=skipped)


def audit_results(
    results: Mapping[str, Result],
    risk: Risk | Guarantee | None = None,
    *,
    confidence: float = 0.95,
    delta: float | None = None,
    sided: Literal["one", "two"] = "two",
) -> Audit:
    """The audit from results already at hand, e.g. ``gh.assess(pair).results``; other measures are left aside.

    Parameters
    ----------
    results
        Results by name.
    risk, confidence, delta, sided
        As for :func:`audit`.

    Returns
    -------
    Audit
        Every attack as a point under, on or above the ceiling.
    """
    able = [r for r in results.values() if r.measure is not None and r.measure.audited]
    found, skipped = _placed(able)
    return audit_attacks(risk, found, confidence=confidence, delta=delta, sided=sided, skipped=skipped)


def _unable(measure: AnyMeasure, pair: Pair) -> str | None:
    return measure.lacks(pair) or (None if pair.has_holdout else f"{measure.name} {NEEDS['holdout']}")


def _placed(results: Iterable[Result], label: str = "") -> tuple[list[AttackCounts], dict[str, str]]:
    found: list[AttackCounts] = []
    skipped: dict[str, str] = {}
    for result in results:
        points = attack_counts(result, label)
        found += points
        if not points:
            skipped[result.name] = result.reason or "it has no counts for people who were left out"
    return found, skipped


def attack_counts(result: Result, label: str = "") -> list[AttackCounts]:
    """The counts a claim can be held against, one per operating point; none where nobody was left out.

    Hits are rounded down and false alarms up, so that shared successes never make a refutation.
    """
    if result.status != "ok" or result.measure is None:
        return []
    made = []
    for c in result.operating or ((result.counts,) if result.counts is not None else ()):
        if c.control_successes is None or c.control_attempts is None:
            continue
        controls = floor_count(c.control_attempts)
        made.append(
            AttackCounts(
                result.name,
                result.measure.threat or "",
                floor_count(c.successes),
                floor_count(c.attempts),
                min(ceil_count(c.control_successes), controls),
                controls,
                ", ".join(part for part in (c.label, label) if part),
                aims=c.aims,
            )
        )
    return made
