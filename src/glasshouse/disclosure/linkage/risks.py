"""From the risk of every query to figures of the whole release: spread, chance, alignment, and what limits look at."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from glasshouse.disclosure.linkage.matching import Choice, Outcome, independent
from glasshouse.engines.pairs.scores import Mixed


class RiskFigures(TypedDict):
    """Figures on all queries."""

    mean_risk: float
    max_risk: float
    n_gt_0_1: int
    n_eq_1: int
    share_above_threshold: float
    share_above_half: float
    gini: float | None
    mean_candidates: float
    share_true_in_set: float
    share_with_candidates: float
    chance: float
    unique_by_chance: float


def risk_figures(outcome: Outcome, true: np.ndarray, searched: int, risk_threshold: float) -> RiskFigures:
    """How the risk is spread over all queries.

    Parameters
    ----------
    outcome : Outcome
        Risk and candidate set of every query.
    true : ndarray
        The true match of every query, -1 for none.
    searched : int
        Records searched.
    risk_threshold : float
        Risk above which ``share_above_threshold`` counts.

    Returns
    -------
    RiskFigures
        ``chance`` is the mean risk with a random truth.
    """
    risk = outcome.risk
    n = len(risk)
    ordered = np.sort(risk)
    total = float(risk.sum())
    gini = float(2 * (np.arange(1, n + 1) * ordered).sum() / (n * total) - (n + 1) / n) if total > 0 else None
    filled, has_match = outcome.size > 0, true >= 0
    in_set = has_match & (risk > 0)
    return {
        "mean_risk": float(risk.mean()),
        "max_risk": float(risk.max()),
        "n_gt_0_1": int((risk > 0.1 + 1e-12).sum()),
        "n_eq_1": int((risk >= 1 - 1e-12).sum()),
        "share_above_threshold": float((risk > risk_threshold).mean()),
        "share_above_half": float((risk > 0.5).mean()),
        "gini": gini,
        "mean_candidates": float(outcome.size.mean()),
        "share_true_in_set": float(in_set.mean()),
        "share_with_candidates": float(filled.mean()),
        "chance": float((filled & has_match).mean() / searched),
        "unique_by_chance": float(((outcome.size == 1) & has_match).sum() / searched),
    }


def self_linked(scores: Mixed, choice: Choice) -> float:
    """Mean risk of the originals linked with themselves: what sample uniqueness alone would give.

    Parameters
    ----------
    scores : Mixed
        Scores of originals and released records.
    choice : Choice
        How candidates are chosen and weighed.

    Returns
    -------
    float
    """
    n = scores.shape[0]
    twin = Mixed((scores.numbers[0],) * 2, (scores.codes[0],) * 2, scores.weights, scores.rule, scores.n_jobs)
    return float(independent(twin, np.arange(n), choice).risk.mean())


def alignment(outcome: Outcome) -> float | None:
    """Probability that randomly drawn records are on average as close as the true matches.

    Parameters
    ----------
    outcome : Outcome
        Scores of the true matches, with mean and variance over all records.

    Returns
    -------
    float or None
        From the normal limit with exact moments; None where all scores are equal.
    """
    known = np.isfinite(outcome.true_score) & np.isfinite(outcome.mean)
    spread = float(outcome.variance[known].sum())
    if not known.any() or spread <= 0:
        return None
    from scipy.stats import norm

    return float(norm.cdf((outcome.true_score[known] - outcome.mean[known]).sum() / np.sqrt(spread)))


def limited(figures: RiskFigures, n: int) -> dict[str, float]:
    """What the limits look at: mean risk above chance, shares of people more likely found than not, and for sure.

    Parameters
    ----------
    figures : RiskFigures
        Figures on all queries.
    n : int
        Queries.

    Returns
    -------
    dict of str to float

    Notes
    -----
    Counts must exceed what chance alone gives (its mean plus two standard deviations), else a small file could not
    pass; those that do not are 0.
    """
    lucky = figures["unique_by_chance"]
    surely = lucky + 2 * np.sqrt(max(lucky, 1.0))
    likely, certain = figures["share_above_half"], figures["n_eq_1"]
    return {
        "above_chance": figures["mean_risk"] - figures["chance"],
        "likely_found": likely if likely * n > surely else 0.0,
        "surely_found": certain / n if certain > surely else 0.0,
    }
