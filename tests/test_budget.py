"""Every measure answers tables that real people bring, or says in a sentence why not, within a budget.

Free text, identifiers, thousands of levels, all-unique numbers and dates as keys and as targets. What is held against
the budget is processor time, and the system holds it (RLIMIT_CPU): a machine under load takes longer by the clock, not
by the processor, so the test is not one of speed. The budgets are some twenty times what the slowest measure takes, at
10,000 rows a few times (one measure fits a logit twenty times); they stop the one that tries every level, every pair
of them, or a column for each, which is never done at all.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.judgement.run import attempt
from tests.conftest import ROOT

BUDGETS = {500: 60, 2_500: 90, 10_000: 60}  # seconds of one processor for one measure, by rows
CASES: dict[tuple[str, int], tuple[list[str], str | None]] = {
    ("text as key, many levels as target", 500): (["sex", "text"], "code"),
    ("identifier as key, text as target", 500): (["sex", "card"], "text"),
    ("many levels as key, unique numbers as target", 500): (["sex", "code"], "number"),
    ("unique numbers and dates as key, identifier as target", 500): (["number", "day"], "card"),
    ("nothing as key, one value as target", 500): (["sex", "nothing"], "constant"),
    ("no roles", 500): ([], None),
    ("everything as key", 2_500): (["code", "number", "card", "day", "text"], "illness"),
    # what takes the square of the records is not seen before there are some
    ("text beside two categories as key", 10_000): (["sex", "text"], "illness"),
}


def odd_table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i:03d}" for i in range(900)])
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("ABCDEFGH"), n),
            "age": rng.integers(18, 90, n),
            "text": [" ".join(row) for row in words[rng.integers(0, 900, (n, 25))]],
            "card": [f"card {v:x}" for v in rng.choice(2**40, n, replace=False)],
            "code": [f"k{v}" for v in rng.integers(0, 10_000, n)],
            "number": rng.normal(size=n),
            "day": pl.Series(rng.integers(0, 12_000, n)).cast(pl.Int32).cast(pl.Date),
            "constant": ["same"] * n,
            "nothing": pl.Series([None] * n, dtype=pl.String),
            "illness": rng.choice(["none", "flu", "gout"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def pair_of(case: str, n: int) -> gh.Pair:
    keys, target = CASES[case, n]
    original, released, holdout = (odd_table(n, seed) for seed in (1, 2, 3))
    return gh.Pair(original, released, holdout=holdout, keys=keys, target=target)


def answers(case: str, n: int) -> None:
    """Ask every measure, and say whom before; whoever spends the budget ends the process."""
    import faulthandler
    import resource
    import signal

    faulthandler.register(signal.SIGXCPU, chain=True)
    pair = pair_of(case, n)
    for name, measure in sorted(all_measures().items()):
        spent = resource.getrusage(resource.RUSAGE_SELF)
        budget = int(spent.ru_utime + spent.ru_stime) + BUDGETS[n]
        resource.setrlimit(resource.RLIMIT_CPU, (budget, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        paired = "row_paired" in measure.needs or name == "record_linkage"
        options: dict[str, Any] = {"n_jobs": 1} if "n_jobs" in measure.options else {}
        found = attempt(measure, pair.replace(row_paired=True) if paired else pair, options)
        # an answer, or a sentence; an error of our own is one too, and that of a library is none
        assert found.status != "failed" or "run it alone to see the full error" not in str(found.reason), found.reason
        assert found.status == "ok" or len(str(found.reason)) > 20, name
    sys.stdout.write("done\n")


@pytest.mark.parametrize(("case", "n"), CASES)
def test_every_measure_answers_within_its_budget(case: str, n: int) -> None:
    pytest.importorskip("resource", reason="limits of processor time are a matter of Unix")
    call = f"from tests.test_budget import answers; answers({case!r}, {n})"
    ran = subprocess.run([sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True, check=False)
    asked = ran.stdout.split()
    assert ran.returncode == 0, f"{asked[-1] if asked else 'nobody'} on {case}, {n:,} rows: {ran.stderr[-3000:]}"
    assert asked[-1] == "done"


def test_nobody_looks_through_all_records_for_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every text is in the release, but never with one's own sex, all people of that sex are as near as whoever
    has the text: the square of the records. What they share is listed once."""
    from glasshouse.engines.neighbours import crowds

    original = odd_table(300, 1)
    crossed = original.with_columns(sex=pl.when(pl.col("sex") == "f").then(pl.lit("m")).otherwise(pl.lit("f")))
    asked = {"keys": ["sex", "text"], "target": "illness"}
    monkeypatch.setattr(crowds, "MOST_TIES", 1_000)
    found = gh.disclosure.inference(original, crossed, **asked)
    assert found.status == "ok" and found.records["ties"].min() > 100
    monkeypatch.setattr(crowds, "RARE", 0)  # where nothing counts as rare, it is listed for each
    found = gh.disclosure.inference(original, crossed, **asked)
    assert found.status == "not_applicable" and "equally near" in found.reason
