"""Time and quality of the formal side: Risk calls, and Mst and Aim on Adult at rho 0.5.

    python bench/dp.py [--columns 8] [--model-size 2]

Quality is the mean total variation distance over single columns (tv1) and pairs (tv2) between original and release.
Needs the reference data folder (GLASSHOUSE_SHARED, or `shared` beside the repository) for the syntheses.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
COLUMNS = [
    "age", "education_num", "sex", "income", "workclass", "marital_status", "occupation", "relationship", "race",
    "hours_per_week", "native_country", "capital_gain", "capital_loss",
]  # fmt: skip
NUMBERS = {
    "age": {"type": "int", "lower": 15, "upper": 94, "bins": 16},
    "education_num": {"type": "int", "lower": 1, "upper": 16},
    "hours_per_week": {"type": "int", "lower": 0, "upper": 99, "bins": 20},
    "capital_gain": {"type": "int", "lower": 0, "upper": 99999, "edges": [0, 1, 3000, 5000, 8000, 15000, 99999]},
    "capital_loss": {"type": "int", "lower": 0, "upper": 4999, "edges": [0, 1, 1500, 2000, 4999]},
}


def per_call(call: Callable[[], Any], repeats: int = 50) -> float:
    call()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats * 1e3


def risk_calls() -> None:
    from glasshouse.formal import Risk, lower_bounds

    risk = Risk.from_rho(0.5)
    calls: dict[str, Callable[[], Any]] = {
        "from_advantage": lambda: Risk.from_advantage(0.1),
        "from_success_at_baseline": lambda: Risk.from_success_at_baseline(success=0.1, baseline=1e-6),
        "from_epsilon_delta": lambda: Risk.from_epsilon_delta(1.0, 1e-6),
        "max_tpr": lambda: risk.max_tpr(0.001),
        "max_tpr of 200 rates": lambda: risk.max_tpr(np.linspace(0.001, 0.9, 200)),
        "advantage": lambda: risk.advantage,
        "epsilon": lambda: risk.epsilon(1e-6),
        "bayes_error": lambda: risk.bayes_error(0.3),
        "lower_bounds": lambda: lower_bounds(120, 1000, 10, 1000),
    }
    for name, call in calls.items():
        print(f"{name:<28}{per_call(call):8.3f} ms")


def syntheses(columns: int, model_size: float) -> None:
    import polars as pl

    from glasshouse.formal import Risk
    from glasshouse.synthesis import Aim, Domain, Mst

    adult = pl.read_csv(SHARED / "data" / "adult" / "adult_train.csv.gz")
    for names, rows in ((COLUMNS[:4], 1000), (COLUMNS[:columns], adult.height)):
        table = adult.select(names).head(rows)
        declared = {c: NUMBERS.get(c) or _categories(adult[c]) for c in names}
        domain = Domain(declared)
        for make, options in ((Mst, {}), (Aim, {"max_model_size": model_size})):
            start, cpu = time.perf_counter(), time.process_time()
            model = make(Risk.from_rho(0.5), domain, **options).fit(table)  # type: ignore[arg-type]
            wall, used = time.perf_counter() - start, time.process_time() - cpu
            made = model.sample()
            tv1, tv2 = (np.mean([_distance(domain, table, made, c) for c in combinations(names, k)]) for k in (1, 2))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(
                f"{make.__name__} {len(names):2d} columns {rows:6,} rows: {wall:6.1f} s ({used:.1f} CPU), "
                f"tv1 {tv1:.4f}, tv2 {tv2:.4f}, {len(model.report().ledger)} steps, peak {memory} MB"
            )


def _categories(column: Any) -> dict[str, Any]:
    return {"categories": sorted(column.drop_nulls().unique().to_list()), "nullable": column.null_count() > 0}


def _distance(domain: Any, a: Any, b: Any, columns: tuple[str, ...]) -> float:
    shape = [domain.sizes[c] for c in columns]

    def share(table: Any) -> np.ndarray:
        cells = domain.encode(table)
        return (
            np.bincount(np.ravel_multi_index([cells[c] for c in columns], shape), minlength=int(np.prod(shape)))
            / table.height
        )

    return 0.5 * float(np.abs(share(a) - share(b)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--model-size", type=float, default=2.0)
    given = parser.parse_args()
    risk_calls()
    if not (SHARED / "data").is_dir():
        sys.exit("the reference data folder is not here; set GLASSHOUSE_SHARED")
    syntheses(given.columns, given.model_size)


if __name__ == "__main__":
    main()
