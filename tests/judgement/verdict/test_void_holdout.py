"""A holdout that is none speaks for nothing: no pass, no exit code 0, no leak that would have been seen."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

ROLES = {"keys": ["age", "region"], "target": "income", "measures": "fast"}


def people(seed: int, n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "region": rng.choice(list("abcdef"), n),
            "income": rng.gamma(2, 1500, n).round(),
            "weight": rng.normal(75, 12, n).round(1),
        }
    )


ORIGINAL, CLEAN, STRANGERS = people(1), people(2), people(3)
LEAKING = pl.concat([ORIGINAL.head(150), people(4, 250)])


@pytest.mark.parametrize(
    ("released", "holdout", "code"),
    [
        (LEAKING, LEAKING, "holdout_released"),
        (STRANGERS, STRANGERS, "holdout_released"),
        (pl.concat([CLEAN, STRANGERS]), STRANGERS, "holdout_released"),
        (CLEAN, ORIGINAL, "holdout_overlap"),
        (CLEAN, pl.concat([STRANGERS, ORIGINAL.head(100)]), "holdout_overlap"),
    ],
    ids=["release as holdout", "strangers released", "strangers inside", "original as holdout", "members inside"],
)
def test_it_never_passes_and_says_why(released, holdout, code) -> None:
    found = gh.assess(ORIGINAL, released, holdout=holdout, **ROLES)
    assert found.verdict in ("incomplete", "fail") and found.exit_code != 0
    assert not any(t.status == "pass" for t in found.threats.values())
    assert all(t.detection_limit is None for t in found.threats.values())
    assert code in {finding.code for finding in found.pair.check() if finding.first}
    said = " ".join(t.sentence for t in found.threats.values())
    assert "No holdout was supplied" not in said and "would have been seen" not in said
    assert "It is not used" in found.to_markdown()
    assert "No holdout was supplied" not in found.to_markdown(audience="external")
    if found.verdict == "incomplete":
        assert "holds members, or people who stand in the release" in said
        assert any("is none" in one.text for one in found.recommendations)
    assert 'failures="0"' not in found.to_junit() or 'skipped="0"' not in found.to_junit()


def test_a_leak_is_still_seen_without_it() -> None:
    found = gh.assess(ORIGINAL, LEAKING, holdout=LEAKING, **ROLES)
    assert found.verdict == "fail" and found.threats["copying"].status == "fail"


def test_a_map_does_not_take_it_for_strangers_either() -> None:
    places = gh.compare(ORIGINAL, {"a": STRANGERS, "b": CLEAN}, holdout=STRANGERS, keys=ROLES["keys"], measures="fast")
    assert places.recommended != "a"


def test_a_holdout_of_strangers_stays() -> None:
    found = gh.assess(ORIGINAL, CLEAN, holdout=STRANGERS, **ROLES)
    assert found.pair.has_holdout and found.verdict == "pass"


def test_another_holdout_takes_its_place() -> None:
    found = gh.assess(ORIGINAL, CLEAN, holdout=ORIGINAL, **ROLES)
    assert found.pair.void_holdout and not found.pair.replace(holdout=STRANGERS).void_holdout


@pytest.mark.parametrize("table", ["original", "released"])
@pytest.mark.parametrize("size", [20, 40, 60])
def test_a_few_on_the_wrong_side_leave_a_holdout_in_place_and_are_told_inside(table: str, size: int) -> None:
    """Otherwise a whole report outside would change with one of them."""
    other = {"original": ORIGINAL, "released": CLEAN}[table]
    used = {}
    for k in (0, 4, 5):
        holdout = pl.concat([other.head(k), STRANGERS.head(size - k)])
        found = gh.assess(ORIGINAL, CLEAN, holdout=holdout, **{**ROLES, "measures": ["exact_copies"]})
        used[k] = found.pair.has_holdout
        codes = {finding.code for finding in found.pair.check()}
        assert bool(codes & {"holdout_overlap", "holdout_released"}) == (k > 0)
    assert used == {0: True, 4: True, 5: False}


def test_one_person_with_many_records_leaves_a_holdout_in_place() -> None:
    def with_homes(table: pl.DataFrame, first: int) -> pl.DataFrame:
        homes = np.concatenate([np.zeros(20, int), np.arange(1, len(table) - 19)])
        return table.with_columns(pl.Series("home", first + homes))

    original, released = with_homes(ORIGINAL, 0), with_homes(CLEAN, 10_000)
    several = with_homes(STRANGERS, 20_000)
    shared = original.drop("home").head(20).with_columns(several["home"].head(20))
    pair = gh.Pair(original, released, holdout=pl.concat([shared, several.slice(20)]), cluster="home")
    found = gh.assess(pair, measures=["exact_copies"])
    assert found.pair.has_holdout
    assert "holdout_overlap" in {finding.code for finding in found.pair.check()}
