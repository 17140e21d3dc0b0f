"""Records in the order of their content, for deals and samples that must not know the order of the file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glasshouse.data.pair import Pair
from glasshouse.engines.models.design import lexicographic


def canonical_rows(pair: Pair, keep: np.ndarray | None = None) -> np.ndarray:
    """Rows of the original sorted by content, so that what is drawn depends neither on the order of the file nor on
    what categories are called.
    """
    order = pair.memo(("canonical_rows",), lambda: lexicographic(*_content(pair, ("original",))))
    return order if keep is None else order[keep[order]]


def _content(pair: Pair, tables: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray | None]:
    """What the records of some tables are sorted by, the first one first, and their weights. Categories are ranked by
    how often they occur; equally frequent ones fall back on their order.
    """

    def ranked(column: str) -> np.ndarray:
        codes = pair.codes(column)
        array = np.concatenate([codes.of(table) for table in tables])
        if pair.is_numeric(column) or codes.ordered:
            return array
        counts = np.bincount(array[array >= 0], minlength=codes.n_levels)
        place = np.empty(codes.n_levels + 1, np.int64)
        place[np.argsort(-counts, kind="stable")] = np.arange(codes.n_levels)
        place[-1] = -1
        return place[array]

    columns = [ranked(c) for c in sorted(pair.columns)]  # by name: their order in the file says nothing
    if pair.weight_values("original") is None:
        return columns, None
    known = [pair.weight_values(table) for table in tables]
    weights = [np.ones(pair.n(t)) if w is None else w for t, w in zip(tables, known, strict=True)]
    return columns, np.concatenate(weights)


def units_by_content(pair: Pair, pool: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the pool sorted by content, unit by unit, and the unit of each.

    A cluster of the release is never one of the original's, whatever it is called. Records without a cluster are one
    each, and so are all records of a release that does not name them.
    """
    columns, weights = _content(pair, pool)
    order = lexicographic(columns, weights)
    clusters = [pair.cluster_codes(table) for table in pool]
    if clusters[0] is None:
        return order, np.arange(len(order))
    total, n = len(order), pair.n("original")
    single = np.arange(total) + total
    named = np.concatenate([np.full(pair.n(t), -1) if c is None else c for t, c in zip(pool, clusters, strict=True)])
    named = np.where(named < 0, single, 2 * named.astype(np.int64) + 2 * total + (np.arange(total) >= n))
    named = np.unique(named, return_inverse=True)[1]
    # equal records have equal content, whatever the file's order and the clusters' names
    differs = np.zeros(total, bool)
    for key in columns if weights is None else [*columns, weights]:
        differs[1:] |= key[order][1:] != key[order][:-1]
    content = np.empty(total, np.int64)
    content[order] = np.cumsum(differs)
    sizes, sums = np.bincount(named), np.bincount(named, weights=content.astype(float))
    squares = np.bincount(named, weights=content.astype(float) ** 2)
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((squares, sums, sizes))] = np.arange(len(sizes))
    unit = rank[named]
    order = np.lexsort((content, unit))
    return order, unit[order]
