"""The workers in R: what they write is JSON, what fails takes no other along, and trees are our trees."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from bench.peers import __main__ as runner
from bench.peers import tasks
from bench.peers.environments import HERE, OURS, PEERS, Absent, interpreter
from bench.peers.process import as_r, asked

WORKER = """
source({harness!r})
serve(list(
  add = function(tables, options) list(sum = options$a + options$b, word = "say \\"no\\"", none = NaN),
  rows = function(tables, options) list(rows = nrow(tables$original)),
  fail = function(tables, options) stop("no such thing")
))
"""


def rscript() -> Path:
    found = shutil.which("Rscript")
    if found is None:
        pytest.skip("there is no R here")
    return Path(found)


def test_a_job_is_an_expression_of_r() -> None:
    job = {"question": "add", "options": {"a": 1, "keys": ["x", "y"], "sides": [["x"], []], "no": None, "yes": True}}
    assert as_r([job]) == (
        'list(list("question" = "add", "options" = list("a" = 1, "keys" = c("x", "y"), '
        '"sides" = list(c("x"), list()), "no" = NULL, "yes" = TRUE)))'
    )
    assert as_r('a "b" \\ é') == '"a \\"b\\" \\\\ é"'


def test_r_answers_in_json_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    worker = tmp_path / "worker.R"
    worker.write_text(WORKER.format(harness=str(HERE / "workers" / "harness.R")), encoding="utf-8")
    table = tmp_path / "t.csv"
    table.write_text("a,b c\\n1,x\\n2,y\\n3,z\\n".replace("\\n", "\n"), encoding="utf-8")
    add = {"question": "add", "options": {"a": 1, "b": 2}, "tables": {}, "warm": 0}
    rows = {"question": "rows", "options": {}, "tables": {"original": str(table)}, "warm": 2, "warm_options": {}}
    jobs = [add, {**add, "question": "fail"}, rows, {**add, "question": "unknown"}]
    found = asked(rscript(), worker, jobs, 30)
    assert found[0]["figures"] == {"sum": 3, "word": 'say "no"', "none": "NaN"} and "warmed" not in found[0]
    assert found[1] == {"failed": "no such thing"} and "unknown" in found[3]["failed"]
    assert found[2]["figures"] == {"rows": 3} and found[2]["warmed"] == {"rows": 2}
    assert found[2]["cpu"] >= 0
    assert found[2]["peak"] == "NA" or found[2]["peak"] > 5  # MiB; only Linux tells


@pytest.mark.parametrize("name", ["forest", "trees"])
def test_models_of_r_are_ours(name: str, tmp_path: Path) -> None:
    row = next(r for r in tasks.ROWS if r.name == name)
    try:
        python = interpreter(PEERS[row.peer])
    except Absent as why:
        pytest.skip(str(why))
    theirs, ours = tasks.jobs(row, "simulated", 300, tasks.written("simulated", 300, tmp_path), 7)
    (a,) = runner.ask(PEERS[row.peer], [theirs], 60, python)
    (b,) = runner.ask(OURS, [ours], 60)
    if name == "trees":
        assert a["figures"] == {**b["figures"], "own": pytest.approx(b["figures"]["own"], abs=1e-12),
                                "rapid": pytest.approx(b["figures"]["rapid"]),
                                "error": pytest.approx(b["figures"]["error"])}  # fmt: skip
    else:
        assert a["figures"]["own"] == pytest.approx(b["figures"]["own"], abs=0.02)
        assert a["figures"]["own"] != a["warmed"]["own"]  # the seed is passed on


@pytest.mark.parametrize("name", ["forest", "trees", "synthesis"])
def test_our_side_answers_without_r(name: str, tmp_path: Path) -> None:
    row = next(r for r in tasks.ROWS if r.name == name)
    _, ours = tasks.jobs(row, "simulated", 120, tasks.written("simulated", 120, tmp_path), 7)
    (answer,) = runner.ask(OURS, [ours], 60)
    shares = {"forest": ["own", "accuracy", "rapid"], "trees": ["own", "rapid"], "synthesis": ["target"]}[name]
    assert all(0 < answer["figures"][share] < 1 for share in shares)
    assert name == "trees" or answer["figures"] != answer["warmed"]
