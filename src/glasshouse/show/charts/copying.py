"""Charts of the copying checks: quantile curves of distances to training and holdout people, hits, and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result

TRAIN, HOLDOUT, OTHER = "#c2410c", "#8a8f98", "#0f7b8a"
NAMES = {"train": "to training people", "holdout": "to holdout people", "self": "training people to each other"}
TITLES = {
    "dcr": ("Distance of release records to the closest person", "Gower distance"),
    "nndr": ("Nearest over second-nearest distance of release records", "ratio of the two distances"),
}


COLOURS = dict(zip(NAMES.values(), (TRAIN, HOLDOUT, OTHER), strict=True))
DASHES = dict(zip(NAMES.values(), ([1, 0], [6, 3], [2, 2]), strict=True))


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _lines(rows: list[dict[str, Any]]) -> tuple[Any, Any]:
    """Colour and line pattern of the people in ``rows``; patterns serve readers who cannot tell the colours apart."""
    import altair as alt

    shown = list(dict.fromkeys(row["people"] for row in rows))
    colours = alt.Scale(domain=shown, range=[COLOURS[name] for name in shown])
    dashes = alt.Scale(domain=shown, range=[DASHES[name] for name in shown])
    return alt.Color("people:N", scale=colours, title=None), alt.StrokeDash("people:N", scale=dashes, title=None)


@chart("dcr", "quantiles")
@chart("nndr", "quantiles")
def quantiles(result: Result) -> Any:
    """Share of release records below each distance, 1 % to 99 %: a training curve above the holdout's is copying."""
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
        alt.Chart(_data(rows))
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
def hits(result: Result) -> Any:
    """Share of release records within a distance of a training person, and of a holdout person."""
    import altair as alt

    found = {"train": result.details["hitting_rate"], "holdout": result.details.get("hitting_rate_holdout")}
    found["self"] = result.details.get("hitting_rate_self")
    rows = [
        {"people": NAMES[name], "distance": float(t), "share": share}
        for name, curve in found.items()
        for t, share in (curve or {}).items()
    ]
    colour, dash = _lines(rows)
    line = alt.Chart(_data(rows)).encode(
        x=alt.X("distance:Q", title="within this Gower distance"),
        y=alt.Y("share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of release records"),
        color=colour,
    )
    rule = alt.Chart(_data([{"at": result.details["threshold"]}])).mark_rule(strokeDash=[3, 3]).encode(x="at:Q")
    lines = line.mark_line(strokeWidth=2).encode(strokeDash=dash) + line.mark_point(filled=True, size=40)
    return (lines + rule).properties(width=420, height=260, title="Release records near a person")


@chart("identical", "shares")
def copies(result: Result) -> Any:
    """Equal and nearly equal release records, beside what chance gives."""
    import altair as alt

    names = {
        "ims": ("equal to an original", "training"),
        "ims_holdout": ("equal to an original", "chance"),
        "repu": ("equal to a unique original", "training"),
        "near_copies": ("almost equal, not quite", "training"),
        "near_copies_holdout": ("almost equal, not quite", "chance"),
    }
    if "ims_holdout" not in result.details:
        names["ims_self"] = names.pop("ims_holdout")
    rows = [
        {"kind": kind, "against": against, "share": result.details[name]}
        for name, (kind, against) in names.items()
        if result.details.get(name) is not None
    ]
    scale = alt.Scale(domain=["training", "chance"], range=[TRAIN, HOLDOUT])
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("kind:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset("against:N", sort=["training", "chance"]),
        x=alt.X("share:Q", axis=alt.Axis(format="%"), title="share of release records"),
    )
    bars = base.mark_bar().encode(color=alt.Color("against:N", scale=scale, title=None))
    labels = base.mark_text(align="left", dx=3).encode(text=alt.Text("share:Q", format=".2%"))
    return (bars + labels).properties(width=380, height=150, title="Copies in the release")
