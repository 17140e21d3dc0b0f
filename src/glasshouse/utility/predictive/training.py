"""Is the release good for training models?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.contents import canonical_rows
from glasshouse.utility.deals import Deal, in_deals, pool
from glasshouse.utility.figures import Columns, ignored_weights
from glasshouse.utility.nulls import Band, band, judged, shared_out
from glasshouse.utility.predictive.models import Learner, Task, fit_linear, name_of, predictions, ratio, score, task
from glasshouse.utility.predictive.same import Same

TEST_SHARE = 0.3
LOOSE = 1e-4  # a fit that only orders records in a band needs no more
SEPARATED = 30.0  # on the logit scale: a probability of one


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
    influence="free",
    wide="unkeyed",
)
def tstr(
    pair: Pair,
    *,
    predictors: Columns = None,
    model: Learner = "linear",
    test_rows: Sequence[int] | None = None,
    equal_sizes: bool = False,
    draws: int = 39,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Train on the release, test on real records: what share of the original's predictive power is left?

    One model is trained on the original (TRTR) and one on the release (TSTR); both are tested on the same real
    records: the holdout if there is one, else a part of the original.

    Parameters
    ----------
    pair : Pair
        Original and release, with a target; with a holdout the test is honest.
    predictors : list of str or str, optional
        Columns to predict from; default: the keys, or all other columns.
    model : str or estimator, default "linear"
        "linear" (least squares, or one logistic regression per class), the name of an attacker ("rf", "cart", "gbm",
        ...) or a scikit-learn estimator.
    test_rows : sequence of int, optional
        Records of the original to test on, counted from 0 among those with a target value; default: the holdout, else
        30 % of the original at random.
    equal_sizes : bool, default False
        Train both on the same number of records.
    draws : int, default 39
        Deals of the training records behind the band of a perfect synthesiser, for the linear model only; 0 for no
        band. Where a model is fitted for each of several classes they share these, with no fewer than 19 each.
    random_state : int, Generator or None, default 0
        Seed of split, draws and model.
    n_jobs : int, optional
        Threads of models that can use several; the figures do not depend on it.

    Returns
    -------
    Result
        ``value``: the ratio, 1 when the release predicts as well as the original. More than the band is no alarm: a
        copy predicts as well as the original, not better. ``details`` has both scores (``trtr_r2`` and ``tstr_r2``, or
        ``trtr_auc`` and ``tstr_auc``), the table tested on and the sizes.

    Notes
    -----
    value = TSTR / TRTR of R^2 for numbers, (TSTR - 0.5) / (TRTR - 0.5) of AUC for classes (one against the rest, mean
    over classes); not below 0. For the band the linear model is fitted anew to original and released training records
    dealt at random to two tables. Weights are ignored.

    References
    ----------
    Esteban, Hyland & Rätsch (2017), Real-valued (medical) time series generation with recurrent conditional GANs.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.tstr(pair, draws=20)
    >>> round(found.value, 3), found.details["tested_on"]
    (1.017, 'holdout')
    """
    made = task(pair, predictors)
    train, asked, test = _split(pair, made, test_rows, random_state)
    truth = made.response[asked] if test is None else made.response[asked][test]
    released = None
    n_train = len(made.response["original"]) if train is None else len(train)
    if equal_sizes:
        size = min(n_train, len(made.response["released"]))
        rng = generator(random_state, "tstr", "sizes")
        train = np.sort(rng.permutation(made.sorted("original", train))[:size])
        released = np.sort(rng.permutation(made.order["released"])[:size])
    real = score(made, predictions(made, model, "original", train, asked, test, random_state, n_jobs), truth)
    synthetic = score(made, predictions(made, model, "released", released, asked, test, random_state, n_jobs), truth)
    value = ratio(made, synthetic, real)
    if value is None:
        raise NotApplicable(
            "models trained on the original itself predict this target no better than guessing, so there is "
            "nothing to keep; choose other predictors"
        )
    linear = isinstance(model, str) and model == "linear"
    null = _tstr_null(pair, made, train, asked, test, draws, random_state) if linear else None
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
            "model": name_of(model),
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
                {"model": metric, "table": "original", "value": real},
                {"model": metric, "table": "released", "value": synthetic},
            ],
            "metric": metric,
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
    pair: Pair,
    made: Task,
    train: np.ndarray | None,
    asked: str,
    test: np.ndarray | None,
    draws: int,
    random_state: RandomState,
) -> Band | None:
    """Ratios of models trained on two tables dealt from the training records of both; the test records stay out."""
    truth = made.response[asked] if test is None else made.response[asked][test]
    keep = made.keep.copy()
    if train is not None:
        rest = np.ones(len(made.response["original"]), bool)
        rest[train] = False
        keep[np.flatnonzero(keep)[: len(rest)][rest]] = False
    place = np.cumsum(made.keep) - 1
    matrix, response = made.matrices["pool"], made.response["pool"]
    same = Same.of([*made.designs["pool"].codes.T], response)
    if same is not None:
        matrix, response = matrix[same.first], response[same.first]
    questions = made.matrices[asked] if test is None else made.matrices[asked][test]

    start: np.ndarray | None = None
    if same is not None and made.n_classes is not None:
        rows, times = same.counted(place[np.flatnonzero(keep)])
        start = fit_linear(matrix[rows], response[rows], made.n_classes, 1e-4, times)
        if np.abs(matrix[rows] @ start).max() > SEPARATED:
            start = None  # coefficients without an end are no beginning

    def scored(dealt: np.ndarray) -> float | None:
        if same is None:
            predicted = predictions(made, "linear", "pool", dealt, asked, test, random_state, None, LOOSE)
        else:
            rows, times = same.counted(dealt)
            found = questions @ fit_linear(matrix[rows], response[rows], made.n_classes, LOOSE, times, start)
            predicted = found[:, 0] if made.n_classes is None else found
        return score(made, predicted, truth)

    def between(dealt: Deal) -> float | None:
        one, other = (scored(place[rows]) for rows in (dealt.x, dealt.y))
        return ratio(made, other, one)

    found = in_deals(pair, between, range(shared_out(draws, made.fits)), random_state, keep)
    return band(found, (), f"{len(found)} {pool(pair, keep).how}")
