"""The picture of the calibration study: a tile per kind of data and release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.calibration_tables import ALARMS, Line, of, present, verdict
from studies.kinds import KINDS
from studies.leaks import LEAKS


def draw(lines: Sequence[Line]) -> Any:
    """A tile per kind of data and release: how many assessments warn or fail, and how many fail."""
    import altair as alt

    lines = [d for d in lines if "skipped" not in d]
    kinds, found = present(lines, "kind", KINDS), present(lines, "leak", LEAKS)
    tiles = []
    for leak in found:
        for kind in kinds:
            said = [verdict(d, "declared") for d in of(lines, leak) if d["kind"] == kind]
            if said:
                alarmed, failed = sum(s in ALARMS for s in said) / len(said), said.count("fail") / len(said)
                tiles.append(
                    {"kind": kind, "release": LEAKS[leak].words, "alarmed": alarmed, "failed": failed,
                     "group": "nobody leaks" if LEAKS[leak].clean else "people leak",
                     "text": f"{100 * alarmed:.0f}"}
                )  # fmt: skip
    panels = []
    for group, colour in (("nobody leaks", "oranges"), ("people leak", "blues")):
        rows = [t for t in tiles if t["group"] == group]
        order = [LEAKS[x].words for x in found]
        for what, title in (("alarmed", "warn or FAIL"), ("failed", "FAIL")):
            shown = [{**t, "share": t[what], "text": f"{100 * t[what]:.0f}"} for t in rows]
            base = alt.Chart(alt.Data(values=shown)).encode(
                x=alt.X("kind:N", sort=kinds, title=None, axis=alt.Axis(labelAngle=-40)),
                y=alt.Y("release:N", sort=order, title=None, axis=alt.Axis(labelLimit=330, labels=what == "alarmed")),
            )
            ink = alt.condition("datum.share > 0.6", alt.value("white"), alt.value("#333"))
            fill = alt.Color("share:Q", scale=alt.Scale(domain=[0, 1], scheme=colour), legend=None)
            both = base.mark_rect().encode(color=fill) + base.mark_text(fontSize=9).encode(text="text:N", color=ink)
            height = 17 * len({t["release"] for t in rows})
            panels.append(both.properties(width=27 * len(kinds), height=height, title=f"{group}: {title}, % of runs"))
    top, bottom = (alt.hconcat(*panels[i : i + 2]).resolve_scale(color="independent") for i in (0, 2))
    return alt.vconcat(top, bottom).resolve_scale(color="independent").configure_view(stroke=None)
