"""What each tool said of the cases, as tables: by release, over all kinds of data, and how small a leak can be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from bench.peers import decisions
from bench.peers.environments import PEERS
from studies.calibration_tables import ALARMS, cell, share, table
from studies.kinds import KINDS
from studies.leaks import LEAKS

Line = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure of a tool: where it stands in the answer, and whether a larger one means more danger."""

    tool: str
    words: str
    path: tuple[str, ...]
    larger: bool


FIGURES = (
    Figure("sdmetrics", "overfitting", ("overfitting", "score"), False),
    Figure("sdmetrics", "new rows", ("new_rows", "score"), False),
    Figure("syntheval", "priv_loss", ("eps_risk", "priv_loss"), True),
    Figure("syntheval", "mia", ("mia", "MIA recall"), True),
    Figure("syntheval", "hit_rate", ("hit_rate", "hit rate"), True),
    Figure("pycanon", "k", ("k",), False),
)
RISKS = ("singling_out", "linkability", "inference")


def spread(values: Sequence[float]) -> str:
    """Mean and standard error; of a single run only the figure."""
    if not values:
        return "–"
    middle = mean(values)
    if len(values) == 1:
        return f"{middle:.2f}"
    error = (sum((v - middle) ** 2 for v in values) / (len(values) - 1) / len(values)) ** 0.5
    return f"{middle:.2f}±{error:.2f}"


def _figure(run: Line, *path: str) -> float | None:
    value: Any = run.get("figures", {})
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else None


def _figures(runs: Sequence[Line], *path: str) -> list[float]:
    """One figure of every run that has it."""
    return [value for run in runs if (value := _figure(run, *path)) is not None]


def _ours(runs: Sequence[Line]) -> str:
    said = [d["figures"]["verdict"] for d in runs if "figures" in d]
    return ", ".join(f"{said.count(v)} {v}" for v in dict.fromkeys(sorted(said))) or "–"


def _alarmed(runs: Sequence[Line]) -> list[bool]:
    return [d["figures"]["verdict"] in ALARMS for d in runs if "figures" in d]


def _above(runs: Sequence[Line]) -> list[bool]:
    """Whether an interval of anonymeter lies above 0, of every run that has one."""
    told = [[r for r in d.get("figures", {}).values() if isinstance(r, dict) and "low" in r] for d in runs]
    return [any(r["low"] > 0 for r in risks) for risks in told if risks]


def _by_tool(lines: Sequence[Line], chosen: Callable[[Line], bool]) -> dict[str, list[Line]]:
    here = [d for d in lines if d.get("part") == "case" and chosen(d)]
    return {tool: [d for d in here if d["tool"] == tool] for tool in decisions.TOOLS}


def told(lines: Sequence[Line]) -> list[str]:
    """A line per kind of data and planted leak."""
    rows = []
    for kind in decisions.KIND_NAMES:
        for leak in decisions.LEAK_NAMES:
            by = _by_tool(lines, lambda d, at=(kind, leak): (d["kind"], d["leak"]) == at)
            if not any(by.values()):
                continue
            sd, se, k = by["sdmetrics"], by["syntheval"], by["pycanon"]
            rows.append(
                [
                    f"{KINDS[kind].words}: {LEAKS[leak].words}",
                    _ours(by["glasshouse"]),
                    cell(share(_above(by["anonymeter"]))),
                    " / ".join(spread(_figures(by["anonymeter"], name, "risk")) for name in RISKS),
                    " / ".join(spread(_figures(sd, name, "score")) for name in ("overfitting", "baseline", "new_rows")),
                    " / ".join(spread(_figures(se, *f.path)) for f in FIGURES if f.tool == "syntheval"),
                    " / ".join(spread(_figures(k, name)) for name in ("k", "l")),
                ]
            )
    if not rows:
        return ["No case was run.", ""]
    head = ["release", "glasshouse: verdicts", "anonymeter: an interval above 0, % of runs",
            "anonymeter: risk of singling out / linkability / inference",
            "SDMetrics: overfitting / baseline / new rows", "SynthEval: priv_loss / mia / hit_rate",
            "pyCANON: k / l"]  # fmt: skip
    return table(head, rows)


def over_kinds(lines: Sequence[Line]) -> list[str]:
    """Alarms of the tools that give any, and whether the figures of the others notice, over all kinds of data."""
    rows = []
    for leak in decisions.LEAK_NAMES:
        by = _by_tool(lines, lambda d, at=leak: d["leak"] == at)
        if not any(by.values()):
            continue
        clean = _by_tool(lines, lambda d: d["leak"] == "clean")
        noticed = ["–" if leak == "clean" else _worse(clean[f.tool], by[f.tool], f) for f in FIGURES]
        counts = sorted({len(answers) for answers in by.values() if answers})
        runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        alarms = [cell(share(_alarmed(by["glasshouse"]))), cell(share(_above(by["anonymeter"])))]
        rows.append([LEAKS[leak].words, runs, *alarms, *noticed])
    if not rows:
        return []
    head = ["release", "runs", "glasshouse: warn or FAIL", "anonymeter: an interval above 0",
            *(f"{PEERS[f.tool].title} {f.words}" for f in FIGURES)]  # fmt: skip
    text = (
        "All kinds of data together, % of runs with one standard error. Alarms on the clean releases are false. For a "
        "tool that gives figures and no interval: how often its figure is worse than for the clean release of the same "
        "people (equal ones count half, so 50 says nothing). A custodian has no such clean release to compare with; "
        "this is what a figure knows, not what somebody would have concluded from it."
    )
    return [text, "", *table(head, rows)]


def _worse(clean: Sequence[Line], leaking: Sequence[Line], figure: Figure) -> str:
    """How often a figure is worse than for the clean release of the same kind and seed."""
    before = {(d["kind"], d["seed"]): _figure(d, *figure.path) for d in clean}
    points = []
    for d in leaking:
        a, b = before.get((d["kind"], d["seed"])), _figure(d, *figure.path)
        if a is not None and b is not None:
            points.append(0.5 if a == b else float((b > a) == figure.larger))
    return f"{100 * mean(points):.0f}" if points else "–"


def _keys_and_target(lines: Sequence[Line]) -> str:
    """What became of the releases with keys and target of 5 %."""
    runs = _by_tool(lines, lambda d: d["leak"] == "keys_5")["glasshouse"]
    seen = _alarmed(runs)
    return (
        f"of {len(seen)} releases with those of 5 % of the people, {seen.count(False)} passed."
        if seen
        else "no release with those of 5 % of the people was looked at."
    )


def limits(lines: Sequence[Line]) -> list[str]:
    """The smallest leak that glasshouse would have seen in the clean releases, by threat."""
    rows = []
    for kind in decisions.KIND_NAMES:
        by = _by_tool(lines, lambda d, at=kind: (d["kind"], d["leak"]) == (at, "clean"))["glasshouse"]
        found = [_figures(by, "limits", threat) for threat in decisions.THREATS]
        if any(found):
            asked = sum("figures" in d for d in by)
            cells = [f"{100 * mean(f):.1f}" if len(f) == asked else "–" for f in found]
            rows.append([KINDS[kind].words, *cells])
    if not rows:
        return []
    text = (
        "How large a leak has to be to be seen by glasshouse in files of this size: its own detection limits, the "
        "smallest share of people exposed (in %) that the tests of a threat would have seen in 80 % of such releases, "
        "means over the clean ones (–: not every one had a limit). A planted share is the most that can be exposed: of "
        "people whose keys and target are published, those whose target could be guessed anyway, or who have "
        "the keys of others, are not exposed by it. Keys and target are looked for by the tests of identity and "
        f"attribute; {_keys_and_target(lines)} The limits fall with the number of records, and a verdict of pass "
        "states the largest."
    )
    return [text, "", *table(["data", *decisions.THREATS], rows)]


def failures(lines: Sequence[Line]) -> list[str]:
    """What a tool could not say of a case, counted by reason."""
    counts: dict[str, int] = {}
    for d in lines:
        if d.get("part") != "case":
            continue
        parts = {"": d} if "failed" in d else d.get("figures", {})
        for name, part in parts.items():
            if isinstance(part, dict) and "failed" in part:
                why = f"{d['tool']} {name}".strip() + f": {part['failed']}"
                counts[why] = counts.get(why, 0) + 1
    return [f"- {why} ({count} cases)" for why, count in counts.items()]
