"""Views of a risk-utility map by its scores. Colour means goodness: teal is good, orange is bad, on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.show.charts.utility import Drawing, data

if TYPE_CHECKING:
    import altair as alt

    from glasshouse.judgement.rumap.map import RUMap

FRONT, OTHER, GHOST, RISK, USE = "#0f7b8a", "#8a8f98", "#b9a27a", "#c2410c", "#0f7b8a"
GOODNESS = ["#b3480f", "#f0d9c4", "#f5f5f0", "#b7d4d9", "#0f7b8a"]
SPOKEN_GHOST = {"copy": "copy of the original", "independent": "independent columns", "uniform": "evenly drawn columns"}


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


class Point(TypedDict):
    """One release on the map."""

    release: str
    risk: float
    utility: float
    risk_low: float
    risk_high: float
    utility_low: float
    utility_high: float
    mark: str


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


@chart("rumap", "map")
def scatter(ru: RUMap, max_risk: float | None = None, min_utility: float | None = None) -> Drawing:
    """Composites with intervals, the front, the ghosts, and the region a custodian would accept."""
    import altair as alt

    x = alt.X(
        "utility:Q",
        title="utility (0 = relations destroyed, 1 = honest sample)"
        if ru.scale == "anchored"
        else "utility (relative)",
        scale=alt.Scale(domain=[-0.03, 1.05]),
    )
    y = alt.Y(
        "risk:Q",
        title="risk (0 = honest sample, 1 = the original itself)" if ru.scale == "anchored" else "risk (relative)",
        scale=alt.Scale(domain=[-0.03, 1.05]),
    )
    rows = _points(ru)
    layers: list[alt.Chart] = []
    if max_risk is not None or min_utility is not None:
        region = [{"u1": min_utility or 0.0, "u2": 1.05, "r1": -0.03, "r2": 1.05 if max_risk is None else max_risk}]
        layers.append(
            alt.Chart(data(region))
            .mark_rect(color=FRONT, opacity=0.08)
            .encode(x="u1:Q", x2="u2:Q", y="r1:Q", y2="r2:Q")
        )
    # a bootstrap stands for utility only: its records are real ones, so its risk would mislead
    honest = ru._source is not None and ru._source.has_holdout
    for ghost, point in ru.ghosts.items():
        if ghost == "sample" and not honest:
            continue
        base = alt.Chart(data([{"ghost": SPOKEN_GHOST.get(ghost, "holdout"), **point}])).encode(x=x, y=y)
        text = base.mark_text(
            color="#7d6b45",
            fontSize=10,
            fontStyle="italic",
            dy=-12 if ghost == "uniform" else 13,
            align="right" if ghost in ("copy", "sample") else "center",
        )
        layers += [
            base.mark_point(shape="cross", size=90, color=GHOST, filled=True),
            text.encode(text="ghost:N"),
        ]
    base = alt.Chart(data(rows)).encode(
        color=alt.Color(
            "mark:N",
            title=None,
            scale=alt.Scale(domain=["on the front", "dominated", "incomplete"], range=[FRONT, RISK, OTHER]),
        )
    )
    front = sorted((r for r in rows if r["mark"] == "on the front"), key=lambda r: (r["utility"], r["risk"]))
    if len(front) > 1:
        layers.append(
            alt.Chart(data(front))
            .mark_line(strokeDash=[5, 4], color=FRONT, opacity=0.6)
            .encode(x=x, y=y, order="utility:Q")
        )
    layers += [
        base.mark_rule(strokeWidth=2, opacity=0.45).encode(x=alt.X("utility_low:Q"), x2="utility_high:Q", y=y),
        base.mark_rule(strokeWidth=2, opacity=0.45).encode(x=x, y=alt.Y("risk_low:Q"), y2="risk_high:Q"),
        base.mark_point(filled=True, size=120, opacity=1).encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "mark:N",
                title=None,
                scale=alt.Scale(
                    domain=["on the front", "dominated", "incomplete"], range=["circle", "square", "triangle-up"]
                ),
            ),
            tooltip=[
                "release:N",
                alt.Tooltip("risk:Q", format=".3f"),
                alt.Tooltip("utility:Q", format=".3f"),
                "mark:N",
            ],
        ),
        alt.Chart(data(rows))
        .mark_text(align="right", dx=-9, dy=-9, fontWeight="bold")
        .encode(x=x, y=y, text="release:N"),
    ]
    return alt.layer(*layers).properties(width=430, height=380)


def _points(ru: RUMap) -> list[Point]:
    """The releases that have a place on the map."""
    rows: list[Point] = []
    for i, name in enumerate(ru.releases):
        risk, utility = (float(ru._composites[side][i]) for side in ("risk", "utility"))
        if not (np.isfinite(risk) and np.isfinite(utility)):
            continue
        rows.append(
            {
                "release": name + (" ⚠ copy" if ru.alarms.get(name) else ""),
                "risk": risk,
                "utility": utility,
                "risk_low": float(ru._intervals["risk_low"][i]),
                "risk_high": float(ru._intervals["risk_high"][i]),
                "utility_low": float(ru._intervals["utility_low"][i]),
                "utility_high": float(ru._intervals["utility_high"][i]),
                "mark": "incomplete" if name in ru.incomplete else "on the front" if ru.front[i] else "dominated",
            }
        )
    return rows


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
