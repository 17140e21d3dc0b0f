"""Seconds and peak memory of the utility measures on UCI Adult, and of other packages where they are installed.

    python bench/utility.py [FOLDER] [--all]

FOLDER holds adult_train.csv.gz, adult_syn_cart_1.csv.gz and adult_holdout.csv.gz (default: data/adult of
$GLASSHOUSE_SHARED). The first run compiles kernels, so a small run comes before the clock starts.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

import glasshouse as gh
from glasshouse.catalogue import all_measures

DEFAULT_UTILITY = [name for name, m in all_measures().items() if m.side == "utility" and m.on_map]

SYNTHEVAL_ROWS = 3_000
KEYS = ["age", "sex", "education_num", "marital_status", "occupation"]


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(label: str, work: Any) -> float:
    started, worked = time.perf_counter(), time.process_time()
    found = work()
    seconds, work_done = time.perf_counter() - started, time.process_time() - worked
    shown = getattr(found, "value", None)
    value = "" if shown is None else f"{shown:.4g}"
    print(f"{label:<40} {seconds:7.2f} s  cpu {work_done:7.2f} s  peak {peak_mib():6.0f} MiB  {value}", flush=True)
    return seconds


def peers(train: pl.DataFrame, release: pl.DataFrame, ours: float) -> None:
    """Other packages on the same two tables; seconds as a multiple of our default set."""
    if importlib.util.find_spec("sdmetrics"):
        from sdmetrics.reports.single_table import QualityReport

        a, b = train.to_pandas(), release.to_pandas()
        columns = {c: {"sdtype": "numerical" if t.is_numeric() else "categorical"} for c, t in train.schema.items()}
        seconds = timed(
            "SDMetrics quality report", lambda: QualityReport().generate(a, b, {"columns": columns}, verbose=False)
        )
        print(f"  {seconds / ours:.2f} times our default set")
    if importlib.util.find_spec("syntheval"):
        from syntheval import SynthEval

        # its cost grows faster than the rows, so both are timed on the first few thousand
        few = [table.drop_nulls().head(SYNTHEVAL_ROWS) for table in (train, release)]  # it takes no missing value
        pair = gh.Pair(few[0], few[1], keys=[k for k in KEYS if k in train.columns], target="income")
        mine = sum(timed(f"{n}, few rows", lambda n=n: getattr(gh.utility, n).run(pair)) for n in DEFAULT_UTILITY)
        a, b = few[0].to_pandas(), few[1].to_pandas()
        seconds = timed(
            "SynthEval fast_eval", lambda: SynthEval(a, verbose=False).evaluate(b, presets_file="fast_eval")
        )
        print(f"  {seconds / mine:.1f} times our default set on {SYNTHEVAL_ROWS:,} rows")


def main() -> None:
    given = [a for a in sys.argv[1:] if not a.startswith("--")]
    shared = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    folder = Path(given[0]) if given else shared / "data" / "adult"
    train, release, holdout = (
        pl.read_csv(folder / f"adult_{name}.csv.gz") for name in ("train", "syn_cart_1", "holdout")
    )
    roles = {"keys": [k for k in KEYS if k in train.columns], "target": "income"}
    small = gh.Pair(train.head(400), release.head(400), **roles)
    for name in DEFAULT_UTILITY:
        getattr(gh.utility, name).run(small)
    print(
        f"Adult: {train.height:,} original, {release.height:,} released, {train.width} columns; "
        f"{len(os.sched_getaffinity(0))} cores"
    )
    pair = gh.Pair(train, release, holdout=holdout, **roles)
    timed("reading into a pair", lambda: [pair.codes(c) for c in pair.columns] and None)
    total = sum(timed(name, lambda name=name: getattr(gh.utility, name).run(pair)) for name in DEFAULT_UTILITY)
    print(f"{'default set':<44} {total:8.2f} s")
    tables = gh.Pair(train, release, **roles)
    timed("all two-way tables, statistics only", lambda: gh.utility.table_utility(tables, replicates=0))
    timed("all three-way tables, statistics only", lambda: gh.utility.table_utility(tables, order=3, replicates=0))
    if "--all" in sys.argv:
        for name in sorted(set(dir(gh.utility)) - {*DEFAULT_UTILITY, "gower_paired"}):
            timed(name, lambda name=name: getattr(gh.utility, name).run(pair))
    peers(train, release, total)


if __name__ == "__main__":
    main()
