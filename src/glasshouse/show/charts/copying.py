"""Charts of the copying checks: quantile curves of distances to original and holdout people, hits, and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.show.charts.rows import Rows, data

if TYPE_CHECKING:
    import altair as alt

ORIGINAL, HOLDOUT, OTHER = "#c2410c", "#8a8f98", "#0f7b8a"
NAMES = {"original": "to originals", "holdout": "to holdout people", "self": "originals to each other"}
TITLES = {
    "dcr": ("Distance of release records to the closest person", "Gower distance"),
    "nndr": ("Nearest over second-nearest distance of release records", "ratio of the two distances"),
}
COLOURS = dict(zip(NAMES.values(), (ORIGINAL, HOLDOUT, OTHER), strict=True))
DASHES = dict(zip(NAMES.values(), ([1, 0], [6, 3], [2, 2]), strict=True))


def _lines(rows: Rows) -> tuple[alt.Color, alt.StrokeDash]:
    """Colour and line pattern of the people in ``rows``; patterns serve readers who cannot tell the colours apart."""
    import altair as alt

    shown = list(dict.fromkeys(str(row["people"]) for row in rows))
    colours = alt.Scale(domain=shown, range=[COLOURS[name] for name in shown])
    dashes = alt.Scale(domain=shown, range=[DASHES[name] for name in shown])
    return alt.Color("people:N", scale=colours, title=None), alt.StrokeDash("people:N", scale=dashes, title=None)


@chart("dcr", "quantiles")
@chart("nndr", "quantiles")
def quantiles(result: Result) -> alt.Chart:
    """Share of release records below each distance, 1 % to 99 %: a curve of originals above the holdout's is
    copying."""
    import altair as alt

    curves = result.plot_data.get("curves")
    if not curves:
        raise InputError(f"{result.name} kept no distances to draw")
    rows = [
        {"people": NAMES[name], "distance": d, "share": p}
        for name, curve in curves.items()
        for d, p in zip(curve, np.linspace(0.01, 0.99, len(curve)).tolist(), strict=True)
    ]
    title, axis = TITLES[result.name]
    colour, dash = _lines(rows)
    return (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("distance:Q", title=axis),
            y=alt.Y(
                "share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of release records"
            ),
            color=colour,
            strokeDash=dash,
        )
        .properties(width=420, height=260, title=title)
    )


@chart("hitting_rate", "curve")
def hits(result: Result) -> alt.LayerChart:
    """Share of release records within a distance of an original, and of a holdout person."""
    import altair as alt

    rows = [
        {"people": NAMES[name], "distance": float(t), "share": share}
        for name, curve in result.plot_data["curves"].items()
        for t, share in curve.items()
    ]
    colour, dash = _lines(rows)
    line = alt.Chart(data(rows)).encode(
        x=alt.X("distance:Q", title="within this Gower distance"),
        y=alt.Y("share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of release records"),
        color=colour,
    )
    rule = alt.Chart(data([{"at": result.plot_data["threshold"]}])).mark_rule(strokeDash=[3, 3]).encode(x="at:Q")
    lines = line.mark_line(strokeWidth=2).encode(strokeDash=dash) + line.mark_point(filled=True, size=40)
    return (lines + rule).properties(width=420, height=260, title="Release records near a person")


@chart("identical", "shares")
def copies(result: Result) -> alt.LayerChart:
    """Equal and nearly equal release records, beside what chance gives."""
    import altair as alt

    scale = alt.Scale(domain=["original", "chance"], range=[ORIGINAL, HOLDOUT])
    base = alt.Chart(data(result.plot_data["shares"])).encode(
        y=alt.Y("kind:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset("against:N", sort=["original", "chance"]),
        x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of release records"),
    )
    bars = base.mark_bar().encode(color=alt.Color("against:N", scale=scale, title=None))
    labels = base.mark_text(align="left", dx=3).encode(text=alt.Text("share:Q", format=".2%"))
    return (bars + labels).properties(width=380, height=150, title="Copies in the release")
