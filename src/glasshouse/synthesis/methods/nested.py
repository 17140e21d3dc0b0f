"""A detailed category drawn among the original records with the same coarse one: a district within its region."""

from __future__ import annotations

import numpy as np

from glasshouse.synthesis.methods.task import Task
from glasshouse.synthesis.steps import Donors


def learn_nested(task: Task) -> Donors:
    """Original values of each category of the one predictor, in the shares they have there."""
    parent = task.predictors[0]
    sizes = np.bincount(task.codes[0], minlength=parent.n_levels)
    starts = np.cumsum(sizes) - sizes
    # a category whose records were all left out of the fit (a rule forces them) is served from everybody
    starts, sizes = np.where(sizes > 0, starts, 0), np.where(sizes > 0, sizes, len(task.y))
    if not task.variable.number:
        pairs = np.unique(task.y.astype(np.int64) * parent.n_levels + task.codes[0]) // parent.n_levels
        several = int((np.bincount(pairs) > 1).sum())
        if several:
            task.note(f"{several} of its values occur in more than one category of {parent.column!r}")
    return Donors((parent.name,), task.y[np.argsort(task.codes[0], kind="stable")], starts, sizes)
