"""The search tree of one reference table, as arrays for the compiled search."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.data.arrays import Ints
from glasshouse.engines.neighbours import tree as growing
from glasshouse.engines.neighbours.encoding import Encoded, Rows
from glasshouse.engines.neighbours.kernel import Tree


def grown(encoded: Encoded, reference: Rows) -> tuple[Tree, Ints]:
    """The search tree of some rows, and the position in it of every distinct row.

    Parameters
    ----------
    encoded : Encoded
        The space the rows belong to.
    reference : Rows
        The rows to be searched.

    Returns
    -------
    (tree, position) : tuple

    Raises
    ------
    NotApplicable
        When there is no row.
    """
    if reference.size == 0:
        raise NotApplicable("there is no record to compare with: a table is empty")
    numbers, codes = encoded.as_reference(reference)
    weights = encoded.weights
    order, left, right, first, last = growing.grow(numbers, codes, weights)
    numbers = np.ascontiguousarray(numbers[order])
    codes = np.ascontiguousarray(codes[order])
    boxes = growing.boxes(numbers, codes, weights, left, right, first, last)
    tree = Tree(
        numbers,
        codes,
        np.ascontiguousarray(numbers.T.astype(np.float32)),
        np.ascontiguousarray(codes.T),
        weights,
        reference.counts[order].astype(np.int32),
        order,
        reference.firsts[order].astype(np.int32),
        left,
        right,
        first,
        last,
        *boxes,
    )
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return tree, position
