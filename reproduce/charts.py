"""Pictures of published figures beside ours: curves and dots, drawn as the package draws its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.show.charts.rows import data
from reproduce.row import Estimate

THEIRS, OURS = "#5d6670", "#a92e13"
WHOSE = ("published", "ours")


def curve_points(x: float, line: str, published: float, ours: Estimate) -> list[dict[str, Any]]:
    """A published point of a curve, and ours with two standard errors.

    Parameters
    ----------
    x : float
        Where.
    line : str
        Of which curve.
    published : float
        Their figure.
    ours : Estimate
        Our figure.

    Returns
    -------
    list of dict
    """
    low, high = (ours.value + side * ours.error for side in (-2, 2))
    return [
        {"x": x, "y": published, "line": line, "whose": "published"},
        {"x": x, "y": ours.value, "line": line, "whose": "ours", "low": low, "high": high},
    ]


def pair_of_dots(y: str, published: float, ours: float) -> list[dict[str, Any]]:
    """A row of a chart of dots.

    Parameters
    ----------
    y : str
        Name of the row.
    published, ours : float
        The two figures.

    Returns
    -------
    list of dict
    """
    return [{"y": y, "x": published, "whose": "published"}, {"y": y, "x": ours, "whose": "ours"}]


def curves(points: Sequence[Mapping[str, Any]], x: str, y: str, scale: str = "linear") -> Any:
    """Curves of ours with their error, the published figures as open circles on them.

    Parameters
    ----------
    points : sequence of mapping
        ``x``, ``y``, ``line``, ``whose``, and of ours ``low`` and ``high``.
    x, y : str
        Titles of the axes.
    scale : str, default "linear"
        Of the x axis.

    Returns
    -------
    altair chart
    """
    import altair as alt

    at = alt.X("x:Q", title=x, scale=alt.Scale(type=scale))
    lines = list(dict.fromkeys(p["line"] for p in points))
    colour = alt.Color("line:N", title=None, sort=lines)
    ours, theirs = ([p for p in points if p["whose"] == whose] for whose in ("ours", "published"))
    band = alt.Chart(data(ours)).mark_area(opacity=0.25).encode(x=at, y="low:Q", y2="high:Q", color=colour)
    line = alt.Chart(data(ours)).mark_line().encode(x=at, y=alt.Y("y:Q", title=y), color=colour)
    dots = (
        alt.Chart(data(theirs)).mark_point(size=45, filled=False, strokeWidth=1.5).encode(x=at, y="y:Q", color=colour)
    )
    return (band + line + dots).properties(
        width=520,
        height=300,
        title=alt.TitleParams("lines: ours; circles: published", fontSize=11, fontWeight="normal"),
    )


def dots(points: Sequence[Mapping[str, Any]], x: str) -> Any:
    """A row per figure: published an open circle, ours a filled one.

    Parameters
    ----------
    points : sequence of mapping
        ``x``, ``y`` (the name of the row) and ``whose``.
    x : str
        Title of the axis.

    Returns
    -------
    altair chart
    """
    import altair as alt

    order = list(dict.fromkeys(p["y"] for p in points))
    shown = alt.Scale(domain=list(WHOSE), range=[THEIRS, OURS])
    layers = []
    for whose, size, filled in (("published", 140, False), ("ours", 40, True)):
        rows = [p for p in points if p["whose"] == whose]
        layers.append(
            alt.Chart(data(rows))
            .mark_point(size=size, filled=filled, opacity=1, strokeWidth=1.5)
            .encode(
                x=alt.X("x:Q", title=x),
                y=alt.Y("y:N", title=None, sort=order, axis=alt.Axis(labelLimit=260)),
                color=alt.Color("whose:N", title=None, scale=shown),
            )
        )
    return (layers[0] + layers[1]).properties(width=440, height=18 * len(order))


def arrows(points: Sequence[Mapping[str, Any]], x: str) -> Any:
    """A line per target from the original's figure to the release's, as synthpop draws it; published as open circles.

    Parameters
    ----------
    points : sequence of mapping
        ``target``, ``of`` ("original" or "release"), ``x`` and ``whose``.
    x : str
        Title of the axis.

    Returns
    -------
    altair chart
    """
    import altair as alt

    order = list(dict.fromkeys(p["target"] for p in points))
    y = alt.Y("target:N", title=None, sort=order)
    ours = [p for p in points if p["whose"] == "ours"]
    spans = [{"target": t, **{p["of"]: p["x"] for p in ours if p["target"] == t}} for t in order]
    at = alt.X("x:Q", title=x, scale=alt.Scale(domain=[0, 100]))
    colour = alt.Color("of:N", title=None, scale=alt.Scale(domain=["original", "release"], range=["#2b78b5", OURS]))
    rules = alt.Chart(data(spans)).mark_rule(strokeWidth=1.5, color=THEIRS).encode(x="original:Q", x2="release:Q", y=y)
    filled = alt.Chart(data(ours)).mark_point(size=60, filled=True, opacity=1).encode(x=at, y=y, color=colour)
    theirs = [p for p in points if p["whose"] == "published"]
    rings = alt.Chart(data(theirs)).mark_point(size=150, filled=False, strokeWidth=1.2).encode(x=at, y=y, color=colour)
    return (rules + filled + rings).properties(
        width=480,
        height=26 * len(order),
        title=alt.TitleParams("filled: ours; rings: published", fontSize=11, fontWeight="normal"),
    )
