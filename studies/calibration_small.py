"""What else the calibration page asks: smaller tables, and a column of noise."""

from __future__ import annotations

from collections.abc import Sequence

from studies.calibration_tables import ALARMS, Line, cell, of, share, table, verdict
from studies.leaks import LEAKS


def indifferent(lines: Sequence[Line]) -> list[str]:
    """How often a column of pure noise changes the verdict on the same release."""
    rows = []
    for plain, noisy in (("clean", "beside_noise"), ("verbatim_2", "beside_noise_2")):
        before = {(d["kind"], d["seed"], d["n"]): verdict(d, "declared") for d in of(lines, plain)}
        for n in sorted({d["n"] for d in lines}, reverse=True):
            both = [
                (before[key], verdict(d, "declared"))
                for d in of(lines, noisy)
                if (key := (d["kind"], d["seed"], d["n"])) in before and d["n"] == n
            ]
            if both:
                changed = [one != other for one, other in both]
                silenced = [one in ALARMS and other not in ALARMS for one, other in both]
                raised = [other in ALARMS and one not in ALARMS for one, other in both]
                cells = [cell(share(flags)) for flags in (changed, silenced, raised)]
                rows.append([LEAKS[plain].words, f"{n:,}", f"{len(both)}", *cells])
    if not rows:
        return []
    return [
        "## A column of noise",
        "",
        "The same release with one column of pure noise in all tables, % of runs. Noise is one more chance for a test "
        "to be wrong about a clean release, so its verdict changes about as often as a clean release is alarmed; of a "
        "leak the noise column of a copy differs, so that it is a copy but for one column.",
        "",
        *table(["release", "records", "runs", "verdict changes", "an alarm goes silent", "an alarm is raised"], rows),
    ]


def small(lines: Sequence[Line]) -> list[str]:
    """The verdicts on tables of other sizes than the main study's."""
    rows = []
    for n in sorted({d["n"] for d in lines}):
        for leak in LEAKS:
            found = [d for d in of(lines, leak) if d["n"] == n]
            if found:
                own = [verdict(d, "declared") for d in found]
                public = [verdict(d, "public") for d in found]
                rates = [share(v in ALARMS for v in own), share(v == "fail" for v in own)]
                open_ = [share(v == "incomplete" for v in found_) for found_ in (own, public)]
                row = [f"{cell(rates[0])} / {cell(rates[1])}", *(cell(o) for o in open_)]
                rows.append([f"{n:,}", LEAKS[leak].words, f"{len(found)}", *row])
    if not rows:
        return []
    head = ["records", "release", "runs", "warn or FAIL / FAIL", "incomplete", "incomplete under `public`"]
    return ["## Smaller tables", "", "No policy, all kinds, % of runs.", "", *table(head, rows)]
