"""Which keys carry the risk: a logistic regression of the flags on the keys, its effects and its predictions.

    log odds(flagged) = sum of main effects (+ interactions up to three keys)

Maximum likelihood where it exists. Cells in which everybody or nobody is flagged push estimates to infinity; then
Firth's penalised likelihood (1993; Heinze & Schemper 2002) is used, its score being X'(y - p + h (1/2 - p)) with the
leverages h, and the cells are marked as separated.

Two codings of the same question. ``effects``: numbers cut at quantiles, sum-to-zero contrasts, so that each level is
read against the average. ``grid``: numbers as they are, treatment contrasts, log odds at chosen values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import normal_quantile
from glasshouse.disclosure.rapid.key_tables import Effect, GridRow, KeyEffects
from glasshouse.disclosure.rapid.scores import Array
from glasshouse.engines.models.linear.firth import cells_of, firth_logistic

MOST_LEVELS = 10
MOST_PARAMETERS = 400
MOST_GRID_ROWS = 5_000


@dataclass(frozen=True)
class Factor:
    """A key as levels: labels and the position of every record's level."""

    name: str
    labels: tuple[str, ...]
    codes: Array


@dataclass(frozen=True)
class Numbers:
    """A key as numbers, none of them missing."""

    name: str
    values: Array


Key: TypeAlias = Numbers | Factor  # a key as the regression takes it
At: TypeAlias = Mapping[str, Sequence[object]]  # values or levels of the prediction grid, by key


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
            part = _products(part, sum_to_zero(len(factors[j].labels))[factors[j].codes[first]])
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


def _products(left: Array, right: Array) -> Array:
    made: Array = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
    return made


# -- predictions on a grid -----


def treatment_design(keys: Sequence[Key], order: int, at: Mapping[str, Array]) -> tuple[Array, list[str]]:
    """Intercept, main effects and all interactions up to ``order`` keys at given values; levels against the first
    one."""
    blocks: list[tuple[Array, list[str]]] = []
    for key in keys:
        if isinstance(key, Numbers):
            blocks.append((at[key.name][:, None].astype(float), [key.name]))
        else:
            codes = at[key.name].astype(int)
            later = np.arange(1, len(key.labels))
            blocks.append(
                ((codes[:, None] == later[None, :]).astype(float), [f"{key.name}{key.labels[i]}" for i in later])
            )
    n = len(blocks[0][0])
    columns, names = [np.ones((n, 1))], ["(Intercept)"]
    for size in range(1, order + 1):
        for term in combinations(range(len(keys)), size):
            part, labels = np.ones((n, 1)), [""]
            for j in term:
                part = _products(part, blocks[j][0])
                labels = [f"{a}:{b}" if a else b for a in labels for b in blocks[j][1]]
            columns.append(part)
            names += labels
    return np.hstack(columns), names


def predict_grid(
    keys: Sequence[Key], y: Array, order: int, at: At, penalty: str, confidence: float
) -> tuple[list[GridRow], dict[str, float | None], str]:
    """Log odds at all combinations of factor levels and chosen numbers, with intervals; and the coefficients behind
    them."""
    from scipy.special import expit

    raw = {k.name: _column(k) for k in keys}
    first, counts, sums = cells_of(list(raw.values()), y)
    x, names = treatment_design(keys, order, {name: column[first] for name, column in raw.items()})
    fit = firth_logistic(x, sums, penalty, counts)
    axes = [_axis(key, at) for key in keys]
    size = int(np.prod([len(a) for a in axes]))
    if size > MOST_GRID_ROWS:
        raise InputError(f"the grid would have {size:,} rows; choose fewer keys with keys= or fewer values with at=")
    # the first key varies fastest, as people read such a table
    combos = [tuple(reversed(c)) for c in product(*reversed(axes))]
    points = {key.name: np.array([c[j] for c in combos], float) for j, key in enumerate(keys)}
    asked = treatment_design(keys, order, points)[0][:, fit.used]
    odds = asked @ fit.coefficients[fit.used]
    se = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", asked, fit.covariance[np.ix_(fit.used, fit.used)], asked), 0))
    z, chances = normal_quantile(confidence), expit(odds)
    rows: list[GridRow] = []
    for i, combo in enumerate(combos):
        shown = {
            key.name: combo[j] if isinstance(key, Numbers) else key.labels[int(combo[j])] for j, key in enumerate(keys)
        }
        inside = np.ones(len(y), bool)
        for j, key in enumerate(keys):
            if isinstance(key, Factor):
                inside &= key.codes == int(combo[j])
        n, flagged = int(inside.sum()), int(y[inside].sum())
        rows.append(
            {
                **shown,
                "logodds": float(odds[i]),
                "se": float(se[i]),
                "low": float(odds[i] - z * se[i]),
                "high": float(odds[i] + z * se[i]),
                "probability": float(chances[i]),
                "separated": n == 0 or flagged in (0, n),
            }
        )
    coefficients = {name: None if np.isnan(b) else float(b) for name, b in zip(names, fit.coefficients, strict=True)}
    return rows, coefficients, fit.method


def _column(key: Key) -> Array:
    """The key's numbers, or the positions of its levels."""
    return key.values if isinstance(key, Numbers) else key.codes.astype(float)


def _axis(key: Key, at: At) -> list[float]:
    """Where the grid looks at a key: numbers asked for (else three quantiles), positions of the levels asked for."""
    chosen = at.get(key.name)
    if isinstance(key, Numbers):
        values = np.quantile(key.values, [0.1, 0.5, 0.9]) if chosen is None else np.asarray(chosen, float)
        return [float(v) for v in values]
    if chosen is None:
        return [float(i) for i in range(len(key.labels))]
    unknown = [v for v in chosen if str(v) not in key.labels]
    if unknown:
        raise InputError(f"at= asks for {len(unknown)} levels that key {key.name!r} does not have")
    return [float(key.labels.index(str(v))) for v in chosen]


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
    grid_rows: list[GridRow] = []
    coefficients: dict[str, float | None] = {}
    if int(np.prod([3 if isinstance(k, Numbers) else len(k.labels) for k in grid_keys])) <= MOST_GRID_ROWS:
        grid_rows, coefficients, method = predict_grid(grid_keys, y, order, dict(at or {}), penalty, confidence)
        methods.add(method)
    else:
        notes.append("too many combinations for a grid of predictions; choose fewer keys with keys=")
    separated = sum(r["separated"] for r in rows)
    if separated:
        notes.append(
            f"in {separated} cells everybody or nobody is flagged; they are marked and their estimates lean on the "
            "penalty"
        )
    return KeyEffects(
        coefficients,
        " and ".join(sorted(methods)),
        highest,
        tuple(k.name for k in keys),
        len(y),
        flagged,
        separated,
        notes,
        rows,
        grid_rows,
    )


def _parameters(levels: Sequence[int], order: int) -> int:
    widths = [max(n - 1, 0) for n in levels]
    return 1 + sum(int(np.prod(c)) for size in range(1, order + 1) for c in combinations(widths, size))
