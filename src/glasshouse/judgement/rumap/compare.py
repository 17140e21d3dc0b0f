"""The risk-utility map: candidate releases side by side, and what can honestly be said about their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.measure import AnyMeasure, Measure, Side
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.judgement.rumap import words as rumap_words
from glasshouse.judgement.rumap.map import RUMap, checked_names
from glasshouse.judgement.rumap.scales import GHOSTS, SCALES, Anchor, ghost_pair, ghosts, risk_anchor, utility_anchor
from glasshouse.judgement.run import Options, Progress, known_options, printable_seed, run

__all__ = ["RUMap", "compare"]


def compare(
    original: Any,
    releases: Mapping[str, Any] | Sequence[Any],
    *,
    risk: Sequence[str | AnyMeasure] | None = None,
    utility: Sequence[str | AnyMeasure] | None = None,
    measures: Sequence[str | AnyMeasure] | None = None,
    options: Options | None = None,
    scale: str = "anchored",
    composite: str = "family",
    weights: Mapping[str, float] | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **roles: Any,
) -> RUMap:
    """Measure candidate releases of one original and put them on a risk-utility map.

    Parameters
    ----------
    original
        The confidential table.
    releases
        ``{"A": frame, "B": [first, second]}``; a list holds replicates of one generator: utility is their mean, risk
        their worst.
    risk, utility, measures
        Names of registered measures; ``measures`` takes both kinds. Default: attribution, prediction, inference,
        copying and uniques; and
        the default utility set with its joint measures. A measure that says nothing on these data is left out, with
        the reason.
    options
        Options per measure, ``{"rapid": {"trees": 100}}``.
    scale
        "anchored": 0 and 1 are fixed by ghost releases (copy, sample, independent columns). "minmax": over the
        candidates.
    composite
        "family": mean within each family, then over families. "worst": the worst family. "mean": all measures alike.
    weights
        Factors for measures or families.
    random_state
        Seed of everything random; the same figures as alone and in ``gh.assess``. None draws.
    n_jobs
        Threads for the measures that can use them; it never changes a figure.
    progress
        Called as ``progress(done, total, name)`` before each release.
    **roles
        What a Pair takes: keys, target, holdout, weights column as ``weights_column``, schema, ...

    Returns
    -------
    RUMap
        Releases with their scores, the front, and what can be said about their order.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("case_study")
    >>> ru = gh.compare(example.original, example.releases, keys=example.keys, target=example.target,
    ...                 risk=["disco", "identical"], utility=["hellinger"])
    >>> sorted(ru.releases)
    ['A', 'B', 'C']
    """
    if scale not in SCALES:
        raise InputError(f"scale={scale!r} is not known; use one of {listed(SCALES)}")
    if "weights_column" in roles:
        roles["weights"] = roles.pop("weights_column")
    named = dict(releases) if isinstance(releases, Mapping) else {f"release {i + 1}": r for i, r in enumerate(releases)}
    if not named:
        raise InputError("there is no release to compare; pass {name: frame, ...}")
    candidates = {str(k): list(v) if isinstance(v, (list, tuple)) else [v] for k, v in named.items()}
    checked_names(list(candidates))
    chosen = _chosen(risk, utility, measures)
    pairs = {name: Pair(original, tables, **roles) for name, tables in candidates.items()}
    base = next(iter(pairs.values())).release(0)
    seed = printable_seed(random_state)
    asked = known_options(chosen.values(), options)

    def measured(pair: Pair) -> dict[str, Result]:
        return run(chosen.values(), pair, seed=seed, options=asked, n_jobs=n_jobs).results

    steps = len(pairs) + (len(GHOSTS) if scale == "anchored" else 0)
    joint: dict[str, dict[str, Result]] = {}
    for name, pair in pairs.items():
        if progress is not None:
            progress(len(joint), steps, name)
        joint[name] = measured(pair)
    found = {name: _replicates(results, pairs[name].m) for name, results in joint.items()}
    ghost_results: dict[str, dict[str, Result]] = {}
    anchors: dict[str, Anchor] = {}
    left_out: dict[str, str] = {}
    if scale == "anchored":
        tables = ghosts(base, random_state)
        for g in GHOSTS:
            if progress is not None:
                progress(steps - len(GHOSTS) + len(ghost_results), steps, f"ghost: {g}")
            ghost_results[g] = measured(ghost_pair(base, tables[g], g))
        for name, measure in chosen.items():
            anchoring = {g: ghost_results[g][name] for g in GHOSTS}
            anchor = (
                risk_anchor(anchoring, base.has_holdout, measure.range[0])
                if measure.side == "disclosure"
                else utility_anchor(anchoring, measure.better)
            )
            anchors[name] = anchor
            if anchor.reason:
                left_out[name] = anchor.reason
    values: dict[str, dict[str, list[float | None]]] = {"disclosure": {}, "utility": {}}
    spreads: dict[str, list[tuple[float, float] | None]] = {}
    for name, measure in chosen.items():
        if name in left_out:
            continue
        column = [_point([r[name] for r in found[release]], results[name]) for release, results in joint.items()]
        if all(v is None for v in column):
            left_out[name] = next(iter(joint.values()))[name].reason or "no value for any release"
            continue
        values[measure.side][name] = column
        spreads[name] = [_interval([r[name] for r in runs]) for runs in found.values()]
    for side, spoken in (("disclosure", "risk"), ("utility", "utility")):
        if not values[side]:
            why = next((f" ({n}: {w})" for n, w in left_out.items() if chosen[n].side == side), "")
            raise InputError(
                f"none of the {spoken} measures gives a figure for these releases{why}; choose others with "
                f"{spoken}=[...]"
            )
    alarms = {
        name: sorted({m for r in runs for m, result in r.items() if result.null is not None and result.null.copied})
        for name, runs in found.items()
    }
    made = RUMap(
        list(candidates),
        values["disclosure"],
        values["utility"],
        scale=scale,
        composite=composite,
        weights=weights,
        families={n: m.family for n, m in chosen.items()},
        better={n: m.better for n, m in chosen.items() if n not in left_out},
        anchors=anchors,
        spreads=spreads,
        results=joint,
        ghost_values={g: {n: r.value for n, r in rs.items()} for g, rs in ghost_results.items()},
        left_out=left_out,
        alarms={k: v for k, v in alarms.items() if v},
        random_state=random_state,
        source=base,
    )
    if any(len(runs) > 1 for runs in found.values()):
        made._replicates = rumap_words.replicate_shares(made, found, chosen, random_state)
    return made


def _chosen(
    risk: Sequence[str | AnyMeasure] | None,
    utility: Sequence[str | AnyMeasure] | None,
    measures: Sequence[str | AnyMeasure] | None,
) -> dict[str, AnyMeasure]:
    known = all_measures()
    wanted: list[str | AnyMeasure] = list(measures or ())
    if measures is None or risk is not None:
        wanted += list(risk if risk is not None else _by_default(known, "disclosure"))
    if measures is None or utility is not None:
        wanted += list(utility if utility is not None else _by_default(known, "utility"))
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


def _by_default(known: Mapping[str, AnyMeasure], side: Side) -> list[str]:
    """The measures of one side that declare a place on the map."""
    return [name for name, measure in known.items() if measure.side == side and measure.on_map]


def _replicates(results: Mapping[str, Result], m: int) -> list[dict[str, Result]]:
    """The results of each replicate of one release; a measure that has none of its own stands for all of them."""
    return [{name: r.replicates[i] if len(r.replicates) == m else r for name, r in results.items()} for i in range(m)]


def _point(replicates: Sequence[Result], joint: Result) -> float | None:
    """The figure of a release over its replicates, as the runner gives it: the mean of a utility, the worst of a risk;
    None as soon as one replicate has no value."""
    if joint.value is None or any(r.value is None for r in replicates):
        return None
    return float(joint.value)


def _interval(results: Sequence[Result]) -> tuple[float, float] | None:
    """Range over replicates; for one release the measure's own interval, or the width of its null band around the
    value.
    """
    values = [float(r.value) for r in results if r.value is not None]
    if len(values) > 1:
        return min(values), max(values)
    if not values:
        return None
    if results[0].interval is not None:
        return results[0].interval
    null = results[0].null
    if null is None or null.low is None or null.high is None:
        return None
    return values[0] - (null.high - null.low) / 2, values[0] + (null.high - null.low) / 2
