"""Expected counts of key combinations under a log-linear model (Skinner and Shlomo 2008).

Without interactions the fit is the product of the margins and needs no table of all combinations. Interactions, an
offset or a weight covariate need that table, which is refused beyond ``LARGEST_GRID`` cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glasshouse.core.errors import InputError

MODELS = ("default", "CE", "PML", "weightedLLM", "IPF")
LARGEST_GRID = 5_000_000
LARGEST_DESIGN = 20_000_000


def expected_counts(
    codes: np.ndarray,
    sizes: np.ndarray,
    weights: np.ndarray,
    model: str,
    interactions: Sequence[Sequence[int]],
    fraction: float,
) -> np.ndarray:
    """Fitted mean mu of each key class.

    Parameters
    ----------
    codes : ndarray
        Key codes of the classes: one row per class, one column per key, from 0 without gaps.
    sizes, weights : ndarray
        Records f and sum of survey weights F per class.
    model : {"default", "IPF", "CE", "PML", "weightedLLM"}
        The log-linear model, see the notes.
    interactions : sequence of sequences of int
        Sets of columns whose interactions the model holds; for "default", "IPF" and "CE".
    fraction : float
        Sampling fraction, which brings weighted counts to the size of the file.

    Returns
    -------
    ndarray
        mu of every class.

    Notes
    -----
    "default": Poisson main effects, mu = n prod (n_v / n). "IPF": the same or with interactions, by iterative
    proportional fitting on the observed margins. "CE" (Clogg and Eliason): offset log(f / F + 0.1). "PML": pseudo
    maximum likelihood, the margins of the weighted counts, brought to the size of the file. "weightedLLM": the
    weighted count as an explanatory variable.

    References
    ----------
    .. [1] Skinner and Shlomo (2008), Assessing identification risk in survey microdata using log-linear models.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> sizes = np.array([3, 1, 1, 3])
    >>> expected_counts(codes, sizes, sizes, "default", (), 1.0).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    if model not in MODELS:
        raise InputError(f"model={model!r}: choose one of {', '.join(MODELS)}")
    if interactions and model not in ("default", "IPF", "CE"):
        raise InputError(f"interactions cannot be combined with model={model!r}; use model='IPF'")
    if model == "PML":
        return _product(codes, weights) * fraction
    if model in ("default", "IPF") and not interactions:
        return _product(codes, sizes)
    shape = [int(c.max()) + 1 for c in codes.T]
    cells = int(np.prod(shape, dtype=object))
    if cells > LARGEST_GRID:
        raise InputError(
            f"this model needs a table of {cells:,} key combinations, more than {LARGEST_GRID:,}; use fewer or "
            "coarser keys, or main effects"
        )
    at = tuple(codes.T)
    count, weight = np.zeros(shape), np.zeros(shape)
    np.add.at(count, at, sizes)
    np.add.at(weight, at, weights)
    margins = [*[tuple(sorted(set(i))) for i in interactions]]
    margins += [(k,) for k in range(len(shape)) if not any(k in m for m in margins)]
    if model == "weightedLLM":
        return _with_covariate(count, weight)[at]
    start = np.ones(shape) if model != "CE" else np.divide(count, weight, out=np.zeros(shape), where=weight > 0) + 0.1
    return proportional_fit(count, margins, start)[at]


def _product(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    total = float(sizes.sum())
    fitted = np.full(len(codes), total)
    for column in codes.T:
        fitted *= np.bincount(column, weights=sizes)[column] / total
    return fitted


def proportional_fit(
    count: np.ndarray, margins: Sequence[Sequence[int]], start: np.ndarray, tolerance: float = 1e-12, most: int = 2000
) -> np.ndarray:
    """Scale a table until its margins agree with those counted: the maximum likelihood fit of a log-linear model.

    Parameters
    ----------
    count : ndarray
        Counts, one axis per key.
    margins : sequence of sequences of int
        The axes of each margin that has to agree.
    start : ndarray
        Table to start from; its logarithm is the offset of the model.
    tolerance : float, default 1e-12
        Largest relative change of a pass that counts as none.
    most : int, default 2000
        Passes at most.

    Returns
    -------
    ndarray
        The fitted table.

    Examples
    --------
    >>> proportional_fit(np.array([[3.0, 1.0], [1.0, 3.0]]), [(0,), (1,)], np.ones((2, 2))).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    fitted = start * (count.sum() / start.sum())
    axes = [tuple(k for k in range(count.ndim) if k not in margin) for margin in margins]
    wanted = [count.sum(axis=a, keepdims=True) for a in axes]
    for _ in range(most):
        change = 0.0
        for a, goal in zip(axes, wanted, strict=True):
            have = fitted.sum(axis=a, keepdims=True)
            scale = np.divide(goal, have, out=np.zeros_like(goal), where=have > 0)
            fitted = fitted * scale
            change = max(change, float(np.abs(scale - 1)[goal > 0].max(initial=0.0)))
        if change < tolerance:
            break
    return fitted


def _with_covariate(count: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Poisson main effects plus the weighted count, by iteratively reweighted least squares on the table of all
    combinations.
    """
    columns = 2 + sum(s - 1 for s in count.shape)
    if columns * count.size > LARGEST_DESIGN:
        raise InputError(
            f"this model needs a design of {columns} columns by {count.size:,} rows; use model='CE' or fewer keys"
        )
    grid = np.indices(count.shape).reshape(count.ndim, -1)
    parts: list[np.ndarray] = [np.ones(count.size), weight.ravel() / max(weight.max(), 1e-300)]
    parts += [(grid[v] == level).astype(float) for v in range(count.ndim) for level in range(1, count.shape[v])]
    design, y = np.stack(parts, axis=1), count.ravel()
    mu = y + 0.1
    eta = np.log(mu)
    for _ in range(200):
        working = eta + (y - mu) / mu
        root = np.sqrt(mu)
        beta, *_ = np.linalg.lstsq(design * root[:, None], working * root, rcond=None)
        eta = np.clip(design @ beta, -700, 50)
        updated = np.exp(eta)
        if np.abs(updated - mu).max() <= 1e-10 * max(1.0, updated.max()):
            mu = updated
            break
        mu = updated
    made: np.ndarray = mu.reshape(count.shape)
    return made
