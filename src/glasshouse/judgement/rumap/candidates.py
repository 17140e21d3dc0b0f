"""What is compared, by which measures, and what is run besides so that a verdict can be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, names_wanted
from glasshouse.core.measure import PAIR_ARGUMENTS, AnyMeasure, Measure
from glasshouse.core.misfits import WrongCall, unknown_arguments
from glasshouse.core.pointing import ALIASES
from glasshouse.data.files import files_wanted
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.placement import checked_names
from glasshouse.judgement.selection import SETS, meant, select, spoken_of

_OWN = ("original", "releases", "policy", "measures", "risk", "utility", "options", "key_groups", "scale", "composite")


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


def candidate_pairs(original: Any, releases: Any, roles: Mapping[str, Any], policy: Policy) -> dict[str, Pair]:
    """One pair per candidate, with the roles given here, else those of the Pair, else those of the policy."""
    roles = dict(roles)
    unknown = [name for name in roles if name not in (*PAIR_ARGUMENTS, *ALIASES)]
    if unknown:
        raise WrongCall(unknown_arguments("compare", unknown, (*_OWN, *PAIR_ARGUMENTS)))
    for name in [name for name in roles if ALIASES.get(name, name) == "released"]:
        if releases is not None:
            raise WrongCall(f"`{name}` and `releases` are the same argument; give one of them")
        releases = roles.pop(name)
    if original is None:
        raise WrongCall("compare has no table to look at: pass the original and the releases, or a Pair")
    own = isinstance(original, Pair) and releases is None
    if own:
        held = original._given["released"]
        releases = held if isinstance(held, (Mapping, list, tuple)) else [held]
    if releases is not None and not isinstance(releases, (Mapping, list, tuple)):
        releases = [releases]  # one table is one candidate, and what is none is refused as a table
    if releases is None or not len(releases):
        raise InputError("there is no release to compare; pass {name: frame, ...}")
    named = dict(releases) if isinstance(releases, Mapping) else {f"release {i + 1}": r for i, r in enumerate(releases)}
    tables = {str(k): list(v) if isinstance(v, (list, tuple)) else [v] for k, v in named.items()}
    checked_names([str(k) for k in named])
    files_wanted("releases", [frame for frames in tables.values() for frame in frames])
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
    given = {"disclosure": risk, "utility": utility}
    for what, words in (("risk", risk), ("utility", utility), ("measures", _words(measures))):
        names_wanted(what, list(words or ()), spoken_of())
    wanted: list[str | AnyMeasure] = [*(risk or ()), *(utility or ())]
    for word in _words(measures) or SETS[-1:]:
        if word in SETS:
            wanted += [
                name for side, named in given.items() if named is None for name in _by_default(known, side, word)
            ]
        else:
            wanted += _placed(word, known)
    made = {}
    for name in wanted:
        measure = name if isinstance(name, Measure) else known.get(getattr(name, "name", name))
        if measure is None:
            raise InputError(f"there is no measure {name!r}{closest(str(name), known)}; gh.measures() lists them")
        made[measure.name] = measure
    for side, named in given.items():
        for name in named or ():
            measure = made[name if isinstance(name, str) else name.name]
            if measure.side != side:
                raise InputError(
                    f"{measure.name!r} is a {'utility' if side == 'disclosure' else 'risk'} measure; name it on "
                    "the other side"
                )
    return made


def _placed(word: str | AnyMeasure, known: Mapping[str, AnyMeasure]) -> list[str | AnyMeasure]:
    """A measure by its name; of a family or a threat those that declare a place on the map, else all."""
    if not isinstance(word, str) or word in known:
        return [word]
    found = meant(word)
    return [name for name in found if known[name].on_map] or list(found)


def _words(measures: str | Sequence[str | AnyMeasure] | None) -> list[str | AnyMeasure]:
    return [] if measures is None else [measures] if isinstance(measures, str) else list(measures)


def _by_default(known: Mapping[str, AnyMeasure], side: str, tier: object) -> list[str]:
    """The measures of one side and set that declare a place on the map."""
    return [
        name
        for name, m in known.items()
        if m.side == side and m.on_map and SETS.index(m.tier) <= SETS.index(tier)  # type: ignore[arg-type]
    ]


def run_for_verdict(
    chosen: Mapping[str, AnyMeasure],
    risk: Sequence[str | AnyMeasure] | None,
    measures: str | Sequence[str | AnyMeasure] | None,
    policy: Policy,
) -> list[AnyMeasure]:
    """What every release is assessed by: the risk measures of the set, as ``gh.assess`` takes them, or what was chosen;
    always the measures on the axes, those the policy names, and the tests for copies, so that no choice of measures
    hides one. A set has its own tests for copies, so that a verdict is the same alone and on a map.
    """
    known = all_measures()
    most = next((at for at, name in enumerate(SETS) if name == measures), len(SETS))
    copies = [m for m in known.values() if (m.alone or m.alarm) and SETS.index(m.tier) <= most]
    usual: list[AnyMeasure] = []
    if risk is None:
        wanted = policy.run.get("measures", "default") if measures is None else measures
        taken = select(policy.measures if wanted == "named" else wanted, policy)
        usual = [m for m in taken if m.side == "disclosure"]
    return select([*chosen.values(), *copies, *usual], policy)
