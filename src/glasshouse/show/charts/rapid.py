"""Charts of RAPID: the threshold curve against chance, who is at risk, several targets, several folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Frame, Result
from glasshouse.disclosure.rapid.answers import ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.result import RapidResult
from glasshouse.show.charts.rows import Rows, data

if TYPE_CHECKING:
    import altair as alt

RISK, CHANCE, INK, SAFE = "#c2410c", "#8a8f98", "#0f7b8a", "#b7d4d9"
SCORE_NAMES = {
    "marginal": "normalised gain of the true class",
    "conditional": "probability of the true class, relative to its class",
    "nce": "entropy score of the true class",
}


def only(result: Result) -> RapidResult:
    """The result of one target."""
    if not isinstance(result, RapidResult):
        raise InputError("this chart speaks of one target; take it from result.targets[...]")
    return result


def _rows(table: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    names = list(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _threshold_title(result: RapidResult) -> str:
    answers = result.answers()[0]
    if isinstance(answers, ClassAnswers):
        return f"threshold tau on the {SCORE_NAMES[answers.score]}"
    return f"tolerance epsilon on the {answers.metric.replace('_', ' ')} error"


@chart("rapid", "curve")
def curve(result: Result, confidence: float = 0.95) -> alt.LayerChart:
    """Share at risk along the threshold, with its interval, the chance level and the band in which chance alone
    stays."""
    import altair as alt

    from glasshouse.disclosure.rapid.inference import threshold_curve

    if not isinstance(result, RapidResult):
        return targets(result)
    rows = _rows(threshold_curve(result.answers(), confidence=confidence))
    x = alt.X("threshold:Q", title=_threshold_title(result))
    y = alt.Y("rapid:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of people at risk")
    base = alt.Chart(data(rows)).encode(x=x)
    several = "release_min" in rows[0]
    low, high = ("release_min", "release_max") if several else ("low", "high")
    band = base.mark_area(color=RISK, opacity=0.18).encode(y=f"{low}:Q", y2=f"{high}:Q")
    null = base.mark_area(color=CHANCE, opacity=0.35).encode(y="chance_low:Q", y2="chance_high:Q")
    lines = (
        base.transform_fold(["rapid", "chance"], as_=["series", "share"])
        .mark_line(strokeWidth=2.2)
        .encode(
            y=alt.Y(
                "share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of people at risk"
            ),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(domain=["rapid", "chance"], range=[RISK, CHANCE]),
                legend=alt.Legend(
                    title=None,
                    orient="top",
                    labelExpr="datum.label == 'rapid' ? 'RAPID' : 'luck alone (relabelled people)'",
                ),
            ),
        )
    )
    answers = result.answers()[0]
    here = [
        {
            "threshold": answers.threshold,
            "rapid": result.value,
            "label": f"{100 * float(result.value or 0):.1f} % at {answers.threshold:g}",
        }
    ]
    mark = alt.Chart(data(here))
    point = mark.mark_point(filled=True, size=90, color=RISK, opacity=1).encode(x="threshold:Q", y=y)
    label = mark.mark_text(align="left", dx=8, dy=-8, fontWeight="bold").encode(x="threshold:Q", y=y, text="label:N")
    what = "range over releases" if several else f"{100 * confidence:g} % interval"
    title = alt.Title("RAPID along the threshold", subtitle=f"shaded: {what}, and where luck alone stays")
    return (null + band + lines + point + label).properties(width=460, height=300, title=title)


@chart("rapid", "distribution")
def distribution(result: Result, bins: int = 30) -> alt.LayerChart:
    """Histogram of the record scores, coloured by status, with the threshold."""
    import altair as alt

    result = only(result)
    answers = result.answers()[0]
    scores = np.concatenate([a.scores for a in result.answers()])
    flags = np.concatenate([a.flags() for a in result.answers()])
    top = float(np.quantile(scores, 0.99)) if isinstance(answers, NumberAnswers) else float(scores.max())
    top = max(top, answers.threshold * 1.2)
    edges = np.linspace(min(float(scores.min()), 0.0), top if top > 0 else 1.0, bins + 1)
    # one edge lies on the threshold, so that no bar mixes the two colours
    edges = edges + (answers.threshold - edges[np.argmin(np.abs(edges - answers.threshold))])
    edges = np.concatenate([[edges[0] - (edges[1] - edges[0])], edges, [edges[-1] + (edges[1] - edges[0])]])
    clipped = np.clip(scores, edges[0], edges[-1])
    rows = []
    for flag, name in ((True, "at risk"), (False, "not at risk")):
        counts, _ = np.histogram(clipped[flags == flag], bins=edges)
        rows += [
            {"low": float(a), "high": float(b), "people": int(n), "status": name}
            for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
            if n
        ]
    colour = alt.Color(
        "status:N",
        scale=alt.Scale(domain=["at risk", "not at risk"], range=[RISK, SAFE]),
        title=None,
        legend=alt.Legend(orient="top"),
    )
    title_x = (
        SCORE_NAMES[answers.score]
        if isinstance(answers, ClassAnswers)
        else f"prediction error ({answers.metric.replace('_', ' ')})"
    )
    bars = (
        alt.Chart(data(rows))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", bin="binned", title=title_x, axis=alt.Axis(format="~g", tickCount=10)),
            x2="high:Q",
            y=alt.Y("people:Q", title="people"),
            color=colour,
        )
    )
    rule = alt.Chart(data([{"t": answers.threshold}])).mark_rule(strokeDash=[5, 4], color="#333").encode(x="t:Q")
    return (bars + rule).properties(
        width=460, height=260, title=f"{100 * float(result.value or 0):.1f} % of people are at risk"
    )


@chart("rapid", "classes")
def classes(result: Result) -> alt.LayerChart:
    """Risk inside each true class, with interval."""
    result = only(result)
    if result.attacks[0].classes is None:
        raise InputError("the target is a number, so there are no classes; use plot('subgroups', column=...)")
    return _dots(
        _rows(result.class_risks()),
        "class",
        "Risk by true class",
        float(result.value or 0),
        "share of the class at risk",
    )


@chart("rapid", "subgroups")
def subgroups(result: Result, column: str | Sequence[str] | None = None) -> alt.LayerChart:
    """Risk inside each level of a column (the first key unless named), or each combination of levels of several; groups
    under ten people are left out."""
    result = only(result)
    chosen = column or result.pairs[0].keys[0]
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    table = _table(result.by(names))
    levels = list(table)[: len(names)]
    groups = [
        {**row, "group": " × ".join("missing" if row[level] is None else str(row[level]) for level in levels)}
        for row in _rows(table)
        if row["value"] is not None and not row["small"]
    ]
    title = f"Risk by {' and '.join(names)}"
    return _dots(groups[:40], "group", title, result.value, "share of the group at risk")


def targets(result: Result) -> alt.LayerChart:
    """Several targets: risk and chance of each, then any and all of them."""
    import altair as alt

    rows = result.plot_data["targets"]
    base = alt.Chart(data(rows)).encode(y=alt.Y("target:N", sort=None, title=None))
    bars = base.mark_bar(color=RISK).encode(
        x=alt.X(
            "value:Q",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
            title="share of people (tick: luck alone)",
        )
    )
    ticks = base.mark_tick(color="#222", thickness=3).encode(x="chance:Q")
    return (bars + ticks).properties(width=380, height=30 * len(rows), title="RAPID over several targets")


@chart("rapid_cv", "folds")
def folds(result: Result) -> alt.LayerChart:
    """RAPID of every fold and synthesiser, with the chance level."""
    import altair as alt

    rows = result.plot_data["folds"]
    base = alt.Chart(data(rows)).encode(y=alt.Y("synthesiser:N", title=None))
    dots = base.mark_circle(size=90, color=RISK, opacity=0.8).encode(
        x=alt.X(
            "rapid:Q",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(zero=True),
            title="held-out people at risk (tick: luck alone)",
        )
    )
    ticks = base.mark_tick(color=CHANCE, thickness=2).encode(x="chance:Q")
    return (ticks + dots).properties(
        width=380, height=36 * len({r["synthesiser"] for r in rows}) + 20, title="RAPID by fold"
    )


def _dots(groups: Rows, name: str, title: str, everybody: float | None, axis: str) -> alt.LayerChart:
    """Risk of each group with its interval, against everybody; ``name`` is the column that names the group."""
    import altair as alt

    overall = float(everybody or 0.0)
    rows = [
        {
            "label": f"{'missing' if row[name] is None else row[name]}  (n = {row['n']:,})",
            **{k: row[k] for k in ("value", "low", "high")},
        }
        for row in groups
    ]
    base = alt.Chart(data(rows)).encode(y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)))
    x = alt.X("value:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title=axis)
    whiskers = base.mark_rule(color=RISK, strokeWidth=2).encode(x=alt.X("low:Q", title=axis), x2="high:Q")
    dots = base.mark_circle(color=RISK, size=100, opacity=1).encode(x=x)
    rule = alt.Chart(data([{"v": overall}])).mark_rule(color=CHANCE, strokeDash=[5, 4]).encode(x="v:Q")
    heading = alt.Title(title, subtitle=f"dashed: everybody, {100 * overall:.1f} %")
    return (rule + whiskers + dots).properties(width=380, height=28 * max(len(rows), 2), title=heading)


def _table(frame: Frame) -> dict[str, list[object]]:
    """A small table of any frame library as lists."""
    import narwhals as nw

    native = nw.from_native(frame)
    collected = native.collect() if isinstance(native, nw.LazyFrame) else native
    return {name: collected[name].to_list() for name in collected.columns}
