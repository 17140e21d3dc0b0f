"""What gh.mitigate does to clean releases, and whether its verdict can be believed on planted leaks.

    python -m studies.mitigation run mitigation.jsonl --null 120 --leaks 20
    python -m studies.mitigation report mitigation.jsonl

Clean releases (original, release and holdout are draws of one population that share nobody) must stay as they are.
On planted leaks the half of the holdout that steered the search and the half that verified it should say the same.
Runs are appended to a file, one line each, and the command takes up where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import cycle, islice, zip_longest
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from studies.kinds import KINDS, Missing, world
from studies.leaks import LEAKS

SEED = 20_260_315
N = 500
PLANTED = ("verbatim_5", "verbatim_2", "noisy_5", "cell_5", "keys_5", "outlier_50", "outlying_1", "minority", "cart",
           "verbatim_10")  # fmt: skip
USED = ("adult", "weak", "strong", "rare", "categorical", "numeric", "holes", "households", "sd2011", "wide")
POLICY = "research"


def plan(null: int, leaks: int) -> list[tuple[str, str, int]]:
    """What is run: (leak, kind, run). Leaks and kinds go round at different speeds, so that they meet differently."""
    clean = [("clean", kind, run // len(USED)) for run, kind in enumerate(islice(cycle(USED), null))]
    turned = [USED[(run + run // len(USED)) % len(USED)] for run in range(leaks)]
    planted = [(PLANTED[run % len(PLANTED)], kind, run) for run, kind in enumerate(turned)]
    taken = [one for pair in zip_longest(clean, planted) for one in pair]
    return [one for one in taken if one is not None]  # by turns, so that a run that is stopped tells of both


def one(leak: str, kind: str, run: int, n: int = N) -> dict[str, Any]:
    """One release, mitigated."""
    import glasshouse as gh

    rng = np.random.default_rng([SEED, run, *leak.encode(), *kind.encode()])
    made = LEAKS[leak].plant(world(KINDS[kind], n, rng), rng)
    started = time.process_time()
    fixed = gh.mitigate(made.pair(), policy=POLICY, random_state=run, n_jobs=1)
    taken = fixed.taken
    return {
        "leak": leak,
        "kind": kind,
        "run": run,
        "before": fixed.before.verdict,
        "changed": fixed.changed,
        "steered": fixed.steered,
        "verdict": fixed.verdict.verdict,
        "verified": fixed.verified,
        "met": fixed.met,
        "steps": [step.operation.name for step in taken],
        "arguments": [json.loads(json.dumps(dict(step.step.arguments), default=str)) for step in taken],
        "cells": sum(step.cells for step in taken) / max(made.released.height * made.released.width, 1),
        "utility": [taken[0].utility[0], taken[-1].utility[1]] if taken else None,
        "risk": [taken[0].risk[0], taken[-1].risk[1]] if taken else None,
        "tried": fixed.tried,
        "cpu": time.process_time() - started,
    }


def run_all(path: Path, null: int, leaks: int) -> None:
    """Append what is not there yet."""
    rows = read(path)
    done = {(row["leak"], row["kind"], row["run"]) for row in rows}
    for leak, kind, run in plan(null, leaks):
        if (leak, kind, run) in done:
            continue
        if not LEAKS[leak].where(KINDS[kind]):
            kind = "weak"
            if (leak, kind, run) in done:
                continue
        try:
            row = one(leak, kind, run)
        except Missing as problem:
            row = {"leak": leak, "kind": kind, "run": run, "missing": str(problem)}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The runs there are."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def share(hits: int, of: int) -> str:
    """A share with its standard error."""
    if not of:
        return "–"
    p = hits / of
    return f"{100 * p:.0f} % (se {100 * sqrt(p * (1 - p) / of):.0f}; {hits} of {of})"


def report(rows: list[dict[str, Any]]) -> str:
    """The figures as Markdown."""
    rows = [row for row in rows if "missing" not in row]
    clean = [row for row in rows if row["leak"] == "clean"]
    failing = [row for row in rows if row["leak"] != "clean" and row["before"] == "fail"]
    spared = [row for row in rows if row["leak"] != "clean" and row["before"] != "fail"]
    searched = [row for row in failing if row["steered"] in ("pass", "warn")]
    agreeing = [row for row in searched if row["verdict"] in ("pass", "warn")]
    lines = [
        f"- clean releases left as they are: {share(sum(not r['changed'] for r in clean), len(clean))}",
        f"- planted leaks that fail at first: {share(len(failing), len(failing) + len(spared))}",
        f"- of those, met on the half that steered: {share(len(searched), len(failing))}",
        f"- of these, met on the half that verified too: {share(len(agreeing), len(searched))}",
        f"- met in the end: {share(sum(r['met'] for r in failing), len(failing))}",
    ]
    both = [r for r in failing if r["utility"] and None not in r["utility"]]
    if both:
        kept = np.array([r["utility"][1] / max(r["utility"][0], 1e-9) for r in both])
        lines.append(
            f"- utility kept, of that before: mean {kept.mean():.2f} (se {kept.std(ddof=1) / sqrt(len(kept)):.2f})"
            if len(kept) > 1
            else f"- utility kept: {kept[0]:.2f}"
        )
    if rows:
        cpu = np.array([r["cpu"] for r in failing or rows])
        lines.append(f"- CPU seconds of a search: median {np.median(cpu):.0f}, at most {cpu.max():.0f}")
    lines += ["", "| leak | kind | before | steps | cells touched | utility | steering half | verified |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for r in (row for row in rows if row["leak"] != "clean"):
        ends = "–" if not r["utility"] or None in r["utility"] else " → ".join(f"{u:.2f}" for u in r["utility"])
        lines.append(
            f"| {LEAKS[r['leak']].words} | {r['kind']} | {r['before']} | {', '.join(r['steps']) or '–'} | "
            f"{100 * r['cells']:.0f} % | {ends} | {r['steered'] or '–'} | {r['verdict']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--null", type=int, default=120)
    parser.add_argument("--leaks", type=int, default=20)
    given = parser.parse_args()
    if given.command == "run":
        run_all(given.path, given.null, given.leaks)
    else:
        print(report(read(given.path)), end="")


if __name__ == "__main__":
    main()
