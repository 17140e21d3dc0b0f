"""Charts of the formal side: the ceiling a guarantee sets, and measured attacks against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.formal.auditing import Audit
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.risk import Risk
from glasshouse.show.charts.rows import data

if TYPE_CHECKING:
    import altair as alt

Layers: TypeAlias = "alt.LayerChart | alt.FacetChart"  # alt.layer promises no more
CEILING = "#0f7b8a"
GUIDE = "#888888"
ANYBODY = "aims at anybody (curve does not bind)"
POSITIONS = {"above": "above the ceiling", "consistent": "compatible", "below": "below the ceiling", None: "no claim"}
LABELS = [*POSITIONS.values(), ANYBODY]
COLOURS = ["#b3261e", "#3b6ea8", "#5a8f3d", "#555555", "#8a6d3b"]
SHAPES = ["triangle-up", "circle", "square", "cross", "diamond"]
SMALLEST = 1e-4


class CurvePoint(TypedDict):
    """A point of a trade-off curve."""

    baseline: float
    success: float
    line: str


class StatedPoint(TypedDict):
    """A point of the curve that was asked for, in the words it was asked for with."""

    baseline: float
    success: float
    statement: str


@chart("risk", "tradeoff")
def tradeoff(guarantee: Guarantee) -> Layers:
    """Largest success any attack can reach, by its baseline; chance is the diagonal."""
    return _titled(_ceiling(guarantee, log=False), "What the guarantee allows", "No attack gets above the curve")


@chart("risk", "log")
def tradeoff_log(guarantee: Guarantee) -> Layers:
    """The same on logarithmic axes, where small false-alarm rates show."""
    return _titled(_ceiling(guarantee, log=True), "What the guarantee allows", "No attack gets above the curve")


@chart("audit", "ceiling")
def ceiling(audit: Audit) -> Layers:
    """Measured attacks with their confidence crosses, under (or above) the ceiling of the claim."""
    return _audit_chart(audit, log=False)


@chart("audit", "log")
def ceiling_log(audit: Audit) -> Layers:
    """The same on logarithmic axes."""
    return _audit_chart(audit, log=True)


def _audit_chart(audit: Audit, log: bool) -> Layers:
    import altair as alt

    ground = _diagonal(log) if audit.guarantee is None else _ceiling(audit.guarantee, log)
    together = f"{audit.confidence:.0%} confidence for all points together."
    subtitle = [together, "One attack below the ceiling proves nothing about others."]
    if audit.guarantee is None:
        subtitle = ["A release without a formal claim has no ceiling, only points."]
    return _titled(alt.layer(ground, _points(audit, log)), f"Audit: {audit.conclusion}", subtitle)


def _titled(layers: Layers, title: str, subtitle: str | Sequence[str]) -> Layers:
    return layers.properties(width=420, height=380, title={"text": title, "subtitle": subtitle, "anchor": "start"})


def _axes(log: bool) -> tuple[alt.X, alt.Y]:
    import altair as alt

    scale = alt.Scale(type="log", domain=[SMALLEST, 1]) if log else alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="~g") if log else alt.Axis(format="%")
    x = alt.X(
        "baseline:Q", scale=scale, axis=axis, title="baseline (false-positive rate, success without the person's data)"
    )
    y = alt.Y("success:Q", scale=scale, axis=axis, title="success (true-positive rate)")
    return x, y


def _diagonal(log: bool) -> alt.Chart:
    import altair as alt

    x, y = _axes(log)
    ends = [{"baseline": v, "success": v} for v in (SMALLEST if log else 0.0, 1.0)]
    return alt.Chart(data(ends)).mark_line(color=GUIDE, strokeWidth=1).encode(x=x, y=y)


def _ceiling(guarantee: Guarantee, log: bool) -> Layers:
    """Diagonal, ceiling, the Gaussian guide with the same rho, and the requirements as they were stated."""
    import altair as alt

    x, y = _axes(log)
    small = np.geomspace(SMALLEST, 0.1, 40)
    rates = np.unique(np.concatenate([small, np.linspace(0.1, 0.9, 81), 1.0 - small]))
    lines = [_line(rates, guarantee.max_tpr(rates), "ceiling")]
    names, dashes = ["ceiling"], [[1, 0]]
    if isinstance(guarantee, Risk) and np.isfinite(guarantee.rho):
        from glasshouse.formal.stated import gaussian

        lines.append(_line(rates, gaussian(guarantee.mu).max_tpr(rates), "if Gaussian-only"))
        names, dashes = [*names, "if Gaussian-only"], [*dashes, [2, 4]]
    curve = (
        alt.Chart(data([row for line in lines for row in line]))
        .mark_line(strokeWidth=2, color=CEILING)
        .encode(
            x=x, y=y, detail="line:N",
            strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(domain=names, range=dashes), title=None),
        )
    )  # fmt: skip
    layers = [_diagonal(log), curve]
    stated = _stated(guarantee)
    if stated:
        marks = alt.Chart(data(stated)).mark_point(shape="diamond", filled=True, size=90, color=CEILING, opacity=1)
        layers.append(marks.encode(x=x, y=y, tooltip=["statement:N"]))
    return alt.layer(*layers)


def _line(rates: np.ndarray, heights: np.ndarray, name: str) -> list[CurvePoint]:
    return [{"baseline": float(a), "success": float(t), "line": name} for a, t in zip(rates, heights, strict=True)]


def _stated(guarantee: Guarantee) -> list[StatedPoint]:
    """The points of the curve that were asked for."""
    if not isinstance(guarantee, Risk):
        return []
    points: list[StatedPoint] = []
    for c in guarantee.constraints:
        i = c.inputs
        if c.kind == "advantage":
            point = (0.5 - i["advantage"] / 2, 0.5 + i["advantage"] / 2)
        elif "fpr" in i:
            point = (i["fpr"], i["tpr"])
        elif "baseline" in i:
            point = (i["baseline"], i.get("success", i["baseline"] + i.get("advantage", 0.0)))
        else:
            continue
        points.append({"baseline": point[0], "success": point[1], "statement": c.statement})
    return points


def _points(audit: Audit, log: bool) -> Layers:
    import altair as alt

    x, y = _axes(log)
    floor = SMALLEST if log else 0.0
    rows = []
    for p in audit.points:
        row = {k: max(v, floor) if isinstance(v, float) else v for k, v in p.to_dict().items()}
        label = ANYBODY if p.counts.aims > 1 and p.position != "above" else POSITIONS[p.position]
        rows.append({**row, "position": label, "attack": p.name})
    present = [label for label in LABELS if any(r["position"] == label for r in rows)]
    colours, shapes = ([palette[LABELS.index(label)] for label in present] for palette in (COLOURS, SHAPES))
    legend = alt.Legend(title="measured attacks", labelLimit=260)
    shape = alt.Shape("position:N", scale=alt.Scale(domain=present, range=shapes), legend=legend)
    colour = alt.Color("position:N", scale=alt.Scale(domain=present, range=colours), legend=legend)
    base = alt.Chart(data(rows))
    tooltip = [
        "attack:N",
        alt.Tooltip("success:Q", format=".2%"),
        alt.Tooltip("baseline:Q", format=".2%"),
        "position:N",
    ]
    across = base.mark_rule().encode(x="baseline_low:Q", x2="baseline_high:Q", y="success:Q", color=colour)
    up = base.mark_rule().encode(x="baseline:Q", y="success_low:Q", y2="success_high:Q", color=colour)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    return alt.layer(across, up, dots).resolve_scale(color="shared")
