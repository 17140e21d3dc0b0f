"""The riskutility paper: its running example, its cross-family table and its case study, by `assess` and `compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import glasshouse as gh
from reproduce.charts import dots, pair_of_dots
from reproduce.published import Published
from reproduce.r_random import RRandom
from reproduce.riskutility_listings import CASE_KEYS, RUNNING_KEYS, SCHOOLING, case_study, running_example, survey
from reproduce.row import Chart, Item, Row, mean, printed
from reproduce.setting import Setting

RUNNING, ACROSS, CASE, UTILITY = (
    Published("riskutility", name)
    for name in ("Running example", "Cross-family table", "Case study", "Case study, utility")
)
RELEASES = ("A", "B", "C")
BINS: dict[str, Any] = {"bins": 10, "key_groups": None}  # numeric targets in ten groups, as riskutility has them
LM: dict[str, Any] = {"attackers": "lm", "parity": "riskutility"}


def running(setting: Setting) -> list[Item]:
    """The running example and the cross-family table.

    Parameters
    ----------
    setting : Setting
        How the run goes; nothing is drawn here beside the listing itself.

    Returns
    -------
    list of Item
    """
    del setting
    tables = running_example()
    pairs = [
        gh.Pair(tables["original"], tables[name], keys=RUNNING_KEYS, target="income")
        for name in ("released", "near_copy")
    ]
    return [_running_example(tables, pairs[0]), _cross_family(tables, pairs)]


def _running_example(tables: Mapping[str, pl.DataFrame], safe: gh.Pair) -> Item:
    d, released = gh.disclosure, tables["released"]
    tcap, rapid = d.tcap(safe, **BINS), d.rapid(safe, **LM)
    p, (low, high) = rapid.details["p_value"], tcap.interval
    sizes = released.group_by(RUNNING_KEYS).len()["len"]
    alone = int((sizes == 1).sum()) / len(sizes)
    split = gh.Pair(tables["training"], released, keys=RUNNING_KEYS, target="income", holdout=tables["holdout"])
    nnaa = d.nnaa(split)
    attributed = f"{tcap.value:.3f} ({low:.3f} to {high:.3f}), baseline {tcap.baseline:.3f}"
    predicted = f"{rapid.value:.3f}, by luck {rapid.baseline:.3f} (p = {p:.2f})"
    loss = f"privacy loss {nnaa.value:.3f} (p = {nnaa.details['p_loss']:.2f})"
    combinations = tables["original"]["age"].n_unique() * 2 * len(SCHOOLING) * 5
    rows = [
        RUNNING.figure("combinations of key values", RUNNING["combinations"], combinations, digits=0),
        RUNNING.figure("k", RUNNING["k"], d.k_anonymity(safe).value, digits=0),
        RUNNING.statement("key classes", "singletons", f"{alone:.0%} of {len(sizes)} classes", alone > 0.5),
        RUNNING.statement("TCAP", "tcap", attributed, low <= tcap.baseline <= high),
        RUNNING.statement("RAPID (lm)", "rapid", predicted, p > 0.05),
        RUNNING.statement("NNAA", "nnaa", loss, abs(nnaa.value) < 0.01),
    ]
    how = f"`gh.assess` says {gh.assess(safe).verdict}: without a holdout members cannot be told from anybody else."
    return Item(RUNNING.name, f"{RUNNING['about']} {how}", rows)


def _cross_family(tables: Mapping[str, pl.DataFrame], pairs: list[gh.Pair]) -> Item:
    d, original = gh.disclosure, tables["original"]
    dcap = [d.cap(pair, **BINS).details["cap_excess"] for pair in pairs]
    exact = [d.cap(pair, bins=None, key_groups=None).value for pair in pairs]
    rapid = [d.rapid(pair, **LM).value for pair in pairs]
    itself = d.rapid(original, original, keys=RUNNING_KEYS, target="income", **LM)
    same = [d.identical(pair).value for pair in pairs]
    near, verdict = d.near_copies(pairs[1]).value, gh.assess(pairs[1]).verdict
    moved = int((original["income"] != tables["near_copy"]["income"]).sum()) / original.height

    def both(figures: list[float]) -> str:
        return f"{figures[0]:.3f}, near copy {figures[1]:.3f}"

    learnt = f"{both(rapid)}; trained on the original itself {itself.value:.3f}, by luck {itself.baseline:.3f}"
    alone = f"identical records show {same[1]:g}, near copies {near:.0%} of people; `gh.assess`: {verdict}"
    copied = f"{both(same)}; {moved:.1%} of incomes were moved"
    rows = [
        ACROSS.statement("DCAP", "dcap", f"{both(dcap)} (income in ten groups)", dcap[1] > dcap[0]),
        ACROSS.statement("DCAP, values as they are", "dcap_exact", both(exact), exact[1] > exact[0], moved > 0.99),
        ACROSS.statement("RAPID (lm)", "rapid", learnt, rapid[1] > rapid[0], itself.value - itself.baseline < 0.05),
        ACROSS.statement("identical records", "ims", copied, same[1] > same[0], moved > 0.99),
        ACROSS.statement("one family alone", "assess", alone, same[1] == 0 and verdict == "fail"),
    ]
    return Item(ACROSS.name, ACROSS["about"], rows)


@cache
def _case() -> dict[str, gh.Pair]:
    tables = case_study()
    return {
        name: gh.Pair(tables["original"], tables[name], keys=CASE_KEYS, target="income")
        for name in ("original", *RELEASES)
    }


def case(setting: Setting) -> list[Item]:
    """The case study: screening, map and decision.

    Parameters
    ----------
    setting : Setting
        How the run goes.

    Returns
    -------
    list of Item
    """
    decision = _decision(setting)
    tables, pairs, d = case_study(), _case(), gh.disclosure
    sizes = {name: tables[name].group_by(CASE_KEYS).len()["len"] for name in pairs}
    smallest = {name: d.k_anonymity(pair).value for name, pair in pairs.items()}
    cells = len(sizes["original"])
    rows = [CASE.figure("combinations of key values", CASE["combinations"], cells, digits=0)]
    rows += [CASE.figure(f"{name}: k", CASE["k"][name], k, digits=0) for name, k in smallest.items()]
    for name in RELEASES:
        unique, small = (int((sizes[name] < limit).sum()) for limit in (2, 5))
        risk = d.individual_risk(pairs[name]).value
        rows += [
            CASE.figure(f"{name}: unique cells", CASE["unique_cells"][name], unique, digits=0),
            CASE.figure(f"{name}: cells below 5", CASE["cells_below_5"][name], small, digits=0),
            CASE.figure(f"{name}: mean individual risk", CASE["mean_individual_risk"], risk, 0.005, 2),
        ]
    cap = {name: d.cap(pairs[name], **BINS).value for name in RELEASES}
    found = "CAP " + ", ".join(f"{name} {value:.3f}" for name, value in cap.items())
    flagged = "k " + ", ".join(f"{smallest[name]:g}" for name in RELEASES)
    rows += [
        CASE.statement("attribution", "attribution", found, cap["A"] < cap["B"] < cap["C"]),
        CASE.statement("privacy models", "privacy_models", flagged, all(smallest[name] < 5 for name in RELEASES)),
        *_map(tables),
        *decision,
    ]
    how = (
        "Our listing draws the paper's own tables. `gh.compare` puts the releases on the map; the decision is that of "
        "`gh.assess` with a holdout, as many people again by the same listing, which the paper does not have."
    )
    return [Item(CASE.name, f"{CASE['about']} {how}", rows)]


def _map(tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """Where the map puts the three releases."""
    releases = {name: tables[name] for name in RELEASES}
    ru = gh.compare(tables["original"], releases, keys=CASE_KEYS, target="income", progress=False)
    placed = {row["release"]: row for row in ru.to_frame().to_dicts()}
    risk, useful = ([placed[name][axis] for name in RELEASES] for axis in ("risk", "utility"))
    shown = [f"risk {r:.2f}, utility {u:.2f}" for r, u in zip(risk, useful, strict=True)]
    between = risk[0] < risk[1] < risk[2] and useful[0] < useful[1] < useful[2]
    return [
        CASE.statement("map: A", "utility_A", shown[0], risk[0] == min(risk) and useful[0] < 0.5),
        CASE.statement("map: C", "utility_C", shown[2], risk[2] == max(risk) and useful[2] > 0.9),
        CASE.statement("map: B", "utility_B", shown[1], between),
    ]


ASKED = (("A", "public"), ("B", "research"), ("B", "public"), ("C", "research"), ("renewed A", "public"),
         ("others", "research"))  # fmt: skip


def verdict_of(number: int) -> dict[str, Any]:
    """What a custodian would be told of one release, with people whom no release has seen.

    Parameters
    ----------
    number : int
        Place in ``ASKED``: the release and the policy. "others" are new people of the same population, "renewed A" is
        A with their incomes.

    Returns
    -------
    dict
    """
    name, policy = ASKED[number]
    tables = case_study()
    others = survey(RRandom(790), tables["original"].height)
    releases = {**tables, "others": others, "renewed A": tables["A"].with_columns(income=others["income"])}
    told = gh.assess(
        tables["original"], releases[name], policy, keys=CASE_KEYS, target="income", holdout=tables["holdout"]
    )
    exact, near = (told.results[measure] for measure in ("exact_copies", "near_copies"))
    return {"verdict": told.verdict, "exact": [exact.value, exact.holdout], "near": [near.value, near.holdout]}


def _decision(setting: Setting) -> list[Row]:
    """What a custodian would be told, release by release."""
    lines = setting.gather("case_study", [(number,) for number in range(len(ASKED))], verdict_of)
    public, research, wide, copy, renewed, fresh = (line["verdict"] for line in lines)
    said_a = (
        "{}: {:.1%} of people have their exact record in A, of people never in the data {:.1%}; with incomes of other "
        "people: {}"
    ).format(public, *lines[0]["exact"], renewed)
    said_b = (
        "{}: {:.1%} of people have a near copy in B, of people never in the data {:.1%}; new people of the same "
        "population: {}"
    ).format(research, *lines[1]["near"], fresh)
    b_good = research in ("pass", "warn")
    return [
        CASE.statement("decision: A to the public", "decision_A", said_a, public == "pass", renewed == "pass"),
        CASE.statement("decision: B to research", "decision_B", said_b, b_good, fresh == "pass"),
        CASE.statement("decision: B not to the public", "decision_B", wide, wide == "fail"),
        CASE.statement("decision: C rejected", "decision_C", copy, copy == "fail"),
    ]


def utility(setting: Setting) -> list[Item]:
    """The utility of the three releases, measure by measure.

    Parameters
    ----------
    setting : Setting
        How the run goes.

    Returns
    -------
    list of Item
    """
    seeds = setting.draws(6, 8)
    rows, points = [], []
    ours: dict[str, float] = {}
    for held in UTILITY["measures"]:
        name, compute = held["what"], MEASURES[held["what"]]
        for release in RELEASES:
            published, precision, digits = printed(held[release])
            what = f"{release}: {name}"
            if compute is None:
                deals = [_permuted(_case()[release], seed) for seed in range(seeds)]
                drawn = mean([deal["pmse_ratio"] for deal in deals])
                same = abs(deals[0]["pMSE"] - float(UTILITY["cart"][release])) < 1e-8
                rows.append(UTILITY.figure(what, published, drawn, precision, digits, draws=1, confirmed=same))
            else:
                ours[what] = float(compute(_case()[release]))
                rows.append(UTILITY.figure(what, published, ours[what], precision, digits))
                if name in (*SINGLE, JOINT):
                    points += pair_of_dots(what, published, ours[what])
    published, precision, digits = printed(UTILITY["trtr"])
    itself = _tstr(_case()["A"])["trtr_r2"]
    rows.append(UTILITY.figure("original: R² of a model trained on itself", published, itself, precision, digits))
    prefer = sum(ours[f"A: {name}"] > ours[f"B: {name}"] for name in SINGLE)
    a, b = ours[f"A: {JOINT}"], ours[f"B: {JOINT}"]
    found = f"{prefer} of {len(SINGLE)} do; {JOINT} {a:.2f} for A, {b:.2f} for B"
    rows.append(UTILITY.statement("lesson", "lesson", found, prefer == len(SINGLE) and a < b))
    chart = Chart("riskutility_case_study", dots(points, "utility, 1 is best"))
    return [Item(UTILITY.name, UTILITY["about"], rows, [chart])]


def _permuted(pair: gh.Pair, seed: int) -> dict[str, float]:
    details: dict[str, float] = gh.utility.pmse(pair, model="cart", n_perm=50, random_state=seed).details
    return details


def _tables(pair: gh.Pair) -> list[float]:
    found = gh.utility.table_utility(pair, order=2, replicates=0).details["tables"]
    return [float(table["S_pMSE"]) for table in found.values()]


def _tstr(pair: gh.Pair) -> dict[str, float]:
    """Trained on the release, tested on every tenth record and the two after it."""
    rows = [i for i in range(1000) if i % 10 < 3]
    details: dict[str, float] = gh.utility.tstr(pair, predictors=CASE_KEYS, test_rows=rows).details
    return details


def _overlap(pair: gh.Pair) -> float:
    found = gh.utility.regression_fidelity(pair, formula="income ~ age_group + sex + education")
    return float(found.details["mean_ci_overlap_avgwidth"])


SINGLE = ("Wasserstein over IQR, utility", "proximity of confidence intervals", "tails, utility")
JOINT = "overlap of regression coefficients"
MEASURES: Mapping[str, Callable[[gh.Pair], float] | None] = {
    "pMSE, logit, main effects": lambda pair: gh.utility.pmse(pair, maxorder=0).details["pMSE"],
    "pMSE ratio, logit, main effects": lambda pair: gh.utility.pmse(pair, maxorder=0).details["S_pMSE_ratio"],
    "pMSE ratio, logit, all pairs": lambda pair: gh.utility.pmse(pair, maxorder=1).details["S_pMSE"],
    "pMSE ratio, CART, 50 permutations": None,  # the one with chance in it
    "two-way tables, largest ratio": lambda pair: max(_tables(pair)),
    "two-way tables, median ratio": lambda pair: float(np.median(_tables(pair))),
    "Hellinger, mean": lambda pair: gh.utility.hellinger(pair, replicates=0).value,
    "Wasserstein over IQR, utility": lambda pair: gh.utility.wasserstein(pair, replicates=0).details[
        "wasserstein_rumap_utility"
    ],
    "energy distance of income, unbiased": lambda pair: gh.utility.energy_distance(
        pair, columns=["income"], permutations=0
    ).details["energy_U"],
    "contingency tables, mean total variation": lambda pair: (
        1 - gh.utility.contingency_fidelity(pair, columns=list(CASE_KEYS), replicates=0).value
    ),
    "proximity of confidence intervals": lambda pair: gh.utility.ci_proximity(pair, replicates=0).details[
        "ci_proximity_mean"
    ],
    "tails, utility": lambda pair: gh.utility.tail_fidelity(pair, replicates=0).details["tail_utility"],
    "overlap of regression coefficients": _overlap,
    "R² of a model trained on the release": lambda pair: _tstr(pair)["tstr_r2_raw"],
}
