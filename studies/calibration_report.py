"""docs/calibration.md and docs/calibration.svg: what the lines of the calibration study say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.calibration_small import indifferent, small
from studies.calibration_tables import ALARMS, Line, cell, of, present, share, table, verdict
from studies.calibration_words import CART, IDENTIFIERS, LEVELS, WHY_UNSEEN
from studies.kinds import KINDS
from studies.leaks import LEAKS

from studies import oracle

DOCS = Path(__file__).resolve().parents[1] / "docs"
POLICIES = {"declared": "no policy", "public": "public", "research": "research", "secure": "secure"}
THREATS = ("copying", "identity", "attribute", "membership")
SHOWN = ("verbatim_1", "verbatim_2", "verbatim_5", "noisy_5", "rounded_5", "cell_2", "keys_5", "outlier_50")


@dataclass(frozen=True)
class Goal:
    """One sentence of the goals: over which runs, what counts, and the share wanted (at least, or at most)."""

    words: str
    leak: str
    counts: tuple[str, ...]
    wanted: float
    at_most: bool = False
    kinds: Callable[[Any], bool] = lambda kind: True


def _distinctive(kind: Any) -> bool:
    return kind.distinctive


def _adult(kind: Any) -> bool:
    return kind.name == "adult"


def _clustered(kind: Any) -> bool:
    return kind.cluster is not None


GOALS = (
    Goal("clean: FAIL", "clean", ("fail",), 0.02, True),
    Goal("clean: warn", "clean", ("warn",), 0.10, True),
    Goal("clean: incomplete", "clean", ("incomplete",), 0.0, True),
    Goal("clean households and panels: FAIL", "clean", ("fail",), 0.02, True, _clustered),
    Goal("clean households and panels: warn", "clean", ("warn",), 0.10, True, _clustered),
    Goal("copied from the holdout: FAIL", "holdout_20", ("fail",), 0.02, True),
    Goal("copied from the holdout: warn", "holdout_20", ("warn",), 0.10, True),
    Goal("1 % verbatim: warn or FAIL", "verbatim_1", ALARMS, 0.85),
    Goal("1 % verbatim, distinctive: warn or FAIL", "verbatim_1", ALARMS, 0.85, False, _distinctive),
    Goal("2 % verbatim: FAIL", "verbatim_2", ("fail",), 0.95),
    Goal("2 % verbatim, distinctive: FAIL", "verbatim_2", ("fail",), 0.95, False, _distinctive),
    Goal("5 % verbatim: FAIL", "verbatim_5", ("fail",), 0.99),
    Goal("5 % verbatim, distinctive: FAIL", "verbatim_5", ("fail",), 0.99, False, _distinctive),
    Goal("5 % noisy: warn or FAIL", "noisy_5", ALARMS, 0.80),
    Goal("5 % rounded: warn or FAIL", "rounded_5", ALARMS, 0.80),
    Goal("keys and target of 5 %: warn or FAIL", "keys_5", ALARMS, 0.80),
    Goal("one outlier 50 times: warn or FAIL", "outlier_50", ALARMS, 0.80),
    Goal("2 % with one cell redrawn, Adult: warn or FAIL", "cell_2", ALARMS, 0.65, False, _adult),
    Goal("2 % with one cell redrawn, distinctive: warn or FAIL", "cell_2", ALARMS, 0.95, False, _distinctive),
    Goal("5 % of the clusters copied whole: FAIL", "clusters_5", ("fail",), 0.99, False, _clustered),
    Goal("no holdout, 1 % verbatim, distinctive: FAIL", "no_holdout_1", ("fail",), 0.80, False, _distinctive),
)


# -- sections --------------------------------------------------------------------------------------------------------


def goals(lines: Sequence[Line]) -> list[str]:
    """Every goal under every policy; kept, not kept, or too close to say."""

    def judged(goal: Goal, policy: str) -> str:
        found = share(verdict(d, policy) in goal.counts for d in of(lines, goal.leak, goal.kinds))
        if found is None:
            return "–"
        gap = (goal.wanted - found[0]) if goal.at_most else (found[0] - goal.wanted)
        return (
            f"{cell(found)} {'met' if gap >= 0 else 'not met, within one error' if gap >= -found[1] else '**not met**'}"
        )

    rows = []
    for goal in GOALS:
        runs = of(lines, goal.leak, goal.kinds)
        bound = f"{'≤' if goal.at_most else '≥'} {100 * goal.wanted:.0f}"
        rows.append([goal.words, bound, str(len(runs)), *(judged(goal, p) for p in POLICIES)])
    return [
        "## The goals",
        "",
        "A leak counts as seen when the release is alarmed, for whatever reason. Where clean releases are alarmed "
        "nearly as often, a goal of detection is met without anything being detected: read the first rows first.",
        "",
        *table(["goal", "wanted, %", "runs", *POLICIES.values()], rows),
    ]


def clean_by_kind(lines: Sequence[Line]) -> list[str]:
    def row(name: str, runs: Sequence[Line]) -> list[str]:
        cells = []
        for policy in POLICIES:
            said = [verdict(d, policy) for d in runs]
            cells.append(
                " / ".join(f"{100 * said.count(s) / len(said):.0f}" for s in ("pass", "warn", "fail", "incomplete"))
            )
        return [name, str(len(runs)), *cells]

    rows = [row(f"{k}: {KINDS[k].words}", r) for k in KINDS if (r := [d for d in of(lines, "clean") if d["kind"] == k])]
    for leak in (name for name, one in LEAKS.items() if one.clean):
        if runs := of(lines, leak):
            rows.append(row(f"**{LEAKS[leak].words}, all kinds**", runs))
    head = ["data", "runs", *POLICIES.values()]
    return ["## Clean releases: pass / warn / FAIL / incomplete, % of runs", "", *table(head, rows)]


def leaks(lines: Sequence[Line]) -> list[str]:
    rows, threat_rows = [], []
    for leak in present(lines, "leak", LEAKS):
        runs = of(lines, leak)
        cells = []
        for policy in POLICIES:
            said = [verdict(d, policy) for d in runs]
            cells.append(f"{cell(share(s in ALARMS for s in said))} / {cell(share(s == 'fail' for s in said))}")
        rows.append([LEAKS[leak].words, str(len(runs)), *cells])
        shown = []
        for threat in THREATS:
            said = [d["verdicts"]["declared"]["threats"][threat]["status"] for d in runs]
            shown.append(f"{cell(share(s in ALARMS for s in said))} / {cell(share(s == 'fail' for s in said))}")
        threat_rows.append([LEAKS[leak].words, str(len(runs)), *shown])
    return [
        "## Verdicts: warn or FAIL / FAIL, % of runs",
        "",
        *table(["release", "runs", *POLICIES.values()], rows),
        *(CART if of(lines, "cart") else []),
        "## Threats, no policy: warn or FAIL / FAIL, % of runs",
        "",
        *table(["release", "runs", *THREATS], threat_rows),
    ]


def sizes(lines: Sequence[Line]) -> list[str]:
    """How often each test rejects on clean data, and what it sees."""
    names = sorted({name for d in lines for name in d["measures"]})

    def rejected(name: str, runs: Sequence[Line], level: float) -> tuple[float, float, int] | None:
        ps = [d["measures"][name]["p"] for d in runs if name in d["measures"]]
        return share(p < level for p in ps if p is not None)

    rows = []
    clean = of(lines, "clean")
    for name in names:
        size = rejected(name, clean, 0.05)
        if size is None:
            rows.append([f"`{name}`", "no p value"] + ["–"] * (3 + len(SHOWN)))
            continue
        by_kind = {k: rejected(name, [d for d in clean if d["kind"] == k], 0.05) for k in present(clean, "kind", KINDS)}
        worst = max((k for k, v in by_kind.items() if v is not None), key=lambda k: by_kind[k][0])  # type: ignore[index]
        power = [cell(rejected(name, of(lines, leak), 0.05)) for leak in SHOWN]
        rows.append(
            [
                f"`{name}`",
                str(size[2]),
                cell(size),
                cell(rejected(name, clean, 0.01)),
                f"{worst} {cell(by_kind[worst])}",
                *power,
            ]
        )
    head = [
        "measure",
        "clean runs with a p",
        "size at 5 %",
        "size at 1 %",
        "largest size at 5 %",
        *(LEAKS[x].words for x in SHOWN),
    ]
    return [
        "## Single tests: share of runs with p below the level, %",
        "",
        "On clean releases a sound test rejects at most as often as its level. The right-hand columns are its power at "
        "5 % over all kinds of data.",
        "",
        *table(head, rows),
    ]


def limits(lines: Sequence[Line]) -> list[str]:
    """The detection limit an assessment states, against how often a copy of that size was seen."""
    stated = {
        (d["kind"], d["seed"], d["n"]): d["verdicts"]["declared"]["threats"]["copying"].get("detection_limit")
        for d in of(lines, "clean")
    }
    rows = []
    for leak, size in (
        ("verbatim_0.5", 0.005),
        ("verbatim_1", 0.01),
        ("verbatim_2", 0.02),
        ("verbatim_5", 0.05),
        ("verbatim_10", 0.1),
    ):
        groups: dict[bool | None, list[bool]] = {True: [], False: [], None: []}
        for d in of(lines, leak):
            key = (d["kind"], d["seed"], d["n"])
            if key in stated:
                status, limit = d["verdicts"]["declared"]["threats"]["copying"]["status"], stated[key]
                groups[None if limit is None else limit <= size].append(status in ALARMS)
        counts = [f"{cell(f)} of {0 if f is None else f[2]}" for f in map(share, groups.values())]
        rows.append([LEAKS[leak].words, *counts])
    if not any(value is not None for value in stated.values()):
        return []
    return [
        "## Is the stated detection limit true?",
        "",
        "A clean release states the smallest leak it would have seen with 80 % power. Here a leak of known size was "
        "planted into the same release: copying warned or failed in so many per cent of the runs. Where hardly anybody "
        "can be told from others, the assessment says so instead of a limit.",
        "",
        *table(["planted", "stated limit at most that size", "stated limit above it", "none stated"], rows),
    ]


def advice(lines: Sequence[Line]) -> list[str]:
    rows = []
    for leak in ("verbatim_1", "verbatim_2", "verbatim_5", "verbatim_10", "outlier_50", "outlying_1"):
        cells = []
        for policy in POLICIES:
            alarmed = [d["verdicts"][policy]["advice"] or "" for d in of(lines, leak) if verdict(d, policy) in ALARMS]
            cells.append(cell(share("re-draw" in text for text in alarmed)))
        if of(lines, leak):
            rows.append([LEAKS[leak].words, *cells])
    told = [c for d in lines for p in POLICIES for c in d["verdicts"][p].get("contradictions", ())]
    checked = sum("contradictions" in d["verdicts"][p] for d in lines for p in POLICIES)
    return [
        "## Words and codes",
        "",
        "How often the first advice of an alarm is to remove or re-draw the copied records, %:",
        "",
        *table(["release", *POLICIES.values()], rows),
        f"Contradictions between rule, status, words, advice and exit code (`studies/contradictions.py`): {len(told)} "
        f"in {checked:,} printed assessments.",
        "",
    ]


def utility(lines: Sequence[Line]) -> list[str]:
    runs = [d for d in of(lines, "clean") if d.get("utility")]
    if not runs:
        return []
    names = sorted({name for d in runs for name in d["utility"]})
    rows = [
        [
            f"`{name}`",
            *(
                cell(share(d["utility"][name][what] for d in runs if name in d["utility"]))
                for what in ("lost", "copied")
            ),
        ]
        for name in names
    ]
    rows.append(
        [
            "**any of them**",
            *(cell(share(any(u[w] for u in d["utility"].values()) for d in runs)) for w in ("lost", "copied")),
        ]
    )
    return [
        "## Utility on clean releases: false losses and false copy alarms, % of runs",
        "",
        *table(["measure", "loss seen", "copy alarm"], rows),
    ]


def maps(found: Sequence[Line]) -> list[str]:
    done = [d for d in found if "choice" in d]
    if not done:
        return []
    rows = []
    for kind in present(done, "kind", KINDS):
        mine = [d["choice"] for d in done if d["kind"] == kind]
        refused = sum("refused" in d for d in done if d["kind"] == kind)
        chosen = [mine.count(c) for c in ("clean", "verbatim_2", "noisy_5", None)]
        rows.append([kind, str(len(mine)), *map(str, chosen[:3]), str(chosen[3] - refused), str(refused)])
    leaky = share(d["choice"] in ("verbatim_2", "noisy_5") for d in done)
    return [
        "## The map: which release is recommended",
        "",
        f"`gh.compare` is given a clean release, 2 % verbatim copies and 5 % noisy copies, of about "
        f"{' and '.join(f'{n:,}' for n in sorted({d['n'] for d in done}))} records each. A leaking release was "
        f"recommended in {cell(leaky)} % of {len(done)} runs.",
        "",
        "No map is drawn where no measure tells a copy of everybody from other people.",
        "",
        *table(["data", "runs", "clean", "2 % verbatim", "5 % noisy", "none", "no map"], rows),
    ]


def seen(lines: Sequence[Line], leak: str, kind: str = "") -> tuple[float, float, int] | None:
    """Share of assessments of one leak that warned or failed, over one kind of data or all."""
    runs = [d for d in of(lines, leak) if not kind or d["kind"] == kind]
    return share(verdict(d, "declared") in ALARMS for d in runs)


def unseen(lines: Sequence[Line]) -> list[str]:
    """Where a leak goes unnoticed more often than not."""
    rows = []
    for leak in present(lines, "leak", LEAKS):
        if LEAKS[leak].clean or leak == "cart":
            continue
        for kind in present(lines, "kind", KINDS):
            found = seen(lines, leak, kind)
            if found is not None and found[0] < 0.5:
                rows.append([LEAKS[leak].words, kind, str(found[2]), cell(found)])
    if not rows:
        return []
    return [
        "## What is not seen",
        "",
        "Leaks that fewer than half of the assessments noticed (no policy):",
        "",
        *table(["leak", "data", "runs", "warn or FAIL, %"], rows),
        *WHY_UNSEEN,
    ]


def _main(lines: Sequence[Line]) -> list[Line]:
    """The runs of the main study: the largest tables."""
    largest = max((d["n"] for d in lines if "skipped" not in d), default=0)
    return [d for d in lines if d["n"] == largest]


def page(
    lines: Sequence[Line], compared: Sequence[Line], best: Sequence[Line] = (), remarks: str = "", named: str = ""
) -> str:
    """The whole page; ``remarks`` say how these runs came about, ``named`` is the table of studies/identifiers.py."""
    skipped = sorted({(d["kind"], d["skipped"]) for d in (*lines, *compared, *best) if "skipped" in d})
    every = [d for d in lines if "skipped" not in d]
    lines = _main(every)
    n = max((d["n"] for d in lines), default=0)
    seconds = sum(d["seconds"] for d in lines)
    text = [
        "# Can the verdict be trusted?",
        "",
        "Made by `make calibration` (`studies/calibration.py`). "
        f"{len(lines):,} assessments with `gh.assess` of releases of about {n:,} "
        f"records, {seconds / max(1, len(lines)):.1f} seconds each.",
        "",
        "A clean release is drawn from the same population as original and holdout and shares nobody with them, so "
        "every alarm about it is false. Leaks are planted in clean releases (`studies/leaks.py`). Figures are "
        "percentages of runs with one standard error. Households and panels have as many records as the others, hence "
        "only a third and a fifth as many people; a test that exchanges whole clusters cannot see one per cent of so "
        "few.",
        "",
        "![verdicts by data and leak](calibration.svg)",
        "",
    ]
    text += ([remarks.strip(), ""] if remarks else []) + goals(lines) + LEVELS
    for section in (clean_by_kind, leaks):
        text += section(lines)
    text += small([d for d in every if d["n"] < n]) + indifferent(every)
    text += [*IDENTIFIERS, named.strip(), ""] if named else []
    for section in (sizes, limits, advice, utility):
        text += section(lines)
    text += maps(compared)
    text += unseen(lines)
    text += oracle.section(best, lambda leak, kind: seen(lines, leak, kind))
    if skipped:
        text += ["## Not run", "", *(f"- {kind}: {why}" for kind, why in skipped), ""]
    return "\n".join(text)


def write(
    lines: Sequence[Line], compared: Sequence[Line], best: Sequence[Line] = (), remarks: str = "", named: str = ""
) -> None:
    """Both files, each into place in one step, so that an interrupted run leaves the last good ones."""
    from studies.calibration_chart import draw
    from vl_convert import vegalite_to_svg

    for name, text in (
        ("calibration.svg", vegalite_to_svg(draw(_main(lines)).to_dict())),
        ("calibration.md", page(lines, compared, best, remarks, named)),
    ):
        temporary = DOCS / f"{name}.part"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(DOCS / name)
    print(f"docs/calibration.md and docs/calibration.svg written from {len(lines):,} runs")
