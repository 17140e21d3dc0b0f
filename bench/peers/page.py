"""docs/benchmarks-peers.md and its picture, from the answers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from bench.peers import decisions
from bench.peers.environments import PEERS
from bench.peers.tasks import ROWS
from studies.calibration_tables import cell, share, table
from studies.kinds import KINDS
from studies.leaks import LEAKS

Line = dict[str, Any]
FASTER = 0.9  # a ratio below this is said to be a peer's advantage


def number(value: float) -> str:
    if value < 0.1:
        return f"{value:.1g}"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def of(lines: Sequence[Line], row: str, n: int, tool: str) -> Line | None:
    found = [d for d in lines if (d.get("row"), d.get("n"), d.get("tool")) == (row, n, tool)]
    return found[-1] if found else None


def ratio(theirs: Line, ours: Line) -> float | None:
    """CPU seconds of the peer over ours; None where either has none."""
    if "cpu" not in theirs or "cpu" not in ours:
        return None
    return theirs["cpu"] / max(ours["cpu"], 1e-6)


def speed(lines: Sequence[Line]) -> list[str]:
    """A line per question, at the largest size that both answered."""
    rows, reasons, faster = [], [], []
    for row in ROWS:
        sizes = sorted({d["n"] for d in lines if d.get("row") == row.name}, reverse=True)
        both = [(n, of(lines, row.name, n, row.peer), of(lines, row.name, n, "glasshouse")) for n in sizes]
        done = [(n, t, o) for n, t, o in both if t and o and ratio(t, o) is not None]
        for n, *sides in both:
            for side in sides:
                if side and "failed" in side:
                    reasons.append(f"{row.words}, {n:,} records, {side['tool']}: {side['failed']}")
        if not done:
            continue
        n, theirs, ours = done[0]
        assert theirs is not None and ours is not None
        times = ratio(theirs, ours)
        assert times is not None
        if times < FASTER:
            faster.append(f"{PEERS[row.peer].title} is faster at {row.words} ({1 / times:.1f} times)")
        rows.append(
            [row.words, PEERS[row.peer].title, f"{n:,}" if row.largest else "–", number(theirs["cpu"]),
             number(ours["cpu"]), number(times), f"{theirs['peak']:.0f}", f"{ours['peak']:.0f}", row.differs]
        )  # fmt: skip
    head = ["question", "peer", "records", "peer, CPU s", "here, CPU s", "peer / here", "peer, MiB", "here, MiB",
            "where the questions differ"]  # fmt: skip
    text = [*table(head, rows)] if rows else ["No question was answered by both sides.", ""]
    if faster:
        text += ["Where a peer is faster: " + "; ".join(faster) + ".", ""]
    if reasons:
        text += ["Not answered:", "", *(f"- {why}" for why in dict.fromkeys(reasons)), ""]
    return text


def _twins(row: str, theirs: Line, ours: Line) -> list[tuple[float, float]]:
    """Figures that are the same figure on both sides."""
    if row == "advantage":
        return [(theirs["figures"][rho], ours["figures"][rho]) for rho in theirs["figures"]]
    if row == "levels":
        names = {"k": "k_anonymity", "l": "l_diversity", "t": "t_closeness"}
        return [(theirs["figures"][a], ours["figures"][b]["value"]) for a, b in names.items()]
    return []


def agreement(lines: Sequence[Line]) -> list[str]:
    """How far apart both sides are where they compute the same thing, over all sizes."""
    text = []
    for row in ROWS:
        apart: list[float] = []
        for n in sorted({d["n"] for d in lines if d.get("row") == row.name}):
            theirs, ours = of(lines, row.name, n, row.peer), of(lines, row.name, n, "glasshouse")
            if theirs and ours and "figures" in theirs and "figures" in ours:
                apart += [abs(a - b) for a, b in _twins(row.name, theirs, ours)]
        if apart:
            text.append(
                f"- {row.words}: {len(apart)} figures of {PEERS[row.peer].title} and of glasshouse differ by at most "
                f"{max(apart):.2g}."
            )
    return ["The same figure on both sides:", "", *text, ""] if text else []


def growth(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Points of the picture: CPU seconds by records, for both sides of every question."""
    return [
        {
            "question": next(r.words for r in ROWS if r.name == d["row"]),
            "side": "glasshouse" if d["tool"] == "glasshouse" else "peer",
            "records": d["n"],
            "seconds": max(d["cpu"], 0.001),
        }
        for d in lines
        if d.get("part") == "speed" and "cpu" in d and d["row"] != "advantage"
    ]


def draw(points: Sequence[dict[str, Any]]) -> Any:
    """A small panel per question."""
    import altair as alt

    base = alt.Chart(alt.Data(values=list(points))).encode(
        x=alt.X("records:Q", scale=alt.Scale(type="log"), title="records", axis=alt.Axis(tickCount=3, format="~s")),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="CPU seconds", axis=alt.Axis(tickCount=4, format="~g")),
        color=alt.Color(
            "side:N",
            scale=alt.Scale(domain=["glasshouse", "peer"], range=["#0b6e6e", "#c05a1c"]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        strokeDash=alt.StrokeDash("side:N", legend=None),
    )
    panel = (base.mark_line() + base.mark_point(filled=True, size=35)).properties(width=190, height=120)
    return panel.facet(facet=alt.Facet("question:N", title=None), columns=3).configure_view(stroke="#ccc")


# -- decisions ---------------------------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> str:
    """Mean and standard error; of a single run only the figure."""
    if not values:
        return "–"
    middle = mean(values)
    if len(values) == 1:
        return f"{middle:.2f}"
    error = (sum((v - middle) ** 2 for v in values) / (len(values) - 1) / len(values)) ** 0.5
    return f"{middle:.2f}±{error:.2f}"


def _figures(runs: Sequence[Line], *path: str) -> list[float]:
    """One figure of every run that has it."""
    found = []
    for run in runs:
        value: Any = run.get("figures", {})
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, (int, float)):
            found.append(float(value))
    return found


def _ours(runs: Sequence[Line]) -> str:
    said = [d["figures"]["verdict"] for d in runs if "figures" in d]
    return ", ".join(f"{said.count(v)} {v}" for v in dict.fromkeys(sorted(said))) or "–"


def _anonymeter(runs: Sequence[Line]) -> str:
    above = []
    for run in runs:
        risks = [r for r in run.get("figures", {}).values() if isinstance(r, dict) and "low" in r]
        if risks:
            above.append(any(r["low"] > 0 for r in risks))
    return cell(share(above))


def _attacks(runs: Sequence[Line]) -> str:
    return " / ".join(spread(_figures(runs, name, "risk")) for name in ("singling_out", "linkability", "inference"))


def told(lines: Sequence[Line]) -> list[str]:
    """A line per kind of data and planted leak."""
    rows = []
    for kind in decisions.KIND_NAMES:
        for leak in decisions.LEAK_NAMES:
            here = [d for d in lines if d.get("part") == "case" and (d["kind"], d["leak"]) == (kind, leak)]
            by = {tool: [d for d in here if d["tool"] == tool] for tool in decisions.TOOLS}
            if not here:
                continue
            sd, se, k = by["sdmetrics"], by["syntheval"], by["pycanon"]
            rows.append(
                [
                    f"{KINDS[kind].words}: {LEAKS[leak].words}",
                    _ours(by["glasshouse"]),
                    _anonymeter(by["anonymeter"]),
                    _attacks(by["anonymeter"]),
                    " / ".join(spread(_figures(sd, name, "score")) for name in ("overfitting", "baseline", "new_rows")),
                    " / ".join(
                        spread(_figures(se, *path))
                        for path in (("eps_risk", "priv_loss"), ("mia", "MIA recall"), ("hit_rate", "hit rate"))
                    ),
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


def _largest(lines: Sequence[Line], part: str, by: str) -> list[Line]:
    """The answers of one part; those of a quick run stand back where there are any of a full one."""
    found = [d for d in lines if d.get("part") == part]
    return [d for d in found if d[by] == max(d[by] for d in found)]


def page(lines: Sequence[Line]) -> str:
    """The whole page."""
    machines = [d for d in lines if d.get("part") == "machine"]
    timed, judged = _largest(lines, "speed", "attacks"), _largest(lines, "case", "n")
    loads = sorted(d["load"] for d in lines if d.get("part") in ("speed", "case") and "load" in d)
    where = machines[-1] if machines else {"chip": "unknown", "cores": 0, "python": "", "absences": []}
    beside = f" The load of the machine was {loads[0]:.0f} to {loads[-1]:.0f} while they ran" if loads else ""
    data = {"adult": "UCI Adult and a CART synthesis of it", "simulated": "seven simulated columns"}
    used = ", ".join(data[name] for name in dict.fromkeys(d["data"] for d in timed)) or "none"
    attacks = ", ".join(f"{a:,}" for a in sorted({d["attacks"] for d in timed}))
    versions = ", ".join(f"{p.title} {p.version}" for p in PEERS.values() if p.index)
    text = [
        "# Beside other packages",
        "",
        "Written by `make bench-peers` (`QUICK=1` for small tables and one seed): "
        f"{versions}, each in an environment of its own, on the same tables and rows. "
        f"{where['chip']}, {where['cores']} cores, Python {where['python']}; one thread on either side.{beside}, so "
        "CPU seconds are given and not the clock; on cores that share their units a load stretches those too, for both "
        "sides alike. Compiling and loading are done by a run on 200 records (glasshouse: on all, as other kernels "
        "run on larger tables) before the clock starts; reading the file is not counted, "
        "turning a pandas table into what a package works on is. Peak memory is that of the process, "
        "with Python and all it imports.",
        "",
        f"## Time and memory ({used}; {attacks or 'no'} attacks)",
        "",
        *speed(timed),
        *agreement(timed),
    ]
    if where.get("absences"):
        text += [*(f"- {why}" for why in where["absences"]), ""]
    if growth(timed):
        text += ["![CPU seconds by records, for both sides of each question](benchmarks-peers.svg)", ""]
    sizes = ", ".join(f"{n:,}" for n in sorted({d["n"] for d in judged}))
    seeds = len({d["seed"] for d in judged})
    text += [
        "## What each would have told the custodian",
        "",
        f"Cases of [the calibration study](calibration.md), {sizes or 'no'} records in original, release and holdout, "
        f"{'one seed' if seeds == 1 else f'{seeds} seeds at most'} per line. Only glasshouse gives a verdict; of the "
        "others the figures stand here, with how their "
        "documentation says they are to be read, and no threshold of ours is put on them. Means with standard errors "
        "over the seeds (none where there was one); – where a tool was not asked or gave no figure.",
        "",
        *told(judged),
        *(f"- **{PEERS[t].title if t in PEERS else t}.** {words}" for t, words in decisions.READ.items()),
        "",
    ]
    missing = failures(judged)
    if missing:
        text += ["What a tool could not say:", "", *missing, ""]
    text += [
        "## What the peers do that is not here",
        "",
        "- anonymeter takes any classifier with a `predict` as the attacker of its inference risk, and gives the risk "
        "by groups of the secret; its scores were reviewed by the CNIL.",
        "- SDMetrics has metrics for several related tables and for sequences; its quality report ends in one score.",
        "- SynthEval has fairness metrics.",
        "- pyCANON has beta-likeness and delta-disclosure, which `gh.measures()` does not list.",
        "- riskcal bounds the attacks on DP-SGD and on any mechanism given by its privacy loss distribution; "
        "`gh.Risk` starts from zCDP, GDP or (epsilon, delta).",
        "",
    ]
    return "\n".join(text)


def write(lines: Sequence[Line], to: Path) -> None:
    """Both files, each put into place in one step."""
    made = {"benchmarks-peers.md": page(lines)}
    points = growth(lines)
    if points:
        from vl_convert import vegalite_to_svg

        made["benchmarks-peers.svg"] = vegalite_to_svg(draw(points).to_dict())
    for name, text in made.items():
        part = to / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(to / name)
    print(f"{' and '.join(made)} written from {len(lines):,} answers")
