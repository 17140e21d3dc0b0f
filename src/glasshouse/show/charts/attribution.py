"""Charts of the matching family: from the original's disclosure to the release's, and the funnel from found to
disclosed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result

if TYPE_CHECKING:  # importing altair takes longer than computing the figures
    import altair as alt

Drawing: TypeAlias = "alt.Chart | alt.LayerChart"
BEFORE = {"DiSCO": "Dorig", "DCAP": "CAPd"}  # the figure of the original beside that of the release
GREY, TEAL = "#666666", "#0f7b8a"


def _inline(values: Sequence[Mapping[str, object]]) -> alt.InlineData:
    """Rows as chart data."""
    import altair as alt

    return alt.InlineData(values=[dict(row) for row in values])


@chart("attribution_all", "arrows")
def arrows(result: Result, measure: str = "DiSCO") -> Drawing:
    """One line per target from the figure in the original to the figure in the release (synthpop's multi.disclosure
    plot)."""
    import altair as alt

    if measure not in BEFORE:
        raise InputError(f"measure={measure!r} has no arrows; choose 'DiSCO' or 'DCAP'")
    before = BEFORE[measure]
    rows = result.plot_data["targets"]
    data = [{"target": _with_checks(r), "original": r[before], "release": r[measure]} for r in rows]
    points = [
        {"target": r["target"], "share": r[side], "table": side} for r in data for side in ("original", "release")
    ]
    order = [r["target"] for r in reversed(data)]
    y = alt.Y("target:N", sort=order, title=None, axis=alt.Axis(labelLimit=320))
    lines = (
        alt.Chart(_inline(data))
        .mark_rule(color="#888")
        .encode(
            y=y,
            x=alt.X(
                "original:Q",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
                title=f"share of people: {before} in the original, {measure} in the release",
            ),
            x2="release:Q",
        )
    )
    ends = (
        alt.Chart(_inline(points))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            y=y,
            x="share:Q",
            color=alt.Color("table:N", scale=alt.Scale(domain=["original", "release"], range=[GREY, TEAL]), title=None),
            shape=alt.Shape(
                "table:N",
                scale=alt.Scale(domain=["original", "release"], range=["circle", "triangle-left"]),
                title=None,
            ),
        )
    )
    releases = int(result.plot_data["releases"])
    said = [f"means of {releases} releases"] if releases > 1 else []
    said += ["▲ look at result.checks before reading it"] if any("▲" in r["target"] for r in data) else []
    title = alt.Title("Attribute disclosure, original to release", subtitle="; ".join(said))
    return (lines + ends).properties(width=420, height=28 * max(len(data), 2), title=title)


def _with_checks(row: Mapping[str, object]) -> str:
    """A target, marked where its figure may come from what everybody knows."""
    needed = [name for name, way in (("1-way", "one_way_checks"), ("2-way", "two_way_checks")) if row[way]]
    return f"{row['target']} ▲ {' and '.join(needed)} checks" if needed else str(row["target"])


@chart("disco", "funnel")
@chart("attribution", "funnel")
@chart("tcap", "funnel")
def funnel(result: Result) -> Drawing:
    """How many people are found, given away, and given away rightly."""
    import altair as alt

    steps = result.plot_data["funnel"]
    base = alt.Chart(_inline([{"step": step, "share": share} for step, share in steps.items()])).encode(
        y=alt.Y("step:N", sort=list(steps), title=None, axis=alt.Axis(labelLimit=260))
    )
    bars = base.mark_bar(color=TEAL).encode(
        x=alt.X("share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of original records")
    )
    text = base.mark_text(align="left", dx=4).encode(x="share:Q", text=alt.Text("share:Q", format=".1%"))
    return (bars + text).properties(width=380, height=150, title="From a known key to a disclosed value")


@chart("cap", "distribution")
@chart("weap", "distribution")
def probabilities(result: Result) -> Drawing:
    """How sure the attacker may be, over records: counts in tenths."""
    import altair as alt

    scores, known = result.flags()
    counts, edges = np.histogram(scores[known], bins=np.linspace(0, 1, 11))
    data = [
        {"low": float(a), "high": float(b), "records": int(n)}
        for a, b, n in zip(edges, edges[1:], counts, strict=False)
    ]
    return (
        alt.Chart(_inline(data))
        .mark_bar(color=TEAL)
        .encode(
            x=alt.X("low:Q", bin="binned", title="probability that the guess is right"),
            x2="high:Q",
            y=alt.Y("records:Q", title="records"),
        )
        .properties(width=380, height=200)
    )
