"""Do the measures of one side agree? Cronbach's alpha and McDonald's omega over releases."""

from __future__ import annotations

from typing import Any

import numpy as np

FEWEST = 8  # releases; below, both figures are noise


def cronbach_alpha(values: np.ndarray, drop_constant: bool = True) -> float | None:
    """alpha = k/(k-1) (1 - sum var_i / var(sum)) over complete releases; None when undefined.

    A measure that is equal for all releases is an item without variance; riskutility keeps it
    (``drop_constant=False``), which pulls alpha down.
    """
    table = values[np.isfinite(values).all(axis=1)]
    if drop_constant and len(table) > 1:
        table = table[:, table.std(axis=0) > 1e-12]
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    total = float(table.sum(axis=1).var(ddof=1))
    if total <= 0:
        return None
    return float(k / (k - 1) * (1 - table.var(axis=0, ddof=1).sum() / total))


def mcdonald_omega(values: np.ndarray) -> dict[str, Any] | None:
    """omega = (sum lambda)^2 / ((sum lambda)^2 + sum psi) of a one-factor model on correlations; None when undefined.

    Maximum likelihood with uniquenesses of at least 0.005 (Lawley & Maxwell 1971; McDonald 1999). Signs are turned so
    that the sum of loadings is positive. Needs clearly more releases than measures, and three measures.
    """
    table = values[np.isfinite(values).all(axis=1)]
    if len(table) > 1:
        table = table[:, table.std(axis=0) > 1e-12]
    n, k = table.shape
    if k < 3 or n <= k:
        return None
    correlation = np.corrcoef(table, rowvar=False)
    if np.linalg.matrix_rank(correlation) < k:
        return None
    loadings, unique = one_factor(correlation)
    loadings = loadings * (1 if loadings.sum() >= 0 else -1)
    common = float(loadings.sum()) ** 2
    return {
        "omega": common / (common + float(unique.sum())),
        "loadings": loadings.tolist(),
        "uniquenesses": unique.tolist(),
    }


def one_factor(correlation: np.ndarray, smallest: float = 0.005) -> tuple[np.ndarray, np.ndarray]:
    """Loadings and uniquenesses of the maximum-likelihood one-factor model.

    The likelihood is concentrated over the loadings: f(psi) = sum over all but the largest eigenvalue e of psi^-1/2 R
    psi^-1/2 of (e - log e) - k + 1.
    """
    from scipy.optimize import minimize

    k = len(correlation)

    def parts(psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = 1 / np.sqrt(psi)
        return np.linalg.eigh(correlation * np.outer(root, root))

    def loading(psi: np.ndarray) -> np.ndarray:
        size, vectors = parts(psi)
        made: np.ndarray = np.sqrt(psi) * vectors[:, -1] * np.sqrt(max(float(size[-1]) - 1, 0.0))
        return made

    def objective(psi: np.ndarray) -> tuple[float, np.ndarray]:
        size = np.maximum(parts(psi)[0][:-1], 1e-300)
        lam = loading(psi)
        slope = (lam**2 + psi - np.diag(correlation)) / psi**2
        return float((size - np.log(size)).sum()) - k + 1, slope

    start = np.clip((1 - 0.5 / k) / np.diag(np.linalg.inv(correlation)), smallest, 1.0)
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(smallest, 1.0)] * k,
        options={"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return loading(found.x), found.x
