"""The decision tree attacker."""

from __future__ import annotations

import numpy as np

from glasshouse.engines.models.design import Design
from glasshouse.engines.models.registry import Training, attacker
from glasshouse.engines.models.tree import tree


class CartModel:
    """One tree; numeric and ordinal keys are cut, categories are grouped."""

    def __init__(self, grown: tree.CartTree) -> None:
        self.tree = grown

    @property
    def notes(self) -> list[str]:
        if not self.tree.approximate_splits:
            return []
        return [
            f"{self.tree.approximate_splits} splits of the tree group more levels than can be searched exactly; "
            "levels were ordered by the first principal component of their class shares"
        ]

    def predict(self, table: Design) -> np.ndarray:
        return self.tree.predict(table.codes)

    def leaves(self, table: Design) -> np.ndarray:
        return self.tree.leaves(table.codes)[None, :]

    def importance(self) -> np.ndarray:
        return self.tree.importance


@attacker("cart", spoken="a decision tree")
def cart(
    training: Training,
    *,
    minsplit: int = 20,
    minbucket: int = 7,
    cp: float = 0.01,
    maxdepth: int = 30,
    exact_levels: int = tree.EXACT_LEVELS,
) -> CartModel:
    """One pruned tree (:mod:`glasshouse.engines.models.tree.tree`)."""
    table = training.table
    return CartModel(
        tree.grow(
            table.codes,
            training.y,
            n_classes=training.n_classes,
            ordered=table.is_ordered,
            values=table.values,
            n_levels=table.n_levels,
            minsplit=minsplit,
            minbucket=minbucket,
            cp=cp,
            maxdepth=maxdepth,
            exact_levels=exact_levels,
        )
    )
