"""Calling a measure: with a pair or with frames, on one release or on several, with reasons where it does not apply."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.evidence import behind
from glasshouse.core.forking import entering
from glasshouse.core.interrupts import heeded
from glasshouse.core.limits import deciding, status_of
from glasshouse.core.misfits import WrongCall, unknown_arguments
from glasshouse.core.options import check_types
from glasshouse.core.plain import Content, plain
from glasshouse.core.pointing import ALIASES, translated
from glasshouse.core.result import RecordSource, Result
from glasshouse.core.streams import check_random_state
from glasshouse.core.threads import one_blas_thread
from glasshouse.core.words import NEEDS

if TYPE_CHECKING:
    from glasshouse.core.measure import Measure

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
    "header",
    "encoding",
)


class PairLike(RecordSource, Protocol):
    """What calling needs from the container measures run on; core does not know the room it lives in."""

    m: int
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    weights: str | None
    row_paired: bool

    @property
    def target(self) -> str | None: ...
    @property
    def numeric(self) -> tuple[str, ...]: ...
    @property
    def categorical(self) -> tuple[str, ...]: ...
    @property
    def has_holdout(self) -> bool: ...
    @property
    def release_names(self) -> tuple[str | int, ...]: ...
    def release(self, i: int) -> PairLike: ...
    def stacked(self) -> PairLike: ...
    def replace(self, **changes: Any) -> PairLike: ...
    def describe(self) -> Content: ...
    def n(self, table: str) -> int: ...
    def require_header(self) -> None: ...
    def has(self, column: str, table: str) -> bool: ...
    def n_missing(self, column: str, table: str) -> int: ...
    def people(self, table: str, among: float | None = None) -> float: ...


R = TypeVar("R", bound=Result)
T = TypeVar("T", bound=Result)
_pairs: list[type] = []


def accept_pairs(pair_class: type) -> type:
    """Class decorator: the container measures run on (core does not know data, so data tells it)."""
    _pairs[:] = [pair_class]
    return pair_class


def lacks(measure: Measure[R], pair: PairLike) -> str | None:
    """The first need of ``measure`` that ``pair`` does not meet; None when it can run."""
    for need in measure.needs:
        met = getattr(pair, "has_holdout" if need == "holdout" else need)
        if not met:
            return need
    return None


def bind(measure: Measure[R], tables: Sequence[object], arguments: dict[str, Any]) -> tuple[PairLike, dict[str, Any]]:
    """The pair and the options behind ``measure(original, released, keys=...)`` or ``measure(pair, ...)``."""
    if len(tables) > 2:
        raise WrongCall(
            f"{measure.name} takes two tables by place, original and released, and {len(tables)} arguments were given; "
            "name the others: keys=, target=, holdout="
        )
    for name, table in zip(("original", "released"), tables, strict=False):
        if name in arguments:
            raise WrongCall(f"{measure.name} is given {name!r} twice, by place and by name; give it once")
        arguments[name] = table
    for alias, name in ALIASES.items():
        if alias in arguments and name in arguments:
            raise InputError(f"`{alias}` and `{name}` are the same argument; give one of them")
        if alias in arguments:
            arguments[name] = arguments.pop(alias)
    original, released = arguments.pop("original", None), arguments.pop("released", None)
    options = {k: v for k, v in arguments.items() if k in measure.options}
    roles = {k: v for k, v in arguments.items() if k not in options}
    unknown = [k for k in roles if k not in PAIR_ARGUMENTS]
    if unknown:
        known = [*measure.options, "original", *PAIR_ARGUMENTS]
        said = unknown_arguments(measure.name, unknown, known, called="option", measure=measure.name)
        raise WrongCall(said)
    if original is None:
        raise WrongCall(f"{measure.name} has no table to look at: pass original and released, or a Pair")
    if released is not None:
        roles["released"] = released
    pair_class: Any = _pairs[0]
    if isinstance(original, pair_class):
        pair: PairLike = original
        return (pair.replace(**roles) if roles else pair), options
    if "released" not in roles:
        if measure.table != "single":
            raise InputError(f"{measure.name} compares two tables: pass original and released, or a Pair")
        roles["released"] = original
    return pair_class(original, **roles), options


def run(measure: Measure[R], pair: PairLike, options: Mapping[str, Any]) -> Result:
    """Run on a ready pair. What does not apply comes back as a result that says why; errors are raised."""
    started = time.perf_counter()
    entering()
    pair.require_header()  # a result names columns, which may be the first person's values
    unknown = [name for name in options if name not in measure.options]
    if unknown:
        said = unknown_arguments(measure.name, unknown, measure.options, called="option", measure=measure.name)
        raise WrongCall(said)
    options = translated(measure.name, options)
    check_random_state(options.get("random_state"))
    check_types(measure.name, measure.function, options)
    chosen = {**measure.options, **options}
    table = str(chosen.get("table", "released")) if measure.table == "single" else "original"
    reads_release = measure.table == "pair" or table == "released"
    with heeded():
        if measure.replicates == "each" and pair.m > 1 and reads_release:
            found = combine_releases(
                [_one(measure, pair.release(i), options) for i in range(pair.m)], measure, pair.release_names
            )
            if measure.joins:
                found = worse(found, _one(measure, pair.stacked(), options))
        else:
            found = _one(measure, pair, options)
    # the records of a single-file measure are those of the release it speaks of
    source = found._source if found.replicates and measure.table == "single" else pair
    return found._copy(elapsed=time.perf_counter() - started, _source=source, _record_table=table)


def _one(measure: Measure[R], pair: PairLike, options: Mapping[str, Any]) -> Result:
    try:
        need = lacks(measure, pair)
        if need is not None:
            raise NotApplicable(f"{measure.name} {NEEDS[need]}", needs=need)
        with one_blas_thread():
            result: Result = measure.function(pair, **options)
    except NotApplicable as why:
        result = Result(status="not_applicable", reason=str(why), needs=why.needs)
    return bound(result, measure, pair, options)


def bound(result: T, measure: Measure[R], pair: PairLike, options: Mapping[str, Any]) -> T:
    """A result that knows which measure made it, on what, and with which settings.

    The number of threads is none of them: it changes no figure, so it must not change a byte of what is written.
    """
    chosen = {k: v for k, v in {**measure.options, **options}.items() if k != "n_jobs"}
    seed = {"seed": chosen["random_state"]} if "random_state" in chosen else {}
    settings = plain({"options": chosen, **seed, **pair.describe()})
    of = _behind(result, measure, pair, chosen) if result.status == "ok" else None
    strangers = pair.people("holdout", result.of_holdout) if pair.has_holdout else None
    return result._copy(
        name=measure.name, measure=measure, settings=settings, of=of, of_holdout=strangers, _source=pair
    )


def _behind(result: Result, measure: Measure[R], pair: PairLike, options: Mapping[str, Any]) -> float | None:
    """How many people stand behind a figure: never more than there are, and fewer where some have several records or
    more weight (one over the largest share that one of them can have). Where a measure does not say, the smaller table
    of a comparison, and of its columns the one with the fewest values; the released file of a measure that looks at one
    table. Of the original alone nothing is known, for such a figure may be about one person."""
    if measure.table == "single":
        return behind(result.of, pair.n("released")) if options.get("table", "") == "released" else None
    if result.of is not None or measure.side == "disclosure":
        # one person may be behind many guesses or released records
        return None if result.of is None else pair.people("original", result.of)
    asked = options.get("columns")
    # a number that is missing takes its record out of a figure about several columns; a missing label is a label
    looked = tuple(result.columns) or [c for c in pair.numeric if not asked or c in asked]
    known = {
        t: min([pair.n(t) - pair.n_missing(c, t) for c in looked if pair.has(c, t)], default=pair.n(t))
        for t in ("original", "released")
    }
    return min(pair.people("original", known["original"]), known["released"])


def combine_releases(each: Sequence[T], measure: Measure[R], names: Sequence[str | int]) -> T:
    """Several releases: the worst case for a risk, the mean for utility; every single result stays in
    ``replicates``, and has a row of the table where the measure has none of its own."""
    results = [one._copy(release=name) for one, name in zip(each, names, strict=True)]
    usable = [(float(r.value), r) for r in results if r.value is not None]
    if not usable:
        return results[0]._copy(replicates=list(results))
    values = [value for value, _ in usable]
    spread = {
        "releases": len(results),
        "release_min": min(values),
        "release_max": max(values),
        "release_mean": sum(values) / len(values),
    }
    worst = max((r for _, r in usable), key=gravity)
    table = _by_release(results, worst) if worst._table is None else worst._table
    missing = len(results) - len(usable)
    warnings = [f"{missing} of {len(results)} releases gave no value"] if missing else []
    if measure.side == "disclosure":
        return worst._copy(
            over="worst",
            _table=table,
            replicates=list(results),
            details={**worst.details, **spread},
            warnings=[*worst.warnings, *warnings],
            sentence=f"Worst of {len(results)} releases: {worst.sentence}",
        )
    scores = [r.utility for _, r in usable if r.utility is not None]
    others = [r.null for _, r in usable if r.null is not None and r is not worst]
    return worst._copy(
        over="mean",
        _table=table,
        null=None if worst.null is None else worst.null.among(others),
        value=spread["release_mean"],
        utility=sum(scores) / len(scores) if scores else None,
        interval=None,
        excess=None,
        excess_interval=None,
        replicates=list(results),
        details={**_mean_details([r for _, r in usable]), **spread},
        warnings=warnings,
        sentence=f"Mean of {len(results)} releases; the worst: {worst.sentence}",
    )


def _by_release(results: Sequence[Result], worst: Result) -> list[Content]:
    """One row per release, in their order: its name or its place, its figures, and whether it is the worst."""
    rows = []
    for one in results:
        figures = {k: getattr(one, k) for k in ("value", "baseline", "excess", "holdout")}
        low, high = one.interval or (None, None)
        numbers = {k: v for k, v in one.details.items() if isinstance(v, (int, float)) or v is None}
        rows.append({"release": one.release, "worst": one is worst, **figures, "low": low, "high": high, **numbers})
    return rows


_GRAVITY = {"no_limit": 0, "pass": 0, "not_assessed": 1, "warn": 2, "fail": 3}


def gravity(result: Result) -> tuple[int, float, float]:
    """How bad a result is: by the limits in force, then by the figure they look at, then by its value.

    The largest value is not always the worst release: what counts is what a limit sees. A release that no limit could
    judge is worse than one that passes, and hides none that is warned about.
    """
    outcomes = result.outcomes
    decided = deciding(outcomes)
    sign = 1 if result.measure is None or result.measure.better == "lower" else -1
    value = sign * float(result.value or 0.0)
    rank = _GRAVITY[status_of(outcomes)]
    if decided is None or decided.figure is None:
        return rank, value, value
    turned = -decided.figure if decided.limit.operator.startswith(">") else decided.figure
    return rank, turned, value


def worse(each: Result, together: Result) -> Result:
    """The worse of the worst single release and all releases together; both figures stay in the details."""
    if each.value is None or together.value is None:
        return each if each.value is not None else together
    chosen = together if gravity(together) > gravity(each) else each
    details = {**chosen.details, "worst_release": each.value, "stacked": together.value}
    sentence = f"All releases together: {together.sentence}" if chosen is together else chosen.sentence
    over = "together" if chosen is together else each.over
    table = each._table if chosen._table is None else chosen._table
    return chosen._copy(details=details, replicates=each.replicates, sentence=sentence, over=over, _table=table)


def _mean_details(results: Sequence[Result]) -> dict[str, float]:
    means: dict[str, float] = {}
    for key in results[0].details:
        figures = [r.details.get(key) for r in results]
        known = [f for f in figures if isinstance(f, (int, float)) and not isinstance(f, bool)]
        if len(known) == len(figures):
            means[key] = sum(known) / len(known)
    return means
