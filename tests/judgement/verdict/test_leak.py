"""The decision: exchange tests together, levels, tolerance, detection limit, and what the population may decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.core.evidence import Counts, Exposure
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.engines.exchange import detection_limit
from glasshouse.judgement.verdict.combination import combined
from tests.fakes import fake, tables

THREATS = ("identity", "attribute", "membership", "copying")


def test_one_p_value_stays_and_several_are_never_smaller_than_the_smallest() -> None:
    assert combined([0.03]) == pytest.approx(0.03) and combined([]) is None
    # tan(pi (1/2 - 0.01)) = 31.8205, tan(0) = 0: mean 15.9103, arctan(1/15.9103)/pi
    assert combined([0.01, 0.5]) == pytest.approx(math.atan(1 / 15.910258) / math.pi, rel=1e-5)
    assert combined([0.01, 1.0]) == combined([0.01, 0.5]), "seeing nothing does not cancel what is seen"
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.uniform(size=rng.integers(1, 9))
        assert combined(p) >= min(p.min(), 0.5) - 1e-12
    assert combined([1e-12, 0.4]) == pytest.approx(2e-12, rel=1e-3)


def test_the_combination_keeps_its_level_whatever_ties_the_tests_together() -> None:
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    for tie in (0.0, 0.5, 0.95):
        z = math.sqrt(tie) * rng.normal(size=(4000, 1)) + math.sqrt(1 - tie) * rng.normal(size=(4000, 6))
        p = np.array([combined(row) for row in norm.sf(z)])
        assert (p < 0.01).mean() < 0.01 + 3 * math.sqrt(0.01 / 4000)
        assert (p < 0.10).mean() < 0.14


def _people(k: int, j: int, n: int = 1000, m: int = 1000) -> dict[str, Any]:
    return {"counts": Counts(k, n, j, m), "holdout": j / m}


def _four(p: dict[str, float], exposed: dict[str, tuple[int, int]] | None = None, **declared: Any) -> None:
    for threat in THREATS:
        counts = (exposed or {}).get(threat, (30, 20))
        evidence = {"p_value": p.get(threat, 0.4), **_people(*counts)}
        fake(f"{threat}_test", threat, 0.03, limit=LEAK_LIMIT, evidence=evidence, **declared.get(threat, {}))


def test_members_who_fare_like_strangers_pass_and_the_page_says_what_would_have_been_seen(only_fakes: object) -> None:
    _four({})
    found = gh.assess(*tables())
    assert found.verdict == "pass" and found.exit_code == 0
    threat = found.threats["identity"]
    assert threat.p_value == pytest.approx(0.4) and threat.effect == pytest.approx(10)
    assert threat.interval is not None and threat.interval[0] < 10 < threat.interval[1]
    assert threat.detection_limit is not None and 0.02 < threat.detection_limit < 0.06
    assert (
        threat.decided_by == ()
        and "would have been seen" in threat.sentence
        and "would have been seen" in found.headline
    )


@pytest.mark.parametrize(("p", "verdict"), [(0.001, "fail"), (0.004, "warn"), (0.012, "warn"), (0.02, "pass")])
def test_levels_hold_for_all_threats_together(only_fakes: object, p: float, verdict: str) -> None:
    """One threat of four with p counts as about 4 p."""
    _four({"membership": p}, {"membership": (60, 20)})
    found = gh.assess(*tables())
    assert found.verdict == verdict == found.threats["membership"].status
    assert {t.status for name, t in found.threats.items() if name != "membership"} == {"pass"}
    assert found.results["membership_test"].verdict == found.judgement_of("membership_test").status == verdict
    if verdict == "fail":
        assert found.threats["membership"].decided_by == ("membership_test",) and found.exit_code == 1
        assert "About 40 people more than expected by Membership test" in found.threats["membership"].sentence
        assert "membership" in found.headline


def test_a_warning_below_the_level_of_a_fail_says_why_it_is_one(only_fakes: object) -> None:
    _four({"membership": 0.004}, {"membership": (60, 20)})
    found = gh.assess(*tables())
    assert found.verdict == "warn" and "all threats together" in found.threats["membership"].sentence


def test_a_pass_says_which_tests_could_not_be_run(only_fakes: object) -> None:
    _four({})
    fake("broken", "copying", 0.1, limit=LEAK_LIMIT, error=ValueError("it broke"))
    found = gh.assess(*tables())
    assert found.verdict == "pass" and "1 test could not be run: broken" in found.headline


def test_a_copy_test_decides_alone(only_fakes: object) -> None:
    _four({"copying": 0.009}, copying={"alone": "fail"})
    found = gh.assess(*tables())
    assert found.verdict == "fail" and "alone" in found.threats["copying"].sentence
    assert found.leak is not None and found.leak.p_value is not None and found.leak.p_value > 0.01


def test_a_test_for_few_copies_warns_alone_at_its_own_level(only_fakes: object) -> None:
    _four({"copying": 0.02}, copying={"alone": "warn"})
    assert gh.assess(*tables()).verdict == "pass"
    assert gh.assess(*tables(), policy=_policy(copy_warn=0.025)).verdict == "warn"


def _policy(**leak: Any) -> gh.Policy:
    return gh.Policy.from_dict({"name": "mine", "leak": leak, "require": list(THREATS)})


def test_a_leak_that_is_shown_and_surely_small_warns(only_fakes: object) -> None:
    """A million people make a hair visible; the policy says which hairs matter."""
    for threat in THREATS:
        p = 1e-9 if threat == "attribute" else 0.4
        counts = Counts(301_500, 1_000_000, 300_000, 1_000_000)
        fake(f"{threat}_test", threat, 0.3, limit=LEAK_LIMIT, evidence={"p_value": p, "counts": counts, "holdout": 0.3})
    found = gh.assess(*tables(), policy=_policy(tolerance=5))
    assert found.verdict == "warn" and "which the policy tolerates" in found.threats["attribute"].sentence
    assert gh.assess(*tables(), policy=_policy(tolerance=2)).verdict == "fail"


def test_copies_of_people_unlike_anybody_else_have_no_tolerance(only_fakes: object) -> None:
    _four({"copying": 1e-4}, {"copying": (12, 0)}, copying={"alone": "fail"})
    assert gh.assess(*tables(), policy=_policy(tolerance=50)).verdict == "fail"


def test_too_little_data_is_no_warning_and_no_pass(only_fakes: object) -> None:
    for threat in THREATS:
        evidence = {"p_value": 0.6, **_people(300, 1, 1000, 3)}
        fake(f"{threat}_test", threat, 0.3, limit=LEAK_LIMIT, evidence=evidence)
    found = gh.assess(*tables())
    assert found.verdict == "incomplete" and found.exit_code == 3
    assert all(t.status == "not_assessed" and t.sentence.startswith("Not enough data") for t in found.threats.values())


def test_a_policy_may_ask_for_power(only_fakes: object) -> None:
    _four({})
    assert gh.assess(*tables(), policy=_policy(detects=0.10)).verdict == "pass"
    asked = gh.assess(*tables(), policy=_policy(detects=0.01))
    assert asked.verdict == "incomplete" and asked.exit_code == 3
    assert "the policy asks that a leak of 1.0 % of the people is seen" in asked.threats["copying"].sentence
    one = gh.assess(*tables(), policy=_policy(detects={"copying": 0.01}))
    assert [n for n, t in one.threats.items() if t.status == "not_assessed"] == ["copying"]


def test_a_warning_is_not_lost_behind_too_little_power(only_fakes: object) -> None:
    _four({"copying": 0.01}, {"copying": (60, 20)})
    found = gh.assess(*tables(), policy=_policy(detects=0.01))
    assert found.verdict == "incomplete" and found.at_least == "warn"


def test_facts_about_the_population_decide_only_where_a_policy_says_so(only_fakes: object) -> None:
    _four({})
    fake(
        "inferred",
        "attribute",
        0.6,
        baseline=0.2,
        interval=(0.57, 0.63),
        limit=LEAK_LIMIT,
        evidence={"p_value": 0.5, **_people(600, 600)},
        population=True,
    )
    free = gh.assess(*tables())
    assert free.verdict == "pass" and list(free.population) == ["inferred"]
    assert free.content()["population"] == {"inferred": {"status": "no_limit", "limit": ""}}
    told = {"leak": {}, "require": list(THREATS), "population": {"inferred": {"warn": 0.1, "fail": 0.3, "why": "x"}}}
    strict = gh.assess(*tables(), policy=gh.Policy.from_dict({**told, "name": "strict"}))
    assert strict.verdict == "fail" and strict.threats["attribute"].status == "pass"
    assert "inferred" in strict.headline and strict.content()["population"]["inferred"]["status"] == "fail"
    assert strict.exit_code == 1


def test_of_several_releases_the_worst_pays_for_the_choice(only_fakes: object) -> None:
    _four({"membership": 0.001}, {"membership": (60, 20)})
    original, released = tables()
    one = gh.assess(original, released)
    three = gh.assess(original, [released, released, released])
    assert one.threats["membership"].p_value == pytest.approx(0.001)
    assert three.threats["membership"].p_value == pytest.approx(0.003)


def test_the_questions_of_a_row_paired_release(only_fakes: object) -> None:
    _four({"membership": 1e-6, "copying": 1e-6})
    found = gh.assess(*tables(), row_paired=True)
    assert found.threats["membership"].status == found.threats["copying"].status == "not_applicable"
    assert found.verdict == "pass" and "do not apply" in found.headline
    assert found.content()["threats"]["copying"]["status"] == "not_applicable"


def test_the_same_results_under_another_policy(only_fakes: object) -> None:
    _four({"membership": 0.004}, {"membership": (60, 20)})
    found = gh.assess(*tables())
    assert found.content()["policy"]["name"] != "public"
    assert found.under("public").content()["policy"]["name"] == "public", "what was shown before is not shown again"
    assert found.verdict == "warn" and found.under(_policy(fail=0.02)).verdict == "fail"
    assert found.under("public").policy.name == "public" and found.verdict == "warn"


@pytest.mark.parametrize(
    ("leak", "said"),
    [
        ({"fial": 0.1}, "did you mean 'fail'"),
        ({"fail": 1.5}, "between 0 and 1"),
        ({"fail": 0.2, "warn": 0.1}, "could never warn"),
        ({"tolerance": -1}, "of 1,000"),
        ({"detects": 2}, "share of members"),
        ({"detects": {"copyin": 0.1}}, "copying"),
        ({"warn": "low"}, "must be a number"),
    ],
)
def test_a_mistake_in_the_leak_section_is_one_sentence(leak: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=r"\[leak\]") as caught:
        gh.Policy.from_dict({"leak": leak})
    assert said in str(caught.value)


def test_a_mistake_in_the_population_section_is_one_sentence() -> None:
    for entry, said in (
        ({"rapid": 3}, "no table"),
        ({"rapid": {"measure": "x"}}, "name of the table"),
        (3, "no table"),
    ):
        with pytest.raises(InputError, match="population") as caught:
            gh.Policy.from_dict({"population": entry})
        assert said in str(caught.value)
    policy = gh.Policy.from_dict({"population": {"nobody": {"fail": 0.1}}})
    with pytest.raises(InputError, match="no measure 'nobody'"):
        gh.assess(*tables(), policy=policy)


def test_the_detection_limit_by_hand() -> None:
    """Nobody among 1,000 strangers: five exposed members reject at 0.05 (1/2^5 = 0.03), and at least five of 1,000 are
    exposed in 80 % of cases when the leak exposes 6.7 of 1,000."""
    limit = detection_limit(Exposure(0.0, (0.0, 0.0), 0.0, 1000, 1000), 0.05)
    assert limit == pytest.approx(0.0067, abs=2e-4)
    assert detection_limit(Exposure(0.0, (0.0, 0.0), 0.0, 1000, 1000, reach=0.1), 0.05) == pytest.approx(
        0.067, abs=2e-3
    )
    assert detection_limit(Exposure(0.0, (0.0, 0.0), 0.0, 1000, 1000, reach=0.001), 0.05) is None
    assert detection_limit(Exposure(0.0, (0.0, 0.0), 0.3, 4, 2), 0.05) is None


@pytest.mark.parametrize(("n", "m", "q"), [(400, 400, 0.0), (400, 100, 0.05), (1000, 1000, 0.3)])
def test_a_leak_of_the_detection_limit_is_seen_in_four_of_five_cases(n: int, m: int, q: float) -> None:
    from glasshouse.engines.exchange import exchange_counts

    limit = detection_limit(Exposure(0.0, (0.0, 0.0), q, n, m), 0.01)
    assert limit is not None
    rng = np.random.default_rng(2)
    seen = [
        exchange_counts(rng.binomial(n, q + limit * (1 - q)), n, rng.binomial(m, q), m).p < 0.01 for _ in range(500)
    ]
    assert 0.74 < np.mean(seen) < 0.88


def _mixed(rng: np.random.Generator, n: int) -> pl.DataFrame:
    return pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n).round(2), "z": rng.choice(list("abc"), n)})


def test_a_few_people_held_out_do_not_hide_copies() -> None:
    """Without strangers 20 verbatim copies of 300 are called; a holdout of 6 or 25 must not undo that."""
    rng = np.random.default_rng(5)
    original, other, held = _mixed(rng, 300), _mixed(rng, 300), _mixed(rng, 300)
    copied = pl.concat([original[:20], other[20:]])
    for holdout in (None, held[:6], held[:25], held):
        assert gh.assess(original, copied, holdout=holdout, measures=["exact_copies"]).verdict == "fail"
        clean = gh.assess(original, other, holdout=holdout, measures=["exact_copies"])
        assert clean.threats["copying"].status in ("pass", "not_assessed")


def test_a_loss_of_utility_is_no_reason_to_speak_of_copies() -> None:
    rng = np.random.default_rng(6)
    original = _mixed(rng, 400).with_columns(w=pl.col("x") + 0.1 * pl.col("y"))
    apart = original.select(pl.col(c).shuffle(seed=i) for i, c in enumerate(original.columns))
    found = gh.assess(original, apart, measures=["pmse"])
    assert found.results["pmse"].null is not None and found.results["pmse"].null.lost
    assert not any("similar" in r.text for r in found.recommendations)


def test_a_policy_that_judges_leaks_asks_for_every_threat(only_fakes: object) -> None:
    fake("only", "attribute", 0.03, limit=LEAK_LIMIT, evidence={"p_value": 0.4, **_people(30, 20)})
    found = gh.assess(*tables(), policy=gh.Policy.from_dict({"name": "mine", "leak": {}}))
    assert found.verdict == "incomplete" and found.exit_code == 3


def test_another_policy_forgets_the_rules_of_the_first(only_fakes: object) -> None:
    fake("risk", "identity", 0.5)
    rule = {"rule": [{"measure": "risk", "statistic": "value", "fail": 0.9}]}
    assert gh.assess(*tables(), policy=gh.Policy.from_dict(rule)).under(None).verdict == gh.assess(*tables()).verdict


def test_a_row_paired_release_gets_no_advice_about_what_does_not_apply() -> None:
    rng = np.random.default_rng(7)
    original = _mixed(rng, 200)
    coarser = original.with_columns(pl.col("x").round(0))
    found = gh.assess(original, coarser, keys=["z"], target="y", row_paired=True, measures="fast")
    said = {found.results[r.measure].measure.threat for r in found.recommendations if r.measure in found.results}
    assert not said & {"copying", "membership"}
    assert not any("holdout" in r.text for r in found.recommendations), "nobody asks it who was in the data"
    assert "<skipped" in found.to_junit()


def test_a_file_without_any_key_left_passes_and_speaks_of_limits() -> None:
    """Two values of a target in the one group there is: no target with two values can be more varied."""
    rng = np.random.default_rng(8)
    original = _mixed(rng, 200).with_columns(pl.Series("ill", rng.choice(["yes", "no"], 200)))
    empty = original.with_columns(z=pl.lit(None, pl.String))
    found = gh.assess(
        original, empty, keys=["z"], target="ill", row_paired=True, measures=["l_diversity", "k_anonymity"]
    )
    assert found.verdict == "pass" and found.headline.startswith("Every limit is kept")
    assert found.results["l_diversity"].value == 2 and found.results["l_diversity"].verdict == "pass"
    lone = original.with_columns(ill=pl.lit("yes"))
    assert gh.assess(lone, lone, keys=["z"], target="ill", row_paired=True, measures=["l_diversity"]).verdict != "pass"


def test_an_alarm_that_does_not_ring_assesses_nothing() -> None:
    rng = np.random.default_rng(4)

    def people(n: int) -> pl.DataFrame:
        return pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "z": rng.choice(list("abc"), n)})

    original, other = people(300), people(300)
    found = gh.assess(original, other, measures=["pmse", "exact_copies"])
    assert found.threats["copying"].status == "not_assessed" and "No holdout" in found.threats["copying"].sentence
    copied = gh.assess(original, original, measures=["pmse"])
    assert copied.threats["copying"].status in ("warn", "fail") and copied.threats["copying"].decided_by == ("pmse",)


def test_a_holdout_of_a_few_people_does_not_pass_copying() -> None:
    rng = np.random.default_rng(3)

    def people(n: int) -> pl.DataFrame:
        return pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "z": rng.choice(list("abc"), n)})

    pair = gh.Pair(people(300), people(300), holdout=people(3))
    found = gh.assess(pair, measures=["exact_copies", "near_copies", "identical"])
    assert found.threats["copying"].status == "not_assessed"
    assert "Not enough data" in found.threats["copying"].sentence
