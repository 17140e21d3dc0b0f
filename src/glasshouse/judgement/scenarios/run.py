"""gh.scenarios: one release against several attackers, who know other keys or want another target.

What an attacker knows is the first thing people vary. Every scenario is an assessment of its own; what no key and no
target changes (copies, membership, most of utility) is computed once and holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from glasshouse.core.errors import InputError, closest, names_wanted
from glasshouse.core.interrupts import heeded
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.options import door
from glasshouse.core.plain import Content
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.asked import People
from glasshouse.engines.cells.sides import KeyGroups
from glasshouse.engines.devices import placed
from glasshouse.judgement.policy.parsing import check_keys
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.progress import listening
from glasshouse.judgement.run import Options, Progress, Shared, printable_seed
from glasshouse.judgement.scenarios.scenarios import Scenarios
from glasshouse.judgement.verdict.assess import assess_pair, pair_of
from glasshouse.judgement.verdict.assessment import Assessment

CASE = ("keys", "target", "key_groups")


@door
@listening
@heeded()
@placed
def scenarios(
    original: Any = None,
    released: Any = None,
    keys: Sequence[Any] | Mapping[str, Any] | None = None,
    target: str | Sequence[str] | None = None,
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
) -> Scenarios:
    """Assess one release against several attackers: sets of keys they may know, targets they may want.

    Parameters
    ----------
    original, released
        A Pair, or the two tables with the arguments of a Pair, as for ``gh.assess``.
    keys
        A list of sets of keys, ``[["age", "sex"], ["age", "sex", "region"]]``, or a mapping of names to them,
        ``{"neighbour": ["age", "sex"], "employer": ["age", "sex", "job"]}``. A value of the mapping may also be a table
        of its own, ``{"keys": [...], "target": ..., "key_groups": ...}``. One flat list is one set. Default: the keys
        of the pair.
    target
        One target, or several: every set of keys that names no target of its own is then a scenario for each. Default:
        the target of the pair.
    policy, measures, random_state, n_jobs, device, people, progress, options
        As for ``gh.assess``; every scenario has the same.
    key_groups
        As for ``gh.assess``, for the scenarios that do not name their own. Of a mapping each scenario takes the keys it
        has.
    **roles
        The other arguments of a Pair, when the tables are given.

    Returns
    -------
    Scenarios
        The assessments by name, the table over them, the verdict of the worst, and the reports.

    Notes
    -----
    The figures of a scenario are those that ``gh.assess`` gives for it alone. The levels of a policy hold for each
    scenario; the worst of k scenarios has up to k chances of a false alarm, and nothing is corrected for that.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.scenarios(pair, keys=[["gender", "age"], ["gender", "age", "education"]], measures=["disco"])
    >>> list(found)
    ['gender, age', 'gender, age, education']
    >>> found["gender, age"].results["disco"].value < found["gender, age, education"].results["disco"].value
    True
    """
    chosen_policy = Policy.of(policy)
    pair = pair_of(original, released, roles, chosen_policy)
    pairs, groups = scenario_pairs(pair, keys, target, key_groups)
    wanted = measures if isinstance(measures, str) else list(measures)
    seed = printable_seed(random_state)
    shared: Shared = {}
    made: dict[str, Assessment] = {}
    for name, asked in pairs.items():
        made[name] = assess_pair(
            asked,
            policy if policy is None else chosen_policy,
            wanted,
            random_state=seed,
            n_jobs=n_jobs,
            people=people,
            progress=None if not progress else partial(_step, progress, len(made), len(pairs), name),
            options=options,
            key_groups=groups[name],
            shared=shared,
        )
    return Scenarios(made)


def _step(progress: Progress, before: int, scenarios: int, scenario: str, done: int, total: int, name: str) -> None:
    """One count over all scenarios; every one of them runs the same measures."""
    last = before + 1 == scenarios
    if name or last:
        progress(before * total + done, scenarios * total, name and f"{name} ({scenario})")


def scenario_pairs(
    pair: Pair, keys: Any, target: Any, key_groups: Any = "default"
) -> tuple[dict[str, Pair], dict[str, Any]]:
    """The pair of every scenario, and its grouping of keys."""
    targets: list[Any] = [target] if target is None or isinstance(target, str) else list(target)
    if not targets:
        raise InputError("target is an empty list; name at least one target, or leave it out")
    names_wanted("target", targets, list(pair.schema))
    cases = [case for one in _cases(pair, keys) for case in _for_each(one, targets)]
    pairs: dict[str, Pair] = {}
    groups: dict[str, Any] = {}
    for case in cases:
        given = {name: case[name] for name in ("keys", "target") if case[name] is not None}
        made = pair.replace(**given) if given else pair
        name = case["name"] or ", ".join(made.keys) or "no keys"
        name += f" → {', '.join(made.targets) or 'no target'}" if len(targets) > 1 and not case["own"] else ""
        if name in pairs:
            raise InputError(f"two scenarios are called {name!r}; give them names, keys={{name: [...], ...}}")
        pairs[name], groups[name] = made, case.get("key_groups", key_groups)
    return pairs, _grouped(pairs, groups, key_groups)


def _cases(pair: Pair, keys: Any) -> list[Content]:
    """Every scenario as a table; ``name`` is None where nobody gave one."""
    if isinstance(keys, Mapping):
        cases = []
        for name, given in keys.items():
            case = dict(given) if isinstance(given, Mapping) else {"keys": given}
            check_keys(case, CASE, f"scenario {str(name)!r}")
            cases.append({"keys": None, "target": None, **case, "name": str(name), "own": "target" in case})
        found = cases
    else:
        flat = keys is None or isinstance(keys, str) or (len(keys) > 0 and all(isinstance(k, str) for k in keys))
        if not flat:
            names_wanted("keys", list(keys), list(pair.schema))
        found = [{"keys": one, "target": None, "name": None, "own": False} for one in ([keys] if flat else keys)]
    if not found:
        raise InputError("keys is empty; name at least one set of keys, e.g. keys=[['age', 'sex'], ['age', 'region']]")
    return found


def _for_each(case: Content, targets: Sequence[Any]) -> list[Content]:
    return [case] if case["own"] else [{**case, "target": target} for target in targets]


def _grouped(pairs: Mapping[str, Pair], groups: dict[str, Any], common: Any) -> dict[str, Any]:
    """Of a grouping that was given for all, each scenario takes the keys it has."""
    if not isinstance(common, Mapping):
        return groups
    known = list(dict.fromkeys(key for pair in pairs.values() for key in pair.keys))
    for key in common:
        if key not in known:
            raise InputError(f"key_groups names {key!r}, which is no key of any scenario{closest(key, known)}")
    return {
        name: {k: v for k, v in common.items() if k in pairs[name].keys} or "default" if given is common else given
        for name, given in groups.items()
    }
