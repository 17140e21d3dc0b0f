"""Exact nearest records on a graphics card: the same bits as the plain computation, and how long they take.

    python bench/gpu.py [records]        needs torch with CUDA and Triton, and nothing else of the house's requirements

Part 1 compares every kind of question (nearest, self-join, within a radius, lists), every rule for missing values,
unequal weights, thousands of levels and a reference in parts with distances computed plainly in float64, bit by bit.
Part 2 times a million records against a million, and checks a sample of the answers the same way. The output of a run
is kept in ``bench/gpu.txt``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from glasshouse.engines.neighbours.encoding import IGNORE, MATCH, MISMATCH, RULES, TOL, Encoded, Rows, encode
from glasshouse.engines.neighbours.gpu import backend


def plain(encoded: Encoded, query: Rows, reference: Rows) -> np.ndarray:
    """All distances between distinct rows, float64, columns in order."""
    rule, weights = encoded.rule, encoded.weights
    numbers, codes = encoded.as_reference(reference)
    total = np.zeros((query.size, reference.size))
    present = np.zeros_like(total)
    p = numbers.shape[1]
    for v, w in enumerate(weights):
        if v < p:
            x = query.numbers[:, v, None]
            gap = np.abs(x - numbers[:, v])
            near = gap <= 1.5 * w
            if rule == IGNORE:
                near &= x <= 1.5 * w
                present += np.where(near, w, 0.0)
            total += np.where(near, gap, w if rule <= MISMATCH else 0.0)
        else:
            a, b = query.codes[:, v - p, None], codes[:, v - p]
            apart = a != b
            if rule >= MATCH:
                both = (a >= 0) & (b >= 0)
                present += np.where(both, w, 0.0)
                apart &= both
            total += np.where(apart, w, 0.0)
    if rule != IGNORE:
        return total
    return np.where(present > 0, total / np.where(present > 0, present, 1.0), 1.0)


def space(
    seed: int,
    sizes: tuple[int, int],
    numbers: int,
    levels: list[int],
    rule: str = "level",
    gaps: float = 0.0,
    **kind: Any,
) -> Encoded:
    """Two simulated tables. ``kind``: gauss for continuous numbers (else two digits), weights."""
    rng = np.random.default_rng(seed)
    x = {}
    for v in range(numbers):
        drawn = [rng.normal(size=n) if kind.get("gauss") else np.round(rng.random(n), 4) for n in sizes]
        for one in drawn:
            one[rng.random(len(one)) < gaps] = np.nan
        x[f"x{v}"] = drawn
    c = {}
    for v, several in enumerate(levels):
        drawn = [rng.integers(0, several, n).astype(np.int32) for n in sizes]
        for codes in drawn:
            codes[rng.random(len(codes)) < gaps] = -1
        c[f"c{v}"] = drawn
    weights = {name: float(rng.choice([1.0, 3.0, 0.3])) for name in (*x, *c)} if kind.get("weights") else None
    return encode(["a", "b"], x, c, rule, weights)


def compare(name: str, encoded: Encoded, k: int, radius: float, **options: Any) -> None:
    """Every kind of question, bit by bit."""
    a, b = encoded.distinct("a"), encoded.distinct("b")
    card = backend.Prepared(encoded, b, "cuda", **options)
    for query, self_join in ((a, False), (b, True)):
        d = plain(encoded, query, b)
        inside = (d <= radius + TOL) * b.counts
        if self_join:
            inside -= np.eye(b.size, dtype=int) * (d <= radius + TOL)
            d = np.where(np.eye(b.size, dtype=bool) & (b.counts < 2), np.inf, d)
        order = np.lexsort([np.broadcast_to(b.firsts, d.shape), d], axis=1)[:, :k]
        found = card.nearest(query, k, self_join)
        expected = np.take_along_axis(d, order, axis=1)
        assert np.array_equal(found.distance, expected), name
        assert np.array_equal(np.where(np.isfinite(expected), order, -1), found.row), name
        assert np.array_equal(card.within(query, np.full(query.size, radius), self_join), inside.sum(axis=1)), name
    offsets, row = card.listed(a, np.full(a.size, radius))
    hits = plain(encoded, a, b) <= radius + TOL
    assert np.array_equal(np.diff(offsets), hits.sum(axis=1)) and np.array_equal(row, np.nonzero(hits)[1]), name
    print(f"  {name}: equal, {card.coding.width} cells, {card.levels} levels", flush=True)


def timed(name: str, encoded: Encoded, k: int = 1, self_join: bool = False, radius: float | None = None) -> None:
    """Seconds of one search, and its largest error on a sample of queries."""
    import torch

    rows = {table: encoded.distinct(table) for table in ("a", "b")}
    query, reference = (rows["b"], rows["b"]) if self_join else (rows["a"], rows["b"])
    for again in range(2):  # the first one compiles
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        card = backend.Prepared(encoded, reference, "cuda")
        if radius is None:
            found = card.nearest(query, k, self_join)
        else:
            counts = card.within(query, np.full(query.size, radius), self_join)
        took = time.perf_counter() - start
        if not again:
            first = took
    sample = np.linspace(0, query.size - 1, 64).astype(int)
    some = Rows(*(np.ascontiguousarray(part[sample]) for part in (query.numbers, query.codes)), *([sample] * 4))
    d = plain(encoded, some, reference)
    if self_join:
        d[np.arange(len(sample)), sample] += np.where(reference.counts[sample] < 2, np.inf, 0.0)
    if radius is None:
        error = float(np.abs(np.sort(d, axis=1)[:, :k] - found.distance[sample]).max())
    else:
        inside = ((d <= radius + TOL) * reference.counts).sum(axis=1)
        error = float(np.abs(inside - counts[sample]).max())
    pairs = query.size * reference.size
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"  {name}: {took:.2f} s (first time {first:.2f}), {pairs / took / 1e9:,.0f} billion pairs per second, "
        f"{card.coding.width} cells, {card.levels} levels, peak {peak:.1f} GiB, largest error {error}",
        flush=True,
    )


def main() -> None:
    import torch

    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print("the same bits as the plain computation")
    for rule in RULES:
        compare(f"{rule}, gaps", space(1, (300, 900), 3, [4, 7], rule, 0.2), 3, 0.2)
        compare(f"{rule}, gaps and weights", space(2, (400, 700), 2, [3, 200], rule, 0.5, weights=True), 1, 0.3)
        compare(f"{rule}, 3,000 levels", space(3, (300, 4000), 1, [3000, 3], rule, 0.1), 5, 0.4)
    compare("in parts", space(4, (900, 3000), 3, [5], "level", 0.1), 4, 0.2, part=701)
    compare("many ties", space(5, (2000, 3000), 0, [3] * 9), 6, 0.3)
    compare("60 continuous columns", space(6, (500, 2000), 60, [], gauss=True), 2, 0.2)
    print(f"{n:,} records against {n:,}")
    mixed = space(10, (n, n), 6, [10] * 8)
    timed("6 numbers and 8 categories, nearest", mixed)
    timed("the same, 5 nearest", mixed, k=5)
    timed("the same, in itself, 2 nearest", mixed, k=2, self_join=True)
    timed("the same, within 0.1", mixed, radius=0.1)
    timed("gaps in every column, nearest", space(11, (n, n), 6, [10] * 8, gaps=0.05))
    timed("gaps ignored, nearest", space(11, (n, n), 6, [10] * 8, "ignore", 0.05))
    timed("unequal weights, nearest", space(12, (n, n), 6, [10] * 8, weights=True))
    timed("categories of 5,000 levels, nearest", space(13, (n, n), 6, [10] * 6 + [5000] * 2))
    timed("14 continuous columns, nearest", space(14, (n, n), 14, [], gauss=True))


if __name__ == "__main__":
    main()
