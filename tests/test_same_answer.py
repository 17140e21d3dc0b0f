"""The same answer tomorrow: the same bytes from every process, the same figures from every order and library."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from tests.conftest import ROOT, converter
from tests.sameness import changed, figures

N = 150
SMALL: dict[str, dict[str, Any]] = {
    "rapid": {"trees": 20},
    "membership_classifier": {"trees": 20},
    "singling_out": {"n_attacks": 200},
    "pmse": {"maxorder": 0},
    "linkability": {"n_splits": 2},
}
MEASURES = [m.name for m in all_measures().values() if m.tier != "full" and not {"row_paired"} & set(m.needs)]


def people(seed: int) -> pl.DataFrame:
    """Ties, gaps, decimals, running numbers and households of three."""
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 90, N).astype(float), np.round(rng.lognormal(8, 1, N), 2)
    town = rng.choice(["Ärlach", "bern", "Zug", "ilanz", "Ilanz"], N, p=[0.4, 0.3, 0.2, 0.07, 0.03]).tolist()
    return pl.DataFrame(
        {
            "serial": 10_000 * seed + 2 * np.arange(N),
            "town": pl.Series([None if u < 0.05 else t for u, t in zip(rng.random(N), town, strict=True)]),
            "age": pl.Series(np.where(rng.random(N) < 0.05, np.nan, age)).fill_nan(None),
            "kids": rng.integers(0, 4, N),
            "pay": pl.Series(np.where(rng.random(N) < 0.05, np.nan, pay)).fill_nan(None),
            "married": rng.random(N) < 0.5,
            "ill": rng.choice(["no", "yes", "unknown"], N, p=[0.7, 0.2, 0.1]),
            "household": 10_000 * seed + np.arange(N) // 3,
        }
    )


def tables() -> dict[str, pl.DataFrame]:
    original, fresh, holdout = (people(seed) for seed in (1, 2, 3))
    return {"original": original, "released": pl.concat([original[:15], fresh[15:]]), "holdout": holdout}


def assess(given: dict[str, Any], n_jobs: int | None = None) -> Any:
    return gh.assess(
        given["original"],
        given["released"],
        holdout=given["holdout"],
        keys=["town", "kids", "married"],
        target="ill",
        cluster="household",
        measures=MEASURES,
        options=SMALL,
        n_jobs=n_jobs,
    )


def dated(frame: pl.DataFrame) -> pl.DataFrame:
    """With times near the change of the clocks, which a time zone could move."""
    start = datetime(2024, 3, 31, 0, 30)
    return frame.with_columns(
        seen=pl.Series([start + timedelta(minutes=7 * (i % 97)) for i in range(frame.height)]),
        born=pl.Series([start.date() - timedelta(days=101 * (i % 61)) for i in range(frame.height)]),
    )


def fingerprint(n_jobs: int | None = None) -> str:
    """A hash of every byte an assessment writes."""
    found = assess({name: dated(frame) for name, frame in tables().items()}, n_jobs)
    written = [found.to_json(), *(result.to_json() for result in found.results.values())]
    return hashlib.sha256("\n".join(written).encode()).hexdigest()


ELSEWHERE = {
    "one thread": {"threads": "1", "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
    "three threads": {"threads": "3", "PYTHONHASHSEED": "2", "TZ": "America/New_York", "LC_ALL": "tr_TR.UTF-8"},
}


def test_every_process_writes_the_same_bytes() -> None:
    """Threads, hash seed, time zone and locale are the machine's; they are no input."""
    found = {}
    for name, changes in ELSEWHERE.items():
        threads = dict.fromkeys(
            ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), changes["threads"]
        )
        ran = subprocess.run(
            [sys.executable, "-c", f"from tests.test_same_answer import *; print(fingerprint({changes['threads']}))"],
            env={**os.environ, **threads, **{k: v for k, v in changes.items() if k != "threads"}},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        found[name] = ran.stdout.split()[-1]
    assert set(found.values()) == {fingerprint()}, found


@pytest.fixture(scope="module")
def before() -> Any:
    return assess(tables())


@pytest.mark.parametrize(
    "library",
    [
        "pandas",
        "pyarrow",
        "lazy",
        "duckdb",
        pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")]),
    ],
)
def test_every_library_and_order_gives_the_same_figures(
    library: str, before: Any, request: pytest.FixtureRequest
) -> None:
    """Rows shuffled, columns reversed, and the tables in another library: in memory or in their engine."""
    convert = converter(library, request)
    given = {
        name: convert(frame.sample(fraction=1, shuffle=True, seed=i).select(frame.columns[::-1]))
        for i, (name, frame) in enumerate(tables().items())
    }
    after = assess(given)
    assert after.verdict == before.verdict
    assert {n: t.status for n, t in after.threats.items()} == {n: t.status for n, t in before.threats.items()}
    moved = {n: changed(figures(r), figures(after.results[n])) for n, r in before.results.items()}
    assert not {name: differ for name, differ in moved.items() if differ}
