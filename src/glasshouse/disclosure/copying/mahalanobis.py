"""Mahalanobis distances of originals to their nearest release record, classical and robust."""

from __future__ import annotations

import numpy as np

from glasshouse.core.plain import percent
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.disclosure.copying.boxes import Rows
from glasshouse.engines.workers import share_out

SATURATED = 0.9
TREE_COLUMNS = 20  # up to which a tree finds the nearest record sooner than a comparison with all
ROBUST = 10_000  # people the robust covariance is computed from: a scale needs no more, and its search costs a lot each


def mahalanobis_shares(
    tables: dict[str, Rows], alpha: float, random_state: RandomState, notes: list[str]
) -> dict[str, float]:
    """Nearest release record in Mahalanobis distance, classical and robust covariance of the complete originals."""
    from scipy.stats import chi2

    whole = {name: table.complete() for name, table in tables.items()}
    original = whole["original"].every
    p = original.shape[1]
    if p < 2 or len(original) <= p + 1 or not len(whole["released"].every):
        notes.append("Mahalanobis distances need two numeric columns and more complete records than columns")
        return {}
    if not (original.max(axis=0) > original.min(axis=0)).all():
        notes.append("a numeric column is constant in the original, so there are no Mahalanobis distances")
        return {}
    threshold = float(np.sqrt(chi2.ppf(1 - alpha, p)))
    details: dict[str, float] = {}
    for name, covariance in (
        ("classical", np.cov(original, rowvar=False)),
        ("robust", _robust_covariance(original, random_state, notes)),
    ):
        if covariance is None or np.linalg.matrix_rank(covariance) < p:
            notes.append(f"the {name} covariance is singular, so it gives no Mahalanobis distance")
            continue
        distance = _nearest_whitened(whole["original"], whole["released"], covariance)
        prefix = "min_rmd" if name == "classical" else "min_rmd_robust"
        share = float((distance < threshold).mean())
        details |= {
            f"rmd_{name}_threshold": threshold,
            f"rmd_{name}": share,
            f"{prefix}_mean": float(distance.mean()),
            f"{prefix}_median": float(np.median(distance)),
            f"{prefix}_max": float(distance.max()),
        }
        if share > SATURATED:
            notes.append(
                f"the {name} Mahalanobis share is saturated ({percent(share, 0)} of originals): its radius fits one "
                "observation, not the nearest of many; read the AUC against the holdout instead"
            )
        if "holdout" in whole and len(whole["holdout"].every):
            reach = _nearest_whitened(whole["holdout"], whole["released"], covariance)
            details[f"rmd_{name}_auc"] = _closer_auc(distance, reach)
    return details


def _nearest_whitened(people: Rows, released: Rows, covariance: np.ndarray) -> np.ndarray:
    from scipy.linalg import cholesky, solve_triangular
    from scipy.spatial import cKDTree

    root = cholesky(covariance, lower=True)
    asked, others = (solve_triangular(root, table.distinct.T, lower=True).T for table in (people, released))
    if len(covariance) > TREE_COLUMNS:  # a tree of so many columns skips nobody
        from sklearn.metrics import pairwise_distances_argmin

        near = others[pairwise_distances_argmin(asked, others)]
        return np.asarray(np.sqrt(((asked - near) ** 2).sum(axis=1)))[people.back]
    tree, distance = cKDTree(others), np.empty(len(asked))

    def look_up(start: int, stop: int) -> None:
        distance[start:stop] = tree.query(asked[start:stop], k=1)[0]

    share_out(look_up, len(asked))
    return distance[people.back]


def _robust_covariance(original: np.ndarray, random_state: RandomState, notes: list[str]) -> np.ndarray | None:
    """MCD after dividing by a robust scale; shrinkage when half the records agree in a column and the MCD collapses."""
    import warnings

    from sklearn.covariance import LedoitWolf, MinCovDet

    # subsets are drawn by place: the same people whatever the order of the rows
    original = original[np.lexsort(original.T)]
    if len(original) > ROBUST:
        notes.append(
            f"the robust covariance comes from {ROBUST:,} of {len(original):,} complete originals, drawn at random; "
            "the distances are those of all of them"
        )
        drawn = generator(random_state, "drisk mcd", "people").choice(len(original), ROBUST, replace=False)
        original = original[np.sort(drawn)]
    scale = np.array([_robust_scale(column) for column in original.T])
    scaled = (original - np.median(original, axis=0)) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = integer_seed(random_state, "drisk mcd")
        try:
            mcd = np.asarray(MinCovDet(random_state=seed).fit(scaled).covariance_)
        except ValueError:  # more than half of the records lie in one point
            mcd = np.full((scaled.shape[1],) * 2, np.nan)
    variances = scaled.var(axis=0)
    degenerate = not np.isfinite(mcd).all() or (np.diag(mcd) < 0.01 * variances).any() or np.linalg.cond(mcd) > 1e10
    if degenerate:
        notes.append(
            "the robust covariance collapses (many equal values in a column); shrinkage covariance used instead"
        )
        mcd = np.asarray(LedoitWolf().fit(scaled).covariance_)
    return mcd * np.outer(scale, scale)


def _robust_scale(column: np.ndarray) -> float:
    """Median absolute deviation, at least the smallest step between different values."""
    steps = np.diff(np.unique(column))
    floor = float(steps.min()) if len(steps) else 1.0
    return max(float(np.median(np.abs(column - np.median(column)))), floor)


def _closer_auc(original: np.ndarray, holdout: np.ndarray) -> float:
    """Chance that an original is nearer to the release than a holdout record, ties half."""
    ordered = np.sort(np.round(holdout, 10))
    asked = np.round(original, 10)
    below = np.searchsorted(ordered, asked, side="left")
    upto = np.searchsorted(ordered, asked, side="right")
    return float(1 - (below + upto).mean() / (2 * len(ordered)))
