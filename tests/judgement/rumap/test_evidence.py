"""The map on the same evidence as the verdict: leaks on the risk axis, ghosts of the right size, never a copy
recommended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.evidence import Counts
from glasshouse.core.result import Result
from glasshouse.judgement.rumap.figures import leak, value
from glasshouse.judgement.rumap.ghosts import evenly, ghost_pairs, halves, shared_by_size
from glasshouse.judgement.rumap.scales import risk_anchor

ROLES: dict[str, Any] = {"keys": ["a", "b"], "target": "t"}


def people(n: int, seed: int) -> pl.DataFrame:
    """Ten people to a cell, nine of ten with the same target: a file of half the size is far more often unanimous."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "a": rng.integers(0, 10, n).astype(str),
            "b": rng.integers(0, 10, n).astype(str),
            "x": rng.normal(size=n).round(4),
            "y": rng.normal(size=n).round(4),
            "t": rng.choice(["no"] * 9 + ["yes"], n),
        }
    )


@pytest.fixture(scope="module")
def uneven() -> dict[str, pl.DataFrame]:
    """A holdout of half the size, an independent file, and a copy with noise on the numbers."""
    original = people(1000, 1)
    noise = np.random.default_rng(5)
    copy = original.with_columns(
        x=pl.col("x") + noise.normal(0, 0.02, 1000).round(4), y=pl.col("y") + noise.normal(0, 0.02, 1000).round(4)
    )
    return {"original": original, "holdout": people(500, 2), "independent": people(1000, 3), "noisy copy": copy}


def test_a_smaller_holdout_does_not_turn_the_scale_round(uneven: dict[str, pl.DataFrame]) -> None:
    pair = gh.Pair(uneven["original"], uneven["original"], **ROLES)
    copied = gh.disclosure.disco(pair).value
    half_size = gh.disclosure.disco(pair.replace(released=uneven["holdout"])).value
    assert half_size > copied, "as values the anchors would be reversed"
    ru = gh.compare(
        uneven["original"],
        {k: uneven[k] for k in ("independent", "noisy copy")},
        holdout=uneven["holdout"],
        risk=["disco", "tcap", "inference", "near_copies"],
        utility=["hellinger"],
        **ROLES,
    )
    assert {"disco", "tcap"} <= {*ru.left_out, *ru.risk_measures} and "near_copies" in ru.risk_measures
    for name in ru.risk_measures:
        low, high = ru.scaled[name].to_list()
        assert ru.kinds[name] == "leak" and ru.anchors[name].zero == 0 < ru.anchors[name].one
        assert low < 0.35 and high > 0.65, name
    assert ru.composites["independent"]["risk"] < 0.2 < 0.8 < ru.composites["noisy copy"]["risk"]
    assert ru.verdicts["noisy copy"] == "fail" and ru.recommended == "independent"


def test_ghosts_have_the_size_of_the_release_and_strangers_stay_strangers(uneven: dict[str, pl.DataFrame]) -> None:
    for size in (300, 1000, 1700):
        released = people(size, 9)
        pair = gh.Pair(uneven["original"], released, holdout=uneven["holdout"], **ROLES)
        ghosts = ghost_pairs(pair, 0)
        assert {p.n("released") for p in ghosts.values()} == {size}
        other = ghosts["strangers"]
        assert other.n("holdout") == 250 and not ghosts["sample"].has_holdout
        drawn = {tuple(r) for r in other.local("released").select(uneven["holdout"].columns).rows()}
        held = {tuple(r) for r in other.local("holdout").select(uneven["holdout"].columns).rows()}
        assert not drawn & held
        copies = ghosts["copy"].local("released").select(uneven["original"].columns).rows()
        assert set(copies) <= set(uneven["original"].rows())


def test_ghosts_do_not_depend_on_the_order_of_rows_or_columns(uneven: dict[str, pl.DataFrame]) -> None:
    def ghosts_of(tables: dict[str, pl.DataFrame]) -> Any:
        pair = gh.Pair(tables["original"], tables["independent"][:700], holdout=tables["holdout"], **ROLES)
        return ghost_pairs(pair, 0)

    turned = {k: t.select(t.columns[::-1]).sample(fraction=1, shuffle=True, seed=3) for k, t in uneven.items()}
    turned["independent"] = uneven["independent"]
    for name, one in ghosts_of(uneven).items():
        a, b = (p.local("released") for p in (one, ghosts_of(turned)[name]))
        assert a.select(sorted(a.columns)).equals(b.select(sorted(a.columns))), name


def test_households_are_dealt_whole() -> None:
    table = pl.DataFrame({"home": np.repeat(np.arange(50), 3), "x": np.arange(150)})
    first, second = halves(table, "home", np.random.default_rng(0))
    assert not set(first["home"]) & set(second["home"]) and first.height == second.height == 75


def test_a_table_too_small_is_repeated_evenly() -> None:
    counts = evenly(pl.DataFrame({"x": np.arange(7)}), 17, np.random.default_rng(0))["x"].value_counts()["count"]
    assert sorted(counts) == [2] * 4 + [3] * 3
    assert shared_by_size({"A": 1000, "B": 1020, "C": 500}) == {"A": "A", "B": "A", "C": "C"}


def test_ends_that_are_reversed_or_within_noise_are_no_scale() -> None:
    def seen(members: float, strangers: float) -> Result:
        return Result(members / 100, counts=Counts(members, 100, strangers, 100))

    assert risk_anchor({"copy": seen(60, 10), "strangers": seen(11, 10)}, "leak", "lower", 0).reason is None
    reversed_ = risk_anchor({"copy": seen(10, 30), "strangers": seen(10, 10)}, "leak", "lower", 0)
    assert "no worse" in str(reversed_.reason) and reversed_.place(0.1) is None
    assert "noise" in str(risk_anchor({"copy": seen(16, 10), "strangers": seen(10, 10)}, "leak", "lower", 0).reason)
    k = {"copy": Result(5), "independent": Result(2)}
    assert "no worse" in str(risk_anchor(k, "value", "higher", 1).reason)
    assert risk_anchor(k, "value", "lower", 1).place(3.5) == pytest.approx(0.5)


def test_the_leak_comes_before_the_value() -> None:
    counted = Result(0.5, counts=Counts(50, 100, 20, 100), difference=0.9)
    assert leak(counted).value == pytest.approx(0.3)
    assert leak(Result(0.5, difference=0.1, difference_interval=(0.0, 0.2))) == (0.1, (0.0, 0.2))
    assert leak(Result(0.5, holdout=0.2)).value == pytest.approx(0.3)
    assert leak(Result(0.5)) is None and value(Result(0.5)).value == 0.5


def _case(holdout: bool, releases: str = "BC", n: int = 300) -> dict[str, Any]:
    example = gh.data.load("case_study")
    tables = {k: t[:n] for k, t in example.releases.items() if k in releases}
    roles: dict[str, Any] = {"keys": list(example.keys), "target": example.target, "releases": tables}
    return {"original": example.original[:n], **roles, **({"holdout": example.holdout[:n]} if holdout else {})}


SINGLES = [n for n, m in all_measures().items() if m.side == "disclosure" and m.table == "pair"]
SETS: list[Any] = [["disco"], ["uniques", "identical"], ["rapid"], ["k_anonymity", "l_diversity"], ["linkability"]]


@pytest.mark.parametrize("holdout", [True, False])
def test_a_near_copy_is_never_recommended_whatever_is_measured(holdout: bool) -> None:
    """Over every single measure and several sets, on values and on anchored scales."""
    alone, options = _case(holdout, "C"), {"rapid": {"trees": 20}, "membership_classifier": {"trees": 20, "folds": 2}}
    near = alone.pop("releases")["C"]
    pair, both, tried = gh.Pair(**alone, released={"C": near}), _case(holdout), 0
    for risk in [*([name] for name in SINGLES), *SETS]:
        case = both if risk in SETS else {"original": pair}
        given = {k: v for k, v in options.items() if k in risk}
        try:
            ru = gh.compare(**case, risk=risk, utility=["hellinger"], options=given, scale="minmax")
        except gh.InputError as problem:
            assert "none of the risk measures" in str(problem) or "rapid" in str(problem)
            continue
        tried += 1
        assert ru.recommended != "C", risk
        assert ru.verdicts["C"] == "fail" or "C" in ru.alarms, risk
        said_together(ru)
    assert tried > 15


def said_together(ru: gh.RUMap) -> None:
    """Words, verdicts and recommendation tell one story."""
    assert set(ru.verdicts.values()) <= {"pass", "warn", "fail", "incomplete"}
    lines = ru.text().splitlines()
    head = lines[0]
    if ru.recommended is None:
        assert head.startswith("No recommendation")
    else:
        assert head.startswith(f"Recommended: {ru.recommended}.")
        assert ru.verdicts[ru.recommended] != "fail" and ru.recommended not in ru.alarms
    for line in lines:
        assert not (re.search(r"\bFAIL\b", line) and "ecommended" in line), line
    for release, verdict in ru.verdicts.items():
        own = next(line for line in lines if line.startswith(f"{release}: "))
        assert own.startswith(f"{release}: {verdict.upper()}")


def test_each_release_has_the_verdict_of_an_assessment() -> None:
    case = _case(True)
    ru = gh.compare(**case, policy="research", measures=["near_copies", "disco", "hellinger"], scale="minmax")
    names = list(ru.results["B"])
    for release, table in case["releases"].items():
        roles = {k: case[k] for k in ("keys", "target", "holdout")}
        alone = gh.assess(case["original"], table, policy="research", measures=names, **roles)
        assert alone.verdict == ru.verdicts[release] == ru.assessments[release].verdict
        assert alone.results["near_copies"].value == ru.results[release]["near_copies"].value
    copies = {n for n, m in all_measures().items() if m.alone or m.alarm}
    assert copies and copies <= set(names), "the tests for copies are always run"


def test_releases_that_differ_by_noise_are_not_ordered() -> None:
    original, holdout = people(600, 1), people(600, 2)
    ru = gh.compare(
        original,
        {"first": people(600, 3), "second": people(600, 4)},
        holdout=holdout,
        risk=["near_copies", "domias"],
        utility=["hellinger", "wasserstein"],
        **ROLES,
    )
    assert "Risk does not separate first and second" in ru.text()
    best = max(ru.composites, key=lambda r: ru.composites[r]["utility"] or 0)
    if ru.recommended is not None and "told apart" in ru.recommend()["reason"]:
        assert ru.recommended == best
    said_together(ru)


def test_without_any_evidence_of_leaks_nothing_is_recommended(monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(False, "B")
    ru = gh.compare(**case, risk=["uniques"], utility=["hellinger"], scale="minmax")
    monkeypatch.setattr("glasshouse.judgement.rumap.recommendation.threats_with", lambda *_: [])
    assert ru.verdicts["B"] == "incomplete"
    assert ru.recommended is None and "nothing that was run could tell" in ru.recommend()["reason"]


def test_a_release_is_not_recommended_because_it_leaks() -> None:
    """Without a holdout a copied release has something assessed, a warning, and a clean one nothing."""
    rng = np.random.default_rng(21)

    def people(n: int) -> pl.DataFrame:
        z = rng.normal(size=n)
        near = rng.normal(size=(n, 2)) / 4
        return pl.DataFrame({"a": z, "b": z + near[:, 0], "c": z - near[:, 1], "k": rng.choice(list("abc"), n)})

    original, clean = people(500), people(500)
    leaky = pl.concat([clean[5:], original[:5]])
    ru = gh.compare(
        original,
        {"clean": clean, "leaky": leaky},
        keys=["k"],
        target="a",
        measures=["cap", "copula_fidelity", "exact_copies"],
    )
    assert ru.assessments["leaky"].threats["copying"].status in ("warn", "fail")
    assert ru.recommended != "leaky"


def test_a_pair_carries_the_roles_and_its_releases() -> None:
    example = gh.data.load("case_study")
    pair = example.pair()
    quick: dict[str, Any] = {"risk": ["near_copies"], "utility": ["hellinger"], "scale": "minmax"}
    given = gh.compare(pair, {"A": example.releases["A"], "C": example.releases["C"]}, **quick)
    apart = gh.compare(
        example.original,
        {"A": example.releases["A"], "C": example.releases["C"]},
        keys=list(example.keys),
        target=example.target,
        holdout=example.holdout,
        **quick,
    )
    assert given.raw.equals(apart.raw) and given.verdicts == apart.verdicts
    own = gh.compare(pair.replace(released=[example.releases["A"], example.releases["C"]]), **quick)
    assert own.releases == ["release 1", "release 2"]
    assert own.raw["near_copies"].to_list() == given.raw["near_copies"].to_list()
    assert gh.compare(pair, **quick).releases == ["release 1"]


def test_compare_takes_what_assess_takes() -> None:
    rng = np.random.default_rng(0)

    def homes(n: int, first: int) -> pl.DataFrame:
        return people(n, first).with_columns(
            home=pl.Series(np.arange(n) // 3 + first * 1000), w=pl.Series(rng.uniform(1, 2, n))
        )

    given: dict[str, Any] = {
        "cluster": "home",
        "exclude": ["y"],
        "schema": {"x": "numeric"},
        "missing": "level",
        "special_codes": {"x": [-8]},
        "holdout": homes(300, 2),
        "risk": ["near_copies"],
        "utility": ["hellinger"],
        **ROLES,
    }
    ru = gh.compare(homes(300, 1), {"A": homes(300, 3)}, policy="research", weights="w", **given)
    assert ru.source is not None and ru.source.cluster == "home" and ru.source.weights == "w"
    assert "y" not in ru.source.columns and ru.assessments["A"].policy.name == "research"
    both = gh.compare(
        homes(300, 1), {"A": homes(300, 3)}, weights={"near_copies": 2}, weights_column="w", scale="minmax", **given
    )
    assert both.source.weights == "w" and both.weights == {"near_copies": 2}
    with pytest.raises(gh.InputError, match="given twice"):
        gh.compare(homes(300, 1), {"A": homes(300, 3)}, weights="w", weights_column="w", **given)
    with pytest.raises(gh.InputError, match="no measure 'nope'"):
        gh.compare(homes(300, 1), {"A": homes(300, 3)}, measures="nope", **ROLES)


def test_releases_of_different_size_have_scales_of_their_own() -> None:
    original, holdout = people(600, 1), people(300, 2)
    ru = gh.compare(
        original,
        {"half": original[:300], "whole": original},
        holdout=holdout,
        risk=["near_copies"],
        utility=["hellinger"],
        **ROLES,
    )
    half, whole = ru.raw["near_copies"].to_list()
    assert half < 0.6 * whole, "a copy of half the people exposes half of them"
    assert ru.scaled["near_copies"].to_list() == pytest.approx([1, 1], abs=0.05)


def test_outside_no_figure_stands_for_few_people() -> None:
    original, holdout = people(400, 1), people(400, 2)
    released = pl.concat([original[:2], people(398, 3)])
    roles: dict[str, Any] = {"risk": ["exact_copies"], "utility": ["hellinger"], "holdout": holdout, **ROLES}
    ru = gh.compare(original, {"few": released, "all": original}, **roles)
    inside, outside = ru.content("internal"), ru.content("external")
    assert inside["measures"]["exact_copies"]["raw"][0] == pytest.approx(2 / 400)
    assert outside["measures"]["exact_copies"]["raw"][0] is None is outside["measures"]["exact_copies"]["scaled"][0]
    assert all(row["exposed"] is None for row in outside["releases"])
    assert outside["verdicts"] == inside["verdicts"] and "of 1,000" not in " ".join(outside["text"])
    assert all(row["risk"] == round(row["risk"], 2) for row in outside["releases"])


def test_adult_map_verdicts_and_words_agree(shared: Path) -> None:
    """Two CART releases beside a copy with noise; the verdicts are those of single assessments."""

    def read(name: str, rows: slice) -> pl.DataFrame:
        return pl.read_csv(shared / "data" / "adult" / f"adult_{name}.csv.gz", infer_schema_length=None)[rows]

    original, holdout = read("train", slice(1500)), read("holdout", slice(750))
    rng = np.random.default_rng(0)
    noisy = original.with_columns(hours_per_week=pl.col("hours_per_week") + rng.integers(-1, 2, 1500))
    releases = {f"cart {i}": read(f"syn_cart_{i}", slice(1500)) for i in (1, 2)} | {"noisy copy": noisy}
    roles: dict[str, Any] = {"keys": ["age", "sex", "race", "marital_status"], "target": "income", "holdout": holdout}
    ru = gh.compare(original, releases, risk=["near_copies", "domias"], utility=["hellinger", "association"], **roles)
    said_together(ru)
    assert ru.verdicts["noisy copy"] == "fail" and ru.recommended != "noisy copy"
    risk = {r: ru.composites[r]["risk"] or 0.0 for r in ru.releases}
    assert max(risk["cart 1"], risk["cart 2"]) < 0.3 < 0.6 < risk["noisy copy"]
    assert ru.ghosts["sample"]["risk"] < 0.15 < 0.99 < ru.ghosts["copy"]["risk"]
    for name, table in releases.items():
        assert gh.assess(original, table, measures=list(ru.results[name]), **roles).verdict == ru.verdicts[name]
