"""What every worker does: read the jobs, run each after a small warm-up, write time, memory and figures.

Only the standard library and pandas, which every peer brings; runs in the environment of a peer.
A job: question, options, and the paths of original, released and holdout (CSV). ``warm``: rows of the warm-up that
loads and compiles what is loaded once per process (0: none), ``warm_options``: in what it differs. Its figures are
kept, too: with another seed they say how much of a figure is chance.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Question = Callable[..., dict[str, Any]]


def tables(job: dict[str, Any]) -> dict[str, Any]:
    if not job.get("tables"):
        return {}
    import pandas as pd

    return {role: pd.read_csv(path) for role, path in job["tables"].items()}


def used() -> float:
    """CPU seconds of this process and its children that ended."""
    mine, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def peak() -> float:
    """Largest memory of this process, or of a child that ended, in MiB.

    A process is born with the memory of the one that started it, and the system's own record keeps that; what Linux
    tells of the running program begins with the program.
    """
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as file:
        largest = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return max(largest, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def plain(value: Any) -> Any:
    """Numbers JSON can hold; a figure that is not finite becomes the word for it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def one(job: dict[str, Any], questions: dict[str, Question]) -> dict[str, Any]:
    ask, options = questions[job["question"]], job.get("options", {})
    given = tables(job)
    warmed = None
    if job.get("warm"):
        small = {role: table.head(job["warm"]) for role, table in given.items()}
        warmed = ask(small, **{**options, **job.get("warm_options", {})})
    cpu, wall = used(), time.perf_counter()
    figures = ask(given, **options)
    cpu, wall = used() - cpu, time.perf_counter() - wall
    found = {"cpu": cpu, "wall": wall, "peak": peak(), "load": os.getloadavg()[0], "figures": plain(figures)}
    return found if warmed is None else {**found, "warmed": plain(warmed)}


def serve(questions: dict[str, Question]) -> None:
    """Every job in turn. A package that prints does so to the error output."""
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for job in jobs:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    answer = one(job, questions)
            except Exception as problem:
                answer = {"failed": f"{type(problem).__name__}: {str(problem)[:300]}"}
            file.write(json.dumps(answer) + "\n")
            file.flush()
