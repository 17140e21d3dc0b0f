"""Measure: what a measure declares about itself, once. Report, map, command line and documentation read only this."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from glasshouse.core.errors import InputError, NotApplicable, closest, listed
from glasshouse.core.result import Result, Verdict
from glasshouse.core.streams import check_random_state

Side: TypeAlias = Literal["disclosure", "utility"]
Threat: TypeAlias = Literal["identity", "attribute", "membership", "copying"]
Statistic: TypeAlias = Literal["value", "excess", "low", "high", "difference_high"]

# What the other tools of the field call these arguments; silently guessing would hide a mistake, so the error says
# the name here.
FOREIGN_NAMES = {
    "real_data": "original",
    "real": "original",
    "ori": "original",
    "orig": "original",
    "real_dataframe": "original",
    "synthetic_data": "released",
    "syn": "released",
    "synt_data": "released",
    "known_column_names": "keys",
    "aux_cols": "keys",
    "keyVars": "keys",
    "known_vars": "keys",
    "qi": "keys",
    "quasi_ident": "keys",
    "sensitive_column_names": "target",
    "sensitive_fields": "target",
    "secret": "target",
    "sensitive_var": "target",
    "sa": "target",
    "control": "holdout",
    "holdout_dataframe": "holdout",
    "weightVar": "weights",
    "seed": "random_state",
    "confidence_level": "confidence",
    "metadata": "schema",
    "household": "cluster",
}
ALIASES = {"synthetic": "released", "key_vars": "keys", "target_var": "target"}
PAIR_ARGUMENTS = (
    "released",
    "keys",
    "target",
    "holdout",
    "weights",
    "cluster",
    "schema",
    "missing",
    "special_codes",
    "row_paired",
    "exclude",
)


@dataclass(frozen=True)
class Bands:
    """Where a figure starts to worry: two limits on one statistic of a result, and where they come from."""

    warn: float | None
    fail: float | None
    on: Statistic = "value"
    source: str = "glasshouse default; replace it with your policy"
    better: Literal["lower", "higher"] = "lower"
    population_warns: bool = False  # what holds for people never in the data is a fact about the population: no fail

    def statistic(self, result: Result) -> float | None:
        """The figure these bands look at."""
        if self.on == "difference_high":  # attack minus control: its upper limit, None without a control
            limits = result.details.get("difference_interval")
            return None if limits is None else float(limits[1])
        if self.on in ("low", "high"):
            return None if result.interval is None else result.interval[0 if self.on == "low" else 1]
        figure: float | None = getattr(result, self.on)
        return figure

    def judge(self, result: Result) -> Verdict | None:
        """pass, warn or fail; None when the figure is missing."""
        figure = self.statistic(result)
        if figure is None:
            return None
        for limit, verdict in ((self.fail, "fail"), (self.warn, "warn")):
            if limit is not None and (figure > limit if self.better == "lower" else figure < limit):
                # a wide interval around zero is a reason to warn, not proof of a leak
                unproven = self.on == "difference_high" and result.details["difference_interval"][0] <= 0
                if self.population_warns and result.holdout is not None and result.interval is not None:
                    unproven = unproven or result.interval[0] <= result.holdout
                return "warn" if unproven else verdict  # type: ignore[return-value]
        return "pass"


@dataclass(frozen=True)
class Measure:
    """A registered measure: a plain function of a Pair, with everything the rest of the house needs to know about
    it."""

    function: Callable[..., Result]
    side: Side
    family: str
    threat: Threat | None
    better: Literal["lower", "higher"]
    range: tuple[float | None, float | None]
    needs: tuple[str, ...]
    bands: Bands | None
    cite: str
    knows: str
    limits: str
    cost: str
    unit: str
    table: Literal["pair", "single"]
    replicates: Literal["each", "own"]
    private: tuple[str, ...]
    group: str

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        return self.__doc__.split("\n\n")[0].replace("\n", " ")

    @cached_property
    def options(self) -> dict[str, Any]:
        """Option names with their defaults."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: None if p.default is p.empty else p.default for p in parameters}

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def record(self) -> dict[str, Any]:
        """The declaration as plain data."""
        bands = self.bands
        return {
            "name": self.name,
            "summary": self.summary,
            "side": self.side,
            "family": self.family,
            "threat": self.threat,
            "range": f"{_end(self.range[0], 'unbounded')} to {_end(self.range[1], 'unbounded')}",
            "direction": f"{self.better} is better",
            "needs": ", ".join(self.needs),
            "bands": None if bands is None else f"warn {bands.warn}, fail {bands.fail} on {bands.on} ({bands.source})",
            "knows": self.knows,
            "limits": self.limits,
            "cost": self.cost,
            "citation": self.cite,
        }

    def lacks(self, pair: Any) -> str | None:
        """Why this measure cannot run on ``pair``, as a sentence; None when it can."""
        for need in self.needs:
            problem = _NEEDS[need](pair) if need in _NEEDS else None
            if problem:
                return f"{self.name} {problem}"
        return None

    def __call__(self, original: Any, released: Any = None, /, **arguments: Any) -> Result:
        """Run on a Pair, or on the frames themselves: ``disco(original, released, keys=[...], target=...)``."""
        pair, options = self._bind(original, released, arguments)
        missing_role = next(
            (n for n in self.needs if n in ("keys", "target", "targets") and not getattr(pair, n)), None
        )
        if missing_role:
            raise InputError(str(self.lacks(pair)))
        return self.run(pair, **options)

    def run(self, pair: Any, **options: Any) -> Result:
        """Run on a ready pair. What does not apply comes back as a result that says why; errors are raised."""
        started = time.perf_counter()
        check_random_state(options.get("random_state"))
        table = options.get("table", self.options.get("table", "released")) if self.table == "single" else "original"
        reads_release = self.table == "pair" or table == "released"
        if self.replicates == "each" and pair.m > 1 and reads_release:
            result = combine_releases([self._one(pair.release(i), options) for i in range(pair.m)], self)
        else:
            result = self._one(pair, options)
        result._set(
            name=self.name,
            measure=self,
            elapsed=time.perf_counter() - started,
            settings=result.settings or {"options": {**self.options, **options}, **pair.describe()},
            _bands=result._bands or (None if self.bands is None else replace(self.bands, better=self.better)),
            # the records of a single-file measure are those of the release it speaks of
            _source=result._source if result.replicates and self.table == "single" else pair,
            _record_table=table,
        )
        return result

    def _one(self, pair: Any, options: Mapping[str, Any]) -> Result:
        try:
            problem = self.lacks(pair)
            if problem:
                raise NotApplicable(problem)
            result = self.function(pair, **options)
        except NotApplicable as why:
            result = Result(status="not_applicable", reason=str(why))
        result._set(
            name=self.name,
            measure=self,
            settings=_plain_settings(self, options, pair),
            _bands=None if self.bands is None else replace(self.bands, better=self.better),
            _source=pair,
        )
        return result

    def _bind(self, original: Any, released: Any, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        for alias, name in ALIASES.items():
            if alias in arguments:
                arguments[name] = arguments.pop(alias)
        options = {k: v for k, v in arguments.items() if k in self.options}
        roles = {k: v for k, v in arguments.items() if k not in options}
        unknown = [k for k in roles if k not in PAIR_ARGUMENTS]
        if unknown:
            raise InputError(_unknown(self, unknown[0]))
        if released is not None:
            roles["released"] = released
        pair_class: Any = _pair_class()
        if isinstance(original, pair_class):
            return (original.replace(**roles) if roles else original), options
        if "released" not in roles:
            if self.table != "single":
                raise InputError(f"{self.name} compares two tables: pass original and released, or a Pair")
            roles["released"] = original
        return pair_class(original, **roles), options


def measure(
    *,
    side: Side,
    family: str,
    better: Literal["lower", "higher"],
    cite: str,
    threat: Threat | None = None,
    range: tuple[float | None, float | None] = (0, 1),
    needs: Sequence[str] = (),
    bands: Bands | None = None,
    knows: str = "",
    limits: str = "",
    cost: str = "cells",
    unit: str = "share",
    table: Literal["pair", "single"] = "pair",
    replicates: Literal["each", "own"] = "each",
    private: Sequence[str] = (),
    group: str = "",
) -> Callable[[Callable[..., Result]], Measure]:
    """Declare and register a measure. ``group`` names measures that move together, so a verdict counts them once."""

    def register(function: Callable[..., Result]) -> Measure:
        made = Measure(
            function,
            side,
            family,
            threat,
            better,
            range,
            tuple(needs),
            bands,
            cite,
            knows,
            limits,
            cost,
            unit,
            table,
            replicates,
            tuple(private),
            group or family,
        )
        if made.name in _registry and _registry[made.name].function.__module__ != function.__module__:
            raise InputError(f"two measures are called {made.name!r}")
        _registry[made.name] = made
        return made

    return register


_registry: dict[str, Measure] = {}
_pairs: list[type] = []


def registered() -> dict[str, Measure]:
    """Every measure whose module has been imported, by name."""
    return dict(_registry)


def accept_pairs(pair_class: type) -> type:
    """Class decorator: the container measures run on (core does not know data, so data tells it)."""
    _pairs[:] = [pair_class]
    return pair_class


def _pair_class() -> type:
    return _pairs[0]


def _end(limit: float | None, text: str) -> str:
    return text if limit is None else f"{limit:g}"


def _unknown(self: Measure, name: str) -> str:
    if name in FOREIGN_NAMES:
        return f"`{name}` is called `{FOREIGN_NAMES[name]}` here"
    known = [*self.options, *PAIR_ARGUMENTS]
    return f"{self.name} has no option {name!r}{closest(name, known)}; it has: {listed(self.options)}"


def _plain_settings(self: Measure, options: Mapping[str, Any], pair: Any) -> dict[str, Any]:
    from glasshouse.core.plain import plain

    chosen = {**self.options, **options}
    seed = {"seed": chosen["random_state"]} if "random_state" in chosen else {}
    settings: dict[str, Any] = plain({"options": chosen, **seed, **pair.describe()})
    return settings


def combine_releases(results: list[Result], self: Measure) -> Result:
    """Several releases: the worst case for a risk, the mean for utility; every single result stays in
    ``replicates``."""
    usable = [r for r in results if r.value is not None]
    if not usable:
        return results[0]._copy(replicates=results)
    values = [float(r.value) for r in usable if r.value is not None]
    spread = {
        "releases": len(results),
        "release_min": min(values),
        "release_max": max(values),
        "release_mean": sum(values) / len(values),
    }
    worst = max(usable, key=lambda r: (r.value or 0) if self.better == "lower" else -(r.value or 0))
    warnings = (
        [f"{len(results) - len(usable)} of {len(results)} releases gave no value"] if len(usable) < len(results) else []
    )
    if self.side == "disclosure":
        return worst._copy(
            replicates=results,
            details={**worst.details, **spread},
            warnings=[*worst.warnings, *warnings],
            sentence=f"Worst of {len(results)} releases: {worst.sentence}",
        )
    return worst._copy(
        value=spread["release_mean"],
        interval=None,
        excess=None,
        replicates=results,
        details={**_mean_details(usable), **spread},
        warnings=warnings,
        sentence=f"Mean of {len(results)} releases; the worst: {worst.sentence}",
    )


def _mean_details(results: list[Result]) -> dict[str, Any]:
    means: dict[str, Any] = {}
    for key in results[0].details:
        figures = [r.details.get(key) for r in results]
        if all(isinstance(f, (int, float)) and not isinstance(f, bool) for f in figures):
            means[key] = sum(figures) / len(figures)  # type: ignore[arg-type]
    return means


def _need_holdout(pair: Any) -> str | None:
    if pair.has_holdout:
        return None
    return (
        "needs a holdout: records of the same population that the synthesiser never saw. Set 20 to 50 % of the "
        "records aside before "
        "synthesis (gh.data.split_before_synthesis) and pass them as holdout=. Splitting afterwards would compare "
        "members with members."
    )


_NEEDS: dict[str, Callable[[Any], str | None]] = {
    "keys": lambda pair: (
        None if pair.keys else "needs keys: the columns an attacker may know, e.g. keys=['age', 'sex']"
    ),
    "target": lambda pair: (
        None if pair.target else "needs a target: the column an attacker wants to learn, e.g. target='income'"
    ),
    "targets": lambda pair: (
        None if pair.targets else "needs a target (or several): what an attacker wants to learn, e.g. target='income'"
    ),
    "holdout": _need_holdout,
    "weights": lambda pair: None if pair.weights else "needs weights: the name of the column with the survey weights",
    "row_paired": lambda pair: (
        None
        if pair.row_paired
        else "needs a row-paired release (row_paired=True): row i released is row i of the original, perturbed"
    ),
    "numeric": lambda pair: None if pair.numeric else "needs at least one numeric column in both tables",
    "categorical": lambda pair: None if pair.categorical else "needs at least one categorical column in both tables",
}
