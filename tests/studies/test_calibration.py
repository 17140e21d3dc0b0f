"""The calibration study in small: clean releases do not fail, copies do, and what is printed is what decided.

Bounds are wide and seeds fixed: this notices when the decision breaks, `make calibration` says how good it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from studies.cases import Case, cases
from studies.contradictions import contradictions
from studies.kinds import KINDS, Missing
from studies.leaks import LEAKS

import glasshouse as gh
from studies import calibration, calibration_report

CHEAP = ("weak", "categorical", "numeric", "households")
N = 400
CLEAN_RUNS = 3
POLICIES = (None, *calibration.PRESETS)


@cache
def assessed(kind: str, leak: str, seed: int) -> Any:
    pair = Case(kind, leak, seed, N).build().pair()
    return gh.assess(pair, measures=calibration.disclosure_measures(), random_state=seed, n_jobs=1)


def on_one_worker(kind: str, *more: Any) -> Any:
    """Tests of one kind of data share their assessments, so they run in one process."""
    return pytest.param(kind, *more, marks=pytest.mark.xdist_group(f"calibration-{kind}"))


def under(found: Any, policy: str | None) -> Any:
    return found if policy is None else found.under(policy)


# -- what the cases are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_original_release_and_holdout_share_nobody_and_have_the_stated_roles(kind: str) -> None:
    try:
        world = Case(kind, "clean", 0, 300).build()
    except Missing as why:
        pytest.skip(str(why))
    assert {*world.kind.keys, world.kind.target} <= set(world.original.columns)
    assert world.holdout is not None
    if world.kind.cluster is not None:
        tables = [set(t[world.kind.cluster].to_list()) for t in (world.original, world.released, world.holdout)]
        assert not (tables[0] & tables[1] or tables[0] & tables[2] or tables[1] & tables[2])
    if kind in ("numeric", "wide"):  # continuous: whoever is in two tables was copied
        everybody = pl.concat([world.original, world.released, world.holdout])
        assert everybody.is_duplicated().sum() == 0
    again = Case(kind, "clean", 0, 300).build()
    assert again.original.equals(world.original)


def copied(world: Any) -> int:
    """Released records that equal an original one in every column."""
    columns = [c for c in world.original.columns if c != world.kind.cluster]
    ours = world.released.select(columns)
    return ours.join(world.original.select(columns).unique(), on=columns, how="semi", nulls_equal=True).height


@pytest.mark.parametrize(
    ("leak", "expected"),
    [("clean", 0), ("verbatim_0.5", 2), ("verbatim_5", 20), ("outlier_50", 20), ("outlying_1", 4), ("holdout_20", 0),
     ("noisy_5", 0), ("rounded_5", 0), ("keys_5", 0), ("no_holdout_5", 20), ("beside_noise_2", 0)],
)  # fmt: skip
def test_a_leak_plants_as_many_copies_as_it_says(leak: str, expected: int) -> None:
    world = Case("numeric", leak, 1, 400).build()
    assert copied(world) == expected
    assert world.released.height == 400


def test_near_copies_differ_in_what_they_say_they_differ_in() -> None:
    clean, noisy = (Case("numeric", leak, 1, 400).build() for leak in ("clean", "noisy_5"))
    changed = (clean.released["x1"] != noisy.released["x1"]).to_numpy()
    assert changed.sum() == 20
    nearest = np.abs(noisy.released["x1"].to_numpy()[changed][:, None] - noisy.original["x1"].to_numpy()).min(axis=1)
    assert nearest.max() < 0.06 * float(noisy.original["x1"].std())
    keys = Case("weak", "keys_5", 1, 400).build()
    roles = [*keys.kind.keys, keys.kind.target]
    ours = keys.released.join(keys.original, on=roles, how="semi")
    assert ours.height >= 20
    one = Case("numeric", "cell_2", 1, 400).build()
    agree = sum((one.released[c].is_in(one.original[c].to_list())).to_numpy().astype(int) for c in one.original.columns)
    assert sorted(agree)[-8:] == [6] * 8 and sorted(agree)[-9] == 0


def test_whole_clusters_are_copied_whole() -> None:
    world = Case("panel", "clusters_5", 1, 400).build()
    assert copied(world) == 5 * 4
    assert world.released.height == 400
    named = Case("weak", "names", 1, 300).build()
    assert set(named.released["name"].to_list()) == set(named.original["name"].to_list())


def test_seeds_are_outermost_and_rare_leaks_are_spread() -> None:
    order = list(cases({"clean": 4, "verbatim_1": 2}, ["weak", "numeric"], 100))
    assert [(c.leak, c.seed) for c in order if c.kind == "weak"] == [
        ("clean", 0), ("clean", 1), ("verbatim_1", 0), ("clean", 2), ("clean", 3), ("verbatim_1", 1),
    ]  # fmt: skip


# -- what the verdict says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [on_one_worker(kind) for kind in CHEAP])
def test_clean_releases_do_not_fail(kind: str) -> None:
    failed = [
        (s, p) for s in range(CLEAN_RUNS) for p in POLICIES if under(assessed(kind, "clean", s), p).verdict == "fail"
    ]
    assert failed == []


@pytest.mark.parametrize("kind", [on_one_worker(kind) for kind in CHEAP])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_twentieth_copied_fails(kind: str, policy: str | None) -> None:
    for seed in range(2):
        found = under(assessed(kind, "verbatim_5", seed), policy)
        assert (found.verdict, found.exit_code) == ("fail", 1)
        assert found.threats["copying"].status == "fail"


@pytest.mark.parametrize("kind", [on_one_worker("weak"), on_one_worker("numeric")])
def test_copies_of_people_never_in_the_data_are_no_leak(kind: str) -> None:
    assert assessed(kind, "holdout_20", 0).verdict != "fail"


def everything() -> Iterator[tuple[str, str, int]]:
    for kind in CHEAP:
        yield from ((kind, "clean", seed) for seed in range(CLEAN_RUNS))
        yield from ((kind, "verbatim_5", seed) for seed in range(2))
    yield from (("weak", leak, 0) for leak in ("keys_5", "no_holdout", "no_holdout_5", "outlier_50", "names"))


@pytest.mark.parametrize(("kind", "leak", "seed"), [on_one_worker(*case) for case in everything()])
def test_rule_status_words_and_exit_code_agree(kind: str, leak: str, seed: int) -> None:
    found = assessed(kind, leak, seed)
    said = {policy: contradictions(under(found, policy)) for policy in POLICIES}
    assert {policy: text for policy, text in said.items() if text} == {}


@pytest.mark.xdist_group("calibration-weak")
def test_a_contradiction_is_noticed() -> None:
    """The check itself can fail: another threat, another sentence, another rule."""
    found = assessed("weak", "verbatim_5", 0)
    copying = found.threats["copying"]
    passing = replace(found, threats={**found.threats, "copying": replace(copying, status="pass")})
    assert any("its threat copying pass" in text for text in contradictions(passing))
    calm = replace(found, threats={**found.threats, "copying": replace(copying, sentence="No leak was found.")})
    assert any("copying is fail and says" in text for text in contradictions(calm))


# -- the study's own files ---------------------------------------------------------------------------------------------


def test_a_study_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    done: list[Case] = []

    def work(case: Case) -> dict[str, Any]:
        done.append(case)
        return {"kind": case.kind, "leak": case.leak, "seed": case.seed, "n": case.n}

    path = tmp_path / "runs.jsonl"
    wanted = list(cases({"clean": 3}, ["weak"], 100))
    calibration.study(path, work, wanted[:2])
    path.write_text(path.read_text() + '{"kind": "we')  # cut off by an interrupt
    calibration.study(path, work, wanted)
    assert done == wanted
    assert [d["seed"] for d in calibration.lines(path)] == [0, 1, 2]


def test_the_page_says_which_goals_are_met() -> None:
    threat = {"status": "pass", "decided_by": "m", "p_value": 0.5, "detection_limit": 0.01, "effect": 0.0}

    def line(leak: str, seed: int, verdict: str) -> dict[str, Any]:
        told = {"verdict": verdict, "exit": 0, "advice": None, "contradictions": [],
                "threats": {t: {**threat, "status": verdict} for t in calibration_report.THREATS}}  # fmt: skip
        return {
            "kind": "weak", "leak": leak, "seed": seed, "n": 100, "seconds": 1.0, "utility": {},
            "verdicts": dict.fromkeys(calibration_report.POLICIES, told),
            "measures": {"m": {"p": 0.02 if leak != "clean" else 0.2, "status": "ok", "seconds": 0.1}},
        }  # fmt: skip

    lines = [line("clean", s, "pass") for s in range(20)] + [line("verbatim_2", s, "warn") for s in range(10)]
    lines = json.loads(
        json.dumps([*lines, {"kind": "adult", "leak": "clean", "seed": 0, "n": 100, "skipped": "no file"}])
    )
    page = calibration_report.page(lines, [{"kind": "weak", "seed": 0, "n": 100, "choice": "verbatim_2"}])
    assert "| clean: FAIL | ≤ 2 | 20 | 0±3 met |" in page
    assert "| 2 % verbatim: FAIL | ≥ 95 | 10 | 0±7 **not met** |" in page
    assert "| 2 % copied as they are | 100±7 of 10 | – of 0 |" in page
    assert "A leaking release was recommended in 100±43 % of 1 runs" in page
    assert "- adult: no file" in page
    assert all(LEAKS[leak].words in page for leak in ("clean", "verbatim_2"))
