"""Where releases stand on the map: figures on their scales, composites with intervals, the front, who beats whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.intervals import Interval
from glasshouse.judgement.rumap import order as rumap_order
from glasshouse.judgement.rumap.scales import Anchor, moved_to_end, placed

SIDES = ("risk", "utility")


class Placement:
    """The arithmetic of a map; :class:`glasshouse.RUMap` reads it."""

    def __init__(
        self,
        releases: Sequence[str | int],
        risk: Mapping[str, Sequence[float | None]],
        utility: Mapping[str, Sequence[float | None]],
        *,
        scale: str,
        composite: str,
        weights: Mapping[str, float] | None = None,
        families: Mapping[str, str] | None = None,
        better: Mapping[str, str] | None = None,
        anchors: Mapping[str, Anchor | Sequence[Anchor]] | None = None,
        spreads: Mapping[str, Sequence[Interval | None]] | None = None,
        ghost_values: Mapping[str, Mapping[str, float | None]] | None = None,
    ) -> None:
        self.releases = checked_names(releases)
        self._sides = {
            "risk": {k: list(v) for k, v in risk.items()},
            "utility": {k: list(v) for k, v in utility.items()},
        }
        for side, measures in self._sides.items():
            if not measures:
                raise InputError(f"a map needs at least one {side} measure with a value")
            for name, values in measures.items():
                if len(values) != len(self.releases):
                    raise InputError(f"measure {name!r} has {len(values)} values for {len(self.releases)} releases")
        self.risk_measures, self.utility_measures = list(risk), list(utility)
        self.scale, self.composite, self.weights = scale, composite, dict(weights or {})
        self.better = {**dict.fromkeys(risk, "lower"), **dict.fromkeys(utility, "higher"), **(better or {})}
        self.families = {**{n: n for n in [*risk, *utility]}, **(families or {})}
        self._anchors = {
            name: [a] * len(self.releases) if isinstance(a, Anchor) else list(a) for name, a in (anchors or {}).items()
        }
        rumap_order.check_weights(self.weights, list(self.families), self.families)
        self._raw = {s: rumap_order.value_table(self._sides[s], self.releases) for s in self._sides}
        self._scaled = {s: placed(self._sides[s], s, scale, self._anchors, self.better) for s in self._sides}
        self.measure_weights = {
            s: dict(
                zip(
                    self._sides[s],
                    rumap_order.measure_weights(list(self._sides[s]), self.families, composite, self.weights).tolist(),
                    strict=True,
                )
            )
            for s in self._sides
        }
        self._spreads = {name: list(of_each) for name, of_each in (spreads or {}).items()}
        self._ghost_values = {ghost: dict(found) for ghost, found in (ghost_values or {}).items()}
        self._composites = {s: self._combine(s, self._scaled[s]) for s in self._sides}
        self._intervals = self._spread(self._spreads)
        complete = np.isfinite(self._scaled["risk"]).all(axis=1) & np.isfinite(self._composites["utility"])
        self.incomplete = [r for r, ok in zip(self.releases, complete, strict=True) if not ok]
        self.unmeasured = {r: self._without_figure(i) for i, r in enumerate(self.releases) if not complete[i]}
        self.front = rumap_order.front(self._composites["risk"], self._composites["utility"], complete)
        self._dominated = rumap_order.dominated_by(self._composites["risk"], self._composites["utility"], complete)
        self._ties = rumap_order.ties(self._intervals, self.front, complete)
        self._complete = complete
        self.ghosts = self._ghosts(self._ghost_values)

    def _without_figure(self, i: int) -> list[str]:
        """The measures that gave release ``i`` no figure and so keep it off the front: any of risk, or all of
        utility."""
        lacking = {s: ~np.isfinite(self._scaled[s][i]) for s in self._sides}
        if np.isfinite(self._composites["utility"][i]):
            lacking["utility"][:] = False
        return [name for s in self._sides for name, out in zip(self._sides[s], lacking[s], strict=True) if out]

    @property
    def anchors(self) -> dict[str, Anchor]:
        """The fixed points of each measure's scale; where releases differ in size, those of the first."""
        return {name: of_each[0] for name, of_each in self._anchors.items()}

    @property
    def pareto(self) -> list[str]:
        """Names of the releases on the front: no other one has less risk and more utility."""
        return [r for r, on in zip(self.releases, self.front, strict=True) if on]

    @property
    def pareto_all_measures(self) -> dict[str, bool | None]:
        """Dominance on every single measure instead of the composites; None for releases with a missing value."""
        goodness = np.concatenate([1 - self._scaled["risk"], self._scaled["utility"]], axis=1)
        return dict(zip(self.releases, rumap_order.all_measure_front(goodness), strict=True))

    @property
    def composites(self) -> dict[str, dict[str, float | None]]:
        """Risk and utility of each release."""
        sd = {
            s: np.array(
                [
                    np.std(row[np.isfinite(row)], ddof=1) if np.isfinite(row).sum() > 1 else np.nan
                    for row in self._scaled[s]
                ]
            )
            for s in self._sides
        }
        return {
            r: {
                **{s: rumap_order.known_number(self._composites[s][i]) for s in self._sides},
                **{f"{s}_sd": rumap_order.known_number(sd[s][i]) for s in self._sides},
            }
            for i, r in enumerate(self.releases)
        }

    def _combine(self, side: str, scaled: np.ndarray) -> np.ndarray:
        names = list(self._sides[side])
        weights = np.array(list(self.measure_weights[side].values()))
        return rumap_order.composite_of(
            scaled, names, self.families, self.composite, weights, "high" if side == "risk" else "low"
        )

    def _spread(self, spreads: Mapping[str, Sequence[Interval | None]]) -> dict[str, np.ndarray]:
        """Intervals of the composites: every measure at its low end, every measure at its high end."""
        return {
            f"{side}_{name}": self._combine(
                side, moved_to_end(self._scaled[side], self._sides[side], spreads, self._anchors, end)
            )
            for side in self._sides
            for end, name in enumerate(("low", "high"))
        }

    def _ghosts(self, values: Mapping[str, Mapping[str, float | None]]) -> dict[str, dict[str, float]]:
        """Ghosts that were measured on both sides, on the scales of the first release."""
        made = {}
        for ghost, found in values.items():
            point = {}
            for side in self._sides:
                at = [self._anchors[n][0].place(found.get(n)) for n in self._sides[side]]
                row = np.array([[np.nan if v is None else v for v in at]], float)
                point[side] = float(self._combine(side, row)[0])
            if all(np.isfinite(v) for v in point.values()):
                made[ghost] = point
        return made

    def _unseparated(self, i: int) -> list[int]:
        """The measured releases whose risk cannot be told from that of release ``i``: their intervals overlap."""
        low, high = self._intervals["risk_low"], self._intervals["risk_high"]
        near = (low <= high[i]) & (low[i] <= high) & self._complete
        return [int(j) for j in np.flatnonzero(near) if j != i]


def checked_names(names: Sequence[str | int]) -> list[str]:
    """Names of releases as text, each once."""
    made = [str(n) for n in names]
    twice = [n for n in made if made.count(n) > 1]
    if twice:
        raise InputError(f"two releases are called {twice[0]!r}; give each its own name")
    return made
