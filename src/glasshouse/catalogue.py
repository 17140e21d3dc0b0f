"""The list of measures, for people: ``gh.measures()``, ``gh.explain(name)``, ``gh.check(original, released)``."""

from __future__ import annotations

from typing import Any

import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.measure import Measure, registered
from glasshouse.core.printing import prose
from glasshouse.core.rooms import measures_of
from glasshouse.data.pair import Pair


def all_measures() -> dict[str, Measure]:
    """Every measure of every room, by name."""
    return {**measures_of("glasshouse.disclosure"), **measures_of("glasshouse.utility"), **registered()}


def measures() -> pl.DataFrame:
    """The registry as a frame: name, side, family, threat, range, direction, needs, bands, citation, cost."""
    wanted = ("name", "side", "family", "threat", "range", "direction", "needs", "bands", "cost", "summary", "citation")
    records = sorted((m.record() for m in all_measures().values()), key=lambda r: (r["side"], r["family"], r["name"]))
    return pl.DataFrame([{k: r[k] for k in wanted} for r in records], schema=dict.fromkeys(wanted, pl.String))


class Explanation(str):
    """Text that a notebook shows as text, not as a quoted string."""

    def __repr__(self) -> str:
        return str(self)


def explain(name: str) -> Explanation:
    """What a measure asks, how to read it, what it needs, its limits and its source, as prose."""
    known = all_measures()
    if name not in known:
        raise InputError(f"there is no measure {name!r}{closest(name, known)}; gh.measures() lists them")
    found = known[name]
    options = ", ".join(f"{k}={v!r}" for k, v in found.options.items())
    text = "\n\n".join((found.__doc__ or "").split("\n\n")[1:])
    return Explanation(prose({**found.record(), "text": text, "options": options}))


def check(original: Any, released: Any, **roles: Any) -> Any:
    """Findings about two tables before anything runs."""
    return Pair(original, released, **roles).check()
