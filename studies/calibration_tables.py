"""Shares, cells and tables of the calibration page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from studies.kinds import KINDS

Line = dict[str, Any]
ALARMS = ("warn", "fail")


def share(flags: Iterable[bool]) -> tuple[float, float, int] | None:
    """Share, standard error and number of runs. At 0 and 100 % the error is that of one run more either way."""
    flags = list(flags)
    n = len(flags)
    if not n:
        return None
    p = sum(flags) / n
    q = p if 0 < p < 1 else (sum(flags) + 0.5) / (n + 1)
    return p, (q * (1 - q) / n) ** 0.5, n


def cell(found: tuple[float, float, int] | None) -> str:
    return "–" if found is None else f"{100 * found[0]:.0f}±{100 * found[1]:.0f}"


def verdict(line: Line, policy: str) -> str:
    return line["verdicts"][policy]["verdict"]


def of(lines: Sequence[Line], leak: str, kinds: Callable[[Any], bool] = lambda kind: True) -> list[Line]:
    return [d for d in lines if d["leak"] == leak and kinds(KINDS[d["kind"]])]


def present(lines: Sequence[Line], key: str, order: Iterable[str]) -> list[str]:
    found = {d[key] for d in lines}
    return [name for name in order if name in found]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    made = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*made, *("| " + " | ".join(row) + " |" for row in rows), ""]
