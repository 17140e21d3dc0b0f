"""Charts of RAPID: the threshold curve against chance, who is at risk, which keys carry it, and how good the attacker
is."""

from __future__ import annotations

from typing import Any

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.disclosure.rapid.answers import ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.result import RapidResult

RISK, CHANCE, INK, SAFE = "#c2410c", "#8a8f98", "#0f7b8a", "#b7d4d9"
SCORE_NAMES = {
    "marginal": "normalised gain of the true class",
    "conditional": "probability of the true class, relative to its class",
    "nce": "entropy score of the true class",
}


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _only(result: Result) -> RapidResult:
    if not isinstance(result, RapidResult):
        raise InputError("this chart speaks of one target; take it from result.targets[...]")
    return result


def _rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names = list(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _threshold_title(result: RapidResult) -> str:
    answers = result.answers()[0]
    if isinstance(answers, ClassAnswers):
        return f"threshold tau on the {SCORE_NAMES[answers.score]}"
    return f"tolerance epsilon on the {answers.metric.replace('_', ' ')} error"


@chart("rapid", "curve")
def curve(result: Result, confidence: float = 0.95) -> Any:
    """Share at risk along the threshold, with its interval, the chance level and the band in which chance alone
    stays."""
    import altair as alt

    from glasshouse.disclosure.rapid.inference import threshold_curve

    if not isinstance(result, RapidResult):
        return targets(result)
    rows = _rows(threshold_curve(result.answers(), confidence=confidence))
    x = alt.X("threshold:Q", title=_threshold_title(result))
    y = alt.Y("rapid:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of people at risk")
    base = alt.Chart(_data(rows)).encode(x=x)
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
    mark = alt.Chart(_data(here))
    point = mark.mark_point(filled=True, size=90, color=RISK, opacity=1).encode(x="threshold:Q", y=y)
    label = mark.mark_text(align="left", dx=8, dy=-8, fontWeight="bold").encode(x="threshold:Q", y=y, text="label:N")
    what = "range over releases" if several else f"{100 * confidence:g} % interval"
    title = alt.Title("RAPID along the threshold", subtitle=f"shaded: {what}, and where luck alone stays")
    return (null + band + lines + point + label).properties(width=460, height=300, title=title)


@chart("rapid", "distribution")
def distribution(result: Result, bins: int = 30) -> Any:
    """Histogram of the record scores, coloured by status, with the threshold."""
    import altair as alt

    result = _only(result)
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
        alt.Chart(_data(rows))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", bin="binned", title=title_x, axis=alt.Axis(format="~g", tickCount=10)),
            x2="high:Q",
            y=alt.Y("people:Q", title="people"),
            color=colour,
        )
    )
    rule = alt.Chart(_data([{"t": answers.threshold}])).mark_rule(strokeDash=[5, 4], color="#333").encode(x="t:Q")
    return (bars + rule).properties(
        width=460, height=260, title=f"{100 * float(result.value or 0):.1f} % of people are at risk"
    )


@chart("rapid", "classes")
def classes(result: Result) -> Any:
    """Risk inside each true class, with interval; the dash is the share the class has anyway."""
    result = _only(result)
    classes = result.attacks[0].classes
    if classes is None:
        raise InputError("the target is a number, so there are no classes; use plot('subgroups', column=...)")
    table = _table(result.by_class())
    rows = [
        {"group": str(c), "value": v, "low": lo, "high": hi, "n": n, "share": s}
        for c, v, lo, hi, n, s in zip(*(table[k] for k in ("class", "value", "low", "high", "n", "share")), strict=True)
    ]
    return _dots(rows, "Risk by true class", float(result.value or 0), "share of the class at risk", result)


@chart("rapid", "subgroups")
def subgroups(result: Result, column: str | None = None) -> Any:
    """Risk inside each level of a column (the first key unless named); groups under ten people are left out."""
    result = _only(result)
    name = column or result.pairs[0].keys[0]
    table = _table(result.by(name))
    rows = [
        {"group": "missing" if c is None else str(c), "value": v, "low": lo, "high": hi, "n": n}
        for c, v, lo, hi, n, small in zip(
            *(table[k] for k in (name, "value", "low", "high", "n", "small")), strict=True
        )
        if v is not None and not small
    ]
    return _dots(rows[:40], f"Risk by {name}", float(result.value or 0), "share of the group at risk", result)


@chart("rapid", "attribution")
def attribution(result: Result, top: int = 15) -> Any:
    """Forest plot of the main effects: log odds of being flagged against the average."""
    return _forest(_only(result), 1, top, "What raises the risk: key levels")


@chart("rapid", "interactions")
def interactions(result: Result, top: int = 15) -> Any:
    """Forest plot of the pairwise interactions."""
    return _forest(_only(result), 2, top, "What raises the risk together: pairs of key levels")


@chart("rapid", "calibration")
def calibration(result: Result, bins: int = 10) -> Any:
    """How often the attacker is right against how sure it is."""
    import altair as alt

    result = _only(result)
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
    points = alt.Chart(_data(rows)).encode(
        x=alt.X(
            "confidence:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
            title="how sure the attacker is of its guess",
        ),
        y=alt.Y("accuracy:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"), title="how often it is right"),
    )
    diagonal = (
        alt.Chart(_data([{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        .mark_line(color=CHANCE, strokeDash=[4, 4])
        .encode(x="x:Q", y="y:Q")
    )
    dots = points.mark_circle(color=INK, opacity=1).encode(
        size=alt.Size("people:Q", scale=alt.Scale(range=[40, 400], zero=False))
    )
    title = alt.Title("Calibration of the attacker", subtitle="below the line: surer than right")
    return (diagonal + points.mark_line(color=INK) + dots).properties(width=320, height=300, title=title)


@chart("rapid", "predicted")
def predicted(result: Result, bins: int = 30) -> Any:
    """Predicted against true values as counts in cells (no single record is drawn), with the identity line."""
    import altair as alt

    result = _only(result)
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
        alt.Chart(_data(rows))
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
        alt.Chart(_data([{"x": v, "y": v} for v in (low, high)]))
        .mark_line(color=RISK, strokeDash=[4, 4])
        .encode(x="x:Q", y="y:Q")
    )
    return (cells + line).properties(width=340, height=320, title="Predicted against true")


@chart("rapid", "importance")
def importance(result: Result) -> Any:
    """What each key contributes to the attacker's model."""
    import altair as alt

    found = _only(result).importance()
    if not found:
        raise InputError("this attacker does not say what its keys contribute")
    rows = [{"key": k, "share": v} for k, v in sorted(found.items(), key=lambda item: -item[1])[:15]]
    bars = (
        alt.Chart(_data(rows))
        .mark_bar(color=INK)
        .encode(
            y=alt.Y("key:N", sort=None, title=None),
            x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of the model's gain"),
        )
    )
    return bars.properties(width=340, height=24 * max(len(rows), 2), title="What the attacker uses")


def targets(result: Result) -> Any:
    """Several targets: risk and chance of each, then any and all of them."""
    import altair as alt

    figures = result.details["targets"]
    rows = [{"target": t, "value": f["rapid"], "chance": f["chance"]} for t, f in figures.items()]
    rows += [
        {"target": "any of them", "value": result.details["any"], "chance": result.details["chance"]},
        {"target": "all of them", "value": result.details["all"], "chance": result.details["chance_all"]},
    ]
    base = alt.Chart(_data(rows)).encode(y=alt.Y("target:N", sort=None, title=None))
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
def folds(result: Result) -> Any:
    """RAPID of every fold and synthesiser, with the chance level."""
    import altair as alt

    rows = [{k: r[k] for k in ("synthesiser", "fold", "rapid", "chance")} for r in result._table or []]
    base = alt.Chart(_data(rows)).encode(y=alt.Y("synthesiser:N", title=None))
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


def _confusion(result: RapidResult, answers: ClassAnswers) -> Any:
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
    base = alt.Chart(_data(rows)).encode(
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


def _dots(rows: list[dict[str, Any]], title: str, overall: float, axis: str, result: RapidResult) -> Any:
    import altair as alt

    for row in rows:
        row["label"] = f"{row['group']}  (n = {row['n']:,})"
    base = alt.Chart(_data(rows)).encode(y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)))
    x = alt.X("value:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title=axis)
    whiskers = base.mark_rule(color=RISK, strokeWidth=2).encode(x=alt.X("low:Q", title=axis), x2="high:Q")
    dots = base.mark_circle(color=RISK, size=100, opacity=1).encode(x=x)
    rule = alt.Chart(_data([{"v": overall}])).mark_rule(color=CHANCE, strokeDash=[5, 4]).encode(x="v:Q")
    heading = alt.Title(title, subtitle=f"dashed: everybody, {100 * overall:.1f} %")
    return (rule + whiskers + dots).properties(width=380, height=28 * max(len(rows), 2), title=heading)


def _forest(result: RapidResult, order: int, top: int, title: str) -> Any:
    import altair as alt

    found = result.attribution(interactions=order)
    usable = [r for r in found.rows if r["order"] == order and r["se"] is not None and r["se"] < 10]
    usable = sorted(usable, key=lambda r: -abs(r["estimate"]))[:top]
    if not usable:
        raise InputError("; ".join(found.notes) or "there is no effect to draw")
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
    base = alt.Chart(_data(rows)).encode(y=alt.Y("effect:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)))
    colour = alt.Color(
        "cell:N",
        scale=alt.Scale(domain=["estimated", "everybody or nobody flagged"], range=[INK, CHANCE]),
        title=None,
        legend=alt.Legend(orient="bottom"),
    )
    x_title = "log odds of being at risk, against the average"
    zero = alt.Chart(_data([{"v": 0}])).mark_rule(color="#444", strokeDash=[4, 4]).encode(x="v:Q")
    whiskers = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title), x2="high:Q", color=colour)
    dots = base.mark_circle(size=90, opacity=1).encode(x=alt.X("estimate:Q", title=x_title), color=colour)
    return (zero + whiskers + dots).properties(width=360, height=24 * max(len(rows), 2), title=title)


def _table(frame: Any) -> dict[str, list[Any]]:
    """A small table of any frame library as lists."""
    import narwhals as nw

    native = nw.from_native(frame)
    collected = native.collect() if isinstance(native, nw.LazyFrame) else native
    return {name: collected[name].to_list() for name in collected.columns}
