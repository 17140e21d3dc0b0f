"""The runner: one way to run measures for assess, compare, audit and the command line.

One seed for all: every measure draws from streams named after itself, so the same seed gives the same figure alone, in
an assessment and on a map, and adding a measure never changes another one's. A measure that breaks becomes a reason
that quotes nobody, and never takes the others along.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from glasshouse.catalogue import all_measures
from glasshouse.core.calling import bound
from glasshouse.core.errors import GlasshouseError, InputError, closest, foreign, names_known
from glasshouse.core.interrupts import check, interrupted
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.options import check_types
from glasshouse.core.plain import plain
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.memory import require_room
from glasshouse.data.pair import Pair
from glasshouse.engines import devices
from glasshouse.engines.asked import People, number_asked
from glasshouse.engines.cells.grouping import AUTO
from glasshouse.engines.cells.sides import KeyGroups, groupings
from glasshouse.engines.workers import threads
from glasshouse.judgement import wide
from glasshouse.judgement.policy.policy import Policy

Progress: TypeAlias = Callable[[int, int, str], None]
Options: TypeAlias = Mapping[str, Mapping[str, Any]]
Shared: TypeAlias = dict[tuple[Any, ...], Result]  # what measures said that no keys and no target change
ASKS = ("people", "queries", "n_attacks")  # the options that say how many are asked about
T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """What came of running measures on one pair: results, the options each ran with, seconds, and notes."""

    results: dict[str, Result]
    options: dict[str, dict[str, Any]]
    timing: dict[str, float]
    notes: tuple[str, ...] = ()


def run(
    chosen: Iterable[AnyMeasure],
    pair: Pair,
    *,
    seed: int = 0,
    options: Options | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    shared: Shared | None = None,
) -> Run:
    """Run measures on one pair.

    Parameters
    ----------
    chosen
        The measures, in the order they run.
    pair
        What they run on; several releases give the worst case of a risk and the mean of a utility.
    seed
        Given to every measure that draws, unless ``options`` names another.
    options
        Options per measure.
    n_jobs
        Threads for the measures that can use them; it never changes a figure.
    progress
        Called as ``progress(done, total, name)`` before each measure and once at the end.
    shared
        Results of runs on the same tables with other keys or targets: what does not depend on them is not computed
        again. Filled by the run.

    Returns
    -------
    Run
        One result per measure; a measure that stopped has one with status "failed".
    """
    measures = list(chosen)
    require_room(_values(pair))
    given = {m.name: _options(m, (options or {}).get(m.name, {}), seed, n_jobs) for m in measures}
    limited = {m.name: changes for m in measures if (changes := wide.narrowed(m, pair, given[m.name])) is not None}
    for name, changes in limited.items():
        given[name] |= changes
    results: dict[str, Result] = {}
    timing: dict[str, float] = {}
    for done, measure in enumerate(measures):
        if progress is not None:
            progress(done, len(measures), measure.name)
        started = time.perf_counter()
        with devices.home(pair.engine()), nullcontext() if n_jobs is None else threads(n_jobs):
            results[measure.name] = _once(measure, pair, given[measure.name], shared)
        check()
        timing[measure.name] = time.perf_counter() - started
    if progress is not None:
        progress(len(measures), len(measures), "")
    return Run(results, given, timing, (wide.note(limited),) if limited else ())


def _once(measure: AnyMeasure, pair: Pair, options: Mapping[str, Any], shared: Shared | None) -> Result:
    """What the measure says, from an earlier run where keys and target change nothing."""
    if shared is None or measure.asks_roles:
        return attempt(measure, pair, options)
    same = (measure.name, repr(sorted(options.items())), pair.columns)
    if same not in shared:
        shared[same] = attempt(measure, pair, options)
    found = shared[same]
    return found._copy(settings={**found.settings, **plain(pair.describe())})


def attempt(measure: AnyMeasure, pair: Pair, options: Mapping[str, Any]) -> Result:
    """Run one measure; whatever goes wrong inside becomes a result that says so, without quoting anything of the
    data."""
    found, problem = safely(lambda: _quietly(measure, pair, options))
    if found is not None:
        return found
    said = str(problem)
    reason = f"{measure.name} {said if said.startswith('stopped') else f'stopped: {said}'}"
    return bound(Result(status="failed", reason=reason), measure, pair, {})


def _quietly(measure: AnyMeasure, pair: Pair, options: Mapping[str, Any]) -> Result:
    require_room(_values(pair))  # a library that finds none left ends the process without a word
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Result = measure.run(pair, **options)
        return found


def _values(pair: Pair) -> int:
    """Records times columns of what is in memory."""
    return sum(pair.n(table) for table in pair.tables if pair.engine(table) == "memory") * len(pair.columns)


def safely(compute: Callable[[], T]) -> tuple[T | None, str | None]:
    """The answer, or None and a sentence without any data value.

    Our own errors are sentences that quote nobody. Any other library's error may hold a person's values, so only its
    kind and place are kept. An interrupt is no failure: compiled code wraps it, and it is unwrapped here.
    """
    try:
        return compute(), None
    except GlasshouseError as problem:
        return None, str(problem)
    except BaseException as problem:
        if interrupted(problem):
            raise KeyboardInterrupt from None
        if not isinstance(problem, MemoryError) and not foreign(problem):
            raise
        return None, f"stopped with {type(problem).__name__}{_place(problem)}; run it alone to see the full error"


def printable_seed(random_state: RandomState) -> int:
    """The seed as a number that can be printed and used again, also when the caller gave none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return integer_seed(generator(random_state, "run"), "run")


def known_options(chosen: Iterable[AnyMeasure], options: Options | None) -> Options:
    """The options per measure, refused where they name a measure or an option that is not there."""
    by_name = {m.name: m for m in chosen}
    for name, given in (options or {}).items():
        if name not in by_name:
            there = closest(name, by_name) or closest(name, all_measures())
            if name in all_measures():
                there = "; add it to measures= or leave its options out"
            raise InputError(f"options names {name!r}, which is not among the measures of this run{there}")
        names_known(name, given, by_name[name].options, "has no option {name}")
        check_types(name, by_name[name].function, given)
    return options or {}


def with_key_groups(
    chosen: Iterable[AnyMeasure], pair: Pair, options: Options, key_groups: KeyGroups, policy: Policy
) -> dict[str, dict[str, Any]]:
    """The options per measure, with one grouping of numeric keys for every measure that counts classes of keys.

    What ``options`` or a rule of the policy says about a measure wins. "default" leaves every measure its own rule.
    """
    asked = {name: dict(given) for name, given in options.items()}
    if isinstance(key_groups, str) and key_groups == "default":
        return asked
    # a wrong wish is one error at the door, not a failure of every measure, nor silence where none takes it
    check_types("the run", groupings, {"key_groups": key_groups})
    groupings(pair, key_groups)
    grouping = [m for m in chosen if "key_groups" in m.options and "key_groups" not in policy.options_for(m.name)]
    return {**asked, **{m.name: {"key_groups": key_groups, **asked.get(m.name, {})} for m in grouping}}


def with_people(
    chosen: Iterable[AnyMeasure], options: Options, people: People, policy: Policy
) -> dict[str, dict[str, Any]]:
    """The options per measure, with one number for every measure that asks about people or records one by one.

    What ``options`` or a rule of the policy says about a measure wins. None leaves every measure its own rule.
    """
    asked = {name: dict(given) for name, given in options.items()}
    if people is None:
        return asked
    number_asked(people, 1)  # a wrong wish is one error at the door, not a failure of every measure
    for measure in chosen:
        said = {**policy.options_for(measure.name), **asked.get(measure.name, {})}
        more = {name: people for name in ASKS if name in measure.options and name not in said}
        asked[measure.name] = {**more, **asked.get(measure.name, {})}
    return asked


def idle_key_groups(chosen: Iterable[AnyMeasure], pair: Pair, key_groups: KeyGroups) -> str | None:
    """Why a grouping that was asked for changes nothing in this run; None where it does, or none was asked for."""
    if key_groups is None or (isinstance(key_groups, str) and key_groups in ("default", AUTO)):
        return None
    if not any("key_groups" in m.options for m in chosen):
        return "key_groups= changes nothing here: none of the measures that were run counts people with equal keys"
    if not groupings(pair, key_groups):
        return "key_groups= changes nothing here: no key is a number"
    return None


def _options(measure: AnyMeasure, asked: Mapping[str, Any], seed: int, n_jobs: int | None) -> dict[str, Any]:
    given = dict(asked)
    if "random_state" in measure.options:
        given.setdefault("random_state", seed)
    if "n_jobs" in measure.options and n_jobs is not None:
        given["n_jobs"] = n_jobs
    return given


def _place(problem: BaseException) -> str:
    """File and line inside this house where another library's error came up."""
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        parts = Path(frame.filename).parts
        if "glasshouse" in parts and parts[-1] != "run.py":
            inside = parts[len(parts) - 1 - parts[::-1].index("glasshouse") + 1 :]
            return f" in {'/'.join(inside)}, line {frame.lineno}"
    return ""
