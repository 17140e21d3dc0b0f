"""CPU seconds of the three GDPR attacks on Adult at anonymeter's default attack counts, and the ratio to anonymeter.

    python bench/gdpr.py        GLASSHOUSE_SHARED names the folder with the reference data;
                                PEER_PYTHON names an interpreter that can import anonymeter (it wants an older numpy)

Adult: 32,561 training, 16,281 holdout, 32,561 released records. Every attack has its naive baseline and its control.
The last rows attack every record, which is our default. CPU seconds are the figure to compare: other work on the
machine stretches the wall clock. Compiled code is loaded from its cache before the clock starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data" / "adult"
FILES = {"original": "adult_train", "released": "adult_syn_cart_1", "holdout": "adult_holdout"}
SIDES = (["age", "education", "hours", "relationship"], ["race", "sex", "occupation", "country"])
# anonymeter 1.1.0 on a slightly larger Adult split (39,032 / 9,758 / 39,040 rows), for machines without it
PUBLISHED = {"singling out, univariate, 500": 2.91, "singling out, 3 columns, 500": 42.32}

PEER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
folder, sides, secret = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
ori, syn, control = (pd.read_csv(f"{folder}/{n}.csv.gz") for n in ("adult_train", "adult_syn_cart_1", "adult_holdout"))
rest = [c for c in ori.columns if c != secret]
tables = dict(ori=ori, syn=syn, control=control, n_attacks=500)
single = SinglingOutEvaluator
link = LinkabilityEvaluator
guess = InferenceEvaluator
known = dict(aux_cols=rest, secret=secret, regression=False)
runs = {
    "singling out, univariate, 500": lambda: single(**tables).evaluate(mode="univariate"),
    "singling out, 3 columns, 500": lambda: single(**tables).evaluate(mode="multivariate"),
    "linkability, 500": lambda: link(**tables, aux_cols=sides, n_neighbors=1).evaluate(n_jobs=1),
    "inference, 500": lambda: guess(**tables, **known).evaluate(n_jobs=1),
}
found = {}
for name, run in runs.items():
    start = time.process_time()
    try:
        run()
        found[name] = time.process_time() - start
    except Exception as problem:
        print(name, type(problem).__name__, problem, file=sys.stderr)
print(json.dumps(found))
"""


def peer(sides: tuple[list[str], list[str]], secret: str) -> dict[str, float]:
    """CPU seconds of anonymeter, where an interpreter has it; else nothing."""
    python = os.environ.get("PEER_PYTHON", sys.executable)
    asked = [python, "-c", PEER, str(SHARED), json.dumps(sides), secret]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        print("anonymeter cannot be imported here:", done.stderr.strip().splitlines()[-1])
        return {}
    if done.stderr.strip():
        print("anonymeter:", done.stderr.strip().splitlines()[-1])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    import glasshouse as gh
    from glasshouse.data.files import read

    tables = {role: read(SHARED / f"{name}.csv.gz") for role, name in FILES.items()}
    columns = tables["original"].collect_schema().names() if hasattr(tables["original"], "collect_schema") else []
    secret = "income" if "income" in columns else columns[-1]
    rest = [c for c in columns if c != secret]
    sides = tuple([c for c in side if c in columns] for side in SIDES)
    if min(len(side) for side in sides) < 2:
        sides = (rest[:5], rest[5:10])

    def pair() -> Any:
        return gh.Pair(tables["original"], tables["released"], holdout=tables["holdout"], target=secret)

    runs: dict[str, Callable[[Any], Any]] = {
        "singling out, univariate, 500": lambda p: gh.disclosure.singling_out(p, mode="univariate", n_attacks=500),
        "singling out, 3 columns, 500": lambda p: gh.disclosure.singling_out(p, n_attacks=500),
        "linkability, 500": lambda p: gh.disclosure.linkability(p, columns=sides, n_attacks=500),
        "inference, 500": lambda p: gh.disclosure.inference(p, n_attacks=500),
        "singling out, 3 columns, 2000": lambda p: gh.disclosure.singling_out(p),
        "linkability, everybody, 10 cuts": lambda p: gh.disclosure.linkability(p),
        "inference, everybody": lambda p: gh.disclosure.inference(p),
    }
    theirs = peer((sides[0], sides[1]), secret)
    print(
        f"{'attack':34} {'cpu s':>8} {'wall s':>8} {'anonymeter cpu s':>17} {'ratio':>7}   rates: attack, naive, "
        f"control"
    )
    for name, run in runs.items():
        fresh = pair()
        for column in fresh.columns:
            fresh.codes(column)
        run(pair())
        cpu, wall = time.process_time(), time.perf_counter()
        result = run(fresh)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        other = theirs.get(name)
        note = "" if other is not None or name not in PUBLISHED else f" (published {PUBLISHED[name]:.1f})"
        ratio = "" if other is None else f"{other / cpu:7.0f}"
        rates = ", ".join(f"{v:.4f}" for v in (result.value, result.baseline, result.holdout))
        print(
            f"{name:34} {cpu:8.2f} {wall:8.2f} {'' if other is None else f'{other:.2f}':>17} {ratio:>7}   {rates}{note}"
        )


if __name__ == "__main__":
    main()
