"""gh.assess: run what a policy asks for on one pair, and say what it means.

One measure that breaks never takes the others along.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import GlasshouseError, InputError
from glasshouse.core.measure import PAIR_ARGUMENTS, Measure
from glasshouse.core.plain import plain
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.selection import estimate, select
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.judgement.verdict.drivers import drivers, people, safely
from glasshouse.judgement.verdict.threats import assess_threats, judge, nothing_to_learn
from glasshouse.judgement.wide import narrowed
from glasshouse.judgement.wide import note as wide_note

__all__ = ["assess", "estimate"]

Progress = Callable[[int, int, str], None]
STACKED_FAMILIES = ("linkage", "copying")
# Measures of these families read the same fitted models; one stream lets them share the fits.
ONE_STREAM = ("propensity",)


def assess(
    original: Any,
    released: Any = None,
    /,
    policy: Policy | str | Path | None = None,
    measures: str | Iterable[str] = "default",
    *,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    **roles: Any,
) -> Assessment:
    """May this release go out, for whom is it dangerous, why, and what would make it safe?

    Parameters
    ----------
    original, released
        A Pair, or the two tables with ``keys=``, ``target=``, ``holdout=`` and the other arguments of a Pair.
    policy
        A Policy, the name of a preset ("public", "research", "secure", "riskutility"), a path, or None for the limits
        each measure declares for itself.
    measures
        "fast", "default", "full" or a list of names; the measures a policy names are always run.
    random_state
        Seed of the run. Every measure gets its own stream derived from the seed and its name (measures that read the
        same fitted models share one), so adding a measure never changes another one's figure.
    n_jobs
        Threads for the measures that can use them; it never changes a figure.
    progress
        Called as ``progress(done, total, name)`` before each measure and once at the end.
    options
        Options for single measures: ``{"rapid": {"trees": 200}}``.

    Above 60 columns the utility measures of pairs of columns look at 60 of them (keys and target first); the notes of
    the assessment and the settings of those results say so, and ``options={"association": {"columns": None}}`` looks
    at all.
    """
    chosen_policy = Policy.of(policy)
    pair = _pair(original, released, roles, chosen_policy)
    if isinstance(measures, str) and measures == "default" and "measures" in chosen_policy.run:
        measures = chosen_policy.run["measures"]
    if isinstance(measures, str) and measures == "named":
        measures = chosen_policy.measures
    chosen = select(measures, chosen_policy)
    by_name = {m.name: m for m in chosen}
    chosen_policy = chosen_policy.validated(by_name)
    seed = _seed(random_state)
    given = _options(chosen, chosen_policy, options or {}, seed, n_jobs)
    limited = {m.name: changes for m in chosen if (changes := narrowed(m, pair, given[m.name])) is not None}
    for name, changes in limited.items():
        given[name] |= changes
    stacked = _stacked(pair) if pair.m > 1 else None
    results: dict[str, Result] = {}
    timing: dict[str, float] = {}
    for done, measure in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), measure.name)
        started = time.perf_counter()
        results[measure.name] = _run(measure, pair, given[measure.name])
        if (
            stacked is not None
            and measure.side == "disclosure"
            and (measure.threat == "copying" or measure.family in STACKED_FAMILIES)
        ):
            results[measure.name] = _worse(measure, results[measure.name], _run(measure, stacked, given[measure.name]))
        timing[measure.name] = time.perf_counter() - started
    if progress is not None:
        progress(len(chosen), len(chosen), "")
    judged = [judge(result, chosen_policy, pair.row_paired) for result in results.values()]
    unlearnable = nothing_to_learn(pair)
    leading, no_drivers = safely(drivers, pair, judged, given)
    at_risk, no_people = safely(people, pair, judged)
    notes = [
        f"{what} could not be worked out: {why}"
        for what, why in (("which keys drive the risk", no_drivers), ("who is at risk", no_people))
        if why
    ]
    if limited:
        notes.append(wide_note(list(limited)))
    return Assessment(
        pair=pair,
        policy=chosen_policy,
        results=results,
        judged=tuple(judged),
        threats=assess_threats(judged, chosen_policy, {} if unlearnable is None else {"attribute": unlearnable}),
        outcomes=chosen_policy.evaluate(results),
        drivers=plain(leading),
        people=plain(at_risk),
        notes=tuple(notes),
        measures=measures if isinstance(measures, str) else tuple(measures),
        seed=seed,
        options=plain({name: dict(given_options) for name, given_options in (options or {}).items()}),
        explicit=policy is not None,
        timing=timing,
    )


def _pair(original: Any, released: Any, roles: dict[str, Any], policy: Policy) -> Pair:
    unknown = [name for name in roles if name not in (*PAIR_ARGUMENTS, "synthetic", "key_vars", "target_var")]
    if unknown:
        raise InputError(
            f"assess has no argument {unknown[0]!r}; it takes policy, measures, random_state, n_jobs, progress, "
            "options and the arguments of a Pair"
        )
    wanted = {
        name: policy.run[name]
        for name in ("keys", "target", "weights", "cluster", "row_paired", "missing", "exclude")
        if name in policy.run
    }
    if isinstance(original, Pair):
        if released is not None:
            roles["released"] = released
        # what the pair already says wins over what the policy suggests
        said = {
            "keys": original.keys,
            "target": original.targets,
            "weights": original.weights,
            "cluster": original.cluster,
        }
        changes = {**{k: v for k, v in wanted.items() if k in said and not said[k]}, **roles}
        return original.replace(**changes) if changes else original
    if released is not None:
        roles["released"] = released
    return Pair(original, **{**wanted, **roles})


def _seed(random_state: RandomState) -> int:
    """The seed as a number that can be printed and used again, also when the caller gave none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return integer_seed(generator(random_state, "assess"), "assess")


def _options(
    chosen: list[Measure], policy: Policy, wishes: Mapping[str, Mapping[str, Any]], seed: int, n_jobs: int | None
) -> dict[str, dict[str, Any]]:
    unknown = [name for name in wishes if name not in {m.name for m in chosen}]
    if unknown:
        raise InputError(f"options names {unknown[0]!r}, which is not among the measures of this run")
    given = {}
    for measure in chosen:
        asked = {**policy.options_for(measure.name), **wishes.get(measure.name, {})}
        stray = [name for name in asked if name not in measure.options]
        if stray:
            raise InputError(f"{measure.name} has no option {stray[0]!r}")
        if "random_state" in measure.options and "random_state" not in asked:
            stream = measure.family if measure.family in ONE_STREAM else measure.name
            asked["random_state"] = integer_seed(seed, stream)
        if "n_jobs" in measure.options and n_jobs is not None:
            asked["n_jobs"] = n_jobs
        given[measure.name] = asked
    return given


def _run(measure: Measure, pair: Pair, options: Mapping[str, Any]) -> Result:
    """Run one measure.

    Whatever goes wrong inside becomes a result that says so, without quoting anything from the data.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return measure.run(pair, **options)
    except GlasshouseError as problem:
        return _failed(measure, pair, f"{measure.name} stopped: {problem}")
    except (
        Exception
    ) as problem:  # any error of any library: its own text may hold a person's values, so only kind and place are kept
        return _failed(
            measure,
            pair,
            f"{measure.name} stopped with {type(problem).__name__}{_place(problem)}; run it alone to see the "
            "full error",
        )


def _failed(measure: Measure, pair: Pair, reason: str) -> Result:
    result = Result(status="failed", reason=reason)
    result._set(name=measure.name, measure=measure, settings=plain({"options": {}, **pair.describe()}), _source=pair)
    return result


def _place(problem: BaseException) -> str:
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        parts = Path(frame.filename).parts
        if "glasshouse" in parts and "assess.py" not in parts:
            inside = parts[len(parts) - 1 - parts[::-1].index("glasshouse") + 1 :]
            return f" in {'/'.join(inside)}, line {frame.lineno}"
    return ""


def _stacked(pair: Pair) -> Pair:
    """All releases as one: what an attacker holds who collected every one of them."""
    tables = [pair.local(table) for table in pair.releases]
    shared = [c for c in tables[0].columns if all(c in t.columns for t in tables)]
    return pair.replace(released=pl.concat([t.select(shared) for t in tables]))


def _worse(measure: Measure, each: Result, together: Result) -> Result:
    """The worse of the worst single release and all releases together; both figures stay in the details."""
    if each.value is None or together.value is None:
        return each if each.value is not None else together
    sign = 1 if measure.better == "lower" else -1
    worse = together if sign * float(together.value) > sign * float(each.value) else each
    figures = {"worst_release": each.value, "stacked": together.value}
    changes: dict[str, Any] = {"details": {**worse.details, **figures}, "replicates": each.replicates}
    if worse is together:
        changes["sentence"] = f"All releases together: {together.sentence}"
    return worse._copy(**changes)
