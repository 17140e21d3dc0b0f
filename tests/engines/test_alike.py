"""What lets members and strangers be asked alike: other people, equal records, one order for all draws, exchanges."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.membership.scores import leak, separate
from glasshouse.engines.canonical import canonical, canonical_designs
from glasshouse.engines.exchange import detection_limit, exposed_people, largest_of, people_clusters
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.others import KIN, nearest_others
from glasshouse.engines.pairs.equality import by_chance, equals, weight_of
from glasshouse.engines.standing import few_alarms, found_at_few_alarms, rank_sum


def test_the_next_person_is_of_another_cluster() -> None:
    original = pl.DataFrame({"x": [0.0, 0.0, 1.0, 5.0], "hh": [1, 1, 1, 2]})
    holdout = pl.DataFrame({"x": [7.0, 9.0, 9.0], "hh": [3, 4, 4]})
    released = pl.DataFrame({"x": [10.0, 2.0], "hh": [8, 9]})
    alone = gh.Pair(original.drop("hh"), released.drop("hh"), holdout=holdout.drop("hh"))
    found = nearest_others(gower_space(alone), alone)
    assert found["original"][:, 0] * 10 == pytest.approx([0, 0, 1, 2])
    assert found["holdout"][:, 0] * 10 == pytest.approx([2, 0, 0])
    pair = gh.Pair(original, released, holdout=holdout, cluster="hh")
    found = nearest_others(gower_space(pair), pair, 2)
    assert found["original"] * 10 == pytest.approx(np.array([[5, 7], [5, 7], [4, 6], [2, 4]]))
    assert found["holdout"] * 10 == pytest.approx(np.array([[2, 2], [2, 4], [2, 4]]))


def test_a_huge_cluster_is_looked_past_only_so_far() -> None:
    n = KIN + 40
    original = pl.DataFrame({"x": np.arange(n + 1) / 100, "hh": [1] * n + [2]})
    pair = gh.Pair(original, original, cluster="hh")
    found = nearest_others(gower_space(pair), pair)["original"][:, 0] * (n / 100)
    assert found[n - 1] == pytest.approx(0.01) and found[n] == pytest.approx(0.01)
    assert 0 < found[0] <= n / 100  # at least as far as the last kin seen


def test_records_without_a_cluster_are_people_of_their_own() -> None:
    table = pl.DataFrame({"x": [1.0, 1.0, 2.0], "hh": [None, None, 1]})
    holdout = pl.DataFrame({"x": [1.0, 3.0], "hh": [None, 2]})
    pair = gh.Pair(table, table, holdout=holdout, cluster="hh")
    own, other = people_clusters(pair)  # type: ignore[misc]
    assert len(set(own.tolist()) | set(other.tolist())) == 5
    assert nearest_others(gower_space(pair), pair)["original"][:2, 0] == pytest.approx([0, 0])


def test_equal_but_for_one_column() -> None:
    original = pl.DataFrame({"a": list("pppq"), "b": list("xyzz"), "c": list("mmnn")})
    holdout = pl.DataFrame({"a": list("pq"), "b": list("xw"), "c": list("mn")})
    released = pl.DataFrame({"a": list("pqr"), "b": list("yzz"), "c": list("mmn")})
    found = equals(gh.Pair(original, released, holdout=holdout), ("a", "b", "c"))
    rare = {"a": {"p": 4, "q": 2}, "b": {"x": 2, "y": 1, "z": 2, "w": 1}, "c": {"m": 3, "n": 3}}
    info = [-sum(np.log(rare[k][v] / 6) for k, v in zip("abc", row, strict=True)) for row in original.rows()]
    assert found.information[:4] == pytest.approx(info)
    assert found.whole.tolist() == [False, True, False, False, False, False]
    # the first has a twin in the holdout; the second is copied; q and z fit the fourth alone; z and n fit two people
    assert found.partial[:4] == pytest.approx([0, info[1], 0, -np.log(2 / 6) - np.log(2 / 6)])
    assert found.row[:4].tolist() == [-1, 0, -1, 1]
    assert weight_of(np.array([0.0, np.log(300.0)]), 3) == pytest.approx([0, np.log(2)])


def test_how_often_records_meet_by_chance() -> None:
    original = pl.DataFrame({"a": list("ppqr"), "b": list("xyzw"), "c": list("mmno")})
    released = pl.DataFrame({"a": list("qsp"), "b": list("zzy"), "c": list("nnm")})
    pair = gh.Pair(original, released)
    whole = by_chance(pair, ("a", "b", "c"))
    assert whole.met.tolist() == [0, 0, 0, 0]
    third, second = 3 * np.log(4), np.log(2) + np.log(4) + np.log(2)
    assert whole.matched == pytest.approx([third, 0, second])
    but_one = by_chance(pair, ("a", "b", "c"), but_one=True)
    # the first two agree in a and c, which one of the three others has; the second released record agrees in b and c
    assert but_one.met == pytest.approx([2 * np.log(3), 2 * np.log(3), 0, 0])
    assert but_one.matched == pytest.approx([third, 2 * np.log(4), second])
    units, people = but_one.units
    assert people[0] == people[1] and len(set(people.tolist())) == 3 and len(set(units.tolist())) == 3


def test_records_of_one_person_do_not_hide_each_other() -> None:
    original = pl.DataFrame({"a": list("ppq"), "b": list("xxy"), "hh": [1, 1, 2]})
    holdout = pl.DataFrame({"a": ["r"], "b": ["z"], "hh": [3]})
    released = pl.DataFrame({"a": ["p"], "b": ["x"], "hh": [9]})
    apart = gh.Pair(original.drop("hh"), released.drop("hh"), holdout=holdout.drop("hh"))
    assert equals(apart, ("a", "b")).whole.tolist() == [False] * 4
    whole = gh.Pair(original, released, holdout=holdout, cluster="hh")
    assert equals(whole, ("a", "b")).whole.tolist() == [True, True, False, False]
    assert gh.disclosure.exact_copies(whole).records["copied"].to_list() == [True, True, False]
    assert gh.disclosure.repeated_records(whole).records["released_copies"].to_list() == [1, 1, 0]


def test_one_order_whatever_rows_columns_and_labels() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"x": rng.normal(size=60), "c": rng.choice(list("abcde"), 60), "d": rng.choice(["u", "v"], 60)}
    )
    moved = rng.permutation(60)
    names = dict(zip("abcde", "EDCBA", strict=True))
    changed = table.with_columns(x=pl.col("x") * 3 - 1, c=pl.col("c").replace_strict(names)).select("d", "c", "x")
    pairs = gh.Pair(table, table[:40]), gh.Pair(changed[moved], changed[:40])
    assert pairs[0].columns != pairs[1].columns
    one, two = (canonical(pair, pair.columns) for pair in pairs)
    assert np.array_equal(one.records["original"][moved], two.records["original"])
    assert len(np.unique(one.records["original"])) == 60
    first, second = (canonical_designs(pair, pair.columns, ("original",))["original"] for pair in pairs)
    assert np.array_equal(first.codes[moved], second.codes) and first.names == second.names
    assert [names[str(v)] for v in first.levels[0]] == list(second.levels[0])


def test_rank_sum_with_and_without_clusters() -> None:
    rng = np.random.default_rng(2)
    members, strangers = rng.normal(size=60) + 0.5, rng.normal(size=50)
    p, spread = rank_sum(members, strangers)
    own = (np.arange(60), np.arange(60, 110))
    dealt, dealt_spread = rank_sum(members, strangers, clusters=own)
    assert dealt == pytest.approx(p, abs=0.01) and dealt_spread == pytest.approx(spread, rel=0.05)
    fours = (np.repeat(members[:15], 4), np.repeat(strangers[:15], 4))
    alone, whole = rank_sum(*fours)[1], rank_sum(*fours, clusters=(own[0] // 4, 100 + own[0] // 4))[1]
    assert whole == pytest.approx(2 * alone, rel=0.1)
    assert rank_sum(np.ones(5), np.ones(5))[0] == 1.0


def test_found_at_few_false_alarms() -> None:
    strangers = np.arange(200.0)
    own, other, cut = few_alarms(np.array([500.0, 198.0, 197.0]), strangers)
    assert (own.tolist(), other.sum(), cut) == ([True, True, False], 2, 197.0)
    own, other, _ = few_alarms(np.array([19.0, 5.0]), np.arange(20.0))
    assert own.tolist() == [True, False] and other.sum() == 1
    own, other, _ = few_alarms(np.array([1.0, 2.0]), np.ones(20))  # ties: nobody but those above all strangers
    assert own.tolist() == [False, True] and other.sum() == 0


def test_members_above_all_strangers_but_a_few_have_an_exact_p_value() -> None:
    # by hand: one false alarm allowed, so members before the second stranger count, in all orders of 3 and 3
    orders = [set(places) for places in combinations(range(6), 3)]  # the places of the strangers
    before = [sorted(places)[1] - 1 for places in orders]
    found = found_at_few_alarms(np.array([9.0, 8.0, 1.0]), np.array([7.0, 2.0, 0.5]))
    assert found == pytest.approx(np.mean([k >= 2 for k in before]))
    assert found_at_few_alarms(np.zeros(30), np.zeros(30)) == 1.0
    rng = np.random.default_rng(4)
    ps = np.array([found_at_few_alarms(*np.split(rng.permutation(600).astype(float), 2)) for _ in range(2000)])
    for level in (0.01, 0.05, 0.2):
        assert (ps <= level).mean() <= level + 3 * np.sqrt(level / 2000)
    assert (ps <= 0.5).mean() > 0.35, "not empty of power"
    members = rng.normal(size=1000)
    members[:30] += 8
    assert found_at_few_alarms(members, rng.normal(size=1000)) < 0.001 < rank_sum(members, rng.normal(size=1000))[0]
    clusters = np.arange(2000) // 2, np.arange(18) // 2
    twice = found_at_few_alarms(np.repeat(members, 2), np.repeat(np.arange(9.0), 2), clusters)
    assert twice == found_at_few_alarms(members, np.arange(9.0)), "several records of one person are one person"


def test_people_exposed_are_clusters() -> None:
    flags = np.array([1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 1])
    seen = exposed_people(*flags, (np.array([0, 0, 0, 1, 1, 2]), np.array([5, 5, 6, 7])), np.array([1, 1, 1, 0, 0, 1]))
    assert (seen.share, seen.strangers, seen.members, seen.controls) == (pytest.approx(0), pytest.approx(1 / 3), 3, 3)
    assert seen.reach == pytest.approx(2 / 3)
    assert exposed_people(*flags).share == pytest.approx(2 / 6 - 1 / 4)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_stated_limit_of_membership_is_seen_also_where_scores_tie(step: float) -> None:
    """Ties let fewer strangers through than the test allows for: the limit must count those it allows."""
    rng = np.random.default_rng(2)

    def scores() -> np.ndarray:
        drawn = rng.normal(size=1000)
        return np.round(drawn / step) * step if step else drawn

    seen = []
    for _ in range(60):
        members, strangers = scores(), scores()
        limit = detection_limit(leak(separate(members, strangers, 0.95), 0.95)["exposure"], 0.05)
        members[rng.permutation(1000)[: int(np.ceil(1000 * limit))]] = 30.0
        seen.append(separate(members, strangers, 0.95).p < 0.05)
    assert np.mean(seen) > 0.65, "stated with 80 % power"


def test_somebody_without_a_cluster_is_alone_in_it() -> None:
    original, holdout = (pl.DataFrame({"hh": hh, "x": [1.0, 2.0, 3.0]}) for hh in (["a", None, None], ["b", "b", None]))
    own, other = people_clusters(gh.Pair(original, original, holdout=holdout, cluster="hh"))
    assert len(set(own)) == 3 and len(set(other)) == 2 and not set(own) & set(other)
    assert largest_of(np.array([-3.0, -1.0, -2.0]), np.array([4, 4, 9])).tolist() == [-1.0, -2.0]
