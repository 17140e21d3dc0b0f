"""What a method gets to learn from: one variable, the predictors that vary, and the options of the synthesiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.variables import Variable

if TYPE_CHECKING:
    from glasshouse.engines.models.design import Design


@dataclass(frozen=True)
class Options:
    """Options of the methods; :class:`glasshouse.synthesis.Sequential` explains each."""

    minbucket: int = 5
    cp: float = 1e-8
    maxdepth: int = 30
    exact_levels: int = 15
    mincriterion: float = 0.9
    prior: float = 1.0
    margins: str | tuple[tuple[str, ...], ...] = "twoway"


class TreeInputs(TypedDict):
    """How trees read the predictors."""

    ordered: Sequence[bool]
    values: Sequence[Floats | None]
    n_levels: Sequence[int]


@dataclass
class Task:
    """One variable to learn. ``y`` and ``codes`` hold the records it is learnt from; ``notes`` is for the reader."""

    variable: Variable
    y: Ints
    predictors: list[Variable]
    codes: list[Ints]
    decimals: int
    options: Options
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        return tuple(v.name for v in self.predictors)

    @property
    def numbers(self) -> Floats:
        """The target as numbers."""
        return np.asarray(self.variable.levels, np.float64)[self.y]

    def design(self) -> Design:
        """The predictors as the linear models read them: numbers and categories, a ranked one like any other."""
        from glasshouse.engines.models.design import Design

        return Design(
            self.names,
            tuple("numeric" if v.number else "categorical" for v in self.predictors),
            np.column_stack([np.zeros((len(self.y), 0), np.int32), *self.codes]).astype(np.int32),
            tuple(v.levels for v in self.predictors),
        )

    def tree_inputs(self) -> TreeInputs:
        """The predictors as trees read them."""
        return {
            "ordered": [v.ordered for v in self.predictors],
            "values": [v.values for v in self.predictors],
            "n_levels": [v.n_levels for v in self.predictors],
        }

    def note(self, text: str) -> None:
        """Something the reader of ``notes`` should know about this column."""
        self.notes.append(f"{self.variable.column!r}: {text}")
