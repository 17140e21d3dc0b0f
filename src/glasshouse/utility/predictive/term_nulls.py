"""What overlap of coefficient intervals a perfect synthesiser would reach: the same model fitted to dealt tables.

A formula is fitted hundreds of times here, so columns are scaled once for the pool, records that say the same are one
row that counts as often, and what can be estimated in a dealt table is read from its cross-products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.canonical import Alike
from glasshouse.engines.models.linear.rank import independent_in_cross
from glasshouse.engines.models.linear.regression import logistic, variance
from glasshouse.utility.deals import Deal, in_deals, pool
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.nulls import Band, band, shared_out
from glasshouse.utility.predictive.formula import ModelFrame
from glasshouse.utility.predictive.same import WORTH, Same

LOOSE = 1e-8  # ends a fit whose classes overlap: one step later it would not have moved
NEARLY = 1e-5  # a variance below which an outcome is all but certain, and a loose fit may have ended on its way


class Scaled(NamedTuple):
    """A design in units of its own spread; ``back`` takes coefficients to the raw scale."""

    design: np.ndarray
    back: np.ndarray


def scaled(frame: ModelFrame, ordered: np.ndarray, rows: np.ndarray | slice) -> Scaled:
    """The columns centred and scaled, the intercept (if any) left alone.

    Sums run over records in the order of their content: where classes are all but separated, the last digit of a scale
    is the first digits of a coefficient, and the order of the file would be seen.

    Parameters
    ----------
    frame, ordered
        All records, and their design in that order.
    rows
        Which of them are asked for.

    Returns
    -------
    Scaled
    """
    raw, intercept = frame.design[rows], frame.names[0] == "Intercept"
    spread = ordered.std(axis=0)
    scale = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(ordered).max(axis=0, initial=0)), spread, 1.0)
    centre = ordered.mean(axis=0) if intercept else np.zeros(raw.shape[1])
    if intercept:
        scale[0], centre[0] = 1.0, 0.0
    back = np.diag(1 / scale)
    if intercept:
        back[0, 1:] = -centre[1:] / scale[1:]
    return Scaled((raw - centre) / scale, back)


def overlap_null(
    pair: Pair,
    x: ModelFrame,
    y: ModelFrame,
    kind: str,
    confidence: float,
    draws: int,
    random_state: RandomState,
    correct: np.ndarray,
) -> tuple[Band | None, float | None]:
    """Band of the mean overlap over terms, and the figure to be read against it.

    Parameters
    ----------
    pair, x, y
        The tables, and their records under the formula.
    kind, confidence
        "gaussian" or "binomial", and the level of the intervals.
    draws, random_state
        How many deals, and their seed. Several classes, one fit each, share them.
    correct
        Overlaps [draws, terms] of correct synthesis.

    Returns
    -------
    (band, asked) : tuple of Band or None and float or None
        ``asked`` is the overlap of the two tables found as in a deal: where classes are separated, a coefficient is
        where a fit happened to end, and another way to the same fit ends elsewhere. None without draws.
    """
    if not draws:
        return None, None
    both = x.beside(y)
    keep = np.zeros(pair.n("original") + pair.n("released"), bool)
    keep[x.rows], keep[pair.n("original") + y.rows] = True, True
    place = np.cumsum(keep) - 1
    weights = [None if side.weights is None else both.weights for side in (x, y)]
    alike = Alike.of(both.design)
    same = _same(alike, both.response) if all(w is None for w in weights) else None
    asked_for = slice(None) if same is None else same.first
    data = scaled(both, alike.rows, asked_for)
    targets = _targets(both.response[asked_for], kind, both.classes)
    del alike
    usable = pool(pair, keep)

    def table(side: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if same is not None:
            return same.counted(place[side])
        return place[usable.by_content(side)], None

    starts = [_start(data, target, *table(usable.rows)) if kind == "binomial" else None for target in targets]

    def mean_overlap(dealt: Deal) -> float | None:
        tables = [table(side) for side in (dealt.x, dealt.y)]
        overlap = []
        for target, start in zip(targets, starts, strict=True):
            one, other = (
                _interval(data, target, rows, times, kind, w, confidence, start)
                for (rows, times), w in zip(tables, weights, strict=True)
            )
            overlap.append(_overlap(one, other))
        known = np.concatenate(overlap)
        return float(known.mean()) if known.size else None

    own, others = usable.rows[usable.own], usable.rows[~usable.own]
    asked = mean_overlap(Deal(own, others, own))
    found = in_deals(pair, mean_overlap, range(shared_out(draws, len(targets))), random_state, keep)
    # mean over all terms of all fits, so fits with more terms weigh more, as in the headline
    by_law = correct.mean(axis=1) if correct.size else ()
    return band(found, by_law, f"{len(found)} {usable.how}"), asked


def _same(alike: Alike, response: np.ndarray) -> Same | None:
    """Records equal in design and response, in the order of their values; None where hardly any are."""
    starts = np.flatnonzero(np.diff(alike.number, prepend=-1))
    if WORTH * len(starts) > len(response):
        return None
    place = np.empty(len(starts), np.int64)
    place[np.lexsort(alike.rows[starts].T[::-1])] = np.arange(len(starts))
    row = np.empty(len(response), np.int64)
    row[alike.order] = place[alike.number]
    return Same.of([row], response)


def _targets(response: np.ndarray, kind: str, classes: tuple[str, ...] | None) -> list[np.ndarray]:
    """The response of every fit: one, or one class against the rest for three and more."""
    if kind == "gaussian" or classes is None:
        return [response]
    seen = np.unique(response)
    return [(response == k).astype(float) for k in (seen[1:] if len(seen) == 2 else seen)]


def _start(data: Scaled, target: np.ndarray, rows: np.ndarray, times: np.ndarray | None) -> np.ndarray | None:
    """Coefficients in all records that may be dealt, 0 for what cannot be estimated: a fit to half of them begins near
    its end. None where the classes are separated and coefficients have no end.
    """
    design, y = data.design[rows], target[rows]
    kept = independent_in_cross(_cross(design, times))
    if len(y) <= kept.sum() or y.std() == 0:
        return None
    fit = logistic(design[:, kept], y, times, errors=False, tolerance=1e-4)
    if fit.notes:
        return None
    made = np.zeros(len(kept))
    made[kept] = fit.coefficients
    return made


def _cross(design: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Cross-products: of a table with itself, which is half the work."""
    half = design if weights is None else design * np.sqrt(weights)[:, None]
    made: np.ndarray = half.T @ half
    return made


def _interval(
    data: Scaled,
    target: np.ndarray,
    rows: np.ndarray,
    times: np.ndarray | None,
    kind: str,
    weights: np.ndarray | None,
    confidence: float,
    start: np.ndarray | None,
) -> np.ndarray:
    """Ends [2, columns] of the intervals in one dealt table, NaN for what cannot be estimated there.

    ``times`` says how often each row is there (None: once); it comes without weights. A fit begins at ``start``.
    """
    from scipy.special import ndtri, stdtrit

    design, y = data.design[rows], target[rows]
    ends = np.full((2, design.shape[1]), np.nan)
    w = np.ones(len(rows)) if weights is None else weights[rows] / weights[rows].mean()
    n = len(y)
    if times is not None:
        w, n = times, int(times.sum())
    kept = independent_in_cross(_cross(design, times))
    df = n - int(kept.sum())
    if df < 1 or (kind == "binomial" and y.std() == 0):
        return ends
    design = design[:, kept]
    if kind == "gaussian":
        bread = np.linalg.pinv(_cross(design, w), hermitian=True)
        beta = bread @ (design.T @ (w * y))
        rest = y - design @ beta
        factor = float(stdtrit(df, 0.5 + confidence / 2))
    else:
        begin = None if start is None else start[kept]
        fit = logistic(design, y, w, errors=False, tolerance=LOOSE, start=begin)
        if (fit.fitted * (1 - fit.fitted)).min() < NEARLY:
            # separated classes: how far out a fit ends is how wide its intervals are, so it ends where the headline's
            # does, or dealt tables overlap less than honest ones
            fit = logistic(design, y, w, errors=False, start=fit.coefficients)
        beta, rest, curve = fit.coefficients, y - fit.fitted, w * variance(fit.fitted)
        bread = np.linalg.pinv(_cross(design, curve), hermitian=True)
        factor = float(ndtri(0.5 + confidence / 2))
    covariance = bread
    if weights is not None:
        half = design * (w * rest)[:, None]
        covariance = bread @ (half.T @ half) @ bread * (n / df if kind == "gaussian" else 1.0)
    elif kind == "gaussian":
        covariance = bread * (float(rest @ (rest if times is None else times * rest)) / df)
    back = data.back[np.ix_(kept, kept)]
    beta, spread = back @ beta, np.sqrt(np.maximum(((back @ covariance) * back).sum(axis=1), 0.0))
    ends[:, kept] = beta - factor * spread, beta + factor * spread
    return ends


def _overlap(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Overlap of every term that either table can estimate; 0 where only one can."""
    known = np.isfinite(one[0]), np.isfinite(other[0])
    both = known[0] & known[1]
    made = np.zeros(len(both))
    made[both] = overlaps(one[0, both], one[1, both], other[0, both], other[1, both])["avgwidth"]
    return made[known[0] | known[1]]
