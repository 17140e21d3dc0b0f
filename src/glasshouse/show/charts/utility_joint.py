"""Charts of joint utility measures: heat maps of tables, propensity scores, forest plots, models and groups.
Aggregates only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from glasshouse.core.charts import chart
from glasshouse.core.result import Result
from glasshouse.show.charts.utility import ALARM, RELEASED, TABLES, Drawing, Single, band, data, side_bars, table_colour

if TYPE_CHECKING:
    import altair as alt


class Score(TypedDict):
    """S_pMSE of one table."""

    columns: list[str]
    S_pMSE: float


def _names(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The columns of a square picture, in the order of their first appearance."""
    return list(dict.fromkeys(str(row[side]) for side in ("a", "b") for row in rows))


def _mirrored(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Both halves of a symmetric square."""
    return [*rows, *({**r, "a": r["b"], "b": r["a"]} for r in rows if r["a"] != r["b"])]


def _square(rows: Sequence[Mapping[str, object]], value: str, title: str, midpoint: float | None = None) -> Single:
    import altair as alt

    names = _names(rows)
    scale = (
        alt.Scale(scheme="blueorange", domainMid=midpoint)
        if midpoint is not None
        else alt.Scale(scheme="teals", type="linear")
    )
    base = alt.Chart(data(_mirrored(rows))).encode(
        x=alt.X("a:N", title=None, sort=names), y=alt.Y("b:N", title=None, sort=names)
    )
    cells = base.mark_rect().encode(
        color=alt.Color(f"{value}:Q", title=title, scale=scale),
        tooltip=["a:N", "b:N", alt.Tooltip(f"{value}:Q", format=".4g")],
    )
    if len(names) > 12:
        return cells.properties(width=30 * len(names), height=30 * len(names))
    text = base.mark_text(fontSize=10).encode(text=alt.Text(f"{value}:Q", format=".2~f"))
    return (cells + text).properties(width=52 * len(names), height=34 * len(names))


def _scores(result: Result) -> list[Score]:
    return [score for score in result.plot_data["scores"] if score["S_pMSE"] is not None]


@chart("table_utility", "heatmap")
def table_heatmap(result: Result) -> Single:
    """S_pMSE of every two-way table: about 1 is right, 2 a fresh sample, dark orange a lost relation, dark blue a
    copy.
    """
    import altair as alt

    if result.plot_data["order"] != 2:
        return table_ranking(result)
    rows = [
        {"a": s["columns"][0], "b": s["columns"][1], "S_pMSE": s["S_pMSE"], "shown": min(float(s["S_pMSE"]), 30.0)}
        for s in _scores(result)
    ]
    names = _names(rows)
    base = alt.Chart(data(_mirrored(rows))).encode(
        x=alt.X("a:N", title=None, sort=names), y=alt.Y("b:N", title=None, sort=names)
    )
    scale = alt.Scale(
        type="symlog", domain=[0, 1, 2, 5, 30], range=["#2a5d9f", "#f3f4f0", "#f7e3cf", "#e9a15b", "#9a3a06"]
    )
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color("shown:Q", title="S_pMSE", scale=scale),
        tooltip=["a:N", "b:N", alt.Tooltip("S_pMSE:Q", format=".4g")],
    )
    size = 30 if len(names) > 12 else 44
    made = (
        cells
        if len(names) > 16
        else cells
        + base.mark_text(fontSize=10).encode(
            text=alt.Text("S_pMSE:Q", format=".2~g"),
            color=alt.condition("datum.S_pMSE > 8 || datum.S_pMSE < 0.3", alt.value("white"), alt.value("#222")),
        )
    )
    return made.properties(
        width=size * len(names),
        height=size * len(names),
        title="S_pMSE of two-way tables (1 = correct synthesis, 2 = fresh sample)",
    )


@chart("table_utility", "ranking")
def table_ranking(result: Result, top: int = 25) -> alt.LayerChart:
    """The worst tables."""
    import altair as alt

    worst = sorted(_scores(result), key=lambda score: -score["S_pMSE"])[:top]
    rows = [{"table": ":".join(score["columns"]), "S_pMSE": score["S_pMSE"]} for score in worst]
    bars = (
        alt.Chart(data(rows))
        .mark_bar(color=RELEASED)
        .encode(
            x=alt.X("S_pMSE:Q"),
            y=alt.Y("table:N", title=None, sort=None),
            tooltip=["table:N", alt.Tooltip("S_pMSE:Q", format=".4g")],
        )
    )
    rule = alt.Chart(data([{"v": 1}, {"v": 2}])).mark_rule(color=ALARM, strokeDash=[4, 3]).encode(x="v:Q")
    return (bars + rule).properties(width=420)


@chart("contingency_fidelity", "heatmap")
def contingency_heatmap(result: Result) -> Single:
    """Total variation distance of every pairwise table."""
    return _square(result.plot_data["matrix"], "value", "TV")


@chart("copula_fidelity", "heatmap")
def copula_heatmap(result: Result) -> Single:
    """Cramér-von Mises distance of every pair's copula."""
    return _square(result.plot_data["matrix"], "value", "CvM")


@chart("association", "heatmap")
def association_heatmap(result: Result) -> Single:
    """How much each association changed."""
    return _square(result.plot_data["pairs"], "difference", "|difference|")


@chart("association", "matrices")
def association_matrices(result: Result) -> alt.HConcatChart:
    """The association matrices of both tables side by side."""
    import altair as alt

    rows = [{**r, **{t: r[t] or 0.0 for t in TABLES}} for r in result.plot_data["pairs"]]
    return alt.hconcat(
        *(_square(rows, t, "association", midpoint=0.0).properties(title=t) for t in TABLES)
    ).resolve_scale(color="shared")


@chart("pca", "plane")
def pca_plane(result: Result) -> alt.Chart:
    """Where the records of both tables lie on the original's first two axes, as shares of cells."""
    import altair as alt

    return (
        alt.Chart(data(result.plot_data["plane"]))
        .mark_rect()
        .encode(
            x=alt.X("x1:Q", title="first axis of the original"),
            x2="x2:Q",
            y=alt.Y("y1:Q", title="second axis"),
            y2="y2:Q",
            color=alt.Color("share:Q", scale=alt.Scale(scheme="teals", type="sqrt"), legend=alt.Legend(format="%")),
            column=alt.Column("table:N", title=None, sort=TABLES),
        )
        .properties(width=260, height=260)
    )


@chart("pmse", "scores")
@chart("specks", "scores")
@chart("po50", "scores")
@chart("u_statistic", "scores")
def propensity_scores(result: Result) -> alt.Chart:
    """Propensity scores of original and released records; the more they differ, the easier to tell apart."""
    import altair as alt

    return (
        alt.Chart(data(result.plot_data["scores"]))
        .mark_bar(opacity=0.45)
        .encode(
            x=alt.X("x1:Q", title="propensity to be a released record", scale=alt.Scale(domain=[0, 1])),
            x2="x2:Q",
            y=alt.Y("share:Q", stack=None, axis=alt.Axis(format="%"), title="share of records"),
            color=table_colour(),
        )
        .properties(width=420, height=220)
    )


@chart("pmse", "importance")
def propensity_importance(result: Result) -> alt.Chart:
    """Which columns give the release away."""
    import altair as alt

    rows = [{"column": c, "share": v} for c, v in result.plot_data["importance"].items()]
    return (
        alt.Chart(data(rows))
        .mark_bar(color=RELEASED)
        .encode(
            x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of the model's evidence"),
            y=alt.Y("column:N", title=None, sort=None),
        )
        .properties(width=380)
    )


@chart("regression_fidelity", "forest")
def forest_plot(result: Result) -> Drawing:
    """Coefficients with their intervals in both tables, standardised by the original's standard error so that terms
    share an axis.
    """
    import altair as alt

    rows, lost = [], []
    for r in result.plot_data["terms"]:
        if r["est_x"] is None or r["est_y"] is None or not r["se_x"]:
            lost.append(
                {
                    "term": r["term"],
                    "table": "released" if r["est_y"] is None else "original",
                    "text": "lost" if r["est_y"] is None else "invented",
                }
            )
            continue
        for t, s in zip(TABLES, ("x", "y"), strict=True):
            rows.append(
                {
                    "term": r["term"],
                    "table": t,
                    "estimate": r[f"est_{s}"] / r["se_x"],
                    "low": r[f"low_{s}"] / r["se_x"],
                    "high": r[f"high_{s}"] / r["se_x"],
                    "raw": r[f"est_{s}"],
                }
            )
    order = [r["term"] for r in result.plot_data["terms"]]
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("term:N", title=None, sort=order), yOffset=alt.YOffset("table:N", sort=TABLES), color=table_colour()
    )
    lines = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title="coefficient / standard error in the original"), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x="estimate:Q", tooltip=["term:N", "table:N", alt.Tooltip("raw:Q", format=".4g", title="estimate")]
    )
    zero = alt.Chart(data([{"v": 0}])).mark_rule(color="#9aa0a6").encode(x="v:Q")
    layers = [zero, lines, points]
    if lost:
        layers.append(
            alt.Chart(data(lost))
            .mark_text(color=ALARM, align="left", dx=4)
            .encode(x=alt.datum(0), y=alt.Y("term:N", sort=order), text="text:N")
        )
    return alt.layer(*layers).properties(width=420, height=alt.Step(20), title=result.plot_data["formula"])


@chart("tstr", "bars")
@chart("model_performance", "bars")
@chart("model_quality", "bars")
def performance_bars(result: Result) -> alt.Chart:
    """Predictive performance by where the model was trained."""
    return side_bars(result.plot_data["bars"], result.plot_data["metric"].upper(), "model", share=False)


@chart("feature_importance", "bars")
def importance_bars(result: Result) -> alt.Chart:
    """Permutation importance of every predictor in both models."""
    rows = [{"column": r["column"], "table": t, "value": r[t]} for r in result.plot_data["importance"] for t in TABLES]
    return side_bars(rows, "rise of the error when the column is shuffled", share=False)


@chart("subgroup_utility", "groups")
def groups(result: Result) -> Single:
    """The score of every group against that of all records."""
    import altair as alt

    points = (
        alt.Chart(data(result.plot_data["groups"]))
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X("utility:Q", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("group:N", title=result.plot_data["by"], sort="x"),
            color=alt.Color("state:N", title=None, scale=alt.Scale(domain=["scored", "lost"], range=[RELEASED, ALARM])),
            tooltip=["group:N", "n:Q", alt.Tooltip("utility:Q", format=".3f")],
        )
    )
    if result.plot_data["overall"] is None:
        return points.properties(width=380)
    rule = (
        alt.Chart(data([{"v": result.plot_data["overall"]}]))
        .mark_rule(color="#9aa0a6", strokeDash=[4, 3])
        .encode(x="v:Q")
    )
    return (rule + points).properties(width=380)


for _name in (
    "ci_proximity",
    "ci_overlap",
    "tail_fidelity",
    "missingness",
    "outliers",
    "table_utility",
    "contingency_fidelity",
    "copula_fidelity",
    "association",
    "pca",
    "energy_distance",
    "mmd",
    "pmse",
    "specks",
    "po50",
    "u_statistic",
    "regression_fidelity",
    "tstr",
    "feature_importance",
    "model_performance",
    "model_quality",
):
    chart(_name, "band")(band)
