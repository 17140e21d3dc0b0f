"""Charts of the membership attacks: the ROC curve, and its corner of few false alarms on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.show.charts.rows import Rows, data

if TYPE_CHECKING:
    import altair as alt

ATTACK, CHANCE = "#c2410c", "#8a8f98"
LOWEST = 1e-4


@chart("domias", "roc")
@chart("nnaa", "roc")
@chart("membership_classifier", "roc")
def roc(result: Result) -> alt.LayerChart | alt.HConcatChart:
    """Members found against false alarms; what matters to a person is the left corner, shown on logarithmic axes."""
    import altair as alt

    drawn = result.plot_data
    curve = drawn.get("roc")
    if not curve:
        raise InputError(f"{result.name} kept no curve to draw")
    rows = [{"fpr": f, "tpr": t} for f, t in zip(curve["fpr"], curve["tpr"], strict=True)]
    whole = _panel(rows, "linear", [0, 1], f"AUC {drawn['auc']:.3f} (chance 0.5)", 260)
    # The corner starts at the smallest false-alarm rate this holdout can show.
    floor = max(LOWEST, 1 / max(drawn["n_nonmembers"], 1))
    corner = [row for row in rows if row["fpr"] >= floor and row["tpr"] > 0]
    if not corner:
        return whole
    low = min(floor, *(row["tpr"] for row in corner))
    inset = _panel(corner, "log", [low, 1], "few false alarms", 180)
    if drawn["found_at"]:
        points = alt.Chart(data(drawn["found_at"])).mark_point(filled=True, size=70, color=ATTACK)
        inset = inset + points.encode(x="fpr:Q", y="tpr:Q")
    return alt.hconcat(whole, inset)


def _panel(
    rows: Rows, kind: Literal["linear", "log"], domain: Sequence[float], title: str, size: int
) -> alt.LayerChart:
    import altair as alt

    scale = alt.Scale(type=kind, domain=list(domain), clamp=True)
    axis = alt.Axis(format="~%")
    x = alt.X("fpr:Q", scale=scale, axis=axis, title="false alarms among non-members")
    y = alt.Y("tpr:Q", scale=scale, axis=axis, title="members found")
    line = alt.Chart(data(rows)).mark_line(color=ATTACK, strokeWidth=2).encode(x=x, y=y)
    ends = [{"fpr": end, "tpr": end} for end in domain]
    chance = alt.Chart(data(ends)).mark_line(color=CHANCE, strokeDash=[5, 4]).encode(x=x, y=y)
    return (chance + line).properties(width=size, height=size, title=title)
