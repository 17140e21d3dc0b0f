"""How one variable of a release is made, once it is learnt: the records so far, and the steps every method shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.variables import Variable

if TYPE_CHECKING:
    from glasshouse.engines.models.tree.tree import CartTree


@dataclass
class Made:
    """The records of a release so far.

    ``codes`` holds every variable made; ``numbers`` those whose values are not values of the original, and their code
    is then that of the nearest one: trees read codes, linear models numbers. ``waiting`` holds the columns of a block
    that was drawn as a whole.
    """

    n: int
    variables: Mapping[str, Variable]
    codes: dict[str, Ints] = field(default_factory=dict)
    numbers: dict[str, Floats] = field(default_factory=dict)
    waiting: dict[str, Ints] = field(default_factory=dict)

    def values(self, name: str) -> Floats:
        """The numbers of a numeric variable, one per record."""
        if name in self.numbers:
            return self.numbers[name]
        return np.asarray(self.variables[name].levels, np.float64)[self.codes[name]]


class Step(ABC):
    """What was learnt about one variable."""

    @abstractmethod
    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        """Codes for the synthetic records ``rows`` (positions)."""


class NumberStep(ABC):
    """What was learnt about a number whose synthetic values are new ones."""

    @abstractmethod
    def draw_numbers(self, made: Made, rows: Ints, rng: np.random.Generator) -> Floats:
        """Numbers for the synthetic records ``rows`` (positions)."""


AnyStep: TypeAlias = "Step | NumberStep"


@dataclass
class Donors(Step):
    """Values of original records: of a tree's leaf, of one category of another column, or of all of them."""

    predictors: tuple[str, ...]
    donors: Ints  # codes of the original records, leaf after leaf
    starts: Ints
    sizes: Ints
    tree: CartTree | None = None  # None with a predictor: its codes are the leaves

    @classmethod
    def of_all(cls, y: Ints) -> Donors:
        """A plain draw."""
        return cls((), y, np.zeros(1, np.int64), np.array([len(y)]))

    @classmethod
    def of_leaves(cls, predictors: Sequence[str], y: Ints, tree: CartTree) -> Donors:
        """A draw from the leaf a record falls into."""
        return cls(tuple(predictors), y[tree.members], tree.leaf_starts, tree.leaf_sizes, tree)

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        chance = rng.random(len(rows))
        if self.tree is not None:
            leaf = self.tree.leaves(np.column_stack([made.codes[p][rows] for p in self.predictors]))
        elif self.predictors:
            leaf = made.codes[self.predictors[0]][rows]
        else:
            leaf = np.zeros(len(rows), np.int64)
        return np.asarray(self.donors[self.starts[leaf] + (chance * self.sizes[leaf]).astype(np.int64)])


@dataclass
class Lookup(Step):
    """A variable that an earlier one determines."""

    copies: str
    table: Ints  # code of this variable for each code of the other

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        return np.asarray(self.table[made.codes[self.copies][rows]])


def linear_predictor(predictors: Sequence[str], tables: Sequence[Floats], made: Made, rows: Ints) -> Floats:
    """Linear predictor [rows, outputs] from what each predictor adds (:meth:`Coding.effects`)."""
    total = np.tile(tables[0], (len(rows), 1))
    for name, table in zip(predictors, tables[1:], strict=True):
        if made.variables[name].number:
            total += (made.values(name)[rows][:, None] - table[0]) * table[1]
        else:
            total += table[made.codes[name][rows]]
    return total
