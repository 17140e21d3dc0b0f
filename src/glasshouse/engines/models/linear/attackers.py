"""Linear attackers on coded keys: least squares, logistic and multinomial regression, and the lasso."""

from __future__ import annotations

import numpy as np

from glasshouse.core.threads import one_blas_thread
from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear import kernel
from glasshouse.engines.models.linear.coding import DENSE_COLUMNS, SEPARATED, STOPPED, Coding, LinearModel
from glasshouse.engines.models.linear.lasso import fit_l1
from glasshouse.engines.models.linear.multinomial import fit_multinomial
from glasshouse.engines.models.linear.solve import solve_symmetric
from glasshouse.engines.models.registry import Training, attacker


@attacker("logit", spoken="a logistic regression", targets=("classes",))
def logit(training: Training, *, max_iter: int = 25) -> LinearModel:
    """Logistic regression; multinomial for three or more classes."""
    return fit_logit(training.table, training.y, training.n_classes or 2, max_iter=max_iter)


@attacker("l1", spoken="a lasso logistic regression", targets=("classes",), needs_seed=True)
def l1(training: Training, *, penalty: float | None = None, folds: int = 5) -> LinearModel:
    """Logistic regression with an absolute-value penalty, cross-validated when it is not given."""
    return fit_l1(
        training.table,
        training.y,
        training.n_classes or 2,
        penalty=penalty,
        folds=folds,
        random_state=training.random_state,
    )


@attacker("lm", spoken="a linear regression", targets=("numbers",))
def lm(training: Training) -> LinearModel:
    """Least squares."""
    return fit_lm(training.table, training.y)


def fit_lm(training: Design, y: np.ndarray) -> LinearModel:
    """Ordinary least squares of a number on coded keys.

    Parameters
    ----------
    training
        Coded keys.
    y
        One number per record.

    Returns
    -------
    LinearModel
        With one output.
    """
    coding = Coding(training)
    columns, values, q = coding.columns, coding.values, coding.q
    mean = float(y.mean())
    right = kernel.project(columns, values, (y - mean)[:, None], q)[:, 0]
    beta = np.zeros(q + 1)
    if q <= DENSE_COLUMNS:
        used = np.append(True, coding.kept)
        cross = kernel.gram(columns, values, np.ones(len(y)), q)
        beta[used] = solve_symmetric(cross[np.ix_(used, used)], right[used])
    else:
        from scipy.sparse.linalg import LinearOperator, cg

        def times(b: np.ndarray) -> np.ndarray:
            return kernel.project(columns, values, kernel.linear_predictor(columns, values, b[:, None]), q)[:, 0]

        beta = cg(LinearOperator((q + 1, q + 1), matvec=times, dtype=np.float64), right, rtol=1e-10, maxiter=2000)[0]
    beta[0] += mean
    return LinearModel("numeric", coding, beta[:, None])


@one_blas_thread()
def fit_logit(training: Design, y: np.ndarray, n_classes: int, *, max_iter: int = 25) -> LinearModel:
    """Unpenalised maximum likelihood on coded keys.

    Parameters
    ----------
    training
        Coded keys.
    y
        Class codes 0..n_classes-1, each class present.
    n_classes
        Two: iteratively reweighted least squares. More: a multinomial logit by Newton's method.
    max_iter
        Most reweightings for two classes.

    Returns
    -------
    LinearModel
        Its notes say when the classes are separated or the fit did not converge.
    """
    coding = Coding(training)
    if n_classes == 2 and coding.q <= DENSE_COLUMNS:
        beta, notes = _reweighted(coding, y.astype(np.float64), max_iter)
        return LinearModel("binary", coding, beta[:, None], notes)
    beta, notes = fit_multinomial(coding, training, y, n_classes)
    if n_classes == 2:
        return LinearModel("binary", coding, beta[:, 1:], notes)
    return LinearModel("multinomial", coding, beta, notes)


def _reweighted(coding: Coding, y: np.ndarray, max_iter: int) -> tuple[np.ndarray, list[str]]:
    """Stops when the deviance changes by less than 1e-8 of (|deviance| + 0.1), the rule of the usual glm software."""
    from scipy.special import expit

    columns, values, q = coding.columns, coding.values, coding.q
    used = np.append(True, coding.kept)
    mean = (y + 0.5) / 2.0
    eta = np.log(mean / (1 - mean))
    deviance, notes = np.inf, list[str]()
    beta = np.zeros(q + 1)
    for _ in range(max_iter):
        mean = expit(eta)
        # a record far on the wrong side has hardly any weight, but its residual of one must stay in
        weight = np.maximum(mean * (1 - mean), np.finfo(float).eps)
        working = weight * eta + (y - mean)
        cross = kernel.gram(columns, values, weight, q)[np.ix_(used, used)]
        beta[used] = solve_symmetric(cross, kernel.project(columns, values, working[:, None], q)[used, 0])
        eta = kernel.linear_predictor(columns, values, beta[:, None])[:, 0]
        previous, deviance = deviance, 2.0 * float(np.logaddexp(0, np.where(y > 0.5, -eta, eta)).sum())
        if abs(deviance - previous) / (abs(deviance) + 0.1) < 1e-8:
            break
    else:
        notes.append(STOPPED)
    if (np.abs(eta) > 30).any():
        notes.append(SEPARATED)
    return beta, notes
