"""Views of a risk-utility map by principal components: how releases and measures hang together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.show.charts.rumap import FRONT, OTHER, RISK, USE
from glasshouse.show.charts.rumap_views import starred
from glasshouse.show.charts.utility import Drawing, data

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap


class Spoke(TypedDict):
    """The arrow of one measure."""

    x: float
    y: float
    x2: float
    y2: float
    measure: str
    side: str


def _complete(ru: RUMap, side: str) -> tuple[np.ndarray, list[str]]:
    """Scores of the releases measured everywhere, and the measures that vary among them."""
    rows = np.isfinite(np.concatenate([ru._scaled["risk"], ru._scaled["utility"]], axis=1)).all(axis=1)
    table = ru._scaled[side][rows]
    vary = table.std(axis=0) > 1e-12 if len(table) else np.zeros(table.shape[1], bool)
    return table[:, vary], [n for n, v in zip(ru._sides[side], vary, strict=True) if v]


def _measured(ru: RUMap) -> list[int]:
    both = np.concatenate([ru._scaled["risk"], ru._scaled["utility"]], axis=1)
    return [int(i) for i in np.flatnonzero(np.isfinite(both).all(axis=1))]


@chart("rumap", "biplot")
def biplot(ru: RUMap) -> Drawing:
    """Principal components of all measures: releases as points, measures as arrows."""
    import altair as alt

    (risk, risk_names), (utility, utility_names) = (_complete(ru, s) for s in ("risk", "utility"))
    at = _measured(ru)
    table = np.concatenate([risk, utility], axis=1)
    if len(at) < 3 or table.shape[1] < 2:
        raise InputError(
            "a biplot needs at least three fully measured releases and two measures that vary; use 'map' or 'dots'"
        )
    scaled = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    left, size, right = np.linalg.svd(scaled, full_matrices=False)
    share = size**2 / (size**2).sum()
    points = left[:, :2] * size[:2]
    arrows = right[:2].T * size[:2] / np.sqrt(len(at) - 1)
    arrows = arrows * (np.abs(points).max() / max(np.abs(arrows).max(), 1e-12)) * 0.8
    x, y = (
        alt.X("x:Q", title=f"first component ({share[0]:.0%})"),
        alt.Y("y:Q", title=f"second component ({share[1]:.0%})" if len(share) > 1 else ""),
    )
    spokes: list[Spoke] = [
        {
            "x": 0.0,
            "y": 0.0,
            "x2": float(a[0]),
            "y2": float(a[1]),
            "measure": n,
            "side": "risk" if k < len(risk_names) else "utility",
        }
        for k, (n, a) in enumerate(zip([*risk_names, *utility_names], arrows, strict=True))
    ]
    colour = alt.Color("side:N", title="measure", scale=alt.Scale(domain=["risk", "utility"], range=[RISK, USE]))
    rules = alt.Chart(data(spokes)).mark_rule(strokeWidth=1.8).encode(x=x, y=y, x2="x2:Q", y2="y2:Q", color=colour)
    names = (
        alt.Chart(data([{**s, "x": s["x2"] * 1.08, "y": s["y2"] * 1.08} for s in spokes]))
        .mark_text(fontSize=10)
        .encode(x=x, y=y, text="measure:N", color=colour)
    )
    rows = [{"x": float(p[0]), "y": float(p[1]), "release": starred(ru, i)} for i, p in zip(at, points, strict=True)]
    base = alt.Chart(data(rows)).encode(x=x, y=y)
    return (
        rules
        + names
        + base.mark_point(filled=True, size=90, color="#333", opacity=1)
        + base.mark_text(dy=-11, fontWeight="bold").encode(text="release:N")
    ).properties(width=440, height=380)


@chart("rumap", "blocks")
def blocks(ru: RUMap) -> Drawing:
    """First component of the utility block against that of the risk block, signs turned to agree with the block
    means.
    """
    import altair as alt

    at = _measured(ru)
    axes, shares = {}, {}
    for side in ("risk", "utility"):
        table, names = _complete(ru, side)
        if len(at) < 3 or len(names) < 2:
            raise InputError(
                f"the block view needs at least three fully measured releases and two {side} measures that vary; "
                "use 'map'"
            )
        scaled = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
        left, size, _ = np.linalg.svd(scaled, full_matrices=False)
        score = left[:, 0] * size[0]
        axes[side] = score * (1 if float(np.corrcoef(score, table.mean(axis=1))[0, 1]) >= 0 else -1)
        shares[side] = float(size[0] ** 2 / (size**2).sum())
    rows = [
        {"utility": float(u), "risk": float(r), "release": starred(ru, i), "front": bool(ru.front[i])}
        for i, u, r in zip(at, axes["utility"], axes["risk"], strict=True)
    ]
    base = alt.Chart(data(rows)).encode(
        x=alt.X("utility:Q", title=f"utility block, first component ({shares['utility']:.0%})"),
        y=alt.Y("risk:Q", title=f"risk block, first component ({shares['risk']:.0%})"),
    )
    return (
        base.mark_point(filled=True, size=110, opacity=1).encode(
            color=alt.Color(
                "front:N", title="on the front", scale=alt.Scale(domain=[True, False], range=[FRONT, OTHER])
            )
        )
        + base.mark_text(dy=-11, fontWeight="bold").encode(text="release:N")
    ).properties(width=430, height=360)
