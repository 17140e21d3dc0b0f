"""Do models perform alike inside the release and inside the original?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.engines.workers import threads
from glasshouse.utility.deals import Deal, in_deals, pool
from glasshouse.utility.figures import Columns, ignored_weights, small
from glasshouse.utility.nulls import FEWEST, Band, band, judged
from glasshouse.utility.predictive.models import Learner, Task, name_of, predictions, score, task


def cross_validated(
    made: Task,
    table: str,
    model: Learner,
    folds: int,
    random_state: RandomState,
    n_jobs: int | None,
    rows: np.ndarray | None = None,
) -> float | None:
    """Out-of-fold R^2 or AUC of a model within one table (or some of its rows)."""
    rows = np.arange(len(made.response[table])) if rows is None else rows
    # sorted by content, so that folds do not depend on the order of the file
    order = rows[np.lexsort([made.response[table][rows], *made.designs[table].codes[rows].T[::-1]])]
    fold = generator(random_state, "folds").permutation(len(order)) % folds
    parts, truths = [], []
    for k in range(folds):
        train, test = order[fold != k], order[fold == k]
        if not len(test) or not len(train):
            return None
        parts.append(predictions(made, model, table, train, table, test, random_state, n_jobs))
        truths.append(made.response[table][test])
    return score(made, np.concatenate(parts), np.concatenate(truths))


@measure(
    side="utility",
    family="predictive",
    better="lower",
    needs=("target",),
    unit="R2 or AUC",
    cost="attackers",
    group="joint",
    cite="riskutility compare_model_performance; Stone (1974) for cross-validation",
    caveats="alike performance need not mean alike models: see tstr and regression_fidelity",
    tier="full",
    influence="free",
    wide="unkeyed",
)
def model_performance(
    pair: Pair,
    *,
    predictors: Columns = None,
    models: Sequence[Learner] = ("linear", "cart"),
    folds: int = 5,
    replicates: int = 19,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Do models perform alike when they are developed and cross-validated inside the release and inside the original?

    Parameters
    ----------
    pair : Pair
        Original and release, with a target.
    predictors : list of str or str, optional
        Columns to predict from; default: the keys, or all other columns.
    models : sequence of str or estimators, default ("linear", "cart")
        "linear" (least squares, or one logistic regression per class), names of attackers ("cart", "rf", "gbm", ...)
        or scikit-learn estimators.
    folds : int, default 5
        Folds of the cross-validation, at least 2.
    replicates : int, default 19
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is no band.
    random_state : int, Generator or None, default 0
        Seed of folds, deals and models.
    n_jobs : int, optional
        Threads of models that can use several; the figures do not depend on it.

    Returns
    -------
    Result
        ``value``: mean over models of the absolute difference, 0 is alike. ``details["models"]`` has the score of each
        model in both tables, ``metric`` says which score it is.

    Notes
    -----
    Per model |s_Y - s_X|, s the out-of-fold R^2 of a numeric target or the AUC of a class (one against the rest for
    more than two), X the original and Y the release. Records without a target value are left out; weights are ignored.

    References
    ----------
    compare_model_performance of the R package riskutility. Stone (1974), Cross-validatory choice and assessment of
    statistical predictions.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.model_performance(pair, models=["linear"], replicates=0)
    >>> round(found.value, 3), found.details["metric"]
    (0.009, 'auc')
    """
    made, scores = _performance(pair, predictors, models, folds, random_state, n_jobs)
    gaps = [abs(s["released"] - s["original"]) for s in scores.values()]
    null = _performance_null(
        pair,
        made,
        models,
        folds,
        replicates,
        random_state,
        n_jobs,
        lambda a, b: abs(a - b),
        lambda gap: gap / np.sqrt(2),
    )
    value = float(np.mean(gaps))
    return judged(
        value,
        null,
        "lower",
        utility=1 - min(1.0, value),
        details={"models": scores, "metric": made.metric, "target": made.target},
        sentence=f"Cross-validated {made.metric.upper()} of {made.target} differs by {small(value)} between "
        "release and original",
        warnings=[*made.notes, *ignored_weights(pair, "model_performance")],
        table=[{"model": k, **v} for k, v in scores.items()],
        plot_data=_bars(made, scores),
    )


@measure(
    side="utility",
    family="predictive",
    better="higher",
    needs=("target",),
    unit="ratio",
    cost="attackers",
    group="joint",
    cite="riskutility mqs, with the direction of both ratios mended",
    caveats="says how predictable the release is within itself; tstr asks whether that carries over to real records",
    tier="full",
    influence="free",
    wide="unkeyed",
)
def model_quality(
    pair: Pair,
    *,
    predictors: Columns = None,
    models: Sequence[Learner] = ("linear", "cart"),
    folds: int = 5,
    replicates: int = 19,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Is the target as predictable inside the release as inside the original?

    A release that is noisier than the original, and one that is smoother than life, both score below 1.

    Parameters
    ----------
    pair : Pair
        Original and release, with a target.
    predictors : list of str or str, optional
        Columns to predict from; default: the keys, or all other columns.
    models : sequence of str or estimators, default ("linear", "cart")
        "linear" (least squares, or one logistic regression per class), names of attackers ("cart", "rf", "gbm", ...)
        or scikit-learn estimators.
    folds : int, default 5
        Folds of the cross-validation, at least 2.
    replicates : int, default 19
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is no band.
    random_state : int, Generator or None, default 0
        Seed of folds, deals and models.
    n_jobs : int, optional
        Threads of models that can use several; the figures do not depend on it.

    Returns
    -------
    Result
        ``value``: mean over models of exp(-|log ratio|), 1 is alike. ``details["models"]`` has the score of each model
        in both tables and its ``error_ratio``: above 1 the release is noisier, below 1 smoother than the original.

    Notes
    -----
    ratio = (1 - s_Y) / (1 - s_X) of unexplained parts, s the out-of-fold R^2 of a numeric target or the AUC of a class,
    X the original and Y the release. Records without a target value are left out; weights are ignored.

    References
    ----------
    mqs of the R package riskutility, with the direction of both ratios mended.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.model_quality(pair, models=["linear"], replicates=0).value, 3)
    0.961
    """
    made, scores = _performance(pair, predictors, models, folds, random_state, n_jobs)

    def alike(a: float, b: float) -> float:
        return float(np.exp(-abs(np.log(max(1 - b, 1e-9) / max(1 - a, 1e-9)))))

    for figures in scores.values():
        figures["error_ratio"] = max(1 - figures["released"], 1e-9) / max(1 - figures["original"], 1e-9)
    value = float(np.mean([alike(s["original"], s["released"]) for s in scores.values()]))
    null = _performance_null(
        pair, made, models, folds, replicates, random_state, n_jobs, alike, lambda share: share ** np.sqrt(0.5)
    )
    return judged(
        value,
        null,
        "higher",
        utility=value,
        details={"models": scores, "metric": made.metric, "target": made.target},
        sentence=f"{made.target} is as predictable inside the release as inside the original to {number(value, 3)}",
        warnings=[*made.notes, *ignored_weights(pair, "model_quality")],
        table=[{"model": k, **v} for k, v in scores.items()],
        plot_data=_bars(made, scores),
    )


def _bars(made: Task, scores: dict[str, dict[str, float]]) -> dict[str, object]:
    """The score of every model by the table it was developed in, and what the score is."""
    rows = [{"model": k, "table": t, "value": v[t]} for k, v in scores.items() for t in ("original", "released")]
    return {"bars": rows, "metric": made.metric}


def _performance(
    pair: Pair,
    predictors: Columns,
    models: Sequence[Learner],
    folds: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> tuple[Task, dict[str, dict[str, float]]]:
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds}")
    made = task(pair, predictors)
    scores: dict[str, dict[str, float]] = {}
    for model in models:
        found = {t: cross_validated(made, t, model, folds, random_state, n_jobs) for t in ("original", "released")}
        if found["original"] is not None and found["released"] is not None:
            scores[name_of(model)] = {t: float(v) for t, v in found.items() if v is not None}
    if not scores:
        raise NotApplicable("no model could be scored in both tables; the target may be constant in the release")
    return made, scores


def _performance_null(
    pair: Pair,
    made: Task,
    models: Sequence[Learner],
    folds: int,
    replicates: int,
    random_state: RandomState,
    n_jobs: int | None,
    compare: Callable[[float, float], float],
    shrink: Callable[[float], float],
) -> Band | None:
    """Cross-validation within two tables dealt from the records of both.

    The gap of correct synthesis is that of a fresh sample over sqrt 2; ``shrink`` takes it there.
    """
    if replicates < FEWEST:
        return None
    place = np.cumsum(made.keep) - 1

    def gap(dealt: Deal) -> float | None:
        pairs = [
            [
                cross_validated(made, "pool", model, folds, random_state, n_jobs, place[rows])
                for rows in (dealt.x, dealt.y)
            ]
            for model in models
        ]
        known = [compare(a, b) for a, b in pairs if a is not None and b is not None]
        return float(np.mean(known)) if known else None

    with threads(n_jobs):
        gaps = in_deals(pair, gap, range(replicates), random_state, made.keep)
    found = [v for v in gaps if v is not None]
    return band(found, [float(shrink(v)) for v in found], f"{replicates} {pool(pair, made.keep).how}")
