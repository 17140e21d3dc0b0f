"""Which measures a word means: the same words in Python, in a policy and on the command line."""

from __future__ import annotations

import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.engines import asked
from glasshouse.judgement import selection
from glasshouse.judgement.policy.policy import DECLARED
from glasshouse.judgement.rumap.candidates import axes, run_for_verdict
from glasshouse.judgement.selection import estimate, meant, select


def names(*words: str, row_paired: bool = False) -> set[str]:
    return {m.name for m in select(list(words), DECLARED, row_paired)}


def test_families_threats_sides_and_sets_are_words_for_their_measures() -> None:
    known = all_measures().values()
    assert names("gdpr") == {"singling_out", "linkability", "inference"}
    assert names("copying") == {m.name for m in known if m.threat == "copying"} >= {"exact_copies", "dcr"}
    assert names("attribute") == {m.name for m in known if m.threat == "attribute"} >= {"rapid", "disco", "inference"}
    assert names("utility") == {m.name for m in known if m.side == "utility"}
    assert names("fast", "rapid") == names("fast") | {"rapid"} != names("fast")
    assert names("prediction", "copying") == names("prediction") | names("copying")


def test_the_name_of_a_measure_is_that_measure_and_other_words_mean_all_they_are() -> None:
    assert names("attribution") == {"attribution"}, "a script that names a measure runs that measure"
    assert {"singling_out", "uniques", "l_diversity"} <= names("identity"), "the threat and the family"


def test_a_word_nobody_knows_is_answered_by_the_closest() -> None:
    for wrong, right in {"copyng": "copying", "fst": "fast", "atribute": "attribute", "discoo": "disco"}.items():
        with pytest.raises(gh.InputError, match=f"no measure '{wrong}'; did you mean '{right}'"):
            meant(wrong)


def test_assess_takes_the_words() -> None:
    found = gh.assess(gh.data.load("appendix_b").pair(), measures=["gdpr", "uniques"])
    assert set(found.results) == {"singling_out", "linkability", "inference", "uniques"}


def test_a_map_places_what_a_family_has_a_place_for_and_judges_by_all_of_it() -> None:
    chosen = axes(None, None, ["attribution", "prediction", "marginals"])
    assert set(chosen) == {"attribution", "rapid", "missingness", "wasserstein", "hellinger"}, "a measure stays itself"
    judged = {m.name for m in run_for_verdict(chosen, None, ["attribution", "prediction", "marginals"], DECLARED)}
    assert names("prediction") <= judged
    assert set(axes(None, None, ["fast", "rapid"])) >= {"rapid", "hellinger", "disco"}


def test_a_measure_itself_is_that_measure_and_the_call_repeats_it() -> None:
    pair = gh.data.load("health").pair()
    found = gh.assess(pair, measures=[gh.disclosure.attribution, "uniques"])
    assert set(found.results) == {"attribution", "uniques"}
    assert "measures=['attribution', 'uniques']" in found.call
    again = eval(found.call.splitlines()[1], {"gh": gh, "pair": pair})
    assert again.to_json() == found.to_json()
    alone = run_for_verdict(axes(["attribution"], ["hellinger"], None), ["attribution"], None, DECLARED)
    assert not {m.name for m in alone} & {"tcap", "cap"}


def test_an_estimate_knows_that_some_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = gh.data.load("health").pair()

    def seconds() -> dict[str, float]:
        return {cost.measure: cost.seconds for cost in estimate(pair, ["dcr", "rare_agreement", "uniques"]).costs}

    whole = seconds()
    for name in ("MOST", "SAMPLE"):
        monkeypatch.setattr(asked, name, 100)
    monkeypatch.setattr(selection, "MOST_PAIRS", 1000)
    some = seconds()
    assert some["dcr"] < whole["dcr"] and some["rare_agreement"] < whole["rare_agreement"]
    assert some["uniques"] == whole["uniques"]
