"""One grouping of numeric keys for a whole run."""

from __future__ import annotations

import pytest

import glasshouse as gh

EXAMPLE = gh.data.load("health")
COUNTING = ["disco", "uniques"]


def test_one_grouping_reaches_every_measure_that_counts_classes_of_keys() -> None:
    pair = EXAMPLE.pair()
    found = gh.assess(
        pair, measures=[*COUNTING, "rapid"], key_groups={"age": [30, 60]}, options={"rapid": {"trees": 5}}
    )
    for name in COUNTING:
        alone = getattr(gh.disclosure, name)(pair, key_groups={"age": [30, 60]})
        assert found.results[name].value == alone.value != getattr(gh.disclosure, name)(pair).value
    assert "key_groups" not in found.results["rapid"].settings["options"]
    assert "options={'rapid': {'trees': 5}}, key_groups={'age': [30, 60]}" in found.call, "said once, not per measure"
    assert eval(found.call.splitlines()[1], {"gh": gh, "pair": pair}).to_json() == found.to_json()


def test_the_call_repeats_a_grouping_of_some_measures_only() -> None:
    pair = EXAMPLE.pair()
    some = {"disco": {"key_groups": 5}, "cap": {"key_groups": 5}}
    found = gh.assess(pair, measures=["disco", "cap", "uniques"], options=some)
    assert "key_groups=5" not in found.call.partition("options=")[0] and "'cap': {'key_groups': 5}" in found.call
    assert eval(found.call.splitlines()[1], {"gh": gh, "pair": pair}).to_json() == found.to_json()


def test_an_option_of_a_measure_or_a_rule_of_the_policy_wins() -> None:
    pair = EXAMPLE.pair()
    rule = {"measure": "uniques", "limit": 0.9, "options": {"key_groups": 3}}
    policy = gh.Policy.from_dict({"rule": [rule]})
    found = gh.assess(pair, policy=policy, measures=COUNTING, key_groups=5, options={"disco": {"key_groups": 7}})
    assert [found.results[n].settings["options"]["key_groups"] for n in COUNTING] == [7, 3]


def test_the_map_is_grouped_as_the_verdict_is() -> None:
    chosen = {"risk": ["near_copies", "disco"], "utility": ["hellinger"], "key_groups": 20}
    ru = gh.compare(EXAMPLE.pair(), {"A": EXAMPLE.released}, **chosen)
    assert ru.results["A"]["disco"].value == gh.disclosure.disco(EXAMPLE.pair(), key_groups=20).value


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"agee": 5}, "did you mean 'age'"),
        ({"gender": 5}, "only numeric columns can be grouped"),
        ({"age": [60, 30]}, "increasing"),
        (2.5, "takes a whole number"),
    ],
)
def test_a_wish_that_cannot_be_met_is_one_error_before_anything_runs(wish: object, said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        gh.assess(EXAMPLE.pair(), measures=COUNTING, key_groups=wish)
