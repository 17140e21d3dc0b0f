"""gh.assess: run what a policy asks for on one pair, and say what it means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from glasshouse.core.errors import InputError
from glasshouse.core.interrupts import heeded
from glasshouse.core.measure import PAIR_ARGUMENTS, AnyMeasure
from glasshouse.core.misfits import WrongCall, unknown_arguments
from glasshouse.core.options import door
from glasshouse.core.plain import plain
from glasshouse.core.pointing import ALIASES
from glasshouse.core.streams import RandomState
from glasshouse.core.words import spoken
from glasshouse.data.mistakes import without_void_holdout
from glasshouse.data.pair import Pair
from glasshouse.engines.asked import People
from glasshouse.engines.cells.grouping import AUTO_GROUPS, automatic_groups
from glasshouse.engines.cells.sides import KeyGroups
from glasshouse.engines.devices import placed
from glasshouse.judgement.policy.policy import PRESETS, Policy
from glasshouse.judgement.progress import listening
from glasshouse.judgement.run import (
    Options,
    Progress,
    Shared,
    idle_key_groups,
    known_options,
    printable_seed,
    run,
    safely,
    with_key_groups,
    with_people,
)
from glasshouse.judgement.selection import estimate, select
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.judgement.verdict.decision import decision
from glasshouse.judgement.verdict.drivers import drivers
from glasshouse.judgement.verdict.drivers import people as exposed

__all__ = ["assess", "estimate"]
_OWN = (
    "original",
    "policy",
    "measures",
    "random_state",
    "n_jobs",
    "device",
    "people",
    "progress",
    "options",
    "key_groups",
)
_ROLES = ("keys", "target", "weights", "cluster", "row_paired", "missing", "exclude")


@door
@listening
@heeded()
@placed
def assess(
    original: Any = None,
    released: Any = None,
    policy: Policy | str | Path | None = None,
    measures: str | Iterable[str | AnyMeasure] = "default",
    *,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    device: str | None = None,
    people: People = None,
    progress: Progress | Literal[False] | None = None,
    options: Options | None = None,
    key_groups: KeyGroups = "default",
    **roles: Any,
) -> Assessment:
    """May this release go out, for whom is it dangerous, why, and what would make it safe?

    Parameters
    ----------
    original, released
        A Pair, or the two tables with ``keys=``, ``target=``, ``holdout=`` and the other arguments of a Pair.
    policy
        A Policy, the name of a preset ("public", "research", "secure", "riskutility"), a path, or None for the default
        levels of the leak tests.
    measures
        "fast", "default", "full", a side, a threat, a family or a measure ("copying", "gdpr", "rapid"), or a list of
        them; the measures a policy names are always run.
    random_state
        Seed of the run. Every measure draws from streams named after itself, so adding a measure never changes another
        one's figure, and the same seed gives the same figure in every function. None draws a seed and prints it.
    n_jobs
        Threads for the measures that can use them; it never changes a figure.
    device
        Where distances are searched: "cpu", "cuda" for a graphics card, or "spark" for the executors of the active
        Spark session, on which forests grow, too; it never changes a figure (the attacker ``gbm`` on Spark: in the last
        digits, and its notes say so). Default: the processor, or, for large jobs, a card where torch finds one, and the
        executors where the tables are Spark frames.
    people
        How many of a table at most a measure asks about that asks about one person, or one released record, after the
        other; drawn at random, where results say so. Whom they are compared with is never thinned. Default:
        everybody, and of more than 100,000 a sample (50,000, or what a measure says); "all" asks about everybody.
    progress
        Called as ``progress(done, total, name)`` before each measure and once at the end. In a notebook a bar is
        drawn by default; False draws none.
    options
        Options for single measures: ``{"rapid": {"trees": 200}}``.
    key_groups
        How numeric keys are grouped in every measure that counts classes of keys: a number of groups, breaks, "auto",
        None for values as they are, or ``{"age": 10, "income": [0, 20000, 50000]}``. Models see the values. "default"
        leaves every measure its own rule.
    **roles
        The arguments of a Pair, when the tables are given.

    Returns
    -------
    Assessment
        The verdict, one status per threat, every result, and the reports.

    Notes
    -----
    In wide tables measures look at some of the columns: at 60 where their work grows with the square of the columns, at
    100 where it grows with many draws of every value, and where every two people are compared at as many as 10^10
    comparisons allow, no fewer than 100 (all columns of a short table). Keys and target come first, then a draw by
    name. Nobody is left out of any table, and equal records are looked for in every column. The notes of the
    assessment and the settings of those results say so, and ``options={"dcr": {"columns": None}}`` looks at all.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> found = gh.assess(example.pair(), measures=["disco", "uniques"])
    >>> sorted(found.results)
    ['disco', 'uniques']
    """
    pair = pair_of(original, released, roles, Policy.of(policy))
    return assess_pair(
        pair,
        policy,
        measures,
        random_state=random_state,
        n_jobs=n_jobs,
        people=people,
        progress=progress or None,
        options=options,
        key_groups=key_groups,
    )


def assess_pair(
    pair: Pair,
    policy: Policy | str | Path | None,
    measures: str | Iterable[str | AnyMeasure],
    *,
    random_state: RandomState,
    n_jobs: int | None,
    people: People,
    progress: Progress | None,
    options: Options | None,
    key_groups: KeyGroups,
    shared: Shared | None = None,
) -> Assessment:
    """``assess`` on a ready pair; ``shared`` keeps what other scenarios on the same tables need not compute again."""
    chosen_policy = Policy.of(policy)
    pair.require_header()
    pair = without_void_holdout(pair)
    if isinstance(measures, str) and measures == "default" and "measures" in chosen_policy.run:
        measures = chosen_policy.run["measures"]
    if isinstance(measures, str) and measures == "named":
        measures = chosen_policy.measures
    chosen = select(measures, chosen_policy, pair.row_paired)
    chosen_policy = chosen_policy.validated({m.name: m for m in chosen})
    wanted = with_people(chosen, known_options(chosen, options), people, chosen_policy)
    wanted = with_key_groups(chosen, pair, wanted, key_groups, chosen_policy)
    asked = {m.name: {**chosen_policy.options_for(m.name), **wanted.get(m.name, {})} for m in chosen}
    seed = printable_seed(random_state)
    found = run(chosen, pair, seed=seed, options=asked, n_jobs=n_jobs, progress=progress, shared=shared)
    made = decision(pair, chosen_policy, found.results)
    leading, no_drivers = safely(lambda: drivers(pair, made.judged, found.options))
    at_risk, no_people = safely(lambda: exposed(pair, made.judged))
    notes = [
        f"{what} could not be worked out: {why}"
        for what, why in (("which keys drive the risk", no_drivers), ("who is at risk", no_people))
        if why
    ]
    idle = idle_key_groups(chosen, pair, key_groups)
    notes += [] if idle is None else [idle]
    own = isinstance(key_groups, str)  # "default" or "auto"; else the grouping is the caller's
    grouped = [c for c in (*pair.keys, *pair.targets) if own and automatic_groups(pair, c) is not None]
    if grouped and any("key_groups" in m.options for m in chosen):
        notes.append(
            f"few people share a value of {spoken(grouped)}: measures that count people with equal keys use "
            f"{AUTO_GROUPS} groups of about equal size unless told otherwise with key_groups="
        )
    if pair.cluster is not None:
        notes.append(
            f"several records are one unit (column {pair.cluster!r}): the shares that single measures tell count "
            "records; tests exchange whole units, and people more than expected are units"
        )
    return Assessment(
        pair=pair,
        policy=chosen_policy,
        results=made.results,
        judged=made.judged,
        leak=made.leak,
        threats=made.threats,
        outcomes=made.outcomes,
        drivers=leading,
        people=at_risk,
        notes=(*notes, *found.notes),
        measures=measures if isinstance(measures, str) else tuple(m.name for m in chosen),
        seed=seed,
        options=plain({name: dict(given) for name, given in wanted.items()}),
        explicit=policy is not None,
        timing=found.timing,
        measured={name: result.guarded(chosen_policy.min_count) for name, result in found.results.items()},
    )


def pair_of(original: Any, released: Any, roles: dict[str, Any], policy: Policy, own: Sequence[str] = _OWN) -> Pair:
    """The pair that somebody asks about, with the roles that the policy suggests where nothing else is said; ``own``
    are the arguments that the call has beside those of a pair."""
    unknown = [name for name in roles if name not in (*PAIR_ARGUMENTS, *ALIASES)]
    if unknown:
        raise WrongCall(unknown_arguments("this call", unknown, (*own, *PAIR_ARGUMENTS)))
    if original is None:
        raise WrongCall("there is no table to look at: pass original and released, or a Pair")
    if isinstance(released, Policy) or (isinstance(released, str) and released in PRESETS):
        raise InputError("the second argument of assess is the release; pass the policy as policy=")
    wanted = {name: policy.run[name] for name in _ROLES if name in policy.run}
    if released is not None:
        roles["released"] = released
    if not isinstance(original, Pair):
        return Pair(original, **{**wanted, **roles})
    # what the pair already says wins over what the policy suggests
    said = {
        "keys": original.keys,
        "target": original.targets,
        "weights": original.weights,
        "cluster": original.cluster,
    }
    changes = {**{k: v for k, v in wanted.items() if k in said and not said[k]}, **roles}
    return original.replace(**changes) if changes else original
