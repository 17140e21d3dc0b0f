"""Thousands of nasty pairs: ``python -m tests.fuzz 2000 --seed 0``. A hang is a failure."""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import time
from collections import Counter
from typing import Any

from tests.fuzz.doors import Outcome, run_pair


class TookTooLong(BaseException):
    """A pair went over its time."""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("pairs", type=int, nargs="?", default=2000)
    asked.add_argument("--seed", type=int, default=0, help="the first pair; repeat a failure with `1 --seed SEED`")
    asked.add_argument("--budget", type=float, default=60.0, help="seconds of processor time for one pair")
    asked.add_argument("--measures", type=int, default=6, help="measures per pair")
    given = asked.parse_args()
    faulthandler.enable()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    started, slowest = time.perf_counter(), (0.0, given.seed)
    for seed in range(given.seed, given.seed + given.pairs):
        began = time.process_time()
        found = _within(seed, given.measures, given.budget)
        slowest = max(slowest, (time.process_time() - began, seed))
        counts.update(found.counts)
        for line in found.wrong:
            print(line, flush=True)
        wrong += found.wrong
    seconds = time.perf_counter() - started
    print(f"{given.pairs} pairs from seed {given.seed} in {seconds:.0f} s: {dict(counts)}, {len(wrong)} wrong; "
          f"slowest pair {slowest[1]} with {slowest[0]:.1f} s of processor time")  # fmt: skip
    return 1 if wrong else 0


def _within(seed: int, measures: int, budget: float) -> Outcome:
    """One pair, stopped when it uses more processor time than it may: a busy machine is no hang."""

    def stop(number: int, frame: Any) -> None:
        raise TookTooLong

    if not hasattr(signal, "setitimer"):
        return run_pair(seed, measures)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, budget)
    try:
        return run_pair(seed, measures)
    except TookTooLong:
        return Outcome(wrong=[f"seed {seed} took more than {budget:.0f} s of processor time"])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    sys.exit(main())
