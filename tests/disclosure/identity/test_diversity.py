"""l-diversity and t-closeness: hand example, reference cases, properties, bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse import disclosure
from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair

from .sdcmicro_cases import DIVERSITY, case, close


@pytest.fixture(scope="module")
def hand(golden: Path) -> tuple[Pair, dict]:
    folder = golden / "tables_hand"
    pair = Pair(pl.read_csv(folder / "original.csv"), pl.read_csv(folder / "released.csv"), keys=["q"], target="t")
    return pair, json.loads((folder / "expected.json").read_text())["expected"]


CLASS_OF_ROW = ["A"] * 3 + ["B", "C", "D"] + ["E"] * 2


def test_l_diversity_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    pair, expected = hand
    wanted = expected["ldiversity_original"]
    result = disclosure.l_diversity(pair, table="original")
    assert result.value == wanted["distinct_l"] and isinstance(result.value, int)
    for name in ("n_violating_distinct_l2", "n_violating_entropy_l2", "distinct_l", "entropy_l"):
        assert result.details[name] == pytest.approx(wanted[name])
    records = result.record_arrays()
    for row, label in enumerate(CLASS_OF_ROW):
        per_class = wanted["per_class"][label]
        assert records["distinct"][row] == per_class["distinct"]
        assert records["entropy"][row] == pytest.approx(per_class["entropy_l"])
        assert math.log(records["entropy"][row]) == pytest.approx(per_class["entropy_nats"], abs=1e-12)
        assert records["recursive"][row] == per_class["recursive_level_c2"]


def test_t_closeness_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    pair, expected = hand
    wanted = expected["tcloseness_original_nominal"]
    result = disclosure.t_closeness(pair, table="original")
    assert result.value == pytest.approx(wanted["t_achieved"])
    assert result.details["n_violating"] == wanted["n_violating_0p2"]
    np.testing.assert_allclose(result.record_arrays()["distance"], [wanted["per_class"][c] for c in CLASS_OF_ROW])


@pytest.mark.parametrize("name", DIVERSITY)
def test_diversity_of_sdcmicro(shared: Path, name: str) -> None:
    table, arguments, expected, tolerance = case(shared, name)
    targets = arguments["sensitive"]
    result = disclosure.l_diversity(table, keys=arguments["keys"], target=targets, c=arguments["l_recurs_c"])
    records = result.record_arrays()
    for target in targets:
        for figure in ("distinct", "entropy", "recursive"):
            close(records[figure if len(targets) == 1 else f"{target}_{figure}"], expected[target][figure], tolerance)
            assert result.details[target][f"{figure}_min"] == pytest.approx(
                expected[target][f"{figure}_min"], abs=tolerance
            )


def test_a_missing_target_is_one_value() -> None:
    """sdcMicro counts every missing value as a new one, and reports 0 for a class with nothing else."""
    table = pl.DataFrame({"k": ["a"] * 4 + ["b"] * 2, "t": [1, None, None, 2, None, None]})
    records = disclosure.l_diversity(table, keys=["k"], target="t").record_arrays()
    assert records["distinct"].tolist() == [3] * 4 + [1] * 2
    assert records["recursive"].tolist()[4] == 1


def test_equal_shares_are_diverse_by_entropy() -> None:
    """Three equally frequent values are 3-diverse; rounding must not say otherwise."""
    table = pl.DataFrame({"k": ["a"] * 3, "t": ["x", "y", "z"]})
    assert disclosure.l_diversity(table, keys=["k"], target="t", l=3).details["n_violating_entropy"] == 0


def test_recursive_level_by_hand() -> None:
    """Counts 4, 3, 2, 1 and c = 2: 4 < 2 (3+2+1) and 4 < 2 (2+1) hold, 4 < 2 (1) does not: level 3."""
    table = pl.DataFrame({"k": ["a"] * 10, "t": list("wwwwxxxyyz")})
    assert disclosure.l_diversity(table, keys=["k"], target="t", c=2).details["recursive_min"] == 3
    assert disclosure.l_diversity(table, keys=["k"], target="t", c=0.5).details["recursive_min"] == 1
    assert disclosure.l_diversity(table, keys=["k"], target="t", c=10).details["recursive_min"] == 4


def test_several_targets_are_also_joined() -> None:
    table = pl.DataFrame({"k": ["a"] * 4, "s": ["x", "x", "y", "y"], "t": ["u", "u", "v", "w"]})
    result = disclosure.l_diversity(table, keys=["k"], target=["s", "t"])
    assert result.details["s"]["distinct_min"] == 2 and result.details["t"]["distinct_min"] == 3
    assert result.details["joint"]["distinct_min"] == 1


def ordered_distance(values: np.ndarray, inside: np.ndarray) -> float:
    """Li et al. on the full grid."""
    levels = np.unique(values)
    if len(levels) == 1:
        return 0.0
    gap = [abs((values[inside] <= v).mean() - (values <= v).mean()) for v in levels]
    return float(np.sum(gap) / (len(levels) - 1))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=40))
def test_distances_agree_with_the_full_grid(rows: list) -> None:
    k, v = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    table = pl.DataFrame({"k": k, "v": v})
    ordered = disclosure.t_closeness(table, keys=["k"], target="v").record_arrays()["distance"]
    nominal = disclosure.t_closeness(table, keys=["k"], target="v", distance="nominal").record_arrays()["distance"]
    for i in range(len(rows)):
        inside = k == k[i]
        assert ordered[i] == pytest.approx(ordered_distance(v, inside), abs=1e-12)
        assert nominal[i] == pytest.approx(
            0.5 * sum(abs((v[inside] == x).mean() - (v == x).mean()) for x in np.unique(v)), abs=1e-12
        )


def test_ordered_by_value_weighs_the_gaps() -> None:
    table = pl.DataFrame({"k": ["a", "a", "b", "b"], "v": [0.0, 1.0, 0.0, 10.0]})
    result = disclosure.t_closeness(table, keys=["k"], target="v", ground="value")
    # a: P = 1/2, 1 against G = 1/2, 3/4: 9 of 10 steps at distance 1/4
    np.testing.assert_allclose(result.record_arrays()["distance"], 0.225)


def test_the_schema_decides_not_the_storage() -> None:
    codes = pl.DataFrame({"k": ["a", "a", "b", "b"], "v": [1, 2, 3, 4]})
    assert disclosure.t_closeness(codes, keys=["k"], target="v").details["distance"] == "ordered"
    assert (
        disclosure.t_closeness(codes, keys=["k"], target="v", schema={"v": "categorical"}).details["distance"]
        == "nominal"
    )
    levels = pl.DataFrame({"k": ["a", "a", "b", "b"], "v": ["low", "mid", "mid", "high"]})
    ordinal = disclosure.t_closeness(levels, keys=["k"], target="v", schema={"v": ["low", "mid", "high"]})
    assert ordinal.details["distance"] == "ordered" and ordinal.value == pytest.approx(0.25)


def test_a_missing_value_has_no_place_in_an_order() -> None:
    table = pl.DataFrame({"k": ["a", "a", "b", "c"], "v": [1.0, 2.0, 1.0, None]})
    result = disclosure.t_closeness(table, keys=["k"], target="v")
    assert result.records["distance"].to_list()[3] is None
    assert any("no place in an order" in w for w in result.warnings)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_properties_of_diversity(rows: list) -> None:
    table = pl.DataFrame({"k": [r[0] for r in rows], "t": [str(r[1]) for r in rows]})
    two, three = (disclosure.l_diversity(table, keys=["k"], target="t", l=l) for l in (2, 3))
    # entropy l-diversity implies distinct l-diversity, and violations grow with l
    assert two.details["n_violating_distinct"] <= two.details["n_violating_entropy"]
    assert two.details["n_violating_distinct"] <= three.details["n_violating_distinct"]
    wide, narrow = (
        disclosure.t_closeness(table, keys=["k"], target="t", t=t).details["n_violating"] for t in (0.5, 0.1)
    )
    assert wide <= narrow
    shuffled = table[::-1].with_columns(pl.col("t").replace({"0": "z"}))
    assert disclosure.l_diversity(shuffled, keys=["k"], target="t").details["entropy_min"] == pytest.approx(
        two.details["entropy_min"]
    )


def test_a_constant_target() -> None:
    table = pl.DataFrame({"k": ["a", "b", "b"], "t": ["x"] * 3})
    assert disclosure.l_diversity(table, keys=["k"], target="t").value == 1
    assert disclosure.t_closeness(table, keys=["k"], target="t").value == 0
    numbers = pl.DataFrame({"k": ["a", "b", "b"], "t": [5, 5, 5]})
    assert disclosure.t_closeness(numbers, keys=["k"], target="t").value == 0


@pytest.mark.parametrize(
    ("measure", "arguments", "sentence"),
    [
        ("l_diversity", {"l": 0}, "at least l = 1"),
        ("l_diversity", {"c": 0}, "must be positive"),
        ("l_diversity", {"target": None}, "needs a target"),
        ("l_diversity", {"target": "k"}, "is also a key"),
        ("t_closeness", {"t": 1.5}, "t must be a number between 0 and 1"),
        ("t_closeness", {"distance": "far"}, "'nominal'"),
        ("t_closeness", {"ground": "value"}, "needs a numeric target"),
    ],
)
def test_bad_arguments_get_a_sentence(measure: str, arguments: dict, sentence: str) -> None:
    table = pl.DataFrame({"k": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(InputError, match=sentence):
        getattr(disclosure, measure)(table, **{"keys": ["k"], "target": "t", **arguments})
