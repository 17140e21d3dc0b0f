"""Special uniques: tiny and published examples, reference cases, a brute-force search, bad input."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse import disclosure
from glasshouse.core.errors import InputError

from .sdcmicro_cases import SUDA, case, close

TINY = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})


def test_the_tiny_example() -> None:
    """MSUs {a}; {b}, {c}; {a,b}, {a,c}."""
    result = disclosure.suda(TINY, keys=["a", "b", "c"])
    assert result.records["score"].to_list() == [2, 4, 2]
    assert result.records["dis_score"].to_list() == [1, 1, 1]
    assert result.details["attribute_contributions"] == pytest.approx({"a": 0.5, "b": 0.375, "c": 0.375})
    assert result.details["msus_by_size"] == {"1": 3, "2": 2, "3": 0} and result.verdict == "fail"
    assert disclosure.suda(TINY, keys=["a", "b", "c"], score="ihsn").record_arrays()["score"] == pytest.approx(
        [1, 2, 2 / 3]
    )
    assert disclosure.suda(TINY, keys=["a", "b", "c"], score="binary").record_arrays()["score"] == pytest.approx(
        [1, 2, 1]
    )


@pytest.mark.parametrize("name", SUDA)
def test_scores_of_sdcmicro(shared: Path, name: str) -> None:
    table, arguments, expected, tolerance = case(shared, name)
    keys = arguments["variables"]
    result = disclosure.suda(
        table, keys=keys, fraction=arguments["DisFraction"], score="elliot" if arguments["original_scores"] else "ihsn"
    )
    records = result.record_arrays()
    close(records["score"], expected["score"], tolerance)
    close(records["dis_score"], expected["disScore"], tolerance)
    for key in keys:
        assert result.details["attribute_contributions"][key] == pytest.approx(
            expected["attribute_contributions"][key] / 100, abs=tolerance
        )
        close(records[f"contribution_{key}"], expected["contribution_fraction"][key], tolerance)


def brute_force(codes: np.ndarray, largest: int) -> list[list[tuple[int, ...]]]:
    """Minimal sample uniques of every record, from the definition."""
    keys = codes.shape[1]
    found: list[list[tuple[int, ...]]] = []
    for i, row in enumerate(codes):
        mine: list[tuple[int, ...]] = []
        for size in range(1, largest + 1):
            for subset in combinations(range(keys), size):
                if any(set(s) <= set(subset) for s in mine) or (row[list(subset)] < 0).any():
                    continue
                same = (codes[:, subset] == row[list(subset)]).all(axis=1)
                if same.sum() == 1 and same[i]:
                    mine.append(subset)
        found.append(mine)
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-1, 3)] * 4), min_size=1, max_size=25), st.integers(1, 4))
def test_scores_agree_with_the_definition(rows: list, largest: int) -> None:
    codes = np.array(rows)
    names = list("abcd")
    table = pl.DataFrame(
        {n: [None if v < 0 else v for v in codes[:, i]] for i, n in enumerate(names)},
        schema=dict.fromkeys(names, pl.Int64),
    )
    records = disclosure.suda(table, keys=names, max_k=largest).record_arrays()
    wanted = brute_force(codes, largest)
    assert records["msus"].tolist() == [len(m) for m in wanted]
    if largest >= 3:
        assert records["score"].tolist() == [sum(factorial(4 - len(s)) for s in m) for m in wanted]
    assert records["smallest_msu"].tolist() == [min((len(s) for s in m), default=0) for m in wanted]


def test_one_and_two_keys_are_not_padded() -> None:
    """sdcMicro adds constant columns, which turns 2 into 4 here."""
    table = pl.DataFrame({"a": [1, 2, 2, 2], "b": [1, 2, 3, 3]})
    assert disclosure.suda(table, keys=["a", "b"]).record_arrays()["score"].tolist() == [2, 1, 0, 0]
    assert disclosure.suda(table, keys=["a"]).record_arrays()["score"].tolist() == [1, 0, 0, 0]


def test_text_keys_are_keys() -> None:
    table = pl.DataFrame({"a": ["x", "y", "y"], "b": ["u", "u", "u"]})
    assert disclosure.suda(table, keys=["a", "b"]).record_arrays()["score"].tolist() == [1, 0, 0]


def test_records_alike_have_no_score() -> None:
    result = disclosure.suda(pl.DataFrame({"a": [1] * 5, "b": [2] * 5}), keys=["a", "b"])
    assert result.value == 0 and result.verdict == "pass" and result.details["smallest_msu"] is None
    assert result.details["mean_dis_score"] == 0


def test_a_limit_gives_lower_bounds_and_says_so() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({n: rng.integers(0, 4, 60) for n in "abcde"})
    full, limited = (disclosure.suda(table, keys=list("abcde"), max_k=k) for k in (None, 2))
    assert limited.details["n_special_uniques"] <= full.details["n_special_uniques"]
    assert any("lower bounds" in w for w in limited.warnings)


def test_dropped_records_have_no_score() -> None:
    table = pl.DataFrame({"a": [1, None, 2], "b": [1, 2, 3]})
    assert disclosure.suda(table, keys=["a", "b"], missing="drop").records["score"].to_list() == [2, None, 2]


def test_levels_stay_inside() -> None:
    """Levels of keys are values of people: an external report leaves them out."""
    result = disclosure.suda(TINY, keys=["a", "b", "c"])
    assert "level_contributions" in result.details and "level_contributions" not in result.to_json("external")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"fraction": 0}, "fraction must lie between 0 and 1"),
        ({"max_k": 0}, "at least 1"),
        ({"score": "riskutility"}, "choose 'elliot'"),
        ({"max_msu": 3}, "`max_msu` is called `max_k` here"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        disclosure.suda(TINY, keys=["a", "b", "c"], **arguments)


def test_too_many_keys_are_refused() -> None:
    table = pl.DataFrame({f"k{i}": [0, 1] for i in range(20)})
    with pytest.raises(InputError, match="20 keys have more sets"):
        disclosure.suda(table, keys=table.columns)
    assert disclosure.suda(table, keys=table.columns, max_k=1).value == 1
