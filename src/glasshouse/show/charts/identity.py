"""Charts of the identity family: how large groups are, which keys single people out, how risk spreads over records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from glasshouse.core.charts import chart
from glasshouse.core.result import Result
from glasshouse.core.words import plural

if TYPE_CHECKING:  # importing altair takes longer than computing the figures
    import altair as alt

Drawing: TypeAlias = "alt.Chart | alt.LayerChart"
TEAL, RED = "#0f7b8a", "#b5482f"


def _bars(figures: Mapping[str, float], title: str, axis: str, format: str = ",d") -> Drawing:
    """Horizontal bars in the order given, each with its figure."""
    import altair as alt

    data = [{"label": label, "figure": figure} for label, figure in figures.items()]
    base = alt.Chart(alt.InlineData(values=data)).encode(
        y=alt.Y("label:N", sort=list(figures), title=None, axis=alt.Axis(labelLimit=260))
    )
    bars = base.mark_bar(color=TEAL).encode(x=alt.X("figure:Q", title=axis, axis=alt.Axis(format=format)))
    text = base.mark_text(align="left", dx=4).encode(x="figure:Q", text=alt.Text("figure:Q", format=format))
    return (bars + text).properties(width=380, height=26 * max(len(data), 2), title=title)


@chart("k_anonymity", "sizes")
def class_sizes(result: Result, count: str = "records") -> Drawing:
    """Records (or classes) by the size of their group; groups below k stand out."""
    import altair as alt

    sizes = result.plot_data["sizes"]
    k = int(result.plot_data["k"])
    data = [
        {"size": size, "n": n, "below": "below k" if int(size.rstrip("+")) < k else "k and more"}
        for size, n in zip(sizes["size"], sizes[count], strict=True)
    ]
    return (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=sizes["size"], title="records with the same keys", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("n:Q", title=count),
            color=alt.Color(
                "below:N", scale=alt.Scale(domain=["below k", "k and more"], range=[RED, TEAL]), title=f"k = {k}"
            ),
        )
        .properties(width=380, height=220, title=f"Group sizes in the {result.plot_data['table']} table")
    )


@chart("uniques", "steps")
def unique_steps(result: Result) -> Drawing:
    """From unique in the original to unique in both, beside what unrelated columns would give."""
    return _bars(result.plot_data["steps"], "Uniques, original to release", "share of original records", ".1%")


@chart("suda", "contributions")
def contributions(result: Result) -> Drawing:
    """How much each key adds to the scores; keys share minimal uniques, so the shares sum to more than 1."""
    found = result.plot_data["contributions"]
    shares = dict(sorted(zip(found["key"], found["share"], strict=True), key=lambda item: -item[1]))
    return _bars(shares, "Which keys single records out", "share of the total score", ".0%")


@chart("suda", "sizes")
def msu_sizes(result: Result) -> Drawing:
    """Minimal sample uniques by the number of keys it takes."""
    found = result.plot_data["sizes"]
    sets = {f"{keys} {plural(keys, 'key')}": n for keys, n in zip(found["keys"], found["sets"], strict=True)}
    return _bars(sets, "How many keys it takes to single a record out", "minimal sample uniques")


@chart("suda", "dis")
def dis_distribution(result: Result) -> Drawing:
    """Records by DIS-SUDA score, in tenths."""
    found = result.plot_data["dis"]
    records = dict(zip(found["band"], found["records"], strict=True))
    return _bars(records, "DIS-SUDA scores of the records that are singled out", "records")


@chart("individual_risk", "distribution")
def risk_distribution(result: Result) -> Drawing:
    """Records by the probability of being re-identified."""
    found = result.plot_data["risk"]
    records = dict(zip(found["band"], found["records"], strict=True))
    return _bars(records, f"Risk of the records of the {result.plot_data['table']} table", "records")


@chart("attacker_risk", "attackers")
def attackers(result: Result) -> Drawing:
    """Mean risk for each attacker whose figure could be computed."""
    found = result.plot_data["attackers"]
    means = dict(zip(found["attacker"], found["mean"], strict=True))
    return _bars(means, "Mean risk by attacker", "probability of a right match", ".1%")


@chart("population_uniqueness", "range")
def estimates(result: Result) -> Drawing:
    """The published estimators side by side: their range is the answer."""
    names = {"zayatz": "Zayatz", "pitman_mle": "Pitman", "shifted_nb": "shifted negative binomial"}
    found = result.plot_data["estimates"]
    shares = {names[name]: p for name, p in zip(found["estimator"], found["p"], strict=True)}
    return _bars(shares, "Share of file uniques that are unique in the population", "estimate", ".1%")


@chart("t_closeness", "quantiles")
def distance_quantiles(result: Result) -> Drawing:
    """How far groups are from the overall distribution, by quantile over groups."""
    found = result.plot_data["quantiles"]
    distances = {f"{100 * float(q):g} %": d for q, d in zip(found["quantile"], found["distance"], strict=True)}
    title, axis = "Distance of groups from the overall distribution", "distance at this quantile of groups"
    return _bars(distances, title, axis, ".2f")


@chart("l_diversity", "minima")
def diversity_minima(result: Result) -> Drawing:
    """Records below l by each definition."""
    found = result.plot_data["below_l"]
    records = dict(zip(found["definition"], found["records"], strict=True))
    return _bars(records, f"Records in groups below l = {found['l']}", "records")


@chart("mutual_information", "bits")
def information_bits(result: Result) -> Drawing:
    """What there is to learn, what the keys tell, and what is left after the bias of rare groups."""
    found = result.plot_data["bits"]
    bits = dict(zip(found["figure"], found["value"], strict=True))
    return _bars(bits, "Information about the target", "bits", ".2f")
