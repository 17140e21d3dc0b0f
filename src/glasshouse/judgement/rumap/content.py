"""The gate of the risk-utility map: everything a reader may see, as plain data with a versioned schema.

Outside, figures are those of :mod:`glasshouse.core.outside`: a composite is made of told figures between told ends of
their scales, and the words of the map are said with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.forking import entering
from glasshouse.core.outside import AUDIENCES, NOTHING, Gate, Told
from glasshouse.core.plain import Content, number, plain
from glasshouse.core.told import SAID_INSIDE, figure, given_need, influence, leak, people_behind, tell
from glasshouse.core.words import NEEDS
from glasshouse.judgement.outside import gate_of
from glasshouse.judgement.rumap import order
from glasshouse.judgement.rumap.recommendation import recommend, written
from glasshouse.judgement.rumap.scales import Anchor, moved_to_end, placed
from glasshouse.judgement.rumap.words import findings, score_columns, text

if TYPE_CHECKING:
    from glasshouse.core.result import Result
    from glasshouse.judgement.rumap.map import RUMap

SCHEMA = "glasshouse.map"
SCHEMA_VERSION = 3
SIDES = ("risk", "utility")
DECIMALS = 2  # of places on the map


def content(ru: RUMap, audience: str) -> Content:
    """Everything a reader of ``audience`` may see of a map; no record and no data value is in it.

    Parameters
    ----------
    ru
        The map.
    audience
        "internal", or "external": figures that no small count follows from, and reasons in our own words.

    Returns
    -------
    dict
        Numbers, text, lists and mappings only.
    """
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
    entering()
    told = _inside(ru) if audience == "internal" else Outside(ru).content()
    shown: Content = plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "audience": audience,
            "verdicts": ru.verdicts,
            "pareto": ru.pareto,
            "pareto_all_measures": ru.pareto_all_measures,
            "scale": ru.scale,
            "composite": ru.composite,
            "weights": ru.measure_weights,
            "copy_alarms": ru.alarms,
            **told,
        }
    )
    return shown


def _rows(columns: Content, n: int) -> list[Content]:
    return [{k: v[i] for k, v in columns.items()} for i in range(n)]


def _declared(ru: RUMap, side: str, name: str) -> Content:
    return {
        "side": side,
        "figure": ru.kinds.get(name, "value"),
        "family": ru.families[name],
        "better": ru.better[name],
    }


def _inside(ru: RUMap) -> Content:
    found = recommend(ru)
    untold = {f"{side}_shown": [None] * len(ru.releases) for side in SIDES}
    return {
        "recommended": found["release"],
        "recommendation": found["reason"],
        "releases": _rows({**score_columns(ru), **untold}, len(ru.releases)),
        "measures": {
            n: {
                **_declared(ru, s, n),
                "anchor": _ends_of(ru.anchors.get(n)),
                "raw": list(ru._raw[s][:, k]),
                "scaled": list(ru._scaled[s][:, k]),
            }
            for s in ru._sides
            for k, n in enumerate(ru._sides[s])
        },
        "ghosts": ru.ghosts,
        "alpha": ru.alpha,
        "omega": ru.omega,
        "left_out": dict(ru.left_out),
        "findings": findings(ru),
        "text": text(ru).splitlines(),
    }


def _ends_of(anchor: Anchor | None) -> Content | None:
    return None if anchor is None else {"zero": anchor.zero, "one": anchor.one, "source": anchor.source}


class Outside:
    """A map as it is told outside: the arithmetic of the map on told figures and told ends of scales, and on nothing
    else, so that no place on it says more than its parts do."""

    def __init__(self, ru: RUMap) -> None:
        self.ru = ru
        self.gate = next((gate_of(found.policy) for found in ru.assessments.values()), Gate())
        self.asked = {"risk": list(ru._sides["risk"]), "utility": self._asked_utility()}
        self.results = {n: self._of_each(n) for side in SIDES for n in self.asked[side]}
        self.figures = {n: [self._figure(n, r) for r in found] for n, found in self.results.items()}
        self.anchors = {n: self._anchors(n) for n in self.results if n in ru.anchors}
        self.names = {side: [n for n in self.asked[side] if self._tells(n)] for side in SIDES}
        self.weights = {side: self._weights(side) for side in SIDES}
        self.scaled = {
            side: self._scaled(side, [[t.near for t in self.figures[n]] for n in self.names[side]]) for side in SIDES
        }
        self.told = {side: self._told(side) for side in SIDES}

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _of_each(self, name: str) -> list[Result | None]:
        """The results of a measure by release; a map of scores has none."""
        return [self.ru.results.get(release, {}).get(name) for release in self.ru.releases]

    def _asked_utility(self) -> list[str]:
        """Measures of utility, also those that are left out inside because destroyed data score no worse: those are
        drawn over the labels of the original, of which a single person may bring one."""
        kinds = {n: r.measure.side for found in self.ru.results.values() for n, r in found.items() if r.measure}
        left = [name for name in self.ru.left_out if kinds.get(name) == "utility"]
        return sorted({*self.ru._sides["utility"], *left})

    def _kind(self, name: str) -> str:
        return self.ru.kinds.get(name, "value")

    def _figure(self, name: str, result: Result | None) -> Told:
        if result is None:
            return NOTHING
        value = tell(result, self.gate).value
        return value if value is NOTHING or self._kind(name) != "leak" else leak(result, self.gate)

    def _anchors(self, name: str) -> list[Anchor]:
        """The ends of a measure's scale by release, on its grid. Those of utility are the ends of its range: destroyed
        data are drawn over the range and the labels of the original, which a single person may set."""
        if name in self.asked["utility"]:
            return [self._range(name)] * len(self.ru.releases)
        first = next((r for r in self.results[name] if r is not None and r.of is not None), None)
        made = []
        for own, anchor in zip(self.results[name], self.ru._anchors[name], strict=True):
            result = first if own is None or own.of is None else own
            zero, one = (self._end(name, result, end) for end in (anchor.zero, anchor.one))
            made.append(Anchor(zero, one, anchor.source))
        return made

    def _range(self, name: str) -> Anchor:
        measure = next((r.measure for r in self.results[name] if r is not None and r.measure is not None), None)
        low, high = (None, None) if measure is None or measure.range is None else measure.range
        if low is None or high is None:
            return Anchor(None, None, "")
        ends = (high, low) if self.ru.better[name] == "lower" else (low, high)
        return Anchor(float(ends[0]), float(ends[1]), "the ends of its range")

    def _end(self, name: str, result: Result | None, value: float | None, part: float = 1.0) -> float | None:
        """A figure of a ghost, which ``part`` of the people may stand behind."""
        if result is None or result.of is None or value is None:
            return None
        n = part * min(n for n in people_behind(result, self.gate) if n is not None)
        if self._kind(name) == "leak":
            return self.gate.gap(value, n, influence(result))
        return figure(result, value, n, self.gate).near

    def _tells(self, name: str) -> bool:
        """Whether a measure tells a figure for any release, on a scale with two ends. The others are left out, whether
        they have one or not: that nobody can be asked about, or one person, would tell them apart."""
        scaled = all(a.zero is not None and a.one is not None and a.zero != a.one for a in self.anchors.get(name, ()))
        return scaled and any(told is not NOTHING for told in self.figures[name])

    def _weights(self, side: str) -> np.ndarray:
        """What each told measure counts, as if there were no others; nothing where all of them were given no weight."""
        ru, names = self.ru, self.names[side]
        if not any(ru.weights.get(n, 1.0) * ru.weights.get(ru.families[n], 1.0) for n in names):
            return np.zeros(len(names))
        return order.measure_weights(names, ru.families, ru.composite, ru.weights)

    # -- places --------------------------------------------------------------------------------------------------------

    def _scaled(self, side: str, columns: Sequence[Sequence[float | None]]) -> np.ndarray:
        """[releases, told measures] on [0, 1]."""
        named = dict(zip(self.names[side], columns, strict=True))
        if not named:
            return np.empty((len(self.ru.releases), 0))
        return placed(named, side, self.ru.scale, self.anchors, self.ru.better)

    def _combined(self, side: str, scaled: np.ndarray) -> np.ndarray:
        names, end = self.names[side], "high" if side == "risk" else "low"
        if not names:
            return np.full(len(scaled), np.nan)
        found = order.composite_of(scaled, names, self.ru.families, self.ru.composite, self.weights[side], end)
        return np.round(found, DECIMALS)

    def _told(self, side: str) -> list[Told]:
        """Risk or utility by release. At an end of the scale, where parts are bounds, it is a bound itself."""
        edges = [[t.near if t.edge is None else t.edge for t in self.figures[n]] for n in self.names[side]]
        near, far = (self._combined(side, s) for s in (self.scaled[side], self._scaled(side, edges)))
        return [_composite(float(a), float(b)) for a, b in zip(near, far, strict=True)]

    def _ends(self, side: str) -> list[np.ndarray]:
        """Lower and upper ends of the composites: every measure at that end of its told interval."""
        spreads = {
            name: [
                self.gate.interval(told.value, exact)
                for told, exact in zip(self.figures[name], self.ru._spreads[name], strict=True)
            ]
            for name in self.names[side]
            if name in self.ru._spreads
        }
        return [
            self._combined(side, moved_to_end(self.scaled[side], self.names[side], spreads, self.anchors, end))
            for end in (0, 1)
        ]

    def _ghosts(self) -> dict[str, dict[str, float]]:
        """Where the ghosts stand that have a told place on both sides, on the scales of the first release."""
        made = {}
        for ghost, found in self.ru._ghost_values.items():
            if ghost == "uniform":  # made of ranges and labels that one person may set
                continue
            at = {
                side: float(
                    self._combined(side, np.array([[self._ghost(n, found.get(n)) for n in self.names[side]]]))[0]
                )
                for side in SIDES
            }
            if all(isfinite(v) for v in at.values()):
                made[ghost] = at
        return made

    def _ghost(self, name: str, value: float | None) -> float:
        """The told place of a ghost, which may be made of half the strangers."""
        if name not in self.anchors:
            return float("nan")
        at = self.anchors[name][0].place(self._end(name, self.results[name][0], value, part=0.5))
        return float("nan") if at is None else at

    # -- content -------------------------------------------------------------------------------------------------------

    def content(self) -> Content:
        """What differs from the content inside."""
        ru = self.ru
        told = self._as_told()
        found = self._recommended(told)
        said = text(told, write=self.write, inside=False, advice=found)
        # a share times the number of records would be a count of people, and the largest of several is an order of them
        columns = {**score_columns(told), **{name: [None] * len(ru.releases) for name in ("exposed", "exposed_by")}}
        for side in SIDES:
            sides = list(zip(self.told[side], ru._composites[side], strict=True))
            columns[f"{side}_shown"] = [t.shown if isfinite(exact) else None for t, exact in sides]
            for end in (f"{side}_low", f"{side}_high"):  # a bound has no interval
                columns[end] = [
                    None if t.value is None else v for t, v in zip(self.told[side], columns[end], strict=True)
                ]
        return {
            "recommended": found["release"],
            "recommendation": found["reason"],
            "pareto": told.pareto,
            "pareto_all_measures": told.pareto_all_measures,
            "releases": _rows(columns, len(ru.releases)),
            "measures": {n: self._measure(s, n) for s in SIDES for n in self.names[s]},
            "ghosts": self._ghosts(),
            "alpha": dict.fromkeys(ru.alpha),
            "omega": dict.fromkeys(ru.omega),
            "weights": told.measure_weights,
            "left_out": told.left_out,
            "findings": [],  # they are about single records as often as not
            "text": said.splitlines(),
        }

    def _as_told(self) -> RUMap:
        """The same map with every figure as it is told, so that its order and its words follow from those: an order of
        exact ones tells nobody from one person."""
        ru = copy(self.ru)
        ru._composites = {side: _numbers([t.near for t in self.told[side]]) for side in SIDES}
        ru._intervals = {}
        for side in SIDES:
            sure = np.array([t.value is not None for t in self.told[side]])
            for end, values in zip(("low", "high"), self._ends(side), strict=True):
                ru._intervals[f"{side}_{end}"] = np.where(sure, values, ru._composites[side])
        ru._scaled = self.scaled
        told = {n for side in SIDES for n in self.names[side]}
        ru.left_out = {name: self._why(name) for name in sorted({*ru.left_out, *self.results} - told)}
        ru._sides = {side: {n: [t.near for t in self.figures[n]] for n in self.names[side]} for side in SIDES}
        ru.measure_weights = {s: dict(zip(self.names[s], self.weights[s].tolist(), strict=True)) for s in SIDES}
        ru._complete = np.isfinite(self.scaled["risk"]).all(axis=1)
        ru.incomplete = [r for r, whole in zip(ru.releases, ru._complete, strict=True) if not whole]
        known = ru._complete & np.isfinite(ru._composites["risk"]) & np.isfinite(ru._composites["utility"])
        ru.front = order.front(ru._composites["risk"], ru._composites["utility"], known)
        ru._dominated = order.dominated_by(ru._composites["risk"], ru._composites["utility"], known)
        ru._ties = order.ties(ru._intervals, ru.front, known)
        return ru

    def _recommended(self, told: RUMap) -> Content:
        """The release that is recommended, and the reason as far as told figures give it; of figures computed elsewhere
        none is told, and the reason has none."""
        found = recommend(self.ru, write=self.write, inside=False)
        if not self.ru.assessments:
            return found
        shown = recommend(told, write=self.write, inside=False)
        known = all(t is not NOTHING for side in SIDES for t in self.told[side])
        if known and shown["release"] == found["release"]:
            return shown
        name = "no release" if found["release"] is None else found["release"]
        return {"release": found["release"], "reason": f"{name} is to be taken; {SAID_INSIDE}"}

    def write(self, ru: RUMap, side: str, i: int) -> str:
        """Risk or utility of a release as text."""
        return "–" if written(ru, side, i) == "–" else self.told[side][i].text(number)

    def _measure(self, side: str, name: str) -> Content:
        """The told figures of one measure by release, and their place on its scale."""
        figures, at = self.figures[name], self.scaled[side][:, self.names[side].index(name)]
        anchor = self.anchors[name][0] if name in self.anchors else None
        return {
            **_declared(self.ru, side, name),
            "anchor": _ends_of(anchor),
            "raw": [t.value for t in figures],
            "scaled": [
                None if t.value is None or not isfinite(v) else round(float(v), DECIMALS)
                for t, v in zip(figures, at, strict=True)
            ],
        }

    def _why(self, name: str) -> str:
        """Why a measure is left out: the input that was missing, or that the internal report says it."""
        need = _lacks(self._of_each(name))
        return f"says nothing on these data, or is not told; {SAID_INSIDE}" if need is None else NEEDS[need]


def _composite(near: float, far: float) -> Told:
    """A composite made of told figures; ``far`` is the same with bounds at the number they name."""
    if not isfinite(near):
        return NOTHING
    if near == far or 0 < near < 1:
        return Told(near, None, near)
    return Told(None, f"{'<' if near == 0 else '>'} {number(far)}", near, far)


def _lacks(found: Sequence[Result | None]) -> str | None:
    """The input nobody gave that left a measure without figures."""
    return next((need for r in found if r is not None and (need := given_need(r)) is not None), None)


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], float)
