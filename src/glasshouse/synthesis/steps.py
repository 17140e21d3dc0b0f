"""How one variable of a release is made, once it is learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.data.arrays import Ints

if TYPE_CHECKING:
    from glasshouse.engines.models.tree.tree import CartTree


@dataclass
class Step:
    """How one variable is made: a tree that leads to donors, a plain draw of donors, or a copy of another variable."""

    variable: str
    predictors: tuple[str, ...]
    donors: Ints  # codes of the original records, leaf after leaf
    starts: Ints
    sizes: Ints
    tree: CartTree | None = None  # None: one leaf
    copies: str | None = None
    lookup: Ints | None = None

    def draw(self, made: Mapping[str, Ints], rows: Ints, rng: np.random.Generator) -> Ints:
        """Codes for the synthetic records ``rows`` (positions)."""
        if self.copies is not None and self.lookup is not None:
            return np.asarray(self.lookup[made[self.copies][rows]])
        chance = rng.random(len(rows))
        if self.tree is None:
            return np.asarray(self.donors[(chance * len(self.donors)).astype(np.int64)])
        leaf = self.tree.leaves(np.column_stack([made[p][rows] for p in self.predictors]))
        return np.asarray(self.donors[self.starts[leaf] + (chance * self.sizes[leaf]).astype(np.int64)])
