"""Do models learn the same things from the release as from the original?"""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.workers import threads
from glasshouse.utility.deals import Rows, resampled
from glasshouse.utility.figures import Columns, ignored_weights
from glasshouse.utility.nulls import judged
from glasshouse.utility.predictive.models import Learner, task


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
    influence="free",
    wide="unkeyed",
)
def feature_importance(
    pair: Pair,
    *,
    predictors: Columns = None,
    model: Learner = "cart",
    repeats: int = 5,
    replicates: int = 19,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Do models learn from the release that the same columns matter?

    Parameters
    ----------
    pair : Pair
        Original and release, with a target.
    predictors : list of str or str, optional
        Columns to predict from, at least two; default: the keys, or all other columns.
    model : str or estimator, default "cart"
        Name of an attacker ("cart", "rf", "gbm", ...) or a scikit-learn estimator.
    repeats : int, default 5
        Shuffles of each predictor.
    replicates : int, default 19
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of shuffles, deals and model.
    n_jobs : int, optional
        Threads of models that can use several; the figures do not depend on it.

    Returns
    -------
    Result
        ``value``: rank correlation of the two importances, -1 to 1, 1 is the same order. ``details`` has the
        importances of both models, Pearson's correlation and the mean difference of the shares; ``to_frame`` has one
        row per predictor.

    Notes
    -----
    One model is trained on the original, one on the release; both are asked about the same real records (the holdout,
    else the original). The importance of a predictor is the rise of the error when it is shuffled; value is
    Spearman's correlation of the importances. Weights are ignored.

    References
    ----------
    Breiman (2001), Random forests, on permutation importance. The comparison of ranks is that of riskutility.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> gh.utility.feature_importance(pair, replicates=0).details["importance"].keys()
    dict_keys(['gender', 'age', 'education'])
    """
    from glasshouse.engines.models.model import fit

    made = task(pair, predictors)
    if len(made.predictors) < 2:
        raise NotApplicable("needs at least two predictors to rank; name them with predictors=[...]")
    asked = "holdout" if pair.has_holdout else "original"

    questions, answers = made.designs[asked].take(made.order[asked]), made.response[asked][made.order[asked]]

    def importance(training: str, rows: np.ndarray | None) -> np.ndarray:
        rows = made.sorted(training, rows)
        table, response = made.designs[training].take(rows), made.response[training][rows]
        grown = fit(model, table, response, n_classes=made.n_classes, random_state=random_state, n_jobs=n_jobs)
        rises = grown.permutation_importance(questions, answers, repeats=repeats, random_state=random_state)
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

    def agreement(rows_x: Rows, rows_y: Rows) -> float | None:
        return _rank_correlation(*(x if rows is None else importance("pool", rows) for rows in (rows_x, rows_y)))

    with threads(n_jobs):
        null = resampled(pair, agreement, replicates=replicates, random_state=random_state, keep=made.keep)
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
