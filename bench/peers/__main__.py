"""Measures, keeps every answer, and writes the page.

    python -m bench.peers run [--quick] [--only NAME ...] [--no-install] [--part speed|decisions]
    python -m bench.peers report

What the file of answers already holds is not asked again, so that a run can be stopped and taken up.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers import decisions, tasks
from bench.peers.environments import FOLDER, OURS, PEERS, ROOT, Absent, Peer, held, interpreter, machine
from bench.peers.process import Answer, asked

KEPT = FOLDER / "peers.jsonl"
LIMIT, QUICK_LIMIT = 300.0, 60.0
BATCH = 21  # cases of the decisions that one process answers: loading a package costs more than a case


def lines(path: Path) -> list[dict[str, Any]]:
    """The answers so far, the last one to each question; a line cut off by an interrupt is left out."""
    if not path.is_file():
        return []
    told = [json.loads(t) for t in path.read_text(encoding="utf-8").splitlines() if t.endswith("}")]
    return list({line["key"]: line for line in told}.values())


class Keeper:
    """Appends answers as they come, and knows which are there; ``late`` when nothing new is to be begun."""

    def __init__(self, path: Path, stop_after: float = float("inf")) -> None:
        self.path = path
        self.end = time.perf_counter() + stop_after
        self.held = {line["key"] for line in lines(path)}
        path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def late(self) -> bool:
        return time.perf_counter() > self.end

    def add(self, key: str, **said: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **said}) + "\n")
        self.held.add(key)
        if said.get("part") != "machine":
            print(f"{key}: {said.get('failed') or format(said['cpu'], '.2f') + ' CPU s'}", flush=True)


def ask(peer: Peer, jobs: list[dict[str, Any]], seconds: float, python: Path | None = None) -> list[Answer]:
    """Answers of one package. Ours is asked with this interpreter, in a process of its own like all others."""
    if peer is OURS:
        return asked(Path(sys.executable), peer.worker, jobs, seconds, path=str(ROOT / "src"))
    assert python is not None
    return asked(python, peer.worker, jobs, seconds)


def speed(keep: Keeper, pythons: dict[str, Path], quick: bool, limit: float) -> None:
    """Every row at every size: one process per answer, so that its peak memory is its own."""
    data = tasks.source()
    attacks = tasks.QUICK_ATTACKS if quick else tasks.ATTACKS
    given_up: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as folder:
        for n in tasks.QUICK_SIZES if quick else tasks.SIZES:
            paths = tasks.written(data, n, Path(folder))
            for row in tasks.ROWS:
                if row.peer not in pythons or n > (row.largest or (500 if quick else 1_000)):
                    continue
                theirs, ours = tasks.jobs(row, data, n, paths, attacks)
                for peer, job in ((PEERS[row.peer], theirs), (OURS, ours)):
                    key = f"speed/{data}/{row.name}/{n}/{attacks}/{peer.name}"
                    if keep.late or key in keep.held or (row.name, peer.name) in given_up:
                        continue
                    answer = ask(peer, [job], limit, pythons.get(row.peer))[0]
                    if "not finished" in answer.get("failed", ""):
                        given_up.add((row.name, peer.name))
                    keep.add(key, part="speed", data=data, row=row.name, n=n, attacks=attacks, tool=peer.name, **answer)


def decide(keep: Keeper, pythons: dict[str, Path], quick: bool, limit: float, seeds: int) -> None:
    """Every case to every tool, seeds outermost."""
    attacks = decisions.QUICK_ATTACKS if quick else decisions.ATTACKS
    every = list(decisions.cases(seeds, decisions.QUICK_LEAK_NAMES if quick else decisions.LEAK_NAMES))
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(every), BATCH):
            for tool in decisions.TOOLS:
                peer = OURS if tool == "glasshouse" else PEERS[tool]
                if peer is not OURS and tool not in pythons:
                    continue
                some = every[first : first + BATCH]
                keys = {f"case/{c.kind}/{c.leak}/{c.seed}/{c.n}/{attacks}/{tool}": c for c in some}
                todo = {key: c for key, c in keys.items() if key not in keep.held}
                if keep.late or not todo:
                    continue
                jobs = [decisions.job(c, Path(folder), attacks, peer is OURS) for c in todo.values()]
                for (key, c), answer in zip(
                    todo.items(), ask(peer, jobs, limit * BATCH, pythons.get(tool)), strict=True
                ):
                    about = {"kind": c.kind, "leak": c.leak, "seed": c.seed, "n": c.n, "attacks": attacks}
                    keep.add(key, part="case", tool=tool, **about, **answer)


def found(only: list[str], install: bool, say: Callable[[str], None] = print) -> tuple[dict[str, Path], list[str]]:
    """The interpreters of the peers that can be asked, and a sentence for each that cannot."""
    pythons, absent = {}, []
    for peer in PEERS.values():
        if only and peer.name not in only:
            continue
        try:
            pythons[peer.name] = interpreter(peer, install)
        except Absent as why:
            absent.append(str(why))
            say(str(why))
    return pythons, absent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    step = parser.add_subparsers(dest="step", required=True)
    run = step.add_parser("run")
    run.add_argument("--quick", action="store_true", help="small tables, fewer attacks, one seed: under 15 minutes")
    run.add_argument("--only", nargs="+", default=[], choices=PEERS)
    run.add_argument("--no-install", action="store_true", help="ask only what is installed in .bench/")
    run.add_argument("--part", choices=("speed", "decisions"))
    run.add_argument("--seeds", type=int)
    run.add_argument("--stop-after", type=float, default=float("inf"), help="seconds after which nothing new is begun")
    run.add_argument("--file", type=Path, default=KEPT)
    report = step.add_parser("report")
    report.add_argument("--file", type=Path, default=KEPT)
    report.add_argument("--to", type=Path, default=ROOT / "docs")
    told = parser.parse_args()
    if told.step == "report":
        from bench.peers.page import write

        write(lines(told.file), told.to)
        return
    started = time.perf_counter()
    pythons, absent = found(told.only, not told.no_install)
    keep = Keeper(told.file, told.stop_after)
    where = json.loads(machine())
    in_r = {name: held(python, PEERS[name].package) for name, python in pythons.items() if not PEERS[name].index}
    keep.add("machine", part="machine", absences=absent, in_r=in_r, **where)
    limit = QUICK_LIMIT if told.quick else LIMIT
    if told.part != "decisions":
        speed(keep, pythons, told.quick, limit)
    if told.part != "speed":
        seeds = told.seeds or (decisions.QUICK_SEEDS if told.quick else decisions.SEEDS)
        decide(keep, pythons, told.quick, limit, seeds)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{time.perf_counter() - started:,.0f} s by the clock, {spent.ru_utime + spent.ru_stime:,.0f} CPU s; "
        "`python -m bench.peers report` writes the page"
    )


if __name__ == "__main__":
    main()
