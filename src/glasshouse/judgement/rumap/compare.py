"""gh.compare: candidate releases side by side, each with its verdict, and what can honestly be said about their order.

Every release is assessed by the same runner as alone. Its figures on the map are those of its assessment, so that map,
verdict and words rest on the same evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from glasshouse.core.errors import InputError, listed
from glasshouse.core.interrupts import heeded
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.options import door
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.mistakes import without_void_holdout
from glasshouse.data.pair import Pair
from glasshouse.engines.asked import People
from glasshouse.engines.cells.sides import KeyGroups
from glasshouse.engines.devices import placed
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.progress import listening
from glasshouse.judgement.rumap import words as rumap_words
from glasshouse.judgement.rumap.anchoring import Ghosts, anchor_of, measured_ghosts
from glasshouse.judgement.rumap.candidates import axes, candidate_pairs, run_for_verdict, split_weights
from glasshouse.judgement.rumap.figures import Kind, figure, kind_of, point, single_results, spread
from glasshouse.judgement.rumap.ghosts import shared_by_size
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.judgement.rumap.scales import SCALES
from glasshouse.judgement.run import Options, Progress, known_options, printable_seed, run, with_key_groups, with_people
from glasshouse.judgement.verdict.assess import assess
from glasshouse.judgement.verdict.assessment import Assessment

__all__ = ["RUMap", "compare"]


@door
@listening
@heeded()
@placed
def compare(
    original: Any = None,
    releases: Any = None,
    policy: Policy | str | Path | None = None,
    measures: str | Sequence[str | AnyMeasure] | None = None,
    *,
    risk: Sequence[str | AnyMeasure] | None = None,
    utility: Sequence[str | AnyMeasure] | None = None,
    options: Options | None = None,
    key_groups: KeyGroups = "default",
    scale: str = "anchored",
    composite: str = "family",
    weights: str | Mapping[str, float] | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    device: str | None = None,
    people: People = None,
    progress: Progress | Literal[False] | None = None,
    **roles: Any,
) -> RUMap:
    """Assess candidate releases of one original and put them on a risk-utility map.

    Parameters
    ----------
    original
        The confidential table, or a Pair that carries the roles; without ``releases``, the releases of the Pair are
        the candidates.
    releases
        ``{"A": frame, "B": [first, second]}``; a list holds replicates of one generator: utility is their mean, risk
        their worst.
    policy
        As in ``gh.assess``: a Policy, the name of a preset, a path, or None.
    measures
        "fast", "default" or "full", or names of measures, families and threats of both kinds. Of a family those that
        declare a place on the map are placed, and all of it is run for the verdict.
    risk, utility
        Names of the measures of one axis. By default those that declare a place on the map: of risk attribution,
        prediction, inference, linkage, copying, membership and uniques. A measure that says nothing on these data is
        left out, with the reason. Whatever is chosen, the tests for copies are run for the verdict.
    options
        Options per measure, ``{"rapid": {"trees": 100}}``.
    key_groups
        As in ``gh.assess``: how numeric keys are grouped in every measure that counts classes of keys.
    scale
        "anchored": 0 and 1 are fixed by ghost releases (copy, other people, independent columns) of the release's
        size. "minmax": over the candidates.
    composite
        "family": mean within each family, then over families. "worst": the worst family. "mean": all measures alike.
    weights
        The column of survey weights; or factors for measures or families, ``{"copying": 2}`` (the column is then
        ``weights_column``).
    random_state
        Seed of everything random; the same figures as alone and in ``gh.assess``. None draws.
    n_jobs
        Threads for the measures that can use them; it never changes a figure.
    device
        Where distances are searched and forests grow: "cpu", "cuda" or "spark", as for :func:`glasshouse.assess`.
    people
        How many of a table at most a measure asks about that asks about one person, or one released record, after the
        other; drawn at random, where results say so. Whom they are compared with is never thinned. Default:
        everybody, and of more than 100,000 a sample (50,000, or what a measure says); "all" asks about everybody.
    progress
        Called as ``progress(done, total, name)`` before each release. In a notebook a bar is drawn by default; False
        draws none.
    **roles
        What a Pair takes: keys, target, holdout, cluster, schema, missing, special_codes, exclude, ...

    Returns
    -------
    RUMap
        Releases with their verdicts and scores, the front, what can be said about their order, and which one may be
        recommended, if any.

    Notes
    -----
    With a holdout the risk of a measure is what being in the data adds: members minus people never in the data, 0
    where there is no difference and 1 for a copy of the original of the release's size. Without one it is the measure's
    own figure, 0 for independent columns.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("case_study")
    >>> ru = gh.compare(example.pair(), example.releases, risk=["near_copies"], utility=["hellinger"])
    >>> ru.verdicts["C"], ru.recommended == "C"
    ('fail', False)
    """
    if scale not in SCALES:
        raise InputError(f"scale={scale!r} is not known; use one of {listed(SCALES)}")
    chosen_policy = Policy.of(policy)
    roles, factors = split_weights(roles, weights)
    pairs = candidate_pairs(original, releases, roles, chosen_policy)
    pairs = {name: without_void_holdout(pair) for name, pair in pairs.items()}
    chosen = axes(risk, utility, measures)
    judged = run_for_verdict(chosen, risk, measures, chosen_policy)
    every = [*chosen.values(), *judged]
    wished = with_people(every, known_options(every, options), people, chosen_policy)
    asked = with_key_groups(every, next(iter(pairs.values())), wished, key_groups, chosen_policy)
    seed = printable_seed(random_state)
    base = {name: pair.release(0) for name, pair in pairs.items()}
    serving = shared_by_size({name: pair.n("released") for name, pair in base.items()}) if scale == "anchored" else {}
    sizes = list(dict.fromkeys(serving.values()))
    steps = len(pairs) + len(sizes)
    assessments: dict[str, Assessment] = {}
    for name, pair in pairs.items():
        if progress:
            progress(len(assessments), steps, name)
        assessments[name] = assess(
            pair,
            policy=policy if policy is None else chosen_policy,
            measures=judged,
            random_state=seed,
            n_jobs=n_jobs,
            options=asked,
        )
    joint = {name: found.results for name, found in assessments.items()}
    singles = {name: single_results(results, pairs[name].m) for name, results in joint.items()}
    held = all(pair.has_holdout for pair in base.values())
    kinds = {n: kind_of([r[n] for r in joint.values()], m.side, held) for n, m in chosen.items()}
    given = {n: {**chosen_policy.options_for(n), **asked.get(n, {})} for n in chosen}

    def measured(pair: Pair, wanted: Sequence[AnyMeasure]) -> dict[str, Result]:
        return run(wanted, pair, seed=seed, options=given, n_jobs=n_jobs).results

    ghosts: dict[str, Ghosts] = {}
    for name in sizes:
        if progress:
            progress(len(pairs) + len(ghosts), steps, f"ghosts of the size of {name}")
        ghosts[name] = measured_ghosts(base[name], chosen, kinds, random_state, measured)
    anchors = {n: [anchor_of(m, kinds[n], ghosts[serving[r]]) for r in pairs] for n, m in chosen.items() if ghosts}
    left_out = {
        n: why for n, of_each in anchors.items() if (why := next((a.reason for a in of_each if a.reason), None))
    }
    values: dict[str, dict[str, list[float | None]]] = {"disclosure": {}, "utility": {}}
    for name, measure in chosen.items():
        column = [point([r[name] for r in singles[n]], joint[n][name], kinds[name]) for n in pairs]
        if all(v is None for v in column):
            # why the releases have no figure says more than why the ghosts have none
            left_out[name] = next(iter(joint.values()))[name].reason or "no value for any release"
        if name not in left_out:
            values[measure.side][name] = column
    _check_sides(values, left_out, chosen)
    made = RUMap(
        list(pairs),
        values["disclosure"],
        values["utility"],
        scale=scale,
        composite=composite,
        weights=factors,
        families={n: m.family for n, m in chosen.items()},
        better={n: "lower" if kinds[n] == "leak" else m.better for n, m in chosen.items()},
        anchors=anchors,
        spreads={n: [spread([r[n] for r in runs], kinds[n]) for runs in singles.values()] for n in chosen},
        ghost_values=_placed_ghosts(ghosts[sizes[0]], kinds) if sizes else None,
        left_out=left_out,
        kinds={n: kinds[n] for side in values.values() for n in side},
        assessments=assessments,
        random_state=random_state,
        source=next(iter(base.values())),
    )
    if any(len(runs) > 1 for runs in singles.values()):
        made._replicates = rumap_words.replicate_shares(made, singles, random_state)
    return made


def _placed_ghosts(ghosts: Ghosts, kinds: Mapping[str, Kind]) -> dict[str, dict[str, float | None]]:
    """Figures of the ghosts; other people have their utility from the holdout and their risk from its halves."""
    both = {**ghosts, "sample": {**ghosts["sample"], **ghosts.get("strangers", {})}}
    both.pop("strangers", None)
    return {
        ghost: {n: None if (f := figure(r, kinds[n])) is None else f.value for n, r in results.items()}
        for ghost, results in both.items()
    }


def _check_sides(
    values: Mapping[str, Mapping[str, Any]], left_out: Mapping[str, str], chosen: Mapping[str, AnyMeasure]
) -> None:
    for side, spoken in (("disclosure", "risk"), ("utility", "utility")):
        if not values[side]:
            why = next((f" ({n}: {w})" for n, w in left_out.items() if chosen[n].side == side), "")
            raise InputError(
                f"none of the {spoken} measures gives a figure for these releases{why}; choose others with "
                f"{spoken}=[...], or ask gh.assess() about one release at a time"
            )
