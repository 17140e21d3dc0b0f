"""A worker is a process in the environment of its package: jobs go in as JSON, a line of JSON per job comes out."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

Job = dict[str, Any]
Answer = dict[str, Any]


def last_words(text: str) -> str:
    """The line of an error output that says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def as_r(value: Any) -> str:
    """A job as an expression of R, which has no reader of JSON of its own."""
    if isinstance(value, dict):
        return "list(" + ", ".join(f"{json.dumps(str(name))} = {as_r(part)}" for name, part in value.items()) + ")"
    if isinstance(value, (list, tuple)):
        plain = bool(value) and all(isinstance(part, (str, int, float)) for part in value)
        return ("c(" if plain else "list(") + ", ".join(as_r(part) for part in value) + ")"
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return json.dumps(value, ensure_ascii=False)


def asked(python: Path, worker: Path, jobs: Sequence[Job], seconds: float, path: str = "") -> list[Answer]:
    """An answer per job, in their order. A job that fails has ``failed`` with the reason and takes no other along.

    A job that brings the process down fails as well, and a process of its own takes up the rest. ``seconds`` are CPU
    seconds of a process: on a busy machine the clock says nothing about a package. A process that sleeps is ended
    after forty times as long by the clock.
    """
    found: list[Answer] = []
    while len(found) < len(jobs):
        rest = list(jobs[len(found) :])
        answers, why = _process(python, worker, rest, seconds, path)
        found += answers
        if len(answers) < len(rest):
            found.append({"failed": why})
    return found


def _process(python: Path, worker: Path, jobs: Sequence[Job], seconds: float, path: str) -> tuple[list[Answer], str]:
    """What one process answered before it ended, and why it ended early."""
    # one thread for everybody: CPU seconds then mean the same on both sides
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    surroundings = {**os.environ, **threads, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        in_r = worker.suffix == ".R"
        said, heard = Path(folder) / "jobs", Path(folder) / "answers.jsonl"
        said.write_text((as_r if in_r else json.dumps)(list(jobs)), encoding="utf-8")
        command = [str(python), *(["--vanilla"] if in_r else []), str(worker), str(said), str(heard)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=40 * seconds,
                env=surroundings,
                cwd=folder,  # where what a package leaves behind goes away
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (ceil(seconds), ceil(seconds) + 5)),
            )
            why = f"the process ended with {done.returncode}: {last_words(done.stderr)}"
            if done.returncode == -signal.SIGXCPU:
                why = f"not finished after {seconds:,.0f} CPU s"
        except subprocess.TimeoutExpired:
            why = f"not finished after {40 * seconds:,.0f} s by the clock"
        except OSError as problem:
            why = f"could not be started: {problem.strerror}"
        lines = heard.read_text(encoding="utf-8").splitlines() if heard.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("}")], why
