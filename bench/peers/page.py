"""docs/benchmarks-peers.md and its picture, from the answers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers import decision_tables, decisions, speed_tables
from bench.peers.environments import PEERS

Line = dict[str, Any]


def _largest(lines: Sequence[Line], part: str, by: str) -> list[Line]:
    """The answers of one part; those of a quick run stand back where there are any of a full one."""
    found = [d for d in lines if d.get("part") == part]
    return [d for d in found if d[by] == max(d[by] for d in found)]


def page(lines: Sequence[Line]) -> str:
    """The whole page."""
    machines = [d for d in lines if d.get("part") == "machine"]
    timed, judged = _largest(lines, "speed", "attacks"), _largest(lines, "case", "attacks")
    loads = sorted(d["load"] for d in (*timed, *judged) if isinstance(d.get("load"), (int, float)))
    where = machines[-1] if machines else {"chip": "unknown", "cores": 0, "python": "", "absences": []}
    beside = f" The load of the machine was {loads[0]:.0f} to {loads[-1]:.0f} while they ran" if loads else ""
    data = {"adult": "UCI Adult and a CART synthesis of it", "simulated": "seven simulated columns"}
    used = ", ".join(data[name] for name in dict.fromkeys(d["data"] for d in timed)) or "none"
    attacks = ", ".join(f"{a:,}" for a in sorted({d["attacks"] for d in timed}))
    versions = ", ".join(f"{p.title} {p.version}" for p in PEERS.values() if p.index)
    in_r = ", ".join(f"{name} {version}" for name, version in where.get("in_r", {}).items())
    text = [
        "# Beside other packages",
        "",
        "Written by `make bench-peers` (`QUICK=1` for small tables and one seed): "
        f"{versions}, each in an environment of its own{f', and {in_r} of the R that is here' if in_r else ''}; the "
        "same tables and rows for all. "
        f"{where['chip']}, {where['cores']} cores, Python {where['python']}; one thread on either side.{beside}, so "
        "CPU seconds are given and not the clock; on cores that share their units a load stretches those too, for both "
        "sides alike. Compiling and loading are done by a run on 200 records (glasshouse and R: on all, as other "
        "kernels run on larger tables) before the clock starts; reading the file is not counted, "
        "turning a table of pandas or R into what a package works on is. Peak memory is that of the process, "
        "with Python or R and all it loads.",
        "",
        f"## Time and memory ({used}; {attacks or 'no'} attacks)",
        "",
        *speed_tables.speed(timed),
        *speed_tables.agreement(timed),
    ]
    if where.get("absences"):
        text += [*(f"- {why}" for why in where["absences"]), ""]
    if speed_tables.growth(timed):
        text += ["### How the times grow", "", *speed_tables.growth_table(timed)]
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
        "over the seeds (none where there was one); – where a tool was not asked or gave no figure. A seed is the same "
        "people in every row of a kind of data, so rows are not independent: an odd draw shows in all of them.",
        "",
        *decision_tables.over_kinds(judged),
        *decision_tables.limits(judged),
        "Each kind of data by itself:",
        "",
        *decision_tables.told(judged),
        *(f"- **{PEERS[t].title if t in PEERS else t}.** {words}" for t, words in decisions.READ.items()),
        "",
    ]
    missing = decision_tables.failures(judged)
    if missing:
        text += ["What a tool could not say:", "", *missing, ""]
    text += [
        "## What the peers do that is not here",
        "",
        "- anonymeter takes any classifier with a `predict` as the attacker of its inference risk, and gives the risk "
        "by groups of the secret; its scores were reviewed by the CNIL.",
        "- rpart grows surrogate splits, by which a record with a missing value finds its way, and cross-validates.",
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
    points = speed_tables.growth(_largest(lines, "speed", "attacks"))
    if points:
        from vl_convert import vegalite_to_svg

        made["benchmarks-peers.svg"] = vegalite_to_svg(speed_tables.draw(points).to_dict())
    for name, text in made.items():
        part = to / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(to / name)
    print(f"{' and '.join(made)} written from {len(lines):,} answers")
