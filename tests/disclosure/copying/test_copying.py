"""Copying checks: hand examples, golden values, exact copies at any sample size, odd tables."""

from __future__ import annotations

import datetime
import json

import numpy as np
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.copying.closeness import expected_hits, label_null, surplus
from glasshouse.disclosure.copying.distance import dcr
from glasshouse.disclosure.copying.drisk import drisk
from glasshouse.disclosure.copying.forest import forest_proximity
from glasshouse.disclosure.copying.hitting import hitting_rate
from glasshouse.disclosure.copying.identical import identical
from glasshouse.disclosure.copying.identifiability import epsilon_identifiability
from glasshouse.disclosure.copying.nndr import nndr, suspicious_chance
from glasshouse.engines.exchange import exchange, exchange_scores

SIMILARITY = (identical, dcr, nndr, hitting_rate, drisk, epsilon_identifiability, forest_proximity)
COARSE = ["age", "education", "marital", "occupation", "race", "sex", "hr_per_week", "income"]
CASES = [
    "release_ctgan", "release_leaky", "release_ctgan/coarse8", "release_leaky/coarse8",
    "release_na/ignore", "release_na/match", "release_na/mismatch", "release_na/level",
]  # fmt: skip


@pytest.fixture(scope="module")
def hand():
    """spec: one number with range 10, T = {1, 5}, H = {2, 9}, S = {1, 4, 8, 7}; two far records set the range."""
    values = {"T": [1.0, 5], "H": [2.0, 9], "S": [1.0, 4, 8, 7]}
    return {name: pl.DataFrame({"x": v}) for name, v in values.items()}


def scaled_to_ten(hand):
    """The hand example has range 10 by decree; dividing by the true range 8 scales every distance by 10 / 8."""
    return Pair(hand["T"], hand["S"], holdout=hand["H"], schema={"x": "numeric"})


def test_dcr_hand_example(hand):
    result = dcr(scaled_to_ten(hand))
    assert result.details["share_strict"] == 0.5
    assert result.details["share_tie"] == 0.25
    assert result.value == result.details["share_mid"] == 0.625
    assert result.details["share_frac"] == 0.625
    assert result.details["ratio"] == pytest.approx(1)
    assert result.details["null_sd_exact"] == pytest.approx(0.17677669529663687)
    assert result.details["null_z"] == pytest.approx(0.7071067811865475)
    assert result.baseline == 0.5


def test_nndr_and_hitting_rate_hand_example(hand):
    pair = scaled_to_ten(hand)
    ratios = nndr(pair)
    assert ratios.details["n_suspicious_lt_0_1"] == 1
    assert ratios.details["mean_train"] == pytest.approx((0 + 1 / 3 + 3 / 7 + 1 / 3) / 4)
    for tau, expected in ((0.05, 0.25), (0.1, 0.5), (0.2, 0.75)):
        assert hitting_rate(pair, threshold=tau * 10 / 8).value == expected
    assert identical(pair).details["ims"] == 0.25
    assert identical(pair).details["repu"] == 0.25
    assert identical(pair).details["ims_holdout"] == 0


def test_drisk_hand_example():
    original = pl.DataFrame({"x": [0.0, 10, 20, 30, 40]})
    released = pl.DataFrame({"x": [10.05, 25.0]})
    result = drisk(Pair(original, released, schema={"x": "numeric"}))
    assert result.details["half_widths"]["x"] == pytest.approx(0.01 * 20 / 10 ** (1 / 3))
    assert result.value == 0.2
    assert result.records["at_risk"].to_list() == [False, True, False, False, False]


def test_tables_hand_example_ims():
    """spec tables 5: IMS on (q, t) 4/7, originals copied 4/8, copied uniques 2/7 (2 of 4)."""
    original = pl.DataFrame({"q": list("AAABCDEE"), "t": ["t1", "t1", "t2", "t1", "t2", "t1", "t2", "t2"]})
    released = pl.DataFrame({"q": list("AABCCDF"), "t": ["t1", "t1", "t1", "t1", "t2", "t2", "t1"]})
    details = identical(Pair(original, released)).details
    assert details["ims"] == pytest.approx(4 / 7)
    assert details["share_original_copied"] == 4 / 8
    assert (details["repu_n"], details["n_unique_copied"], details["n_unique_original"]) == (2, 2, 4)


def close(found, expected, path=""):
    if isinstance(expected, dict):
        for key, value in expected.items():
            close(found[key], value, f"{path}/{key}")
    elif isinstance(expected, list):
        assert list(found) == expected, path
    elif "wilcoxon_p" in path or "null_p" in path:
        assert found == pytest.approx(expected, rel=1e-6), path
    else:
        assert found == pytest.approx(expected, abs=1e-9), path


def golden_pair(shared, case):
    folder = shared / "golden" / "distance"
    suffix = "_na" if case.startswith("release_na") else ""
    names = {"original": f"original{suffix}", "released": case.split("/")[0], "holdout": f"holdout{suffix}"}
    tables = {role: pl.read_csv(folder / f"{name}.csv") for role, name in names.items()}
    expected = json.loads((folder / "expected.json").read_text())[case]
    options = {
        "columns": COARSE if case.endswith("coarse8") else None,
        "missing": case.split("/")[1] if suffix else "level",
    }
    return Pair(**tables), options, expected


@pytest.mark.parametrize("case", CASES)
def test_golden_distances(shared, case):
    pair, options, expected = golden_pair(shared, case)
    closest = dcr(pair, **options)
    close(closest.details, expected["dcr"])
    close(closest.details["ranges"], expected["ranges"])
    assert closest.value == pytest.approx(expected["dcr"]["share_mid"], abs=1e-12)
    close(nndr(pair, **options).details, expected["nndr"])
    hits = hitting_rate(pair, **options).details
    close(hits["hitting_rate"], expected["hitting_rate"])
    close(hits["hitting_rate_holdout"], expected["hitting_rate_holdout"])
    if "ims" in expected:
        close(identical(pair, **options).details, expected["ims"])
    if "drisk" in expected:
        close(drisk(pair, columns=expected["drisk"]["vars"]).details, expected["drisk"])


@pytest.mark.parametrize("release", ["release_ctgan", "release_leaky"])
def test_golden_records(shared, release):
    folder = shared / "golden" / "distance"
    expected = pl.read_csv(folder / "per_record.csv").filter(pl.col("release") == release)
    pair, _, _ = golden_pair(shared, release)
    from glasshouse.engines.neighbours.gower import gower_space

    space = gower_space(pair)
    for table, name in (("original", "dcr_train"), ("holdout", "dcr_holdout")):
        found = space.nearest("released", table).distance[:, 0]
        np.testing.assert_allclose(found, expected[name].to_numpy(), atol=1e-9)


def people(n, seed, twins=False):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({
        "income": rng.lognormal(10, 1, n).round(2),
        "age": rng.integers(18, 90, n),
        "region": rng.choice(list("abcdefgh"), n),
        "member": rng.random(n) < 0.3,
        "since": [datetime.date(2000, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 8000, n)],
    })  # fmt: skip
    return pl.concat([frame, frame.head(n // 10)]) if twins else frame


@pytest.mark.parametrize("queries", [None, 300, 100, 50, 1])
def test_exact_copy_scores_the_worst_at_any_query_size(queries):
    """Thinning the reference side lets a complete copy look protected; here only the query side may be thinned."""
    original, holdout = people(600, 1), people(600, 2)
    pair = Pair(original, original.sample(fraction=1, shuffle=True, seed=3), holdout=holdout)
    for check in (dcr, nndr, hitting_rate):
        result = check(pair, queries=queries, random_state=5)
        assert result.value == 1.0, check.name
        if queries is None or queries >= 50:
            assert result.verdict == "fail", check.name
        assert bool(result.warnings) == (queries is not None)
    if queries is None:
        assert all(check(pair).value == 1.0 for check in SIMILARITY)
        assert all(check(pair).verdict == "fail" for check in SIMILARITY)


def test_other_half_of_the_population_scores_no_excess():
    original, holdout, released = people(1500, 1), people(700, 2), people(1500, 3)
    pair = Pair(original, released, holdout=holdout)
    for check in SIMILARITY:
        result = check(pair)
        assert result.verdict != "fail", (check.name, result.value, result.baseline)
        assert result.excess is None or result.excess < 0.08, check.name
        assert "private" not in result.sentence
        assert "no evidence" in result.sentence


def test_planted_copies_never_lower_a_risk():
    original, holdout, released = people(500, 1), people(500, 2), people(500, 3)
    before = dict.fromkeys((c.name for c in SIMILARITY), -1.0)
    for planted in (0, 50, 150, 400):
        pair = Pair(original, pl.concat([original.head(planted), released.tail(500 - planted)]), holdout=holdout)
        for check in SIMILARITY:
            value = check(pair).value
            assert value >= before[check.name] - 0.01, check.name
            before[check.name] = value


def test_unequal_sizes_keep_the_expectation():
    """Three times as many originals as holdout records: the expected share is 3/4 and coarse ties do not move it."""
    rng = np.random.default_rng(7)
    draw = lambda n: pl.DataFrame({"a": rng.integers(0, 4, n).astype(str), "b": rng.integers(0, 5, n).astype(str)})  # noqa: E731
    pair = Pair(draw(3000), draw(2000), holdout=draw(1000))
    result = dcr(pair)
    assert result.baseline == 0.75
    assert result.value == pytest.approx(0.75, abs=0.02)
    hits = hitting_rate(pair)
    assert abs(hits.excess) < 0.02


def test_expected_hits_is_the_mean_over_subsets():
    rng = np.random.default_rng(0)
    hit = rng.random((40, 30)) < 0.05
    drawn = [hit[:, rng.choice(30, 12, replace=False)].any(axis=1).mean() for _ in range(4000)]
    assert expected_hits(hit.sum(axis=1), 30, 12) == pytest.approx(np.mean(drawn), abs=0.004)


def test_suspicious_chance_is_the_mean_over_subsets():
    rng = np.random.default_rng(0)
    distance = np.sort(rng.random((30, 20)) ** 3, axis=1)
    drawn = []
    for _ in range(3000):
        cut = np.sort(rng.permuted(distance, axis=1)[:, :9], axis=1)
        drawn.append((cut[:, 0] / cut[:, 1] < 0.1).mean())
    assert suspicious_chance(distance, 20, 9, 0.1).mean() == pytest.approx(np.mean(drawn), abs=0.005)


def test_label_null_matches_permutations():
    """The closed-form standard deviation equals that of really swapping labels."""
    rng = np.random.default_rng(4)
    pool = np.round(rng.normal(size=(300, 2)), 1)
    released = pl.DataFrame(np.round(rng.normal(size=(200, 2)), 1), schema=["a", "b"])
    shares = []
    for seed in range(60):
        order = np.random.default_rng(seed).permutation(300)
        tables = [pl.DataFrame(pool[part], schema=["a", "b"]) for part in (order[:100], order[100:])]
        result = dcr(Pair(tables[0], released, holdout=tables[1], schema={"a": "numeric", "b": "numeric"}))
        shares.append(result.details["share_frac"])
    assert np.mean(shares) == pytest.approx(1 / 3, abs=0.02)
    assert np.std(shares) == pytest.approx(result.details["null_sd_exact"], rel=0.3)


def test_without_holdout_says_what_is_lost():
    original = people(200, 1)
    pair = Pair(original, people(200, 3))
    share = dcr(pair)
    assert share.status == "not_applicable"
    assert "before synthesis" in share.reason
    assert share.details["mean_train"] > 0
    for check in (nndr, hitting_rate, identical):
        result = check(pair)
        assert result.status == "ok"
        assert any("no holdout" in w for w in result.warnings)
    copy = identical(Pair(original, original))
    assert (copy.value, copy.baseline, copy.verdict) == (1.0, 0.0, "fail")


def test_copy_of_duplicated_records_is_still_a_copy():
    original = people(300, 1, twins=True)
    pair = Pair(original, original, holdout=people(300, 2))
    assert nndr(pair).value == 1.0
    assert identical(pair).details["ims_self"] == pytest.approx(60 / 330)


def test_odd_tables_have_answers():
    original, holdout, released = people(120, 1), people(120, 2), people(120, 3)
    odd = [
        t.with_columns(
            pl.lit(1).alias("constant"), pl.lit(None, pl.Float64).alias("empty"),
            pl.Series("code", [f"c{i * 37 % 5000}" for i in range(t.height)]),
        )
        for t in (original, released, holdout)
    ]  # fmt: skip
    pair = Pair(
        odd[0].with_columns(pl.lit("x").alias("only_here")), odd[1], holdout=odd[2], schema={"code": "categorical"}
    )
    for check in SIMILARITY:
        result = check(pair)
        assert result.status == "ok", (check.name, result.reason)
        assert 0 <= result.value <= 1
        assert "only_here" not in result.details.get("columns", [])


def test_one_row_tables():
    row = people(1, 1)
    other = people(1, 2)
    pair = Pair(row, row, holdout=other)
    assert dcr(pair).value == 1.0
    assert hitting_rate(pair).value == 1.0
    assert identical(pair).value == 1.0
    assert nndr(pair).status == "not_applicable"
    assert epsilon_identifiability(pair).status == "not_applicable"


@pytest.mark.parametrize("rule", ["level", "ignore", "match", "mismatch"])
def test_missing_rules_agree_on_complete_data(rule):
    pair = Pair(people(150, 1), people(150, 3), holdout=people(150, 2))
    for check in (dcr, nndr, hitting_rate, identical, drisk, epsilon_identifiability):
        assert check(pair, missing=rule).value == check(pair).value


def test_drisk_missing_rules():
    original = pl.DataFrame({"x": [1.0, None, 5.0], "y": [1.0, 2.0, None]})
    released = pl.DataFrame({"x": [1.0, None], "y": [1.0, 2.0]})
    schema = {"x": "numeric", "y": "numeric"}
    expected = {"level": [1, 1, 0], "mismatch": [1, 0, 0], "match": [1, 1, 1], "ignore": [1, 1, 0]}
    for rule, flags in expected.items():
        found = drisk(Pair(original, released, schema=schema), missing=rule)
        assert found.records["at_risk"].cast(int).to_list() == flags, rule


def test_drisk_aligned_and_saturation():
    rng = np.random.default_rng(1)
    original = pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"])
    masked = original + pl.DataFrame(rng.normal(scale=0.01, size=(400, 3)), schema=["a", "b", "c"])
    result = drisk(Pair(original, masked, row_paired=True))
    assert result.details["aligned"] > 0.95
    assert any("saturated" in w for w in result.warnings)
    assert result.details["rmd_classical"] == 1.0


def test_round_digits_makes_close_floats_equal():
    original = pl.DataFrame({"x": [0.1, 0.2, 0.3], "g": ["a", "b", "c"]})
    released = pl.DataFrame({"x": [0.1 + 1e-9, 0.2, 0.35], "g": ["a", "b", "c"]})
    pair = Pair(original, released)
    assert identical(pair).value == pytest.approx(1 / 3)
    assert identical(pair, round_digits=6).value == pytest.approx(2 / 3)


def test_epsilon_identifiability_hand_example():
    """Original 0, 4, 10: distances to the next original 4, 4, 6; release at 1 and 10: 1, 3, 0. All closer."""
    original, released = pl.DataFrame({"x": [0.0, 4, 10]}), pl.DataFrame({"x": [1.0, 10]})
    schema = {"x": "numeric"}
    assert epsilon_identifiability(Pair(original, released, schema=schema)).value == 1.0
    far = pl.DataFrame({"x": [5.0, 5.0]})
    result = epsilon_identifiability(Pair(original, far, schema=schema))
    assert result.value == pytest.approx(2 / 3)
    assert result.details["close_record_share"] == 0.0


def test_bad_options_are_refused():
    pair = Pair(people(20, 1), people(20, 2))
    for call in (
        lambda: dcr(pair, missing="drop"),
        lambda: dcr(pair, columns=["nope"]),
        lambda: dcr(pair, queries=0),
        lambda: dcr(pair, colums=["age"]),
        lambda: nndr(pair, threshold=0),
        lambda: hitting_rate(pair, threshold=1.5),
        lambda: identical(pair, near=2),
        lambda: identical(pair, columns=["nope"]),
        lambda: epsilon_identifiability(pair, columns=["nope"]),
        lambda: forest_proximity(pair, columns=["nope"]),
        lambda: drisk(pair, columns=["region"]),
        lambda: drisk(pair, outlier_par=0),
        lambda: drisk(pair, outlier_par=float("inf")),
        lambda: epsilon_identifiability(pair, epsilon=1),
    ):
        with pytest.raises(InputError):
            call()


def test_results_do_not_depend_on_row_order_or_threads():
    original, holdout, released = people(300, 1), people(200, 2), people(250, 3)
    pair = Pair(original, released, holdout=holdout)
    mixed = Pair(*(t.sample(fraction=1, shuffle=True, seed=9) for t in (original, released)), holdout=holdout)
    for check in (dcr, nndr, hitting_rate, identical, drisk, epsilon_identifiability):
        assert check(pair).value == pytest.approx(check(mixed).value, abs=1e-12)
    assert dcr(pair, n_jobs=1).details == dcr(Pair(original, released, holdout=holdout), n_jobs=2).details


def test_charts_show_aggregates_only():
    original, holdout, released = people(300, 1), people(200, 2), people(250, 3)
    for pair in (Pair(original, released, holdout=holdout), Pair(original, released)):
        for check in (dcr, nndr, hitting_rate, identical):
            result = check(pair)
            if result.status == "ok":
                content = json.dumps(result.plot().to_dict())
                assert len(content) < 60_000
                assert "abcdefgh" not in content


def test_box_hit_rate_hand_example():
    """Range 30, box 1/30: one year either side and the same region."""
    original = pl.DataFrame({"age": [20.0, 30, 50], "region": ["a", "b", "a"]})
    released = pl.DataFrame({"age": [21.0, 30, 48], "region": ["a", "a", "a"]})
    pair = Pair(original, released, schema={"age": "numeric"})
    assert hitting_rate(pair, box=1 / 30).details["box_hit_rate"] == pytest.approx(1 / 3)
    with pytest.raises(InputError):
        hitting_rate(pair, box=2)


# -- sampling error, no holdout, degenerate tables, names and wording ------------------------------------------------


def folk(n, seed):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, n),
            "sex": draw.choice(["f", "m"], n),
            "inc": np.round(draw.lognormal(10, 0.5, n), 0),
            "job": draw.choice(list("abcde"), n),
        }
    )


def coarse_folk(n, seed):
    draw = np.random.default_rng(seed)
    return pl.DataFrame({"a": draw.integers(0, 14, n), "b": draw.integers(0, 6, n), "s": draw.choice(["f", "m"], n)})


@pytest.mark.parametrize("make", [folk, coarse_folk])
def test_fresh_people_do_not_fail(make):
    fails = dict.fromkeys([m.name for m in (identical, nndr, drisk, epsilon_identifiability, dcr)], 0)
    for seed in range(1000, 1060, 3):
        pair = Pair(make(200, seed), make(200, seed + 1), holdout=make(200 if seed % 2 else 100, seed + 2))
        for measure in (identical, nndr, drisk, epsilon_identifiability, dcr):
            fails[measure.name] += measure(pair).verdict == "fail"
    assert max(fails.values()) <= 1, fails


@pytest.mark.parametrize("check", SIMILARITY)
def test_exchanged_labels_decide_whatever_the_size_of_the_difference(check):
    for p, verdict in ((0.2, "pass"), (0.03, "warn"), (0.004, "fail")):
        for difference in (0.001, 0.9):
            found = Result(0.5, difference=difference, p_value=p, holdout=0.1).with_limits(*check.limits)
            assert found.verdict == verdict


def test_luck_is_no_leak():
    # 0.725 of 200 originals against 0.655 of 200 holdout people, and 0.9825 against 0.98
    for members, strangers in ((145, 131), (393, 392)):
        n = 200 if members < 200 else 400
        tested = exchange(np.arange(n) < members, np.arange(n) < strangers)
        assert tested.p > 0.05 and tested.interval[0] < 0 < tested.interval[1]
    # Fisher: 3 of 3 against 0 of 3 has one chance in 20
    assert exchange(np.ones(3, bool), np.zeros(3, bool)).p == pytest.approx(1 / 20)


def test_records_of_one_cluster_count_as_one():
    """Hub weights of 20 households of four: dealt singly they would look like a leak, dealt whole they are luck."""
    draw = np.random.default_rng(3)
    own = np.repeat(draw.poisson(1.0, 20).astype(float), 4)
    weights = (own[:40] + 0.5, own[40:])
    clusters = (np.repeat(np.arange(10), 4), np.repeat(np.arange(10, 20), 4))
    assert exchange_scores(*weights).p < exchange_scores(*weights, clusters=clusters).p
    whole, single = label_null(weights, clusters), label_null(weights)
    assert whole.share == single.share and whole.sd > 1.5 * single.sd
    assert whole.effective_n < single.effective_n
    # a weight of a single hub is not normal: half of all deals give it to the original
    hub = np.zeros(50)
    hub[0] = 30.0
    assert exchange_scores(hub, np.zeros(50)).p == pytest.approx(0.5, abs=0.05)


def test_planted_copies_still_fail():
    original = folk(300, 1)
    leaky = pl.concat([folk(240, 2), original[:60]])
    pair = Pair(original, leaky, holdout=folk(300, 3))
    for measure in (identical, nndr, drisk, dcr):
        assert measure(pair).verdict == "fail", measure.name
    whole = Pair(original, original, holdout=folk(300, 3))
    assert epsilon_identifiability(whole).verdict == "fail"
    assert "p < 0.0001" in drisk(whole).sentence
    assert "p = 0)" not in "".join(m(whole).sentence for m in SIMILARITY)


def test_one_release_record_proves_nothing():
    original = folk(200, 1)
    for released in (folk(1, 2), original[:1]):
        for measure in (hitting_rate, nndr, identical):
            assert measure(original, released).verdict != "fail", measure.name
    assert surplus(1, 1, 0.0) < 0.05 < 0.10 < surplus(90, 100, 0.2)
    assert "1 of 1 release record (100.00 %) equals an original" in identical(original, original[:1]).sentence


def test_drisk_without_a_holdout_fails_only_beyond_doubt():
    original = folk(200, 1)
    copy = drisk(original, original)
    assert copy.verdict == "fail"
    assert copy.baseline is None
    assert copy.details["interval_self"] < 0.1
    assert "even without a holdout" in copy.sentence
    assert drisk(original, folk(200, 2)).verdict is None
    # coarse values meet by chance, the more so in a large release
    assert drisk(coarse_folk(200, 1), coarse_folk(200, 1)).verdict is None
    assert drisk(coarse_folk(60, 1), coarse_folk(6000, 2)).verdict is None


def test_constant_and_infinite_numbers():
    original, released = folk(60, 1), folk(60, 2)
    flat = [pl.lit(1).alias("age"), pl.lit(1.0).alias("inc")]
    constant = drisk(original.with_columns(flat), released.with_columns(flat))
    assert constant.value == 1
    assert constant.verdict is None
    assert any("constant" in note for note in constant.warnings)
    one_point = original.with_columns(
        age=pl.when(pl.int_range(60) < 50).then(40).otherwise("age"),
        inc=pl.when(pl.int_range(60) < 50).then(100.0).otherwise("inc"),
    )
    assert drisk(one_point, released).status == "ok"
    endless = original.with_columns(inc=pl.when(pl.int_range(60) < 2).then(float("inf")).otherwise("inc"))
    for measure in (drisk, epsilon_identifiability, dcr):
        with pytest.raises(InputError, match=r"column 'inc' has 2 infinite values"):
            measure(endless, released)
    same = identical(endless, endless)
    assert same.value == 1
    assert same.verdict == "fail"
    assert any("infinite" in note for note in same.warnings)


def test_golden_names_of_identical(golden):
    expected = json.loads((golden / "tables_hand" / "expected.json").read_text())["expected"]
    tables = [pl.read_csv(golden / "tables_hand" / f"{t}.csv") for t in ("original", "released")]
    details = identical(*tables).details
    for found, block in ((details, expected["ims"]), (details["riskutility_repu"], expected["riskutility_repu"])):
        for name, value in block.items():
            assert found[name] == pytest.approx(value / 100 if name.startswith("pct") else value), name


def test_the_robust_covariance_of_many_people_says_whom_it_comes_from(monkeypatch):
    from glasshouse.disclosure.copying import mahalanobis

    rng = np.random.default_rng(0)
    tables = [pl.DataFrame(rng.normal(size=(n, 3)), schema=["a", "b", "c"]) for n in (900, 900, 400)]
    pair = Pair(tables[0], tables[1], holdout=tables[2])
    whole = drisk(pair)
    monkeypatch.setattr(mahalanobis, "ROBUST", 300)
    part = drisk(pair)
    turned = drisk(Pair(tables[0].reverse(), tables[1], holdout=tables[2]))
    assert not any("robust covariance comes from" in note for note in whole.warnings)
    assert any("300 of 900 complete originals" in note for note in part.warnings)
    assert part.value == whole.value and part.details["rmd_robust"] == pytest.approx(
        whole.details["rmd_robust"], abs=0.1
    )
    assert turned.details["min_rmd_robust_mean"] == pytest.approx(part.details["min_rmd_robust_mean"], rel=1e-12)


@pytest.mark.parametrize("n", [1500, 10_500])
def test_the_robust_distances_of_drisk_know_no_order_of_rows_or_columns(n: int) -> None:
    rng = np.random.default_rng(1)
    trait = rng.normal(size=n + 60)
    table = pl.DataFrame({"v": trait + 0.1 * rng.normal(size=n + 60), "u": rng.integers(0, 50, n + 60)})
    original, released = table[:n], table[n:]
    shuffled = original[rng.permutation(n)]
    tables = (original, shuffled, shuffled.select("u", "v"))
    details = [drisk(Pair(one, released)).details for one in tables]
    for other in details[1:]:
        assert other["half_widths"] == pytest.approx(details[0]["half_widths"])
        for name in ("min_rmd_robust_mean", "min_rmd_robust_median", "min_rmd_robust_max"):
            assert other[name] == pytest.approx(details[0][name], rel=1e-8)
