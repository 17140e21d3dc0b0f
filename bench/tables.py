"""Seconds and peak memory of the counting measures on Adult (48,842 records), and their growth at 1, 10 and 100
times the rows.

    python bench/tables.py [largest multiple]        GLASSHOUSE_SHARED names the folder with the reference data

Each measure runs in a process of its own, so that the peak memory is its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

KEYS = ["age", "sex", "occupation", "race"]
MEASURES = ("attribution_all", "k_anonymity", "l_diversity", "t_closeness", "suda")
SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "adult"


def measure_once(name: str, times: int) -> None:
    import polars as pl

    import glasshouse as gh
    from glasshouse.data.files import read

    people = pl.concat([read(SHARED / "adult_train.csv.gz"), read(SHARED / "adult_holdout.csv.gz")])
    release = pl.concat([read(SHARED / f"adult_syn_cart_{i}.csv.gz") for i in (1, 2)]).head(people.height)
    if times > 1:
        # other people, not the same ones again: each block of copies lives in another decade of a made-up region
        people, release = (
            pl.concat([t.with_columns(age=pl.col("age") + 100 * i) for i in range(times)]) for t in (people, release)
        )
    run = getattr(gh.disclosure, name)
    keys = [*KEYS, "education_num", "marital_status"] if name == "suda" else KEYS
    seconds = []
    for _ in range(3 if times == 1 else 1):
        start = time.perf_counter()
        run(gh.Pair(people, release, keys=keys, target="income"))
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:16} {people.height:>12,} rows  first {seconds[0]:8.3f} s  best {min(seconds):8.3f} s  peak "
        f"{peak:8.0f} MB",
        flush=True,
    )


def main() -> None:
    if not SHARED.is_dir():
        sys.exit("Adult is not here: set GLASSHOUSE_SHARED to the folder that holds data/adult")
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for times in (t for t in (1, 10, 100) if t <= largest):
        for name in MEASURES:
            subprocess.run([sys.executable, __file__, "--one", name, str(times)], check=True)


if __name__ == "__main__":
    if "--one" in sys.argv:
        measure_once(sys.argv[2], int(sys.argv[3]))
    else:
        main()
