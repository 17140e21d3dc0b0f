"""The attacker who ignores the keys, and the model that gives everybody the same answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.engines.models.design import Design
from glasshouse.engines.models.registry import Training, attacker


@dataclass(frozen=True)
class Constant:
    """The same class shares for everybody, or the same number."""

    answer: np.ndarray
    n_keys: int
    numeric: bool = False
    notes: tuple[str, ...] = ()

    def predict(self, table: Design) -> np.ndarray:
        if self.numeric:
            return np.full(table.n, float(self.answer[0]))
        return np.broadcast_to(self.answer, (table.n, len(self.answer))).copy()

    def importance(self) -> np.ndarray:
        return np.zeros(self.n_keys)

    def leaves(self, table: Design) -> np.ndarray:
        return np.zeros((1, table.n), np.int32)


@attacker("marginal", spoken="the release's shares alone")
def marginal(training: Training) -> Constant:
    """The class shares (or the mean) of the training table: what an attacker knows who ignores the keys."""
    y, n_classes = training.y, training.n_classes
    shares = np.array([y.mean()]) if n_classes is None else np.bincount(y, minlength=n_classes) / len(y)
    return Constant(shares, len(training.table.names), n_classes is None)
