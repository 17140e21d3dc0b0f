"""The fits behind the headline of regression fidelity: one table, one formula, a response or several classes of it.

Three and more classes are fitted one against the rest, and all that a fit needs but the response is the same for each:
it is made once per table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.engines.canonical import Alike
from glasshouse.engines.models.linear.rank import independent_columns
from glasshouse.engines.models.linear.regression import Fitted, least_squares, logistic, variance
from glasshouse.utility.predictive.formula import ModelFrame


class TermFit(NamedTuple):
    """A fit on the columns that can be estimated, which those are, and the covariance of the estimates."""

    fit: Fitted
    estimable: np.ndarray
    covariance: np.ndarray


def term_fits(frame: ModelFrame, targets: Sequence[np.ndarray], kind: str) -> list[TermFit]:
    """The fits on the raw scale, solved on centred and scaled columns.

    Records come in the order of their content: where classes are all but separated, the steps of the fit carry the last
    digit of a sum into the first digits of a coefficient.

    Parameters
    ----------
    frame
        The table under the formula.
    targets
        One response, or one per class.
    kind
        "gaussian" or "binomial".

    Returns
    -------
    list of TermFit
        One per response.
    """
    alike, intercept = Alike.of(frame.design), frame.names[0] == "Intercept"
    raw = alike.rows[:, 1:] if intercept else alike.rows
    centre = raw.mean(axis=0) if intercept else np.zeros(raw.shape[1])
    spread = raw.std(axis=0)
    scale = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(raw).max(axis=0, initial=0)), spread, 1.0)
    scaled = raw - centre
    scaled /= scale
    alike, raw = alike.bare(), scaled  # a million records by their columns are not kept twice
    kept = independent_columns(scaled)
    design = np.column_stack([np.ones(len(scaled)), scaled[:, kept]]) if intercept else scaled[:, kept]
    del raw, scaled
    back = np.diag(np.concatenate([[1.0], 1 / scale[kept]]) if intercept else 1 / scale[kept])
    if intercept:
        back[0, 1:] = -centre[kept] / scale[kept]
    estimable = np.concatenate([[True], kept]) if intercept else kept
    made = []
    for target in targets:
        # rows that say the same are in the order of the response, flags being sorted as such in one go
        keys = [] if frame.weights is None else [frame.weights]
        order = alike.by(*keys, target.astype(np.int8) if kind == "binomial" else target)
        weights = None if frame.weights is None else frame.weights[order]
        made.append(_fit(design, back, estimable, target[order], kind, weights))
    return made


def _fit(
    design: np.ndarray,
    back: np.ndarray,
    estimable: np.ndarray,
    target: np.ndarray,
    kind: str,
    weights: np.ndarray | None,
) -> TermFit:
    """One fit; ``back`` takes coefficients to the raw scale, and ``estimable`` says to which columns."""
    if target.std() == 0 and kind == "binomial":
        empty = Fitted(np.zeros(0), np.zeros(0), target, None, ("the response has one class in one of the tables",))
        return TermFit(empty, np.zeros(len(estimable), bool), np.zeros((0, 0)))
    if len(target) <= design.shape[1]:
        raise NotApplicable(f"{design.shape[1]} coefficients for {len(target)} records; use a smaller formula")
    fit = (least_squares if kind == "gaussian" else logistic)(design, target, weights)
    covariance = back @ _covariance(design, target, fit, kind, weights) @ back.T
    values, errors = back @ fit.coefficients, np.sqrt(np.maximum(np.diag(covariance), 0.0))
    known = np.isfinite(values) & np.isfinite(errors)  # squares of some numbers are beyond all numbers
    there = estimable.copy()
    there[there] = known
    return TermFit(
        Fitted(values[known], errors[known], np.zeros(0), fit.df, fit.notes), there, covariance[np.ix_(known, known)]
    )


def _covariance(
    design: np.ndarray, target: np.ndarray, fit: Fitted, kind: str, weights: np.ndarray | None
) -> np.ndarray:
    w = np.ones(len(target)) if weights is None else weights / weights.mean()
    curve = w if kind == "gaussian" else w * variance(fit.fitted)
    half = design * np.sqrt(curve)[:, None]
    bread = np.linalg.pinv(half.T @ half, hermitian=True)
    if weights is not None:
        half = design * (w * (target - fit.fitted))[:, None]
        made: np.ndarray = bread @ (half.T @ half) @ bread
        return made * (len(target) / (fit.df or len(target))) if kind == "gaussian" else made
    if kind == "gaussian":
        bread = bread * (float(((target - fit.fitted) ** 2).sum()) / max(fit.df or 1.0, 1.0))
    return bread
