"""The cell table: hand counts, chunks, many keys, and the same numbers whatever the representation."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.engines.cells import counting
from glasshouse.engines.cells.classes import class_sizes
from glasshouse.engines.cells.counting import count_cells
from glasshouse.engines.cells.grouping import Grouping, as_grouping, quantile_groups
from tests.conftest import converter
from tests.sameness import changed, figures

ORIGINAL = pl.DataFrame({"q": list("AAABCDEE"), "t": ["t1", "t1", "t2", "t1", "t2", "t1", "t2", "t2"]})
RELEASED = pl.DataFrame({"q": list("AABCCDF"), "t": ["t1", "t1", "t1", "t1", "t2", "t2", "t1"]})


def counts(pair: gh.Pair, **options: object) -> dict[str, int]:
    d, s = nw.col("d"), nw.col("s")
    cells = count_cells(pair, target=pair.target, **options)  # type: ignore[arg-type]
    found: dict[str, int] = cells.totals(
        d=d.sum(),
        s=s.sum(),
        d2=(d * d).sum(),
        ds=(d * s).sum(),
        dq=(d * nw.col("sq")).sum(),
        dt=(d * nw.col("st")).sum(),
        n=nw.len(),
    )
    return found


def test_hand_counts() -> None:
    pair = gh.Pair(ORIGINAL, RELEASED, keys="q", target="t")
    assert counts(pair) == {
        "d": 8,
        "s": 7,
        "d2": 12,
        "ds": 2 * 2 + 1 + 1,
        "dq": 3 * 2 + 1 + 2 + 1,
        "dt": 4 * 5 + 4 * 2,
        "n": 9,
    }
    assert class_sizes(pair, "original").histogram() == {1: 3, 2: 1, 3: 1}
    assert class_sizes(pair, "released").histogram() == {1: 3, 2: 2}


def test_it_is_counted_once_and_shared() -> None:
    pair = gh.Pair(ORIGINAL, RELEASED, keys="q", target="t")
    assert count_cells(pair, target="t") is count_cells(pair, target="t")


def test_chunks_add_up() -> None:
    whole = counts(gh.Pair(ORIGINAL, RELEASED, keys="q", target="t"))
    parts = [counts(gh.Pair(ORIGINAL[a:b], RELEASED, keys="q", target="t")) for a, b in ((0, 3), (3, 8))]
    assert sum(p["d"] for p in parts) == whole["d"]
    assert sum(p["ds"] for p in parts) == whole["ds"]


def test_more_key_combinations_than_an_integer_holds() -> None:
    """Forty keys of a hundred levels: the class number would overflow, so the codes themselves are grouped."""
    rng = np.random.default_rng(0)
    wide = pl.DataFrame(
        {f"k{i}": rng.integers(0, 100, 300).astype(str) for i in range(40)} | {"t": rng.choice(["a", "b"], 300)}
    )
    pair = gh.Pair(wide, wide.head(100), keys=[f"k{i}" for i in range(40)], target="t")
    cells = count_cells(pair, target="t")
    assert cells.by[0] == "k0"
    result = gh.disclosure.disco(pair)
    assert result.value == pytest.approx(1 / 3)
    assert result.records["at_risk"].to_list() == [True] * 100 + [False] * 200


labels = st.one_of(st.none(), st.sampled_from(["", "NA", "a", "a|b", "b", " a", "é"]))
rows = st.lists(st.tuples(labels, labels, st.sampled_from(["x", "y", None])), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_codes_and_values_give_the_same_cells(
    first: list[tuple[object, ...]], second: list[tuple[object, ...]]
) -> None:
    """In memory on codes, or lazily on the values: the same sums, against a count with plain dictionaries."""
    from collections import Counter

    schema = {"a": pl.String, "b": pl.String, "t": pl.String}
    original, released = (pl.DataFrame(r, schema=schema, orient="row") for r in (first, second))
    eager = counts(gh.Pair(original, released, keys=["a", "b"], target="t"))
    lazy = counts(gh.Pair(original.lazy(), released.lazy(), keys=["a", "b"], target="t"))
    d, s = Counter(first), Counter(second)
    assert eager == lazy
    assert eager["ds"] == sum(d[c] * s[c] for c in d)
    assert eager["n"] == len(set(d) | set(s))


# -- grouping
# -----------------------------------------------------------------------------------------------------------


def test_quantile_groups_are_type_7_of_the_pool() -> None:
    original = pl.DataFrame({"x": [float(i) for i in range(10)]})
    released = pl.DataFrame({"x": [float(i) for i in range(10, 21)]})
    grouping = quantile_groups(gh.Pair(original, released), "x", 4)
    assert grouping.breaks == pytest.approx(tuple(np.quantile(np.arange(21.0), [0, 0.25, 0.5, 0.75, 1])))
    assert grouping.levels[-1] == "[15,20]"


def test_groups_are_closed_on_the_left_and_special_codes_stay_apart() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0, -8.0, None]})
    pair = gh.Pair(frame, frame, special_codes={"x": [-8]})
    grouping = Grouping((0.0, 2.0, 4.0), (-8.0,))
    assert grouping.codes(pair, "x").of("original").tolist() == [0, 0, 1, 1, 1, 2, -1]
    assert grouping.levels == ("[0,2)", "[2,4]", "-8")


def test_heaped_values_give_fewer_groups_and_few_values_their_own() -> None:
    heaped = pl.DataFrame({"x": [0.0] * 50 + [float(i) for i in range(50)]})
    assert len(quantile_groups(gh.Pair(heaped, heaped), "x", 10).breaks) < 11
    few = pl.DataFrame({"x": [1.0, 2.0, 4.0] * 5})
    assert quantile_groups(gh.Pair(few, few), "x", 10).breaks == pytest.approx((0.25, 1.5, 3.0, 4.75))


def test_bad_groupings_say_so() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]})
    pair = gh.Pair(frame, frame)
    with pytest.raises(InputError, match="cannot be put into 1 group"):
        quantile_groups(pair, "x", 1)
    with pytest.raises(InputError, match="only numeric columns can be grouped"):
        quantile_groups(pair, "c", 3)
    with pytest.raises(InputError, match="increasing"):
        as_grouping(pair, "x", [3, 2])


def decimals(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {"q": rng.integers(0, 40, n), "r": rng.choice(list("abcd"), n), "t": rng.integers(0, 9, n), "w": rng.random(n)}
    )


def sums_of(frame: pl.DataFrame, other: pl.DataFrame) -> list[object]:
    cells = count_cells(gh.Pair(frame, other, keys=["q", "r"], target="t", weights="w"), target="t")
    listed = cells.frame.collect().to_native()
    share = nw.col("d").cast(nw.Float64) / (1.0 + nw.col("sq").cast(nw.Float64))
    return [listed.drop("wd", "ws"), listed["wd"].to_list(), listed["ws"].to_list(), cells.sums(x=share, d=nw.col("d"))]


def test_the_order_of_rows_changes_no_digit_of_a_sum() -> None:
    frame, other = decimals(seed=1), decimals(seed=2)
    first = sums_of(frame, other)
    for seed in range(3):
        again = sums_of(*(f.sample(fraction=1, shuffle=True, seed=seed) for f in (frame, other)))
        assert first[0].equals(again[0])  # type: ignore[attr-defined]
        assert first[1:] == again[1:]


@pytest.mark.parametrize("missing", ["level", "drop"])
@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("library", ["lazy", "duckdb"])
def test_cells_of_an_engine_are_those_of_memory(
    library: str, here: bool, missing: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brought here where they are few, left where they are else; groups, gaps and declared levels are read alike."""
    if not here:
        monkeypatch.setattr(counting, "CELLS_HERE", 5)
    convert = converter(library, request)
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": pl.Series(np.where(rng.random(300) < 0.1, np.nan, rng.integers(20, 80, 300))).fill_nan(None),
            "town": [None if u < 0.1 else "uvw"[int(u * 30) % 3] for u in rng.random(300)],
            "pay": [["low", "middle", "high"][i] for i in rng.integers(0, 3, 300)],
        }
    )
    other = frame.sample(fraction=0.7, with_replacement=True, seed=1)
    roles = {"keys": ["age", "town"], "target": "pay", "schema": {"pay": ["low", "middle", "high"]}, "missing": missing}
    memory, engine = (gh.Pair(make(frame), make(other), **roles) for make in (lambda f: f, convert))
    for measure in ("disco", "cap", "weap", "t_closeness", "l_diversity", "mutual_information", "max_leakage", "suda"):
        options = {} if measure in ("disco", "cap", "weap") else {"key_groups": 4}
        one, two = (getattr(gh.disclosure, measure)(pair, **options) for pair in (memory, engine))
        assert not changed(figures(one), figures(two)), measure
