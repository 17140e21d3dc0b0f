"""Charts of utility measures: distributions side by side, heat maps of tables, forest plots, tails. Aggregates only,
no record is drawn.
"""

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


def data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def table_colour() -> Any:
    import altair as alt

    return alt.Color(
        "table:N",
        title=None,
        scale=alt.Scale(domain=TABLES, range=[ORIGINAL, RELEASED]),
        legend=alt.Legend(orient="top"),
    )


def _worst_columns(result: Result) -> list[str]:
    figures = result.details.get("columns", {})
    known = list(result.plot_data.get("columns", {}))
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
                alt.Chart(data(rows))
                .mark_bar()
                .encode(
                    x=alt.X("share:Q", title="share", axis=alt.Axis(format="%")),
                    y=alt.Y("level:N", title=None, sort=list(part["labels"])),
                    yOffset=alt.YOffset("table:N", sort=TABLES),
                    color=table_colour(),
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
                alt.Chart(data(rows))
                .transform_calculate(middle="(datum.x1 + datum.x2) / 2")
                .mark_area(interpolate="step", opacity=0.35, line=True)
                .encode(
                    x=alt.X("middle:Q", title=name, scale=alt.Scale(zero=False)),
                    y=alt.Y("share:Q", title="share", stack=None, axis=alt.Axis(format="%")),
                    color=table_colour(),
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
        alt.Chart(data([r for r in rows if r["low"] is not None]))
        .mark_bar(height=9, color=BAND)
        .encode(x="low:Q", x2="high:Q", y=y)
    )
    points = (
        alt.Chart(data(rows))
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
        alt.Chart(data([row]))
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
        alt.Chart(data([row]))
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
        base = alt.Chart(data(own)).encode(y=alt.Y("table:N", title=None, sort=TABLES), color=table_colour())
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
        alt.layer(line, points, data=data(rows))
        .properties(width=200, height=200)
        .facet(facet=alt.Facet("column:N", title=None), columns=3)
        .resolve_scale(x="independent", y="independent")
    )


def side_bars(rows: list[dict[str, Any]], title: str, label: str = "column", share: bool = True) -> Any:
    import altair as alt

    return (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=title, axis=alt.Axis(format="%") if share else alt.Axis()),
            y=alt.Y(f"{label}:N", title=None),
            yOffset=alt.YOffset("table:N", sort=TABLES),
            color=table_colour(),
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
    return side_bars(rows, "share of values missing")


@chart("outliers", "columns")
def outlier_columns(result: Result) -> Any:
    """Share of values outside the original's fences in both tables."""
    rows = [
        {"column": c, "table": t, "value": p[k]}
        for c, p in result.details["columns"].items()
        for t, k in zip(TABLES, ("share_x", "share_y"), strict=True)
    ]
    return side_bars(rows, "share outside the original's fences")
