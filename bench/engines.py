"""Seconds and peak memory from ten thousand to ten million records on polars, DuckDB and local Spark.

    python bench/engines.py [sizes]     QUICK=1 for 2,000 records only, ENGINES=polars,duckdb, JOBS=counting,RAPID,
                                       MINUTES a job may take

Original, release and holdout of the size given (the holdout a half), 13 columns: eight of text with 2 to 2,000 labels,
three of whole numbers, two of decimals, read from Parquet files by each engine. Jobs: the way here (labels, codes and
numbers of all columns), counting, neighbours, RAPID with 100 trees, utility, and ``assess`` with the default measures.
Each job, engine and size is a process of its own, and the peak is that of this process alone (Spark's Java beside it
has what it was given). A job that takes longer than the minutes it may, or stops, is told as such, and larger sizes
leave it out.
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
MINUTES = float(os.environ.get("MINUTES", "20"))
ROLES: dict[str, Any] = {"keys": ["region", "sex", "education"], "target": "status"}


def people(n: int, seed: int) -> Any:
    """Texts as long as those of registers and numbers as they are written there, three hidden traits behind them."""
    import numpy as np
    import polars as pl
    from scipy.special import ndtr

    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(3, n))
    texts = {
        "region": 9, "municipality": 2000, "occupation": 400, "sector": 21, "sex": 2, "education": 7, "civil": 5,
        "status": 4,
    }  # fmt: skip
    made = {}
    for j, (name, size) in enumerate(texts.items()):
        place = ndtr(0.9 * traits[j % 3] + np.sqrt(1 - 0.9**2) * rng.normal(size=n))
        labels = pl.Series([f"{name} {i:04d} of the register" for i in range(size)])
        made[name] = labels.gather(np.minimum((size * place**2.5).astype(int), size - 1))  # a few hold many
    age = np.clip(np.round(42 + 20 * traits[0]), 0, 99)
    pay = np.round(np.exp(10 + 0.5 * traits[1] + 0.3 * rng.normal(size=n)), -1)
    return pl.DataFrame(
        {
            **made,
            "age": age.astype(int),
            "children": np.minimum(rng.poisson(np.clip(age / 40, 0.01, 1.5)), 9),
            "year": (2019 - age).astype(int),
            "hours": np.where(rng.random(n) < 0.5, 38.5, np.round(36 + 9 * traits[2])),
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

        return pl.scan_parquet  # a table read whole would be most of the memory
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
WANTED = os.environ["JOBS"].split(",") if "JOBS" in os.environ else list(JOBS)


def peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


def child(engine: str, folder: Path, small: Path, job: str) -> None:
    """One job of one engine and size."""
    import glasshouse as gh

    read = reader(engine)

    def pair(at: Path) -> Any:
        tables = [read(str(at / f"{name}.parquet")) for name in ("original", "released", "holdout")]
        return gh.Pair(tables[0], tables[1], holdout=tables[2], **ROLES)

    JOBS[job](pair(small))  # compiles
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    started, cpu = time.perf_counter(), time.process_time()
    JOBS[job](pair(folder))
    found = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "peak": peak()}
    print(json.dumps(found), flush=True)


def write(folder: Path, n: int) -> Path:
    at = folder / str(n)
    at.mkdir()
    for seed, (name, size) in enumerate({"original": n, "released": n, "holdout": n // 2}.items()):
        people(size, seed).write_parquet(at / f"{name}.parquet")
    return at


def one(engine: str, at: Path, small: Path, job: str) -> str:
    """What a job took, in a process of its own, as three cells; or that it took too long, or why it did not end."""
    command = [sys.executable, __file__, "child", engine, str(at), str(small), job]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60 * MINUTES)
    except subprocess.TimeoutExpired:
        return f"> {MINUTES:g} min | – | –"
    told = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if not told:
        said = ran.stderr.strip().splitlines()[-1:] or [f"ended by signal {-ran.returncode}"]
        return f"stopped: {said[0][:90]} | – | –"
    found = json.loads(told[-1])
    return f"{found['seconds']:.1f} | {found['cpu']:.1f} | {found['peak']:,.0f}"


def main() -> None:
    asked = [int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000, 10_000_000]
    sizes = [2000] if os.environ.get("QUICK") else asked
    print(f"| job | records | {' | '.join(f'{e}, s | CPU s | MB' for e in ENGINES)} |")
    print("|---|---:|" + "---:|---:|---:|" * len(ENGINES))
    too_long: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        small = write(folder, 500)
        for n in sizes:
            at = write(folder, n)
            for job in WANTED:
                shown = []
                for engine in ENGINES:
                    if (engine, job) in too_long:
                        shown.append("not run | – | –")
                        continue
                    shown.append(one(engine, at, small, job))
                    if shown[-1].endswith("–"):
                        too_long.add((engine, job))
                print(f"| {job} | {n:,} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5])
    else:
        main()
