"""Charts of the membership attacks: the ROC curve, and its corner of few false alarms on a logarithmic scale."""

from __future__ import annotations

from typing import Any

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result

ATTACK, CHANCE = "#c2410c", "#8a8f98"
LOWEST = 1e-4


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


@chart("domias", "roc")
@chart("nnaa", "roc")
@chart("membership_classifier", "roc")
def roc(result: Result) -> Any:
    """Members found against false alarms; what matters to a person is the left corner, shown on logarithmic axes."""
    import altair as alt

    curve = result.plot_data.get("roc")
    if not curve:
        raise InputError(f"{result.name} kept no curve to draw")
    rows = [{"fpr": f, "tpr": t} for f, t in zip(curve["fpr"], curve["tpr"], strict=True)]
    auc = result.details["auc"]
    whole = _panel(rows, "linear", [0, 1], f"AUC {auc:.3f} (chance 0.5)", 260)
    # The corner starts at the smallest false-alarm rate this holdout can show.
    floor = max(LOWEST, 1 / max(result.details["n_nonmembers"], 1))
    corner = [row for row in rows if row["fpr"] >= floor and row["tpr"] > 0]
    if not corner:
        return whole
    low = min(floor, *(row["tpr"] for row in corner))
    inset = _panel(corner, "log", [low, 1], "few false alarms", 180)
    marks = [
        {"fpr": rate, "tpr": result.details[name]}
        for rate, name in ((0.01, "tpr_at_fpr_1pct"), (0.001, "tpr_at_fpr_0_1pct"))
        if result.details.get(name)
    ]
    if marks:
        points = alt.Chart(_data(marks)).mark_point(filled=True, size=70, color=ATTACK)
        inset = inset + points.encode(x="fpr:Q", y="tpr:Q")
    return alt.hconcat(whole, inset)


def _panel(rows: list[dict[str, float]], kind: str, domain: list[float], title: str, size: int) -> Any:
    import altair as alt

    scale = alt.Scale(type=kind, domain=domain, clamp=True)  # type: ignore[arg-type]
    axis = alt.Axis(format="~%")
    x = alt.X("fpr:Q", scale=scale, axis=axis, title="false alarms among non-members")
    y = alt.Y("tpr:Q", scale=scale, axis=axis, title="members found")
    line = alt.Chart(_data(rows)).mark_line(color=ATTACK, strokeWidth=2).encode(x=x, y=y)
    ends = [{"fpr": end, "tpr": end} for end in domain]
    chance = alt.Chart(_data(ends)).mark_line(color=CHANCE, strokeDash=[5, 4]).encode(x=x, y=y)
    return (chance + line).properties(width=size, height=size, title=title)
