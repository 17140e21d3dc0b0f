from __future__ import annotations

import json

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.judgement.policy.outcomes import PolicyIncomplete, PolicyViolation
from glasshouse.judgement.verdict.assess import estimate
from tests.fakes import fake, four_threats, tables


def test_a_clean_release_passes_and_says_what_it_does_not_cover(only_fakes: object) -> None:
    four_threats()
    found = gh.assess(*tables())
    assert found.verdict == "pass" and found.exit_code == 0 and found.raise_for_status() is found
    assert [t.status for t in found.threats.values()] == ["pass"] * 4
    assert "not a formal guarantee" in found.to_dict()["covers"]
    assert "PASS" in repr(found) and "<script" not in found._repr_html_()


def test_a_failure_is_isolated_and_quotes_nothing(only_fakes: object) -> None:
    four_threats()
    fake("broken", error=ValueError("found unknown categories ['Anna Kowalska']"))
    found = gh.assess(*tables())
    assert found.results["broken"].status == "failed"
    # type: ignore[operator]
    assert "ValueError" in found.results["broken"].reason and "Kowalska" not in found.to_json()
    assert found.verdict == "pass"


def test_an_interrupt_is_not_a_failure(only_fakes: object) -> None:
    fake("slow", error=KeyboardInterrupt())  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        gh.assess(*tables())


def test_progress_is_told_and_the_library_prints_nothing(
    only_fakes: object, capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    seen: list[tuple[int, int, str]] = []
    gh.assess(*tables(), progress=lambda *step: seen.append(step))
    assert [s[0] for s in seen] == [0, 1, 2, 3, 4] and seen[-1] == (4, 4, "")
    assert capsys.readouterr() == ("", "")


def test_json_is_the_same_bytes_again_whatever_the_threads(only_fakes: object) -> None:
    four_threats()
    fake("random_one", random=True, details={"x": 1})
    pair = gh.Pair(*tables())
    texts = {gh.assess(pair, n_jobs=jobs).to_json() for jobs in (None, 1, 2)}
    assert len(texts) == 1 and "NaN" not in texts.pop()
    assert "timing" not in gh.assess(pair).to_dict() and "timing" in gh.assess(pair).to_dict(timing=True)


def test_no_seed_is_drawn_once_and_printed(only_fakes: object) -> None:
    fake("random_one", random=True)
    found = gh.assess(*tables(), random_state=None)
    again = gh.assess(*tables(), random_state=found.seed)
    assert found.results["random_one"].value == again.results["random_one"].value


def test_a_policy_decides_the_exit_code_and_what_is_open_decides_the_verdict(only_fakes: object) -> None:
    four_threats(attribute="fail", membership="not_assessed")
    policy = {"rule": [{"measure": "attribute_measure", "limit": 0.9}]}
    met = gh.assess(*tables(), policy=gh.Policy.from_dict(policy))
    assert met.exit_code == 0 and met.verdict == "incomplete"
    policy["rule"][0]["limit"] = 0.1
    broken = gh.assess(*tables(), policy=gh.Policy.from_dict(policy))
    assert (broken.exit_code, broken.verdict) == (1, "fail")
    with pytest.raises(PolicyViolation):
        broken.raise_for_status()
    required = gh.Policy.from_dict({**policy, "require": ["membership"]})
    assert gh.assess(*tables(), policy=required).exit_code == 1, "what failed fails, whatever else is missing"
    policy["rule"][0]["limit"] = 0.9
    required = gh.Policy.from_dict({**policy, "require": ["membership"]})
    assert gh.assess(*tables(), policy=required).exit_code == 3
    narrowed = gh.Policy.from_dict({"require": ["identity"], "rule": [{"measure": "identity_measure", "limit": 0.9}]})
    waived = gh.assess(*tables(), policy=narrowed)
    assert (waived.verdict, waived.exit_code) == ("pass", 0) and "does not ask about" in waived.headline
    open_rule = gh.Policy.from_dict({"rule": [{"measure": "membership_measure", "limit": 0.9}]})
    with pytest.raises(PolicyIncomplete):
        gh.assess(*tables(), policy=open_rule).raise_for_status()


def test_a_policy_brings_its_keys_and_the_pair_keeps_its_own(only_fakes: object) -> None:
    four_threats()
    policy = gh.Policy.from_dict({"run": {"keys": ["age"], "target": "income"}, "others": "declared"})
    assert gh.assess(*tables(), policy=policy).pair.keys == ("age",)
    assert gh.assess(gh.Pair(*tables(), keys=["sex"]), policy=policy).pair.keys == ("sex",)


def test_drivers_and_people(only_fakes: object) -> None:
    fake("disco", value=0.25, needs=("keys",), flag=True)
    found = gh.assess(*tables(), keys=["sex", "region"], target="income")
    assert found.drivers is not None and {row.column for row in found.drivers.keys} == {"sex", "region"}
    assert found.people is not None and found.people.flagged == 15
    assert {g.column for g in found.people.groups} == {"sex", "region", "income"}
    external = found.to_dict("external")
    assert external["drivers"] is None and external["people"] is None  # nobody knows how many are behind a fake


def test_several_releases_give_the_worst_and_the_stacked_figure(only_fakes: object) -> None:
    original, first = tables()
    second = original

    def copies(pair: object) -> object:
        from glasshouse.core.result import Result

        matched = (
            pair.local("released").unique().join(pair.local("original").unique(), on=pair.local("original").columns)
        )  # type: ignore[attr-defined]
        return Result(value=matched.height / 60, sentence="s")

    from glasshouse.core.measure import measure

    measure(
        side="disclosure",
        family="copying",
        threat="copying",
        better="lower",
        cite="x",
        limit=Limit("value", warn=0.05, fail=0.2),
    )(copies)  # type: ignore[arg-type]
    found = gh.assess(original, [first, second]).results["copies"]
    assert found.details["releases"] == 2 and found.details["stacked"] >= found.details["worst_release"] - 1e-12
    assert len(found.replicates) == 2


def test_what_will_it_cost(only_fakes: object) -> None:
    fake("pairs_one", cost="pairs")
    told = estimate(gh.Pair(*tables()), "full")
    assert "3,600 record pairs" in str(told) and told.seconds > 0


def test_bad_arguments_are_sentences(only_fakes: object) -> None:
    four_threats()
    for arguments, said in (
        ({"measures": "fst"}, "did you mean 'fast'"),
        ({"measures": ["attribute_measur"]}, "did you mean"),
        ({"measures": []}, "empty list"),
        ({"policy": "publik"}, "policy file not found"),
        ({"holdot": 1}, "no argument 'holdot'"),
        ({"options": {"nope": {}}}, "not among the measures"),
        ({"options": {"attribute_measure": {"trees": 3}}}, "no option 'trees'"),
    ):
        with pytest.raises(InputError, match=said):
            gh.assess(*tables(), **arguments)  # type: ignore[arg-type]


def test_external_json_holds_no_value_no_record_and_no_small_count(only_fakes: object) -> None:
    original, released = tables()
    original = original.with_columns(salary=pl.Series([31234.5 + 17 * i for i in range(original.height)]))
    released = released.with_columns(salary=pl.Series([30000.5 + 17 * i for i in range(released.height)]))
    fake(
        "leaky",
        value=0.05,
        flag=True,
        evidence={"of": 60},
        sentence="In north 3 people earn 31251.5.",
        details={
            "north": 1,
            "worst": "south",
            "salary": 31234.5,
            "few": 3,
            "rows": [1, 2],
            "by": {"east": 1, "region": 0.5},
            "fine": 0.4,
        },
    )
    fake("count", "identity", 2, range=(0, None), unit="records", evidence={"of": 60})
    fake("unsaid", "identity", 0.4)
    found = gh.assess(original, released, keys=["sex", "region"], target="income")
    text = found.to_json(audience="external")
    content = json.loads(text)
    leaky = content["results"]["leaky"]
    assert leaky["details"] == {} and leaky["sentence"] != "In north 3 people earn 31251.5."
    assert leaky["value"] is None and leaky["shown"].startswith("< ")
    assert content["results"]["count"]["value"] is None and content["results"]["count"]["shown"] == "<5"
    assert content["results"]["unsaid"]["value"] is None and content["results"]["unsaid"]["shown"] == "not told"
    for value in ("north", "south", "female", "middle", "31234.5", "31251.5"):
        assert value not in text


def test_a_run_that_would_not_fit_into_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.data import memory

    pair = gh.data.load("health").pair()
    values = 2500 * len(pair.columns)
    monkeypatch.setattr(memory, "free_memory", lambda: memory.PER_VALUE * values - 1)
    with pytest.raises(gh.InputError, match="not enough memory: 15,000 values need"):
        gh.assess(pair, measures=["identical"])
    left = iter([memory.PER_VALUE * values, 0, memory.PER_VALUE * values])  # taken by the first measure, and given back
    monkeypatch.setattr(memory, "free_memory", lambda: next(left))
    found = gh.assess(pair, measures=["disco", "uniques"])
    assert [r.status for r in found.results.values()] == ["failed", "ok"]
    assert "not enough memory" in str(found.results["disco"].reason)
