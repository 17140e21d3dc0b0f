"""Charts of utility measures: distributions side by side, heat maps of tables, forest plots, tails. Aggregates only, no record is drawn."""

from __future__ import annotations

from typing import Any

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result

ORIGINAL, RELEASED, BAND, ALARM = "#5d6670", "#0f7b8a", "#c9d7da", "#c2410c"
TABLES = ["original", "released"]
MOST_PANELS = 12

FREQUENCIES = ("hellinger", "total_variation", "jensen_shannon", "chi_square")
NUMBERS = ("wasserstein", "kolmogorov_smirnov")


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)


def _who() -> Any:
    import altair as alt

    return alt.Color(
        "table:N",
        title=None,
        scale=alt.Scale(domain=TABLES, range=[ORIGINAL, RELEASED]),
        legend=alt.Legend(orient="top"),
    )


def _worst_columns(result: Result) -> list[str]:
    figures = result.details.get("columns", {})
    known = [c for c in result.plot_data.get("columns", {})]
    return sorted(
        known, key=lambda c: -(figures.get(c, {}).get("wasserstein_scaled") or figures.get(c, {}).get("figure") or 0.0)
    )


def distributions(result: Result, columns: list[str] | None = None, panels: int = MOST_PANELS) -> Any:
    """Densities of numbers and bars of categories in both tables, the most different columns first."""
    import altair as alt

    names = columns or _worst_columns(result)[:panels]
    made = []
    for name in names:
        if name not in result.plot_data.get("columns", {}):
            raise InputError(f"{result.name} did not look at column {name!r}")
        part = result.plot_data["columns"][name]
        if part["kind"] == "bars":
            rows = [
                {"level": lab, "table": t, "share": float(v)}
                for t, side in zip(TABLES, ("x", "y"), strict=True)
                for lab, v in zip(part["labels"], part[side], strict=True)
            ]
            picture = (
                alt.Chart(_data(rows))
                .mark_bar()
                .encode(
                    x=alt.X("share:Q", title="share", axis=alt.Axis(format="%")),
                    y=alt.Y("level:N", title=None, sort=list(part["labels"])),
                    yOffset=alt.YOffset("table:N", sort=TABLES),
                    color=_who(),
                    tooltip=["level:N", "table:N", alt.Tooltip("share:Q", format=".2%")],
                )
                .properties(width=220, height=alt.Step(9))
            )
        else:
            edges = [float(e) for e in part["edges"]]
            rows = [
                {"x1": edges[i], "x2": edges[i + 1], "table": t, "share": float(v)}
                for t, side in zip(TABLES, ("x", "y"), strict=True)
                for i, v in enumerate(part[side])
            ]
            picture = (
                alt.Chart(_data(rows))
                .transform_calculate(middle="(datum.x1 + datum.x2) / 2")
                .mark_area(interpolate="step", opacity=0.35, line=True)
                .encode(
                    x=alt.X("middle:Q", title=name, scale=alt.Scale(zero=False)),
                    y=alt.Y("share:Q", title="share", stack=None, axis=alt.Axis(format="%")),
                    color=_who(),
                )
                .properties(width=220, height=130)
            )
        made.append(picture.properties(title=name))
    if not made:
        raise InputError(f"{result.name} has no column to draw")
    return alt.concat(*made, columns=3).resolve_scale(x="independent", y="independent")


def ranking(result: Result) -> Any:
    """Each column's figure against its own null band."""
    import altair as alt

    rows = []
    for name, part in result.details.get("columns", {}).items():
        if part.get("figure") is None:
            continue
        scale = part.get("scale") or 1.0
        value = part["figure"] / scale if result.name == "wasserstein" else part["figure"]
        rows.append(
            {
                "column": name,
                "value": value,
                "low": part.get("null_low"),
                "high": part.get("null_high"),
                "state": _state(part),
            }
        )
    order = [r["column"] for r in sorted(rows, key=lambda r: -r["value"])]
    y = alt.Y("column:N", title=None, sort=order)
    bars = (
        alt.Chart(_data([r for r in rows if r["low"] is not None]))
        .mark_bar(height=9, color=BAND)
        .encode(x="low:Q", x2="high:Q", y=y)
    )
    points = (
        alt.Chart(_data(rows))
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=alt.X("value:Q", title=f"{result.name} (shaded: what a perfect synthesiser would reach)"),
            y=y,
            color=_state_colour(),
            tooltip=[
                "column:N",
                alt.Tooltip("value:Q", format=".4g"),
                alt.Tooltip("low:Q", format=".4g"),
                alt.Tooltip("high:Q", format=".4g"),
            ],
        )
    )
    return (bars + points).properties(width=420)


def _state(part: dict[str, Any]) -> str:
    return "copy alarm" if part.get("copy_alarm") else "utility lost" if part.get("lost") else "within noise"


def _state_colour() -> Any:
    import altair as alt

    return alt.Color(
        "state:N",
        title=None,
        scale=alt.Scale(domain=["within noise", "utility lost", "copy alarm"], range=[RELEASED, ALARM, "#7b2d8b"]),
        legend=alt.Legend(orient="top"),
    )


def band(result: Result) -> Any:
    """The value against the band of a perfect synthesiser."""
    import altair as alt

    details = result.details
    row = {
        "measure": result.name,
        "value": result.value,
        "low": details.get("null_low"),
        "high": details.get("null_high"),
        "state": _state(details),
    }
    y = alt.Y("measure:N", title=None)
    point = (
        alt.Chart(_data([row]))
        .mark_point(filled=True, size=140, opacity=1)
        .encode(
            x=alt.X("value:Q", title=result.measure.unit if result.measure else None, scale=alt.Scale(zero=False)),
            y=y,
            color=_state_colour(),
        )
    )
    if row["low"] is None:
        return point.properties(width=420)
    bar = (
        alt.Chart(_data([row]))
        .mark_bar(height=14, color=BAND)
        .encode(x=alt.X("low:Q", scale=alt.Scale(zero=False)), x2="high:Q", y=y)
    )
    return (bar + point).properties(width=420)


for _name in (*FREQUENCIES, *NUMBERS):
    chart(_name, "distributions")(distributions)
    chart(_name, "ranking")(ranking)
    chart(_name, "band")(band)


@chart("ci_proximity", "intervals")
@chart("ci_overlap", "intervals")
def intervals(result: Result) -> Any:
    """The interval of every column in both tables, each column on its own axis."""
    import altair as alt

    made = []
    rows = result.plot_data["intervals"]
    for name in dict.fromkeys(r["column"] for r in rows):
        own = [r for r in rows if r["column"] == name]
        base = alt.Chart(_data(own)).encode(y=alt.Y("table:N", title=None, sort=TABLES), color=_who())
        lines = base.mark_rule(strokeWidth=3).encode(
            x=alt.X("low:Q", title=name, scale=alt.Scale(zero=False)), x2="high:Q"
        )
        made.append((lines + base.mark_point(filled=True, size=70).encode(x="mean:Q")).properties(width=380, height=50))
    return alt.vconcat(*made).resolve_scale(x="independent")


@chart("tail_fidelity", "qq")
def tail_qq(result: Result) -> Any:
    """Quantiles of the tails, original against release, in units of the original's IQR; on the line they agree."""
    import altair as alt

    rows = [
        {"column": c, "tail": side, "original": a, "released": b}
        for c, part in result.plot_data["tails"].items()
        for side in ("lower", "upper")
        for a, b in part[side]
    ]
    if not rows:  # too few records in the tails to draw them without showing single ones
        return band(result)
    points = (
        alt.Chart()
        .mark_point(size=22, filled=True)
        .encode(
            x=alt.X("original:Q", title="original, in IQRs", scale=alt.Scale(zero=False)),
            y=alt.Y("released:Q", title="released, in IQRs", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "tail:N", title=None, scale=alt.Scale(domain=["lower", "upper"], range=["#5d6670", RELEASED])
            ),
        )
    )
    line = (
        alt.Chart()
        .mark_line(color="#9aa0a6", strokeDash=[4, 3])
        .encode(x="original:Q", y=alt.Y("original:Q", title="released, in IQRs"))
    )
    return (
        alt.layer(line, points, data=_data(rows))
        .properties(width=200, height=200)
        .facet(facet=alt.Facet("column:N", title=None), columns=3)
        .resolve_scale(x="independent", y="independent")
    )


def _side_bars(rows: list[dict[str, Any]], title: str, label: str = "column", share: bool = True) -> Any:
    import altair as alt

    return (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=title, axis=alt.Axis(format="%") if share else alt.Axis()),
            y=alt.Y(f"{label}:N", title=None),
            yOffset=alt.YOffset("table:N", sort=TABLES),
            color=_who(),
            tooltip=[f"{label}:N", "table:N", alt.Tooltip("value:Q", format=".4g")],
        )
        .properties(width=380, height=alt.Step(11))
    )


@chart("missingness", "columns")
def missing_columns(result: Result) -> Any:
    """Share of missing values per column in both tables."""
    rows = [
        {"column": c, "table": t, "value": p[k]}
        for c, p in result.details["columns"].items()
        for t, k in zip(TABLES, ("missing_x", "missing_y"), strict=True)
    ]
    return _side_bars(rows, "share of values missing")


@chart("outliers", "columns")
def outlier_columns(result: Result) -> Any:
    """Share of values outside the original's fences in both tables."""
    rows = [
        {"column": c, "table": t, "value": p[k]}
        for c, p in result.details["columns"].items()
        for t, k in zip(TABLES, ("share_x", "share_y"), strict=True)
    ]
    return _side_bars(rows, "share outside the original's fences")


def _square(
    rows: list[dict[str, Any]], value: str, title: str, midpoint: float | None = None, logarithmic: bool = False
) -> Any:
    import altair as alt

    names = list(dict.fromkeys([r["a"] for r in rows] + [r["b"] for r in rows]))
    both = rows + [{**r, "a": r["b"], "b": r["a"]} for r in rows if r["a"] != r["b"]]
    scale = (
        alt.Scale(scheme="blueorange", domainMid=midpoint)
        if midpoint is not None
        else alt.Scale(scheme="teals", type="sqrt" if logarithmic else "linear")
    )
    base = alt.Chart(_data(both)).encode(x=alt.X("a:N", title=None, sort=names), y=alt.Y("b:N", title=None, sort=names))
    cells = base.mark_rect().encode(
        color=alt.Color(f"{value}:Q", title=title, scale=scale),
        tooltip=["a:N", "b:N", alt.Tooltip(f"{value}:Q", format=".4g")],
    )
    if len(names) > 12:
        return cells.properties(width=30 * len(names), height=30 * len(names))
    text = base.mark_text(fontSize=10).encode(text=alt.Text(f"{value}:Q", format=".2~f"))
    return (cells + text).properties(width=52 * len(names), height=34 * len(names))


@chart("table_utility", "heatmap")
def table_heatmap(result: Result) -> Any:
    """S_pMSE of every two-way table: about 1 is right, 2 a fresh sample, dark orange a lost relation, dark blue a copy."""
    import altair as alt

    rows = [
        {**r, "shown": min(float(r["S_pMSE"]), 30.0)} for r in result.plot_data["scores"] if r["S_pMSE"] is not None
    ]
    if result.plot_data["order"] != 2:
        return table_ranking(result)
    names = list(dict.fromkeys([r["a"] for r in rows] + [r["b"] for r in rows]))
    both = rows + [{**r, "a": r["b"], "b": r["a"]} for r in rows]
    base = alt.Chart(_data(both)).encode(x=alt.X("a:N", title=None, sort=names), y=alt.Y("b:N", title=None, sort=names))
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
def table_ranking(result: Result, top: int = 25) -> Any:
    """The worst tables."""
    import altair as alt

    rows = [
        {
            "table": ":".join(p for p in (r["a"], r["b"] if r["b"] != r["a"] else None, r["c"]) if p),
            "S_pMSE": r["S_pMSE"],
        }
        for r in result.plot_data["scores"]
        if r["S_pMSE"] is not None
    ]
    rows = sorted(rows, key=lambda r: -r["S_pMSE"])[:top]
    bars = (
        alt.Chart(_data(rows))
        .mark_bar(color=RELEASED)
        .encode(
            x=alt.X("S_pMSE:Q"),
            y=alt.Y("table:N", title=None, sort=None),
            tooltip=["table:N", alt.Tooltip("S_pMSE:Q", format=".4g")],
        )
    )
    rule = alt.Chart(_data([{"v": 1}, {"v": 2}])).mark_rule(color=ALARM, strokeDash=[4, 3]).encode(x="v:Q")
    return (bars + rule).properties(width=420)


@chart("contingency_fidelity", "heatmap")
def contingency_heatmap(result: Result) -> Any:
    """Total variation distance of every pairwise table."""
    return _square(result.plot_data["matrix"], "value", "TV")


@chart("copula_fidelity", "heatmap")
def copula_heatmap(result: Result) -> Any:
    """Cramér-von Mises distance of every pair's copula."""
    return _square(result.plot_data["matrix"], "value", "CvM")


@chart("association", "heatmap")
def association_heatmap(result: Result) -> Any:
    """How much each association changed."""
    return _square(result.plot_data["pairs"], "difference", "|difference|")


@chart("association", "matrices")
def association_matrices(result: Result) -> Any:
    """The association matrices of both tables side by side."""
    import altair as alt

    rows = [{**r, **{t: r[t] or 0.0 for t in TABLES}} for r in result.plot_data["pairs"]]
    return alt.hconcat(
        *(_square(rows, t, "association", midpoint=0.0).properties(title=t) for t in TABLES)
    ).resolve_scale(color="shared")


@chart("pca", "plane")
def pca_plane(result: Result) -> Any:
    """Where the records of both tables lie on the original's first two axes, as shares of cells."""
    import altair as alt

    return (
        alt.Chart(
            _data([{k: v if isinstance(v, str) else float(v) for k, v in r.items()} for r in result.plot_data["plane"]])
        )
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
def propensity_scores(result: Result) -> Any:
    """Propensity scores of original and released records; the more the shapes differ, the easier they are told apart."""
    import altair as alt

    rows = [{k: v if isinstance(v, str) else float(v) for k, v in r.items()} for r in result.plot_data["scores"]]
    return (
        alt.Chart(_data(rows))
        .mark_bar(opacity=0.45)
        .encode(
            x=alt.X("x1:Q", title="propensity to be a released record", scale=alt.Scale(domain=[0, 1])),
            x2="x2:Q",
            y=alt.Y("share:Q", stack=None, axis=alt.Axis(format="%"), title="share of records"),
            color=_who(),
        )
        .properties(width=420, height=220)
    )


@chart("pmse", "importance")
def propensity_importance(result: Result) -> Any:
    """Which columns give the release away."""
    import altair as alt

    rows = [{"column": c, "share": v} for c, v in result.plot_data["importance"].items()]
    return (
        alt.Chart(_data(rows))
        .mark_bar(color=RELEASED)
        .encode(
            x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of the model's evidence"),
            y=alt.Y("column:N", title=None, sort=None),
        )
        .properties(width=380)
    )


@chart("regression_fidelity", "forest")
def forest_plot(result: Result) -> Any:
    """Coefficients with their intervals in both tables, standardised by the original's standard error so that terms share an axis."""
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
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("term:N", title=None, sort=order), yOffset=alt.YOffset("table:N", sort=TABLES), color=_who()
    )
    lines = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title="coefficient / standard error in the original"), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x="estimate:Q", tooltip=["term:N", "table:N", alt.Tooltip("raw:Q", format=".4g", title="estimate")]
    )
    zero = alt.Chart(_data([{"v": 0}])).mark_rule(color="#9aa0a6").encode(x="v:Q")
    layers = [zero, lines, points]
    if lost:
        layers.append(
            alt.Chart(_data(lost))
            .mark_text(color=ALARM, align="left", dx=4)
            .encode(x=alt.datum(0), y=alt.Y("term:N", sort=order), text="text:N")
        )
    return alt.layer(*layers).properties(width=420, height=alt.Step(20), title=str(result.details["formula"]))


@chart("tstr", "bars")
@chart("model_performance", "bars")
@chart("model_quality", "bars")
def performance_bars(result: Result) -> Any:
    """Predictive performance by where the model was trained."""
    rows = [{"model": b["metric"], "table": b["training"], "value": b["value"]} for b in result.plot_data["bars"]]
    return _side_bars(rows, str(result.details.get("metric", "score")).upper(), "model", share=False)


@chart("feature_importance", "bars")
def importance_bars(result: Result) -> Any:
    """Permutation importance of every predictor in both models."""
    rows = [{"column": r["column"], "table": t, "value": r[t]} for r in result.plot_data["importance"] for t in TABLES]
    return _side_bars(rows, "rise of the error when the column is shuffled", share=False)


@chart("subgroup_utility", "groups")
def groups(result: Result) -> Any:
    """The score of every group against that of all records."""
    import altair as alt

    rows = [
        {
            "group": r["group"],
            "utility": r["utility"],
            "n": r["n_x"],
            "state": "lost" if r["reason"] == "lost in the release" else "scored",
        }
        for r in result.plot_data["groups"]
        if r["utility"] is not None
    ]
    points = (
        alt.Chart(_data(rows))
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=alt.X("utility:Q", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("group:N", title=result.details["by"], sort="x"),
            color=alt.Color("state:N", title=None, scale=alt.Scale(domain=["scored", "lost"], range=[RELEASED, ALARM])),
            tooltip=["group:N", "n:Q", alt.Tooltip("utility:Q", format=".3f")],
        )
    )
    if result.plot_data["overall"] is None:
        return points.properties(width=380)
    rule = (
        alt.Chart(_data([{"v": result.plot_data["overall"]}]))
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
