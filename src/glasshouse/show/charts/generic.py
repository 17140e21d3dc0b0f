"""The chart of a measure that has none of its own: what the release gives, and what it is compared with, on one
axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from glasshouse.core.charts import chart
from glasshouse.core.result import Result
from glasshouse.show.charts.rows import Rows, data

if TYPE_CHECKING:
    import altair as alt

ORDER = ("with the release", "without the release", "people never in the data")
SHAPES = ("circle", "stroke", "square")


class Mark(TypedDict):
    """One figure of one measure."""

    measure: str
    figure: str
    value: float


def marks(label: str, value: float | None, baseline: float | None, holdout: float | None) -> list[Mark]:
    """One row per figure that is there."""
    figures = zip(ORDER, (value, baseline, holdout), strict=True)
    return [{"measure": label, "figure": name, "value": float(value)} for name, value in figures if value is not None]


def layered(
    rows: Rows,
    spans: Rows,
    title: str,
    width: int = 420,
    order: Sequence[str] | None = None,
) -> alt.Chart | alt.LayerChart:
    """Points for the figures, a thick rule for the interval, one line per measure.

    Shape tells them apart, not colour alone.
    """
    import altair as alt

    y = alt.Y("measure:N", title=None, sort=None if order is None else list(order))
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("value:Q", title=title),
            y=y,
            shape=alt.Shape("figure:N", title=None, scale=alt.Scale(domain=list(ORDER), range=list(SHAPES))),
            color=alt.Color(
                "figure:N", title=None, scale=alt.Scale(domain=list(ORDER), range=["#a92e13", "#5d6670", "#2b78b5"])
            ),
            tooltip=["measure:N", "figure:N", alt.Tooltip("value:Q", format=".4f")],
        )
    )
    bars = (
        alt.Chart(data(spans))
        .mark_rule(strokeWidth=5, opacity=0.35, color="#a92e13", strokeCap="round")
        .encode(x="low:Q", x2="high:Q", y=y)
    )
    return (bars + points if spans else points).properties(width=width)


@chart("*", "figures")
def figures(result: Result) -> alt.Chart | alt.LayerChart:
    """Value, interval, baseline and holdout of one result."""
    spans = []
    if result.interval is not None and None not in result.interval:
        spans = [{"measure": result.name, "low": result.interval[0], "high": result.interval[1]}]
    unit = result.measure.unit if result.measure is not None else ""
    return layered(marks(result.name, result.value, result.baseline, result.holdout), spans, unit)
