"""The gate of the risk-utility map: everything a reader may see, as plain data with a versioned schema.

Outside, figures are those of :mod:`glasshouse.core.outside`: a composite is made of the measures that are told, on the
grid of the fewest people behind any of them, and the words of the map are said with it.
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
from glasshouse.core.told import SAID_INSIDE, figure, given_need, influence, tell
from glasshouse.core.words import NEEDS
from glasshouse.judgement.outside import gate_of
from glasshouse.judgement.rumap import order
from glasshouse.judgement.rumap.recommendation import recommend, written
from glasshouse.judgement.rumap.words import findings, score_columns, text

if TYPE_CHECKING:
    from glasshouse.core.measure import Influence
    from glasshouse.core.result import Result
    from glasshouse.judgement.rumap.map import RUMap

SCHEMA = "glasshouse.map"
SCHEMA_VERSION = 3
SIDES = ("risk", "utility")
INFLUENCES = ("share", "root", "free")
ORDERED = ("pareto", "dominated_by", "tied_with", "best_on", "worst_on", "incomplete")
FINEST = 0.01  # composites are written with two decimals


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
                "anchor": _anchor(ru, n),
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


def _anchor(ru: RUMap, name: str) -> Content | None:
    anchor = ru.anchors.get(name)
    return None if anchor is None else {"zero": anchor.zero, "one": anchor.one, "source": anchor.source}


class Outside:
    """A map as it is told outside."""

    def __init__(self, ru: RUMap) -> None:
        self.ru = ru
        self.gate = next((gate_of(found.policy) for found in ru.assessments.values()), Gate())
        self.names = {side: [n for n in ru._sides[side] if self._tells(n)] for side in SIDES}
        self.weights = {side: self._weights(side) for side in SIDES}
        self.people = {side: [self._behind(side, release) for release in ru.releases] for side in SIDES}
        self.told = {
            side: [self._told(side, float(v), n) for v, n in zip(self._composite(side), self.people[side], strict=True)]
            for side in SIDES
        }

    def _influence(self, name: str) -> Influence:
        """How far one person moves a measure; a map of scores has none that says it."""
        found = (self._result(release, name) for release in self.ru.releases)
        return next((influence(r) for r in found if r is not None), "free")

    def _tells(self, name: str) -> bool:
        """Whether a measure tells a figure for any release. The others are left out, whether they have one or not: that
        nobody can be asked about, or one person, would tell them apart."""
        found = (self._result(release, name) for release in self.ru.releases)
        return any(r is not None and tell(r, self.gate).status == "ok" for r in found)

    def _weights(self, side: str) -> np.ndarray:
        """What each told measure counts, as if there were no others; nothing where all of them were given no weight."""
        ru, names = self.ru, self.names[side]
        if not any(ru.measure_weights[side][name] for name in names):
            return np.zeros(len(names))
        return order.measure_weights(names, ru.families, ru.composite, ru.weights)

    def _composite(self, side: str) -> np.ndarray:
        """Risk or utility made of the measures that are told, as if there were no others."""
        ru, names = self.ru, self.names[side]
        if not names:
            return np.full(len(ru.releases), np.nan)
        told = [name in names for name in ru._sides[side]]
        end = "high" if side == "risk" else "low"
        return order.composite_of(ru._scaled[side][:, told], names, ru.families, ru.composite, self.weights[side], end)

    def _complete(self) -> np.ndarray:
        """Whether every measure of risk that is told tells a figure of a release."""
        found = [[self._result(release, name) for name in self.names["risk"]] for release in self.ru.releases]
        return np.array([all(r is not None and tell(r, self.gate).status == "ok" for r in row) for row in found])

    def _whole(self, side: str) -> bool:
        """Whether every measure of a side that could run is told."""
        asked = {**dict.fromkeys(self.ru._sides[side]), **dict.fromkeys(self.ru.left_out)}
        results = {name: [self._result(release, name) for release in self.ru.releases] for name in asked}
        own = [name for name, found in results.items() if _side(found) in (side, None)]
        return all(self._tells(name) or _lacks(results[name]) is not None for name in own)

    def content(self) -> Content:
        """What differs from the content inside."""
        ru = self.ru
        measures = {n: self._measure(s, n) for s in SIDES for n in self.names[s]}
        columns = self._columns()
        told = self._placed_as_told(columns, measures)
        # who is ahead of whom is read off told figures only: an order of exact ones tells nobody from one person
        placed = {k: v for k, v in score_columns(told).items() if k in ORDERED}
        found = recommend(ru, write=self.write, inside=False)
        said = text(told, write=self.write, inside=False, advice=found)
        return {
            "recommended": found["release"],
            "recommendation": found["reason"],
            "pareto": told.pareto,
            "pareto_all_measures": told.pareto_all_measures,
            "releases": _rows({**columns, **placed}, len(ru.releases)),
            "measures": measures,
            "ghosts": self._ghosts(),
            "alpha": dict.fromkeys(ru.alpha),
            "omega": dict.fromkeys(ru.omega),
            "weights": told.measure_weights,
            "left_out": told.left_out,
            "findings": [],  # they are about single records as often as not
            "text": said.splitlines(),
        }

    def _placed_as_told(self, columns: Content, measures: Content) -> RUMap:
        """The same map with every figure as it is told, so that its order and its words follow from those."""
        ru = copy(self.ru)
        ru._composites = {side: _numbers(columns[side]) for side in SIDES}
        ru._intervals = {
            end: np.where(np.isnan(given := _numbers(columns[end])), ru._composites[side], given)
            for side in SIDES
            for end in (f"{side}_low", f"{side}_high")
        }
        ru._scaled = {
            side: np.array([_numbers(measures[name]["scaled"]) for name in names]).reshape(len(names), -1).T
            if names
            else np.empty((len(ru.releases), 0))
            for side, names in self.names.items()
        }
        untold = sorted(
            {name for side in SIDES for name in ru._sides[side]} - {n for s in SIDES for n in self.names[s]}
        )
        ru.left_out = {name: self._why(name) for name in sorted({*ru.left_out, *untold})}
        ru._sides = {side: {n: ru._sides[side][n] for n in self.names[side]} for side in SIDES}
        ru.measure_weights = {s: dict(zip(self.names[s], self.weights[s].tolist(), strict=True)) for s in SIDES}
        ru._complete = self._complete()
        ru.incomplete = [r for r, whole in zip(ru.releases, ru._complete, strict=True) if not whole]
        known = ru._complete & np.isfinite(ru._composites["risk"]) & np.isfinite(ru._composites["utility"])
        ru.front = order.front(ru._composites["risk"], ru._composites["utility"], known)
        ru._dominated = order.dominated_by(ru._composites["risk"], ru._composites["utility"], known)
        ru._ties = order.ties(ru._intervals, ru.front, known)
        return ru

    def write(self, ru: RUMap, side: str, i: int) -> str:
        """Risk or utility of a release as text."""
        return "–" if written(ru, side, i) == "–" else self.told[side][i].text(number)

    def _result(self, release: str, name: str) -> Result | None:
        return self.ru.results.get(release, {}).get(name)

    def _behind(self, side: str, release: str) -> float | None:
        """The fewest people behind any measure of a side; None as soon as one does not say.

        A measure that is alone on its side is spread from one end of its scale to the other, and one person moves it
        the further the shorter the scale is. Among several, what the others are is not told any finer.
        """
        names = self.names[side]
        found = [self._result(release, name) for name in names]
        numbers = [n for r in found if r is not None for n in (r.of, *([] if r.of_holdout is None else [r.of_holdout]))]
        known = [n for n in numbers if n is not None]
        if not known or len(known) < len(numbers):
            return None
        least = min(*known, self.gate.threshold / FINEST)
        zero, one = _ends(self.ru.anchors.get(names[0]))
        if len(names) > 1 or zero is None or one is None:
            return least
        return min(least, min(known) * abs(one - zero))

    def _told(self, side: str, value: float, n: float | None) -> Told:
        worst: Influence = max((self._influence(n) for n in self.names[side]), key=INFLUENCES.index, default="free")
        return self.gate.bounded(value, n, write=number, influence=worst) if isfinite(value) else NOTHING

    def _columns(self) -> Content:
        ru, n = self.ru, len(self.ru.releases)
        columns = score_columns(ru)
        for side in SIDES:
            told = self.told[side]
            low, high = columns[f"{side}_low"], columns[f"{side}_high"]
            whole = self._whole(side)
            ends = [
                self.gate.interval(t.value, (low[i], high[i]), 0.0, 1.0) if whole else None for i, t in enumerate(told)
            ]
            columns |= {
                side: [t.near for t in told],
                f"{side}_low": [None if e is None else e[0] for e in ends],
                f"{side}_high": [None if e is None else e[1] for e in ends],
                f"{side}_shown": [None if columns[side][i] is None else t.shown for i, t in enumerate(told)],
            }
        # a share times the number of records would be a count of people
        return {**columns, "exposed": [None] * n}

    def _measure(self, side: str, name: str) -> Content:
        """The told figures of one measure by release, placed on a scale whose ends are told in the same way."""
        kind = self.ru.kinds.get(name, "value")
        results = [self._result(release, name) for release in self.ru.releases]
        raw = [None if r is None else self._figure(r, kind) for r in results]
        known = next((r for r in results if r is not None and r.of is not None), None)
        anchor = self.ru.anchors.get(name)
        ends = [None if anchor is None else self._end(known, kind, end) for end in _ends(anchor)]
        return {
            **_declared(self.ru, side, name),
            "anchor": None if anchor is None else {"zero": ends[0], "one": ends[1], "source": anchor.source},
            "raw": raw,
            "scaled": [_placed(value, ends[0], ends[1]) for value in raw],
        }

    def _figure(self, result: Result, kind: str) -> float | None:
        told = tell(result, self.gate)
        if kind != "leak":
            return told.value.value
        return told.difference if told.exposure is None else told.exposure.share

    def _end(self, result: Result | None, kind: str, value: float | None) -> float | None:
        if result is None or value is None:
            return None
        n = min(n for n in (result.of, result.of_holdout) if n is not None)
        return self.gate.gap(value, n) if kind == "leak" else figure(result, value, n, self.gate).near

    def _ghosts(self) -> dict[str, dict[str, float | None]]:
        if not all(self._whole(side) for side in SIDES):
            return {}
        told = {
            ghost: {side: self._told(side, value, self.people[side][0]).near for side, value in at.items()}
            for ghost, at in self.ru.ghosts.items()
        }
        return {ghost: at for ghost, at in told.items() if None not in at.values()}

    def _why(self, name: str) -> str:
        """Why a measure is left out: the input that was missing, or that the internal report says it."""
        need = _lacks([self._result(release, name) for release in self.ru.releases])
        return f"says nothing on these data, or is not told; {SAID_INSIDE}" if need is None else NEEDS[need]


def _lacks(found: Sequence[Result | None]) -> str | None:
    """The input nobody gave that left a measure without figures."""
    return next((need for r in found if r is not None and (need := given_need(r)) is not None), None)


def _side(found: Sequence[Result | None]) -> str | None:
    """The side of the map that results belong to."""
    side = next((r.measure.side for r in found if r is not None and r.measure is not None), None)
    return "risk" if side == "disclosure" else side


def _numbers(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if v is None else v for v in values], float)


def _ends(anchor: object) -> tuple[float | None, float | None]:
    return getattr(anchor, "zero", None), getattr(anchor, "one", None)


def _placed(value: float | None, zero: float | None, one: float | None) -> float | None:
    if value is None or zero is None or one is None or one == zero:
        return None
    return round(min(max((value - zero) / (one - zero), 0.0), 1.0), 2)
