"""Views of a risk-utility map measure by measure. Colour means goodness: teal is good, orange is bad, on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.show.charts.utility import Drawing, data

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap

GOODNESS = ["#b3480f", "#f0d9c4", "#f5f5f0", "#b7d4d9", "#0f7b8a"]


class Placed(TypedDict):
    """One release under one measure: its score from 0 to 1, and how good that is."""

    release: str
    side: str
    measure: str
    score: float
    goodness: float
    raw: float
    front: bool
    name: str


def _long(ru: RUMap) -> list[Placed]:
    """One row per release and measure, with the score and its goodness."""
    rows: list[Placed] = []
    for side in ("risk", "utility"):
        for k, name in enumerate(ru._sides[side]):
            for i, release in enumerate(ru.releases):
                score = ru._scaled[side][i, k]
                if np.isfinite(score):
                    rows.append(
                        {
                            "release": starred(ru, i),
                            "side": side,
                            "measure": name,
                            "score": float(score),
                            "goodness": float(1 - score if side == "risk" else score),
                            "raw": float(ru._raw[side][i, k]),
                            "front": bool(ru.front[i]),
                            "name": release,
                        }
                    )
    return rows


def starred(ru: RUMap, i: int) -> str:
    """The name of a release, with a star when it is on the front."""
    return f"{ru.releases[i]} ★" if ru.front[i] else str(ru.releases[i])


def _order(ru: RUMap) -> list[str]:
    return [starred(ru, i) for i in range(len(ru.releases))]


@chart("rumap", "heatmap")
def heatmap(ru: RUMap) -> Drawing:
    """Releases by measures, coloured by goodness on both sides, values printed."""
    import altair as alt

    rows = _long(ru)
    panels = []
    for side, names in (("risk", ru.risk_measures), ("utility", ru.utility_measures)):
        base = alt.Chart(data([r for r in rows if r["side"] == side])).encode(
            x=alt.X("measure:N", title=None, sort=names, axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("release:N", title=None, sort=_order(ru), axis=alt.Axis() if side == "risk" else None),
        )
        cells = base.mark_rect(stroke="white").encode(
            color=alt.Color(
                "goodness:Q",
                scale=alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=GOODNESS),
                legend=alt.Legend(title="good"),
            ),
            tooltip=[
                "release:N",
                "measure:N",
                alt.Tooltip("score:Q", format=".3f"),
                alt.Tooltip("raw:Q", format=".4g"),
            ],
        )
        text = base.mark_text(fontSize=10).encode(
            text=alt.Text("score:Q", format=".2f"),
            color=alt.condition(
                "datum.goodness > 0.85 || datum.goodness < 0.12", alt.value("white"), alt.value("#222")
            ),
        )
        panels.append((cells + text).properties(width=44 * len(names), height=30 * len(ru.releases), title=side))
    return alt.hconcat(*panels).resolve_scale(color="shared")


@chart("rumap", "dots")
def dots(ru: RUMap) -> Drawing:
    """Two panels, one row per release, one symbol per measure."""
    import altair as alt

    rows = _long(ru)
    panels = []
    for side in ("risk", "utility"):
        panels.append(
            alt.Chart(data([r for r in rows if r["side"] == side]))
            .mark_point(filled=True, size=70, opacity=0.85)
            .encode(
                x=alt.X("score:Q", title=side, scale=alt.Scale(domain=[0, 1])),
                y=alt.Y("release:N", title=None, sort=_order(ru)),
                shape=alt.Shape("measure:N", title=f"{side} measure"),
                color=alt.Color("measure:N", title=f"{side} measure", scale=alt.Scale(scheme="tableau10")),
                tooltip=["release:N", "measure:N", alt.Tooltip("score:Q", format=".3f")],
            )
            .properties(width=260, height=max(60, 34 * len(ru.releases)))
        )
    return alt.hconcat(*panels).resolve_scale(color="independent", shape="independent")


@chart("rumap", "parallel")
def parallel(ru: RUMap) -> Drawing:
    """One line per release over all measures by goodness, risk block first."""
    import altair as alt

    names = [*ru.risk_measures, *ru.utility_measures]
    rows = [{**r, "at": names.index(r["measure"])} for r in _long(ru)]
    x = alt.X("measure:N", title=None, sort=names, axis=alt.Axis(labelAngle=-40))
    base = alt.Chart(data(rows)).encode(
        x=x,
        y=alt.Y("goodness:Q", title="goodness (1 - risk, utility)", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("release:N", sort=_order(ru)),
    )
    lines = base.mark_line(strokeWidth=2.2).encode(
        detail="side:N",
        strokeDash=alt.StrokeDash(
            "front:N", title="on the front", scale=alt.Scale(domain=[True, False], range=[[1, 0], [5, 4]])
        ),
    )
    return (lines + base.mark_point(filled=True, size=55, opacity=1)).properties(
        width=max(360, 48 * len(names)), height=260
    )


@chart("rumap", "radial")
def radial(ru: RUMap) -> Drawing:
    """One spoke per measure, outward is better; a release that is on the front is filled."""
    import altair as alt

    names = [*ru.risk_measures, *ru.utility_measures]
    if len(names) < 3:
        raise InputError("a radial chart needs at least three measures; use 'dots'")
    found = {(r["name"], r["measure"]): r["goodness"] for r in _long(ru)}
    angle = {n: 2 * np.pi * i / len(names) for i, n in enumerate(names)}
    rows = []
    for i, release in enumerate(ru.releases):
        for step, name in enumerate([*names, names[0]]):
            if (release, name) in found:
                r = found[release, name]
                rows.append(
                    {
                        "release": starred(ru, i),
                        "step": step,
                        "x": r * float(np.sin(angle[name])),
                        "y": r * float(np.cos(angle[name])),
                        "measure": name,
                        "goodness": r,
                        "front": bool(ru.front[i]),
                    }
                )
    span = alt.Scale(domain=[-1.35, 1.35])
    x, y = alt.X("x:Q", axis=None, scale=span), alt.Y("y:Q", axis=None, scale=span)
    rings = [
        {"ring": level, "step": k, "x": level * float(np.sin(a)), "y": level * float(np.cos(a))}
        for level in (0.25, 0.5, 0.75, 1.0)
        for k, a in enumerate(np.linspace(0, 2 * np.pi, 73))
    ]
    labels = [
        {
            "text": n,
            "x": 1.16 * float(np.sin(angle[n])),
            "y": 1.16 * float(np.cos(angle[n])),
            "side": "risk" if n in ru.risk_measures else "utility",
        }
        for n in names
    ]
    grid = (
        alt.Chart(data(rings))
        .mark_line(color="#d8dcdf", strokeWidth=1)
        .encode(x=x, y=y, order="step:Q", detail="ring:N")
    )
    lines = (
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            order="step:Q",
            color=alt.Color("release:N", sort=_order(ru)),
            strokeDash=alt.StrokeDash(
                "front:N", legend=None, scale=alt.Scale(domain=[True, False], range=[[1, 0], [5, 4]])
            ),
            tooltip=["release:N", "measure:N", alt.Tooltip("goodness:Q", format=".3f")],
        )
    )
    words = alt.Chart(data(labels)).mark_text(fontSize=10).encode(x=x, y=y, text="text:N", opacity=alt.value(1))
    return (grid + lines + words).properties(
        width=420, height=420, title="outward is better: risk measures are turned round"
    )
