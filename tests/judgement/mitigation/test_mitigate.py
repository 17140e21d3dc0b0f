"""gh.mitigate: what failed is repaired at little loss, by people who did not judge it, and what cannot be is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.judgement.mitigation.evidence import Bench, Candidate, stricter
from glasshouse.judgement.mitigation.findings import columns_of, rounded_unit, telling
from glasshouse.judgement.mitigation.halves import DEALT, NOBODY, TOO_FEW, halves_of
from glasshouse.judgement.mitigation.mitigated import CHOSEN, VERIFIED, said
from glasshouse.judgement.mitigation.proposals import ASKED_FOR, LADDERS, ROWS, allowed_of, proposals
from glasshouse.judgement.mitigation.search import Failed, Search
from glasshouse.judgement.mitigation.states import State
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.judgement.mitigation.trying import to_try, tried
from glasshouse.protection.operation import operations
from glasshouse.protection.recipe import Step
from tests.judgement.mitigation.conftest import COPIED, POLICY, N, planted

# -- the whole way ---------------------------------------------------------------------------------------------------


def test_copies_are_found_and_drawn_anew(pair: gh.Pair, fixed: Any) -> None:
    assert fixed.before.verdict == "fail" and fixed.met and fixed.exit_code == 0
    assert fixed.verdict.verdict in ("pass", "warn") and fixed.verified and fixed.steered == "pass"
    assert [step.operation for step in fixed.recipe.steps] == ["redraw_records"]
    assert fixed.taken[0].records <= 2 * COPIED, "others are hardly touched"
    before, after = fixed.taken[0].utility
    assert before is not None and after is not None and after > 2 / 3 * before
    assert gh.disclosure.exact_copies(pair.replace(released=fixed.released)).value == 0


def test_one_operation_can_be_tried_without_a_search(pair: gh.Pair) -> None:
    choices = to_try(pair)
    assert {one.name for one, _ in choices} <= set(LADDERS) and choices[0][0].cost <= choices[-1][0].cost
    operation, arguments = next(one for one in choices if one[0].name == "redraw_records")
    measures = ["exact_copies", "total_variation"]
    found = tried(pair, operation, arguments, policy=POLICY, measures=measures)
    assert found.before.verdict == "fail" and not found.verified and found.steered is None
    assert found.summary().startswith("The verdict on the release was fail; after one step (re-draw copies) it is ")
    assert gh.disclosure.exact_copies(pair.replace(released=found.released)).value == 0
    again = gh.protection.apply(pair.local("released"), found.recipe, original=pair.local("original"))
    assert pl.DataFrame(again.table).equals(pl.DataFrame(found.released))
    assert found.plot("trajectory") is not None and "no claim of differential privacy" in " ".join(found.notes)
    assert [step["records"] for step in found.content("external")["steps"]] == [None]


def test_the_release_is_the_recipe_applied(pair: gh.Pair, fixed: Any, tmp_path: Path) -> None:
    path = fixed.recipe.save(tmp_path / "steps.toml")
    again = gh.protection.apply(pair.local("released"), path, original=pair.local("original"))
    assert pl.DataFrame(again.table).equals(pl.DataFrame(fixed.released))


def test_steps_are_a_table_in_the_users_library(pair: gh.Pair, fixed: Any) -> None:
    table = fixed.steps
    assert isinstance(table, pl.DataFrame) and table.height == len(fixed.recipe)
    assert {"operation", "why", "risk_before", "risk_after", "utility_before", "utility_after", "records",
            "cells"} <= set(table.columns)  # fmt: skip
    assert table["why"][0].startswith("acts on ")


def test_the_verdict_is_that_of_people_who_did_not_steer(pair: gh.Pair, fixed: Any) -> None:
    halves = halves_of(pair, fixed.seed)
    assert fixed.verdict.pair.n("holdout") == halves.verifying.n("holdout") == N // 2
    assert fixed.verdict.pair.fingerprint("holdout") == halves.verifying.fingerprint("holdout")
    assert fixed.verdict.seed != fixed.before.seed and DEALT in fixed.notes
    alone = gh.assess(halves.verifying.replace(released=fixed.released), policy=POLICY, random_state=fixed.verdict.seed)
    assert alone.to_json() == fixed.verdict.to_json()


def test_operations_that_looked_at_the_original_say_so(fixed: Any) -> None:
    said = " ".join(fixed.notes)
    assert "no claim of differential privacy stands for it now" in said and "drawn anew and not removed" in said


def test_a_warning_is_not_told_as_if_all_were_well(fixed: Any) -> None:
    given: dict[str, Any] = {"changed": True, "met": True, "by": VERIFIED, "before": "fail", "taken": fixed.taken}
    assert "meets the policy" in said(after="pass", **given)
    warned = said(after="warn", **given)
    assert "nothing fails, and a warning asks for a look" in warned and "meets" not in warned and VERIFIED in warned


def test_a_clean_release_stays_as_it_is() -> None:
    pair = planted(copied=0, seed=3)
    fixed = gh.mitigate(pair, policy=POLICY)
    assert not fixed.changed and fixed.met and fixed.released is pair._given["released"]
    assert fixed.verdict is fixed.before and len(fixed.recipe) == 0 and fixed.steps.height == 0
    assert "nothing was changed" in fixed.summary() or "nothing was changed" in str(fixed.notes)
    with pytest.raises(gh.InputError, match="no way to draw"):
        fixed.plot()


def test_what_cannot_be_met_is_said_with_how_close_it_came(pair: gh.Pair) -> None:
    fixed = gh.mitigate(pair, policy=POLICY, allow={"round_numbers": [{"columns": ["income"], "base": 10}]}, steps=1)
    assert (
        not fixed.met and fixed.exit_code == 1 and "does not meet the policy" in fixed.summary()
    ) or not fixed.changed
    assert any(note.startswith("Not met with what is allowed: copying.") for note in fixed.notes)


def test_protected_columns_stay(pair: gh.Pair) -> None:
    fixed = gh.mitigate(pair, policy=POLICY, protect=["age", "income"], allow=["redraw_records"], steps=1)
    before, after = pair.local("released"), pl.DataFrame(fixed.released)
    assert after.select("age", "income").equals(before.select("age", "income"))
    for step in fixed.recipe.steps:
        assert not {"age", "income"} & set(step.arguments.get("columns", ()))


# -- the holdout -----------------------------------------------------------------------------------------------------


def test_without_a_holdout_nothing_verifies_it() -> None:
    pair = planted().replace(holdout=None)
    halves = halves_of(pair, 0)
    assert not halves.verified and halves.note == NOBODY and halves.steering is pair


def test_a_small_holdout_is_not_dealt_in_two() -> None:
    pair = planted()
    few = pair.replace(holdout=pair.local("holdout")[:60])
    assert halves_of(few, 0).note == TOO_FEW


def test_households_stay_together() -> None:
    pair = planted()
    house = pl.Series("house", np.repeat(np.arange(N // 4), 4))
    tables = {t: pair.local(t).with_columns(house + 10_000 * i) for i, t in enumerate(pair.tables)}
    grouped = gh.Pair(tables["original"], tables["released"], holdout=tables["holdout"], cluster="house")
    halves = halves_of(grouped, 1)
    first, second = (set(p.local("holdout")["house"]) for p in (halves.steering, halves.verifying))
    assert halves.verified and not first & second and len(first) + len(second) == N // 4


def test_the_same_people_steer_whatever_the_order_of_the_file(pair: gh.Pair, tmp_path: Path) -> None:
    """Else the order of the rows decides the verdict; and who joins leaves everybody else where they are."""

    def dealt(holdout: Any, seed: int = 0) -> tuple[set[Any], set[Any]]:
        halves = halves_of(pair.replace(holdout=holdout), seed)
        return set(halves.steering.local("holdout").rows()), set(halves.verifying.local("holdout").rows())

    table = pair.local("holdout")
    first, second = dealt(table)
    assert len(first) == len(second) == N // 2 and not first & second and dealt(table, 1)[0] != first
    shuffled = table.sample(fraction=1, shuffle=True, seed=4)
    shuffled.write_csv(tmp_path / "holdout.csv")
    assert dealt(shuffled) == dealt(shuffled.to_pandas()) == dealt(tmp_path / "holdout.csv") == (first, second)
    joined = pl.concat([pair.local("original")[:1], table])
    assert sum(len(one - other) for one, other in zip(dealt(joined), (first, second), strict=True)) <= 2


def test_people_who_are_equal_are_dealt_like_others(pair: gh.Pair) -> None:
    few = pair.replace(**{t: pair.local(t).select("gender", "education") for t in pair.tables}, keys=None, target=None)
    halves = halves_of(few, 0)
    shares = [one.local("holdout")["gender"].eq("male").mean() for one in (halves.steering, halves.verifying)]
    assert abs(shares[0] - shares[1]) < 0.2


def test_files_are_read_as_the_pair_was_told(tmp_path: Path) -> None:
    """Read again without the encoding, half of the holdout lives in towns that nobody else knows."""
    towns = ["Łódź", "Kraków", "Wrocław"]
    files = [tmp_path / f"{table}.csv" for table in ("original", "released", "holdout")]
    for at, file in enumerate(files):
        ages, homes = np.random.default_rng(at).integers([[20], [0]], [[90], [3]], (2, 120))
        file.write_bytes(pl.DataFrame({"33": ages, towns[0]: [towns[i] for i in homes]}).write_csv().encode("cp1250"))
    pair = gh.Pair(files[0], [files[1]], holdout=files[2], header=True, encoding="cp1250")
    halves = halves_of(pair, 0)
    assert halves.verified and halves.note == DEALT
    assert set(halves.steering.local("holdout")[towns[0]]) <= set(towns)
    assert {c for t in pair.tables for c in own_table(pair, t)[towns[0]]} == set(towns)
    assert columns_of(halves.steering, ()).exchanged == (towns[0],)


# -- what is tried ---------------------------------------------------------------------------------------------------


def test_proposals_follow_from_what_failed(pair: gh.Pair) -> None:
    columns = columns_of(pair, ())
    against = Failed(("identity",), ())
    found = proposals(allowed_of(None), columns, against, pair)
    assert all("identity" in p.operation.acts_on and p.acts == ("identity",) for p in found)
    costs = [p.operation.cost for p in found]
    assert costs == sorted(costs), "the cheapest first"
    assert not [p for p in found if "nothing" in p.arguments]
    strongest = max(p.rung for p in found if p.operation.name == "swap_ranks")
    later = proposals(allowed_of(None), columns, against, pair, [("swap_ranks", strongest)])
    assert "swap_ranks" not in {p.operation.name for p in later}


def test_protected_columns_are_in_no_proposal(pair: gh.Pair) -> None:
    columns = columns_of(pair, ("income",))
    for p in proposals(allowed_of(None), columns, Failed(("copying", "identity"), ()), pair):
        assert "income" not in p.arguments.get("columns", ()) and p.operation.touches != "model"
        assert p.operation.touches != "records" or p.arguments["keep"] == ["income"]


def test_row_paired_files_keep_their_rows(pair: gh.Pair) -> None:
    paired = gh.Pair(pair.local("original"), pair.local("original"), row_paired=True, keys=["age"])
    found = proposals(allowed_of(None), columns_of(paired, ()), Failed(("identity",), ()), paired)
    assert found and {p.operation.touches for p in found} == {"columns"}


def test_a_column_that_an_operation_refuses_does_not_stop_the_others() -> None:
    """Free text among categories, a number that hardly anybody has, numbers as text: each by itself is left out."""
    rng, n = np.random.default_rng(0), 120

    def table() -> pl.DataFrame:
        return pl.DataFrame(
            {
                "age": rng.integers(18, 90, n),
                "pay": [str(v) for v in rng.integers(1000, 3000, n)],
                "benefit": [float(v) if i < 8 else None for i, v in enumerate(rng.integers(1, 99, n))],
                "sex": rng.choice(["f", "m"], n),
                "job": [f"job {v}" for v in rng.integers(0, 100, n)],
            }
        )

    pair = gh.Pair(table(), table(), keys=["age", "sex", "job"], schema={"pay": "numeric", "job": "categorical"})
    columns = columns_of(pair, ())
    assert columns.numeric == ("age", "benefit") and columns.exchanged == ("sex",) and "job" in columns.categorical
    tables = pair.local("released"), pair.local("original")
    for p in proposals(allowed_of(["swap_ranks", "pram"]), columns, Failed(("copying",), ()), pair):
        assert p.operation.random and p.arguments["columns"] in (["age"], ["sex"])
        assert Step(p.operation.name, p.arguments).run(*tables).cells


def test_labels_of_numbers_are_refused_with_the_way_out(pair: gh.Pair) -> None:
    bench = Bench(pair, POLICY, {}, 0, 1, "fast")
    tables = pair.local("original"), pair.local("released")
    search = Search(bench, *tables, columns_of(pair, ()), allowed_of(None), (), 1, 0, lambda tried, title: None)
    step = Step("bin_numbers", {"columns": ["age"], "bins": 4})
    with pytest.raises(gh.InputError, match=r'makes labels of the numbers of age, .* say into="means"'):
        search._run(step, pair.local("released"))


def test_a_table_is_measured_once_whatever_led_to_it(pair: gh.Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing lies near a real record without being equal to it, copies and near copies are the same records."""
    bench = Bench(pair, POLICY, {}, 0, 1, "fast")
    tables, columns = (pair.local("original"), pair.local("released")), columns_of(pair, ())
    steps = {
        "redraw_records": [
            {"copies": "exact"},
            {"copies": "near", "threshold": 0.01},
            {"copies": "exact", "keep": ["age"]},
        ]
    }
    search = Search(bench, *tables, columns, allowed_of(steps), (), 1, 0, lambda tried, title: None)
    weighed = list[State]()
    monkeypatch.setattr(search, "weigh", lambda state, asked: weighed.append(state))
    found = list(search.children(State(tables[1], Candidate(pair)), Failed(("copying",), ()), [], 0))
    assert [s.taken[0].step.arguments.get("keep") for s in found] == [None, ["age"]]
    assert len(weighed) == 2 and search.tried == 3


def test_every_operation_is_tried_or_waits_to_be_named() -> None:
    assert set(operations()) == {*LADDERS, *ASKED_FOR}


def test_what_is_allowed_is_checked() -> None:
    assert allowed_of(["swap_ranks"]) == {"swap_ranks": None}
    assert allowed_of({"pseudonymise": {"columns": ["age"]}})["pseudonymise"] == [{"columns": ["age"]}]
    with pytest.raises(gh.InputError, match="did you mean 'swap_ranks'"):
        allowed_of(["swap_rank"])
    with pytest.raises(gh.InputError, match="pseudonymise, which needs columns"):
        allowed_of(["pseudonymise"])


def test_a_private_model_gets_its_parameter_from_the_policy() -> None:
    domain = {"domain": {"age": {"type": "int", "lower": 18, "upper": 85}}}
    policy = gh.Policy.preset("research")
    assert policy.leak is not None
    tried = allowed_of({"resynthesise_dp": domain}, policy)["resynthesise_dp"]
    gains = [gh.Risk.from_rho(one["rho"]).advantage for one in tried or ()]
    assert gains == pytest.approx([min(t * policy.leak.tolerance / 1000, 0.5) for t in (30, 10, 3, 1)], rel=1e-6)
    given = allowed_of({"resynthesise_dp": {**domain, "rho": 0.3}}, policy)["resynthesise_dp"]
    assert given == [{**domain, "rho": 0.3}], "what the caller says stands"
    with pytest.raises(gh.InputError, match="resynthesise_dp, which needs domain:"):
        allowed_of(["resynthesise_dp"], policy)
    strict = gh.Policy.from_dict({"name": "none", "leak": {"tolerance": 0}})
    with pytest.raises(gh.InputError, match="give resynthesise_dp its rho"):
        allowed_of({"resynthesise_dp": domain}, strict)


def test_a_private_release_that_attacks_chose_says_so(pair: gh.Pair) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra: dp)")
    columns = ["gender", "age", "education", "disease_status"]
    domain: dict[str, Any] = {c: sorted(pair.local("original")[c].unique().to_list()) for c in columns if c != "age"}
    domain["age"] = {"type": "int", "lower": 18, "upper": 85}
    tables = {t: pair.local(t).select(columns) for t in pair.tables}
    numbered = {t: f.with_columns(pl.col("age").round().cast(pl.Int64).clip(18, 85)) for t, f in tables.items()}
    small = gh.Pair(numbered["original"], numbered["original"], holdout=numbered["holdout"], keys=["gender", "age"])
    fixed = gh.mitigate(small, policy=POLICY, allow={"resynthesise_dp": {"domain": domain}}, steps=1)
    assert fixed.changed and CHOSEN in fixed.notes and CHOSEN in fixed.content("external")["notes"]
    assert not any(step.voids_dp for step in fixed.taken) and fixed.recipe.steps[0].arguments["rho"] > 0


def test_numbers_of_real_people_are_told_from_common_ones() -> None:
    rng = np.random.default_rng(0)
    own, others = (np.round(rng.normal(size=300), 6) for _ in range(2))
    common = rng.integers(0, 5, 300)
    original = pl.DataFrame({"own": own, "common": common})
    released = pl.DataFrame({"own": rng.permutation(own), "common": rng.permutation(common)})
    pair = gh.Pair(original, released, holdout=pl.DataFrame({"own": others, "common": common}))
    assert telling(pair, "own") > 0.9 and abs(telling(pair, "common")) < 0.02
    assert columns_of(pair, ()).telling == ("own",)


@pytest.mark.parametrize(("spread", "unit"), [(0.0, 1.0), (10.0, 1.0), (25.0, 2.0), (60_000.0, 5000.0), (0.03, 0.002)])
def test_round_numbers_are_about_a_tenth_of_the_spread(spread: float, unit: float) -> None:
    assert rounded_unit(np.array([-spread, spread])) == pytest.approx(unit)


def test_whole_numbers_are_rounded_to_whole_numbers() -> None:
    assert rounded_unit(np.arange(9.0)) == 1 and rounded_unit(np.arange(9.0) + 0.5) == 0.2
    assert rounded_unit(np.arange(0.0, 9000, 1000)) == 200


def test_the_search_is_stricter_than_the_policy() -> None:
    policy = gh.Policy.preset("public")
    assert policy.leak is not None and stricter(policy).leak is not None
    for candidates, times in ((1, 2), (11, 4), (50, 6)):
        assert stricter(policy, candidates).leak.warn == pytest.approx(times * policy.leak.warn)  # type: ignore[union-attr]
    assert stricter(policy).leak.fail == policy.leak.fail  # type: ignore[union-attr]


# -- what is told ----------------------------------------------------------------------------------------------------


def test_it_prints_and_draws_itself(fixed: Any) -> None:
    assert repr(fixed).splitlines()[0].startswith(("●", "▲")) and "re-draw copies" in repr(fixed)
    chart = fixed.plot("trajectory").to_dict()
    assert "1. re-draw copies" in json.dumps(chart) and "to_utility" in json.dumps(chart)
    assert "gh-is-mitigated" in fixed._repr_html_()


def test_reports_tell_the_way(fixed: Any, tmp_path: Path) -> None:
    page = fixed.to_html(tmp_path / "story.html")
    assert 'id="way"' in page and "re-draw copies" in page and "redraw_records" in page
    words = fixed.to_markdown()
    assert (words.startswith("# What was done to make it safe") and "re\\-draw copies" in words) or "re-draw" in words
    content = json.loads(fixed.to_json())
    assert content["schema"] == "glasshouse.mitigation" and content["steps"][0]["records"] == fixed.taken[0].records


def test_bad_arguments_are_refused(pair: gh.Pair) -> None:
    with pytest.raises(gh.InputError, match="at least 1"):
        gh.mitigate(pair, steps=0)
    with pytest.raises(gh.InputError, match="neither a column nor a utility measure"):
        gh.mitigate(pair, protect=["agee"])
    with pytest.raises(gh.InputError, match="one at a time"):
        gh.mitigate(pair.replace(released=[pair.local("released")] * 2))


def test_advice_carries_its_operation_out(pair: gh.Pair, fixed: Any) -> None:
    advice = next(one for one in fixed.before.recommendations if one.operation == "redraw_records")
    made = advice.apply(pair)
    assert made.operation == "redraw_records" and made.records and advice.to_dict()["operation"] == "redraw_records"
    assert gh.disclosure.exact_copies(pair.replace(released=made)).value == 0
    with pytest.raises(gh.InputError, match="no operation carries this advice out"):
        type(advice)("x", "fail", "Think about it.").apply(pair)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (["age", "income"], "allow takes a list of arguments of swap_ranks"),
        (3.5, "allow takes a list of arguments of swap_ranks"),
        ([{"columns": 98765.25}], "argument 'columns' of swap_ranks takes"),
        ([{"column": ["age"]}], "did you mean 'columns'"),
    ],
)
def test_arguments_that_no_operation_takes_are_refused_at_once(own: Any, said: str) -> None:
    with pytest.raises(gh.InputError, match=said) as refused:
        allowed_of({"swap_ranks": own})
    assert "98765" not in str(refused.value)


# -- files whose rows are those of the original ----------------------------------------------------------------------


ROWWISE = gh.Policy.from_dict(
    {
        "name": "rows",
        "require": ["identity", "attribute"],
        "others": "declared",
        "run": {"measures": ["k_anonymity", "l_diversity"]},
    }
)


def test_a_warning_of_a_limit_that_is_counted_costs_no_utility() -> None:
    """k = 3 warns and meets the policy; nothing more is blanked for a pass. Tests of people never seen stay strict."""
    threes = pl.DataFrame({"age": [20 + i // 3 for i in range(60)], "gender": ["f", "m", "m"] * 20})
    pair = gh.Pair(threes, threes, keys=["age"], target="gender", row_paired=True)
    bench = Bench(pair, ROWWISE, {}, 0, 1, ["k_anonymity", "l_diversity"])
    made = bench.judge(Candidate(pair))
    assert made.threats["identity"].status == "warn" and bench.shortfalls(made).get("identity", 0) == 0
    assert Bench(pair.replace(row_paired=False), ROWWISE, {}, 0, 1, ["exact_copies"]).open == ("warn", "fail")


def test_an_original_alone_is_anonymised_row_by_row() -> None:
    """Suppression alone leaves groups that share their illness, and next to nothing else."""
    original = gh.data.simulate_health(100, random_state=5)
    keys = ["age", "education", "gender"]
    fixed = gh.mitigate(original, policy=ROWWISE, keys=keys, target="disease_status", allow=ROWS, steps=1, n_jobs=1)
    assert fixed.before.verdict == "fail" and fixed.met and fixed.verdict.verdict in ("pass", "warn")
    assert [step.operation for step in fixed.recipe.steps] == ["generalise"]
    assert fixed.released["age"].dtype.is_numeric(), "it can be compared with the original as it is"
    assert fixed.released.group_by(keys).len()["len"].min() >= 2
    assert fixed.released.group_by(keys).agg(pl.col("disease_status").n_unique())["disease_status"].min() >= 2
    assert "its limits are counted on the release itself" in fixed.summary()
    assert "the verdict asks only whether every limit is kept" in fixed.to_html()
    advice = next(one for one in fixed.before.recommendations if one.measure == "l_diversity")
    made = advice.apply(fixed.before.pair)
    answers = made.table.filter(~pl.all_horizontal(pl.col(keys).is_null())).group_by(keys)
    assert (
        made.operation == "generalise" and answers.agg(pl.col("disease_status").n_unique())["disease_status"].min() > 1
    )
    assert "generalise" in allowed_of(None, row_paired=True) and "generalise" not in allowed_of(None)
