"""Bands hold their level on clean releases, with rare levels and with clusters, and the family of measures as a whole;
what is lost or copied is still seen.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, norm

import glasshouse as gh
from glasshouse.core.evidence import NULL_LEVEL, Null
from glasshouse.core.result import Result
from glasshouse.core.streams import generator
from glasshouse.utility import deals
from glasshouse.utility.family import utility_family
from glasshouse.utility.nulls import FEWEST, ChiSquare, Drawn, band


def people(n: int, seed: int) -> pd.DataFrame:
    """Two related numbers, a category that goes with them, and one with very many rare levels."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    v = np.exp(0.5 * u + rng.normal(size=n))
    g = np.where(u + rng.normal(size=n) > 0, "a", "b")
    rare = np.minimum(rng.zipf(1.6, n), 300).astype(str)
    return pd.DataFrame({"u": u, "v": v, "g": g, "rare": rare})


def households(n: int, seed: int) -> pd.DataFrame:
    """People of one household have the same region and much the same income."""
    rng = np.random.default_rng(seed)
    house = np.repeat(np.arange(n), rng.integers(2, 6, n))[:n]
    region = np.array(list("nswe"))[rng.integers(0, 4, n)][house]
    income = rng.normal(size=n)[house] + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"house": house, "region": region, "income": income})


# -- deals ---------------------------------------------------------------------------------------------------------


def test_a_deal_gives_every_record_to_one_table():
    pair = gh.Pair(people(60, 1), people(40, 2))
    dealt = deals.pool(pair).deal(np.random.default_rng(0))
    assert (len(dealt.x), len(dealt.y), len(dealt.again)) == (60, 40, 40)
    assert sorted([*dealt.x, *dealt.y]) == list(range(100))
    assert dealt.again.max() < 60
    keep = np.arange(100) % 3 > 0
    some = deals.pool(pair, keep).deal(np.random.default_rng(0))
    assert keep[[*some.x, *some.y, *some.again]].all() and len(some.x) == keep[:60].sum()


def test_measures_of_a_pair_look_at_the_same_deals_in_the_order_of_the_file(monkeypatch):
    drawn = []
    plain = deals.Pool.deal
    monkeypatch.setattr(deals.Pool, "deal", lambda self, rng: (drawn.append(1), plain(self, rng))[1])
    pair = gh.Pair(people(60, 1), people(40, 2))
    once, again = (deals.in_deals(pair, lambda dealt: dealt, range(30), 0) for _ in range(2))
    assert len(drawn) == 30
    for r, (one, other) in enumerate(zip(once, again, strict=True)):
        plainly = plain(deals.pool(pair), generator(0, "null", r))
        for side, same, as_drawn in zip(one, other, plainly, strict=True):
            assert side.tolist() == same.tolist() == sorted(as_drawn)
    some = np.arange(100) % 3 > 0
    assert all(some[dealt.x].all() for dealt in deals.in_deals(pair, lambda dealt: dealt, range(5), 0, some))
    monkeypatch.setattr(deals, "KEPT", 0)
    assert [d.y.tolist() for d in deals.in_deals(gh.Pair(people(60, 1), people(40, 2)), lambda d: d, range(30), 0)] == [
        dealt.y.tolist() for dealt in once
    ]


def test_somebody_drawn_three_hundred_times_is_counted_as_often():
    rows = np.repeat([4, 1, 4], [299, 2, 1])
    assert deals.Times.of(rows).rows().tolist() == sorted(rows)


def test_whole_clusters_are_dealt_and_drawn():
    first, second = households(120, 1), households(100, 2)
    pair = gh.Pair(first, second, cluster="house")
    of = np.concatenate([first["house"], second["house"] + 1000])  # same names, other households
    for seed in range(5):
        dealt = deals.pool(pair).deal(np.random.default_rng(seed))
        assert not set(of[dealt.x]) & set(of[dealt.y])
        assert sorted([*dealt.x, *dealt.y]) == list(range(220))
        assert abs(len(dealt.x) - 120) <= 3
        sizes = pd.Series(first["house"]).value_counts()
        for house, rows in pd.Series(of[dealt.again]).value_counts().items():
            assert rows % sizes[house] == 0


def test_a_release_without_the_cluster_column_is_dealt_record_by_record():
    pair = gh.Pair(households(120, 1), households(100, 2).drop(columns="house"), cluster="house")
    assert gh.utility.hellinger(pair).null.p_lost > 0
    assert deals.pool(pair).unit[-1] + 1 == 100 + households(120, 1)["house"].nunique()


def test_bands_depend_neither_on_the_order_of_rows_and_columns_nor_on_names_of_clusters():
    first, second = households(150, 1), households(150, 2)
    other = [t.sample(frac=1, random_state=3)[["income", "house", "region"]] for t in (first, second)]
    renamed = [t.assign(house=(7 * t["house"] + 3) % 1009) for t in other]
    once, again = (gh.utility.wasserstein(gh.Pair(*t, cluster="house")).null for t in ((first, second), renamed))
    assert (once.low, once.high) == pytest.approx((again.low, again.high), rel=1e-9)


# -- laws ----------------------------------------------------------------------------------------------------------


def test_the_band_of_a_weighted_regression_with_separated_classes_knows_no_order_of_rows():
    """The last digit of a scale would be the fourth of a band: the class follows from the age but for a few people."""
    tables = []
    for seed in (2, 102):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, 80)
        made = {"sex": rng.choice(["f", "m"], 80), "region": rng.choice(list("ABCDEFGH"), 80), "age": age * 1.1}
        made |= {"pay": rng.lognormal(8, 1, 80), "ill": np.where(age > 70, "c", rng.choice(["a", "b"], 80))}
        tables.append(pd.DataFrame({**made, "w": rng.integers(1, 900, 80) * 1.37}))
    shuffled = [table.sample(frac=1, random_state=5) for table in tables]
    roles = {"keys": ["sex", "region", "age", "pay"], "target": "ill", "weights": "w"}
    one, two = (gh.utility.regression_fidelity(*pair, **roles) for pair in (tables, shuffled))
    assert one.value == two.value and one.null == two.null


def test_the_p_value_and_the_band_say_the_same():
    rng = np.random.default_rng(1)
    for count in (FEWEST, 20, 39, 100):
        made = band(rng.gamma(3, size=count), 0.5 * rng.gamma(3, size=count), "")
        for value in rng.gamma(3, size=50):
            low = made.read(value, "lower")
            assert low.lost == (value > low.high) == (low.p_lost <= NULL_LEVEL)
            assert low.copied == (value < low.low) == (low.p_copied <= NULL_LEVEL)
            high = made.read(value, "higher", alarm=False)
            assert high.lost == (value < high.low) and not high.copied and high.p_copied is None
    assert band(rng.normal(size=FEWEST - 1), [], "") is None


@pytest.mark.parametrize("law", [norm(), gamma(1), gamma(4)], ids=["normal", "exponential", "gamma"])
def test_tails_hold_their_level_where_they_are_extrapolated(law):
    """20,000 draws and as many honest figures: 5 % at the band, and no more than twice 1 in 400 for a family of 20."""
    rng = np.random.default_rng(2)
    p = np.array([Drawn(law.rvs(100, random_state=rng)).tail(v, 1) for v in law.rvs(20_000, random_state=rng)])
    assert (p <= 0.05).mean() == pytest.approx(5 / 101, abs=0.006)
    assert (p <= 0.0025).mean() <= 0.005
    assert Drawn(law.rvs(100, random_state=rng)).tail(40.0, 1) < 1e-6


def test_draws_without_spread_tell_apart_no_finer_than_their_number():
    law = Drawn(np.zeros(99))
    assert law.tail(0.0, 1) == 1.0 and law.tail(1.0, 1) == pytest.approx(0.01)
    closed = ChiSquare(4, 0.5)
    assert closed.tail(closed.end(1), 1) == pytest.approx(0.05) and closed.tail(closed.end(-1), -1) == pytest.approx(
        0.05
    )


# -- the family ----------------------------------------------------------------------------------------------------


def _told(p: float | None) -> Result:
    return Result(1.0, null=Null(0, 1, 0.5, "", p_lost=p))


def test_the_family_is_adjusted_by_holm():
    found = utility_family({"a": _told(0.03), "b": _told(0.004), "c": _told(0.02), "d": _told(None)})
    assert {n: pytest.approx(f.adjusted) for n, f in found.items()} == {"a": 0.04, "b": 0.012, "c": 0.04}
    assert all(f.lost for f in found.values())
    alone = utility_family({"a": _told(0.03), "b": _told(0.04)})
    assert not any(f.lost for f in alone.values()) and alone["a"].p == 0.03
    assert utility_family([]) == {}


def test_several_releases_are_not_several_chances():
    worst = Null(0, 1, 0.5, "", lost=True, p_lost=0.04, p_copied=0.5)
    found = worst.among([Null(0, 1, 0.5, "", p_lost=0.6, p_copied=0.01)])
    assert (found.p_lost, found.lost) == (0.08, False)
    assert (found.p_copied, found.copied) == (0.02, True)


# -- measures ------------------------------------------------------------------------------------------------------

# a measure that is wrong in 5 % of clean releases is wrong in no more than 6 of 30 with a chance of 99.7 %
RUNS, MOST = 30, 6


@pytest.mark.parametrize("name", ["hellinger", "jensen_shannon", "ci_overlap", "regression_fidelity", "tail_fidelity"])
def test_clean_releases_with_rare_levels_lose_nothing(name):
    options = {"formula": "u ~ rare + g"} if name == "regression_fidelity" else {}
    lost = [
        getattr(gh.utility, name)(gh.Pair(people(300, s), people(300, 1000 + s)), **options).null.lost
        for s in range(RUNS)
    ]
    assert sum(lost) <= MOST


def test_clean_releases_with_separated_classes_are_neither_copies_nor_lost():
    """The age all but says the class: how wide the intervals are is where a fit happens to end."""
    told = []
    for seed in range(RUNS):
        tables = []
        for rng in (np.random.default_rng([seed, side]) for side in range(2)):
            age = rng.integers(18, 90, 150)
            late = np.where(age + rng.normal(0, 0.5, 150) > 70, "yes", "no")
            tables.append(pd.DataFrame({"region": rng.choice(list("abcde"), 150), "age": age, "late": late}))
        told.append(gh.utility.regression_fidelity(*tables, keys=["region", "age"], target="late").null)
    assert sum(null.copied for null in told) <= MOST  # 16 where the fits of deals ended earlier than the headline's
    assert sum(null.lost for null in told) <= MOST


@pytest.mark.parametrize("name", ["wasserstein", "table_utility", "pmse"])
def test_clean_releases_of_households_lose_nothing(name):
    measure = getattr(gh.utility, name)
    lost = dict.fromkeys(("house", None), 0)
    for seed in range(RUNS):
        pair = gh.Pair(households(300, seed), households(300, 1000 + seed))
        for cluster in lost:
            kept = pair.replace(cluster=cluster, exclude=[] if cluster else ["house"])
            lost[cluster] += measure(kept).null.lost
    assert lost["house"] <= MOST < lost[None], "clusters must matter, or the test shows nothing"


def test_a_lost_group_is_a_loss_only_beyond_chance():
    original = pd.DataFrame({"g": ["a"] * 95 + ["b"] * 5, "v": np.arange(100) % 7})
    few = gh.utility.subgroup_utility(original, pd.DataFrame({"g": ["a"] * 40, "v": np.arange(40) % 7}), by="g")
    assert few.value == 0 and not few.null.lost and few.null.p_lost > 0.05
    many = gh.utility.subgroup_utility(original, pd.DataFrame({"g": ["a"] * 900, "v": np.arange(900) % 7}), by="g")
    assert many.null.lost and many.null.p_lost < 1e-4


def test_a_family_of_measures_sees_columns_that_were_shuffled_and_nothing_else():
    names = ["hellinger", "wasserstein", "association", "table_utility", "pmse", "copula_fidelity"]
    rng = np.random.default_rng(5)
    seen = []
    for seed in range(5):
        original, release = people(400, seed), people(400, 1000 + seed)
        shuffled = release.apply(lambda column: rng.permutation(column.to_numpy()))
        found = utility_family([getattr(gh.utility, n)(original, shuffled) for n in names])
        assert found["association"].lost and found["pmse"].lost and found["copula_fidelity"].lost
        clean = utility_family([getattr(gh.utility, n)(original, release) for n in names])
        seen.append(any(f.lost for f in clean.values()))
    assert sum(seen) <= 1


def test_the_copy_alarm_of_pmse_has_a_p_value():
    original = people(400, 1).drop(columns="rare")
    rng = np.random.default_rng(6)
    noisy = original.assign(u=original["u"] + rng.normal(scale=0.01, size=400))
    for release in (original.sample(frac=1, random_state=1), noisy):
        null = gh.utility.pmse(original, release).null
        assert null.copied and null.p_copied < 0.01 and null.p_lost == 1.0
    clean = [gh.utility.pmse(people(300, s), people(300, 1000 + s)).null for s in range(20)]
    assert not any(null.copied for null in clean)


def test_a_weighted_original_has_an_unweighted_release_drawn_from_its_population():
    rng = np.random.default_rng(7)
    original = people(400, 8).assign(w=lambda t: np.where(t["g"] == "a", 4.0, 1.0))
    release = original.sample(400, replace=True, weights="w", random_state=9).drop(columns="w")
    found = gh.utility.hellinger(original, release, weights="w", columns="g").null
    assert not found.lost and "weighted resamples" in found.how
    flat = original.sample(400, replace=True, random_state=9).drop(columns="w")
    assert gh.utility.hellinger(original, flat, weights="w", columns="g").null.lost
    both = original.iloc[rng.permutation(400)[:200]], original.iloc[rng.permutation(400)[:200]]
    assert "deals" in gh.utility.hellinger(*both, weights="w").null.how


def test_deals_that_are_kept_share_the_room_of_their_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=800), "b": rng.normal(size=800)})
    usable = [None, rng.random(800) < 0.9, rng.random(800) < 0.8]

    def kept(room: int, seed: int | np.random.Generator) -> tuple[int, list[list[int]]]:
        monkeypatch.setattr(deals, "KEPT", room)
        pair = gh.Pair(frame[:400], frame[400:])
        asked = [deals._deals(pair, seed, keep) for keep in usable]
        seen = [[int(one.number(r).y.sum()) for r in range(20)] for one in asked]
        return sum(side.times.nbytes for one in asked for deal in one.kept.values() for side in deal), seen

    everything, figures = kept(2**20, 0)
    some, same = kept(5000, 0)
    assert 4000 < some <= 5000 < everything and figures == same
    assert kept(2**20, np.random.default_rng(0))[0] == 0  # nobody can ask for these again


def test_a_dealt_table_whose_records_all_weigh_nothing_has_no_interval():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame({"pay": rng.normal(size=n), "w": np.where(np.arange(n) < 2, 1.0, 0.0)}) for n in (30, 30)]
    found = gh.utility.ci_overlap(*tables, weights="w")
    assert found.status == "ok" and 0 <= found.value <= 1
