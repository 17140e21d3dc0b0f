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
