"""Seconds and peak memory from ten thousand to a million records on polars, DuckDB and local Spark.

    python bench/engines.py [sizes]     QUICK=1 for 2,000 records only, ENGINES=polars,duckdb, MINUTES per process

Original, release and holdout of the size given (the holdout a half), 13 columns: eight of text with 2 to 2,000 labels,
three of whole numbers, two of decimals, read from Parquet files by each engine. Jobs: the way here (labels, codes and
numbers of all columns), counting, neighbours, RAPID with 100 trees, utility, and ``assess`` with the default measures.
Each engine and size is a process of its own; the peak of each job is that of this process alone (Spark's Java beside it
has what it was given). Neighbours and ``assess`` end at 100,000 records unless FULL=1: on 13 columns without structure
every record is compared with every other.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENGINES = tuple(os.environ.get("ENGINES", "polars,duckdb,spark").split(","))
QUADRATIC = 100_000
MINUTES = float(os.environ.get("MINUTES", "20"))
ROLES: dict[str, Any] = {"keys": ["region", "sex", "education"], "target": "status"}


def people(n: int, seed: int) -> Any:
    """Texts as long as those of registers, and numbers as they are written there."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    texts = {
        "region": 9, "municipality": 2000, "occupation": 400, "sector": 21, "sex": 2, "education": 7, "civil": 5,
        "status": 4,
    }  # fmt: skip
    made = {
        name: pl.Series([f"{name} {i:04d} of the register" for i in range(size)]).gather(
            np.minimum(rng.zipf(1.4, n) - 1, size - 1)
        )
        for name, size in texts.items()
    }
    pay = np.round(rng.lognormal(10, 0.6, n), 2)
    return pl.DataFrame(
        {
            **made,
            "age": rng.integers(0, 100, n),
            "children": np.minimum(rng.poisson(1.1, n), 9),
            "year": rng.integers(1920, 2020, n),
            "hours": np.round(rng.normal(36, 9, n) * 2) / 2,
            "income": pl.Series(np.where(rng.random(n) < 0.03, np.nan, pay)).fill_nan(None),
        }
    )


def session() -> Any:
    """Spark on this machine, its executors with this Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "3g",
                "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4"}  # fmt: skip
    builder = SparkSession.builder.master("local[2]").appName("glasshouse-bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def reader(engine: str) -> Callable[[str], Any]:
    if engine == "polars":
        import polars as pl

        return pl.read_parquet
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().read_parquet
    return session().read.parquet


def way_here(pair: Any) -> None:
    for column in pair.columns:
        pair.codes(column)
    for column in pair.numeric:
        pair.values(column)


def measured(pair: Any, measures: list[str] | str, **options: Any) -> None:
    import glasshouse as gh

    gh.assess(pair, measures=measures, options=options or None, progress=False)


JOBS: dict[str, Callable[[Any], None]] = {
    "the way here": way_here,
    "counting": lambda pair: measured(pair, ["k_anonymity", "l_diversity", "disco", "attribution_all"]),
    "RAPID": lambda pair: measured(pair, ["rapid"], rapid={"trees": 100}),
    "utility": lambda pair: measured(pair, ["hellinger", "kolmogorov_smirnov", "association", "pmse"]),
    "neighbours": lambda pair: measured(pair, ["dcr", "nndr"]),
    "assess": lambda pair: measured(pair, "default"),
}


def peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


def child(engine: str, folder: Path, small: Path, jobs: list[str]) -> None:
    """All jobs of one engine and size, each on a pair of its own; a line of JSON per job."""
    import glasshouse as gh

    read = reader(engine)

    def pair(at: Path) -> Any:
        tables = [read(str(at / f"{name}.parquet")) for name in ("original", "released", "holdout")]
        return gh.Pair(tables[0], tables[1], holdout=tables[2], **ROLES)

    for job in jobs:
        JOBS[job](pair(small))  # compiles
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        started = time.perf_counter()
        JOBS[job](pair(folder))
        print(json.dumps({"job": job, "seconds": time.perf_counter() - started, "peak": peak()}), flush=True)


def write(folder: Path, n: int) -> Path:
    at = folder / str(n)
    at.mkdir()
    for seed, (name, size) in enumerate({"original": n, "released": n, "holdout": n // 2}.items()):
        people(size, seed).write_parquet(at / f"{name}.parquet")
    return at


def main() -> None:
    asked = [int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    sizes = [2000] if os.environ.get("QUICK") else asked
    print(f"| job | records | {' | '.join(f'{e}, s | MB' for e in ENGINES)} |")
    print("|---|---:|" + "---:|---:|" * len(ENGINES))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        small = write(folder, 500)
        for n in sizes:
            at = write(folder, n)
            full = bool(os.environ.get("FULL")) or n <= QUADRATIC
            jobs = [job for job in JOBS if full or job not in ("neighbours", "assess")]
            found: dict[str, dict[str, Any]] = {}
            for engine in ENGINES:
                command = [sys.executable, __file__, "child", engine, str(at), str(small), *jobs]
                try:
                    ran = subprocess.run(
                        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60 * MINUTES
                    ).stdout
                except subprocess.TimeoutExpired as late:
                    ran = (late.stdout or b"").decode()
                told = [json.loads(line) for line in ran.splitlines() if line.startswith("{")]
                found[engine] = {one["job"]: one for one in told}
            for job in jobs:
                cells = [found[e].get(job) for e in ENGINES]
                shown = [f"{c['seconds']:.1f} | {c['peak']:.0f}" if c else f"> {MINUTES:g} min | –" for c in cells]
                print(f"| {job} | {n:,} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
    else:
        main()
