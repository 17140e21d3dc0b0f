"""Time and memory of the default attacker on Adult: 500 trees, 12 keys, 32,561 records, and how both grow.

    python bench/rapid.py [--jobs N] [--growth]

The first call with an empty cache includes the compilation of the kernels; a process that finds the cache skips it.
Needs the reference data folder (GLASSHOUSE_SHARED, or `shared` beside the repository).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def one_run(times: int, jobs: int | None, runs: int) -> None:
    """Fit and score in this process; called in a subprocess so that peak memory is this run's own."""
    import numpy as np
    import polars as pl

    from glasshouse.data.pair import Pair
    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.forest import forest

    folder = SHARED / "data" / "adult"
    original = pl.read_csv(folder / "adult_train.csv.gz").with_columns(pl.col(pl.String).fill_null("?"))
    released = pl.read_csv(folder / "adult_syn_cart_1.csv.gz").with_columns(pl.col(pl.String).fill_null("?"))
    if times > 1:  # more people of the same kind, not copies: copies would be collapsed
        from glasshouse.synthesis import Cart

        model = Cart().fit(original)
        original, released = (model.sample(times * original.height, random_state=seed) for seed in (1, 2))
    keys = [c for c in original.columns if c != "income"]
    pair = Pair(original, released, keys=keys, target="income")
    training, asked = design(pair, keys, "released"), design(pair, keys, "original")
    y, truth = pair.codes("income").of("released"), pair.codes("income").of("original")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for run in range(runs):
        start, cpu = time.perf_counter(), time.process_time()
        grown = forest.grow(
            training.codes, y, n_classes=2, numeric=training.is_numeric, values=training.values,
            n_levels=training.n_levels, seed=run, n_jobs=jobs, score=[asked.codes],
        )  # fmt: skip
        both, cpu = time.perf_counter() - start, time.process_time() - cpu
        shares = grown.predictions[0]
        base = (np.bincount(truth) / len(truth))[truth]
        own = shares[np.arange(len(truth)), truth]
        rate = float(((own - base) / (1 - base) > 0.3).mean())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f" {len(y):>8,} records, call {run + 1}: fit and score {both:5.2f} s (CPU {cpu:5.2f}), peak {peak:4.0f} MB "
            f"({peak - before:4.0f} MB above the data), RAPID {rate:.4f}",
            flush=True,
        )
    start = time.perf_counter()
    grown = forest.grow(
        training.codes, y, n_classes=2, numeric=training.is_numeric, values=training.values, n_levels=training.n_levels,
        seed=0, n_jobs=jobs, keep=True,
    )  # fmt: skip
    fit = time.perf_counter() - start
    start = time.perf_counter()
    grown.predict(asked.codes, n_jobs=jobs)
    score = time.perf_counter() - start
    held = sum(a.nbytes for tree in grown.trees for a in (tree.nodes, tree.value)) / 2**20
    print(
        f"  {len(y):>8,} records, kept forest: fit {fit:6.2f} s, score {score:6.2f} s, forest {held:4.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--growth", action="store_true", help="also 2, 4 and 8 times the records")
    parser.add_argument("--times", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    if given.times:
        one_run(given.times, given.jobs, given.runs)
        return
    if not (SHARED / "data" / "adult").is_dir():
        sys.exit("the reference data folder is not here; set GLASSHOUSE_SHARED")
    more = ["--jobs", str(given.jobs)] if given.jobs else []

    def call(times: int, runs: int, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, __file__, "--times", str(times), "--runs", str(runs), *more]
        subprocess.run(command, check=True, env=env)

    with tempfile.TemporaryDirectory() as cache:
        print("empty cache (first call compiles):")
        call(1, 2, {**os.environ, "NUMBA_CACHE_DIR": cache})
    print("warm cache, new process:")
    call(1, given.runs)
    if given.growth:
        print("growth:")
        for times in (2, 4, 8):
            call(times, 1)


if __name__ == "__main__":
    main()
