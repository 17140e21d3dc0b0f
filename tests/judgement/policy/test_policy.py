from __future__ import annotations

from pathlib import Path

import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Outcome
from glasshouse.judgement.policy.outcomes import PolicyIncomplete, PolicyViolation
from glasshouse.judgement.policy.policy import PRESETS, Policy, preset_text
from tests.fakes import fake, tables

ONE_RULE = """
name = "mine"
[[rule]]
measure = "risk"
statistic = "excess"
warn = 0.05
fail = 0.20
why = "because"
"""


def test_presets_load_and_name_only_measures_that_exist() -> None:
    for name in PRESETS:
        policy = gh.Policy.preset(name)
        assert policy.name == name and policy.leak is not None and policy.leak.why and policy.population == ()
        assert policy.problems(all_measures()) == []


def test_presets_are_ordered_from_strict_to_wide() -> None:
    public, research, secure = (gh.Policy.preset(name).leak for name in PRESETS)
    assert public is not None and research is not None and secure is not None
    assert public.tolerance < research.tolerance < secure.tolerance
    for threat in ("identity", "attribute", "copying"):
        required = [one.must_detect(threat) or 1.0 for one in (public, research, secure)]
        assert required == sorted(required) and required[0] < 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE_RULE.replace("warn", "warm"), "warm"),
        ("nmae = 'x'\n" + ONE_RULE, "did you mean 'name'"),
        (ONE_RULE.replace('"excess"', '"exces"'), "did you mean 'excess'"),
        ("name = 'x'", "no rule"),
        ("[[rule]]\nmeasure = 'a'", "no limit"),
        ("[[rule]]\nmeasure = 'a'\nlimit = 1\nfail = 2", "either limit and level"),
        ("[[rule]]\nlimit = 1", "no measure"),
        ("[[rule]]\nmeasure = 'a'\nlimit = 'much'", "must be a number"),
        ("[[rule]]\nmeasure = 'a'\nlimit = nan", "must be a number"),
        ("require = ['privacy']\n" + ONE_RULE, "privacy"),
        ("format = 9\n" + ONE_RULE, "format 9"),
        ("rule = 1", "double brackets"),
        ("this is not toml", "not valid TOML"),
        ("[run]\nkyes = ['a']\n" + ONE_RULE, "kyes"),
        ("min_count = 0\n" + ONE_RULE, "min_count"),
    ],
)
def test_a_mistake_is_one_clear_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("[", r"\[")):
        Policy.parse(text)


def test_limits_look_at_the_upper_end_unless_told_otherwise(only_fakes: object) -> None:
    result = fake("risk", value=0.10, baseline=0.05, interval=(0.06, 0.30))(*tables())

    def status(**rule: object) -> str:
        return Policy.from_dict({"rule": [{"measure": "risk", **rule}]}).evaluate([result]).status

    assert status(limit=0.2) == "fail"
    assert status(limit=0.2, statistic="value") == "pass"
    assert status(limit=0.2, statistic="lower") == "pass"
    assert status(limit=0.2, statistic="excess") == "pass"
    assert status(limit=0.2, statistic="excess_upper") == "fail"
    assert status(limit=0.2, level="warn") == "warn"
    assert status(limit=0.10, statistic="value") == "pass"
    assert status(limit=0.10, statistic="value", operator="<") == "fail"


def test_a_measure_where_more_is_better_is_judged_by_its_lower_end(only_fakes: object) -> None:
    result = fake("overlap", value=0.8, interval=(0.6, 0.9), better="higher", threat=None, side="utility")(*tables())
    assert Policy.from_dict({"rule": [{"measure": "overlap", "limit": 0.7}]}).evaluate([result]).status == "fail"
    assert Policy.from_dict({"rule": [{"measure": "overlap", "limit": 0.5}]}).evaluate([result]).status == "pass"
    backwards = Policy.from_dict({"rule": [{"measure": "overlap", "limit": 0.5, "operator": "<="}]})
    assert "reward the worse end" in backwards.problems(only_fakes)[0]  # type: ignore[arg-type]
    never = Policy.from_dict({"rule": [{"measure": "overlap", "warn": 0.5, "fail": 0.6}]})
    assert "never warn" in never.problems(only_fakes)[0]  # type: ignore[arg-type]


def test_the_python_twin_raises(only_fakes: object) -> None:
    bad = fake("risk", value=0.5, baseline=0.1)(*tables())
    policy = Policy.parse(ONE_RULE)
    with pytest.raises(PolicyViolation, match=r"FAIL  risk\.excess  0\.4444 > 0\.2"):
        policy.evaluate({"risk": bad}).raise_for_status()
    with pytest.raises(PolicyIncomplete, match="not run"):
        policy.evaluate({}).raise_for_status()
    good = fake("risk", value=0.11, baseline=0.1)(*tables())
    assert policy.evaluate(good).raise_for_status().status == "pass"


def test_a_failed_rule_outranks_one_that_could_not_be_measured(only_fakes: object) -> None:
    risky, absent = fake("risk", value=0.5), fake("absent", missing="absent needs a holdout")
    results = [risky(*tables()), absent(*tables())]
    rules: list[dict[str, object]] = []
    codes = []
    for extra in (
        {"measure": "risk", "limit": 0.9},
        {"measure": "absent", "limit": 0.9},
        {"measure": "risk", "limit": 0.1},
    ):
        rules.append(extra)
        codes.append(Policy.from_dict({"rule": list(rules)}).evaluate(results).exit_code)
    assert codes == [0, 3, 1], "what failed fails, whatever else is missing"
    assert Policy.from_dict({"rule": [rules[0], rules[2]]}).evaluate(results).exit_code == 1


def test_round_trip_of_a_written_preset(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(preset_text("public"))
    assert gh.Policy.load(path).to_dict() == gh.Policy.preset("public").to_dict()
    with pytest.raises(InputError, match="policy file not found"):
        gh.Policy.load(tmp_path / "none.toml")
    with pytest.raises(InputError, match="did you mean 'public'"):
        gh.Policy.preset("publik")


def test_a_changed_preset_is_not_called_by_its_name() -> None:
    text = preset_text("public")
    assert gh.Policy.parse(text, "mine.toml").name == "public"
    wider = gh.Policy.parse(text.replace("tolerance = 5", "tolerance = 500"), "mine.toml")
    assert wider.name == "public, changed" and str(wider).endswith("changed")
    own = gh.Policy.parse(text.replace('name = "public"', 'name = "ours"'), "mine.toml")
    assert own.name == "ours"


def test_two_rules_with_different_options_are_refused(only_fakes: object) -> None:
    fake("risk", random=True)
    policy = Policy.from_dict(
        {
            "rule": [
                {"measure": "risk", "limit": 1, "options": {"random_state": 1}},
                {"measure": "risk", "limit": 2, "options": {"random_state": 2}},
            ]
        }
    )
    assert "different options" in policy.problems(only_fakes)[0]  # type: ignore[arg-type]
    assert (
        "no option"
        in Policy.from_dict({"rule": [{"measure": "risk", "limit": 1, "options": {"trees": 1}}]}).problems(only_fakes)[
            0
        ]
    )  # type: ignore[arg-type]


def _outcome(result: object, **rule: object) -> Outcome:
    return Policy.from_dict({"rule": [{"measure": "risk", **rule}]}).evaluate([result]).outcomes[0]


def test_an_upper_limit_fails_only_when_an_effect_is_shown(only_fakes: object) -> None:
    wide = fake("risk", value=0.3, evidence={"difference_interval": (-0.1, 0.2)}, baseline=0.2, interval=(0.1, 0.5))
    told = _outcome(wide(*tables()), statistic="difference_upper", warn=0.03, fail=0.05)
    assert told.status == "not_assessed" and "not enough data" in told.line()
    assert _outcome(wide(*tables()), statistic="difference_upper", fail=0.05).status == "not_assessed"
    assert _outcome(wide(*tables()), statistic="difference_upper", fail=0.25).status == "pass"
    told = _outcome(wide(*tables()), statistic="excess_upper", warn=0.03, fail=0.05)
    assert told.status == "not_assessed" and "cannot be excluded" in told.line()
    code = Policy.from_dict({"rule": [{"measure": "risk", "statistic": "excess_upper", "limit": 0.05}]})
    assert code.evaluate([wide(*tables())]).exit_code == 3
    shown = fake("risk", value=0.3, evidence={"difference_interval": (0.01, 0.2)}, baseline=0.2, interval=(0.25, 0.5))
    for statistic in ("difference_upper", "excess_upper"):
        told = _outcome(shown(*tables()), statistic=statistic, warn=0.03, fail=0.05)
        assert told.status == "fail" and "cannot be excluded" not in told.line()


def test_the_interval_of_a_line_is_on_the_scale_of_its_figure(only_fakes: object) -> None:
    result = fake("risk", value=0.6, baseline=0.5, interval=(0.55, 0.65))(*tables())
    assert _outcome(result, statistic="excess", limit=0.1).line().endswith("0.2 > 0.1  (upper end: 0.3)")
    assert _outcome(result, statistic="value", limit=0.1).line().endswith("0.6 > 0.1  (upper end: 0.65)")
    # a measure with its own excess says what its interval is, or has none
    own = fake("risk", value=0.6, baseline=0.5, interval=(0.55, 0.65), evidence={"excess": 0.77})(*tables())
    assert "(" not in _outcome(own, statistic="excess", limit=0.1).line()
    assert _outcome(own, statistic="excess_upper", limit=0.1).figure == 0.77


def test_a_rule_without_a_figure_says_what_is_needed(only_fakes: object) -> None:
    result = fake("risk", value=0.6)(*tables())
    assert "it needs a holdout" in _outcome(result, statistic="difference_upper", limit=1).line()
    assert "no baseline" in _outcome(result, statistic="excess", limit=1).line()


def test_a_fingerprint_is_that_of_what_a_policy_does(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[[rule]]\nmeasure = "disco"\nstatistic = "excess"\nlimit = 0.1\nwhy = "a reason"\n')
    policy = gh.Policy.load(path)
    same = gh.Policy.from_dict(
        {"name": "mine", "rule": [{"measure": "disco", "statistic": "excess", "limit": 0.1, "why": "a reason"}]}
    )
    other = gh.Policy.from_dict(
        {"name": "mine", "rule": [{"measure": "disco", "statistic": "excess", "limit": 0.2, "why": "a reason"}]}
    )
    assert policy.fingerprint == same.fingerprint != other.fingerprint
    found = gh.assess(gh.data.load("health").pair(), policy=policy, measures=["uniques"])
    assert found.content()["policy"]["fingerprint"] == policy.fingerprint
    # its reasons are not told outside, so that a hash of them is not either
    assert found.content("external")["policy"]["fingerprint"] is None
    preset = found.under("research")
    assert preset.content("external")["policy"]["fingerprint"] == gh.Policy.preset("research").fingerprint
