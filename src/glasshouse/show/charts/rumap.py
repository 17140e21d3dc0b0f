"""The risk-utility map: releases with their verdicts, the front, the ghosts. Small enough to be read on a phone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from glasshouse.core.charts import chart
from glasshouse.core.plain import Content
from glasshouse.show.charts.labels import place
from glasshouse.show.charts.utility import Drawing, data

if TYPE_CHECKING:
    import altair as alt

    from glasshouse.judgement.rumap.map import RUMap

FRONT, OTHER, GHOST, RISK, USE = "#0f7b8a", "#8a8f98", "#b9a27a", "#c2410c", "#0f7b8a"
LOW, HIGH = -0.05, 1.07  # room for points at the ends
WIDTH = HEIGHT = 280
LONGEST = 22
MARKS = {
    "pass": (FRONT, "circle"),
    "warn": ("#b7791f", "triangle-up"),
    "fail": ("#b42318", "cross"),
    "incomplete": (OTHER, "diamond"),
    "on the front": (FRONT, "circle"),
    "dominated": (RISK, "square"),
    "not fully measured": (OTHER, "triangle-up"),
}
SPOKEN_GHOST = {"copy": "copy", "sample": "other people", "independent": "independent columns"}


class Point(TypedDict):
    """One release or ghost on the map, and where its name stands."""

    release: str
    label: str
    risk: float
    utility: float
    risk_low: float
    risk_high: float
    utility_low: float
    utility_high: float
    mark: str
    front: bool
    label_x: float | None
    label_y: float | None
    end_x: float | None
    end_y: float | None


@chart("rumap", "map")
def scatter(
    ru: RUMap,
    max_risk: float | None = None,
    min_utility: float | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
    shown: Content | None = None,
    links: Mapping[str, str] | None = None,
) -> Drawing:
    """Composites with intervals, each with its verdict, the front, the ghosts, and the region a custodian would
    accept; at the places of ``shown``, the content of a reader, where one is given. ``links`` are places that a click
    on the mark of a release leads to."""
    import altair as alt

    content = shown or ru.content()  # and nothing else of the map: its front and its order are those of exact figures
    span = alt.Scale(domain=[LOW, HIGH], nice=False)
    ticks = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f")
    x = alt.X("utility:Q", title=_axis(content, "utility"), scale=span, axis=ticks)
    y = alt.Y("risk:Q", title=_axis(content, "risk"), scale=span, axis=ticks)
    points = _points(content, width, height)
    rows = [p for p in points if p["mark"]]
    layers: list[alt.Chart] = []
    if max_risk is not None or min_utility is not None:
        region = [{"u1": min_utility or 0.0, "u2": HIGH, "r1": LOW, "r2": HIGH if max_risk is None else max_risk}]
        layers.append(
            alt.Chart(data(region))
            .mark_rect(color=FRONT, opacity=0.08)
            .encode(x="u1:Q", x2="u2:Q", y="r1:Q", y2="r2:Q")
        )
    front = sorted((r for r in rows if r["front"]), key=lambda r: (r["utility"], r["risk"]))
    if len(front) > 1:
        layers.append(
            alt.Chart(data(front))
            .mark_line(strokeDash=[5, 4], color=FRONT, opacity=0.6)
            .encode(x=x, y=y, order="utility:Q")
        )
    ghosts = [p for p in points if not p["mark"]]
    if ghosts:
        layers.append(
            alt.Chart(data(ghosts)).mark_point(shape="stroke", size=160, color=GHOST, strokeWidth=3).encode(x=x, y=y)
        )
    found = [m for m in MARKS if any(r["mark"] == m for r in rows)]
    legend = alt.Legend(orient="bottom", title=None, symbolOpacity=1)
    base = alt.Chart(data([{**r, "link": (links or {}).get(r["release"]), "spoken": _spoken(r)} for r in rows])).encode(
        color=alt.Color("mark:N", legend=legend, scale=alt.Scale(domain=found, range=[MARKS[m][0] for m in found]))
    )
    layers += [
        base.mark_rule(strokeWidth=2, opacity=0.35).encode(x=alt.X("utility_low:Q"), x2="utility_high:Q", y=y),
        base.mark_rule(strokeWidth=2, opacity=0.35).encode(x=x, y=alt.Y("risk_low:Q"), y2="risk_high:Q"),
        base.mark_point(filled=True, size=110, opacity=1).encode(
            x=x,
            y=y,
            shape=alt.Shape("mark:N", legend=legend, scale=alt.Scale(domain=found, range=[MARKS[m][1] for m in found])),
            tooltip=[
                "release:N",
                alt.Tooltip("risk:Q", format=".3f"),
                alt.Tooltip("utility:Q", format=".3f"),
                "mark:N",
            ],
            **({} if links is None else {"href": alt.Href("link:N"), "description": alt.Description("spoken:N")}),
        ),
        *_names(points, span),
    ]
    return alt.layer(*layers).properties(width=width, height=height)


def _spoken(point: Point) -> str:
    """A mark for those who do not see it."""
    return f"{point['release']}: {point['mark']}, risk {point['risk']:.2f}, utility {point['utility']:.2f}"


def _axis(shown: Content, side: str) -> str:
    if shown["scale"] != "anchored":
        return f"{side} (relative to these releases)"
    if side == "utility":
        return "utility (0 = relations destroyed, 1 = honest sample)"
    leaks = any(one["figure"] == "leak" for one in shown["measures"].values())
    zero = "as for strangers" if leaks else "independent columns" if shown["verdicts"] else "none"
    return f"risk (0 = {zero}, 1 = a copy)"


def _names(points: list[Point], span: alt.Scale) -> list[alt.Chart]:
    """The labels with a place, and lines to those that stand apart."""
    import altair as alt

    shown = [p for p in points if p["label_x"] is not None]
    at = {"x": alt.X("label_x:Q", scale=span), "y": alt.Y("label_y:Q", scale=span)}
    made = []
    led = [p for p in shown if p["end_x"] is not None]
    if led:
        made.append(
            alt.Chart(data(led))
            .mark_rule(color=OTHER, strokeWidth=0.8)
            .encode(x=alt.X("end_x:Q", scale=span), y=alt.Y("end_y:Q", scale=span), x2="utility:Q", y2="risk:Q")
        )
    for releases in (True, False):
        some = [p for p in shown if bool(p["mark"]) is releases]
        if some:
            style = {"fontWeight": "bold"} if releases else {"fontStyle": "italic", "opacity": 0.75}
            made.append(
                alt.Chart(data(some))
                .mark_text(align="center", baseline="middle", fontSize=11, **style)
                .encode(**at, text="label:N")
            )
    return made


def _points(shown: Content, width: float, height: float) -> list[Point]:
    """The releases and ghosts that have a place on the map, with the places of their names."""
    rows: list[Point] = []
    for row in shown["releases"]:
        name, risk, utility = row["release"], row["risk"], row["utility"]
        if risk is not None and utility is not None:
            ends = {k: row[k] for k in ("risk_low", "risk_high", "utility_low", "utility_high") if row[k] is not None}
            rows.append(_point(name, _label(shown, name), risk, utility, ends, _mark(row), bool(row["pareto"])))
    for ghost, at in shown["ghosts"].items():
        # a bootstrap stands for utility only: its records are real ones, so its risk would mislead
        if ghost in SPOKEN_GHOST:
            spoken = SPOKEN_GHOST[ghost]
            rows.append(_point(ghost, spoken, at["risk"], at["utility"], {}, "", False))
    scale = (width / (HIGH - LOW), height / (HIGH - LOW))
    pixels = [((r["utility"] - LOW) * scale[0], (HIGH - r["risk"]) * scale[1]) for r in rows]
    for row, label in zip(rows, place(pixels, [r["label"] for r in rows], width, height), strict=True):
        if label.at is not None:
            row["label_x"], row["label_y"] = LOW + label.at[0] / scale[0], HIGH - label.at[1] / scale[1]
        if label.end is not None:
            row["end_x"], row["end_y"] = LOW + label.end[0] / scale[0], HIGH - label.end[1] / scale[1]
    return rows


def _point(
    release: str, label: str, risk: float, utility: float, ends: dict[str, float], mark: str, front: bool
) -> Point:
    return {
        "release": release,
        "label": label,
        "risk": risk,
        "utility": utility,
        "risk_low": ends.get("risk_low", risk),
        "risk_high": ends.get("risk_high", risk),
        "utility_low": ends.get("utility_low", utility),
        "utility_high": ends.get("utility_high", utility),
        "mark": mark,
        "front": front,
        "label_x": None,
        "label_y": None,
        "end_x": None,
        "end_y": None,
    }


def _label(shown: Content, name: str) -> str:
    """The name with what must not be overlooked: colour and shape alone would not reach everybody."""
    failed, alarm = shown["verdicts"].get(name) == "fail", bool(shown["copy_alarms"].get(name))
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    said = [w for w, on in (("FAIL", failed), ("copy", alarm)) if on]
    return " · ".join([short, *said])


def _mark(row: Content) -> str:
    if row["verdict"] is not None:
        return str(row["verdict"])
    return "not fully measured" if row["incomplete"] else "on the front" if row["pareto"] else "dominated"
