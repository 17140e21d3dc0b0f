"""Charts of the GDPR attacks: originals, people never in the data and naive guesses side by side, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glasshouse.core.charts import chart
from glasshouse.core.errors import InputError
from glasshouse.core.result import Result
from glasshouse.show.charts.rows import data

if TYPE_CHECKING:
    import altair as alt

ATTACK, GUIDE = "#a92e13", "#5d6670"
SIDES = {
    "original": ("people in the original", ATTACK),
    "holdout": ("people never in the data", "#2b78b5"),
    "naive": ("naive guesses", GUIDE),
}


@chart("singling_out", "attack")
@chart("linkability", "attack")
@chart("inference", "attack")
def attack(result: Result) -> alt.LayerChart:
    """Success about originals, about people never in the data and of naive guesses, with confidence intervals."""
    import altair as alt

    rows = []
    for rate in result.plot_data["rates"]:
        label, colour = SIDES[rate["side"]]
        rows.append({**rate, "side": label, "colour": colour})
    order = [row["side"] for row in rows]
    base = alt.Chart(data(rows)).encode(
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
def difference(result: Result) -> alt.LayerChart:
    """Originals minus people never in the data with the interval, and the limits the verdict looks at."""
    import altair as alt

    if result.difference_interval is None:
        raise InputError(f"{result.name} has nobody to compare with; give the pair a holdout, or plot kind='attack'")
    low, high = result.difference_interval
    source = data([{"what": "original minus holdout", "gap": result.difference, "low": low, "high": high}])
    y = alt.Y("what:N", title=None)
    span = alt.Chart(source).mark_rule(strokeWidth=5, opacity=0.35, strokeCap="round", color=ATTACK)
    x = alt.X("low:Q", title="surplus over people never in the data", axis=alt.Axis(format="~%"))
    point = alt.Chart(source).mark_point(filled=True, size=110, opacity=1, color=ATTACK).encode(x="gap:Q", y=y)
    lines = alt.Chart(data([{"at": 0.0, "label": "no leak"}, *_limits(result)]))
    names = lines.mark_text(dy=-31, fontSize=10, color=GUIDE).encode(x="at:Q", text="label:N")
    rules = lines.mark_rule(strokeDash=[4, 3], color=GUIDE).encode(x="at:Q")
    return (rules + names + span.encode(x=x, x2="high:Q", y=y) + point).properties(width=420, height=50)


def _limits(result: Result) -> list[dict[str, object]]:
    """Where the limits in force warn and fail."""
    judged = [limit for limit in result.limits if (limit.statistic or "").startswith("difference")]
    marks = ((limit.warn, "warn") for limit in judged), ((limit.fail, "fail") for limit in judged)
    return [{"at": at, "label": label} for kind in marks for at, label in kind if at is not None]
