"""How figures are told outside: the rules of the grid, one by one, and exhaustively where that can be done."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.evidence import ColumnReading, Counts, Exposure
from glasshouse.core.measure import Measure
from glasshouse.core.outside import NOTHING, WITHHELD, Gate, raised, size, told_options
from glasshouse.core.result import Result
from glasshouse.core.told import tell, told_exposure

SHARE, DISTANCE = (all_measures()[name] for name in ("disco", "wasserstein"))
COUNT = replace(all_measures()["repeated_records"], influence="share")


def made(measure: Measure, value: float, of: float | None, **given: object) -> Result:
    return Result(value, of=of, **given)._copy(name=measure.name, measure=measure)  # type: ignore[arg-type]


# -- one figure --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "step"), [(20, 0.5), (50, 0.1), (400, 0.02), (600, 0.01), (1000, 0.005), (10**6, 0.005)])
def test_the_step_is_the_threshold_over_the_people_raised(n: int, step: float) -> None:
    assert Gate(5).step(n) == step


@pytest.mark.parametrize("n", [None, 0, 9, 14, float("nan")])
def test_few_or_unknown_people_give_nothing(n: float | None) -> None:
    assert Gate(5).step(n) is None
    told = tell(made(SHARE, 0.4, n, baseline=0.2, interval=(0.3, 0.5)), Gate(5))
    assert told.value is NOTHING and told.baseline is NOTHING and told.interval is None and told.excess is None
    assert "not told" in told.sentence and "0.4" not in told.sentence


def test_steps_are_one_two_five() -> None:
    assert [raised(x) for x in (0.0101, 0.02, 0.021, 0.5, 0.51, 3)] == [0.02, 0.02, 0.05, 0.5, 1.0, 5.0]
    assert [size(x) for x in (4998, 602, 99, 86, 4, 0)] == [5000, 600, 100, 90, 10, 0]


@pytest.mark.parametrize("threshold", [3, 5, 10])
def test_no_count_under_the_threshold_follows_from_any_share(threshold: int) -> None:
    """Exhaustively: whoever knows n and the rules finds for every told share the counts it may stand for. Where one of
    them is small (or all but a few), then every small count (and nobody, or everybody) is among them."""
    gate = Gate(threshold)
    for n in [*range(1, 260), 399, 400, 602, 1000, 4998, 5000]:
        seen: dict[object, list[int]] = defaultdict(list)
        for count in range(n + 1):
            told = gate.bounded(count / n, n)
            seen[told.value, told.shown].append(count)
        small = set(range(min(threshold, n + 1)))
        for candidates in seen.values():
            for cell in (set(candidates), {n - c for c in candidates}):
                assert not cell & small or small <= cell, (n, candidates)


def test_several_roundings_of_one_small_count_agree() -> None:
    """The same two people out of 100 released, 400 original and 5,000 others: each figure is in its lowest cell, where
    nobody is too, so that no intersection of cells tells them."""
    gate = Gate(5)
    for n in (100, 400, 5000):
        told = {gate.bounded(k / n, n) for k in range(5)}
        assert len(told) == 1 and next(iter(told)).value is None


def test_an_interval_is_no_second_rounding() -> None:
    gate = Gate(5)
    assert gate.interval(0.3, (0.272, 0.327), 0, 1) == (0.25, 0.35)
    assert gate.interval(0.02, (0.005, 0.05), 0, 1) == (0.0, 0.07)
    assert gate.interval(None, (0.0, 0.1), 0, 1) is None, "a bound has no interval"
    assert gate.interval(0.3, (None, 0.4), 0, 1) is None


def test_the_denominator_is_the_one_of_the_figure() -> None:
    """A release of 100 beside an original of 5,000: two copies are 2 % of the release, and told as fewer than 5 %."""
    result = made(SHARE, 0.02, 100, counts=Counts(2, 5000))
    assert result.of == 100
    assert tell(result, Gate(5)).value.shown == "< 5.0 %"
    assert made(SHARE, 0.02, None, counts=Counts(100, 5000)).of == 5000, "where a measure does not say, its attempts"


def test_the_reference_is_told_by_the_people_behind_it() -> None:
    """One of 50 strangers beside 5,000 members: the baseline is that one person, too."""
    told = tell(made(SHARE, 0.3, 5000, baseline=0.02, holdout=0.02, of_holdout=50), Gate(5))
    assert told.value.value == 0.3
    assert told.holdout.shown == told.baseline.shown == "< 10.0 %"


def test_members_minus_strangers_is_made_of_what_is_told() -> None:
    told = tell(made(SHARE, 0.1512, 1000, holdout=0.004, of_holdout=500, difference=0.1472), Gate(5))
    assert (told.value.value, told.holdout.shown, told.difference) == (0.15, "< 1.0 %", 0.15)
    few = tell(made(SHARE, 0.004, 1000, holdout=0.0, of_holdout=500, difference=0.004), Gate(5))
    assert few.difference is None
    seen = told_exposure(
        made(SHARE, 0.15, 1001, of_holdout=499, exposure=Exposure(0.1472, (0.12, 0.18), 0.004, 1001, 499)), Gate(5)
    )
    assert seen is not None and (seen.share, seen.strangers, seen.members, seen.people) == (0.15, 0.0, 1000, 150)
    assert (
        told_exposure(made(SHARE, 0.003, 1000, exposure=Exposure(0.003, (0.0, 0.01), 0.0, 1000, 500)), Gate(5)) is None
    )
    other = tell(made(SHARE, 0.6, 1000, of_holdout=500, difference=0.0239), Gate(5))
    assert other.difference is None, "a difference that is not one of the told figures is not told"


def test_figures_that_few_people_move_far_have_wider_steps() -> None:
    gate = Gate(5)
    assert DISTANCE.influence == "root" and gate.step(1000, "root") == 0.1 and gate.step(1000, "free") is None
    told = tell(made(DISTANCE, 0.0372, 1000, utility=0.9641), gate)
    assert told.value is NOTHING and told.utility is None, "one value can move it as far as the value goes"


def test_counts_are_told_in_multiples_of_the_threshold() -> None:
    gate = Gate(5)
    assert [tell(made(COUNT, k, 1000), gate).value.shown for k in (0, 1, 4, 6, 13)] == [
        "<5",
        "<5",
        "<5",
        "about 5",
        "about 15",
    ]


def test_p_values_are_told_as_the_level_their_status_stands_for() -> None:
    """Of a threat only; that of a single test is a count of people."""
    pair = gh.data.load("health").pair()
    found = gh.assess(pair, measures=["exact_copies", "disco", "uniques"])
    content = found.content("external")
    levels = {"fail": (0.01, "p < 0.01"), "warn": (0.05, "p < 0.05"), "pass": (1.0, "p >= 0.05")}
    tested = {n: t for n, t in content["threats"].items() if found.threats[n].leak is not None}
    assert {"fail", "pass"} <= {t["status"] for t in tested.values()}
    for threat in tested.values():
        assert (threat["p_value"], threat["p_shown"]) == levels[threat["status"]]
    assert all(r["p_value"] is None for r in content["results"].values())


def test_no_figure_by_column_is_told() -> None:
    """Which columns a measure of numbers looks at follows their kinds, and these a single odd value."""
    readings = {"few": ColumnReading(0.004, True, 1.02), "many": ColumnReading(0.03, True, 3.7)}
    found = made(all_measures()["missingness"], 0.01, 1000, columns=readings)
    assert tell(found, Gate(5)).to_dict()["columns"] == {}


# -- options and policy ------------------------------------------------------------------------------------------------


def test_options_are_told_by_type() -> None:
    given = {"mode": "univariate", "n_attacks": 50, "predicates": [{"age": 113}], "random_state": 0, "nobody": "QZkuru"}
    assert told_options(given, all_measures()["singling_out"]) == {
        "mode": "univariate",
        "n_attacks": 50,
        "predicates": WITHHELD,
        "random_state": 0,
    }
    assert told_options({"formula": "income ~ QZkuru"}, all_measures()["regression_fidelity"]) == {"formula": WITHHELD}
    assert told_options({"models": ["linear", "cart"]}, all_measures()["model_quality"]) == {
        "models": ["linear", "cart"]
    }


@pytest.mark.parametrize("count", [2, 1, 0, -5, 2.5, True, "5"])
def test_the_threshold_is_at_least_three(count: object) -> None:
    rule = [{"measure": "disco", "limit": 0.1}]
    with pytest.raises(gh.InputError, match="min_count must be a whole number of at least 3"):
        gh.Policy.from_dict({"min_count": count, "rule": rule})
    with pytest.raises(gh.InputError, match="min_count"):
        gh.Policy(name="mine", min_count=count)  # type: ignore[arg-type]
    assert gh.Policy.from_dict({"min_count": 3, "rule": rule}).min_count == 3


def test_every_share_measure_says_how_many_people_stand_behind_it() -> None:
    """On the bundled example, with and without strangers; only the largest share over small groups says nothing."""
    pair = gh.data.load("health").pair()
    quick = {"n_attacks": 60, "trees": 10, "replicates": 5, "n_perm": 3, "permutations": 9, "draws": 5}
    for given in (pair, pair.replace(holdout=None)):
        for name, measure in all_measures().items():
            if measure.is_share:
                options = {k: v for k, v in quick.items() if k in measure.options}
                result = measure.run(given, **options)
                assert result.status != "ok" or (result.of or 0) > 0, name
                told = result.status == "ok" and measure.influence != "free"
                hidden = tell(result, Gate(5)).value is NOTHING
                assert hidden != told or (measure.influence == "root" and hidden), name


def test_a_share_of_the_original_alone_is_not_told() -> None:
    pair = gh.data.load("health").pair()
    for name in ("suda", "k_anonymity", "positive_disclosure", "t_closeness"):
        own = all_measures()[name].run(pair, table="original")
        assert tell(own, Gate(5)).value is NOTHING, "a figure about one table may be about one person in it"
        assert tell(all_measures()[name].run(pair), Gate(5)).value is not NOTHING


def test_fractions_are_counted_exactly() -> None:
    """5 of 1,000 is half a percent, whatever the last bit of the division."""
    for n in (1000, 999, 2000, 602):
        for count in (5, 10, 15):
            told = Gate(5).bounded(float(Fraction(count, n)), n)
            assert told.value is not None or count / n < (Gate(5).step(n) or 0)


def test_there_are_never_more_people_than_the_original_has() -> None:
    """Two hundred descriptions of twelve people, or a release of 5,000 records of one: twelve people are behind it."""
    original = gh.data.load("health").original.head(12)
    pair = gh.Pair(original, gh.data.load("health").original, holdout=gh.data.load("health").original.tail(15))
    for name in ("singling_out", "identical"):
        result = all_measures()[name].run(pair)
        assert result.status == "ok" and (result.of, result.of_holdout) == (12, 15), name


def test_how_long_it_took_is_told_inside_only() -> None:
    found = gh.assess(gh.data.load("health").pair(), measures=["identical"])
    slow = replace(found, timing={"identical": 98765.4})
    assert "98765.4 s." in slow.to_html() and "98765.4" in slow.to_json(timing=True)
    for text in (slow.to_html(audience="external"), slow.to_json(audience="external", timing=True)):
        assert "98765" not in text and "timing" not in text and not re.search(r"[0-9]\.[0-9] s\.", text)
