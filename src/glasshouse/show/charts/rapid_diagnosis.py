"""Charts that say why RAPID is what it is: which keys carry the risk, what the attacker uses, and how good it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.disclosure.rapid.answers import ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.key_tables import At, KeyEffects
from glasshouse.disclosure.rapid.result import RapidResult
from glasshouse.show.charts.rapid import CHANCE, INK, RISK, only
from glasshouse.show.charts.rows import data

if TYPE_CHECKING:
    import altair as alt


@chart("rapid", "attribution")
@chart("rapid_attribution", "effects")
def attribution(result: Result | KeyEffects, top: int = 15) -> alt.LayerChart:
    """Forest plot of the main effects: log odds of being flagged against the average."""
    return _forest(effects_of(result, 1), 1, top, "What raises the risk: key levels")


@chart("rapid", "interactions")
@chart("rapid_attribution", "interactions")
def interactions(result: Result | KeyEffects, top: int = 15) -> alt.LayerChart:
    """Forest plot of the pairwise interactions."""
    return _forest(effects_of(result, 2), 2, top, "What raises the risk together: pairs of key levels")


@chart("rapid", "three_way")
@chart("rapid_attribution", "three_way")
def three_way(result: Result | KeyEffects, top: int = 15) -> alt.LayerChart:
    """Forest plot of the interactions of three keys."""
    return _forest(effects_of(result, 3), 3, top, "What raises the risk together: three key levels")


def effects_of(result: Result | KeyEffects, order: int, at: At | None = None) -> KeyEffects:
    """The effects as they were asked for, or those of up to ``order`` keys of a result."""
    return result if isinstance(result, KeyEffects) else only(result).attribution(interactions=order, at=at)


@chart("rapid", "calibration")
def calibration(result: Result, bins: int = 10) -> alt.LayerChart:
    """How often the attacker is right against how sure it is."""
    import altair as alt

    result = only(result)
    answers = result.answers()[0]
    if not isinstance(answers, ClassAnswers):
        raise InputError("calibration needs class probabilities; for a number use plot('predicted')")
    sure = answers.probabilities.max(axis=1)
    right = answers.predicted == answers.y
    cell = np.minimum((sure * bins).astype(int), bins - 1)
    rows = []
    for b in np.unique(cell):
        inside = cell == b
        rows.append(
            {
                "confidence": float(sure[inside].mean()),
                "accuracy": float(right[inside].mean()),
                "people": int(inside.sum()),
            }
        )
    points = alt.Chart(data(rows)).encode(
        x=alt.X(
            "confidence:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
            title="how sure the attacker is of its guess",
        ),
        y=alt.Y("accuracy:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"), title="how often it is right"),
    )
    diagonal = (
        alt.Chart(data([{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(color=CHANCE, strokeDash=[4, 4])
        .encode(x="x:Q", y="y:Q")
    )
    dots = points.mark_circle(color=INK, opacity=1).encode(
        size=alt.Size("people:Q", scale=alt.Scale(range=[40, 400], zero=False))
    )
    title = alt.Title("Calibration of the attacker", subtitle="below the line: surer than right")
    return (diagonal + points.mark_line(color=INK) + dots).properties(width=320, height=300, title=title)


@chart("rapid", "predicted")
def predicted(result: Result, bins: int = 30) -> alt.LayerChart:
    """Predicted against true values as counts in cells (no single record is drawn), with the identity line."""
    import altair as alt

    result = only(result)
    answers = result.answers()[0]
    if not isinstance(answers, NumberAnswers):
        return _confusion(result, answers)
    low, high = (float(v) for v in np.quantile(np.concatenate([answers.y, answers.predicted]), [0.005, 0.995]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1)
    counts, _, _ = np.histogram2d(
        np.clip(answers.y, low, high), np.clip(answers.predicted, low, high), bins=[edges, edges]
    )
    rows = [
        {
            "x": float(edges[i]),
            "x2": float(edges[i + 1]),
            "y": float(edges[j]),
            "y2": float(edges[j + 1]),
            "people": int(counts[i, j]),
        }
        for i, j in zip(*np.nonzero(counts), strict=True)
    ]
    cells = (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title=f"true {result.attacks[0].target}"),
            x2="x2:Q",
            y=alt.Y("y:Q", title="predicted"),
            y2="y2:Q",
            color=alt.Color("people:Q", scale=alt.Scale(range=["#d9ecef", "#0b4f59"])),
        )
    )
    line = (
        alt.Chart(data([{"x": v, "y": v} for v in (low, high)]))
        .mark_line(color=RISK, strokeDash=[4, 4])
        .encode(x="x:Q", y="y:Q")
    )
    return (cells + line).properties(width=340, height=320, title="Predicted against true")


@chart("rapid", "importance")
def importance(result: Result) -> alt.Chart:
    """What each key contributes to the attacker's model."""
    import altair as alt

    found = only(result).importance()
    if not found:
        raise InputError("this attacker does not say what its keys contribute")
    rows = [{"key": k, "share": v} for k, v in sorted(found.items(), key=lambda item: -item[1])[:15]]
    bars = (
        alt.Chart(data(rows))
        .mark_bar(color=INK)
        .encode(
            y=alt.Y("key:N", sort=None, title=None),
            x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of the model's gain"),
        )
    )
    return bars.properties(width=340, height=24 * max(len(rows), 2), title="What the attacker uses")


def _confusion(result: RapidResult, answers: ClassAnswers) -> alt.LayerChart:
    import altair as alt

    labels = [str(c) for c in result.attacks[0].classes or []]
    common = np.argsort(-np.bincount(answers.y, minlength=len(labels)), kind="stable")[:12]
    rows = []
    for i in sorted(common):
        inside = answers.y == i
        if not inside.any():
            continue
        mean = answers.probabilities[inside].mean(axis=0)
        rows += [{"true": labels[i], "named": labels[j], "probability": float(mean[j])} for j in sorted(common)]
    order = [labels[i] for i in sorted(common)]
    base = alt.Chart(data(rows)).encode(
        x=alt.X("named:N", sort=order, title="class named by the attacker", axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("true:N", sort=order, title="true class"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "probability:Q",
            scale=alt.Scale(domain=[0, 1], range=["#f3f8f9", "#0b4f59"]),
            legend=alt.Legend(format="%", title="mean probability"),
        )
    )
    text = base.mark_text().encode(
        text=alt.Text("probability:Q", format=".0%"),
        color=alt.condition("datum.probability > 0.55", alt.value("white"), alt.value("#222")),
    )
    return (cells + text).properties(
        width=60 * len(order) + 60, height=44 * len(order), title="Probability given to each class"
    )


def _forest(found: KeyEffects, order: int, top: int, title: str) -> alt.LayerChart:
    import altair as alt

    usable = [r for r in found.rows if r["order"] == order and r["se"] is not None and r["se"] < 10]
    usable = sorted(usable, key=lambda r: -abs(r["estimate"] or 0.0))[:top]
    if not usable:
        asked = (
            f"no effect of {order} keys at a time was estimated; ask for them with attribution(interactions={order})"
        )
        raise InputError("; ".join(found.notes) if found.interactions >= order and found.notes else asked)
    if order == 1:
        usable = [r for r in found.rows if r in usable]
    rows = [
        {
            "effect": f"{r['variable'].replace(':', ' × ')}: {r['level'].replace(':', ' × ')}",
            "estimate": r["estimate"],
            "low": r["low"],
            "high": r["high"],
            "cell": "everybody or nobody flagged" if r["separated"] else "estimated",
        }
        for r in usable
    ]
    base = alt.Chart(data(rows)).encode(y=alt.Y("effect:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)))
    colour = alt.Color(
        "cell:N",
        scale=alt.Scale(domain=["estimated", "everybody or nobody flagged"], range=[INK, CHANCE]),
        title=None,
        legend=alt.Legend(orient="bottom"),
    )
    x_title = "log odds of being at risk, against the average"
    zero = alt.Chart(data([{"v": 0}])).mark_rule(color="#444", strokeDash=[4, 4]).encode(x="v:Q")
    whiskers = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title), x2="high:Q", color=colour)
    dots = base.mark_circle(size=90, opacity=1).encode(x=alt.X("estimate:Q", title=x_title), color=colour)
    return (zero + whiskers + dots).properties(width=360, height=24 * max(len(rows), 2), title=title)
