"""Uniques, k-anonymity, presence: hand example, reference cases, properties, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse import disclosure
from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.wildcards import compatible_counts, dense_ids
from tests.conftest import converter

from .sdcmicro_cases import FREQUENCIES, case, close


@pytest.fixture(scope="module")
def hand(golden: Path) -> tuple[Pair, dict]:
    folder = golden / "tables_hand"
    pair = Pair(pl.read_csv(folder / "original.csv"), pl.read_csv(folder / "released.csv"), keys=["q"], target="t")
    return pair, json.loads((folder / "expected.json").read_text())["expected"]


def random_table(seed: int, n: int = 200, missing: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.integers(0, 6, n),
        "b": rng.choice(list("xyz"), n),
        "c": rng.integers(0, 4, n),
        "t": rng.choice(["u", "v", "w"], n),
        "w": rng.uniform(1, 9, n),
    }
    table = pl.DataFrame(columns)
    if missing:
        for name in "abc":
            table = table.with_columns(pl.when(pl.Series(rng.random(n) >= missing)).then(pl.col(name)).alias(name))
    return table


# -- uniques --


def test_uniques_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    pair, expected = hand
    result = disclosure.uniques(pair)
    for name in ("UiO", "UiS", "UiOiS", "repU"):
        assert result.details[name] == pytest.approx(expected["synthpop"][name] / 100, abs=1e-12)
    assert result.value == result.details["repU"]
    assert result.records["unique_original"].to_list() == [False] * 3 + [True] * 3 + [False] * 2
    assert result.records["found"].to_list() == [True] * 6 + [False] * 2
    assert result.records["replicated_unique"].to_list() == [False] * 3 + [True, False, True] + [False] * 2


def test_expected_uniques_of_independent_columns() -> None:
    """A release drawn column by column replicates no more uniques than the baseline says."""
    rng = np.random.default_rng(3)
    original = pl.DataFrame({"a": rng.integers(0, 60, 4000), "b": rng.integers(0, 60, 4000)})
    released = pl.DataFrame({c: rng.permutation(original[c].to_numpy()) for c in "ab"})
    result = disclosure.uniques(original, released, keys=["a", "b"])
    assert result.baseline is not None and result.interval is not None
    assert result.interval[0] < result.baseline < result.interval[1]


def test_a_copy_replicates_every_unique() -> None:
    table = random_table(1)
    result = disclosure.uniques(table, table.clone(), keys=["a", "b", "c"])
    assert result.details["repU"] == result.details["UiO"] == result.details["UiOiS"]


def test_nothing_in_common() -> None:
    result = disclosure.uniques(pl.DataFrame({"k": ["a", "b"]}), pl.DataFrame({"k": ["c", "d", "d"]}), keys=["k"])
    assert (result.value, result.details["UiO"], result.details["UiS"], result.details["UiOiS"]) == (
        0,
        1,
        pytest.approx(1 / 3),
        0,
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30),
    st.randoms(),
)
def test_uniques_are_ordered_and_blind_to_row_order(a: list, b: list, random: object) -> None:
    original, released = (pl.DataFrame({"x": [r[0] for r in rows], "y": [r[1] for r in rows]}) for rows in (a, b))
    d = disclosure.uniques(original, released, keys=["x", "y"]).details
    assert d["repU"] <= d["UiOiS"] <= d["UiO"]
    assert disclosure.uniques(original, released, keys=["x"]).details["UiO"] <= d["UiO"]
    shuffled = disclosure.uniques(original[::-1], released[::-1], keys=["y", "x"]).details
    assert {k: shuffled[k] for k in ("UiO", "UiS", "UiOiS", "repU")} == {
        k: d[k] for k in ("UiO", "UiS", "UiOiS", "repU")
    }


# -- k-anonymity --


def test_k_anonymity_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    pair, expected = hand
    wanted = expected["kanonymity_original"]
    result = disclosure.k_anonymity(pair, table="original")
    assert result.value == wanted["k_level"] == result.details["k_level"]
    assert isinstance(result.value, int)
    assert result.records["fk"].to_list() == wanted["class_size"]
    assert {k: result.details["violating"][k] for k in ("2", "3", "5")} == wanted["violating"]
    assert result.details["n_classes"] == wanted["n_classes"]
    assert "original table" in result.sentence
    assert "released table" in disclosure.k_anonymity(pair).sentence
    assert any("structure" in w for w in disclosure.k_anonymity(pair).warnings)
    assert not any("structure" in w for w in result.warnings)


@pytest.mark.parametrize("name", FREQUENCIES)
def test_frequencies_of_sdcmicro(shared: Path, name: str) -> None:
    table, arguments, expected, tolerance = case(shared, name)
    result = disclosure.k_anonymity(
        table, keys=arguments["keys"], weights=arguments["weight"], alpha=arguments["alpha"]
    )
    records = result.record_arrays()
    close(records["fk"], expected["fk"], tolerance)
    close(records["Fk"], expected["Fk"], tolerance)
    for figure in ("n1", "n2", "n_violating_2", "n_violating_3", "n_violating_5"):
        assert result.details[figure] == expected[figure]


def brute_force(codes: np.ndarray, weights: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """The wildcard rule read record by record."""
    n = len(codes)
    fk, Fk = np.zeros(n), np.zeros(n)
    gaps = codes < 0
    for i in range(n):
        if gaps[i].all():
            fk[i], Fk[i] = n, weights.sum()
            continue
        for j in range(n):
            if not ((codes[i] == codes[j]) | gaps[i] | gaps[j]).all():
                continue
            same = bool((codes[i] == codes[j]).all())
            share = 1.0 if same or not gaps[j].any() else alpha
            fk[i] += share
            Fk[i] += share * weights[j]
    return fk, Fk


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_wildcards_against_a_record_by_record_count(seed: int, alpha: float) -> None:
    table = random_table(seed, 150, missing=0.3)
    result = disclosure.k_anonymity(table, keys=["a", "b", "c"], weights="w", alpha=alpha)
    codes = np.stack([table[k].rank("dense").fill_null(0).to_numpy().astype(int) - 1 for k in "abc"], axis=1)
    fk, Fk = brute_force(codes, table["w"].to_numpy(), alpha)
    records = result.record_arrays()
    np.testing.assert_allclose(records["fk"], fk)
    np.testing.assert_allclose(records["Fk"], Fk)
    assert result.details["n_violating_3"] == int((fk < 3 - 1e-12).sum())


def test_records_without_any_key_count_for_the_others() -> None:
    """sdcMicro leaves them out of the other records' counts; that is offered by name and not the default."""
    table = pl.DataFrame({"a": [1, 1, 2, None], "b": [1, 1, 2, None]})
    assert disclosure.k_anonymity(table, keys=["a", "b"]).record_arrays()["fk"].tolist() == [3, 3, 2, 4]
    assert disclosure.k_anonymity(table, keys=["a", "b"], compat="sdcmicro").record_arrays()["fk"].tolist() == [
        2,
        2,
        1,
        4,
    ]


def test_text_keys_are_keys() -> None:
    """sdcMicro turns text keys into missing values that match everything."""
    assert disclosure.k_anonymity(pl.DataFrame({"k": ["a", "b", "c"]}), keys=["k"]).record_arrays()["fk"].tolist() == [
        1,
        1,
        1,
    ]


def test_keys_are_compared_by_value_not_as_text() -> None:
    pasted = pl.DataFrame({"x": ["a|b", "a"], "y": ["c", "b|c"]})
    assert disclosure.k_anonymity(pasted, keys=["x", "y"]).value == 1
    near = pl.DataFrame({"x": [1.123456789, 1.123456788, 1.0, 1.0], "g": ["a"] * 4})
    assert disclosure.k_anonymity(near, keys=["x"]).record_arrays()["fk"].tolist() == [1, 1, 2, 2]
    numbers = Pair(pl.DataFrame({"age": [5, 25]}), pl.DataFrame({"age": [5.0, 5.0]}), keys=["age"])
    assert disclosure.uniques(numbers).details["UiOiS"] == 0.5
    labels = pl.DataFrame({"k": ["NA", "", None, None]})
    assert disclosure.k_anonymity(labels, keys=["k"], missing="level").record_arrays()["fk"].tolist() == [1, 1, 2, 2]


def test_the_missing_rule_of_the_pair_wins() -> None:
    table = pl.DataFrame({"a": [1, 1, None, 2]})
    assert disclosure.k_anonymity(table, keys=["a"]).record_arrays()["fk"].tolist() == [3, 3, 4, 2]
    assert disclosure.k_anonymity(table, keys=["a"], missing="level").record_arrays()["fk"].tolist() == [2, 2, 1, 1]
    dropped = disclosure.k_anonymity(table, keys=["a"], missing="drop")
    assert dropped.records["fk"].to_list() == [2, 2, None, 1]
    assert dropped.records["violating"].to_list() == [True, True, None, True]
    assert dropped.details["n_dropped"] == 1 and any("left out" in w for w in dropped.warnings)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "x", "y"])), min_size=1, max_size=40))
def test_k_falls_with_every_key_and_counts_add_up(rows: list) -> None:
    table = pl.DataFrame({"a": [r[0] for r in rows], "b": [r[1] for r in rows]}, schema={"a": pl.Int64, "b": pl.String})
    one = disclosure.k_anonymity(table, keys=["a"], missing="level")
    two = disclosure.k_anonymity(table, keys=["a", "b"], missing="level")
    assert two.value <= one.value
    assert two.details["n_violating_2"] <= two.details["n_violating_3"] <= two.details["n_violating_5"]
    fk = two.record_arrays()["fk"]
    assert (1 / fk).sum() == pytest.approx(two.details["n_classes"])
    relabelled = table.with_columns(pl.col("b").replace({"x": "zz", "y": "q"}))
    assert (
        disclosure.k_anonymity(relabelled, keys=["b", "a"], missing="level").record_arrays()["fk"].tolist()
        == fk.tolist()
    )
    assert disclosure.k_anonymity(table, keys=["a", "b"], missing="wildcard").value >= two.value


def test_degenerate_tables_have_answers() -> None:
    assert disclosure.k_anonymity(pl.DataFrame({"k": [1]}), keys=["k"]).value == 1
    assert disclosure.k_anonymity(pl.DataFrame({"k": ["x"] * 7}), keys=["k"]).value == 7
    nulls = pl.DataFrame({"k": pl.Series([None, None, None], dtype=pl.String)})
    assert disclosure.k_anonymity(nulls, keys=["k"]).value == 3
    gone = disclosure.k_anonymity(nulls, keys=["k"], missing="drop")
    assert gone.status == "not_applicable" and "all 3 records" in str(gone.reason) and "drop" in str(gone.reason)
    assert disclosure.uniques(nulls, nulls.clone(), keys=["k"]).value == 0


def test_every_release_is_looked_at() -> None:
    original = pd.DataFrame({"k": ["a"] * 6})
    result = disclosure.k_anonymity(
        original, [pd.DataFrame({"k": ["a"] * 6}), pd.DataFrame({"k": ["a", "a", "b"]}, index=[7, 8, 9])], keys=["k"]
    )
    assert [r.value for r in result.replicates] == [6, 1] and result.value == 1
    assert list(result.records.index) == [7, 8, 9]


# -- presence --


def test_presence_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    """A release that is no subset has no delta; its coverage of keys is described all the same."""
    pair, expected = hand
    wanted = expected["delta_presence"]
    result = disclosure.delta_presence(pair)
    assert result.status == "not_applicable" and "not a subset of the population on these keys" in str(result.reason)
    np.testing.assert_allclose(result.record_arrays()["membership_ratio"], wanted["membership_ratio"])
    for name in ("mean", "n_fabricated_keys", "n_fabricated_records"):
        assert result.details[name] == pytest.approx(wanted[name])


def test_presence_of_a_subset() -> None:
    population = pl.DataFrame({"k": ["a"] * 4 + ["b"] * 2 + ["c"]})
    result = disclosure.delta_presence(population, pl.DataFrame({"k": ["a", "b", "b"]}), keys=["k"], delta_max=0.5)
    assert result.value == 1 and result.details["delta_min"] == 0 and result.verdict == "fail"
    assert result.details["n_above"] == 2 and result.baseline == pytest.approx(3 / 7)
    whole = disclosure.delta_presence(population, population.clone(), keys=["k"])
    assert (whole.value, whole.details["delta_min"], whole.verdict) == (1, 1, None)


# -- bad input --


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"keys": ["nowhere"]}, "key 'nowhere' is not in the original"),
        ({"keys": []}, "needs keys"),
        ({"keys": ["k", "k"]}, "key 'k' is named twice"),
        ({"keys": ["k"], "table": "both"}, "choose 'released' or 'original'"),
        ({"keys": ["k"], "k": 0}, "at least 1"),
        ({"keys": ["k"], "alpha": 2}, "alpha must lie between 0 and 1"),
        ({"keys": ["k"], "compat": "other"}, "sdcmicro"),
        ({"keys": ["k"], "ks": 3}, "no option 'ks'"),
        ({"keys": ["k"], "weights": "v"}, "1 missing and 1 negative"),
        ({"keys": ["k"], "key_groups": {"v": 3}}, "which is no key"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict, sentence: str) -> None:
    table = pl.DataFrame({"k": ["a", "b"] * 250, "x": np.linspace(0, 1, 500), "v": [None, -1.0] + [1.0] * 498})
    with pytest.raises(InputError, match=sentence):
        disclosure.k_anonymity(table, **arguments)


def test_a_continuous_key_can_be_grouped() -> None:
    table = pl.DataFrame({"x": np.linspace(0, 1, 500)})
    assert disclosure.k_anonymity(table, keys=["x"], key_groups={"x": 10}).value == 50


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(InputError, match="no record"):
        disclosure.k_anonymity(pl.DataFrame({"k": pl.Series([], dtype=pl.Int64)}), keys=["k"])


# -- engines --

AGGREGATES = (
    "uniques",
    "k_anonymity",
    "attacker_risk",
    "l_diversity",
    "t_closeness",
    "individual_risk",
    "mutual_information",
    "surprisal",
    "max_leakage",
    "positive_disclosure",
    "suda",
)


@pytest.mark.parametrize("missing", [None, "level", "drop"])
@pytest.mark.parametrize("library", ["pandas", "lazy", "duckdb"])
def test_every_engine_gives_the_same_figures(library: str, missing: str | None, request: pytest.FixtureRequest) -> None:
    compare(AGGREGATES, converter(library, request), missing, records=True)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_gives_the_same_figures(request: pytest.FixtureRequest) -> None:
    names = ("uniques", "k_anonymity", "l_diversity")
    compare(names, converter("spark", request), None, records=False)


def compare(names: Sequence[str], convert: Callable[[pl.DataFrame], Any], missing: str | None, records: bool) -> None:
    original, released = random_table(5, 300, missing=0.05), random_table(6, 250, missing=0.05)
    roles: dict[str, Any] = {"keys": ["a", "b", "c"], "target": "t", "weights": "w", "missing": missing}
    here, there = Pair(original, released, **roles), Pair(convert(original), convert(released), **roles)
    for name in names:
        measure = getattr(disclosure, name)
        ours, theirs = measure(here), measure(there)
        assert theirs.value == pytest.approx(ours.value), name
        for figure, expected in ours.details.items():
            if isinstance(expected, (int, float)):
                assert theirs.details[figure] == pytest.approx(expected), (name, figure)
        if records and ours._records is not None:
            for column, array in ours.record_arrays().items():
                other = theirs.record_arrays()[column]
                np.testing.assert_allclose(np.ma.filled(other, 0).astype(float), np.ma.filled(array, 0).astype(float))


def test_dense_ids_survive_more_combinations_than_an_integer_holds() -> None:
    codes = np.random.default_rng(0).integers(0, 2**20, (50, 5))
    doubled = np.concatenate([codes, codes])
    identity = dense_ids(doubled)
    assert (identity[:50] == identity[50:]).all() and len(np.unique(identity)) == 50
    fk, _ = compatible_counts(codes, np.ones(50), np.ones(50))
    assert (fk == 1).all()
