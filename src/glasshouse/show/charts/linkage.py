"""Charts of record linkage: how many candidates each person hides among, and how the risk is spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.result import Result

if TYPE_CHECKING:  # importing altair takes longer than computing the figures
    import altair as alt

Drawing: TypeAlias = "alt.Chart | alt.LayerChart"
BANDS = ("very_low", "low", "moderate", "high", "very_high", "unique_match")
MOST = 20
RED, GREY = "#a92e13", "#b9bfc6"


@chart("record_linkage", "candidates")
def candidates(result: Result) -> Drawing:
    """Histogram of candidate-set sizes: a set of one that holds the true match is a person found for sure."""
    import altair as alt

    arrays = result.record_arrays()
    sizes = np.ma.filled(np.ma.asarray(arrays["candidates"]), 0).astype(int)
    found = np.ma.filled(np.ma.asarray(arrays["true_in_set"]), False).astype(bool)
    top = min(int(sizes.max(initial=0)), MOST)
    rows = []
    for held, label in ((True, "true match among them"), (False, "true match not among them")):
        counts = np.bincount(np.minimum(sizes[found == held], top), minlength=top + 1)
        rows += [
            {"size": f"{s}+" if s == MOST and s == top else str(s), "order": s, "records": int(c), "match": label}
            for s, c in enumerate(counts.tolist())
            if c
        ]
    colour = alt.Scale(domain=["true match among them", "true match not among them"], range=[RED, GREY])
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=alt.EncodingSortField("order"), title="candidates", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("records:Q", title="people"),
            color=alt.Color("match:N", title=None, scale=colour),
            tooltip=["size:N", "records:Q", "match:N"],
        )
        .properties(width=420, height=220)
    )


@chart("record_linkage", "risk")
def risk(result: Result) -> Drawing:
    """People per risk band, from very low to found for sure."""
    import altair as alt

    bands = np.ma.filled(np.ma.asarray(result.record_arrays()["band"]), "very_low")
    names = [name.replace("_", " ") for name in BANDS]
    rows = [{"band": name, "people": int((bands == band).sum())} for name, band in zip(names, BANDS, strict=True)]
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color=RED)
        .encode(
            x=alt.X("band:N", sort=names, title="chance of being found", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("people:Q"),
            tooltip=["band:N", "people:Q"],
        )
        .properties(width=420, height=220)
    )
