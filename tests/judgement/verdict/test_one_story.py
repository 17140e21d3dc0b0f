"""Sentence, advice, limit and verdict tell one story, under any policy, with any set of measures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

N = 300


def people(seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.lognormal(10, 0.6, n), 2),
            "score": np.round(rng.normal(50, 9, n), 3),
            "town": rng.choice(list("abcdefgh"), n),
            "ill": rng.choice(["yes", "no"], n),
        }
    )


def leaking(copies: int) -> dict[str, pl.DataFrame]:
    original, other, holdout = (people(seed) for seed in (1, 2, 3))
    return {"original": original, "released": pl.concat([original[:copies], other[copies:]]), "holdout": holdout}


def assessed(copies: int = 0, **given: Any) -> gh.Assessment:
    tables = leaking(copies)
    if not given.pop("with_holdout", True):
        del tables["holdout"]
    return gh.assess(gh.Pair(**tables, keys=["age", "town"], target="ill"), **given)


def test_exact_copies_speak_before_copies_but_for_one_column() -> None:
    found = assessed(12, measures=["exact_copies", "copies_but_one", "near_copies"])
    assert found.threats["copying"].worst == "exact_copies"
    assert "Exact copies alone" in found.headline and found.recommendations[0].measure == "exact_copies"


def test_the_limit_told_is_that_of_the_test_that_decided_alone() -> None:
    found = assessed(12, measures=["exact_copies", "near_copies"])
    told = found.content()["threats"]["copying"]
    assert told["limit"] == "p >= 0.05 (warn), 0.01 (fail)" and "Exact copies alone" in told["comparison"]
    together = assessed(0, measures=["exact_copies", "near_copies"]).content()["threats"]["copying"]
    assert "over all tests" in together["limit"] and "over 2 tests" in together["comparison"]


@pytest.mark.parametrize("warn", [0.011, 0.05, 0.9])
def test_no_sentence_contradicts_a_policy_with_other_levels(warn: float) -> None:
    policy = gh.Policy.from_dict({"name": "own", "leak": {"warn": warn, "fail": 0.01, "copy_warn": 0.01}})
    for copies in (0, 3, 12):
        found = assessed(copies, policy=policy, measures=["exact_copies", "near_copies", "domias", "cap", "uniques"])
        for result in found.results.values():
            assert not re.search(r"no more than|more than chance|a leak", result.sentence), result.sentence


def test_a_single_copy_test_is_not_less_sure_than_all_together() -> None:
    with pytest.raises(gh.InputError, match="copy_warn"):
        gh.Policy.from_dict({"name": "own", "leak": {"warn": 0.02, "copy_warn": 0.05}})


def test_the_fast_set_says_what_it_leaves_open_and_has_the_alarm_of_copies() -> None:
    found = assessed(0, measures="fast")
    assert "pmse" in found.results
    for name in ("membership_classifier", "rapid", "rare_agreement"):
        assert name in found.headline and name not in found.results
    assert found.content("external")["headline"].count("Only the fast measures") == 1
    assert "Only the" not in assessed(0, measures=["cap", "disco"]).headline


def test_without_a_holdout_nobody_speaks_of_people_the_synthesiser_never_saw() -> None:
    found = assessed(150, with_holdout=False, measures=["nndr", "exact_copies", "cap", "domias"])
    texts = [r.text for r in found.recommendations if r.status in ("warn", "fail")]
    assert texts and not any("never saw" in text for text in texts)
    whole = repr(found)
    assert whole.count("Set 20 to 50 %") == 1, "the way out is told once"


def test_advice_and_threat_give_the_same_share_of_members_found() -> None:
    found = assessed(60, measures=["domias"])
    threat = found.threats["membership"]
    shares = re.findall(r"([\d.]+ %) of members with at most 1 % false alarms", threat.sentence)
    assert threat.status == "fail" and len(shares) == 1
    assert f"{shares[0]} of members with at most 1 % false alarms" in found.recommendations[0].text
    assert threat.interval is not None and threat.interval[0] > 0


def test_an_open_verdict_says_what_there_is() -> None:
    policy = gh.Policy.from_dict({"name": "own", "leak": {"detects": 0.001}})
    found = assessed(3, measures=["exact_copies"], policy=policy)
    assert found.leak is not None and found.leak.status == "warn" and found.verdict == "incomplete"
    assert "What was assessed already" not in found.headline and "makes a leak likely" in found.headline


def test_records_of_one_person_are_not_called_people() -> None:
    rng = np.random.default_rng(0)
    tables = {
        name: t.with_columns(hh=rng.permutation(N) // 3 + 1000 * i) for i, (name, t) in enumerate(leaking(40).items())
    }
    found = gh.assess(gh.Pair(**tables, cluster="hh"), measures=["exact_copies"])
    assert found.verdict == "fail" and "of the records are in the release" in found.recommendations[0].text


def test_grouped_keys_are_told_once_and_the_rule_does_not_wait_for_a_holdout() -> None:
    told = [
        any("income" in note for note in gh.assess(p, measures=["cap"]).notes)
        for p in (
            gh.Pair(people(1), people(2), keys=["income"], target="ill"),
            gh.Pair(people(1), people(2), holdout=people(3), keys=["income"], target="ill"),
        )
    ]
    assert told == [True, True]
    coarse = [any("age" in note for note in assessed(0, measures=["cap"], with_holdout=h).notes) for h in (True, False)]
    assert coarse[0] == coarse[1]


def test_a_limit_on_the_value_itself_counts_as_written() -> None:
    def policy(statistic: str) -> gh.Policy:
        limit = {"statistic": statistic, "fail": 0.001}
        return gh.Policy.from_dict({"name": "own", "require": [], "population": {"cap": limit}})

    values = {s: assessed(0, policy=policy(s), measures=["cap"]).outcomes.outcomes[0] for s in ("value", "excess")}
    assert values["value"].status == "fail" and "chance" not in values["value"].comparison
    assert values["excess"].limit.evidence is not None


def test_a_row_paired_file_gets_advice_about_attributes() -> None:
    original = people(1).with_columns(income=pl.col("town").rank("dense") * 1000.0)
    found = gh.assess(
        gh.Pair(original, original, keys=["town"], target="income", row_paired=True),
        measures=["t_closeness", "l_diversity"],
    )
    assert found.threats["attribute"].status in ("warn", "fail")
    assert any("much the same income" in r.text for r in found.recommendations)


def test_advice_speaks_of_the_gravest_threat_and_of_what_it_was_compared_with() -> None:
    """Few values, so that the released records are as near to everybody: the test sees who, no share does."""
    rng = np.random.default_rng(3)
    original, holdout = (pl.DataFrame({c: rng.integers(0, 4, N) for c in "abcdef"}) for _ in range(2))
    near = original.with_columns(f=pl.Series(rng.permutation(original["f"].to_numpy())))
    found = gh.assess(original, near, holdout=holdout, measures=["dcr", "nndr", "linkability"])
    gravest = {t.name for t in found.threats.values() if t.status == found.verdict}
    first = found.recommendations[0]
    assert found.verdict == "fail" and found.results[first.measure].measure.threat in gravest
    texts = [r.text for r in found.recommendations]
    assert any("to people it never saw" in text for text in texts) and not any("each other" in text for text in texts)
    told = found.content("external")["recommendations"]
    assert any("to people it never saw" in r["text"] for r in told)
