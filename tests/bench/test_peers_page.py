"""The page of the peer benchmarks, from made-up answers: what it counts, what it says, what it keeps to itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.peers import decision_tables, decisions, page, speed_tables


def timed(tool: str, cpu: float, n: int = 100, **more: Any) -> dict[str, Any]:
    made = {"key": f"{tool}{n}", "part": "speed", "data": "simulated", "row": "quality", "n": n, "attacks": 5}
    return {**made, "tool": tool, "cpu": cpu, "wall": cpu, "peak": 50.0, "load": 2.0, "figures": {}, **more}


def test_the_table_says_where_a_peer_is_faster_and_what_failed() -> None:
    failed = {k: v for k, v in timed("sdmetrics", 1, 200).items() if k != "cpu"} | {"failed": "it broke"}
    lines = [timed("sdmetrics", 1.0), timed("glasshouse", 4.0), failed, timed("glasshouse", 9.0, 200)]
    text = page.page(lines)
    assert "| quality report / utility set | SDMetrics | 100 | 1.00 | 4.00 | 0.25 | 50 | 50 |" in text
    assert "SDMetrics is faster at quality report / utility set (4.0 times)" in text
    assert "quality report / utility set, 200 records, SDMetrics: it broke" in text
    assert speed_tables.ratio(failed, lines[1]) is None
    assert len(speed_tables.growth(lines)) == 3


def test_a_full_run_stands_for_a_quick_one_and_the_same_figures_are_held_against_each_other() -> None:
    theirs = timed("riskcal", 2.0, 500, row="advantage", attacks=500, figures={"0.1": 0.25, "0.5": 0.5})
    ours = timed("glasshouse", 1.0, 500, row="advantage", attacks=500, figures={"0.1": 0.26, "0.5": 0.5})
    quick = [timed("sdmetrics", 1.0), timed("glasshouse", 4.0)]
    text = page.page([*quick, theirs, ours])
    assert "2 figures of riskcal and of glasshouse differ by at most 0.01." in text
    assert "quality report / utility set" not in text and "| riskcal | – | 2.00 | 1.00 | 2.00 |" in text


def case(tool: str, figures: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    made = {"key": f"{tool}{seed}", "part": "case", "kind": "weak", "leak": "clean", "seed": seed, "n": 50, "load": 1.0}
    return {**made, "attacks": 5, "tool": tool, "cpu": 1.0, "figures": figures}


def test_decisions_are_counted_over_seeds_and_no_threshold_is_invented() -> None:
    lines = [
        case("glasshouse", {"verdict": "pass"}),
        case("glasshouse", {"verdict": "warn"}, 1),
        case("anonymeter", {"linkability": {"risk": 0.1, "low": 0.02}, "singling_out": {"failed": "no queries"}}),
        case("anonymeter", {"linkability": {"risk": 0.3, "low": -0.1}}, 1),
        case("sdmetrics", {"overfitting": {"score": 0.5}}),
        case("sdmetrics", {"overfitting": {"score": 0.7}}, 1),
    ]
    (row,) = decision_tables.told(lines)[2:3]
    cells = [c.strip() for c in row.split("|")]
    assert cells[2:5] == ["1 pass, 1 warn", "50±35", "– / 0.20±0.10 / –"]
    assert cells[5] == "0.60±0.10 / – / –"
    assert decision_tables.failures(lines) == ["- anonymeter singling_out: no queries (1 cases)"]
    assert set(decisions.READ) == set(decisions.TOOLS)


def test_an_empty_run_makes_a_page_that_says_so(tmp_path: Path) -> None:
    page.write([], tmp_path)
    text = (tmp_path / "benchmarks-peers.md").read_text(encoding="utf-8")
    assert "No question was answered by both sides." in text and "No case was run." in text
    page.write([timed("sdmetrics", 1.0), timed("glasshouse", 4.0)], tmp_path)
    assert (tmp_path / "benchmarks-peers.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_table_of_growth_has_every_size_and_the_power() -> None:
    lines = [
        timed(tool, cpu * n, n) for n in (100, 400) for tool, cpu in (("sdmetrics", n / 1e4), ("glasshouse", 0.01))
    ]
    text = speed_tables.growth_table([*lines, timed("sdmetrics", 99.0, 800)])
    assert "| question | peer | 100 | 400 | 800 | power |" in text
    assert "| quality report / utility set | SDMetrics | 1.00 / 1.00 | 16 / 4.00 | – | 2.0 / 1.0 |" in text
    assert speed_tables.growth_table(lines[:2]) == []


def test_memory_that_the_system_does_not_tell_is_a_dash() -> None:
    text = "\n".join(speed_tables.speed([timed("sdmetrics", 1.0, peak="NA"), timed("glasshouse", 1.0)]))
    assert "| 1.00 | – | 50 |" in text and "less memory" not in text
    assert "less memory: 1 of 1 questions (SDMetrics)" in "\n".join(
        speed_tables.speed([timed("sdmetrics", 1.0, peak=49.0), timed("glasshouse", 1.0)])
    )


def test_a_question_that_is_asked_up_to_a_size_says_so() -> None:
    lines = [timed(tool, 1.0, n, row="overfitting") for n in (4_000, 8_000) for tool in ("sdmetrics", "glasshouse")]
    text = "\n".join(speed_tables.speed([d for d in lines if d["n"] == 4_000] + [timed("sdmetrics", 1.0, 8_000)]))
    assert "SDMetrics was asked about 4,000 records at most." in text


def test_figures_with_chance_in_them_are_held_against_two_seeds() -> None:
    def forest(tool: str, own: float, warmed: float) -> dict[str, Any]:
        first, second = ({"own": x, "accuracy": 0.5, "rapid": 0.5} for x in (own, warmed))
        return timed(tool, 1.0, row="forest", figures=first, warmed=second)

    text = "\n".join(speed_tables.agreement([forest("ranger", 0.5, 0.52), forest("glasshouse", 0.53, 0.53)]))
    assert "of ranger (R) and of glasshouse differ by at most 0.03." in text
    assert "Two runs of one side that differ in the seed differ by up to 0.02." in text


def test_trees_are_the_same_where_their_leaves_hold_the_same_records() -> None:
    figures = {"own": 0.5, "rapid": 0.5, "error": 2.0, "class_leaves": 5, "number_leaves": 9}
    theirs = {**figures, "class_grouping": "a", "number_grouping": "b"}
    ours = {**theirs, "number_grouping": "c", "number_leaves": 7}
    lines = [timed("rpart", 1.0, row="trees", figures=theirs), timed("glasshouse", 1.0, row="trees", figures=ours)]
    text = "\n".join(speed_tables.agreement(lines))
    assert "the same training records in 1 of 2 trees" in text and "(up to 9) differ by at most 2" in text


def test_figures_are_compared_with_the_clean_release_of_the_same_people() -> None:
    lines = [case("sdmetrics", {"overfitting": {"score": score}}, seed) for seed, score in enumerate((0.5, 0.5, 0.5))]
    leaking = [{**d, "leak": "keys_5"} for d in lines[:2]]
    leaking[0]["figures"] = {"overfitting": {"score": 0.4}}
    text = "\n".join(decision_tables.over_kinds([*lines, *leaking]))
    assert "| keys and target of 5 %, the rest redrawn | 2 | – | – | 75 |" in text  # one worse, one equal
    assert "| clean | 3 | – | – | – |" in text
    assert decision_tables.over_kinds([]) == []


def test_the_page_says_what_could_have_been_seen() -> None:
    limits = {"copying": 0.013, "identity": 0.04, "attribute": 0.1, "membership": None}
    clean = case("glasshouse", {"verdict": "pass", "limits": limits})
    leaking = {**case("glasshouse", {"verdict": "pass"}, 1), "leak": "keys_5"}
    text = "\n".join(decision_tables.limits([clean, leaking]))
    assert "| mixed columns, weakly related | 1.3 | 4.0 | 10.0 | – |" in text
    assert "of 1 releases with those of 5 % of the people, 1 passed." in text
    assert decision_tables.limits([]) == []
