"""CPU and clock seconds of ``gh.assess`` with the default measures, measure by measure, and peak memory.

    python bench/assess.py adult [threads]              UCI Adult with its holdout, from ../shared/data/adult
    python bench/assess.py 200000 [threads]             people() of engines.py: so many, a holdout of half as many
    python bench/assess.py wide [threads]               10,000 records, 2,000 mixed columns (or wide:ROWS:COLUMNS)
    JSON=file python bench/assess.py ...                writes the assessment, too, to be compared byte by byte
    FOLLOW=1 python bench/assess.py ...                 tells each measure as it ends

A small assessment compiles first and is not counted. CPU seconds are those of all threads of the process; other work on
the machine stretches them where cores share their units. What several measures ask for is counted with the first that
asks: reading and encoding with "before the first", the search for neighbours with the first of the copying measures.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
ADULT_KEYS = ("age", "education_num", "marital_status", "race", "sex", "native_country")


def adult() -> tuple[list[Any], dict[str, Any]]:
    import polars as pl

    names = ("train", "syn_cart_1", "holdout")
    tables = [pl.read_csv(SHARED / "data" / "adult" / f"adult_{name}.csv.gz") for name in names]
    return tables, {"keys": [k for k in ADULT_KEYS if k in tables[0].columns], "target": "income"}


def drawn(n: int) -> tuple[list[Any], dict[str, Any]]:
    from engines import ROLES, people

    return [people(size, seed) for seed, size in enumerate((n, n, n // 2))], ROLES


def wide(n: int, columns: int) -> tuple[list[Any], dict[str, Any]]:
    """Half texts of 2 to 30 labels, half numbers, all of them leaning on ten hidden traits."""
    import numpy as np
    import polars as pl

    leaning = np.random.default_rng(7).normal(size=(10, columns)) / np.sqrt(10)

    def table(size: int, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(size, 10)) @ leaning + 0.7 * rng.normal(size=(size, columns))
        made: dict[str, Any] = {}
        for j in range(columns):
            levels = 2 + j // 2 % 29
            cuts = np.linspace(-1.8, 1.8, levels - 1) if levels > 2 else np.zeros(1)
            made[f"c{j:04d}"] = (
                pl.Series([f"label {i:02d}" for i in range(levels)]).gather(np.searchsorted(cuts, values[:, j]))
                if j % 2 == 0
                else np.round(values[:, j], 2 if j % 4 == 1 else 0)
            )
        return pl.DataFrame(made)

    return [table(size, seed) for seed, size in enumerate((n, n, n // 2))], {
        "keys": ["c0002", "c0004", "c0003"],
        "target": "c0006",
    }


def small(tables: list[Any], roles: dict[str, Any], threads: int | None) -> None:
    """The same on a few records and columns, so that everything is compiled."""
    import glasshouse as gh

    names = list(dict.fromkeys([*roles["keys"], roles["target"], *tables[0].columns[:15]]))
    few = [table.select(names).head(400) for table in tables]
    gh.assess(few[0], few[1], holdout=few[2], n_jobs=threads, progress=False, **roles)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    import glasshouse as gh

    what, threads = sys.argv[1] if sys.argv[1:] else "adult", int(sys.argv[2]) if sys.argv[2:] else None
    if what == "adult":
        tables, roles = adult()
    elif what.startswith("wide"):
        sizes = [int(size) for size in what.split(":")[1:]] or [10_000, 2000]
        tables, roles = wide(*sizes)
    else:
        tables, roles = drawn(int(what))
    small(tables, roles, threads)
    gc.collect()
    before = peak()
    marks: list[tuple[str, float, float, float]] = []

    def mark(name: str) -> None:
        if marks and os.environ.get("FOLLOW"):
            print(f"{time.process_time() - marks[-1][1]:8.2f}  {marks[-1][0]}", file=sys.stderr, flush=True)
        marks.append((name, time.process_time(), time.perf_counter(), peak()))

    mark("before the first")
    found = gh.assess(
        tables[0], tables[1], holdout=tables[2], n_jobs=threads, progress=lambda done, total, name: mark(name), **roles
    )
    mark("the end")
    rows = [(name, later[1] - cpu, later[2] - clock, later[3]) for (name, cpu, clock, _), later in pairwise(marks)]
    heights = " + ".join(f"{table.height:,}" for table in tables)
    print(f"{what}: {heights} records, {tables[0].width} columns; threads: {threads or 'all'}")
    print(f"{'CPU s':>8} {'clock s':>8} {'peak MB':>8}  measure")
    whole = (f"all of {len(found.results)} measures", marks[-1][1] - marks[0][1], marks[-1][2] - marks[0][2], peak())
    for name, cpu, clock, most in [*sorted(rows, key=lambda row: -row[1]), whole]:
        print(f"{cpu:8.2f} {clock:8.2f} {most:8,.0f}  {name}")
    print(f"{before:,.0f} MB before")
    if "JSON" in os.environ:
        Path(os.environ["JSON"]).write_text(found.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
