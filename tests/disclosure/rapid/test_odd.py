"""RAPID on the odd data people have: each case gives a defined answer or a sentence."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh


def odd(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "k": rng.integers(0, 5, n),
            "g": rng.choice(list("abc"), n),
            "t": rng.choice(["u", "v", "w"], n),
            "x": rng.normal(10, 3, n),
        }
    )


def ask(original: pl.DataFrame, released: pl.DataFrame, **options: Any) -> Any:
    given: dict[str, Any] = {"keys": ["k", "g"], "target": "t", "random_state": 1, "trees": 30, **options}
    found = gh.disclosure.rapid(original, released, **given)
    if found.status == "ok":
        found.to_json()
        found.curve()
        found.test(9)
        found.records  # noqa: B018
        assert 0 <= found.value <= 1
    return found


def test_single_class_target() -> None:
    one = odd().with_columns(t=pl.lit("u"))
    assert ask(one, odd(seed=1)).value == 0
    both = ask(one, one)
    assert both.value == 0 and both.excess == 0 and any("nothing to infer" in w for w in both.warnings)
    release = ask(odd(), one)
    assert release.excess == 0 and any("does not have" in w for w in release.warnings)


def test_constant_key_and_all_missing_keys() -> None:
    constant = odd().with_columns(k=pl.lit(1))
    assert ask(constant, constant).status == "ok"
    text = odd().with_columns(m=pl.lit(None, dtype=pl.String))
    assert ask(text, text, keys=["k", "m"]).status == "ok"
    number = odd().with_columns(m=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(gh.InputError, match="key 'm' has no value at all in the release"):
        ask(number, number, keys=["k", "m"])
    with pytest.raises(gh.InputError, match="no value at all"):
        ask(number, number, keys=["k", "m"], numeric_key_na="median+flag")
    holes = odd().with_columns(m=pl.when(pl.col("x") > 9).then("x"))
    assert ask(holes, holes, keys=["k", "m"], numeric_key_na="median+flag").status == "ok"


def test_target_with_400_levels_and_key_with_10_000() -> None:
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({"k": rng.integers(0, 50, 1500), "t": [f"c{i:03d}" for i in rng.integers(0, 400, 1500)]})
    found = ask(wide, wide[rng.permutation(1500)], keys=["k"])
    assert found.status == "ok" and len(found.details["by_class"]) > 300
    deep = pl.DataFrame(
        {"k": [f"z{i:05d}" for i in rng.integers(0, 10_000, 12_000)], "t": rng.choice(["a", "b"], 12_000)}
    )
    assert ask(deep, deep[:6000], keys=["k"]).status == "ok"
    try:
        assert ask(deep, deep[:9000], keys=["k"], attackers="logit").status == "ok"
    except gh.InputError as refused:
        assert "columns" in str(refused)


@pytest.mark.parametrize("target", ["t", "x"])
def test_tiny_tables(target: str) -> None:
    assert ask(odd(), odd(seed=1)[:1], target=target).excess == 0, "a release of one row says the same of everybody"
    assert ask(odd()[:1], odd(seed=1), target=target).status == "ok"
    five = ask(odd()[:5], odd(seed=1)[:5], target=target)
    assert five.status == "ok" and five.interval[1] - five.interval[0] > 0.3


def test_text_boolean_and_date_targets() -> None:
    text = odd().with_columns(t=pl.concat_str(pl.lit("person "), pl.int_range(pl.len())))
    assert ask(text, text.with_columns(t=pl.lit("other"))).value == 0
    boolean = odd().with_columns(t=pl.col("x") > 10)
    found = ask(boolean, boolean)
    assert set(found.records["predicted"].unique()) <= {True, False} and set(found.details["by_class"]) == {
        "False",
        "True",
    }
    days = odd().with_columns(t=pl.lit(dt.date(2020, 1, 1)) + pl.duration(days=pl.col("k") * 100))
    refused = ask(days, days)
    assert refused.status == "not_applicable" and "epsilon in days" in refused.reason
    assert ask(days, days, error="absolute", epsilon=10, attackers="cart").value > 0.5
    assert ask(days, days, target_type="categorical").status == "ok"


def test_missing_targets() -> None:
    holes = odd().with_columns(
        t=pl.when(pl.int_range(pl.len()) % 7 > 0).then("t"), x=pl.when(pl.int_range(pl.len()) % 5 > 0).then("x")
    )
    level = ask(holes, holes)
    assert level.details["n_total"] == 300 and "missing" in level.details["by_class"]
    drop = ask(holes, holes, missing_target="drop")
    assert drop.details["n_total"] == 300 - 43 and drop.records["at_risk"].null_count() == 43
    assert drop.by("g")["n"].sum() == 300 - 43
    number = ask(holes, holes, target="x")
    assert number.details["n_total"] == 240 and number.records["error"].null_count() == 60
    assert ask(holes, holes, target="x", missing_target="median").details["n_total"] == 300
    with pytest.raises(gh.InputError, match="missing_target"):
        ask(holes, holes, target="x", missing_target="level")
    nothing = odd().with_columns(x=pl.lit(None, dtype=pl.Float64))
    assert ask(nothing, odd(), target="x").status == "not_applicable"


def test_constant_number_says_nothing() -> None:
    same = odd().with_columns(x=pl.lit(3.0))
    found = ask(same, same, target="x")
    assert found.value == 1 and found.baseline == 1 and found.excess is None and found.verdict is None


def test_codes_are_pointed_out() -> None:
    assert any("target_type='categorical'" in w for w in ask(odd(), odd(seed=1), keys=["g"], target="k").warnings)
    assert ask(odd(), odd(seed=1), keys=["g"], target="k", target_type="categorical").warnings == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "ratio"}, "score="),
        ({"error": "relative", "target": "x"}, "error="),
        ({"delta": 0, "target": "x"}, "delta"),
        ({"delta": "wide", "target": "x"}, "delta"),
        ({"epsilon": 0, "target": "x"}, "epsilon"),
        ({"attackers": ()}, "attackers is empty"),
        ({"attackers": ("rf", "rf")}, "named twice"),
        ({"attackers": "forest"}, "unknown attacker"),
        ({"attackers": "lm"}, "lm"),
        ({"attackers": "logit", "target": "x"}, "logit"),
        ({"unseen": "drop"}, "unseen"),
        ({"parity": "SAS"}, "parity"),
        ({"confidence": 2}, "confidence"),
        ({"interval": "magic"}, "interval"),
        ({"target": None}, "needs a target"),
        ({"keys": None}, "needs keys"),
        ({"forest": 3}, "no option"),
    ],
)
def test_bad_arguments_are_sentences(options: dict[str, Any], words: str) -> None:
    with pytest.raises(gh.InputError, match=words):
        ask(odd(), odd(seed=1), **options)


def test_infinite_target_names_the_column_and_no_value() -> None:
    broken = odd().with_columns(x=pl.when(pl.int_range(pl.len()) == 3).then(float("inf")).otherwise("x"))
    with pytest.raises(gh.InputError, match="target 'x' has 1 infinite"):
        ask(broken, odd(seed=1), target="x")


def test_special_codes_are_no_numbers() -> None:
    coded = odd().with_columns(x=pl.when(pl.int_range(pl.len()) % 5 == 0).then(-8.0).otherwise("x"))
    plain = ask(coded, coded, target="x", attackers="cart")
    marked = ask(coded, coded, target="x", attackers="cart", special_codes={"x": [-8]})
    assert plain.details["n_total"] == 300 and marked.details["n_total"] == 240
    dropped = coded.with_columns(x=pl.when(pl.col("x") != -8).then("x"))
    assert marked.value == ask(dropped, dropped, target="x", attackers="cart").value


def test_a_target_of_very_many_values_is_counted_and_not_learned() -> None:
    many = [odd(1500, seed).with_columns(t=pl.Series([f"v{i}" for i in range(1500)])) for seed in range(2)]
    found = ask(*many)
    assert found.status == "not_applicable" and "1,500 values" in found.reason and "disco" in found.reason
    assert gh.disclosure.disco(*many, keys=["k", "g"], target="t").status == "ok"
    grouped = [table.with_columns(t=pl.col("t").str.slice(0, 3)) for table in many]
    assert ask(*grouped).status == "ok"
