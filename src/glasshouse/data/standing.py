"""How much of a table is one person's: the bound on how far a single one moves a share of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Floats, Ints


@dataclass(frozen=True)
class Part:
    """What records count for, in one way of counting.

    Parameters
    ----------
    most
        What the person with most of it has.
    lightest
        What the first 0, 1, 2, ... of the lightest records have together.
    """

    most: float
    lightest: Floats

    @classmethod
    def of(cls, each: Floats, own: Ints | None) -> Part:
        """Of what every record counts for, and whose it is; a record without a cluster is a person's own."""
        named = np.zeros(len(each), bool) if own is None else own >= 0
        people = [each[~named]] if own is None else [np.bincount(own[named], weights=each[named]), each[~named]]
        return cls(float(np.concatenate(people).max(initial=0.0)), np.concatenate([[0.0], np.cumsum(np.sort(each))]))

    def people(self, records: int) -> float:
        """One over the largest share that somebody can have of so many records: all of theirs against the least that so
        many weigh."""
        return float(self.lightest[records]) / self.most if self.most > 0 else 0.0


@dataclass(frozen=True)
class Standing:
    """The parts people have of a table: of its records, and of its weight. Which of the two a figure counts, a measure
    decides, so that the larger part bounds both."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, n: int, weights: Floats | None, own: Ints | None) -> Standing:
        """Of a table of ``n`` records with the weights and the people they belong to, where there are any."""
        ways = [np.ones(n), *([] if weights is None else [np.nan_to_num(weights)])]
        return cls(tuple(Part.of(each, own) for each in ways))

    def people(self, records: int) -> float:
        """How many people of the largest part so many of the records are worth."""
        return min(part.people(records) for part in self.parts)
