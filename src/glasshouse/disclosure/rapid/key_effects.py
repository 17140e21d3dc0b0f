"""Which keys carry the risk: a logistic regression of the flags on the keys, its effects and its predictions.

    log odds(flagged) = sum of main effects (+ interactions up to three keys)

Maximum likelihood where it exists. Cells in which everybody or nobody is flagged push estimates to infinity; then
Firth's penalised likelihood (1993; Heinze & Schemper 2002) is used, its score being X'(y - p + h (1/2 - p)) with the
leverages h, and the cells are marked as separated.

Two codings of the same question. ``effects``: numbers cut at quantiles, sum-to-zero contrasts, so that each level is
read against the average. ``grid``: numbers as they are, treatment contrasts, log odds at chosen values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import normal_quantile
from glasshouse.disclosure.rapid.key_grid import MOST_GRID_ROWS, Predicted, predict_grid, products
from glasshouse.disclosure.rapid.key_tables import At, Effect, Factor, Key, KeyEffects, Numbers
from glasshouse.disclosure.rapid.scores import Array
from glasshouse.engines.models.linear.firth import cells_of, firth_logistic

MOST_LEVELS = 10
MOST_PARAMETERS = 400


# -- effects against the average -----


def quantile_factor(name: str, values: Array, bins: int) -> Factor:
    """A number cut at its quantiles: (a, b], the first group closed on both sides; fewer groups when quantiles
    coincide."""
    return cut_at(name, values, np.unique(np.quantile(values, np.linspace(0, 1, bins + 1))))


def cut_at(name: str, values: Array, breaks: Array) -> Factor:
    """A number cut at given breaks; what lies beyond the ends belongs to the group at that end."""
    if len(breaks) < 2:
        return Factor(name, (f"{breaks[0]:g}",), np.zeros(len(values), int))
    codes = np.clip(np.searchsorted(breaks, values, side="left") - 1, 0, len(breaks) - 2)
    labels = tuple(f"{'[' if i == 0 else '('}{a:g},{b:g}]" for i, (a, b) in enumerate(pairwise(breaks)))
    return Factor(name, labels, codes)


def as_factor(key: Key, bins: int) -> Factor:
    """Levels of a key for the effects: numbers by quantiles, more than ten levels by quantile groups of their codes."""
    if isinstance(key, Numbers):
        return quantile_factor(key.name, key.values, bins)
    present, codes = np.unique(key.codes, return_inverse=True)
    if len(present) <= MOST_LEVELS:
        return Factor(key.name, tuple(key.labels[i] for i in present), codes)
    grouped = quantile_factor(key.name, codes.astype(float), bins)
    return Factor(key.name, tuple(f"G{i + 1}" for i in range(len(grouped.labels))), grouped.codes)


def sum_to_zero(levels: int) -> Array:
    """Contrasts [levels, levels - 1] whose last level is minus the sum of the others."""
    return np.vstack([np.eye(levels - 1), -np.ones((1, levels - 1))])


def effects_of(
    factors: Sequence[Factor], y: Array, order: int, penalty: str, confidence: float
) -> tuple[list[Effect], str]:
    """Sum-to-zero effects of all terms of exactly ``order`` keys, from the model with all terms up to that order."""
    factors = [f for f in factors if len(f.labels) > 1]
    terms = [t for size in range(1, order + 1) for t in combinations(range(len(factors)), size)]
    if not factors:
        return [], "not fitted"
    first, counts, sums = cells_of([f.codes for f in factors], y)
    columns, blocks = [np.ones((len(first), 1))], []
    for term in terms:
        part = np.ones((len(first), 1))
        for j in term:
            part = products(part, sum_to_zero(len(factors[j].labels))[factors[j].codes[first]])
        blocks.append((sum(c.shape[1] for c in columns), part.shape[1]))
        columns.append(part)
    fit = firth_logistic(np.hstack(columns), sums, penalty, counts)
    z = normal_quantile(confidence)
    rows: list[Effect] = []
    for term, (start, width) in zip(terms, blocks, strict=True):
        if len(term) != order:
            continue
        contrast: Array = np.ones((1, 1))
        for j in term:
            contrast = np.kron(contrast, sum_to_zero(len(factors[j].labels)))
        where = slice(start, start + width)
        block = fit.covariance[where, where]
        estimates = contrast @ fit.coefficients[where]
        variances = np.einsum("ij,jk,ik->i", contrast, block, contrast)
        for position, levels in enumerate(product(*(range(len(factors[j].labels)) for j in term))):
            inside = np.logical_and.reduce([factors[j].codes == level for j, level in zip(term, levels, strict=True)])
            n, flagged = int(inside.sum()), int(y[inside].sum())
            estimate, variance = float(estimates[position]), float(variances[position])
            known = bool(np.isfinite(estimate) and np.isfinite(variance) and n > 0)
            se = float(np.sqrt(max(variance, 0.0))) if known else None
            rows.append(
                {
                    "variable": ":".join(factors[j].name for j in term),
                    "level": ":".join(factors[j].labels[level] for j, level in zip(term, levels, strict=True)),
                    "order": order,
                    "estimate": estimate if known else None,
                    "se": se,
                    "low": estimate - z * se if se is not None else None,
                    "high": estimate + z * se if se is not None else None,
                    "n": n,
                    "flagged": flagged,
                    "separated": n > 0 and flagged in (0, n),
                }
            )
    return rows, fit.method


# -- both together -----


def attribute(
    keys: Sequence[Key],
    flags: Array,
    interactions: int = 2,
    at: At | None = None,
    penalty: str = "auto",
    confidence: float = 0.95,
    bins: int = 4,
) -> KeyEffects:
    """Regress the flags on the keys, with all interactions of up to ``interactions`` keys (1 to 3).

    Parameters
    ----------
    keys
        The keys of the records.
    flags
        Which records are flagged.
    interactions
        Up to how many keys are looked at together.
    at
        Values of the prediction grid by key; by default all levels, and the 10, 50 and 90 % quantiles of numbers.
    penalty
        "none" (maximum likelihood), "firth", or "auto": Firth's where maximum likelihood does not exist.
    confidence
        Level of the intervals.
    bins
        Most groups a number is cut into for the effects.

    Returns
    -------
    KeyEffects
        Effects against the average, predictions on a grid, and how they were found.
    """
    if interactions not in (1, 2, 3):
        raise InputError(f"interactions must be 1, 2 or 3, not {interactions}")
    y = np.asarray(flags, float)
    flagged = int(y.sum())
    if flagged in (0, len(y)):
        raise NotApplicable(
            f"{'all' if flagged else 'none'} of the {len(y):,} records are flagged, so no key can explain the "
            "difference; "
            "choose another threshold"
        )
    groups = max(2, min(bins, min(flagged, len(y) - flagged) // 5))
    factors = [as_factor(key, groups) for key in keys]
    notes: list[str] = []
    rows: list[Effect] = []
    methods = set()
    highest = min(interactions, len(keys))
    for order in range(1, highest + 1):
        size = _parameters([len(f.labels) for f in factors], order)
        if size > min(MOST_PARAMETERS, len(y) / 2):
            notes.append(
                f"effects of {order} keys at a time need {size:,} parameters, too many for {len(y):,} records; left out"
            )
            highest = order - 1
            break
        found, method = effects_of(factors, y, order, penalty, confidence)
        rows += found
        methods.add(method)
    if highest == 0:
        raise NotApplicable(
            f"{len(y):,} records are too few for a regression on these keys; choose fewer keys with keys="
        )
    # in the grid numbers stay numbers, and wide factors take the groups of the effects
    order, grid_keys = highest, [k if isinstance(k, Numbers) else f for k, f in zip(keys, factors, strict=True)]
    widths = [2 if isinstance(k, Numbers) else len(k.labels) for k in grid_keys]
    while order > 1 and _parameters(widths, order) > min(MOST_PARAMETERS, len(y) / 2):
        order -= 1
    grid = Predicted([], {}, "", [], {})
    if int(np.prod([3 if isinstance(k, Numbers) else len(k.labels) for k in grid_keys])) <= MOST_GRID_ROWS:
        grid = predict_grid(grid_keys, y, order, dict(at or {}), penalty, confidence)
        methods.add(grid.method)
    else:
        notes.append("too many combinations for a grid of predictions; choose fewer keys with keys=")
    separated = sum(r["separated"] for r in rows)
    if separated:
        notes.append(
            f"in {separated} cells everybody or nobody is flagged; they are marked and their estimates lean on the "
            "penalty"
        )
    return KeyEffects(
        grid.coefficients,
        " and ".join(sorted(methods)),
        highest,
        tuple(k.name for k in keys),
        len(y),
        flagged,
        separated,
        notes,
        rows,
        grid.rows,
        grid.marginal,
        grid.reference,
    )


def _parameters(levels: Sequence[int], order: int) -> int:
    widths = [max(n - 1, 0) for n in levels]
    return 1 + sum(int(np.prod(c)) for size in range(1, order + 1) for c in combinations(widths, size))
