"""Charts of RAPID's permutation test, of the choice of a threshold, and the paper's figure 5: log odds of being at risk
by one, two and three keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError, closest
from glasshouse.core.result import Result
from glasshouse.disclosure.rapid.key_tables import At, KeyEffects
from glasshouse.disclosure.rapid.outcomes import RapidTest, RapidThresholds
from glasshouse.show.charts.rapid import CHANCE, INK, RISK, only
from glasshouse.show.charts.rapid_diagnosis import effects_of
from glasshouse.show.charts.rows import data

if TYPE_CHECKING:
    import altair as alt

Point: TypeAlias = dict[str, object]
FIGURE_KEYS = 3
ODDS = "log odds of being at risk"


# -- test and thresholds -----


@chart("rapid", "test")
def test_of(result: Result, n_permutations: int | None = None) -> alt.LayerChart:
    """The permutation test of a result."""
    return null(only(result).test(n_permutations))


@chart("rapid_test", "null")
def null(outcome: RapidTest, bins: int = 25) -> alt.LayerChart:
    """The shares that luck alone gave, and the observed one."""
    import altair as alt

    low, high = float(outcome.values.min()), float(outcome.values.max())
    edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.005, low + 0.005])
    counts, _ = np.histogram(outcome.values, bins=edges)
    bars = [
        {"low": float(a), "high": float(b), "relabellings": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        if n
    ]
    marks = [
        {"share": outcome.null_mean, "what": "luck alone, on average"},
        {"share": outcome.observed, "what": "RAPID"},
    ]
    shared = alt.Chart(data(bars)).mark_bar(color=CHANCE, stroke="white", strokeWidth=0.5)
    drawn = shared.encode(
        x=alt.X("low:Q", bin="binned", axis=alt.Axis(format="%"), title="share of people at risk"),
        x2="high:Q",
        y=alt.Y("relabellings:Q", title="permutations"),
    )
    lines = (
        alt.Chart(data(marks))
        .mark_rule(strokeWidth=2.5)
        .encode(
            x="share:Q",
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=["luck alone, on average", "RAPID"], range=["#444", RISK]),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    size = "" if outcome.effect_size is None else f", {outcome.effect_size:.1f} standard deviations from luck"
    title = alt.Title("RAPID against luck", subtitle=f"p = {outcome.p_value:.3g}{size}")
    return (drawn + lines).properties(width=420, height=240, title=title)


@chart("rapid", "thresholds")
def thresholds_of(result: Result, n_permutations: int = 199) -> alt.LayerChart:
    """The choice of a threshold for a result."""
    return thresholds(only(result).thresholds(n_permutations=n_permutations))


@chart("rapid_thresholds", "thresholds")
def thresholds(outcome: RapidThresholds) -> alt.LayerChart:
    """RAPID and luck along the grid, where RAPID is beyond chance, and the recommended threshold."""
    import altair as alt

    rows = [
        {
            **row,
            "beyond": "beyond chance" if row[outcome.decides] else "not beyond chance",
            "mark": "recommended" if row["threshold"] == outcome.recommended else "",
        }
        for row in outcome.rows
    ]
    base = alt.Chart(data(rows)).encode(x=alt.X("threshold:Q", title="threshold"))
    y = alt.Y("rapid:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]), title="share of people at risk")
    luck = base.mark_area(color=CHANCE, opacity=0.35).encode(y="chance:Q", y2="quantile:Q")
    mean = base.mark_line(color=CHANCE, strokeDash=[4, 3]).encode(y="chance:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=y,
        color=alt.Color(
            "beyond:N",
            title=None,
            scale=alt.Scale(domain=["beyond chance", "not beyond chance"], range=[RISK, CHANCE]),
            legend=alt.Legend(orient="top"),
        ),
        shape=alt.Shape(
            "beyond:N",
            title=None,
            scale=alt.Scale(domain=["beyond chance", "not beyond chance"], range=["circle", "cross"]),
        ),
    )
    layers = luck + mean + base.mark_line(color=RISK, strokeWidth=1.5).encode(y=y) + points
    chosen = [row for row in rows if row["mark"]]
    if chosen:
        here = alt.Chart(data(chosen)).encode(x="threshold:Q")
        layers = (
            layers
            + here.mark_rule(color=INK, strokeDash=[5, 4])
            + here.mark_text(align="left", dx=5, dy=-8, fontWeight="bold").encode(y="rapid:Q", text="mark:N")
        )
    title = alt.Title("Thresholds", subtitle=f"{outcome.sentence} Shaded: luck, up to {100 * (1 - outcome.alpha):g} %")
    return layers.properties(width=440, height=280, title=title)


# -- the paper's figure 5 -----


@chart("rapid", "figure5")
def figure_of(result: Result, at: At | None = None, keys: Sequence[str] | None = None) -> alt.VConcatChart:
    """Log odds by one, two and three keys of a result."""
    chosen = list(only(result).pairs[0].keys)[:FIGURE_KEYS] if keys is None else list(keys)
    found = only(result).attribution(min(FIGURE_KEYS, len(chosen)), keys=chosen, at=at)
    return figure(found, keys)


@chart("rapid_attribution", "figure5")
def figure(result: KeyEffects, keys: Sequence[str] | None = None) -> alt.VConcatChart:
    """Predicted log odds of being at risk: each key alone, two keys with the others held, three keys together; with
    intervals (Templ, Thees and Müller 2026, figure 5)."""
    import altair as alt

    found = effects_of(result, FIGURE_KEYS)
    chosen = list(found.keys[:FIGURE_KEYS] if keys is None else keys)
    for key in chosen:
        if key not in found.keys:
            raise InputError(f"{key!r} is none of the keys looked at{closest(key, found.keys)}")
    if not 1 <= len(set(chosen)) == len(chosen) <= FIGURE_KEYS:
        raise InputError("the figure shows one, two or three different keys; choose them with keys=[...]")
    if not found.grid_rows:
        raise InputError("; ".join(found.notes) or "there are no predictions to draw")
    parts = [alt.hconcat(*(_alone(found, key) for key in chosen)).resolve_scale(y="shared")]
    if len(chosen) > 1 and found.interactions > 1:
        two = [_two(found, pair) for pair in combinations(chosen, 2)]
        parts.append(alt.hconcat(*two).resolve_scale(y="shared", color="independent", xOffset="independent"))
    if len(chosen) == FIGURE_KEYS and found.interactions >= FIGURE_KEYS:
        parts.append(_three(found, chosen))
    title = alt.Title(
        "Log odds of being at risk by key", subtitle="bars: intervals; crosses: everybody or nobody there is flagged"
    )
    return alt.vconcat(*parts).properties(title=title).resolve_scale(color="independent", xOffset="independent")


def _alone(found: KeyEffects, key: str) -> alt.LayerChart:
    rows: list[Point] = [
        {"panel": key, "x": row["level"], **{k: row[k] for k in ("logodds", "low", "high")}}  # type: ignore[literal-required]
        for row in found.marginal_rows
        if row["variable"] == key
    ]
    return _points(rows, key, None, 60 + 50 * len(rows))


def _two(found: KeyEffects, pair: tuple[str, str]) -> alt.LayerChart:
    """Two keys, the others where they are held."""
    x, colour = pair
    held = {k: v for k, v in found.reference.items() if k not in pair}
    panel = f"{x} × {colour}"
    where = ", ".join(f"{k} {_said(v)}" for k, v in held.items())
    rows: list[Point] = [
        {**_point(row, panel), "x": _said(row[x]), "colour": _said(row[colour])}
        for row in found.grid_rows
        if all(row[k] == v for k, v in held.items())
    ]
    return _points(rows, panel if not where else f"{panel} at {where}", colour, 220, x)


def _three(found: KeyEffects, keys: Sequence[str]) -> alt.HConcatChart:
    """Three keys together, one panel per value of the last one (a number, where there is one)."""
    import altair as alt

    numbers = [k for k in keys if not isinstance(found.reference[k], str)]
    facet = numbers[-1] if numbers else keys[-1]
    x, colour = (k for k in keys if k != facet)
    held = {k: v for k, v in found.reference.items() if k not in keys}
    panel = " × ".join([x, colour, facet])
    rows: list[Point] = [
        {
            **_point(row, panel),
            "x": _said(row[x]),
            "colour": _said(row[colour]),
            "facet": f"{facet} {_said(row[facet])}",
        }
        for row in found.grid_rows
        if all(row[k] == v for k, v in held.items())
    ]
    shown = list(dict.fromkeys(str(row["facet"]) for row in rows))
    panels = [_points([r for r in rows if r["facet"] == f], f"{x} × {colour}, {f}", colour, 200, x) for f in shown]
    return alt.hconcat(*panels).resolve_scale(y="shared", xOffset="independent")


def _point(row: Mapping[str, object], panel: str) -> Point:
    return {"panel": panel, **{k: row[k] for k in ("logodds", "low", "high", "separated")}}


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _points(rows: Sequence[Point], title: str, colour: str | None, width: int, x: str | None = None) -> alt.LayerChart:
    import altair as alt

    order = list(dict.fromkeys(str(row["x"]) for row in rows))
    base = alt.Chart(data(rows)).encode(x=alt.X("x:N", sort=order, title=x, axis=alt.Axis(labelAngle=0)))
    shared = {}
    if colour is not None:
        levels = list(dict.fromkeys(str(row["colour"]) for row in rows))
        shared = {
            "color": alt.Color("colour:N", sort=levels, title=colour, legend=alt.Legend(orient="bottom")),
            "xOffset": alt.XOffset("colour:N", sort=levels),
        }
    y = alt.Y("logodds:Q", title=ODDS)
    bars = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=ODDS), y2="high:Q", **shared)
    shape = alt.condition("datum.separated", alt.value("cross"), alt.value("circle"))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=shape, **shared)
    zero = alt.Chart(data([{"panel": title, "zero": 0}])).mark_rule(color="#444", strokeDash=[4, 4]).encode(y="zero:Q")
    return (zero + bars + dots).properties(width=width, height=200, title=title)
