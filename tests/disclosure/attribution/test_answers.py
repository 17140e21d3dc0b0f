"""Copied answers: exact keys and target of one person, found in one released record."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError

copied_answers = gh.disclosure.copied_answers


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {"age": np.round(rng.normal(50, 15, n), 2), "sex": rng.choice(["f", "m"], n), "ill": rng.choice(["n", "y"], n)}
    )


def test_by_hand() -> None:
    """Of four members one is alone and found; one is found but has a twin among strangers; two are not found."""
    original = pl.DataFrame({"k": [1, 2, 3, 4], "t": ["a", "b", "a", "b"]})
    holdout = pl.DataFrame({"k": [2, 5, 6, 7], "t": ["b", "a", "a", "b"]})
    released = pl.DataFrame({"k": [1, 2, 3, 9], "t": ["a", "b", "b", "a"]})
    found = copied_answers(original, released, keys="k", target="t", holdout=holdout)
    assert (found.value, found.holdout, found.difference) == (0.25, 0.0, 0.25)
    assert found.p_value == pytest.approx(0.5, abs=0.02), "one success in eight is a member in half of all deals"
    assert found.records["copied"].to_list() == [True, False, False, False]
    assert found.records["released_row"].to_list() == [0, None, None, None]
    assert found.exposure is not None and found.exposure.reach == 0.75


def test_keys_and_target_of_some_people_are_seen_whatever_the_rest_says() -> None:
    rng = np.random.default_rng(1)
    original, released, holdout = (people(rng, 400) for _ in range(3))
    leaking = pl.concat([original[:20], released[20:]])
    roles = {"keys": ["age", "sex"], "target": "ill", "holdout": holdout}
    assert copied_answers(original, released, **roles).verdict == "pass"
    found = copied_answers(original, leaking, **roles)
    assert found.verdict == "fail" and "chance gives as much in" in found.sentence
    shuffled = copied_answers(original[::-1], leaking[::-1], **{**roles, "holdout": holdout[::-1]})
    assert shuffled.p_value == found.p_value and shuffled.value == found.value
    assert copied_answers(original, pl.concat([holdout[:20], released[20:]]), **roles).p_value > 0.9


def test_level_with_and_without_households() -> None:
    """Members of a household are alike, so that one match brings others; whole households are exchanged."""
    rng = np.random.default_rng(2)
    rejected = {"alone": 0, "households": 0}
    runs = 150

    def households(first: int) -> pl.DataFrame:
        homes = pl.DataFrame({"home": np.arange(first, first + 20), "age": rng.integers(0, 60, 20)})
        return homes[np.repeat(np.arange(20), 3)].with_columns(t=pl.Series(rng.choice(list("abcdefgh"), 60)))

    for _ in range(runs):
        tables = [households(100 * i) for i in range(3)]
        roles = {"keys": ["age"], "target": "t", "holdout": tables[2]}
        rejected["households"] += copied_answers(*tables[:2], cluster="home", **roles).p_value < 0.05
        singles = [table.select(pl.all().shuffle(seed=int(rng.integers(1 << 30)))) for table in tables]
        rejected["alone"] += copied_answers(*singles[:2], keys=["age"], target="t", holdout=singles[2]).p_value < 0.05
    assert max(rejected.values()) <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)


def test_what_is_missing_is_said() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises(InputError, match="needs keys"):
        copied_answers(people(rng, 20), people(rng, 20), target="ill")
    without = copied_answers(people(rng, 20), people(rng, 20), keys="age", target="ill")
    assert without.status == "not_applicable" and without.needs == "holdout"
