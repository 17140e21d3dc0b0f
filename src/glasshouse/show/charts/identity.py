"""Charts of the identity family: how large groups are, which keys single people out, how risk spreads over records."""

from __future__ import annotations

from typing import Any

from glasshouse.core.charts import chart
from glasshouse.core.result import Result

TEAL, GREY, RED = "#0f7b8a", "#9aa5a8", "#b5482f"


def _bars(
    data: list[dict[str, Any]],
    label: str,
    value: str,
    title: str,
    axis: str,
    format: str = "",
    height: int | None = None,
) -> Any:
    """Horizontal bars in the order given, each with its figure."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=data)).encode(
        y=alt.Y(f"{label}:N", sort=[row[label] for row in data], title=None, axis=alt.Axis(labelLimit=260))
    )
    bars = base.mark_bar(color=TEAL).encode(x=alt.X(f"{value}:Q", title=axis, axis=alt.Axis(format=format or ",d")))
    text = base.mark_text(align="left", dx=4).encode(x=f"{value}:Q", text=alt.Text(f"{value}:Q", format=format or ",d"))
    return (bars + text).properties(width=380, height=height or 26 * max(len(data), 2), title=title)


@chart("k_anonymity", "sizes")
def class_sizes(result: Result, count: str = "records") -> Any:
    """Records (or classes) by the size of their group; groups below k stand out."""
    import altair as alt

    sizes = result.plot_data["sizes"]
    k = int(result.details["k"])
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
        .properties(width=380, height=220, title=f"Group sizes in the {result.details['table']} table")
    )


@chart("uniques", "steps")
def unique_steps(result: Result) -> Any:
    """From unique in the original to unique in both, beside what unrelated columns would give."""
    names = {
        "UiO": "alone in the original",
        "UiOiS": "... and found in the release",
        "repU": "... and alone there too",
        "expected": "expected of unrelated columns",
    }
    data = [{"step": label, "share": result.details[name]} for name, label in names.items()]
    return _bars(data, "step", "share", "Uniques, original to release", "share of original records", ".1%")


@chart("suda", "contributions")
def contributions(result: Result) -> Any:
    """How much each key adds to the scores; keys share minimal uniques, so the shares sum to more than 1."""
    found = result.details["attribute_contributions"]
    data = [{"key": key, "share": share} for key, share in sorted(found.items(), key=lambda item: -item[1])]
    return _bars(data, "key", "share", "Which keys single records out", "share of the total score", ".0%")


@chart("suda", "sizes")
def msu_sizes(result: Result) -> Any:
    """Minimal sample uniques by the number of keys it takes."""
    data = [
        {"keys": f"{size} key{'' if size == '1' else 's'}", "n": n}
        for size, n in result.details["msus_by_size"].items()
    ]
    return _bars(data, "keys", "n", "How many keys it takes to single a record out", "minimal sample uniques")


@chart("suda", "dis")
def dis_distribution(result: Result) -> Any:
    """Records by DIS-SUDA score, in tenths."""
    data = [{"band": band, "n": n} for band, n in result.details["dis_bands"].items()]
    return _bars(data, "band", "n", "DIS-SUDA scores of the records that are singled out", "records")


@chart("individual_risk", "distribution")
def risk_distribution(result: Result) -> Any:
    """Records by the probability of being re-identified."""
    bands = result.details["bands"]
    data = [{"band": band, "n": n} for band, n in bands.items()]
    return _bars(data, "band", "n", f"Risk of the records of the {result.details['table']} table", "records")


@chart("attacker_risk", "attackers")
def attackers(result: Result) -> Any:
    """Mean risk for each attacker whose figure could be computed."""
    found = result.plot_data["attackers"]
    data = [{"attacker": name, "mean": mean} for name, mean in zip(found["attacker"], found["mean"], strict=True)]
    return _bars(data, "attacker", "mean", "Mean risk by attacker", "probability of a right match", ".1%")


@chart("population_uniqueness", "range")
def estimates(result: Result) -> Any:
    """The published estimators side by side: their range is the answer."""
    names = {"zayatz": "Zayatz", "pitman_mle": "Pitman", "shifted_nb": "shifted negative binomial"}
    found = result.plot_data["estimates"]
    data = [{"estimator": names[name], "p": p} for name, p in zip(found["estimator"], found["p"], strict=True)]
    return _bars(data, "estimator", "p", "Share of file uniques that are unique in the population", "estimate", ".1%")


@chart("t_closeness", "quantiles")
def distance_quantiles(result: Result) -> Any:
    """How far groups are from the overall distribution, by quantile over groups."""
    data = [{"quantile": f"{100 * float(q):g} %", "distance": d} for q, d in result.details["quantiles"].items()]
    return _bars(
        data,
        "quantile",
        "distance",
        "Distance of groups from the overall distribution",
        "distance at this quantile of groups",
        ".2f",
    )


@chart("l_diversity", "minima")
def diversity_minima(result: Result) -> Any:
    """Records below l by each definition."""
    names = {"n_violating_distinct": "distinct", "n_violating_entropy": "entropy", "n_violating_recursive": "recursive"}
    data = [{"definition": label, "n": result.details[name]} for name, label in names.items()]
    return _bars(data, "definition", "n", f"Records in groups below l = {result.details['l']}", "records")


@chart("mutual_information", "bits")
def information_bits(result: Result) -> Any:
    """What there is to learn, what the keys tell, and what is left after the bias of rare groups."""
    found = result.plot_data["bits"]
    data = [{"figure": name, "bits": value} for name, value in zip(found["figure"], found["value"], strict=True)]
    return _bars(data, "figure", "bits", "Information about the target", "bits", ".2f")
