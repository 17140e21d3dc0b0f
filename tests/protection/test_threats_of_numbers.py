"""What operations on numbers and categories claim to act on, they move: a copy of the original is protected."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

P: Any = gh.protection
D: Any = gh.disclosure
NUMBERS = ["pay", "tax", "spent"]
CODES = ["job", "home", "ill"]
KINDS = {
    "microaggregate": lambda table: P.microaggregate(table, NUMBERS, 10),
    "swap_ranks": lambda table: P.swap_ranks(table, NUMBERS, 0.3),
    "add_noise": lambda table: P.add_noise(table, NUMBERS, 0.7),
    "pram": lambda table: P.pram(table, CODES, keep=0.3),
}
# by threat a measure of the numbers, and one of the categories: it falls
ON_NUMBERS = {
    "copying": ("near_copies", {}),
    "identity": ("uniques", {"keys": NUMBERS}),
    "attribute": ("disco", {"keys": ["pay", "tax"], "target": "ill", "key_groups": None}),
    "membership": ("domias", {}),
}
ON_CODES = {
    "copying": ("identical", {}),
    "identity": ("uniques", {"keys": [*CODES, "age"]}),
    "attribute": ("disco", {"keys": ["job", "home", "age"], "target": "ill"}),
    "membership": ("domias", {}),
}


@cache
def people() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members and strangers."""
    rng = np.random.default_rng(0)
    n = 600
    pay = rng.lognormal(3, 0.6, n)
    frame = pl.DataFrame({
        "pay": pay, "tax": pay * rng.uniform(0.2, 0.4, n), "spent": pay * rng.uniform(0.4, 1.1, n),
        "age": rng.integers(20, 70, n), "job": rng.choice(list("abcdefgh"), n), "home": rng.choice(list("klmnopq"), n),
        "ill": rng.choice(["no", "flu", "gout"], n, p=[0.5, 0.3, 0.2]),
    })  # fmt: skip
    return frame[:300], frame[300:]


@pytest.mark.parametrize("threat", ["copying", "identity", "attribute", "membership"])
@pytest.mark.parametrize("name", KINDS)
def test_a_copy_of_the_original_is_safer_after_it(name: str, threat: str) -> None:
    assert threat in P.operations()[name].acts_on
    members, strangers = people()
    columns = [*CODES, "age"] if name == "pram" else [*NUMBERS, "ill"]
    measure, roles = (ON_CODES if name == "pram" else ON_NUMBERS)[threat]
    original, holdout = members.select(columns), strangers.select(columns)

    def risk(released: Any) -> float:
        found = getattr(D, measure)(original, released, holdout=holdout, **roles)
        return float(found.value)

    assert risk(KINDS[name](original)) < 0.9 * risk(original)
