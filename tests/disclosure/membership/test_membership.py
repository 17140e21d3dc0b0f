"""Membership attacks: hand examples, golden values, copies, no leak, refusal of a holdout made afterwards."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.disclosure.membership import classifier
from glasshouse.disclosure.membership.classifier import membership_classifier
from glasshouse.disclosure.membership.domias import domias
from glasshouse.disclosure.membership.nnaa import nnaa
from glasshouse.disclosure.membership.scores import placement_auc, roc, separate
from tests.disclosure.copying.test_copying import CASES, close, golden_pair, people

ATTACKS = (domias, nnaa, membership_classifier)


def hand_pair():
    tables = {"original": [1.0, 5], "holdout": [2.0, 9], "released": [1.0, 4, 8, 7]}
    return Pair(**{name: pl.DataFrame({"x": v}) for name, v in tables.items()}, schema={"x": "numeric"})


def test_nnaa_hand_example():
    """spec: AA_T = .25; AA_H = .125 strict, .1875 with ties half. Sizes are unequal, so ask for the plain tables."""
    from glasshouse.disclosure.membership.nnaa import _side
    from glasshouse.engines.neighbours.gower import gower_space

    space = gower_space(hand_pair())
    released = space.rows("released")
    within = space.search(released, released, 1, self_join=True).distance[:, 0]
    train = _side(space, space.rows("original"), released, within, None)
    held = _side(space, space.rows("holdout"), released, within, None)
    assert (train.left, train.right, train.aa) == (0, 0.5, 0.25)
    assert (held.left, held.right, held.aa, held.aa_mid) == (0, 0.25, 0.125, 0.1875)


def test_domias_count_hand_example():
    """spec: radius .1 of range 10, AUC .5; here the range is 8, so the same records lie within .125."""
    from glasshouse.disclosure.membership.domias import counting
    from glasshouse.engines.neighbours.gower import gower_space

    found = counting(gower_space(hand_pair()), 0.125, 2, None)
    assert found["auc"] == 0.5
    assert (found["sum_count_synth_train"], found["sum_count_ref_train"]) == (2, 1)


def test_classifier_hand_example():
    """spec: members .6 .2, others .4 .3: two of four pairs won."""
    found = separate(np.array([0.6, 0.2]), np.array([0.4, 0.3]), 0.95)
    assert found.auc == 0.5
    assert placement_auc(np.array([0.6, 0.2]), np.array([0.4, 0.3]))[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("case", CASES)
def test_golden(shared, case):
    pair, options, expected = golden_pair(shared, case)
    close(nnaa(pair, **options).details, expected["nnaa"])
    attack = domias(pair, **options)
    close(attack.details["domias_count"], expected["domias_count"])
    close(attack.details, expected["domias_count"])


def test_leaky_release_is_seen_and_honest_one_is_not(shared):
    """spec: the leaky release gives the k-neighbour score an AUC of .647 and 27.6 % of members at 1 % false alarms."""
    leaky, _, _ = golden_pair(shared, "release_leaky")
    found = domias(leaky)
    assert found.value == pytest.approx(0.647, abs=0.01)
    assert found.details["tpr_at_fpr_1pct"] == pytest.approx(0.276, abs=0.03)
    assert {attack(leaky).verdict for attack in ATTACKS} == {"fail"}
    honest, _, _ = golden_pair(shared, "release_ctgan")
    assert all(attack(honest).verdict != "fail" for attack in ATTACKS)


@pytest.mark.parametrize("sizes", [(500, 500), (700, 350)])
def test_copy_is_the_worst(sizes):
    original, holdout = people(sizes[0], 1), people(sizes[1], 2)
    pair = Pair(original, original.sample(fraction=1, shuffle=True, seed=3), holdout=holdout)
    density = domias(pair)
    assert density.value == 1.0
    assert density.details["tpr_at_fpr_1pct"] == 1.0
    assert density.details["advantage"] == 1.0
    loss = nnaa(pair)
    assert loss.details["train"]["aa"] == pytest.approx(0, abs=1e-9) or sizes[0] != sizes[1]
    assert loss.value > 0.3
    assert loss.details["auc"] == 1.0
    classifier = membership_classifier(pair, trees=100)
    assert classifier.value > 0.9
    assert {r.verdict for r in (density, loss, classifier)} == {"fail"}


def test_no_leak_no_excess():
    original, holdout, released = people(800, 1), people(400, 2), people(800, 3)
    pair = Pair(original, released, holdout=holdout)
    for attack in ATTACKS:
        result = attack(pair)
        assert result.verdict != "fail", attack.name
        assert result.value - result.baseline < 0.06, attack.name
        assert result.details["detectable_share"] < 0.15
        assert "chance gives as much in" in result.sentence


@pytest.mark.parametrize("density", ["knn", "kde", "count"])
def test_densities_find_copies(density):
    original, holdout = people(400, 1), people(400, 2)
    released = pl.concat([original.head(120), people(280, 3)])
    result = domias(Pair(original, released, holdout=holdout), density=density, radius=0.01)
    assert result.value > 0.54
    assert result.verdict in ("warn", "fail")
    assert result.details["density"] == density


def test_without_holdout_says_how_to_get_one():
    pair = Pair(people(50, 1), people(50, 2))
    for attack in ATTACKS:
        result = attack(pair)
        assert result.status == "not_applicable"
        assert "before" in result.reason


def test_holdout_taken_from_the_original_is_refused():
    original = people(400, 1)
    for attack in ATTACKS:
        result = attack(Pair(original, people(400, 3), holdout=original.head(150)))
        assert result.status == "not_applicable", attack.name
        assert "members and not a holdout" in result.reason


def test_rates_that_the_holdout_cannot_show_are_none():
    result = domias(Pair(people(90, 1), people(90, 3), holdout=people(90, 2)))
    assert result.details["tpr_at_fpr_1pct"] is None
    assert any("needs 100 holdout records" in w for w in result.warnings)
    # members are still found at the smallest rate there is: one holdout person of 90
    assert result.counts.control_successes == 1 and result.exposure.strangers == pytest.approx(1 / 90)
    assert result.record_arrays()["exposed"].sum() == result.counts.successes


def test_records_point_at_the_copied_people():
    original, holdout = people(300, 1), people(300, 2)
    released = pl.concat([original.head(60), people(240, 3)])
    for attack in (domias, nnaa):
        result = attack(Pair(original, released, holdout=holdout))
        assert len(result.records) == 300
        exposed = result.record_arrays()["exposed"]
        assert exposed[:60].mean() > 0.9 > 0.1 > exposed[60:].mean()
        assert set(result.top(30)["row"].to_list()) <= set(range(60))


def test_unequal_sizes_agree_with_drawing_subsets():
    """The exact expectation over equal-size subsets equals the mean over many drawn ones."""
    from glasshouse.disclosure.membership.nnaa import _drawn_sides, _expected_side
    from glasshouse.engines.neighbours.gower import gower_space

    pair = Pair(people(240, 1), pl.concat([people(240, 1).head(60), people(140, 3)]), holdout=people(100, 2))
    space = gower_space(pair)
    train, held, _ = _drawn_sides(space, space.encoded.ids, 100, 120, 0, None)
    assert _expected_side(space, "original", 100, None).aa_mid == pytest.approx(train.aa_mid, abs=0.015)
    assert _expected_side(space, "holdout", 100, None).aa_mid == pytest.approx(held.aa_mid, abs=0.015)


def test_far_larger_tables_are_drawn():
    pair = Pair(people(1500, 1), people(1500, 3), holdout=people(100, 2))
    result = nnaa(pair, draws=5)
    assert abs(result.value) < 0.15
    assert "sd_over_draws" in result.details
    assert any("random subsets" in w for w in result.warnings)


def test_separation_figures():
    rng = np.random.default_rng(0)
    members, others = rng.normal(0.5, 1, 4000), rng.normal(0, 1, 4000)
    found = separate(members, others, 0.95)
    wins = (members[:, None] > others[None, :]).mean()
    assert found.auc == pytest.approx(wins, abs=1e-9)
    assert found.interval[0] < wins < found.interval[1]
    few = found.at[0.01]
    assert few is not None and few.tpr == pytest.approx((members > np.sort(others)[-41]).mean())
    assert found.p < 1e-10
    curve = roc(members, others)
    assert len(curve["fpr"]) <= 402
    assert (np.diff(curve["fpr"]) >= 0).all()
    assert (np.diff(curve["tpr"]) >= 0).all()


def test_null_distribution_is_calibrated():
    """Under no leak the p-values are uniform: about 5 % below .05 and 50 % below .5."""
    ps = []
    for seed in range(80):
        everybody = people(360, 1000 + seed)
        parts = everybody.head(120), everybody.tail(120)
        result = domias(Pair(parts[0], parts[1], holdout=everybody.slice(120, 120)), counts=False)
        ps.append(result.details["p_label_swap"])
    assert np.mean(np.array(ps) < 0.05) < 0.14
    assert 0.3 < np.mean(np.array(ps) < 0.5) < 0.7


def test_odd_tables_and_row_order():
    odd = [
        people(150, s).with_columns(pl.lit(1).alias("constant"), pl.lit(None, pl.Float64).alias("empty"))
        for s in (1, 3, 2)
    ]
    pair = Pair(odd[0], odd[1], holdout=odd[2])
    mixed = Pair(odd[0], odd[1], holdout=odd[2].sample(fraction=1, shuffle=True, seed=4))
    for attack in (domias, nnaa):
        assert attack(pair).value == pytest.approx(attack(mixed).value, abs=1e-12)
    assert membership_classifier(pair, trees=50).status == "ok"
    assert domias(Pair(odd[0].head(1), odd[1], holdout=odd[2])).status == "not_applicable"


def test_any_estimator_can_be_the_attacker():
    from sklearn.linear_model import LogisticRegression

    pair = Pair(
        *(people(200, s).select("income", "age", "region") for s in (1, 3)), holdout=people(200, 2).drop("since")
    )
    result = membership_classifier(pair, attacker=LogisticRegression(max_iter=200))
    assert result.details["attacker"] == "LogisticRegression"
    assert 0.3 < result.value < 0.7


def test_bad_options_are_refused():
    pair = Pair(people(50, 1), people(50, 3), holdout=people(50, 2))
    for call in (
        lambda: domias(pair, density="gan"),
        lambda: domias(pair, k=0),
        lambda: domias(pair, density="count", radius=2),
        lambda: domias(pair, missing="drop"),
        lambda: membership_classifier(pair, folds=1),
    ):
        with pytest.raises(InputError):
            call()


def test_roc_charts():
    pair = Pair(people(300, 1), people(300, 3), holdout=people(300, 2))
    for attack in (domias, nnaa):
        content = attack(pair).plot().to_dict()
        assert "hconcat" in content


def test_seeds_are_checked_even_where_nothing_is_drawn():
    draw = np.random.default_rng(1)
    tables = [pl.DataFrame({"x": draw.normal(size=30), "y": draw.normal(size=30)}) for _ in range(3)]
    pair = Pair(tables[0], tables[1], holdout=tables[2])
    for wrong in ("x", 1.5, [1]):
        with pytest.raises(InputError, match="random_state must be a whole number"):
            nnaa(pair, random_state=wrong)
    assert nnaa(pair, random_state=np.int64(3)).status == "ok"
    said = nnaa(pair).sentence
    assert " points more often" in said or " points less often" in said


def test_folds_are_dealt_jointly_so_that_coarse_data_have_no_bias():
    """Dealt per table, a holdout record met a model that never saw its twin: AUC 0.2 for clean releases."""
    rng = np.random.default_rng(0)

    def coarse(n):
        return pl.DataFrame({c: rng.choice(["a", "b", "c"], n) for c in "xyz"})

    found = [
        membership_classifier(Pair(coarse(300), coarse(300), holdout=coarse(300)), trees=30).value for _ in range(6)
    ]
    assert abs(np.mean(found) - 0.5) < 0.04
    original, holdout = coarse(300), coarse(300)
    assert membership_classifier(Pair(original, original, holdout=holdout), trees=30).value > 0.49


def test_folds_keep_clusters_together():
    from glasshouse.disclosure.membership.classifier import _deal

    table = pl.DataFrame({"x": np.arange(40) % 7, "hh": np.arange(40) // 4})
    pair = Pair(table[:20], table[:20], holdout=table[20:], cluster="hh", schema={"x": "categorical"})
    fold = _deal(pair, ["x"], {"original": np.arange(20), "holdout": np.arange(20, 40)}, 3, 0)
    for name, part in (("original", table[:20]), ("holdout", table[20:])):
        assert all(len(set(fold[name][(part["hh"] == h).to_numpy()])) == 1 for h in part["hh"].unique())


@pytest.mark.parametrize("measure", [domias, nnaa, membership_classifier])
def test_clusters_are_exchanged_whole_and_counted_as_people(measure):
    """Every record four times: taken singly p would be far too small."""
    tables = [pl.concat([people(60, seed)] * 4).with_columns(hh=pl.Series(np.tile(np.arange(60), 4) + 100 * seed))
              for seed in (1, 2, 3)]  # fmt: skip
    whole = measure(Pair(tables[0], tables[1], holdout=tables[2], cluster="hh"))
    apart = measure(*(t.drop("hh") for t in tables[:2]), holdout=tables[2].drop("hh"))
    assert (whole.exposure.members, apart.exposure.members) == (60, 240)
    # clusters never sharpen what only repeats itself
    both = [abs(found.details["p_label_swap"] - 0.5) for found in (whole, apart)]
    assert both[0] <= both[1] + 0.1 and whole.details["p_found"] >= apart.details["p_found"] - 0.1
    assert whole.p_value > 0.001


def test_the_order_of_rows_does_not_choose_between_records_equally_near() -> None:
    """Somebody half-way between two released records is judged by the same one in any order of the rows."""
    rng = np.random.default_rng(0)

    def table(n: int) -> pl.DataFrame:
        gaps = [pl.when(pl.Series(rng.random(n) < 0.2)).then(None).otherwise(pl.col(c)).alias(c) for c in "xy"]
        made = pl.DataFrame(
            {"x": rng.normal(size=n).round(1), "y": rng.normal(size=n), "c": rng.choice(list("abc"), n)}
        )
        return made.with_columns(gaps)

    tables = [table(300) for _ in range(3)]
    moved = [t[rng.permutation(300)] for t in tables]
    one, other = (domias(a, b, holdout=c).interval for a, b, c in (tables, moved))
    assert one == pytest.approx(other, rel=1e-10)


def test_with_few_people_the_answer_hangs_less_on_the_seed():
    """Scores of several deals into folds are averaged: the p value of clean data is steadier than that of one deal."""
    rng = np.random.default_rng(4)
    tables = [pl.DataFrame(rng.normal(size=(80, 5)), schema=list("abcde")) for _ in range(3)]
    pair = Pair(tables[0], tables[1], holdout=tables[2])

    def spread() -> float:
        found = [membership_classifier(pair, trees=40, random_state=seed).p_value for seed in range(6)]
        return float(np.std(np.log(found)))

    steady = spread()
    assert membership_classifier(pair, trees=5).details["deals"] == 13
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classifier, "MOST_DEALS", 1)
        assert steady < 0.7 * spread()
