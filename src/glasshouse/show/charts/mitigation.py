"""The way from a release that fails to one that passes: every step an arrow with its name on the risk-utility map."""

from __future__ import annotations

from itertools import pairwise
from math import atan2, degrees
from typing import TYPE_CHECKING

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.show.charts.rumap import FRONT, HEIGHT, HIGH, LOW, WIDTH, scatter
from glasshouse.show.charts.utility import Drawing, data

if TYPE_CHECKING:
    from glasshouse.judgement.mitigation.mitigated import Mitigated


@chart("mitigated", "trajectory")
def trajectory(fixed: Mitigated, width: int = WIDTH, height: int = HEIGHT, shown: Content | None = None) -> Drawing:
    """Every state of the way on the map, an arrow from each to the next; at the places of ``shown``, the content of a
    reader, where one is given."""
    import altair as alt

    if fixed.map is None:
        raise InputError("nothing was changed, so there is no way to draw")
    content = (shown or fixed.content())["map"]
    span = alt.Scale(domain=[LOW, HIGH], nice=False)
    arrows = _arrows(content["releases"])
    layers = [scatter(fixed.map, width=width, height=height, shown=content)]
    if arrows:
        x, y = alt.X("utility:Q", scale=span), alt.Y("risk:Q", scale=span)
        base = alt.Chart(data(arrows)).encode(x=x, y=y)
        layers += [
            base.mark_rule(color=FRONT, strokeWidth=1.5, opacity=0.8).encode(x2="to_utility:Q", y2="to_risk:Q"),
            alt.Chart(data(arrows))
            .mark_point(shape="triangle", filled=True, size=70, color=FRONT, opacity=0.9)
            .encode(
                x=alt.X("head_utility:Q", scale=span),
                y=alt.Y("head_risk:Q", scale=span),
                angle=alt.Angle("angle:Q", scale=None),
                tooltip=["step:N"],
            ),
        ]
    return alt.layer(*layers).properties(width=width, height=height)


def _arrows(releases: list[Content]) -> list[Content]:
    """From each placed state to the next; the head stands two thirds of the way, off the marks at either end."""
    placed = [r for r in releases if r["risk"] is not None and r["utility"] is not None]
    made = []
    for start, end in pairwise(placed):
        across, up = end["utility"] - start["utility"], end["risk"] - start["risk"]
        if not (across or up):
            continue
        made.append(
            {
                "step": end["release"],
                "utility": start["utility"],
                "risk": start["risk"],
                "to_utility": end["utility"],
                "to_risk": end["risk"],
                "head_utility": start["utility"] + 2 / 3 * across,
                "head_risk": start["risk"] + 2 / 3 * up,
                "angle": degrees(atan2(across, up)),
            }
        )
    return made
