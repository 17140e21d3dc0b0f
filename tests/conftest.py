"""Fixtures every room shares: where the reference data lives, and the four engines."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("polars", "pandas", "duckdb", "spark")
Convert = Callable[[pl.DataFrame], Any]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with reference data that may not be committed (GLASSHOUSE_SHARED, or `shared` beside the repository)."""
    folder = Path(os.environ.get("GLASSHOUSE_SHARED", ROOT.parent / "shared"))
    if not (folder / "golden").is_dir():
        pytest.skip("reference data folder `shared` is not here; it holds third-party data that cannot be committed")
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """Reference values made by our own simulations, committed with the tests."""
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One small local Spark session; skipped with a reason where Java or PySpark is missing."""
    pytest.importorskip("pyspark", reason="PySpark is not installed (extra: spark)")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, which is not on this machine")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors need the same packages
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[1]").appName("glasshouse-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def converter(engine: str, request: pytest.FixtureRequest) -> Convert:
    """How a polars frame becomes a frame of the named engine."""
    if engine == "polars":
        return lambda frame: frame
    if engine == "lazy":
        return lambda frame: frame.lazy()
    if engine == "pyarrow":
        return lambda frame: frame.to_arrow()
    if engine == "pandas":
        pytest.importorskip("pandas", reason="pandas is not installed")
        return lambda frame: frame.to_pandas()
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra: duckdb)")
        return lambda frame: duckdb.from_arrow(frame.to_arrow())
    session = request.getfixturevalue("spark")
    return lambda frame: session.createDataFrame(frame.rows(), _spark_schema(frame))


def _spark_schema(frame: pl.DataFrame) -> Any:
    from pyspark.sql import types

    kinds = {
        pl.String: types.StringType,
        pl.Int64: types.LongType,
        pl.Float64: types.DoubleType,
        pl.Boolean: types.BooleanType,
    }
    return types.StructType(
        [
            types.StructField(
                name, kinds.get(type(dtype) if not isinstance(dtype, type) else dtype, types.StringType)()
            )
            for name, dtype in frame.schema.items()
        ]
    )


@pytest.fixture(
    params=[*ENGINES[:3], pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")])]
)
def engine(request: pytest.FixtureRequest) -> Convert:
    """Each of the four engines in turn."""
    return converter(request.param, request)
