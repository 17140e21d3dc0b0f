"""Trees: a synthetic record takes the value of a random original record of the leaf it falls into.

``cart`` grows and prunes by the rules of recursive partitioning; ``ctree`` splits only where a permutation test finds
an association, which makes smaller trees.

References
----------
Reiter (2005), Using CART to generate partially synthetic, public use microdata.
Hothorn, Hornik & Zeileis (2006), Unbiased recursive partitioning: a conditional inference framework.
"""

from __future__ import annotations

import numpy as np

from glasshouse.synthesis.methods.task import Task
from glasshouse.synthesis.steps import Donors


def learn_cart(task: Task) -> Donors:
    """A pruned classification or regression tree."""
    from glasshouse.engines.models.tree import tree

    number, options = task.variable.number, task.options
    grown = tree.grow(
        np.column_stack(task.codes),
        task.numbers if number else task.y,
        n_classes=None if number else task.variable.n_levels,
        minsplit=3 * options.minbucket,
        minbucket=options.minbucket,
        cp=options.cp,
        maxdepth=options.maxdepth,
        exact_levels=options.exact_levels,
        **task.tree_inputs(),
    )
    return Donors.of_leaves(task.names, task.y, grown)


def learn_ctree(task: Task) -> Donors:
    """A conditional inference tree."""
    from glasshouse.engines.models.tree.conditional import grow_conditional

    number, options = task.variable.number, task.options
    grown = grow_conditional(
        np.column_stack(task.codes),
        task.numbers if number else task.y,
        n_classes=None if number else task.variable.n_levels,
        mincriterion=options.mincriterion,
        minsplit=4 * options.minbucket,
        minbucket=options.minbucket,
        maxdepth=options.maxdepth,
        **task.tree_inputs(),
    )
    return Donors.of_leaves(task.names, task.y, grown)
