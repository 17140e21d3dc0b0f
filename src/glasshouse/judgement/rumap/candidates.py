"""What is compared, by which measures, and what is run besides so that a verdict can be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.measure import PAIR_ARGUMENTS, AnyMeasure, Measure, Side
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.placement import checked_names
from glasshouse.judgement.selection import SETS, select


def split_weights(
    roles: Mapping[str, Any], weights: str | Mapping[str, float] | None
) -> tuple[dict[str, Any], Mapping[str, float] | None]:
    """The roles with the column of survey weights, and the factors of measures."""
    made = dict(roles)
    column = made.pop("weights_column", None)
    if isinstance(weights, str):
        if column is not None:
            raise InputError("the column of survey weights is given twice: weights= and weights_column=")
        column, weights = weights, None
    return (made if column is None else {**made, "weights": column}), weights


def candidate_pairs(
    original: Any, releases: Mapping[str, Any] | Sequence[Any] | None, roles: Mapping[str, Any], policy: Policy
) -> dict[str, Pair]:
    """One pair per candidate, with the roles given here, else those of the Pair, else those of the policy."""
    own = isinstance(original, Pair) and releases is None
    if own:
        held = original._given["released"]
        releases = held if isinstance(held, (Mapping, list, tuple)) else [held]
    if releases is None or not len(releases):
        raise InputError("there is no release to compare; pass {name: frame, ...}")
    named = dict(releases) if isinstance(releases, Mapping) else {f"release {i + 1}": r for i, r in enumerate(releases)}
    tables = {str(k): list(v) if isinstance(v, (list, tuple)) else [v] for k, v in named.items()}
    checked_names([str(k) for k in named])
    suggested = {k: v for k, v in policy.run.items() if k in PAIR_ARGUMENTS}
    if not isinstance(original, Pair):
        return {name: Pair(original, frames, **{**suggested, **roles}) for name, frames in tables.items()}
    changes = {**{k: v for k, v in suggested.items() if not original._given.get(k)}, **roles}
    if own and original.m == 1:  # nothing new: what was computed on the pair is kept
        return {next(iter(tables)): original.replace(**changes) if changes else original}
    return {name: original.replace(**{**changes, "released": frames}) for name, frames in tables.items()}


def axes(
    risk: Sequence[str | AnyMeasure] | None,
    utility: Sequence[str | AnyMeasure] | None,
    measures: str | Sequence[str | AnyMeasure] | None,
) -> dict[str, AnyMeasure]:
    """The measures of both axes, by name."""
    known = all_measures()
    if isinstance(measures, str) and measures not in SETS:
        if measures not in known:
            raise InputError(
                f"measures={measures!r} is neither a set nor a measure{closest(measures, [*SETS, *known])}; the "
                f"sets are {listed(SETS)}"
            )
        measures = [measures]
    named = not (measures is None or isinstance(measures, str))
    wanted: list[str | AnyMeasure] = list(measures) if named and measures is not None else []
    tier = measures if isinstance(measures, str) else SETS[-1]
    if not named or risk is not None:
        wanted += list(risk if risk is not None else _by_default(known, "disclosure", tier))
    if not named or utility is not None:
        wanted += list(utility if utility is not None else _by_default(known, "utility", tier))
    made = {}
    for name in wanted:
        measure = name if isinstance(name, Measure) else known.get(getattr(name, "name", name))
        if measure is None:
            raise InputError(f"there is no measure {name!r}{closest(str(name), known)}; gh.measures() lists them")
        made[measure.name] = measure
    for side, given in (("disclosure", risk), ("utility", utility)):
        for name in given or ():
            measure = made[name if isinstance(name, str) else name.name]
            if measure.side != side:
                raise InputError(
                    f"{measure.name!r} is a {'utility' if side == 'disclosure' else 'risk'} measure; name it on "
                    "the other side"
                )
    return made


def _by_default(known: Mapping[str, AnyMeasure], side: Side, tier: str) -> list[str]:
    """The measures of one side and set that declare a place on the map."""
    return [
        name
        for name, m in known.items()
        if m.side == side and m.on_map and [*SETS].index(m.tier) <= [*SETS].index(tier)  # type: ignore[arg-type]
    ]


def run_for_verdict(
    chosen: Mapping[str, AnyMeasure],
    risk: Sequence[str | AnyMeasure] | None,
    measures: str | Sequence[str | AnyMeasure] | None,
    policy: Policy,
) -> list[AnyMeasure]:
    """What every release is assessed by: the set ``gh.assess`` would take, or what was chosen; always the measures on
    the axes, those the policy names, and the tests for copies, so that no choice of measures hides one.
    """
    known = all_measures()
    copies = [m.name for m in known.values() if m.alone or m.alarm]
    usual: list[str] = []
    if risk is None and (measures is None or (isinstance(measures, str) and measures in SETS)):
        wanted = measures if measures is not None else policy.run.get("measures", "default")
        taken = select(policy.measures if wanted == "named" else wanted, policy)
        usual = [m.name for m in taken if m.side == "disclosure"]
    return select([*chosen, *copies, *usual], policy)
