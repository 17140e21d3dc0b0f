"""Charts of the GDPR attacks: attack, naive baseline and control side by side, each with its interval."""

from __future__ import annotations

from typing import Any

from glasshouse.core.charts import chart
from glasshouse.core.result import Result

ROWS = (
    ("attack", "people in the original", "#a92e13"),
    ("control", "people never seen", "#2b78b5"),
    ("baseline", "naive guesses", "#5d6670"),
)
LIMITS = ((0.05, "warn"), (0.10, "fail"))


def _rows(result: Result) -> list[dict[str, Any]]:
    """Rate and interval of each side that was measured."""
    rates = {"attack": result.value, "control": result.holdout, "baseline": result.baseline}
    made = []
    for key, label, colour in ROWS:
        limits = result.details.get(f"{key}_interval")
        if rates[key] is None or limits is None:
            continue
        made.append({"side": label, "rate": rates[key], "low": limits[0], "high": limits[1], "colour": colour})
    return made


@chart("singling_out", "attack")
@chart("linkability", "attack")
@chart("inference", "attack")
def attack(result: Result) -> Any:
    """Success of the attack against the control and against naive guesses, with confidence intervals."""
    import altair as alt

    rows = _rows(result)
    order = [row["side"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        y=alt.Y("side:N", sort=order, title=None), color=alt.Color("colour:N", scale=None)
    )
    span = base.mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round").encode(
        x=alt.X("low:Q", title="share of guesses that are right", axis=alt.Axis(format="~%")), x2="high:Q"
    )
    tip = [alt.Tooltip("side:N"), *(alt.Tooltip(f"{name}:Q", format=".2%") for name in ("rate", "low", "high"))]
    points = base.mark_point(filled=True, size=110, opacity=1).encode(x="rate:Q", tooltip=tip)
    return (span + points).properties(width=420, height=34 * len(rows), title=result.name.replace("_", " "))


@chart("singling_out", "difference")
@chart("linkability", "difference")
@chart("inference", "difference")
def difference(result: Result) -> Any:
    """Attack minus control with its interval, and the limits the verdict looks at (needs a holdout)."""
    import altair as alt

    from glasshouse.core.errors import InputError

    limits = result.details.get("difference_interval")
    if limits is None:
        raise InputError(
            f"{result.name} has no control to compare with; give the pair a holdout, or plot kind='attack'"
        )
    row = {"what": "attack minus control", "gap": result.details["difference"], "low": limits[0], "high": limits[1]}
    data = alt.Data(values=[row])  # type: ignore[no-untyped-call]
    y = alt.Y("what:N", title=None)
    span = alt.Chart(data).mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round", color="#a92e13")
    x = alt.X("low:Q", title="surplus over people never seen", axis=alt.Axis(format="~%"))
    point = alt.Chart(data).mark_point(filled=True, size=110, opacity=1, color="#a92e13").encode(x="gap:Q", y=y)
    marks = [{"at": at, "label": label} for at, label in ((0.0, "no leak"), *LIMITS)]
    lines = alt.Chart(alt.Data(values=marks)).mark_rule(strokeDash=[4, 3], color="#5d6670")  # type: ignore[no-untyped-call]
    names = lines.mark_text(dy=-31, fontSize=10, color="#5d6670").encode(x="at:Q", text="label:N")
    return (lines.encode(x="at:Q") + names + span.encode(x=x, x2="high:Q", y=y) + point).properties(
        width=420, height=50
    )
