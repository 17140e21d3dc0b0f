"""How risky is a synthesiser, rather than one release of it: cross-validated RAPID on people it never saw.

Per fold f: release = synthesiser(other folds, seed + f), RAPID of that release on the fold. Folds share training data,
so the standard deviation over folds is no unbiased measure of uncertainty; the interval is a t interval with k - 1
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.intervals import normal_quantile, student_mean
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.pair import Pair
from glasshouse.data.split import take_rows
from glasshouse.disclosure.rapid.attack import attack_settings, scored_attack
from glasshouse.disclosure.rapid.scores import Array, class_shares

Synthesiser = Callable[[Any, int], Any]


class RapidCV(Result):
    """Cross-validated RAPID: ``value`` is the mean over folds; ``to_frame()`` has one row per fold (and per
    synthesiser)."""

    comparison: list[dict[str, Any]]
    by_synthesiser: dict[str, RapidCV]


def rapid_cv(
    original: Any,
    synthesiser: Any,
    *,
    keys: Sequence[str] | str,
    target: str,
    k: int = 5,
    attacker: Any = "rf",
    score: str = "marginal",
    tau: float | None = None,
    error: str = "symmetric",
    epsilon: float = 0.10,
    delta: float | str = 0.01,
    missing_target: str | None = None,
    baseline: str = "full",
    interval: str = "t",
    stratify: bool = True,
    trees: int = 500,
    attacker_options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> RapidCV:
    """k-fold assessment of a synthesiser: RAPID of releases made without the people it is scored on.

    ``synthesiser``: a function ``(training_frame, seed) -> released frame``, an object with ``fit`` and ``sample``, or
    a dict of them to be compared on the same folds. ``baseline``: class shares of the full data ("full") or of each
    fold ("fold", as in the R packages). ``interval``: "t" with k - 1 degrees of freedom, or "normal" for comparison
    with the R packages.
    """
    if baseline not in ("full", "fold"):
        raise InputError(f"baseline={baseline!r} is unknown; choose 'full' or 'fold'")
    if interval not in ("t", "normal"):
        raise InputError(f"interval={interval!r} is unknown; choose 't' or 'normal'")
    whole = Pair(original, original, keys=keys, target=target, schema=schema)
    if not 2 <= k <= whole.n("original"):
        raise InputError(f"k must lie between 2 and the number of records ({whole.n('original'):,}), not {k}")
    seed = int(random_state) if isinstance(random_state, (int, np.integer)) else integer_seed(random_state, "rapid_cv")
    settings = attack_settings(
        (attacker,),
        score,
        tau,
        error,
        epsilon,
        delta,
        "reference",
        missing_target=missing_target,
        trees=trees,
        attacker_options=dict(attacker_options or {}),
        seed=seed,
        n_jobs=n_jobs,
    )
    folds = deal_folds(_classes(whole, target) if stratify else None, whole.n("original"), k, generator(seed, "folds"))
    shares = None
    if baseline == "full" and not whole.is_numeric(target):
        shares = _labelled_shares(whole, target, missing_target)
    named = synthesiser if isinstance(synthesiser, Mapping) else {"synthesiser": synthesiser}
    if not named:
        raise InputError("no synthesiser was given")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in named}
    warnings: list[str] = []
    for fold in range(k):
        training = take_rows(original, np.flatnonzero(folds != fold))
        held_out = take_rows(original, np.flatnonzero(folds == fold))
        for name, maker in named.items():
            released = synthesise(maker, training, seed + fold + 1, name)
            pair = Pair(held_out, released, keys=keys, target=target, schema=_schema(whole))
            expected = None if shares is None else _aligned_shares(pair, target, shares)
            attack = scored_attack(pair, target, settings, expected)
            answers = next(iter(attack.answers.values()))
            chance = answers.chance()[0]
            rate = answers.rate()
            adjusted = (rate - chance) / (1 - chance) if chance < 1 else None
            tables[name].append(
                {
                    "synthesiser": name,
                    "fold": fold + 1,
                    "n": answers.n,
                    "rapid": rate,
                    "chance": chance,
                    "adjusted": adjusted,
                    **answers.quality(),
                }
            )
            warnings += [
                f"fold {fold + 1}, {name}: {w}" if len(named) > 1 else f"fold {fold + 1}: {w}" for w in attack.warnings
            ]
    results = {n: _summary(rows, interval, confidence, whole, n, k) for n, rows in tables.items()}
    if len(results) == 1:
        (single,) = results.values()
        single._set(warnings=warnings, by_synthesiser=results, comparison=[])
        return single
    return _compared(results, tables, interval, confidence, whole, warnings)


def deal_folds(classes: Array | None, n: int, k: int, rng: np.random.Generator) -> Array:
    """Fold of every record. Stratified: each class is shuffled and dealt 0..k-1 in turn, always starting at the first
    fold."""
    folds = np.empty(n, int)
    if classes is None:
        folds[rng.permutation(n)] = np.arange(n) % k
        return folds
    seen, first = np.unique(classes, return_index=True)
    for label in seen[np.argsort(first)]:
        rows = rng.permutation(np.flatnonzero(classes == label))
        folds[rows] = np.arange(len(rows)) % k
    if len(np.unique(folds)) < k:
        raise InputError(f"the classes are too small for {k} folds; choose fewer folds")
    return folds


def synthesise(maker: Any, training: Any, seed: int, name: str = "synthesiser") -> Any:
    """A release from a function (training, seed) or from an object with fit and sample (copied first, never
    changed)."""
    if hasattr(maker, "fit") and hasattr(maker, "sample"):
        model = deepcopy(maker)
        fitted = model.fit(training)
        model = model if fitted is None else fitted
        for arguments in ({"random_state": seed}, {"seed": seed}, {}):
            if _accepts(model.sample, arguments):
                return model.sample(**arguments)
        return model.sample(len(training))
    if not callable(maker):
        raise InputError(
            f"{name!r} is a {type(maker).__name__}; a synthesiser is a function of (training frame, seed) or an "
            "object with fit and sample"
        )
    return maker(training, seed)


def _accepts(function: Any, arguments: Mapping[str, Any]) -> bool:
    import inspect

    try:
        inspect.signature(function).bind(**arguments)
    except (TypeError, ValueError):
        return False
    return True


def _classes(pair: Pair, target: str) -> Array | None:
    return None if pair.is_numeric(target) else pair.codes(target).of("original")


def _schema(whole: Pair) -> dict[str, Any]:
    """The kinds decided on the whole table, so that a small fold cannot change them."""
    found: dict[str, Any] = {}
    for name, column in whole.schema.items():
        if column.levels is not None:
            found[name] = {"kind": column.kind, "levels": list(column.levels), "ordered": column.ordered}
        else:
            found[name] = column.kind
    return found


def _labelled_shares(whole: Pair, target: str, missing_target: str | None) -> dict[Any, float]:
    codes = whole.codes(target)
    known = codes.of("original")
    known = known[known >= 0] if missing_target == "drop" else np.where(known < 0, codes.n_levels, known)
    shares = class_shares(known, codes.n_levels + 1)
    return dict(zip([*codes.levels, None], shares.tolist(), strict=True))


def _aligned_shares(pair: Pair, target: str, shares: Mapping[Any, float]) -> Array:
    codes = pair.codes(target)
    labels = [*codes.levels, None] if codes.missing else codes.levels
    return np.array([shares.get(label, 0.0) for label in labels])


def _summary(rows: list[dict[str, Any]], interval: str, confidence: float, whole: Pair, name: str, k: int) -> RapidCV:
    values = np.array([r["rapid"] for r in rows])
    sd = float(values.std(ddof=1))
    se = sd / np.sqrt(k)
    half = normal_quantile(confidence) * se
    limits = (
        (float(values.mean()) - half, float(values.mean()) + half)
        if interval == "normal"
        else student_mean(values, confidence)
    )
    chance = float(np.mean([r["chance"] for r in rows]))
    numbers = [c for c in rows[0] if c not in ("synthesiser", "fold", "n", "rapid", "chance", "adjusted")]
    means = {c: float(np.mean([r[c] for r in rows])) for c in numbers if all(r[c] is not None for r in rows)}
    value = float(values.mean())
    low, high = limits or (None, None)
    details = {
        "mean": value,
        "sd": sd,
        "se": float(se),
        "ci_lower": low,
        "ci_upper": high,
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
        "k": k,
        "folds": values.tolist(),
        "chance": chance,
        "adjusted": (value - chance) / (1 - chance) if chance < 1 else None,
        **{f"mean_{name}": figure for name, figure in means.items()},
    }
    shown = (
        ""
        if limits is None
        else f" ({percent(confidence, 0)} interval {percent(max(0, limits[0]))} to {percent(min(1, limits[1]))})"
    )
    result = RapidCV(
        value,
        baseline=chance,
        interval=None if low is None or high is None else (low, high),
        details=details,
        sentence=(
            f"Over {k} folds, a release made without them puts {percent(value)} of held-out people at risk{shown}; "
            "luck alone would give "
            f"{percent(chance)}. Folds share training data, so the interval is approximate."
        ),
        table=rows,
        settings=whole.describe(),
    )
    result._set(name="rapid_cv", _source=whole, by_synthesiser={}, comparison=[])
    return result


def _compared(
    results: dict[str, RapidCV],
    tables: dict[str, list[dict[str, Any]]],
    interval: str,
    confidence: float,
    whole: Pair,
    warnings: list[str],
) -> RapidCV:
    """Several synthesisers on the same folds: paired differences to the safest one."""
    safest = min(results, key=lambda n: results[n].value or 0.0)
    reference = np.array([r["rapid"] for r in tables[safest]])
    comparison = []
    for name, result in results.items():
        difference = np.array([r["rapid"] for r in tables[name]]) - reference
        limits = None if name == safest else student_mean(difference, confidence)
        comparison.append(
            {
                "synthesiser": name,
                "rapid": result.value,
                "low": None if result.interval is None else result.interval[0],
                "high": None if result.interval is None else result.interval[1],
                "chance": result.baseline,
                "adjusted": result.excess,
                "difference": float(difference.mean()),
                "difference_low": None if limits is None else limits[0],
                "difference_high": None if limits is None else limits[1],
            }
        )
    best = results[safest]
    worst = max(results, key=lambda n: results[n].value or 0.0)
    made = RapidCV(
        results[worst].value,
        baseline=results[worst].baseline,
        interval=results[worst].interval,
        details={"safest": safest, "worst": worst, **{n: r.value for n, r in results.items()}},
        sentence=(
            f"On the same folds {safest!r} puts the fewest held-out people at risk "
            f"({percent(float(best.value or 0))}), {worst!r} the most "
            f"({percent(float(results[worst].value or 0))}); compared: {listed(results)}."
        ),
        warnings=warnings,
        table=[row for rows in tables.values() for row in rows],
        settings=whole.describe(),
    )
    made._set(name="rapid_cv", _source=whole, by_synthesiser=results, comparison=comparison)
    return made
