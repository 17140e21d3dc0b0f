"""A risk-utility map in words and tables: who is on the front, who is dominated and by what, what is tied, copied or
not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.plain import Content, number
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import plural, spoken
from glasshouse.judgement.rumap import consistency as rumap_consistency
from glasshouse.judgement.rumap import order as rumap_order
from glasshouse.judgement.rumap.figures import Kind, figure
from glasshouse.judgement.rumap.recommendation import MIN_UTILITY, exposed, recommend, threats_with, unmeasured, written

if TYPE_CHECKING:
    from glasshouse.core.result import Result
    from glasshouse.judgement.rumap.map import RUMap

DRAWS = 200


def score_columns(ru: RUMap) -> Content:
    """The columns of ``ru.scores``."""
    figures = {s: [_known(v) for v in ru._composites[s]] for s in ("risk", "utility")}
    ends = {k: [_known(v) for v in values] for k, values in ru._intervals.items()}
    goodness = np.concatenate([1 - ru._scaled["risk"], ru._scaled["utility"]], axis=1)
    leaks = [exposed(ru.assessments[r]) if r in ru.assessments else None for r in ru.releases]
    return {
        "release": list(ru.releases),
        "verdict": [ru.verdicts.get(r) for r in ru.releases],
        **figures,
        **ends,
        "pareto": [bool(v) for v in ru.front],
        "dominated_by": [", ".join(ru.releases[j] for j in d) for d in ru._dominated],
        "tied_with": [", ".join(ru.releases[j] for j in t) for t in ru._ties],
        "best_on": _extreme(goodness, np.nanmax),
        "worst_on": _extreme(goodness, np.nanmin),
        "copy_alarms": [len(ru.alarms.get(r, [])) for r in ru.releases],
        "incomplete": [r in ru.incomplete for r in ru.releases],
        "exposed": [None if leak is None else leak.of_thousand for leak in leaks],
        "exposed_by": [None if leak is None else leak.threat for leak in leaks],
    }


def _extreme(goodness: np.ndarray, pick: Any) -> list[int]:
    """On how many measures a release is the best (or worst), measures equal for all left out."""
    counts = np.zeros(len(goodness), int)
    for column in goodness.T:
        if np.isfinite(column).any() and np.nanmax(column) > np.nanmin(column):
            counts += column == pick(column)
    return [int(c) for c in counts]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def responsible(ru: RUMap, loser: int, winner: int) -> list[str]:
    """Measures on which the winner beats the loser most, at most three."""
    gaps = {}
    for side in ("risk", "utility"):
        sign = 1 if side == "risk" else -1
        for k, name in enumerate(ru._sides[side]):
            gap = sign * (ru._scaled[side][loser, k] - ru._scaled[side][winner, k])
            if np.isfinite(gap) and gap > 1e-9:
                gaps[name] = gap * ru.measure_weights[side][name]
    return sorted(gaps, key=lambda n: -gaps[n])[:3]


def standing(ru: RUMap, release: str) -> str:
    """The verdict of a release and the threats behind it: "FAIL (copying)"; empty without a verdict."""
    assessment = ru.assessments.get(release)
    if assessment is None:
        return ""
    behind = {"incomplete": "not_assessed"}.get(assessment.verdict, assessment.verdict)
    threats = [] if assessment.verdict == "pass" else threats_with(assessment, behind)
    named = ", ".join(threats)
    if assessment.verdict == "incomplete" and named:
        named += " not assessed"
        warned = threats_with(assessment, "warn")
        named += f"; {', '.join(warned)} warned about" if warned else ""
    return assessment.verdict.upper() + (f" ({named})" if named else "")


def text(
    ru: RUMap,
    min_utility: float = MIN_UTILITY,
    max_risk: float | None = None,
    write: Callable[[RUMap, str, int], str] = written,
    left_out: Mapping[str, str] | None = None,
    inside: bool = True,
    advice: Content | None = None,
) -> str:
    """The map in lines; ``write``, ``left_out`` and ``inside`` are what the reader may know of a figure, of the
    reasons why measures are left out, and of the people exposed and the figures missing. ``advice``: what is
    recommended, where ``ru`` holds rounded figures."""
    lines = [_recommended(recommend(ru, min_utility, max_risk, write, inside) if advice is None else advice)]
    together = _unseparated(ru)
    if together:
        lines.append(together)
    lines.append(
        f"On the front: {', '.join(ru.pareto) or 'none'}. No other release has both less risk and more utility "
        "than these." + (" A place on the front is no verdict." if ru.assessments else "")
    )
    lines += [_release(ru, i, write, inside) for i in range(len(ru.releases))]
    if ru.left_out:
        lines.append(f"Left out: {_left_out(ru.left_out if left_out is None else left_out)}.")
    lines.append(f"Weights: {_weights(ru)}. Scale: {_scale(ru)}.")
    if advice is not None:
        return "\n".join(lines)  # agreement between measures is that of exact figures
    if len(ru.releases) < rumap_consistency.FEWEST:
        lines.append(
            f"Agreement between measures (alpha, omega) is not shown for fewer than {rumap_consistency.FEWEST} "
            "releases."
        )
    else:
        alpha, omega = ru.alpha, ru.omega
        lines.append("; ".join(f"{s}: alpha {number(alpha[s], 2)}, omega {number(omega[s], 2)}" for s in alpha) + ".")
    return "\n".join(lines)


def _left_out(reasons: Mapping[str, str]) -> str:
    """Measures with their reasons, the same reason once."""
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why.removeprefix(f"{name} ").rstrip("."), []).append(name)
    return "; ".join(f"{spoken(names)} ({why})" for why, names in by_reason.items())


def _recommended(found: Content) -> str:
    head = "No recommendation" if found["release"] is None else f"Recommended: {found['release']}"
    return f"{head}: {found['reason']}." if found["release"] is None else f"{head}. {found['reason']}."


def _unseparated(ru: RUMap) -> str:
    """Said when noise explains all differences of risk."""
    measured = [int(i) for i in np.flatnonzero(ru._complete)]
    if len(measured) < 2 or any(len(ru._unseparated(i)) < len(measured) - 1 for i in measured):
        return ""
    return (
        f"Risk does not separate {spoken(ru.releases[i] for i in measured)}: the differences between them are within "
        "noise."
    )


def _release(ru: RUMap, i: int, write: Callable[[RUMap, str, int], str], inside: bool) -> str:
    name = ru.releases[i]
    figures = ", ".join(f"{side} {write(ru, side, i)}" for side in ("risk", "utility"))
    remarks = [part for part in (standing(ru, name), figures) if part]
    leak = exposed(ru.assessments[name]) if name in ru.assessments and inside else None
    if leak is not None:
        about = max(round(leak.of_thousand), 1)
        remarks.append(f"about {about:,} of 1,000 members exposed beyond strangers ({leak.threat})")
    if name in ru.incomplete:
        remarks.append(f"{unmeasured(ru, name, inside)}; it cannot be on the front")
    for j in ru._dominated[i][:1]:
        why = responsible(ru, i, j)
        failed = ", which fails" if ru.verdicts.get(ru.releases[j]) == "fail" else ""
        remarks.append(f"dominated by {ru.releases[j]}{failed}" + (f" ({', '.join(why)})" if why else ""))
    if ru._ties[i]:
        remarks.append(f"tied with {', '.join(ru.releases[j] for j in ru._ties[i])}: their intervals overlap")
    if ru.alarms.get(name):
        remarks.append(
            f"copy alarm by {', '.join(ru.alarms[name])}: closer to the original than honest synthesis comes"
        )
    return f"{name}: {'; '.join(remarks)}."


def _weights(ru: RUMap) -> str:
    kinds = {
        "family": "families count alike, measures share their family's weight",
        "worst": "the worst family alone counts",
        "mean": "all measures count alike",
    }
    return kinds[ru.composite] + (f", times {ru.weights}" if ru.weights else "")


def _scale(ru: RUMap) -> str:
    if ru.scale == "minmax":
        return "min-max over these releases, so every score is relative to them"
    if "leak" in ru.kinds.values():
        return "risk 0 is no difference between members and strangers, 1 a copy of the original of the release's size"
    if ru.assessments:
        return (
            "risk 0 is independent columns, 1 a copy of the original of the release's size; without a holdout the risk "
            "also holds what anybody can infer about anybody"
        )
    return "anchored, independent of the candidates"


def findings(ru: RUMap) -> list[str]:
    """What must be known about the tables before any figure is read, with the releases it is about unless all."""
    about: dict[str, list[str]] = {}
    for name, found in ru.assessments.items():
        for one in found.overview["findings"]:
            if one["first"]:
                about.setdefault(one["message"], []).append(name)
    everywhere = len(ru.assessments)
    return [said if len(names) == everywhere else f"{spoken(names)}: {said}" for said, names in about.items()]


def block(ru: RUMap) -> str:
    width = max(len(r) for r in ru.releases)
    lines = [
        f"Risk-utility map of {len(ru.releases)} {plural(len(ru.releases), 'release')} ({len(ru.risk_measures)} risk, "
        f"{len(ru.utility_measures)} utility {plural(len(ru.utility_measures), 'measure')})",
        "",
    ]
    lines.append(f"  {'release':<{width}}   risk  utility" + ("  verdict" if ru.assessments else ""))
    for i, name in enumerate(ru.releases):
        figures = [_known(ru._composites[s][i]) for s in ("risk", "utility")]
        shown = "  ".join("    –" if f is None else f"{f:5.3f}" for f in figures)
        marks = (
            (f"    {ru.verdicts[name].upper():<10}" if name in ru.verdicts else "")
            + ("  * on the front" if ru.front[i] else "")
            + ("  copy alarm" if ru.alarms.get(name) else "")
            + ("  incomplete" if name in ru.incomplete else "")
        )
        lines.append(f"  {name:<{width}}  {shown}{marks}")
    first = [f"before you read on: {found}" for found in findings(ru)]
    return "\n".join([*first, *lines, "", text(ru)])


def replicate_shares(
    ru: RUMap,
    found: Mapping[str, Sequence[Mapping[str, Result]]],
    random_state: RandomState,
) -> dict[str, float]:
    """How often each release is on the front when one replicate of each is drawn at random."""
    rng = generator(random_state, "replicates")
    wins = np.zeros(len(ru.releases))
    runs = list(found.values())
    for _ in range(DRAWS):
        drawn = [own[int(rng.integers(len(own)))] for own in runs]
        points = {}
        for side in ("risk", "utility"):
            values = [{n: _figure(ru, d[n]) for n in ru._sides[side]} for d in drawn]
            if ru.scale == "anchored":
                placed = [[ru._anchors[n][i].place(v[n]) for n in ru._sides[side]] for i, v in enumerate(values)]
            else:
                placed = [[v[n] for n in ru._sides[side]] for v in values]
            table = np.array([[np.nan if v is None else v for v in row] for row in placed], float)
            points[side] = ru._combine(side, table)
        wins += rumap_order.front(
            points["risk"],
            points["utility"],
            ru._complete & np.isfinite(points["risk"]) & np.isfinite(points["utility"]),
        )
    return {name: float(w / DRAWS) for name, w in zip(ru.releases, wins, strict=True)}


def _figure(ru: RUMap, result: Result) -> float | None:
    kind: Kind = "leak" if ru.kinds.get(result.name) == "leak" else "value"
    found = figure(result, kind)
    return None if found is None else found.value
