"""Do models perform alike inside the release and inside the original?"""

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
from glasshouse.utility.figures import ignored_weights, small
from glasshouse.utility.nulls import Band, band, judged
from glasshouse.utility.predictive.models import Task, predictions, score, task


def cross_validated(
    made: Task,
    table: str,
    model: str | Any,
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
)
def model_performance(
    pair: Pair,
    *,
    predictors: Sequence[str] | None = None,
    models: Sequence[Any] = ("linear", "cart"),
    folds: int = 5,
    replicates: int = 10,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Do models perform alike when they are developed and cross-validated inside the release and inside the original?

    Per model the difference of cross-validated R^2 (numbers) or AUC (classes) between the tables, in absolute value;
    the headline is the mean over models.
    """
    made, scores = _performance(pair, predictors, models, folds, random_state, n_jobs)
    gaps = [abs(s["released"] - s["original"]) for s in scores.values()]
    null = _performance_null(
        made,
        models,
        folds,
        replicates,
        random_state,
        n_jobs,
        lambda a, b: abs(a - b),
        lambda gap: gap / 2,
        "model_performance",
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
        plot_data={
            "bars": [
                {"training": t, "metric": k, "value": v[t]} for k, v in scores.items() for t in ("original", "released")
            ]
        },
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
)
def model_quality(
    pair: Pair,
    *,
    predictors: Sequence[str] | None = None,
    models: Sequence[Any] = ("linear", "cart"),
    folds: int = 5,
    replicates: int = 10,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Is the target as predictable inside the release as inside the original?

    Per model the ratio of unexplained parts, (1 - s_Y) / (1 - s_X) with s the cross-validated R^2 or AUC: above 1 the
    release is noisier, below 1 it is smoother than life. The headline is the mean of exp(-|log ratio|): 1 is alike.
    """
    made, scores = _performance(pair, predictors, models, folds, random_state, n_jobs)

    def alike(a: float, b: float) -> float:
        return float(np.exp(-abs(np.log(max(1 - b, 1e-9) / max(1 - a, 1e-9)))))

    for figures in scores.values():
        figures["error_ratio"] = max(1 - figures["released"], 1e-9) / max(1 - figures["original"], 1e-9)
    value = float(np.mean([alike(s["original"], s["released"]) for s in scores.values()]))
    null = _performance_null(made, models, folds, replicates, random_state, n_jobs, alike, np.sqrt, "model_quality")
    return judged(
        value,
        null,
        "higher",
        utility=value,
        details={"models": scores, "metric": made.metric, "target": made.target},
        sentence=f"{made.target} is as predictable inside the release as inside the original to {number(value, 3)}",
        warnings=[*made.notes, *ignored_weights(pair, "model_quality")],
        table=[{"model": k, **v} for k, v in scores.items()],
        plot_data={
            "bars": [
                {"training": t, "metric": k, "value": v[t]} for k, v in scores.items() for t in ("original", "released")
            ]
        },
    )


def _performance(
    pair: Pair,
    predictors: Sequence[str] | None,
    models: Sequence[Any],
    folds: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> tuple[Task, dict[str, dict[str, float]]]:
    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds}")
    made = task(pair, pair.target, predictors)
    names = [m if isinstance(m, str) else type(m).__name__ for m in models]
    scores: dict[str, dict[str, float]] = {}
    for name, model in zip(names, models, strict=True):
        found = {t: cross_validated(made, t, model, folds, random_state, n_jobs) for t in ("original", "released")}
        if found["original"] is not None and found["released"] is not None:
            scores[name] = {t: float(v) for t, v in found.items() if v is not None}
    if not scores:
        raise NotApplicable("no model could be scored in both tables; the target may be constant in the release")
    return made, scores


def _performance_null(
    made: Task,
    models: Sequence[Any],
    folds: int,
    replicates: int,
    random_state: RandomState,
    n_jobs: int | None,
    compare: Any,
    shrink: Any,
    name: str,
) -> Band | None:
    """Cross-validation within disjoint halves of the original: two honest samples, of half the size.

    The gap of two halves is sqrt 2 that of two whole samples, and twice that of correct synthesis; ``shrink`` takes
    it there, so that the band does not call an honest release a copy.
    """
    if replicates < 5:
        return None
    n = len(made.response["original"])
    found = []
    for r in range(replicates):
        mixed = generator(random_state, "null", name, r).permutation(n)
        halves = [np.sort(mixed[: n // 2]), np.sort(mixed[n // 2 :])]
        pairs = [
            [cross_validated(made, "original", model, folds, random_state, n_jobs, rows) for rows in halves]
            for model in models
        ]
        known = [compare(a, b) for a, b in pairs if a is not None and b is not None]
        if known:
            found.append(float(np.mean(known)))
    return band(found, [float(shrink(v)) for v in found], f"{replicates} splits of the original into halves")
