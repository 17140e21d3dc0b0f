"""The random forest attacker."""

from __future__ import annotations

import numpy as np

from glasshouse.core.streams import integer_seed
from glasshouse.engines.models.design import Design
from glasshouse.engines.models.forest import forest
from glasshouse.engines.models.registry import Training, attacker


class ForestModel:
    """A grown forest; one that was asked about tables has answered them and keeps no tree."""

    notes: tuple[str, ...] = ()

    def __init__(self, grown: forest.Forest, streamed: list[np.ndarray] | None, n_jobs: int | None) -> None:
        self.forest, self.streamed, self.n_jobs = grown, streamed, n_jobs

    def predict(self, table: Design) -> np.ndarray:
        return self.forest.predict(table.codes, n_jobs=self.n_jobs)

    def leaves(self, table: Design) -> np.ndarray:
        return self.forest.leaves(table.codes, n_jobs=self.n_jobs)

    def importance(self) -> np.ndarray:
        return self.forest.importance


@attacker("rf", spoken="a random forest", needs_seed=True)
def rf(
    training: Training,
    *,
    trees: int = 500,
    mtry: int | None = None,
    node_size: int | None = None,
    max_depth: int | None = None,
    weights: np.ndarray | None = None,
    draws: int | None = None,
) -> ForestModel:
    """Probability or regression forest (:mod:`glasshouse.engines.models.forest.forest`)."""
    table = training.table
    grown = forest.grow(
        table.codes,
        training.y,
        n_classes=training.n_classes,
        numeric=table.is_numeric,
        values=table.values,
        n_levels=table.n_levels,
        trees=trees,
        mtry=mtry,
        node_size=node_size,
        max_depth=max_depth,
        weights=weights,
        draws=draws,
        seed=integer_seed(training.random_state, "rf"),
        n_jobs=training.n_jobs,
        score=[asked.codes for asked in training.asked],
        keep=not training.asked,
    )
    return ForestModel(grown, grown.predictions if training.asked else None, training.n_jobs)
