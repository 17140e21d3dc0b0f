"""Attribution against synthpop's own output, the paper's tables, and the hand-computed example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.data.files import read

KEYS = ["sex", "age", "region", "placesize"]
SHARES = {"max_denom", "mean_denom"}


@pytest.fixture(scope="module")
def sd2011(shared: Path) -> dict[str, Any]:
    folder = shared / "golden" / "synthpop"
    files = {name: read(folder / f"sd2011_{name}.csv.gz") for name in ("orig", "train", "control", "train_syn")}
    return {**files, "syn": [read(folder / f"sd2011_syn{i}.csv.gz") for i in range(1, 6)]}


@pytest.fixture(scope="module")
def adult(shared: Path) -> dict[str, Any]:
    folder = shared / "data" / "adult"
    return {
        "orig": read(folder / "adult_train.csv.gz"),
        "syn": [read(folder / f"adult_syn_cart_{i}.csv.gz") for i in range(1, 6)],
    }


def cases(file: str, function: str) -> list[str]:
    """Case names, so that a missing folder gives one skipped test per case and not an empty list."""
    names = {
        (
            "expected.json",
            "disclosure",
        ): "m5_depress m5_income m5_ls m5_marital m5_workab denom1_marital denom1_workab denom2_marital "
        "denom2_workab denom5_marital denom5_workab denom2_not_excluded_marital not_NO_workab targetNA_depress "
        "targetNA_income "
        "not_NO_NA_denom1_workab excl_pairs_marital excl_pairs_workab all_exclusions_marital ngt5_income "
        "ngt20_income ngt5_income_m5 ngk5_ls "
        "ngk0800_ls ngt10_ngk10_depress keysNA_T keysNA_F keysNA_vec keys_perm3_usekeysNA key_single_region "
        "key_single_age keys2 "
        "keys_income_numeric keys_income_grouped thresh_low_ls thresh_low_depress",
        (
            "expected_adult.json",
            "disclosure",
        ): "at5_income at5_occupation at5_hours_per_week at5_capital_gain at1_occ_NA at1_income_denom1 "
        "at1_cg_not0 at1_hours_g10 at1_income_g5keys at1_wc_occNA",
        (
            "expected.json",
            "multi.disclosure",
        ): "multi_DiSCO_m1 multi_DCAP_m1 multi_DiSCO_m5 multi_denom1_m1 multi_not_NA_m1",
    }
    return names[(file, function)].split()


def golden_case(shared: Path, file: str, name: str) -> dict[str, Any]:
    return next(case for case in json.loads((shared / "golden" / "synthpop" / file).read_text()) if case["id"] == name)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def options(args: dict[str, Any]) -> dict[str, Any]:
    """synthpop's argument names in ours."""
    keys, made = as_list(args["keys"]), {}
    if args.get("exclude_ov_denom_lim"):
        made["denominator_limit"] = args["denom_lim"]
    if "not.targetlev" in args:
        made["exclude_levels"] = [args["not.targetlev"]]
    if "usetargetNA" in args:
        made["missing_target"] = args["usetargetNA"]
    for theirs, ours in (("usekeysNA", "missing_keys"), ("ngroups_keys", "key_groups")):
        if theirs in args:
            made[ours] = dict(zip(keys, args[theirs], strict=True)) if isinstance(args[theirs], list) else args[theirs]
    if "ngroups_target" in args:
        made["target_groups"] = args["ngroups_target"]
    if "exclude.keys" in args:
        made["exclude_pairs"] = list(
            zip(*(as_list(args[f"exclude.{part}"]) for part in ("keys", "keylevs", "targetlevs")), strict=True)
        )
    for theirs, ours in (("thresh_1way", "one_way"), ("thresh_2way", "two_way")):
        if theirs in args:
            made[ours] = (args[theirs][0], args[theirs][1] / 100)
    return made


def pairs(findings: list[dict[str, Any]] | None) -> set[tuple[Any, ...]]:
    return {
        (f["target_key_levs"], f["npairs"], f["key"], f["key_target_total"], f["key_total"]) for f in findings or []
    }


def check_case(case: dict[str, Any], original: pl.DataFrame, releases: list[pl.DataFrame], special: Any) -> None:
    args, expected = case["args"], case["expected"]
    chosen = releases if "m=5" in case["data"] else releases[:1]
    pair = gh.Pair(original, chosen, keys=as_list(args["keys"]), target=args["target"], special_codes=special)
    result = gh.disclosure.attribution(pair, **options(args))
    faithful = case["agrees_with_definition"]
    for i, one in enumerate(result.replicates or [result]):
        corrected = None if faithful else as_list(case["definition_expected"])[i]
        for block in ("ident", "attrib", "allCAPs"):
            for name, figure in (corrected[block] if corrected else expected[block][i]).items():
                wanted = figure if figure is None or name in SHARES else figure / 100
                assert one.details[name] == pytest.approx(wanted, abs=1e-8), (name, i)
        if faithful:
            assert pairs(one.details["two_way"]) == pairs(expected["check_2way"][i])
            levels = [
                (f["Level"], f["nLevelDis"], f["totalDisclosive"], f["All"]) for f in expected["check_1way"][i] or []
            ]
            assert [
                (f["Level"], f["nLevelDis"], f["totalDisclosive"], f["All"]) for f in one.details["one_way"]
            ] == levels
            assert one.details["Nexclusions"] == expected["Nexclusions"][i]


@pytest.mark.parametrize("name", cases("expected.json", "disclosure"))
def test_synthpop_sd2011(name: str, shared: Path, sd2011: dict[str, Any]) -> None:
    check_case(golden_case(shared, "expected.json", name), sd2011["orig"], sd2011["syn"], {"income": [-8]})


@pytest.mark.parametrize("name", cases("expected_adult.json", "disclosure"))
def test_synthpop_adult(name: str, shared: Path, adult: dict[str, Any]) -> None:
    check_case(golden_case(shared, "expected_adult.json", name), adult["orig"], adult["syn"], None)


@pytest.mark.parametrize("name", cases("expected.json", "multi.disclosure"))
def test_synthpop_all_targets(name: str, shared: Path, sd2011: dict[str, Any]) -> None:
    case = golden_case(shared, "expected.json", name)
    args, expected = case["args"], case["expected"]
    pair = gh.Pair(
        sd2011["orig"],
        sd2011["syn"] if "m=5" in case["data"] else sd2011["syn"][0],
        keys=KEYS,
        special_codes={"income": [-8]},
    )
    targets = as_list(args.get("targets", expected["targets"]))
    levels = {t: [v] for t, v in zip(targets, as_list(args.get("not.targetslev", [])), strict=False) if v}
    result = gh.disclosure.attribution_all(
        pair, targets=targets, exclude_levels=levels, missing_target=args.get("usetargetsNA", True),
        denominator_limit=args["denom_lim"] if args.get("exclude_ov_denom_lim") else None,
    )  # fmt: skip
    rows = {row["target"]: row for row in result.to_frame().iter_rows(named=True)}
    ours, theirs = ("DCAP", "CAPd") if args.get("attrib.meas") == "DCAP" else ("DiSCO", "Dorig")
    for row in expected["attrib_table"]:
        target = row["row_label"].split(" ")[1]
        assert rows[target][ours] == pytest.approx(row["attrib.syn"] / 100, abs=1e-8)
        assert rows[target][theirs] == pytest.approx(row["attrib.orig"] / 100, abs=1e-8)
        assert (rows[target]["two_way_checks"] > 0) == bool(row["check2"])
        assert (rows[target]["one_way_checks"] > 0) == bool(row["check1"])
    assert result.to_frame()["DiSCO"].to_list() == sorted(result.to_frame()["DiSCO"].to_list())


def check_table(case: dict[str, Any], original: pl.DataFrame, released: Any) -> None:
    args, expected = case["args"], case["expected"]
    pair = gh.Pair(original, released, keys=args["keys"])
    result = gh.disclosure.attribution_all(pair, targets=as_list(args.get("targets", expected["targets"])))
    rows = {row["target"]: row for row in result.to_frame().iter_rows(named=True)}
    ours, theirs = ("DCAP", "CAPd") if args.get("attrib.meas") == "DCAP" else ("DiSCO", "Dorig")
    for row in expected["attrib_table"]:
        target = row["row_label"].split(" ")[1]
        assert rows[target][ours] == pytest.approx(row["attrib.syn"] / 100, abs=1e-8)
        assert rows[target][theirs] == pytest.approx(row["attrib.orig"] / 100, abs=1e-8)
        assert (rows[target]["one_way_checks"] > 0, rows[target]["two_way_checks"] > 0) == (
            bool(row["check1"]),
            bool(row["check2"]),
        )


@pytest.mark.parametrize("name", ["t3_train_DiSCO", "t3_train_DCAP", "t3_control_DiSCO", "t3_control_DCAP"])
def test_synthpop_train_and_control(name: str, shared: Path, sd2011: dict[str, Any]) -> None:
    people = sd2011["train" if "train_" in name else "control"]
    check_table(golden_case(shared, "expected.json", name), people, sd2011["train_syn"])


def test_synthpop_all_targets_adult(shared: Path, adult: dict[str, Any]) -> None:
    check_table(golden_case(shared, "expected_adult.json", "at5_multi"), adult["orig"], adult["syn"])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("expected.json", "repu_s1_K"),
        ("expected.json", "repu_s5_K"),
        ("expected.json", "repu_s1_all"),
        ("expected.json", "repu_s1_K2"),
        ("expected_adult.json", "at1_repu"),
    ],
)
def test_synthpop_replicated_uniques(
    file: str, name: str, shared: Path, sd2011: dict[str, Any], adult: dict[str, Any]
) -> None:
    """Counts by the measure, and the released rows themselves by the synthesis room's own look-up."""
    case = golden_case(shared, file, name)
    data = sd2011 if file == "expected.json" else adult
    keys = case["args"]["keys"]
    for i, (table, rows) in enumerate(
        zip(case["expected"]["res_tab"], case["expected"]["row_numbers_1based"], strict=True)
    ):
        details = gh.disclosure.uniques(data["orig"], data["syn"][i], keys=keys).details
        assert details["n_unique_original"] == table["original"]["number"]
        assert details["n_unique_released"] == table["synthetic"]["number"]
        assert details["n_replicated"] == table["replicated_uniques"]["number"]
        found = gh.synthesis.replicated_uniques(data["syn"][i], data["orig"], keys)
        assert found.synthetic_uniques_in_original == table["synthetic_uniques_in_original"]["number"]
        assert [r + 1 for r in found.replicated.nonzero()[0]] == as_list(rows["repU_rm_rows"])


def test_paper_table_1_row_1_and_figures(sd2011: dict[str, Any]) -> None:
    """Raab (2024): Table 1 synthesis 1, Figures 1 and 2, to two decimals (percent)."""
    pair = gh.Pair(sd2011["orig"], sd2011["syn"][0], keys=KEYS, target="depress", special_codes={"income": [-8]})
    details = gh.disclosure.attribution(pair).details
    paper = {"iS": 64.90, "DiS": 34.18, "DiSCO": 9.54, "DiSDiO": 6.14, "DCAP": 16.39}
    assert {name: round(100 * details[name], 2) for name in paper} == paper
    assert (details["max_denom"], round(details["mean_denom"], 2)) == (3, 1.16)
    figures = {
        "income": (51.38, 4.90, 72.25, 8.91), "depress": (53.30, 9.54, 74.15, 16.39),
        "ls": (58.46, 13.78, 78.55, 23.03),
        "marital": (79.24, 35.18, 90.26, 43.66), "workab": (90.90, 52.10, 95.93, 56.56),
    }  # fmt: skip
    rows = {r["target"]: r for r in gh.disclosure.attribution_all(pair).to_frame().iter_rows(named=True)}
    found = {t: tuple(round(100 * rows[t][n], 2) for n in ("Dorig", "DiSCO", "CAPd", "DCAP")) for t in figures}
    assert found == figures


def test_paper_table_1_is_one_call(sd2011: dict[str, Any]) -> None:
    """The table re-run with synthpop 1.9-3: one row per synthesis, percent."""
    frame = gh.disclosure.attribution(
        sd2011["orig"], sd2011["syn"], keys=KEYS, target="depress", special_codes={"income": [-8]}
    ).to_frame()
    table = [
        (64.90, 34.18, 9.54, 6.14, 16.39), (63.84, 31.04, 8.32, 4.76, 15.47), (64.10, 32.14, 8.78, 5.68, 15.75),
        (64.62, 32.04, 10.04, 6.02, 17.18), (63.88, 31.74, 9.36, 5.86, 16.36),
    ]  # fmt: skip
    found = frame.select("iS", "DiS", "DiSCO", "DiSDiO", "DCAP").rows()
    assert [tuple(round(100 * figure, 2) for figure in row) for row in found] == table
    assert frame["max_denom"].to_list() == [3, 4, 4, 4, 4]
    assert [round(m, 2) for m in frame["mean_denom"]] == [1.16, 1.17, 1.17, 1.17, 1.15]


def test_paper_table_3_train_and_control(sd2011: dict[str, Any]) -> None:
    """Raab (2024), Table 3: what being in the training data adds, R = (train - control) / (1 - control)."""
    pair = gh.Pair(sd2011["train"], sd2011["train_syn"], keys=KEYS, holdout=sd2011["control"])
    rows = {r["target"]: r for r in gh.disclosure.attribution_all(pair).to_frame().iter_rows(named=True)}
    paper = {
        "income": (5.525, 1.90, 0.0370, 9.06, 2.92, 0.0632), "depress": (9.45, 4.20, 0.0548, 15.98, 5.80, 0.1081),
        "ls": (11.875, 8.60, 0.0358, 19.79, 12.53, 0.0830), "marital": (34.50, 21.30, 0.1677, 41.50, 24.94, 0.2207),
        "workab": (49.275, 31.30, 0.2616, 52.92, 33.31, 0.2941),
    }  # fmt: skip
    for target, (disco, disco_c, disco_r, dcap, dcap_c, dcap_r) in paper.items():
        row = rows[target]
        assert 100 * row["DiSCO"] == pytest.approx(disco, abs=0.005)
        assert 100 * row["DiSCO_control"] == pytest.approx(disco_c, abs=0.005)
        assert row["DiSCO_R"] == pytest.approx(disco_r, abs=5e-5)
        assert 100 * row["DCAP"] == pytest.approx(dcap, abs=0.0051)
        assert 100 * row["DCAP_control"] == pytest.approx(dcap_c, abs=0.0051)
        assert row["DCAP_R"] == pytest.approx(dcap_r, abs=5e-5)


# -- the hand-computed example
# ------------------------------------------------------------------------------------------


@pytest.fixture
def hand(golden: Path) -> gh.Pair:
    folder = golden / "tables_hand"
    return gh.Pair(folder / "original.csv", folder / "released.csv", keys="q", target="t")


def test_hand_example(hand: gh.Pair, golden: Path) -> None:
    expected = json.loads((golden / "tables_hand" / "expected.json").read_text())["expected"]
    details = gh.disclosure.attribution(hand).details
    names = {"TCAP_matched": "TCAP", "TCAP_conditional": "tcap_conditional", "TCAP_certain": "tcap_certain"}
    for name, figure in expected["synthpop"].items():
        assert details[names.get(name, name)] == pytest.approx(figure if name in SHARES else figure / 100, abs=1e-12)
    cap = gh.disclosure.cap(hand)
    assert cap.records["cap"].to_list() == expected["riskutility_dcap"]["cap_scores"]
    assert cap.details["cap_matched"] == pytest.approx(expected["riskutility_dcap"]["cap"])
    assert cap.details["base_mode_released"] == pytest.approx(expected["riskutility_dcap"]["baseline"])
    assert (cap.details["n_matched"], cap.details["n_unmatched"]) == (6, 2)
    disco = gh.disclosure.disco(hand)
    assert disco.details["exact_cell_hits"] == pytest.approx(expected["riskutility_disco"]["pct_disco_potential"] / 100)
    assert disco.details["original_certain_hits"] == pytest.approx(
        expected["riskutility_disco"]["pct_original_disclosed"] / 100
    )
    assert disco.records["at_risk"].to_list() == [True, True, False, True, False, False, False, False]
    weap = gh.disclosure.weap(hand)
    assert weap.records["weap"].to_list() == expected["weap_released"]["scores"]
    assert weap.details["mean"] == pytest.approx(expected["weap_released"]["mean"])
    assert weap.details["n_disclosive"] == expected["weap_released"]["n_disclosive"]
    assert weap.details["pct_disclosive"] == pytest.approx(expected["weap_released"]["pct_disclosive"] / 100)


@pytest.mark.parametrize(("variant", "value"), [("certain", 1 / 6), ("matched", 0.5), ("conditional", 0.6)])
def test_tcap_variants(hand: gh.Pair, variant: str, value: float) -> None:
    assert gh.disclosure.tcap(hand, variant=variant).value == pytest.approx(value)


def test_one_file_is_enough_for_weap(hand: gh.Pair) -> None:
    alone = gh.disclosure.weap(hand.local("released"), keys="q", target="t")
    assert alone.value == gh.disclosure.weap(hand).value
    assert gh.disclosure.weap(hand, table="original").details["pct_disclosive"] == pytest.approx(0.625)


def test_engines_agree(hand: gh.Pair, engine: Any) -> None:
    """The same lines on polars, pandas, DuckDB and Spark, with missing keys, numeric grouping and exclusions."""
    original = pl.DataFrame(
        {
            "k": ["a", None, "a", "b", "b", None, "c", "c|d"],
            "x": [1.0, 2.5, 1.0, None, 7.0, 2.5, 9.0, -8.0],
            "t": ["u", "v", "u", "v", None, "v", "u", "u"],
        }
    )
    released = pl.DataFrame(
        {
            "k": ["a", "a", None, "b", "c", "c|d", "z"],
            "x": [1.0, 2.0, 2.5, 7.0, 9.0, -8.0, 3.0],
            "t": ["u", "u", "v", "v", "u", "v", None],
        }
    )
    chosen = {"exclude_levels": ["u"], "missing_target": False, "missing_keys": {"k": False}, "key_groups": {"x": 3}}
    arguments = {"keys": ["k", "x"], "target": "t", "special_codes": {"x": [-8]}}
    numbers = (
        "UiO",
        "UiS",
        "UiOiS",
        "repU",
        "Dorig",
        "Dsyn",
        "iS",
        "DiS",
        "DiSCO",
        "DiSDiO",
        "baseCAPd",
        "CAPd",
        "CAPs",
        "DCAP",
        "TCAP",
    )
    for wanted in ({}, chosen):
        expected = gh.disclosure.attribution(original, released, **arguments, **wanted)
        found = gh.disclosure.attribution(engine(original), engine(released), **arguments, **wanted)
        assert [found.details[n] for n in numbers] == pytest.approx([expected.details[n] for n in numbers])
        assert found.details["Nexclusions"] == expected.details["Nexclusions"]
        assert type(found.records).__module__.split(".")[0] == type(engine(original)).__module__.split(".")[0]


def test_lazy_tables_stay_where_they_are(hand: gh.Pair) -> None:
    pair = gh.Pair(hand.local("original").lazy(), hand.local("released").lazy(), keys="q", target="t")
    result = gh.disclosure.attribution(pair)
    assert result.value == pytest.approx(0.375)
    assert not pair._tables._here._carried, "an aggregate collected a whole table"
    assert result.records.collect().height == 8


# -- properties
# ---------------------------------------------------------------------------------------------------------


def test_release_equal_to_original(hand: gh.Pair) -> None:
    original = hand.local("original")
    details = gh.disclosure.attribution(original, original, keys="q", target="t").details
    assert details["iS"] == 1
    assert details["repU"] == details["UiO"]
    assert details["DiSCO"] == details["DiSDiO"] == details["Dorig"]
    assert details["DCAP"] == pytest.approx(details["CAPd"])
    assert details["tcap_conditional"] == 1


def test_no_key_in_common(hand: gh.Pair) -> None:
    other = hand.local("released").with_columns(q=pl.lit("nowhere"))
    pair = hand.replace(released=other)
    assert gh.disclosure.disco(pair).value == 0
    assert gh.disclosure.cap(pair).value == 0
    undefined = gh.disclosure.tcap(pair)
    assert (undefined.status, undefined.value, undefined.verdict) == ("not_applicable", None, None)
    assert "no key combination" in str(undefined.reason)
    assert any("nothing could be looked up" in w for w in gh.disclosure.disco(pair).warnings)


def test_order_on_any_data(hand: gh.Pair) -> None:
    d = gh.disclosure.attribution(hand).details
    assert d["DiSDiO"] <= d["DiSCO"] <= d["DiS"] <= d["iS"]
    assert d["repU"] <= d["UiOiS"] <= d["UiO"]
    assert d["tcap_certain"] <= d["TCAP"] <= d["tcap_conditional"]


def test_missing_and_odd_labels_are_compared_by_value() -> None:
    """Null equals null, "NA" is a label, ("a|b","c") is not ("a","b|c"), 1 equals 1.0."""
    original = pl.DataFrame(
        {"a": ["a|b", "a", None, "NA"], "b": ["c", "b|c", "x", "x"], "n": [1, 2, 3, 4], "t": ["u", "v", "u", "v"]}
    )
    released = pl.DataFrame({"a": ["a|b", None], "b": ["c", "x"], "n": [1.0, 3.0], "t": ["u", "u"]})
    result = gh.disclosure.disco(original, released, keys=["a", "b", "n"], target="t")
    assert result.records["at_risk"].to_list() == [True, False, True, False]
    assert result.records["found"].to_list() == [True, False, True, False]


def test_dropped_records_are_counted_and_null() -> None:
    original = pl.DataFrame({"k": ["a", None, "b"], "t": ["u", "v", None]})
    result = gh.disclosure.disco(original, original, keys="k", target="t", missing="drop")
    assert result.details["n_dropped"] == 2
    assert result.records["at_risk"].to_list() == [True, None, None]
    nothing = gh.disclosure.disco(
        original.with_columns(k=pl.lit(None, pl.String)), original, keys="k", target="t", missing="drop"
    )
    assert nothing.status == "not_applicable"
    assert "leaves none" in str(nothing.reason)


# -- bad input
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"exclude_levels": ["nobody"]}, "exclude_levels names a level of 't' that no original record has"),
        ({"exclude_pairs": [("zip", "A", "t1")]}, "exclude_pairs names 'zip', which is no key"),
        ({"denominator_limit": 0}, "denominator_limit must be a positive whole number"),
        ({"one_way": (50, 90)}, "one_way takes a count and a share"),
        ({"target_groups": 5}, "only numeric columns can be grouped"),
        ({"missing_keys": {"zip": False}}, "missing_keys names 'zip', which is no key"),
        ({"denominator": 3}, "has no option 'denominator'; did you mean 'denominator_limit'?"),
    ],
)
def test_bad_options(hand: gh.Pair, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(gh.InputError) as error:
        gh.disclosure.attribution(hand, **arguments)
    assert sentence in str(error.value)


def test_luck_is_counted_over_the_same_cells_as_the_figure() -> None:
    """A copy stands out over luck whatever is excluded; the lucky share of excluded cells must not hide it."""
    rows = [(key, "common" if i % 3 else "rare") for i, key in enumerate("abcdefghijkl" * 5)]
    frame = pl.DataFrame(rows, schema=["k", "t"], orient="row").with_columns(k=pl.col("k") + pl.col("t"))
    for wanted in ({}, {"exclude_levels": ["common"]}, {"denominator_limit": 4}):
        result = gh.disclosure.attribution(frame, frame, keys="k", target="t", **wanted)
        assert result.baseline <= result.value
    limited = gh.disclosure.attribution(frame, frame, keys="k", target="t", denominator_limit=1)
    assert (limited.value, limited.details["max_denom"]) == (0, 0)


def test_a_fact_about_the_population_is_no_leak() -> None:
    """The target follows from the keys for everybody, also for people never in the data: reported, not judged."""
    frame = pl.DataFrame({"k": list("abcd") * 25, "t": list("uvuw") * 25})
    alone = gh.disclosure.disco(frame, frame, keys="k", target="t")
    beside = gh.disclosure.disco(frame, frame, keys="k", target="t", holdout=frame.head(40))
    assert (alone.verdict, beside.verdict) == (None, "pass")
    assert "a leak cannot be told from it" in alone.sentence
    assert "chance gives as much in" in beside.sentence
    others = pl.DataFrame({"k": list("abcd") * 25, "t": list("wuvv") * 25})
    assert gh.disclosure.disco(frame, frame, keys="k", target="t", holdout=others).verdict == "fail"
