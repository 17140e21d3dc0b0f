"""A risk-utility map in words and tables: who is on the front, who is dominated and by what, what is tied, copied or
not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.plain import number
from glasshouse.core.streams import RandomState, generator
from glasshouse.judgement.rumap import consistency as rumap_consistency
from glasshouse.judgement.rumap import order as rumap_order

if TYPE_CHECKING:
    from glasshouse.core.measure import Measure
    from glasshouse.core.result import Result
    from glasshouse.judgement.rumap.map import RUMap

DRAWS = 200


def score_columns(ru: RUMap) -> dict[str, Any]:
    """The columns of ``ru.scores``."""
    figures = {s: [_known(v) for v in ru._composites[s]] for s in ("risk", "utility")}
    ends = {k: [_known(v) for v in values] for k, values in ru._intervals.items()}
    goodness = np.concatenate([1 - ru._scaled["risk"], ru._scaled["utility"]], axis=1)
    return {
        "release": list(ru.releases),
        **figures,
        **ends,
        "pareto": [bool(v) for v in ru.front],
        "dominated_by": [", ".join(ru.releases[j] for j in d) for d in ru._dominated],
        "tied_with": [", ".join(ru.releases[j] for j in t) for t in ru._ties],
        "best_on": _extreme(goodness, np.nanmax),
        "worst_on": _extreme(goodness, np.nanmin),
        "copy_alarms": [len(ru.alarms.get(r, [])) for r in ru.releases],
        "incomplete": [r in ru.incomplete for r in ru.releases],
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


def recommend(ru: RUMap, min_utility: float, max_risk: float | None) -> dict[str, Any]:
    risk, utility = ru._composites["risk"], ru._composites["utility"]
    good = ru._complete & (utility >= min_utility)
    if max_risk is not None:
        good &= risk <= max_risk
    wanted = f"utility of at least {min_utility:g}" + ("" if max_risk is None else f" and risk of at most {max_risk:g}")
    if not good.any():
        return {"release": None, "reason": f"no release has a {wanted}"}
    order = np.lexsort((-utility, np.where(good, risk, np.inf)))
    name = ru.releases[int(order[0])]
    return {
        "release": name,
        "reason": f"{name} has the lowest risk ({number(float(risk[order[0]]), 3)}) among the {int(good.sum())} "
        f"releases with a {wanted}",
    }


def text(ru: RUMap, min_utility: float, max_risk: float | None) -> str:
    lines = [
        f"On the front: {', '.join(ru.pareto) or 'none'}. No other release has both less risk and more utility "
        "than these."
    ]
    for i, name in enumerate(ru.releases):
        risk, utility = (number(_known(ru._composites[s][i]), 3) for s in ("risk", "utility"))
        place = f"{name}: risk {risk}, utility {utility}"
        remarks = []
        if name in ru.incomplete:
            remarks.append("not fully measured, so it cannot be on the front")
        for j in ru._dominated[i][:1]:
            why = responsible(ru, i, j)
            remarks.append(f"dominated by {ru.releases[j]}" + (f" ({', '.join(why)})" if why else ""))
        if ru._ties[i]:
            remarks.append(f"tied with {', '.join(ru.releases[j] for j in ru._ties[i])}: their intervals overlap")
        if ru.alarms.get(name):
            remarks.append(
                f"copy alarm by {len(ru.alarms[name])} measures ({', '.join(ru.alarms[name][:3])}): closer to the "
                "original than honest synthesis comes"
            )
        lines.append(place + ("; " + "; ".join(remarks) if remarks else "") + ".")
    lines.append(f"Recommended: {recommend(ru, min_utility, max_risk)['reason']}.")
    if ru.left_out:
        lines.append("Left out: " + "; ".join(f"{n} ({why})" for n, why in ru.left_out.items()) + ".")
    lines.append(f"Weights: {_weights(ru)}. Scale: {_scale(ru)}.")
    if len(ru.releases) < rumap_consistency.FEWEST:
        lines.append(
            f"Agreement between measures (alpha, omega) is not shown for fewer than {rumap_consistency.FEWEST} "
            "releases."
        )
    else:
        alpha, omega = ru.alpha, ru.omega
        lines.append("; ".join(f"{s}: alpha {number(alpha[s], 3)}, omega {number(omega[s], 3)}" for s in alpha) + ".")
    return "\n".join(lines)


def _weights(ru: RUMap) -> str:
    kinds = {
        "family": "families count alike, measures share their family's weight",
        "worst": "the worst family alone counts",
        "mean": "all measures count alike",
    }
    return kinds[ru.composite] + (f", times {ru.weights}" if ru.weights else "")


def _scale(ru: RUMap) -> str:
    return (
        "min-max over these releases, so every score is relative to them"
        if ru.scale == "minmax"
        else "anchored by ghost releases, independent of the candidates"
    )


def block(ru: RUMap) -> str:
    width = max(len(r) for r in ru.releases)
    lines = [
        f"Risk-utility map of {len(ru.releases)} releases ({len(ru.risk_measures)} risk, "
        f"{len(ru.utility_measures)} utility measures)",
        "",
    ]
    lines.append(f"  {'release':<{width}}   risk  utility")
    for i, name in enumerate(ru.releases):
        figures = [_known(ru._composites[s][i]) for s in ("risk", "utility")]
        shown = "  ".join("    –" if f is None else f"{f:5.3f}" for f in figures)
        marks = (
            ("  * on the front" if ru.front[i] else "")
            + ("  copy alarm" if ru.alarms.get(name) else "")
            + ("  incomplete" if name in ru.incomplete else "")
        )
        lines.append(f"  {name:<{width}}  {shown}{marks}")
    return "\n".join([*lines, "", text(ru, 0.5, None)])


def replicate_shares(
    ru: RUMap,
    found: Mapping[str, Sequence[Mapping[str, Result]]],
    chosen: Mapping[str, Measure],
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
            values = [{n: d[n].value for n in ru._sides[side]} for d in drawn]
            if ru.scale == "anchored":
                placed = [[ru.anchors[n].place(v[n]) for n in ru._sides[side]] for v in values]
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
