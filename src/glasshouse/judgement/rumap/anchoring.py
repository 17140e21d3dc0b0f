"""The fixed points of the map's scales: ghosts are measured once, and every release of their size is placed by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from glasshouse.core.measure import AnyMeasure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.judgement.rumap.figures import Kind
from glasshouse.judgement.rumap.ghosts import ghost_pairs
from glasshouse.judgement.rumap.scales import Anchor, risk_anchor, utility_anchor

Ghosts: TypeAlias = dict[str, dict[str, Result]]
Measured: TypeAlias = Callable[[Pair, Sequence[AnyMeasure]], dict[str, Result]]


def measured_ghosts(
    pair: Pair,
    chosen: Mapping[str, AnyMeasure],
    kinds: Mapping[str, Kind],
    random_state: RandomState,
    measured: Measured,
) -> Ghosts:
    """What the ghosts of one size score; each is asked only what it stands for."""
    tables = ghost_pairs(pair, random_state)
    utility = [m for m in chosen.values() if m.side == "utility"]
    leaks = [m for n, m in chosen.items() if m.side == "disclosure" and kinds[n] == "leak"]
    values = [m for n, m in chosen.items() if m.side == "disclosure" and kinds[n] == "value"]
    # a value depends on the size of the release, so a holdout too small for it cannot stand in for other people
    enough = pair.has_holdout and pair.n("holdout") >= pair.n("released")
    asked = {
        "copy": [*utility, *leaks, *values],
        "strangers": leaks,
        "sample": [*utility, *(values if enough else [])],
        "independent": [*utility, *([] if enough else values)],
    }
    found: Ghosts = {name: measured(tables[name], wanted) for name, wanted in asked.items() if name in tables}
    # evenly drawn columns serve where independent ones do not
    rest = [m for m in utility if utility_anchor({**_of(found, m.name), "uniform": Result()}, m.better).reason]
    found["uniform"] = measured(tables["uniform"], rest)
    return found


def _of(ghosts: Ghosts, name: str) -> dict[str, Result]:
    return {ghost: results[name] for ghost, results in ghosts.items() if name in results}


def anchor_of(measure: AnyMeasure, kind: Kind, ghosts: Ghosts) -> Anchor:
    """Where 0 and 1 of a measure's scale are, from what the ghosts score."""
    found = _of(ghosts, measure.name)
    if measure.side == "disclosure":
        return risk_anchor(found, kind, measure.better, measure.range[0])
    return utility_anchor({"uniform": Result(), **found}, measure.better)
