"""gh.mitigate: from a release that fails to one that passes, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, names_wanted
from glasshouse.core.interrupts import heeded
from glasshouse.core.options import door
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.data.mistakes import without_void_holdout
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.evidence import Bench, Candidate
from glasshouse.judgement.mitigation.findings import columns_of, known_columns, released_columns
from glasshouse.judgement.mitigation.halves import Halves, halves_of
from glasshouse.judgement.mitigation.mitigated import CAME, Mitigated, StepTaken, notes_of
from glasshouse.judgement.mitigation.proposals import allowed_of
from glasshouse.judgement.mitigation.search import Search
from glasshouse.judgement.mitigation.states import State
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.progress import listening
from glasshouse.judgement.rumap.compare import compare
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.judgement.run import Options, Progress, printable_seed, safely
from glasshouse.judgement.verdict.assess import assess, pair_of
from glasshouse.protection.recipe import Recipe

_OWN = ("original", "policy", "allow", "protect", "steps", "random_state", "n_jobs", "options", "progress")
PARTS = 4  # what progress counts: before, the search, the map, the verdict


@door
@listening
@heeded()
def mitigate(
    original: Any = None,
    released: Any = None,
    policy: Policy | str | Path = "research",
    *,
    allow: Sequence[str] | Mapping[str, Any] | None = None,
    protect: Sequence[str] = (),
    steps: int = 5,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    options: Options | None = None,
    progress: Progress | Literal[False] | None = None,
    **roles: Any,
) -> Mitigated:
    """Find a short sequence of operations after which a release meets a policy, at the least loss of utility.

    Parameters
    ----------
    original, released
        A Pair, or the two tables with ``keys=``, ``target=``, ``holdout=`` and the other arguments of a Pair. An
        original alone is anonymised row by row.
    policy
        A Policy, the name of a preset ("public", "research", "secure"), or a path.
    allow
        Operations that may be used: their names, or ``{"swap_ranks": [{"columns": ["age"], "share": 0.1}]}`` with the
        arguments to try (None for the usual ones), the mildest first. Default: all that need nothing from the caller;
        ``gh.protection.operations()`` lists them. ``{"resynthesise_dp": {"domain": "domain.toml"}}`` takes its rho
        from the leak that the policy tolerates.
    protect
        Columns that must stay as they are, and utility measures ("regression_fidelity") that must not lose more than
        sampling noise.
    steps
        Steps at most.
    random_state
        Seed of the search, its operations and the deal of the holdout. The verdict has a seed of its own that follows
        from it. None draws.
    n_jobs
        Threads; no answer depends on it.
    options
        Options for single measures: ``{"rapid": {"trees": 200}}``.
    progress
        Called as ``progress(done, total, name)``. In a notebook a bar is drawn by default; False draws none.
    **roles
        The arguments of a Pair, when the tables are given.

    Returns
    -------
    Mitigated
        The release that came of it, the steps with their price, and the assessments before and after.

    Notes
    -----
    A release that does not fail is left as it is: a warning asks for a look, not for a change. Else the holdout is
    dealt in two by person. One half steers: what failed says which operations are tried (those whose declared threats
    failed, on the columns whose values tell their owners), the cheapest first and each at its strongest; kept are the
    candidates that no other one beats in both distance from the policy and utility, as long as they are more useful
    than those that pass; those that pass are weakened step by step. Because whoever picks among many candidates picks
    lucky ones, a candidate must keep two to six times the level of the policy, the more the later it is tried, and
    where other draws of its operations pass too. Utility is that of the risk-utility map,
    averaged over several draws of the operations; of candidates within its noise the one that touches fewer cells is
    taken. The verdict is that of the whole ``gh.assess`` on the other half of the holdout, with a new seed.

    References
    ----------
    Thees, Müller & Templ (2026), Beyond the trade-off curve, name protecting the flagged records and evaluating again
    as future work. Prasser et al. (2016), Lightning: utility-driven anonymization of high-dimensional data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> clean = gh.data.simulate_health(300, random_state=7)
    >>> pair = gh.Pair(example.original, clean, keys=example.keys, target=example.target, holdout=example.holdout)
    >>> fixed = gh.mitigate(pair, policy="research")  # does not fail, and stays as it is
    >>> fixed.met, len(fixed.recipe)
    (True, 0)
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, not {steps}")
    chosen = Policy.of(policy).validated(all_measures())
    if original is not None and released is None and not isinstance(original, Pair) and "released" not in roles:
        released, roles = original, {**roles, "row_paired": True}
    pair = pair_of(original, released, dict(roles), chosen, _OWN)
    pair.require_header()
    if pair.m != 1:
        raise InputError(f"there are {pair.m} releases; protect one at a time: pass the release itself")
    pair = without_void_holdout(pair)
    kept, analyses = protected_of(pair, protect)
    allowed = allowed_of(allow, chosen, pair.row_paired)
    seed = printable_seed(random_state)

    def told(done: int, name: str) -> None:
        if progress:
            progress(done, PARTS, name)

    told(0, "the release as it came")
    given: dict[str, Any] = {"policy": policy, "n_jobs": n_jobs, "options": options}
    before = assess(pair, random_state=seed, **given)
    table = own_table(pair, "released")
    if before.verdict != "fail":
        notes = notes_of(before, before, None, None)
        return Mitigated(table, before, before, (), Recipe([]), notes, None, seed, verified=pair.has_holdout)
    halves = halves_of(pair, seed)
    bench = Bench(halves.steering, chosen, _options(chosen, options), seed, n_jobs, _measures(chosen))
    search = Search(
        bench,
        own_table(pair, "original"),
        table,
        columns_of(halves.steering, kept),
        allowed,
        analyses,
        steps,
        integer_seed(seed, "search"),
        lambda tried, title: told(1, f"candidate {tried}: {title}"),
    )
    found, _ = search.run(bench.judge(Candidate(halves.steering)))
    told(2, "the map")
    verifying = integer_seed(seed, "verification")
    ru = _mapped(halves, table, found, bench, policy, verifying, n_jobs)
    told(3, "the verdict")
    after = assess(halves.verifying.replace(released=found.table), random_state=verifying, **given)
    if ru is not None:  # the last state has the whole assessment, the others what places them and looks for copies
        ru.assessments[ru.releases[-1]] = after
    told(PARTS, "")
    taken = steps_of(found, ru)
    recipe = Recipe([one.step for one in found.taken])
    notes = notes_of(before, after, halves, search, found)
    steered = "pass" if found.passes else "warn" if found.met else "fail"
    return Mitigated(found.table, after, before, taken, recipe, notes, ru, seed, halves.verified, search.tried, steered)


def protected_of(pair: Pair, protect: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns and the analyses among what must not change."""
    given = [protect] if isinstance(protect, str) else list(protect)
    analyses = {n for n, m in all_measures().items() if m.side == "utility"}
    known = list(dict.fromkeys([*known_columns(pair), *released_columns(pair)]))
    names_wanted("protect", given, [*known, *analyses])
    for name in given:
        if name not in known and name not in analyses:
            raise InputError(
                f"protect names {name!r}, which is neither a column nor a utility measure"
                f"{closest(str(name), [*known, *analyses])}"
            )
    return tuple(n for n in given if n in known), tuple(n for n in given if n not in known)


def _measures(policy: Policy) -> Any:
    asked = policy.run.get("measures", "default")
    return policy.measures if asked == "named" else asked


def _options(policy: Policy, options: Options | None) -> dict[str, dict[str, Any]]:
    """Options per measure: those of the policy's rules, and what the caller gave."""
    names = {*policy.measures, *(options or {})}
    return {name: {**policy.options_for(name), **dict((options or {}).get(name, {}))} for name in names}


def _mapped(
    halves: Halves, table: Any, found: State, bench: Bench, policy: Any, seed: int, n_jobs: int | None
) -> RUMap | None:
    """Every state of the way on one map, with the people who verify; None where no figure can be placed."""
    tables = {CAME: table}
    for number, taken in enumerate(found.taken, start=1):
        tables[f"{number}. {taken.proposal.operation.title}"] = taken.made.table
    names = {side: [m.name for m in placed] for side, placed in bench.placed.items()}
    given: dict[str, Any] = {**names, "policy": policy, "random_state": seed, "n_jobs": n_jobs}
    made, _ = safely(lambda: compare(halves.verifying, tables, progress=False, **given))
    return made


def steps_of(found: State, ru: RUMap | None) -> tuple[StepTaken, ...]:
    """The steps with their price."""
    composites = [] if ru is None else list(ru.composites.values())
    at_step: dict[str, list[float | None]] = {side: [one[side] for one in composites] for side in ("risk", "utility")}
    risk, utility = (at_step[side] or [None] * (len(found.taken) + 1) for side in ("risk", "utility"))
    return tuple(
        StepTaken(
            name=f"{at + 1}. {taken.proposal.operation.title}",
            operation=taken.proposal.operation,
            step=taken.step,
            why=taken.proposal.why,
            threats=taken.proposal.acts,
            risk=(risk[at], risk[at + 1]),
            utility=(utility[at], utility[at + 1]),
            records=taken.made.records,
            cells=taken.made.cells,
            voids_dp=taken.made.voids_dp,
            notes=taken.made.notes,
        )
        for at, taken in enumerate(found.taken)
    )


__all__ = ["mitigate"]
