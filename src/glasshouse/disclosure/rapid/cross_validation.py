"""How risky is a synthesiser, rather than one release of it: cross-validated RAPID on people it was not shown.

Per fold f: release = synthesiser(other folds, seed + f), RAPID of that release on the fold. Folds share training data,
so the standard deviation over folds is no unbiased measure of uncertainty; the interval is a t interval with k - 1
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.interrupts import heeded
from glasshouse.core.intervals import normal_quantile, student_mean
from glasshouse.core.options import door
from glasshouse.core.plain import percent
from glasshouse.core.result import Frame, Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.pair import Pair
from glasshouse.data.schema import Wish
from glasshouse.data.split import take_rows
from glasshouse.disclosure.rapid.answers import Quality
from glasshouse.disclosure.rapid.attack import attack_settings, scored_attack
from glasshouse.disclosure.rapid.folds import Synthesiser, deal_folds, synthesise
from glasshouse.disclosure.rapid.scores import Array, class_shares

if TYPE_CHECKING:
    from glasshouse.engines.models.registry import Estimator


@dataclass(frozen=True)
class Fold:
    """RAPID of one synthesiser on one fold."""

    synthesiser: str
    fold: int
    n: int
    rapid: float
    chance: float
    adjusted: float | None
    quality: Quality

    def row(self) -> dict[str, object]:
        """The fold as a row of the table."""
        own = {k: v for k, v in vars(self).items() if k != "quality"}
        return {**own, **self.quality}


class Compared(TypedDict):
    """One synthesiser against the safest one, on the same folds."""

    synthesiser: str
    rapid: float | None
    low: float | None
    high: float | None
    chance: float | None
    adjusted: float | None
    difference: float
    difference_low: float | None
    difference_high: float | None


class RapidCV(Result):
    """Cross-validated RAPID: ``value`` is the mean over folds; ``to_frame()`` has one row per fold (and per
    synthesiser).

    Attributes
    ----------
    comparison
        Several synthesisers: each with its paired difference to the safest one; empty for one.
    by_synthesiser
        The result of each synthesiser by name.
    """

    comparison: list[Compared]
    by_synthesiser: dict[str, RapidCV]


@door
@heeded()
def rapid_cv(
    original: Frame,
    synthesiser: Synthesiser | Mapping[str, Synthesiser],
    *,
    keys: Sequence[str | int] | str,
    target: str,
    k: int = 5,
    attacker: str | Estimator = "rf",
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
    attacker_options: Mapping[str, Mapping[str, object]] | None = None,
    schema: Mapping[str, Wish] | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> RapidCV:
    """k-fold assessment of a synthesiser: RAPID of releases made without the people it is scored on.

    The people of a fold were never shown to the synthesiser, so the figure is what its releases teach about the
    population; memorised records do not count.

    Parameters
    ----------
    original : frame
        The confidential table, in any frame library; it is cut into folds.
    synthesiser : function, object, or dict of them
        A function ``(training_frame, seed) -> released frame``, or an object with ``fit`` and ``sample`` (copied first,
        never changed). A dict of several compares them on the same folds.
    keys : str or sequence of str
        What the attacker knows.
    target : str
        What the attacker wants to learn.
    k : int, default 5
        Number of folds.
    attacker : str or estimator, default "rf"
        A name (``glasshouse.engines.models.registry.attackers()`` lists them) or a scikit-learn estimator.
    score : {"marginal", "conditional", "nce"}, default "marginal"
        As in ``rapid``, for a categorical target.
    tau : float, optional
        Threshold of the score; the usual one of the score by default.
    error : {"symmetric", "stabilised_relative", "absolute"}, default "symmetric"
        As in ``rapid``, for a continuous target.
    epsilon : float, default 0.10
        Tolerance of the error.
    delta : float or "auto", default 0.01
        Stabiliser of the relative errors.
    missing_target : {"drop", "level", "constant", "median"}, optional
        Records without a target, as in ``rapid``.
    baseline : {"full", "fold"}, default "full"
        Class shares b of the full data, or of each fold as in the R packages.
    interval : {"t", "normal"}, default "t"
        Interval of the mean over folds: Student's with k - 1 degrees of freedom, or the normal one of the R packages.
    stratify : bool, default True
        Whether every fold gets its share of each class of a categorical target.
    trees : int, default 500
        Trees of an attacker that grows a forest.
    attacker_options : mapping of str to mapping, optional
        Further options by attacker.
    schema : mapping, optional
        What columns are, as in ``Pair``.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of the folds, the attacker and (plus the number of the fold) the synthesiser.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    RapidCV
        ``value``: mean RAPID over folds; ``baseline``: mean chance level; ``interval``: of the mean. ``details``: sd,
        se, median, range and the folds, the attacker's mean quality. ``to_frame()``: one row per fold. With several
        synthesisers the value is that of the worst one, ``comparison`` has the paired differences to the safest one
        and ``by_synthesiser`` the result of each.

    Notes
    -----
    Per fold f: release_f = synthesiser(all folds but f, seed + f), and RAPID_f of that release on fold f.

        value = mean_f RAPID_f,   se = sd_f / sqrt(k),   interval = value +- t_{k-1} se

    Folds share training data, so the standard deviation over folds is no unbiased measure of uncertainty (Bengio &
    Grandvalet 2004) and the interval is approximate.

    References
    ----------
    Templ, Thees & Müller (2026), RAPID: Risk of Attribute Prediction-Induced Disclosure, arXiv:2602.09235.
    Bengio & Grandvalet (2004), No unbiased estimator of the variance of k-fold cross-validation, JMLR 5.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.load("health").original
    >>> def shuffled(training, seed):
    ...     return training.sample(fraction=1.0, shuffle=True, seed=seed)
    >>> found = gh.rapid_cv(
    ...     original, shuffled, keys=["age", "gender"], target="disease_status", k=3, attacker="cart"
    ... )
    >>> round(found.value, 3), round(found.baseline, 3)
    (0.654, 0.501)
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
        missing_target=missing_target,
        trees=trees,
        attacker_options=attacker_options,
        seed=seed,
        n_jobs=n_jobs,
    )
    folds = deal_folds(_classes(whole, target) if stratify else None, whole.n("original"), k, generator(seed, "folds"))
    shares = None
    if baseline == "full" and not whole.is_numeric(target):
        shares = _labelled_shares(whole, target, missing_target)
    named: Mapping[str, Synthesiser] = synthesiser if isinstance(synthesiser, Mapping) else {"synthesiser": synthesiser}
    if not named:
        raise InputError("no synthesiser was given")
    tables: dict[str, list[Fold]] = {name: [] for name in named}
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
            tables[name].append(Fold(name, fold + 1, answers.n, rate, chance, adjusted, answers.quality()))
            warnings += [
                f"fold {fold + 1}, {name}: {w}" if len(named) > 1 else f"fold {fold + 1}: {w}" for w in attack.warnings
            ]
    results = {n: _summary(rows, interval, confidence, whole) for n, rows in tables.items()}
    if len(results) == 1:
        (single,) = results.values()
        single._set(warnings=warnings, by_synthesiser=results, comparison=[])
        return single
    return _compared(results, tables, confidence, whole, warnings)


def _classes(pair: Pair, target: str) -> Array | None:
    return None if pair.is_numeric(target) else pair.codes(target).of("original")


def _schema(whole: Pair) -> dict[str, Wish]:
    """The kinds decided on the whole table, so that a small fold cannot change them."""
    found: dict[str, Wish] = {}
    for name, column in whole.schema.items():
        if column.levels is not None:
            found[name] = {"kind": column.kind, "levels": list(column.levels), "ordered": column.ordered}
        else:
            found[name] = column.kind
    return found


def _labelled_shares(whole: Pair, target: str, missing_target: str | None) -> dict[object, float]:
    codes = whole.codes(target)
    known = codes.of("original")
    known = known[known >= 0] if missing_target == "drop" else np.where(known < 0, codes.n_levels, known)
    shares = class_shares(known, codes.n_levels + 1)
    return dict(zip([*codes.levels, None], shares.tolist(), strict=True))


def _aligned_shares(pair: Pair, target: str, shares: Mapping[object, float]) -> Array:
    codes = pair.codes(target)
    labels = [*codes.levels, None] if codes.missing else codes.levels
    return np.array([shares.get(label, 0.0) for label in labels])


def _summary(folds: list[Fold], interval: str, confidence: float, whole: Pair) -> RapidCV:
    k = len(folds)
    values = np.array([f.rapid for f in folds])
    sd = float(values.std(ddof=1))
    se = sd / np.sqrt(k)
    half = normal_quantile(confidence) * se
    limits = (
        (float(values.mean()) - half, float(values.mean()) + half)
        if interval == "normal"
        else student_mean(values, confidence)
    )
    chance = float(np.mean([f.chance for f in folds]))
    known = [c for c in folds[0].quality if all(f.quality[c] is not None for f in folds)]
    means = {c: float(np.mean([f.quality[c] for f in folds])) for c in known}
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
        table=[f.row() for f in folds],
        plot_data=_drawn(folds),
        settings=whole.describe(),
    )
    result._set(name="rapid_cv", _source=whole, by_synthesiser={}, comparison=[])
    return result


def _compared(
    results: dict[str, RapidCV],
    tables: dict[str, list[Fold]],
    confidence: float,
    whole: Pair,
    warnings: list[str],
) -> RapidCV:
    """Several synthesisers on the same folds: paired differences to the safest one."""
    safest = min(results, key=lambda n: results[n].value or 0.0)
    reference = np.array([f.rapid for f in tables[safest]])
    comparison: list[Compared] = []
    for name, result in results.items():
        difference = np.array([f.rapid for f in tables[name]]) - reference
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
        table=[fold.row() for folds in tables.values() for fold in folds],
        plot_data=_drawn([fold for folds in tables.values() for fold in folds]),
        settings=whole.describe(),
    )
    made._set(name="rapid_cv", _source=whole, by_synthesiser=results, comparison=comparison)
    return made


def _drawn(folds: Sequence[Fold]) -> dict[str, list[dict[str, str | float]]]:
    """What the chart of the folds needs."""
    return {
        "folds": [{"synthesiser": f.synthesiser, "fold": f.fold, "rapid": f.rapid, "chance": f.chance} for f in folds]
    }
