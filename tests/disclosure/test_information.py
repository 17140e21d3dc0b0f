"""Information measures: hand example, identities, bias, bad input."""

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


@pytest.fixture(scope="module")
def hand(golden: Path) -> tuple[Pair, dict]:
    folder = golden / "tables_hand"
    pair = Pair(pl.read_csv(folder / "original.csv"), pl.read_csv(folder / "released.csv"), keys=["q"], target="t")
    return pair, json.loads((folder / "expected.json").read_text())["expected"]["information_original_bits"]


def test_the_hand_example_in_bits(hand: tuple[Pair, dict]) -> None:
    pair, wanted = hand
    result = disclosure.mutual_information(pair, table="original")
    assert result.value == pytest.approx(wanted["MI"])
    for name in ("H_T", "H_T_given_Q", "MI", "NMI", "CPL"):
        assert result.details[name] == pytest.approx(wanted[name]), name
    assert disclosure.max_leakage(pair, table="original").details["max_specific_information"] == pytest.approx(
        wanted["max_specific_information"]
    )
    np.testing.assert_allclose(
        disclosure.surprisal(pair, table="original").record_arrays()["surprisal_key"], wanted["surprisal_key"]
    )
    # B to E hold one value where half the file holds it: twice as likely
    assert disclosure.positive_disclosure(pair, table="original").value == pytest.approx(1.0)
    assert result.details["released"]["n"] == 7


def entropy(values: list) -> float:
    _, counts = np.unique(np.array(values, dtype=object).astype(str), return_counts=True)
    p = counts / counts.sum()
    return float(-(p * np.log2(p)).sum())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40))
def test_identities(rows: list) -> None:
    q, t, z = ([r[i] for r in rows] for i in range(3))
    table = pl.DataFrame({"q": q, "t": [str(v) for v in t], "z": z})
    mi = disclosure.mutual_information(table, keys=["q"], target="t")
    both = entropy([f"{a}/{b}" for a, b in zip(q, t, strict=True)])
    assert mi.value == pytest.approx(max(entropy(q) + entropy(t) - both, 0), abs=1e-9)
    leak = disclosure.max_leakage(table, keys=["q"], target="t")
    assert leak.value >= mi.value - 1e-9 and leak.details["maximal_leakage"] >= -1e-12
    assert disclosure.surprisal(table, keys=["q"]).value == pytest.approx(entropy(q), abs=1e-9)
    conditional = disclosure.mutual_information(table, keys=["q"], target="t", given="z").value
    joined = [[f"{a}/{b}" for a, b in zip(x, y, strict=True)] for x, y in ((q, z), (t, z))]
    triple = [f"{a}/{b}/{c}" for a, b, c in rows]
    assert conditional == pytest.approx(
        max(entropy(joined[0]) + entropy(joined[1]) - entropy(triple) - entropy(z), 0), abs=1e-9
    )
    gains = [
        (sum(1 for a, b, _ in rows if (a, b) == (x, y)) / q.count(x)) / (t.count(y) / len(rows)) - 1
        for x, y in {(a, b) for a, b, _ in rows}
    ]
    assert disclosure.positive_disclosure(table, keys=["q"], target="t").value == pytest.approx(max(gains), abs=1e-9)


def test_conditional_information_is_not_negative() -> None:
    """riskutility's conditional information is minus an entropy: y = x XOR z tells one bit given z, none without."""
    table = pl.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 1, 0], "z": [0, 1, 0, 1]})
    assert disclosure.mutual_information(table, keys=["x"], target="y").value == pytest.approx(0)
    assert disclosure.mutual_information(table, keys=["x"], target="y", given="z").value == pytest.approx(1)


def test_the_bias_term_is_what_unrelated_columns_show() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"q": rng.integers(0, 20, 5000), "t": rng.integers(0, 4, 5000).astype(str)})
    d = disclosure.mutual_information(table, keys=["q"], target="t").details
    assert d["miller_madow"] == pytest.approx((80 - 20 - 4 + 1) / (2 * 5000 * math.log(2)))
    assert d["MI"] == pytest.approx(d["miller_madow"], rel=0.4)
    assert d["MI_corrected"] < 0.5 * d["MI"]


def test_other_bases_and_binned_targets() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"q": rng.integers(0, 3, 300), "t": rng.normal(size=300)})
    exact, binned = (
        disclosure.mutual_information(table, keys=["q"], target="t"),
        disclosure.mutual_information(table, keys=["q"], target="t", bins=4),
    )
    assert exact.details["H_T"] == pytest.approx(math.log2(300)) and any("bins=10" in w for w in exact.warnings)
    assert binned.details["H_T"] == pytest.approx(2, abs=0.01)
    nats = disclosure.mutual_information(table, keys=["q"], target="t", bins=4, base=math.e)
    assert nats.value == pytest.approx(binned.value * math.log(2))


def test_extremes() -> None:
    table = pl.DataFrame({"q": ["a", "b", "c", "d"], "t": ["x", "x", "y", "y"], "c": ["k"] * 4})
    assert disclosure.mutual_information(table, keys=["q"], target="t").details["NMI"] == 1
    assert disclosure.mutual_information(table, keys=["q"], target="c").value == 0
    assert disclosure.mutual_information(table, keys=["c"], target="t").value == 0
    assert disclosure.surprisal(table, keys=["q"]).details["share_of_log_n"] == 1
    assert disclosure.surprisal(table.head(1), keys=["q"]).value == 0
    gaps = table.with_columns(q=pl.Series(["a", None, "c", "d"]))
    assert disclosure.surprisal(gaps, keys=["q"], missing="drop").records["surprisal_key"].to_list() == pytest.approx(
        [math.log2(3), None, math.log2(3), math.log2(3)]
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"base": 1}, "must be above 1"),
        ({"given": "nowhere"}, "no column of both tables"),
        ({"table": "x"}, "'released' or 'original'"),
        ({"target": None}, "needs a target"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict, sentence: str) -> None:
    table = pl.DataFrame({"q": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(InputError, match=sentence):
        disclosure.mutual_information(table, **{"keys": ["q"], "target": "t", **arguments})
