"""Time and memory of the CART synthesiser on Adult (32,561 records, 13 columns) and SD2011 (5,000 records, 9 columns).

    python bench/cart.py [--jobs N]

Needs the reference data folder (GLASSHOUSE_SHARED, or `shared` beside the repository).
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    if not (SHARED / "data").is_dir():
        sys.exit("the reference data folder is not here; set GLASSHOUSE_SHARED")
    import polars as pl

    from glasshouse.synthesis import Cart

    tables = {
        "SD2011": (SHARED / "data" / "sd2011" / "sd2011_9.csv.gz", {"special_codes": {"income": [-8]}}),
        "Adult": (SHARED / "data" / "adult" / "adult_train.csv.gz", {}),
    }
    for name, (path, options) in tables.items():
        original = pl.read_csv(path)
        for call in range(2):
            start, cpu = time.perf_counter(), time.process_time()
            model = Cart(n_jobs=given.jobs, **options).fit(original)
            fit = time.perf_counter() - start
            model.sample(random_state=call)
            both, cpu = time.perf_counter() - start, time.process_time() - cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name:7s} {original.height:>7,} records, call {call + 1}: fit {fit:5.2f} s, sample "
                f"{both - fit:5.2f} s, CPU {cpu:5.2f} s, peak {peak:4.0f} MB"
            )


if __name__ == "__main__":
    main()
