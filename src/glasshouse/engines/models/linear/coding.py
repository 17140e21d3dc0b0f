"""Treatment coding of the keys, and the linear model fitted to it: no dense matrix is ever made.

Categories enter with one column per level present in training except the first; a level never seen in training has
all its columns at zero, i.e. it is predicted as the first level. Columns that others already determine are dropped
from the right, as statistical packages do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear import kernel
from glasshouse.engines.models.linear.rank import independent_in_cross

DENSE_COLUMNS = 3_000  # up to here cross-product matrices are formed
SEPARATED = "some fitted probabilities are 0 or 1: the keys separate classes perfectly and coefficients are not finite"
STOPPED = "the fit stopped before it converged; the keys may separate the classes perfectly"

Coefficients: TypeAlias = "dict[str, float | None]"  # by column, None for columns that were dropped


class Coding:
    """Treatment coding learnt from the training table; numbers are centred and scaled inside."""

    def __init__(self, training: Design, *, drop_aliased: bool = True) -> None:
        self.names: list[str] = []
        self.key_of: list[int] = []
        self._lookup: list[np.ndarray | None] = []  # column of each level code, None for numbers
        self._first: list[int] = []
        self.n_keys = len(training.names)
        self._shift = np.zeros(self.n_keys)
        self._scale = np.ones(self.n_keys)
        for j, kind in enumerate(training.kinds):
            self._first.append(len(self.names))
            if kind == "numeric":
                numbers = training.column(j)
                spread = float(numbers.std())
                self._shift[j] = numbers.mean()
                self._scale[j] = spread if spread > 1e-12 * max(1.0, abs(float(numbers.mean()))) else 0.0
                self._lookup.append(None)
                self.names.append(training.names[j])
                self.key_of.append(j)
            else:
                present = np.unique(training.codes[:, j])[1:]
                lookup = np.full(len(training.levels[j]), -1, np.int32)
                lookup[present] = len(self.names) + np.arange(len(present))
                self._lookup.append(lookup)
                self.names += [f"{training.names[j]}{training.levels[j][level]}" for level in present]
                self.key_of += [j] * len(present)
        self.q = len(self.names)
        self.kept = np.ones(self.q, np.bool_)
        self.columns, self.values = self.code(training)
        share = kernel.project(self.columns, self.values, np.ones((training.n, 1)), self.q)[1:, 0] / training.n
        square = kernel.project(self.columns, self.values**2, np.ones((training.n, 1)), self.q)[1:, 0] / training.n
        self.sd = np.sqrt(np.maximum(square - share**2, 0.0))
        if drop_aliased and self.q <= DENSE_COLUMNS:
            cross = kernel.gram(self.columns, self.values, np.ones(training.n), self.q)
            self.kept = independent_in_cross(cross)[1:]
        else:
            self.kept = self.sd > 0
        self.columns, self.values = self.code(training)

    def code(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """Column and value of every record's entry for every key; dropped columns have no entry."""
        columns = np.empty((design.n, len(design.names)), np.int32)
        values = np.ones((design.n, len(design.names)))
        for j, lookup in enumerate(self._lookup):
            if lookup is None:
                columns[:, j] = self._first[j] if self._scale[j] > 0 else -1
                values[:, j] = (design.column(j) - self._shift[j]) / (self._scale[j] or 1.0)
            else:
                columns[:, j] = lookup[design.codes[:, j]]
        dropped = ~np.append(self.kept, True)  # the appended entry is what -1 reads
        columns[dropped[columns]] = -1
        return columns, values

    def on_raw_scale(self, beta: np.ndarray) -> Coefficients:
        """Coefficients of the columns as they are; None for columns that were dropped."""
        named: Coefficients = {"(Intercept)": float(beta[0])}
        intercept = float(beta[0])
        for c, name in enumerate(self.names):
            j = self.key_of[c]
            named[name] = None
            if self.kept[c]:
                slope = float(beta[c + 1])
                if self._lookup[j] is None:
                    slope /= self._scale[j] or 1.0
                    intercept -= slope * float(self._shift[j])
                named[name] = slope
        named["(Intercept)"] = intercept
        return named

    def effects(self, beta: np.ndarray) -> list[np.ndarray]:
        """What each key adds to the linear predictor.

        Parameters
        ----------
        beta
            Coefficients [1 + columns, outputs].

        Returns
        -------
        list of ndarray
            The intercept [outputs]; then for a category a row per level [levels, outputs], for a number x the two rows
            ``centre`` and ``slope`` [2, outputs] of (x - centre) * slope.
        """
        slopes = np.vstack([np.where(self.kept[:, None], beta[1:], 0.0), np.zeros(beta.shape[1])])  # -1 reads the last
        found = [beta[0]]
        for j, lookup in enumerate(self._lookup):
            if lookup is not None:
                found.append(slopes[lookup])
            else:
                scale = self._scale[j]
                slope = slopes[self._first[j]] / scale if scale > 0 else np.zeros(beta.shape[1])
                found.append(np.vstack([np.full(beta.shape[1], self._shift[j]), slope]))
        return found


@dataclass
class LinearModel:
    """A fitted linear attacker: ``beta`` [1 + columns, outputs], intercept first."""

    kind: Literal["numeric", "binary", "multinomial"]
    coding: Coding
    beta: np.ndarray
    notes: list[str] = field(default_factory=list)
    penalty: float | None = None

    def predict(self, design: Design) -> np.ndarray:
        """Predicted numbers, or class probabilities [n, classes]."""
        from scipy.special import expit, softmax

        eta = kernel.linear_predictor(*self.coding.code(design), self.beta)
        if self.kind == "numeric":
            return np.asarray(eta[:, 0])
        if self.kind == "binary":
            second = expit(eta[:, 0])
            return np.column_stack([1.0 - second, second])
        return np.asarray(softmax(eta, axis=1))

    def coefficients(self) -> Coefficients | dict[str, Coefficients]:
        """Coefficients on the raw scale; one dict per output for several classes."""
        found = [self.coding.on_raw_scale(self.beta[:, k]) for k in range(self.beta.shape[1])]
        return found[0] if len(found) == 1 else {str(k): c for k, c in enumerate(found)}

    def importance(self) -> np.ndarray:
        """Sum over a key's columns of |coefficient| per standard deviation of the column."""
        total = np.zeros(self.coding.n_keys)
        np.add.at(total, np.array(self.coding.key_of, np.int64), np.abs(self.beta[1:]).sum(axis=1) * self.coding.sd)
        return total
