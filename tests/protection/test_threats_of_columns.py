"""What operations on columns claim to act on, they move: a copy of the original is protected, and measured again."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.protection.held import held

P: Any = gh.protection
D: Any = gh.disclosure
KEYS = ["age", "town", "job"]


@cache
def people() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Members and strangers."""
    rng = np.random.default_rng(3)
    n = 800
    town = rng.choice(list("abcdefghijkl"), n, p=[0.2, 0.2, 0.15, 0.1, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.01])
    frame = pl.DataFrame({
        "age": rng.integers(18, 90, n), "town": town, "job": rng.choice(list("pqrstuvw"), n),
        "pay": rng.lognormal(8, 1, n).round(2), "ill": rng.choice(["no", "flu", "gout"], n, p=[0.5, 0.3, 0.2]),
        "name": [f"person {i}" for i in range(n)],
        "born": [dt.date(1940, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(0, 20_000, n)],
    })  # fmt: skip
    return frame[:400], frame[400:]


UNIQUES: tuple[str, dict[str, Any]] = ("uniques", {"keys": KEYS})
DISCO: tuple[str, dict[str, Any]] = ("disco", {"keys": KEYS, "target": "ill"})
IDENTICAL: tuple[str, dict[str, Any]] = ("identical", {})
CASES: list[tuple[str, list[str], Any, list[tuple[str, dict[str, Any]]]]] = [
    ("drop_identifiers", ["name", "job"], {}, [("uniques", {"keys": ["name"]})]),
    ("pseudonymise", ["name", "job"], {"columns": "name"}, [("uniques", {"keys": ["name"]})]),
    ("round_numbers", [*KEYS, "pay", "ill"], {"columns": ["age", "pay"], "base": 20}, [UNIQUES, IDENTICAL]),
    ("bin_numbers", [*KEYS, "pay", "ill"], {"columns": ["age", "pay"], "bins": 4, "into": "means"},
     [UNIQUES, DISCO, IDENTICAL]),
    ("top_code", ["pay", "ill"], {"columns": "pay", "share": 0.45},
     [("uniques", {"keys": ["pay"], "key_groups": None}),
      ("disco", {"keys": ["pay"], "target": "ill", "key_groups": None}), IDENTICAL]),
    ("merge_levels", ["town", "job", "ill"], {"columns": "town", "k": 45},
     [("uniques", {"keys": ["town", "job"]}), ("disco", {"keys": ["town", "job"], "target": "ill"})]),
    ("coarsen_dates", ["born", "job"], {"columns": "born", "to": "year"},
     [("uniques", {"keys": ["born"], "key_groups": None}), IDENTICAL]),
    ("recode_levels", [*KEYS, "ill"], {"hierarchies": {"town": [{c: "abcf" if c in "abcf" else "rest"
     for c in "abcdefghijkl"}]}, "levels": {"town": 1}}, [UNIQUES, DISCO]),
    ("suppress_locally", [*KEYS, "ill"], {"keys": KEYS, "k": 4}, [UNIQUES, DISCO]),
    ("generalise", [*KEYS, "ill"], {"keys": ["town", "job"], "k": 5}, [UNIQUES, DISCO]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "columns", "given", "measures"), CASES, ids=[case[0] for case in CASES])
def test_a_copy_of_the_original_is_safer_after_it(
    name: str, columns: list[str], given: dict[str, Any], measures: list[tuple[str, dict[str, Any]]]
) -> None:
    members, _ = people()
    original = members.select(columns)
    made = P.operations()[name](original, **given)
    said = {"uniques": "identity", "disco": "attribute", "identical": "copying"}
    assert set(P.operations()[name].acts_on) == {said[measure] for measure, _ in measures} | (
        {"copying"} if name == "drop_identifiers" else set()
    )
    for measure, roles in measures:
        keys = roles.get("keys", [])
        if any(key not in held(made).frame.columns for key in keys):
            continue  # what is not released identifies nobody
        before, after = (float(getattr(D, measure)(original, table, **roles).value) for table in (original, made))
        assert after < 0.9 * before, measure


def test_what_is_anonymous_by_wildcard_only_is_not_reported_as_safe() -> None:
    """Eight cells make this table 3-anonymous by wildcard: whoever counts finds k = 1, and attackers find people."""
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"sex": ["f", "m"] * 100, "age": rng.integers(20, 70, 200), "town": rng.integers(0, 9, 200)})
    blank = pl.Series([i < 4 for i in range(200)])
    trivial = table.with_columns(pl.when(~blank).then(pl.col(c)).alias(c) for c in ("age", "town"))
    keys = ["sex", "age", "town"]
    assert gh.disclosure.k_anonymity(trivial, keys=keys, missing="wildcard").value == 3
    assert gh.disclosure.k_anonymity(trivial, keys=keys, missing="level").value == 1
    verdict = gh.assess(table, trivial, keys=keys, measures="fast")
    assert verdict.threats["identity"].status == "fail"
    made = P.suppress_locally(trivial, keys, 3)
    assert made.cells > 50, "the default does not take it for anonymous"
