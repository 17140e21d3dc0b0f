"""A release that nobody will see: the original itself, before it is anonymised row by row, and what came of no step."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from tests.judgement.forms import printing, told

__all__ = ["printing"]
POLICY = gh.Policy.from_dict({"name": "own", "others": "declared", "run": {"measures": ["uniques", "k_anonymity"]}})


def people(missing: int = 1) -> pl.DataFrame:
    table = gh.data.simulate_health(203, random_state=5)
    return table.with_columns(pl.when(pl.int_range(pl.len()) >= missing).then("income").alias("income"))


def external(found: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(found.to_json(audience="external"))
    return content


@pytest.mark.usefixtures("printing")
def test_an_original_that_no_step_has_changed_is_told_as_an_original() -> None:
    """With its fingerprint a guess at one cell could be confirmed; its missing values are counts of people."""
    fixed = gh.mitigate(people(), policy=POLICY, keys=["gender", "age"], allow=["drop_identifiers"], steps=1, n_jobs=1)
    assert not fixed.changed and not fixed.met
    own = fixed.before.pair.fingerprint("original")
    for found in (fixed, fixed.before):
        for form, text in told(found):
            assert own not in text and "203" not in text, form
    assert {t["fingerprint"] for t in external(fixed.before)["data"]["tables"]} == {None}
    assert own in fixed.to_json(), "so that the test can see"


@pytest.mark.parametrize("shuffled", [False, True])
def test_nobody_one_and_four_without_a_value_look_alike_in_a_release_too(shuffled: bool) -> None:
    seen = []
    for missing in (0, 1, 4):
        original = people(missing)
        released = original.sample(fraction=1, shuffle=True, seed=2) if shuffled else original
        found = gh.assess(original, released, keys=["gender"], measures=["identical"])
        seen.append([c["missing"] for c in external(found)["data"]["columns"]])
    assert seen[0] == seen[1] == seen[2]


def test_a_release_of_its_own_has_its_fingerprint_and_its_size() -> None:
    released = gh.data.simulate_health(207, random_state=6)
    found = gh.assess(people(), released, keys=["gender"], measures=["identical"])
    table = next(t for t in external(found)["data"]["tables"] if t["table"] == "released")
    assert (table["records"], table["fingerprint"]) == (207, found.pair.fingerprint("released"))
