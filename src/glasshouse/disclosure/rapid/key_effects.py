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
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import normal_quantile
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
class Key:
    """A key as the regression takes it: numbers, or a factor."""

    name: str
    values: Array | None
    factor: Factor | None


@dataclass(frozen=True)
class RapidAttribution:
    """Effects and predictions of the regression of the flags on the keys, as tables in the caller's frame library."""

    effects: Any
    grid: Any
    coefficients: dict[str, float | None]
    method: str
    interactions: int
    keys: tuple[str, ...]
    n: int
    flagged: int
    separated: int
    notes: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list, repr=False)
    grid_rows: list[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def sentence(self) -> str:
        main = [r for r in self.rows if r["order"] == 1 and r["estimate"] is not None and not r["separated"]]
        if not main:
            return "No single key level stands out from the others."
        top = max(main, key=lambda r: r["estimate"])
        return (
            f"The odds of being flagged are highest at {top['variable']} = {top['level']}: "
            f"{np.exp(top['estimate']):.1f} times the "
            f"average odds (log odds {top['estimate']:+.2f}, interval {top['low']:+.2f} to {top['high']:+.2f})."
        )


# -- effects against the average -----


def quantile_factor(name: str, values: Array, bins: int) -> Factor:
    """A number cut at its quantiles: (a, b], the first group closed on both sides; fewer groups when quantiles
    coincide."""
    breaks = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
    if len(breaks) < 2:
        return Factor(name, (f"{breaks[0]:g}",), np.zeros(len(values), int))
    codes = np.clip(np.searchsorted(breaks, values, side="left") - 1, 0, len(breaks) - 2)
    labels = tuple(f"{'[' if i == 0 else '('}{a:g},{b:g}]" for i, (a, b) in enumerate(pairwise(breaks)))
    return Factor(name, labels, codes)


def as_factor(key: Key, bins: int) -> Factor:
    """Levels of a key for the effects: numbers by quantiles, more than ten levels by quantile groups of their codes."""
    if key.values is not None:
        return quantile_factor(key.name, key.values, bins)
    assert key.factor is not None
    present, codes = np.unique(key.factor.codes, return_inverse=True)
    if len(present) <= MOST_LEVELS:
        return Factor(key.name, tuple(key.factor.labels[i] for i in present), codes)
    grouped = quantile_factor(key.name, codes.astype(float), bins)
    return Factor(key.name, tuple(f"G{i + 1}" for i in range(len(grouped.labels))), grouped.codes)


def sum_to_zero(levels: int) -> Array:
    """Contrasts [levels, levels - 1] whose last level is minus the sum of the others."""
    return np.vstack([np.eye(levels - 1), -np.ones((1, levels - 1))])


def effects_of(
    factors: Sequence[Factor], y: Array, order: int, penalty: str, confidence: float
) -> tuple[list[dict[str, Any]], str]:
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
    rows = []
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
        if key.values is not None:
            blocks.append((at[key.name][:, None].astype(float), [key.name]))
        else:
            assert key.factor is not None
            codes = at[key.name].astype(int)
            later = np.arange(1, len(key.factor.labels))
            blocks.append(
                ((codes[:, None] == later[None, :]).astype(float), [f"{key.name}{key.factor.labels[i]}" for i in later])
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
    keys: Sequence[Key], y: Array, order: int, at: Mapping[str, Sequence[Any]], penalty: str, confidence: float
) -> tuple[list[dict[str, Any]], dict[str, float | None], str]:
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
    rows = []
    for i, combo in enumerate(combos):
        shown = {
            key.name: combo[j] if key.factor is None else key.factor.labels[int(combo[j])] for j, key in enumerate(keys)
        }
        inside = np.ones(len(y), bool)
        for j, key in enumerate(keys):
            if key.factor is not None:
                inside &= key.factor.codes == int(combo[j])
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
    if key.values is not None:
        return key.values
    assert key.factor is not None
    return key.factor.codes.astype(float)


def _axis(key: Key, at: Mapping[str, Sequence[Any]]) -> list[float]:
    if key.values is not None:
        return [float(v) for v in at.get(key.name, np.quantile(key.values, [0.1, 0.5, 0.9]))]
    assert key.factor is not None
    if key.name not in at:
        return [float(i) for i in range(len(key.factor.labels))]
    unknown = [v for v in at[key.name] if str(v) not in key.factor.labels]
    if unknown:
        raise InputError(f"at= asks for {len(unknown)} levels that key {key.name!r} does not have")
    return [float(key.factor.labels.index(str(v))) for v in at[key.name]]


# -- both together -----


def attribute(
    keys: Sequence[Key],
    flags: Array,
    interactions: int = 2,
    at: Mapping[str, Sequence[Any]] | None = None,
    penalty: str = "auto",
    confidence: float = 0.95,
    bins: int = 4,
) -> RapidAttribution:
    """Regress the flags on the keys, with all interactions of up to ``interactions`` keys (1 to 3)."""
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
    rows: list[dict[str, Any]] = []
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
    order, grid_keys = highest, [_coarsened(key, f) for key, f in zip(keys, factors, strict=True)]
    widths = [2 if k.factor is None else len(k.factor.labels) for k in grid_keys]
    while order > 1 and _parameters(widths, order) > min(MOST_PARAMETERS, len(y) / 2):
        order -= 1
    grid_rows: list[dict[str, Any]] = []
    coefficients: dict[str, float | None] = {}
    if int(np.prod([3 if k.factor is None else len(k.factor.labels) for k in grid_keys])) <= MOST_GRID_ROWS:
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
    return RapidAttribution(
        None,
        None,
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


def _coarsened(key: Key, factor: Factor) -> Key:
    """The key for the grid: numbers stay numbers, wide factors take the groups of the effects; levels without records
    go."""
    return key if key.values is not None else Key(key.name, None, factor)
