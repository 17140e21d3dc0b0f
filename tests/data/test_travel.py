"""Tables that are elsewhere: labels come once, records as codes, and nobody can tell from the figures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.data.travel import carried, in_place, labels_of, widths
from tests.conftest import Convert, converter
from tests.sameness import figures

N = 1200
SPARK = pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")])
ELSEWHERE = ["lazy", "duckdb", SPARK]
LIBRARY = {"lazy": "polars-lazy", "duckdb": "duckdb", "spark": "pyspark"}


def people(seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    towns = pl.Series(["Ärlach", "bern", "Zug", "ilanz", "it's", None])
    return pl.DataFrame(
        {
            "town": towns.gather(rng.choice(6, n, p=[0.4, 0.3, 0.1, 0.1, 0.07, 0.03])),
            "age": rng.integers(18, 90, n),
            "kids": rng.integers(0, 4, n),
            "pay": pl.Series(np.where(rng.random(n) < 0.05, np.nan, np.round(rng.lognormal(8, 1, n), 2))).fill_nan(
                None
            ),
            "married": rng.random(n) < 0.5,
            "ill": rng.choice(["no", "yes", "unknown"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def tables() -> dict[str, pl.DataFrame]:
    original, fresh, holdout = (people(seed) for seed in (1, 2, 3))
    return {"original": original, "released": pl.concat([original[:100], fresh[100:]]), "holdout": holdout}


def assess(given: dict[str, Any]) -> Any:
    return gh.assess(
        given["original"],
        given["released"],
        holdout=given["holdout"],
        keys=["town", "kids", "married"],
        target="ill",
        options={"rapid": {"trees": 20}},
    )


@pytest.fixture(params=ELSEWHERE)
def elsewhere(request: pytest.FixtureRequest) -> tuple[str, Convert]:
    """An engine that holds tables elsewhere."""
    return LIBRARY[request.param], converter(request.param, request)


@pytest.fixture(scope="module")
def before() -> Any:
    return assess(tables())


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[pl.DataFrame]]:
    """Whatever an engine gives to this machine."""
    seen: list[pl.DataFrame] = []
    collect = nw.LazyFrame.collect

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = collect(self, *args, **kwargs)
        if "polars" not in type(self.to_native()).__module__:
            seen.append(pl.DataFrame(made.to_native()))
        return made

    monkeypatch.setattr(nw.LazyFrame, "collect", noted)
    yield seen


@pytest.mark.parametrize("library", ["duckdb", SPARK])
def test_an_assessment_brings_no_texts_but_labels_and_gives_the_figures_of_polars(
    library: str, before: Any, arrivals: list[pl.DataFrame], request: pytest.FixtureRequest
) -> None:
    convert = converter(library, request)
    after = assess({name: convert(frame) for name, frame in tables().items()})
    most = 6 * 4 * 2 * 3  # cells of keys and target, the longest list of texts there can be
    texts = [f for f in arrivals if any(t == pl.String for t in f.dtypes)]
    assert arrivals and texts
    assert max(f.height for f in texts) <= most, "rows of text came"
    assert max(f.height for f in arrivals) == N, "records come as numbers"
    assert after.verdict == before.verdict
    assert {n: figures(r) for n, r in after.results.items()} == {n: figures(r) for n, r in before.results.items()}


def test_records_travel_in_the_narrowest_exact_numbers(elsewhere: tuple[str, Convert]) -> None:
    library, convert = elsewhere
    frame = people(1, 300).with_columns(
        wide=pl.Series(np.arange(300) * 1_000_000),
        half=pl.Series(np.arange(300) / 2),
        big=pl.Series(np.r_[1e300, np.arange(299.0)]),
        code=pl.Series([f"c{i:03d}" for i in range(300)]),
    )
    lazy = nw.from_native(convert(frame)).lazy()
    texts = ["town", "ill", "code"]
    levels = {c: sorted(found.to_list()) for c, found in labels_of(lazy, texts, "original").items()}
    assert levels["town"] == ["Zug", "bern", "ilanz", "it's", "Ärlach"] and len(levels["code"]) == 300
    kinds = {"age": "int", "kids": "int", "wide": "int", "pay": "float", "half": "float", "big": "float"}
    narrow = widths({"original": lazy}, kinds)
    made = carried(lazy, library, frame.columns, levels, narrow, "original")
    told = {c: str(t).lower().lstrip("u") for c, t in made.schema.items()}
    assert {c: told[c] for c in (*texts, *kinds)} == {
        "town": "int8", "ill": "int8", "code": "int16", "age": "int8", "kids": "int8", "wide": "int32",
        "pay": "float64", "half": "float32", "big": "float64",
    }  # fmt: skip
    for c in texts:
        frame = frame.with_columns(pl.col(c).cast(pl.Enum(levels[c])).to_physical())
    whole = [c for c in frame.columns if c != "married"]
    same = (pl.col(whole).cast(pl.Float64), pl.col("married"))
    assert in_place(made, made).equals(made)
    assert made.select(same).sort(whole).equals(frame.select(same).sort(whole))


def test_columns_that_only_the_original_has_come_when_asked_for_and_in_the_same_order(
    elsewhere: tuple[str, Convert],
) -> None:
    _, convert = elsewhere
    original = people(1, 200).with_columns(name=pl.Series([f"person {i * 7919 % 10007}" for i in range(200)]))
    pair = gh.Pair(convert(original), convert(people(2, 200)), keys=["town"], target="ill")
    town = pair.codes("town").of("original")
    assert "name" not in pair._tables._here._carried["original"].columns
    frame = pair.local("original")
    assert (town == pair.codes("town").of("original")).all()
    assert frame.sort("name").equals(original.select(frame.columns).sort("name"))


def test_a_second_way_in_another_order_is_put_in_place() -> None:
    rng = np.random.default_rng(0)
    old = pl.DataFrame({"a": rng.integers(0, 3, 50), "b": rng.random(50).round(1)})
    new = old.with_columns(c=pl.col("a") * 10 + pl.col("b")).sample(fraction=1, shuffle=True, seed=1)
    made = in_place(new, old)
    assert made.select("a", "b").equals(old)
    assert (made["c"] == made["a"] * 10 + made["b"]).all()


def test_fingerprints_are_those_of_polars(elsewhere: tuple[str, Convert]) -> None:
    _, convert = elsewhere
    frame = people(1, 400)
    there = convert(frame)
    assert gh.Pair(there, there).fingerprint() == gh.Pair(frame, frame).fingerprint()


def test_moments_and_empty_columns_travel() -> None:
    start = datetime(2024, 3, 31, 0, 30)
    frame = people(1, 100).with_columns(
        seen=pl.Series([start + timedelta(minutes=7 * i) for i in range(100)]),
        nothing=pl.Series([None] * 100, dtype=pl.String),
        some=pl.Series([None] * 100, dtype=pl.Float64),
    )
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra: duckdb)")
    there = gh.Pair(*(duckdb.from_arrow(frame.to_arrow()) for _ in range(2)))
    here = gh.Pair(frame, frame)
    for column in here.schema:
        assert there.codes(column).levels == here.codes(column).levels
        assert (there.codes(column).of("original") == here.codes(column).of("original")).all()


def test_relations_of_different_connections_meet_here(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra: duckdb)")
    frames = tables()
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    apart = {name: duckdb.connect().read_parquet(str(tmp_path / f"{name}.parquet")) for name in frames}
    asked: dict[str, Any] = {"keys": ["town", "kids"], "target": "ill"}
    there = gh.Pair(apart["original"], apart["released"], holdout=apart["holdout"], **asked)
    here = gh.Pair(frames["original"], frames["released"], holdout=frames["holdout"], **asked)
    assert there.engine("released") == "duckdb apart"
    assert gh.disclosure.disco(there).value == gh.disclosure.disco(here).value
    assert [f.code for f in there.check()] == [f.code for f in here.check()]
