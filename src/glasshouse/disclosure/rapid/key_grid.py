"""Predictions of the regression of the flags on the keys: log odds at combinations of levels and chosen numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.intervals import normal_quantile
from glasshouse.core.words import counted
from glasshouse.disclosure.rapid.key_tables import At, Factor, GridRow, Key, Marginal, Numbers
from glasshouse.disclosure.rapid.scores import Array
from glasshouse.engines.models.linear.firth import FirthFit, cells_of, firth_logistic

MOST_GRID_ROWS = 5_000


class Predicted(NamedTuple):
    """Predictions on the grid, the coefficients behind them, how they were found, each key alone, and where the charts
    of two keys hold the others."""

    rows: list[GridRow]
    coefficients: dict[str, float | None]
    method: str
    marginal: list[Marginal]
    reference: dict[str, float | str]


def products(left: Array, right: Array) -> Array:
    """Every column of one block times every column of the other."""
    made: Array = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
    return made


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
                part = products(part, blocks[j][0])
                labels = [f"{a}:{b}" if a else b for a in labels for b in blocks[j][1]]
            columns.append(part)
            names += labels
    return np.hstack(columns), names


def predict_grid(keys: Sequence[Key], y: Array, order: int, at: At, penalty: str, confidence: float) -> Predicted:
    """Log odds at all combinations of factor levels and chosen numbers, with intervals; each key alone; and the
    coefficients behind them."""
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
    reference = {key.name: _reference(key, axis) for key, axis in zip(keys, axes, strict=True)}
    at_cells = {name: column[first] for name, column in raw.items()}
    marginal = [row for key in keys for row in _marginal(key, keys, order, at_cells, counts, fit, z)]
    return Predicted(rows, coefficients, fit.method, marginal, reference)


def _marginal(
    key: Key, keys: Sequence[Key], order: int, at: Mapping[str, Array], counts: Array, fit: FirthFit, z: float
) -> list[Marginal]:
    """One key set to each of its levels for everybody, the others as they are: the mean log odds. The model is linear
    in a number, so a step of it adds the same wherever it starts."""
    own = at[key.name]
    if isinstance(key, Numbers):
        spread = float(np.ptp(key.values))
        step = 10.0 ** np.floor(np.log10(spread)) if spread > 0 else 1.0
        asked = {f"per {step:g}": own + step}
    else:
        asked = {label: np.full(len(own), float(i)) for i, label in enumerate(key.labels)}
    share = counts / counts.sum()
    start = share @ treatment_design(keys, order, at)[0][:, fit.used] if isinstance(key, Numbers) else 0.0
    rows: list[Marginal] = []
    for level, values in asked.items():
        mean = share @ treatment_design(keys, order, {**at, key.name: values})[0][:, fit.used] - start
        odds = float(mean @ fit.coefficients[fit.used])
        se = float(np.sqrt(max(mean @ fit.covariance[np.ix_(fit.used, fit.used)] @ mean, 0.0)))
        rows.append(
            Marginal(variable=key.name, level=level, logodds=odds, se=se, low=odds - z * se, high=odds + z * se)
        )
    return rows


def _reference(key: Key, axis: Sequence[float]) -> float | str:
    """Where a key is held while others are looked at: the middle number asked for, the commonest level asked for."""
    if isinstance(key, Numbers):
        return sorted(axis)[len(axis) // 2]
    held = np.bincount(key.codes, minlength=len(key.labels))
    return key.labels[int(max(axis, key=lambda i: held[int(i)]))]


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
        raise InputError(f"at= asks for {counted(len(unknown), 'level')} that key {key.name!r} does not have")
    return [float(key.labels.index(str(v))) for v in chosen]
