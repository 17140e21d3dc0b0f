"""Measure: what a measure declares about itself, once. Report, map, command line and documentation read only this."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from glasshouse.core import calling
from glasshouse.core.calling import PAIR_ARGUMENTS as PAIR_ARGUMENTS
from glasshouse.core.calling import PairLike
from glasshouse.core.calling import accept_pairs as accept_pairs
from glasshouse.core.errors import InputError
from glasshouse.core.evidence import Better
from glasshouse.core.limits import BAND_LIMITS, Limit
from glasshouse.core.result import Result
from glasshouse.core.words import NEEDS, Threat

Side: TypeAlias = Literal["disclosure", "utility"]
Tier: TypeAlias = Literal["fast", "default", "full"]
Cost: TypeAlias = Literal["cells", "rows", "neighbours", "attackers", "pairs"]
Alone: TypeAlias = Literal["", "warn", "fail"]
Influence: TypeAlias = Literal["share", "root", "free"]
Wide: TypeAlias = Literal["", "columns", "numeric", "categorical", "unkeyed"]
Grows: TypeAlias = Literal["pairs", "people", "values"]
R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Measure(Generic[R]):
    """A registered measure: a plain function of a Pair, with everything the rest of the house needs to know about it.

    Attributes
    ----------
    function, side, family, threat
        What it computes, risk or utility, where it lives, and which threat it speaks about.
    title
        Its name as the field writes it.
    better, range, unit
        How to read the figure.
    needs
        What a pair must have: "keys", "target", "targets", "holdout", "weights", "row_paired", "numeric",
        "categorical".
    limits, figures
        The limits it is judged by where no policy sets others, and the figures of its own that limits may look at.
    cite, attacker, caveats
        Its source, what the attacker is assumed to know, and what it cannot tell.
    cost, tier
        The engine it asks; the smallest set of measures it belongs to.
    wide, grows
        Which columns a wide table limits, for work that gets out of hand ("unkeyed": all but the target, where there
        are no keys); and how it grows: with the "pairs" of columns, with every two "people" in every column, or with
        the "values" and many draws of each.
    paired
        Whether it is asked of every row-paired release, whatever the set of measures.
    by_roles
        Whether keys or target change the figure although it needs neither (``asks_roles``).
    table, replicates
        Whether it compares two tables or looks at a single one; whether several releases are run one by one.
    chance
        What is reached without the release where that is a constant (0.5 for an AUC), which is no person's.
    influence
        How far one person can move the figure, which decides how it is told outside (:mod:`glasshouse.core.outside`):
        "share" by 1 / n of its range, as a share of people (risk figures, unless they say otherwise); "root" by the
        root of that (utility figures, unless they say otherwise); "free" as far as their value goes, or by as many
        released records as resemble them, so that it is not told.
    group
        Measures of one group move together, so that a verdict counts them once.
    alone
        Whether its exchange test decides without the others: "fail" for what has no tolerance (a verbatim copy of
        somebody unlike anybody else), "warn" for tests made for few copies, which a combination would drown.
    population
        Whether the figure is also reported as a fact about the population: what anybody can infer about anybody.
    advice
        What to do about a finding: a template whose fields ``judgement.verdict.advice`` fills.
    on_map, audited, alarm
        Whether it is on the risk-utility map by default; whether a formal claim can be held against its counts;
        whether its copy alarm is sharp enough to be reported on its own.
    by_position
        Details that go by the place of records in the file, as the rule of another package does. Every other figure is
        the same whatever the order of rows and columns.
    riskutility
        The metric of riskutility's report it stands for and how to read it, for comparison with that package.
    """

    function: Callable[..., R]
    side: Side
    family: str
    better: Better
    cite: str
    threat: Threat | None = None
    title: str = ""
    range: tuple[float | None, float | None] = (0, 1)
    needs: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    figures: tuple[str, ...] = ()
    attacker: str = ""
    caveats: str = ""
    cost: Cost = "cells"
    tier: Tier = "default"
    wide: Wide = ""
    grows: Grows = "pairs"
    unit: str = "share"
    paired: bool = False
    by_roles: bool = False
    table: Literal["pair", "single"] = "pair"
    replicates: Literal["each", "own"] = "each"
    influence: Influence = "share"
    chance: float | None = None
    group: str = ""
    alone: Alone = ""
    population: bool = False
    advice: str = ""
    on_map: bool = False
    audited: bool = False
    alarm: bool = False
    by_position: tuple[str, ...] = ()
    riskutility: tuple[str, Callable[[Result], Mapping[str, float | None]]] | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.function.__name__

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # the function's text, read when asked for
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return self.__doc__.split("\n\n")[0].replace("\n", " ")

    @cached_property
    def options(self) -> dict[str, Any]:
        """Option names with their defaults."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: None if p.default is p.empty else p.default for p in parameters}

    @cached_property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """By option the words its docstring says it may be."""
        stated = re.finditer(r"^ *(\w+(?:, \w+)*) : (.*)$", self.__doc__, re.MULTILINE)
        words = [(name, tuple(re.findall(r'"([^"]*)"', line[2]))) for line in stated for name in line[1].split(", ")]
        return {name: said for name, said in words if said and name in self.options}

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def asks_roles(self) -> bool:
        """Whether the figure depends on what an attacker knows or wants; if not, it holds for every scenario."""
        return self.by_roles or any(need in ("keys", "target", "targets") for need in self.needs)

    @property
    def joins(self) -> bool:
        """Whether an attacker who collected every release learns more from all of them together."""
        return self.side == "disclosure" and (self.threat == "copying" or self.family == "linkage")

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share of people or records, written in percent."""
        return self.unit == "share" and self.range == (0, 1) and self.side == "disclosure"

    def record(self) -> dict[str, str | None]:
        """The declaration as plain data."""
        low, high = ("unbounded" if end is None else f"{end:g}" for end in self.range)
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "side": self.side,
            "family": self.family,
            "threat": self.threat,
            "range": f"{low} to {high}",
            "direction": f"{self.better} is better",
            "needs": ", ".join(self.needs),
            "bands": "; ".join(
                f"{one.whole_text()} ({one.why})" if one.why else one.whole_text() for one in self.limits
            )
            or None,
            "attacker": self.attacker,
            "caveats": self.caveats,
            "cost": self.cost,
            "tier": self.tier,
            "citation": self.cite,
        }

    def lacks(self, pair: PairLike) -> str | None:
        """Why this measure cannot run on ``pair``, as a sentence; None when it can."""
        need = calling.lacks(self, pair)
        return None if need is None else f"{self.name} {NEEDS[need]}"

    def __call__(self, *tables: Any, **arguments: Any) -> R:
        """Run on a Pair, or on the frames themselves: ``disco(original, released, keys=[...], target=...)``."""
        pair, options = calling.bind(self, tables, arguments)
        if any(need in ("keys", "target", "targets") and not getattr(pair, need) for need in self.needs):
            raise InputError(str(self.lacks(pair)))
        return self.run(pair, **options)

    def run(self, pair: PairLike, **options: Any) -> R:
        """Run on a ready pair. What does not apply comes back as a result that says why; errors are raised."""
        return calling.run(self, pair, options)  # type: ignore[return-value]  # a Result in R's stead says why not


AnyMeasure: TypeAlias = Measure[Any]  # of whatever kind of result
_registry: dict[str, AnyMeasure] = {}


def measure(
    *,
    side: Side,
    family: str,
    better: Better,
    cite: str,
    threat: Threat | None = None,
    title: str = "",
    range: tuple[float | None, float | None] = (0, 1),
    needs: Sequence[str] = (),
    limit: Limit | Sequence[Limit] | None = None,
    figures: Sequence[str] = (),
    attacker: str = "",
    caveats: str = "",
    cost: Cost = "cells",
    tier: Tier = "default",
    wide: Wide = "",
    grows: Grows = "pairs",
    unit: str = "share",
    paired: bool = False,
    by_roles: bool = False,
    table: Literal["pair", "single"] = "pair",
    replicates: Literal["each", "own"] = "each",
    influence: Influence | None = None,
    chance: float | None = None,
    group: str = "",
    alone: Alone = "",
    population: bool = False,
    advice: str = "",
    on_map: bool = False,
    audited: bool = False,
    alarm: bool = False,
    by_position: Sequence[str] = (),
    riskutility: tuple[str, Callable[[Result], Mapping[str, float | None]]] | None = None,
) -> Callable[[Callable[..., R]], Measure[R]]:
    """Declare and register a measure; :class:`Measure` says what each argument means."""

    def register(function: Callable[..., R]) -> Measure[R]:
        name = function.__name__
        # a utility figure is read against the band of a perfect synthesiser unless it says otherwise
        given = (BAND_LIMITS if side == "utility" else ()) if limit is None else limit
        limits = (given,) if isinstance(given, Limit) else tuple(given)
        made = Measure(
            function,
            side,
            family,
            better,
            cite,
            threat=threat,
            title=title or name.replace("_", " ").capitalize(),
            range=range,
            needs=tuple(needs),
            limits=tuple(one.resolved(better) for one in limits),
            figures=tuple(figures),
            attacker=attacker,
            caveats=caveats,
            cost=cost,
            tier=tier,
            wide=wide,
            grows=grows,
            unit=unit,
            paired=paired,
            by_roles=by_roles,
            table=table,
            replicates=replicates,
            influence=influence or ("share" if side == "disclosure" else "root"),
            chance=chance,
            group=group or family,
            alone=alone,
            population=population,
            advice=advice,
            on_map=on_map,
            audited=audited,
            alarm=alarm,
            by_position=tuple(by_position),
            riskutility=riskutility,
        )
        if name in _registry and _registry[name].function.__module__ != function.__module__:
            raise InputError(f"two measures are called {name!r}")
        _registry[name] = made
        return made

    return register


def registered() -> dict[str, AnyMeasure]:
    """Every measure whose module has been imported, by name."""
    return dict(_registry)
