"""The runner of the peer benchmarks, without any peer: what is missing is said, what fails takes no other along."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench.peers import __main__ as runner
from bench.peers import decisions, environments, tasks
from bench.peers.environments import OURS, PEERS, Absent, Peer
from bench.peers.process import asked, last_words
from studies.cases import Case

WORKER = """
import os, sys, time
sys.path.insert(0, {folder!r})
from harness import serve

def add(tables, a, b):
    return {{"sum": a + b}}

def fail(tables):
    raise ValueError("no such thing")

def die(tables):
    sys.stderr.write("killed by its own hand\\n")
    os._exit(3)

def spin(tables):
    while True:
        pass

def burn(tables, seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return {{"nothing": float("nan")}}

serve({{f.__name__: f for f in (add, fail, die, spin, burn)}})
"""


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    path = tmp_path / "worker.py"
    path.write_text(WORKER.format(folder=str(environments.HERE / "workers")), encoding="utf-8")
    return path


def python() -> Path:
    return Path(sys.executable)


def test_a_job_that_fails_and_one_that_dies_take_no_other_along(worker: Path) -> None:
    add = {"question": "add", "options": {"a": 1, "b": 2}}
    jobs = [add, {"question": "fail"}, add, {"question": "die"}, add, {"question": "unknown"}]
    found = asked(python(), worker, jobs, 30)
    assert [a.get("figures") for a in found] == [{"sum": 3}, None, {"sum": 3}, None, {"sum": 3}, None]
    assert found[1]["failed"] == "ValueError: no such thing"
    assert found[3]["failed"] == "the process ended with 3: killed by its own hand"
    assert "unknown" in found[5]["failed"]


def test_cpu_seconds_memory_and_figures_that_are_no_number(worker: Path) -> None:
    (answer,) = asked(python(), worker, [{"question": "burn", "options": {"seconds": 0.2}}], 30)
    assert 0.2 <= answer["cpu"] < 1 and answer["wall"] >= 0.15
    assert 5 < answer["peak"] < 500  # MiB of a bare interpreter
    assert answer["figures"] == {"nothing": "nan"}


def test_a_job_without_end_is_ended_by_its_cpu_seconds(worker: Path) -> None:
    (answer,) = asked(python(), worker, [{"question": "spin"}], 1)
    assert answer["failed"] == "not finished after 1 CPU s"


def test_an_interpreter_that_is_not_there_is_told(worker: Path, tmp_path: Path) -> None:
    (answer,) = asked(tmp_path / "nowhere", worker, [{"question": "add"}], 5)
    assert answer["failed"].startswith("could not be started")
    assert last_words("one\n\n two \n") == "two" and last_words("") == "it said nothing"


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.index])
def test_a_peer_that_is_not_installed_gives_a_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(Absent, match=rf"{PEERS[name].title} {PEERS[name].version}: not installed"):
        environments.interpreter(PEERS[name], install=False, folder=tmp_path / ".bench")


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_has_a_worker_that_is_asked_in_some_row(name: str) -> None:
    assert PEERS[name].worker.is_file()
    assert any(row.peer == name for row in tasks.ROWS)


def test_without_r_its_packages_give_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    with pytest.raises(Absent, match="there is no R here"):
        environments.interpreter(PEERS["synthpop"])


def test_an_r_without_the_package_gives_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.shutil, "which", lambda name: "/somewhere/Rscript")
    monkeypatch.setattr(environments, "held", lambda interpreter, package: None)
    with pytest.raises(Absent, match=r"synthpop .R.: not measured, the R here does not have it"):
        environments.interpreter(PEERS["synthpop"])


def test_a_package_the_index_does_not_have_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(step: list[str], **_: Any) -> Any:
        made = type("Done", (), {"stdout": "", "stderr": "looking\nERROR: no matching distribution", "returncode": 1})
        return made()

    monkeypatch.setattr(environments.subprocess, "run", refused)
    with pytest.raises(Absent, match=r"could not be installed .ERROR: no matching distribution"):
        environments.interpreter(Peer("nothing", "nothing", "1.0", "Nothing"), folder=tmp_path)


@pytest.mark.parametrize("row", tasks.ROWS, ids=lambda row: row.name)
def test_both_sides_are_given_the_same_files_and_roles(row: tasks.Row, tmp_path: Path) -> None:
    paths = tasks.written("simulated", 30, tmp_path)
    theirs, ours = tasks.jobs(row, "simulated", 30, paths, 7)
    if row.both_warm:
        assert theirs["warm"] == ours["warm"] == 30 and theirs["warm_options"] == ours["warm_options"] == {"seed": 1}
    assert theirs["tables"] == ours["tables"] == (paths if row.largest else {})
    for job in (theirs, ours):
        json.dumps(job)
        if row.largest:
            assert job["options"]["target"] == "ill"
    if row.name == "linkability":
        assert ours["options"]["given"]["linkability"]["columns"] == theirs["options"]["sides"]
    if row.peer == "anonymeter":
        assert theirs["options"]["n_attacks"] == 7 and 7 in ours["options"]["given"][row.name].values()
    if row.largest:
        heights = {pl.read_csv(path).height for path in paths.values()}
        assert heights == {30}


def test_our_worker_answers_as_the_library_does(tmp_path: Path) -> None:
    import glasshouse as gh

    row = next(r for r in tasks.ROWS if r.name == "levels")
    paths = tasks.written("simulated", 60, tmp_path)
    (answer,) = runner.ask(OURS, [tasks.jobs(row, "simulated", 60, paths, 7)[1]], 60)
    tables = {role: pl.read_csv(path) for role, path in paths.items()}
    pair = gh.Pair(**tables, **tasks.ROLES["simulated"])
    assert answer["figures"]["k_anonymity"]["value"] == pytest.approx(gh.disclosure.k_anonymity(pair).value)


def test_only_a_tool_that_knows_clusters_is_given_their_numbers(tmp_path: Path) -> None:
    case = Case("households", "clusters_2", 0, 60)
    theirs, ours = (decisions.job(case, tmp_path, 5, knows) for knows in (False, True))
    columns = [pl.read_csv(job["tables"]["original"]).columns for job in (theirs, ours)]
    assert [c for c in columns[1] if c not in columns[0]] == ["house"]
    assert ours["options"]["cluster"] == "house" and not any("house" in side for side in theirs["options"]["sides"])
    assert all(d.kind == "households" for d in decisions.cases(1) if d.leak == "clusters_2")


def test_our_verdict_is_asked_with_the_clusters_and_says_its_limits(tmp_path: Path) -> None:
    job = decisions.job(Case("households", "clean", 0, 60), tmp_path, 5, knows_clusters=True)
    (answer,) = runner.ask(OURS, [job], 120)
    assert answer["figures"]["verdict"] in ("pass", "warn", "fail", "incomplete")
    assert set(answer["figures"]["limits"]) == set(decisions.THREATS)


def test_a_run_takes_up_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def answered(peer: Peer, jobs: list[Any], *_: Any) -> list[dict[str, Any]]:
        calls.extend(peer.name for _ in jobs)
        return [{"cpu": 1.0, "wall": 1.0, "peak": 9.0, "load": 0.0, "figures": {}} for _ in jobs]

    monkeypatch.setattr(runner, "ask", answered)
    monkeypatch.setattr(tasks, "source", lambda: "simulated")
    monkeypatch.setattr(tasks, "QUICK_SIZES", (20,))
    file = tmp_path / "kept.jsonl"
    pythons = {"pycanon": python()}
    runner.speed(runner.Keeper(file), pythons, True, 1)
    assert sorted(calls) == ["glasshouse", "pycanon"]
    file.write_text(file.read_text() + '{"key": "cut o', encoding="utf-8")
    runner.speed(runner.Keeper(file), pythons, True, 1)
    assert len(calls) == 2
    runner.decide(runner.Keeper(file, stop_after=-1), pythons, True, 1, 1)
    assert len(calls) == 2
