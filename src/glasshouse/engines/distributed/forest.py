"""A forest on executors: trees grow from broadcast codes with the seeds they have here, rows are scored in parts.

Each tree depends on the plan and on its number alone, and every row adds up the trees in their order, so the forest is
the one that this machine would have grown, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from glasshouse.engines.distributed import jobs
from glasshouse.engines.models.forest.forest import Plan, Tree, Workers, add

ROWS = 65_536  # rows scored by one task at most


class Executors:
    """Trees grown by the executors of a session; a context, at whose end they forget the codes.

    Parameters
    ----------
    plan : Plan
        What a tree needs.
    session : SparkSession
        Whose executors grow them.
    """

    def __init__(self, plan: Plan, session: Any) -> None:
        self.kind, self.session = plan.kind, session
        self.cores = jobs.cores(session)
        self.batch = max(32, jobs.PER_CORE * self.cores)  # trees that are here at a time
        self._plan = jobs.broadcast(session, plan)

    def __enter__(self) -> Executors:
        return self

    def __exit__(self, *_: object) -> None:
        self._plan.destroy()

    def grow(self, numbers: range) -> tuple[list[Tree], list[np.ndarray]]:
        """Trees of these numbers and their drops of impurity, in order."""
        step = max(1, len(numbers) // (jobs.PER_CORE * self.cores))
        parts = [list(numbers[a : a + step]) for a in range(0, len(numbers), step)]
        made = [one for some in jobs.spread(self.session, _grown, self._plan, parts) for one in some]
        return [Tree(*arrays) for arrays, _ in made], [gain for _, gain in made]

    def add(self, trees: Sequence[Tree], rows: np.ndarray, total: np.ndarray) -> None:
        """Add the answers of the trees to the totals of rows, in the order of the trees."""
        step = min(ROWS, max(1, -(-len(rows) // (jobs.PER_CORE * self.cores))))
        starts = range(0, len(rows), step)
        shared = jobs.broadcast(self.session, (self.kind, list(trees)))
        parts = [(rows[a : a + step], total[a : a + step]) for a in starts]
        for a, done in zip(starts, jobs.spread(self.session, _scored, shared, parts), strict=True):
            total[a : a + step] = done
        shared.destroy()


def _grown(plan: Plan, numbers: Sequence[int]) -> list[tuple[tuple[np.ndarray, ...], np.ndarray]]:
    made = [plan.tree(t) for t in numbers]
    return [(tuple(getattr(tree, f.name) for f in fields(Tree)), gain) for tree, gain in made]


def _scored(asked: tuple[int, list[Tree]], part: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    rows, total = np.ascontiguousarray(part[0]), part[1].copy()
    with Workers(1) as workers:
        add(*asked, rows, total, workers)
    return total
