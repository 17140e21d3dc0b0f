"""Is the release good for training models, and do models learn the same things from it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ignored_weights
from glasshouse.utility.nulls import Band, band, canonical_rows, judged
from glasshouse.utility.predictive.models import Task, fit_linear, predictions, ratio, score, task

TEST_SHARE = 0.3


@measure(
    side="utility",
    family="predictive",
    better="higher",
    range=(0, None),
    needs=("target",),
    unit="ratio",
    cost="attackers",
    group="joint",
    cite="Esteban, Hyland & Rätsch (2017), train on synthetic, test on real",
    caveats="one target at a time; without a holdout the release has seen the test records",
    title="TSTR",
    on_map=True,
)
def tstr(
    pair: Pair,
    *,
    predictors: Sequence[str] | None = None,
    model: str | Any = "linear",
    test_rows: Sequence[int] | None = None,
    equal_sizes: bool = False,
    draws: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Train on the release, test on real records: what share of the original's predictive power is left?

    TRTR trains on the original, TSTR on the release, both are tested on the same real records: the holdout if there
    is one, else 30 % of the original (or ``test_rows``). Metric R^2 (numbers) or AUC (classes, one against the rest).
    The headline is TSTR / TRTR, for AUC (TSTR - 0.5) / (TRTR - 0.5). Predictors: the keys, or all other columns.
    ``equal_sizes`` trains both on the same number of records. ``model``: "linear" or any attacker ("rf", "cart",
    "gbm", ...) or estimator. The band draws the linear model's coefficients from their sampling law; it is left out
    for other models. More than the band is no alarm: a copy predicts as well as the original, not better.
    """
    made = task(pair, pair.target, predictors)
    train, asked, test = _split(pair, made, test_rows, random_state)
    truth = made.response[asked] if test is None else made.response[asked][test]
    released = None
    n_train = len(made.response["original"]) if train is None else len(train)
    if equal_sizes:
        size = min(n_train, len(made.response["released"]))
        rng = generator(random_state, "tstr", "sizes")
        train = np.sort(rng.permutation(np.arange(n_train) if train is None else train)[:size])
        released = np.sort(rng.permutation(len(made.response["released"]))[:size])
    real = score(made, predictions(made, model, "original", train, asked, test, random_state, n_jobs), truth)
    synthetic = score(made, predictions(made, model, "released", released, asked, test, random_state, n_jobs), truth)
    value = ratio(made, synthetic, real)
    if value is None:
        raise NotApplicable(
            "models trained on the original itself predict this target no better than guessing, so there is "
            "nothing to keep; choose other predictors"
        )
    null = (
        _tstr_null(made, real, train, asked, test, draws, random_state)
        if isinstance(model, str) and model == "linear"
        else None
    )
    metric = made.metric
    warnings = [*made.notes, *ignored_weights(pair, "tstr")]
    if asked == "original":
        warnings.append(
            "no holdout: the release was made from the test records too, which flatters it; pass holdout= for an "
            "honest test"
        )
    return judged(
        value,
        null,
        "higher",
        utility=min(1.0, value),
        alarm=False,  # a copy predicts as well as the original, no better: only the lower side speaks
        details={
            f"trtr_{metric}": real,
            f"tstr_{metric}": synthetic,
            f"tstr_{metric}_raw": synthetic,
            f"tstr_{metric}_clamped": max(0.0, synthetic or 0.0),
            "ratio": value,
            "tstr_ratio": value,
            "target": made.target,
            "predictors": list(made.predictors),
            "model": model if isinstance(model, str) else type(model).__name__,
            "metric": metric,
            "tested_on": asked,
            "n_test": len(truth),
            "n_train_original": n_train if train is None else len(train),
            "n_train_released": len(made.response["released"]) if released is None else len(released),
        },
        sentence=f"Models of {made.target} trained on the release reach {number(value, 3)} of the predictive power "
        f"of the original ({metric.upper()} {number(synthetic, 3)} against {number(real, 3)})",
        warnings=warnings,
        plot_data={
            "bars": [
                {"training": "original", "metric": metric, "value": real},
                {"training": "released", "metric": metric, "value": synthetic},
            ]
        },
    )


def _split(
    pair: Pair, made: Task, test_rows: Sequence[int] | None, random_state: RandomState
) -> tuple[np.ndarray | None, str, np.ndarray | None]:
    """(training rows of the original, table tested on, its test rows); rows count records that have a target value."""
    if test_rows is not None:
        n = len(made.response["original"])
        test = np.asarray(test_rows, np.int64)
        if test.size == 0 or test.min() < 0 or test.max() >= n or len(np.unique(test)) == n:
            raise InputError(
                f"test_rows must be positions between 0 and {n - 1} of records with a target value, and leave some "
                "to train on"
            )
        return np.setdiff1d(np.arange(n), test), "original", test
    if pair.has_holdout:
        return None, "holdout", None
    known = pair.codes(made.target).of("original") >= 0
    if made.n_classes is None:
        known &= ~pair.special_mask(made.target, "original")
    position = np.cumsum(known) - 1
    order = position[canonical_rows(pair, known)]
    mixed = order[generator(random_state, "tstr", "split").permutation(len(order))]
    cut = max(1, round(TEST_SHARE * len(mixed)))
    return np.sort(mixed[cut:]), "original", np.sort(mixed[:cut])


def _tstr_null(
    made: Task,
    real: float | None,
    train: np.ndarray | None,
    asked: str,
    test: np.ndarray | None,
    draws: int,
    random_state: RandomState,
) -> Band | None:
    """Ratios when the release's coefficients are those of the whole original plus sampling error (correct), or those of
    the training records, which have not seen the test records, plus the sampling error of both (fresh).
    """
    if not draws:
        return None
    matrix = made.matrices["original"]
    fit = fit_linear(matrix, made.response["original"], made.n_classes, spread=True)
    trained = fit
    if train is not None:
        trained = fit_linear(matrix[train], made.response["original"][train], made.n_classes, spread=True)
    questions = made.matrices[asked] if test is None else made.matrices[asked][test]
    truth = made.response[asked] if test is None else made.response[asked][test]
    n, m = len(matrix), len(made.response["released"])
    rng = generator(random_state, "tstr null")
    fresh: list[float | None] = []
    correct: list[float | None] = []
    for _ in range(draws):
        own, other = (
            np.stack([root @ rng.standard_normal(root.shape[1]) for root in f.roots], axis=1) for f in (fit, trained)
        )
        released = np.sqrt(n / m) * own
        for group, moved in ((correct, fit.coefficients + released), (fresh, trained.coefficients + released + other)):
            predicted = questions @ moved
            group.append(
                ratio(made, score(made, predicted[:, 0] if made.n_classes is None else predicted, truth), real)
            )
    return band(fresh, correct, f"{draws} draws from the sampling law of the original's coefficients")  # type: ignore[arg-type]


@measure(
    side="utility",
    family="predictive",
    better="higher",
    range=(-1, 1),
    needs=("target",),
    unit="rank correlation",
    cost="attackers",
    group="joint",
    cite="Breiman (2001) on permutation importance; rank comparison as in riskutility",
    caveats="few predictors make a coarse rank correlation",
    tier="full",
)
def feature_importance(
    pair: Pair,
    *,
    predictors: Sequence[str] | None = None,
    model: str | Any = "cart",
    repeats: int = 5,
    replicates: int = 10,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Do models learn from the release that the same columns matter?

    One model is trained on the original, one on the release; both are asked about the same real records (holdout,
    else the original), each predictor is shuffled in turn, and the rise of the error is its importance. The headline
    is Spearman's correlation of the two rankings.
    """
    from glasshouse.engines.models.model import fit

    made = task(pair, pair.target, predictors)
    if len(made.predictors) < 2:
        raise NotApplicable("needs at least two predictors to rank; name them with predictors=[...]")
    asked = "holdout" if pair.has_holdout else "original"

    def importance(training: str, rows: np.ndarray | None) -> np.ndarray:
        table = made.designs[training] if rows is None else made.designs[training].take(rows)
        response = made.response[training] if rows is None else made.response[training][rows]
        grown = fit(model, table, response, n_classes=made.n_classes, random_state=random_state, n_jobs=n_jobs)
        rises = grown.permutation_importance(
            made.designs[asked], made.response[asked], repeats=repeats, random_state=random_state
        )
        found = np.zeros(len(made.predictors))
        for name, rise in rises.items():
            base = name.removesuffix("_missing") if name not in made.predictors else name
            found[made.predictors.index(base)] += rise
        return found

    x, y = importance("original", None), importance("released", None)
    if x.std() == 0:
        raise NotApplicable(
            "no predictor matters even in the original, so there is no ranking to keep; choose other predictors "
            "or another model"
        )
    value = _rank_correlation(x, y) or 0.0  # a release in which nothing matters has kept nothing of the ranking
    n, m = len(made.response["original"]), len(made.response["released"])
    fresh, correct = [], []
    for r in range(replicates):
        rng = generator(random_state, "null", "feature_importance", r)
        first, second = importance("original", rng.integers(0, n, n)), importance("original", rng.integers(0, n, m))
        fresh.append(_rank_correlation(first, second))
        correct.append(_rank_correlation(x, second))
    null = band(fresh, correct, f"{replicates} resamples of the original") if replicates else None  # type: ignore[arg-type]
    rows = [
        {"column": c, "original": float(a), "released": float(b)} for c, a, b in zip(made.predictors, x, y, strict=True)
    ]
    shares = [v / v.sum() if v.sum() > 0 else np.zeros_like(v) for v in (np.maximum(x, 0), np.maximum(y, 0))]
    return judged(
        value,
        null,
        "higher",
        utility=(1 + value) / 2,
        details={
            "spearman": value,
            "pearson": float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else None,
            "mean_abs_diff": float(np.abs(shares[0] - shares[1]).mean()),
            "importance": {r["column"]: [r["original"], r["released"]] for r in rows},
            "asked": asked,
        },
        sentence=f"Models rank the columns that predict {made.target} alike to {number(value, 3)} (Spearman)",
        warnings=[*made.notes, *ignored_weights(pair, "feature_importance")],
        table=rows,
        plot_data={"importance": rows},
    )


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    def ranks(v: np.ndarray) -> np.ndarray:
        _, at, counts = np.unique(np.round(v, 12), return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - 0.5 * (counts - 1))[at]

    a, b = ranks(a), ranks(b)
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None
