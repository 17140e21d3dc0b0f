"""Times and memory of both sides as tables, how far their figures are apart, and the picture of how times grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from bench.peers.environments import PEERS
from bench.peers.tasks import ROWS, Row
from studies.calibration_tables import table

Line = dict[str, Any]
FASTER = 0.9  # a ratio below this is said to be a peer's advantage
SMALLEST = 0.02  # CPU seconds below which a growth is that of the clock
SIDES = ("glasshouse", "peer")


def number(value: float) -> str:
    if value < 0.1:
        return f"{value:.1g}"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def of(lines: Sequence[Line], row: str, n: int, tool: str) -> Line | None:
    found = [d for d in lines if (d.get("row"), d.get("n"), d.get("tool")) == (row, n, tool)]
    return found[-1] if found else None


def both(lines: Sequence[Line], row: Row) -> list[tuple[int, Line, Line]]:
    """Sizes that both sides have something about, and what they said: the peer first."""
    sizes = sorted({d["n"] for d in lines if d.get("row") == row.name})
    found = [(n, of(lines, row.name, n, row.peer), of(lines, row.name, n, "glasshouse")) for n in sizes]
    return [(n, theirs, ours) for n, theirs, ours in found if theirs and ours]


def ratio(theirs: Line, ours: Line) -> float | None:
    """CPU seconds of the peer over ours; None where either has none."""
    if "cpu" not in theirs or "cpu" not in ours:
        return None
    return theirs["cpu"] / max(ours["cpu"], 1e-6)


def _memory(line: Line) -> str:
    return f"{line['peak']:.0f}" if _told(line) else "–"


def _told(line: Line) -> bool:
    """Whether the system told the peak memory: R says nothing about it where there is no /proc."""
    return isinstance(line["peak"], (int, float))


def speed(lines: Sequence[Line]) -> list[str]:
    """A line per question, at the largest size that both answered."""
    rows, faster, lighter = [], [], []
    for row in ROWS:
        done = [(n, t, o, r) for n, t, o in both(lines, row) if (r := ratio(t, o)) is not None]
        if not done:
            continue
        n, theirs, ours, times = done[-1]
        peer = PEERS[row.peer].title
        if times < FASTER:
            faster.append(f"{peer} is faster at {row.words} ({1 / times:.1f} times)")
        if _told(theirs) and _told(ours) and theirs["peak"] < ours["peak"]:
            lighter.append(peer)
        rows.append(
            [row.words, peer, f"{n:,}" if row.largest else "–", number(theirs["cpu"]), number(ours["cpu"]),
             number(times), _memory(theirs), _memory(ours), row.differs]
        )  # fmt: skip
    head = ["question", "peer", "records", "peer, CPU s", "here, CPU s", "peer / here", "peer, MiB", "here, MiB",
            "where the questions differ"]  # fmt: skip
    text = [*table(head, rows)] if rows else ["No question was answered by both sides.", ""]
    if faster:
        text += ["Where a peer is faster: " + "; ".join(faster) + ".", ""]
    if lighter:
        names = ", ".join(dict.fromkeys(lighter))
        text += [f"Where a peer takes less memory: {len(lighter)} of {len(rows)} questions ({names}).", ""]
    return [*text, *unanswered(lines)]


def unanswered(lines: Sequence[Line]) -> list[str]:
    """Why a side has no figure, and what was not asked because it would take long."""
    reasons = []
    for row in ROWS:
        for d in lines:
            if d.get("row") == row.name and "failed" in d:
                tool = PEERS[d["tool"]].title if d["tool"] in PEERS else d["tool"]
                reasons.append(f"- {row.words}, {d['n']:,} records, {tool}: {d['failed']}")
        largest = max((d["n"] for d in lines if "n" in d), default=0)
        if 0 < row.largest < largest and any(d.get("row") == row.name for d in lines):
            reasons.append(f"- {row.words}: {PEERS[row.peer].title} was asked about {row.largest:,} records at most.")
    return ["Not answered or not asked:", "", *dict.fromkeys(reasons), ""] if reasons else []


def growth_table(lines: Sequence[Line]) -> list[str]:
    """CPU seconds of both sides at every size, and the power of the records they grow with."""
    sizes = sorted({d["n"] for row in ROWS if row.largest for d in lines if d.get("row") == row.name})
    rows = []
    for row in ROWS:
        done = {n: (t, o) for n, t, o in both(lines, row) if ratio(t, o) is not None}
        if row.largest and done:
            cells = [" / ".join(number(side["cpu"]) for side in done[n]) if n in done else "–" for n in sizes]
            powers = [_power({n: sides[i]["cpu"] for n, sides in done.items()}) for i in (0, 1)]
            rows.append([row.words, PEERS[row.peer].title, *cells, " / ".join(powers)])
    if len(sizes) < 2 or not rows:
        return []
    text = (
        "CPU seconds by records, peer / here; the last column has the power of the number of records with which each "
        "grew from the smallest to the largest size (– below a fiftieth of a second). Both sides of a cell were asked "
        "one after the other; other sizes met other loads, and a power takes that in:"
    )
    return [text, "", *table(["question", "peer", *(f"{n:,}" for n in sizes), "power"], rows)]


def _power(seconds: Mapping[int, float]) -> str:
    counted = {n: s for n, s in seconds.items() if s >= SMALLEST}
    if len(counted) < 2:
        return "–"
    low, high = min(counted), max(counted)
    return f"{log(counted[high] / counted[low]) / log(high / low):.1f}"


# -- the same figure on both sides -------------------------------------------------------------------------------------

# what both sides call the same figure, theirs first; in rows that are not here nothing is the same figure
TWINS: dict[str, dict[str, tuple[str, ...]]] = {
    "levels": {"k": ("k_anonymity", "value"), "l": ("l_diversity", "value"), "t": ("t_closeness", "value")},
    "forest": {"own": ("own",), "accuracy": ("accuracy",), "rapid": ("rapid",)},
    "trees": {"own": ("own",), "rapid": ("rapid",)},
    "synthesis": {"target": ("target",), "copied": ("copied",)},
}
ABOUT = {
    "forest": "mean probability of the true class, share of right guesses, RAPID at 0.3",
    "trees": "mean probability of the true class, RAPID at 0.3",
    "synthesis": "share of one class, share of records that are in the original",
}


def _pairs(row: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[tuple[float, float]]:
    if row == "advantage":
        return [(theirs[rho], ours[rho]) for rho in theirs]
    found = []
    for name, path in TWINS.get(row, {}).items():
        value: Any = ours
        for step in path:
            value = value[step]
        found.append((theirs[name], value))
    return found


def agreement(lines: Sequence[Line]) -> list[str]:
    """How far apart both sides are where they compute the same thing, over all sizes, and how far chance alone."""
    text = []
    for row in ROWS:
        sides = [(t, o) for _, t, o in both(lines, row) if "figures" in t and "figures" in o]
        apart = [abs(a - b) for t, o in sides for a, b in _pairs(row.name, t["figures"], o["figures"])]
        if not apart:
            continue
        about = f" ({ABOUT[row.name]})" if row.name in ABOUT else ""
        said = (
            f"- {row.words}: {len(apart)} figures{about} of {PEERS[row.peer].title} and of glasshouse differ by at "
            f"most {max(apart):.2g}."
        )
        chance = [gap for pair in sides for side in pair for gap in _by_seed(row, side)]
        if max(chance, default=0.0) > 0:
            said += f" Two runs of one side that differ in the seed differ by up to {max(chance):.2g}."
        if row.name == "trees":
            said += f" {_leaves([(t['figures'], o['figures']) for t, o in sides])}"
        text.append(said)
    return ["The same figure on both sides:", "", *text, ""] if text else []


def _by_seed(row: Row, side: Line) -> list[float]:
    """Gaps between the figures of one side under two seeds."""
    if not row.both_warm or "warmed" not in side:
        return []
    return [abs(side["figures"][name] - side["warmed"][name]) for name in TWINS.get(row.name, {})]


def _leaves(sides: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Whether trees are the same trees: the same training records together in every leaf."""
    kinds = ("class", "number")
    same = [t[f"{kind}_grouping"] == o[f"{kind}_grouping"] for t, o in sides for kind in kinds]
    counts = [abs(t[f"{kind}_leaves"] - o[f"{kind}_leaves"]) for t, o in sides for kind in kinds]
    most = max(t[f"{kind}_leaves"] for t, _ in sides for kind in kinds)
    errors = max(abs(t["error"] / o["error"] - 1) for t, o in sides)
    return (
        f"Every leaf holds the same training records in {sum(same)} of {len(same)} trees, and the numbers of leaves "
        f"(up to {most:,.0f}) differ by at most {max(counts):.0f}; the errors of the tree of numbers differ by at most "
        f"{100 * errors:.1g} %. Where they are not the same trees, splits tie: two are equally good, or rare levels of "
        "a label are, and the order among those decides which groups of levels reach the size of the smallest leaf."
    )


# -- the picture -------------------------------------------------------------------------------------------------------


def growth(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Points of the picture: CPU seconds by records, for both sides of every question."""
    rows = {row.name: row for row in ROWS if row.largest}
    return [
        {
            "question": f"{PEERS[rows[d['row']].peer].title}\n{rows[d['row']].words.replace('`', '')}",
            "side": SIDES[0] if d["tool"] == SIDES[0] else SIDES[1],
            "records": d["n"],
            "seconds": max(d["cpu"], 0.001),
        }
        for d in sorted(lines, key=lambda d: list(rows).index(d["row"]) if d.get("row") in rows else -1)
        if d.get("part") == "speed" and "cpu" in d and d["row"] in rows
    ]


def draw(points: Sequence[dict[str, Any]]) -> Any:
    """A small panel per question."""
    import altair as alt

    base = alt.Chart(alt.Data(values=list(points))).encode(
        x=alt.X("records:Q", scale=alt.Scale(type="log"), title="records", axis=alt.Axis(tickCount=3, format="~s")),
        y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="CPU seconds", axis=alt.Axis(tickCount=4, format="~g")),
        color=alt.Color(
            "side:N",
            scale=alt.Scale(domain=list(SIDES), range=["#0b6e6e", "#c05a1c"]),
            legend=alt.Legend(title=None, orient="top"),
        ),
        strokeDash=alt.StrokeDash("side:N", legend=None),
    )
    panel = (base.mark_line() + base.mark_point(filled=True, size=35)).properties(width=190, height=120)
    titles = alt.Header(labelExpr="split(datum.value, '\\n')", labelLimit=240, labelFontSize=9)
    order = list(dict.fromkeys(p["question"] for p in points))
    panels = alt.Facet("question:N", title=None, header=titles, sort=order)
    return panel.facet(facet=panels, columns=3).configure_view(stroke="#ccc")
