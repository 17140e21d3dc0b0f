"""Seconds and pairs per CPU second of everything that looks at all pairs of records, beside plain numpy and scipy.

    python bench/quadratic.py [--rows 10000] [--large]

Simulated tables of ``rows`` originals, as many released records and half as many holdout people, 13 mixed columns (six
numbers, seven categories) that hang together, one released record in a hundred a copy. Nearest records are also looked
for among 14 independent Gaussian columns, where no tree can leave anybody out. Each figure stands beside the
plain computation of the same pairs in the same run (on few enough records to be done in seconds, as pairs per CPU
second), and their ratio. ``--large`` adds 100,000 rows where that takes a minute or less. CPU seconds are the figure to
compare: other work on the machine stretches the wall clock. Compiled code is loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import glasshouse as gh
from glasshouse.engines.neighbours.gower import gower_space

PLAIN = 2_000  # records of the plain computation
LEVELS = (2, 3, 5, 6, 8, 14, 40)


def table(n: int, seed: int) -> pl.DataFrame:
    """People with three hidden traits behind all columns."""
    rng = np.random.default_rng(seed)
    trait, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, 6))
    columns: dict[str, Any] = {
        "age": np.clip(np.round(45 + 15 * trait[:, 0] + 5 * noise[:, 0]), 16, 95),
        "hours": np.where(rng.random(n) < 0.45, 40, np.clip(np.round(38 + 10 * trait[:, 1] + 5 * noise[:, 1]), 0, 99)),
        "education": np.clip(np.round(9 + 2.5 * trait[:, 1] + noise[:, 2]), 1, 16),
        "income": np.round(np.exp(10 + 0.5 * trait[:, 1] + 0.3 * trait[:, 0] + 0.4 * noise[:, 3])),
        "gain": np.where(rng.random(n) < 0.9, 0, np.round(np.exp(8 + noise[:, 4]))),
        "weight": 75 + 12 * trait[:, 2] + 5 * noise[:, 5],
    }
    for j, levels in enumerate(LEVELS):
        cuts = 2 * np.linspace(-1, 1, levels + 1)[1:-1]
        columns[f"level{levels}"] = np.searchsorted(cuts, trait[:, j % 3] + rng.normal(size=n)).astype(str)
    return pl.DataFrame(columns)


def fresh(n: int) -> gh.Pair:
    """A release of which one record in a hundred is a copy."""
    original, copies = table(n, 1), n // 100
    released = pl.concat([original.head(copies), table(n, 2).tail(n - copies)])
    return gh.Pair(original, released, holdout=table(n // 2, 3))


def gaussian(n: int) -> gh.Pair:
    """14 independent columns: everybody is about as far from everybody."""
    tables = [np.random.default_rng(seed).normal(size=(size, 14)) for seed, size in ((5, n), (6, n), (7, n // 2))]
    original, released, holdout = (pl.DataFrame(t, schema=[f"x{j}" for j in range(14)]) for t in tables)
    return gh.Pair(original, released, holdout=holdout)


def masked(n: int) -> gh.Pair:
    """A release of the same people with noise in three columns."""
    original, rng = table(n, 1), np.random.default_rng(4)
    moved = {
        "age": original["age"].to_numpy() + rng.integers(-3, 4, n),
        "income": original["income"].to_numpy() * np.exp(0.1 * rng.normal(size=n)),
        "weight": original["weight"].to_numpy() + 2 * rng.normal(size=n),
    }
    keys = ["age", "education", "income", "weight", "level2", "level5", "level14"]
    return gh.Pair(
        original, original.with_columns(**{c: pl.Series(v) for c, v in moved.items()}), keys=keys, row_paired=True
    )


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def plain_distances() -> float:
    """Pairs per CPU second of scipy's distances, summed, over the six numbers."""
    from scipy.spatial.distance import cdist

    points = table(PLAIN, 1).select(pl.col(pl.Float64)).to_numpy()
    return PLAIN**2 / seconds(lambda: float(cdist(points, points).sum()))


def plain_nearest() -> float:
    """Pairs per CPU second of scipy's distances over 14 Gaussian columns and numpy's smallest of each row."""
    from scipy.spatial.distance import cdist

    points = np.random.default_rng(5).normal(size=(PLAIN, 14))
    return PLAIN**2 / seconds(lambda: cdist(points, points, "cityblock").argmin(axis=1))


def plain_kernel() -> float:
    """Pairs per CPU second of a Gaussian kernel of scipy's distances, summed."""
    from scipy.spatial.distance import cdist

    points = table(PLAIN, 1).select(pl.col(pl.Float64)).to_numpy()
    return PLAIN**2 / seconds(lambda: float(np.exp(-(cdist(points, points) ** 2) / 2).sum()))


def plain_mixed() -> float:
    """Pairs per CPU second of mixed distances over all columns in numpy, a row of minima read off."""
    made = table(PLAIN, 1)
    numbers = made.select(pl.col(pl.Float64)).to_numpy()
    codes = np.column_stack([made[f"level{k}"].to_physical().rank("dense").to_numpy() for k in LEVELS])

    def work() -> None:
        total = sum(np.abs(numbers[:, None, v] - numbers[None, :, v]) for v in range(numbers.shape[1]))
        total = total + sum(codes[:, None, v] != codes[None, :, v] for v in range(codes.shape[1]))
        np.partition(total, 1, axis=1)

    return PLAIN**2 / seconds(work)


def near(pair: gh.Pair) -> None:
    """The nearest released record of every original and of every holdout person."""
    space = gower_space(pair)
    for table_ in ("original", "holdout"):
        space.nearest(table_, "released")


def shown(name: str, rows: int, pairs: float, run: Callable[[gh.Pair], Any], pair: gh.Pair, plain: float) -> None:
    for column in pair.columns:
        pair.codes(column)
    cost = seconds(lambda: run(pair))
    speed = pairs / cost
    print(
        f"{name:<34}{rows:>8,} rows {cost:8.2f} CPU s {speed / 1e6:9.0f} million pairs per CPU s, plain "
        f"{plain / 1e6:5.0f}, ratio {speed / plain:5.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    distances, kernel, mixed, nearest = plain_distances(), plain_kernel(), plain_mixed(), plain_nearest()
    pooled = [
        ("energy_distance, statistic only", lambda p: gh.utility.energy_distance(p, permutations=0), distances),
        ("energy_distance, six numbers", lambda p: gh.utility.energy_distance(p), distances),
        ("mmd, six numbers", lambda p: gh.utility.mmd(p), kernel),
        ("mmd, 500 random features", lambda p: gh.utility.mmd(p, features=500), kernel),
    ]
    crossed = [
        ("rare_agreement, everybody", lambda p: gh.disclosure.rare_agreement(p, people=p.n("original") * 3 // 2), 1),
        ("linkability, ten cuts", lambda p: gh.disclosure.linkability(p), 20),
        ("drisk", lambda p: gh.disclosure.drisk(p), 2),
    ]
    matched = [
        (f"record_linkage, {m}", lambda p, m=m: gh.disclosure.record_linkage(p, method=m))
        for m in ("deterministic", "probabilistic", "mahalanobis")
    ]
    for pairs_of, runs in ((fresh, [*pooled, *crossed]), (masked, matched)):
        for _, run, *_ in runs:
            run(pairs_of(6_000 if run in [r[1] for r in pooled] else 300))
    for pairs_of, name, plain in (
        (fresh, "nearest released, structured", mixed),
        (gaussian, "nearest released, Gaussian", nearest),
    ):
        rows = 5 * given.rows
        near(pairs_of(3_000))
        shown(name, rows, 1.5 * rows * rows, near, pairs_of(rows), plain)
    for rows in (given.rows, *([100_000] if given.large else [])):
        for name, run, plain in pooled:
            shown(name, rows, (2 * rows) ** 2 / 2, run, fresh(rows), plain)
        for name, run, searches in crossed:
            shown(name, rows, searches * 1.5 * rows * rows, run, fresh(rows), mixed)
        if rows <= 20_000:
            for name, run in matched:
                shown(name, rows, rows * rows, run, masked(rows), mixed)


if __name__ == "__main__":
    main()
