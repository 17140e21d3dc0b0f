"""Seconds and peak memory of the distance and membership measures on Adult, and how they grow with the rows.

    python bench/neighbours.py [largest]        GLASSHOUSE_SHARED names the folder with the reference data

Part 1: dcr, nndr, identical, nnaa and domias in one assessment of Adult (32,561 training, 16,281 holdout, 32,561
released records, 13 columns). Part 2: dcr and nndr from 10 thousand rows to ``largest`` (400 thousand), with the
exponent of growth. Part 3: the same answer from other packages where they are installed, as ratios. Each run is a
process of its own, so that its peak memory is its own. CPU seconds are the figure to compare: other work stretches the
wall clock.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "adult"
TOGETHER = ("dcr", "nndr", "identical", "nnaa", "domias")
SIZES = (10_000, 20_000, 50_000, 100_000, 200_000, 400_000)


def adult() -> dict[str, Any]:
    from glasshouse.data.files import read

    names = {"original": "adult_train", "released": "adult_syn_cart_1", "holdout": "adult_holdout"}
    return {role: read(SHARED / f"{name}.csv.gz") for role, name in names.items()}


def grown(n: int) -> dict[str, Any]:
    """n originals, n released and n / 2 holdout records: Adult people moved a little, so that few are alike."""
    import numpy as np
    import polars as pl

    from glasshouse.data.files import read

    files = ["adult_train", "adult_holdout", *(f"adult_syn_cart_{i}" for i in range(1, 6))]
    first = read(SHARED / "adult_train.csv.gz")
    pool = pl.concat([read(SHARED / f"{name}.csv.gz").select(first.columns) for name in files])
    rng = np.random.default_rng(1)

    def draw(size: int) -> Any:
        table = pool[rng.integers(0, pool.height, size)]
        moved = {
            c: table[c].to_numpy() + rng.normal(0, s, size).round(1) for c, s in (("age", 1.0), ("hours_per_week", 2.0))
        }
        return table.with_columns(**{c: pl.Series(v) for c, v in moved.items()})

    return {"original": draw(n), "released": draw(n), "holdout": draw(n // 2)}


def run(measures: tuple[str, ...], tables: dict[str, Any]) -> dict[str, float]:
    """Seconds of each measure on one pair after a small warm-up that loads the compiled kernels."""
    import glasshouse as gh

    small = gh.Pair(**{role: table.head(300) for role, table in tables.items()})
    for name in measures:
        getattr(gh.disclosure, name)(small)
    start, cpu = time.perf_counter(), time.process_time()
    pair = gh.Pair(**tables)
    parts = {}
    for name in measures:
        before = time.perf_counter()
        getattr(gh.disclosure, name)(pair)
        parts[name] = time.perf_counter() - before
    parts["wall"] = time.perf_counter() - start
    parts["cpu"] = time.process_time() - cpu
    parts["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return parts


def anonymeter(tables: dict[str, Any], queries: int) -> float:
    """CPU seconds of anonymeter's neighbour search for the same two searches, scaled up from ``queries`` records."""
    import anonymeter.evaluators  # noqa: F401  its modules import each other, and this order works
    from anonymeter.neighbors.mixed_types_kneighbors import MixedTypeKNeighbors

    frames = {role: table.to_pandas() for role, table in tables.items()}
    start = time.process_time()
    for role in ("original", "holdout"):
        MixedTypeKNeighbors(n_neighbors=2, n_jobs=1).fit(candidates=frames[role]).kneighbors(
            frames["released"].head(queries)
        )
    return (time.process_time() - start) * len(frames["released"]) / queries


def sdmetrics(tables: dict[str, Any], queries: int) -> float:
    """CPU seconds of SDMetrics' overfitting check (closest record only), scaled up from ``queries`` release records."""
    from sdmetrics.single_table import DCROverfittingProtection

    frames = {role: table.to_pandas() for role, table in tables.items()}
    kinds = {
        c: {"sdtype": "numerical" if d.kind in "iuf" else "categorical"} for c, d in frames["original"].dtypes.items()
    }
    start = time.process_time()
    DCROverfittingProtection.compute_breakdown(
        frames["original"], frames["released"].head(queries), frames["holdout"], {"columns": kinds}, table_name=None
    )
    return (time.process_time() - start) * len(frames["released"]) / queries


def child(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, "--one", *arguments], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    if not SHARED.is_dir():
        sys.exit("Adult is not here: set GLASSHOUSE_SHARED to the folder that holds data/adult")
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    for names in (TOGETHER[:2], TOGETHER):
        found = child("adult", ",".join(names))
        parts = "  ".join(f"{name} {found[name]:.2f}" for name in names)
        print(
            f"Adult: {parts} s; together {found['wall']:.2f} s, {found['cpu']:.2f} CPU s, peak {found['peak']:.0f} MB",
            flush=True,
        )
    ours = child("adult", "dcr,nndr")["cpu"]
    before: tuple[int, float] | None = None
    for size in (s for s in SIZES if s <= largest):
        found = child("grown", "dcr,nndr", str(size))
        line = f"{size:>9,} rows: {found['wall']:7.2f} s {found['cpu']:7.2f} CPU s, peak {found['peak']:6.0f} MB"
        if before is not None:
            line += f", exponent {math.log(found['cpu'] / before[1]) / math.log(size / before[0]):.2f}"
        before = size, found["cpu"]
        print(line, flush=True)
    for other in (anonymeter, sdmetrics):
        try:
            cost = other(adult(), 500)
        except ImportError:
            print(f"{other.__name__}: not installed")
            continue
        print(f"{other.__name__}: {cost:.1f} CPU s for the same searches, {cost / ours:.0f} times dcr + nndr here")


if __name__ == "__main__":
    if "--one" in sys.argv:
        chosen = tuple(sys.argv[3].split(","))
        print(json.dumps(run(chosen, adult() if sys.argv[2] == "adult" else grown(int(sys.argv[4])))))
    else:
        main()
