"""How often does a clean release pass, and how often is a planted leak seen?

    python -m studies.calibration run runs.jsonl [--disclosure-only] [--jobs 1] [--n 1000] [--scale 1.0] ...
    python -m studies.calibration map maps.jsonl [--seeds 5]
    python -m studies.calibration best best.jsonl [--seeds 20]
    python -m studies.calibration report runs.jsonl [--maps maps.jsonl] [--best best.jsonl]

``run`` assesses cases (studies/cases.py: a kind of data, a planted leak, a seed) and appends one JSON line per case;
what the file already holds is skipped, so a study can be stopped and taken up again. ``map`` asks gh.compare which of a
clean release and leaking ones it recommends. ``best`` asks how much a test could see that knows the population
(studies/oracle.py). ``report`` turns the lines into docs/calibration.md and
docs/calibration.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from studies.cases import Case, cases
from studies.contradictions import contradictions
from studies.kinds import KINDS, Missing
from studies.leaks import LEAKS
from studies.oracle import SHARES, best

PRESETS = ("public", "research", "secure")
# Runs per kind of data. The clean ones bound the false alarms of every rule, so there are most of them.
RUNS = dict.fromkeys(LEAKS, 5) | {
    "clean": 20, "verbatim_1": 8, "verbatim_2": 8, "verbatim_5": 8, "cart": 3,
}  # fmt: skip
# What the decision rule is calibrated on.
CALIBRATED_ON = ("verbatim_1", "verbatim_2", "verbatim_5", "noisy_5", "rounded_5", "cell_2", "keys_5", "outlier_50")
FIRST = {"clean": 12} | dict.fromkeys(CALIBRATED_ON, 4)


def disclosure_measures() -> list[str]:
    """The disclosure measures of the default set that compare two tables."""
    from glasshouse.catalogue import all_measures

    return [
        name
        for name, m in sorted(all_measures().items())
        if m.side == "disclosure" and m.table == "pair" and m.tier in ("fast", "default")
    ]


# -- one assessment --------------------------------------------------------------------------------------------------


def verdicts(found: Any) -> dict[str, Any]:
    """What the assessment says under its own limits ("declared") and under every preset."""
    judged = {"declared": found, **{preset: found.under(preset) for preset in PRESETS}}
    return {name: told(one) for name, one in judged.items()}


def told(found: Any) -> dict[str, Any]:
    """Verdict, exit code, threats and first advice of one assessment."""
    return {
        "verdict": str(found.verdict),
        "exit": found.exit_code,
        "advice": found.recommendations[0].text if found.recommendations else None,
        "contradictions": contradictions(found),
        "threats": {name: _threat(threat) for name, threat in found.threats.items()},
    }


def _threat(threat: Any) -> dict[str, Any]:
    return {
        "status": threat.status,
        "decided_by": list(threat.decided_by),
        "p_value": threat.p_value,
        "detection_limit": threat.detection_limit,
        "reach": None if threat.leak is None else threat.leak.reach,
        "effect": threat.effect,
    }


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _measured(name: str, result: Any, seconds: float) -> dict[str, Any]:
    exposure = result.exposure
    shown = {
        "status": result.status,
        "p": _number(result.p_value),
        "value": _number(result.value),
        "holdout": _number(result.holdout),
        "difference": _number(result.difference),
        "exposed": None if exposure is None else _number(exposure.share),
        "seconds": round(seconds, 3),
    }
    if result.status != "ok":
        shown["reason"] = result.reason
    return shown


def assessed(case: Case, disclosure_only: bool = False) -> dict[str, Any]:
    """One line of the study. A case whose data are not here, or that cannot be built, says so."""
    import glasshouse as gh

    line: dict[str, Any] = {"kind": case.kind, "leak": case.leak, "seed": case.seed, "n": case.n}
    try:
        world = case.build()
    except Missing as why:
        return {**line, "skipped": str(why)}
    started = time.perf_counter()
    chosen: Any = disclosure_measures() if disclosure_only else "default"
    found = gh.assess(world.pair(), measures=chosen, random_state=case.seed, n_jobs=1)
    risks = {k: r for k, r in found.results.items() if r.measure.side == "disclosure" and r.measure.table == "pair"}
    useful = {k: r for k, r in found.results.items() if r.measure.side == "utility"}
    return {
        **line,
        "seconds": round(time.perf_counter() - started, 2),
        "verdicts": verdicts(found),
        "measures": {k: _measured(k, r, found.timing.get(k, 0.0)) for k, r in risks.items()},
        "utility": {
            k: {"value": _number(r.value), "lost": bool(r.null.lost), "copied": bool(r.null.copied)}
            for k, r in useful.items()
            if r.null is not None
        },
    }


def recommended(case: Case) -> dict[str, Any]:
    """Which release gh.compare recommends: the clean one, 2 % verbatim, or 5 % noisy copies."""
    import glasshouse as gh

    line: dict[str, Any] = {"kind": case.kind, "seed": case.seed, "n": case.n}
    names = [name for name in ("clean", "verbatim_2", "noisy_5") if LEAKS[name].where(KINDS[case.kind])]
    try:
        worlds = {name: replace(case, leak=name).build() for name in names}
    except Missing as why:
        return {**line, "skipped": str(why)}
    clean = worlds["clean"]
    started = time.perf_counter()
    try:
        found = gh.compare(
            clean.original,
            {name: world.released for name, world in worlds.items()},
            keys=list(clean.kind.keys),
            target=clean.kind.target,
            holdout=clean.holdout,
            cluster=clean.kind.cluster,
            random_state=case.seed,
            n_jobs=1,
        )
    except gh.InputError as why:  # no measure tells a copy from other people here, so there is no map
        return {**line, "choice": None, "refused": str(why)}
    return {**line, "choice": found.recommend()["release"], "seconds": round(time.perf_counter() - started, 2)}


# -- many of them ----------------------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    """What a study has written so far; a line cut off by an interrupt is left out."""
    if not path.is_file():
        return []
    found = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def answers(work: Callable[[Case], dict[str, Any]], todo: Iterable[Case], jobs: int) -> Iterator[dict[str, Any]]:
    """Every answer as it comes; the answers do not depend on the number of processes."""
    if jobs == 1:
        yield from map(work, todo)
        return
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, todo, chunksize=1)


def study(path: Path, work: Callable[[Case], dict[str, Any]], wanted: Iterable[Case], jobs: int = 1) -> None:
    """Run what the file does not hold yet, and append each answer at once."""
    held = {(d["kind"], d.get("leak"), d["seed"], d["n"]) for d in lines(path)}
    todo = [case for case in wanted if case.key not in held]
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.is_file() and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        if cut_off:
            file.write("\n")
        for done, line in enumerate(answers(work, todo, jobs), 1):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(
                f"{done}/{len(todo)} {line['kind']} {line.get('leak', '')} {line.get('seconds', 'skipped')}", flush=True
            )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    step = parser.add_subparsers(dest="step", required=True)
    for name in ("run", "map", "best"):
        one = step.add_parser(name)
        one.add_argument("file", type=Path)
        one.add_argument("--n", type=int, default=1000)
        one.add_argument("--jobs", type=int, default=1)
        one.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
        one.add_argument("--first-seed", type=int, default=0)
        if name == "run":
            one.add_argument("--disclosure-only", action="store_true")
            one.add_argument("--leaks", nargs="+", choices=LEAKS, default=list(RUNS))
            one.add_argument("--scale", type=float, default=1.0, help="factor on the number of runs")
            one.add_argument("--first", action="store_true", help="only the leaks the decision rule is calibrated on")
        else:
            one.add_argument("--seeds", type=int, default=4 if name == "map" else 20)
    report = step.add_parser("report")
    report.add_argument("file", type=Path)
    report.add_argument("--maps", type=Path)
    report.add_argument("--best", type=Path)
    report.add_argument("--identifiers", type=Path, help="the table that studies.identifiers printed")
    report.add_argument("--remarks", type=Path, help="what a reader must know about how these runs came about")
    return parser


def main() -> None:
    asked = arguments().parse_args()
    if asked.step == "report":
        from studies.calibration_report import write

        texts = (path.read_text(encoding="utf-8") if path else "" for path in (asked.remarks, asked.identifiers))
        write(lines(asked.file), *(lines(path) if path else [] for path in (asked.maps, asked.best)), *texts)
    elif asked.step == "best":
        wanted = cases(dict.fromkeys(SHARES, asked.seeds), asked.kinds, asked.n, asked.first_seed)
        study(asked.file, best, wanted, asked.jobs)
    elif asked.step == "map":
        wanted = cases({"clean": asked.seeds}, asked.kinds, asked.n, asked.first_seed)
        study(asked.file, recommended, (replace(case, leak=None) for case in wanted), asked.jobs)
    else:
        runs = {k: v for k, v in (FIRST if asked.first else RUNS).items() if k in asked.leaks}
        runs = {k: max(1, round(v * asked.scale)) for k, v in runs.items()}
        wanted = cases(runs, asked.kinds, asked.n, asked.first_seed)
        study(asked.file, partial(assessed, disclosure_only=asked.disclosure_only), wanted, asked.jobs)


if __name__ == "__main__":
    main()
