"""Attribute disclosure by matching keys: what the release says about the target of somebody whose keys are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

import numpy as np

from glasshouse.core.advice import AGREES, READS_OFF
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import Interval, difference_interval, normal_quantile, wilson
from glasshouse.core.limits import Evidence, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import (
    RELEASED_UNANIMOUS,
    Exclusions,
    S,
    attribution_figures,
    count,
    part,
    record_columns,
    with_exclusions,
    within,
)
from glasshouse.engines.cells.counting import MANY_LEVELS, Cells, count_cells
from glasshouse.engines.cells.grouping import as_grouping
from glasshouse.engines.exchange import exchange_counts

H = TypeVar("H")
RAAB = "Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data; Raab (2024), PSD"
TAUB = "Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability for synthetic data"
LITTLE = "Taub and Elliot (2019), The synthetic data challenge; Little, Allmendinger and Elliot (2025)"
EXCESS_LIMIT = Limit(
    "excess",
    warn=0.05,
    fail=0.20,
    evidence=Evidence(above_strangers=True),
    why="glasshouse default on the excess over a lucky guess",
)
KNOWS = "the keys of real people, exactly as the custodian holds them"
LIMITS = (
    "depends on the chosen keys; a relation true for everybody in the population counts too, compare with the holdout"
)


def plain_cells(pair: Pair, bins: Any = None, people: str = "original", in_memory: bool = False) -> Cells:
    """The cell table without exclusions; ``bins`` groups a numeric target."""
    target = pair.require_target()
    group = as_grouping(pair, target, bins)
    return with_exclusions(
        count_cells(pair, target=target, people=people, target_group=group, in_memory=in_memory), Exclusions()
    )


def target_warnings(pair: Pair, bins: Any) -> list[str]:
    """Say when a continuous target is compared value by value."""
    warnings = []
    if pair.missing == "wildcard":
        warnings.append(
            "missing='wildcard' has no meaning when two tables are matched; missing was treated as a value of its own"
        )
    target = pair.require_target()
    distinct = pair.n_distinct(target)
    if bins is None and pair.is_numeric(target) and distinct > MANY_LEVELS:
        warnings.append(
            f"target {pair.target!r} has {distinct:,} distinct values and was compared exactly; bins=10 compares "
            "ranges instead"
        )
    return warnings


def no_match_warning(figures: Mapping[str, Any]) -> list[str]:
    if figures["iS"] > 0:
        return []
    return ["no key combination of the original occurs in the release, so nothing could be looked up"]


class Leak(TypedDict):
    """The same figure for people never in the data, and members minus strangers, as a Result takes them."""

    holdout: float | None
    difference: float | None
    difference_interval: Interval | None
    p_value: float | None
    counts: Counts | None


NO_STRANGERS = Leak(holdout=None, difference=None, difference_interval=None, p_value=None, counts=None)


def leak_of_counts(hits: float, of: float, held: tuple[float, float] | None, confidence: float) -> Leak:
    """Hits of ``of`` people looked up, against ``held`` hits and people of the holdout.

    A hit looks at the release and at the person's own record only, so members and strangers are exchangeable where
    being in the data makes no difference.
    """
    if held is None or not held[1] or not of:
        return Leak(**{**NO_STRANGERS, "counts": Counts(hits, of) if of else None})
    found = exchange_counts(hits, round(of), held[0], round(held[1]), confidence)
    return Leak(
        holdout=held[0] / held[1],
        difference=found.difference,
        difference_interval=found.interval,
        p_value=found.p,
        counts=found.counts,
    )


def held_out(pair: Pair, bins: Any, read: Callable[[dict[str, Any]], H]) -> H | None:
    """A figure of people never shown to the synthesiser; None without a holdout."""
    return read(attribution_figures(plain_cells(pair, bins, "holdout"))) if pair.has_holdout else None


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=EXCESS_LIMIT,
    cite=RAAB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    title="DiSCO",
    tier="fast",
    on_map=True,
    advice=READS_OFF,
    riskutility=("DiSCO", lambda r: {"ratio": None if not r.baseline or r.value is None else r.value / r.baseline}),
)
def disco(pair: Pair, *, denominator_limit: int | None = None, bins: Any = None, confidence: float = 0.95) -> Result:
    """Share of original records whose target the release reveals, unanimously and correctly (DiSCO).

    A record counts when every released record with its keys agrees on one target value, and that value is the
    record's own:
    sum over (t, q) of d_tq [ns_q = 1 and s_tq > 0] / Nd. The baseline is the share that would be right by luck if the
    unanimous value of each class met a person drawn at random: sum over those classes of d_q d_t / Nd^2.
    ``denominator_limit`` leaves out cells with more original records than that (many people share them); ``bins``
    groups a numeric target.
    """
    excluding = Exclusions(limit=denominator_limit)
    group = as_grouping(pair, str(pair.target), bins)
    cells = with_exclusions(count_cells(pair, target=pair.target, target_group=group), excluding)
    figures = attribution_figures(cells, denominator_limit)
    counts = figures.pop("_counts")
    k, n = counts["disco"], counts["n"]
    return Result(
        value=figures["DiSCO"],
        baseline=figures["chance"],
        **leak_of_counts(k, n, held_out(pair, bins, lambda f: (f["_counts"]["disco"], f["_counts"]["n"])), confidence),
        interval=wilson(k, n, confidence),
        details={
            **{
                name: figures[name]
                for name in (
                    "iS",
                    "DiS",
                    "DiSCO",
                    "DiSDiO",
                    "Dorig",
                    "Dsyn",
                    "chance",
                    "max_denom",
                    "mean_denom",
                    "exact_cell_hits",
                    "original_certain_hits",
                )
            },
            "n_disclosed": k,
            "n": n,
            "n_dropped": cells.dropped,
            **{name: v for name, v in figures.items() if name.endswith("_weighted")},
        },
        sentence=f"Knowing {_spoken_keys(pair)}, an attacker reads the right {pair.target} off the release, with no "
        f"doubt left, for {percent(figures['DiSCO'])} of people ({k:,} of {n:,}); luck alone would give "
        f"{percent(figures['chance'])}.",
        warnings=[*target_warnings(pair, bins), *no_match_warning(figures)],
        records=lambda: record_columns(
            with_exclusions(count_cells(pair, target=pair.target, target_group=group, in_memory=True), excluding)
        ),
        flag="at_risk",
        rank="cap",
    )


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=EXCESS_LIMIT,
    cite=TAUB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    title="CAP",
    tier="fast",
    advice=READS_OFF,
    riskutility=("CAP", lambda r: {"cap": r.value, "baseline": r.baseline}),
)
def cap(pair: Pair, *, average: str = "all", bins: Any = None, confidence: float = 0.95) -> Result:
    """Mean probability that a guess drawn from the released records with a person's keys is right (correct
    attribution probability).

    cap_i = s_tq / s_q for the person's own t and q. ``average="all"`` counts people whose keys are not in the release
    as 0 (synthpop's DCAP, ``cap_all``); ``"matched"`` averages over those found. The baseline is a guess drawn from
    the target's own distribution, sum of p_t^2 (baseCAPd); other baselines are in the details.
    """
    if average not in ("all", "matched"):
        raise InputError(f"average={average!r}: choose 'all' (unmatched people count 0) or 'matched'")
    cells = plain_cells(pair, bins)
    figures = attribution_figures(cells)
    counts = figures.pop("_counts")
    value = figures["DCAP"] if average == "all" else figures["cap_matched"]
    if value is None:
        raise NotApplicable(
            "no key combination of the original occurs in the release, so cap over matched people is undefined; "
            "average='all' gives 0"
        )
    base = figures["baseCAPd"] if average == "all" else figures["base_cross"]
    limits = _cap_interval(value, counts, average, confidence)
    held = held_out(pair, bins, lambda f: _held_cap(f, average, confidence))
    return Result(
        value=value,
        baseline=base,
        holdout=None if held is None else held[0],
        interval=limits,
        difference=None if held is None else value - held[0],
        difference_interval=None if held is None else difference_interval(value, limits, *held),
        details={
            "cap_all": figures["DCAP"],
            "cap_matched": figures["cap_matched"],
            "cap_original": figures["CAPd"],
            "cap_released": figures["CAPs"],
            "DCAP": figures["DCAP"],
            "CAPd": figures["CAPd"],
            "CAPs": figures["CAPs"],
            "baseCAPd": figures["baseCAPd"],
            "cap_excess": figures["DCAP"] - figures["baseCAPd"],
            "base_mode_released": figures["base_mode_released"],
            "base_mode_original": figures["base_mode_original"],
            "base_prop_original": figures["baseCAPd"],
            "base_cross": figures["base_cross"],
            "iS": figures["iS"],
            "n_matched": int(counts["found"]),
            "n_unmatched": counts["n"] - int(counts["found"]),
            "n_dropped": cells.dropped,
        },
        sentence=f"Guessing {pair.target} from released records with the same {_spoken_keys(pair)} is right "
        f"{percent(value)} of the time{'' if average == 'all' else ' among people who are found'}; guessing from "
        f"the overall distribution, {percent(base)}.",
        warnings=[*target_warnings(pair, bins), *no_match_warning(figures)],
        records=lambda: record_columns(plain_cells(pair, bins, in_memory=True)),
        flag="cap",
    )


def _cap_interval(value: float, counts: Mapping[str, Any], average: str, confidence: float) -> Interval:
    of = counts["n"] if average == "all" else counts["found_left"]
    half = normal_quantile(confidence) * math.sqrt(max(counts["dcap2"] / of - value * value, 0.0) / of)
    return max(0.0, value - half), min(1.0, value + half)


def _held_cap(figures: Mapping[str, Any], average: str, confidence: float) -> tuple[float, Interval] | None:
    value = figures["DCAP"] if average == "all" else figures["cap_matched"]
    return None if value is None else (value, _cap_interval(value, figures["_counts"], average, confidence))


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=EXCESS_LIMIT,
    cite=LITTLE,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    title="TCAP",
    tier="fast",
    on_map=True,
    advice=READS_OFF,
    riskutility=("TCAP", lambda r: {"cap": r.value, "baseline": r.baseline}),
)
def tcap(pair: Pair, *, variant: str = "matched", bins: Any = None, confidence: float = 0.95) -> Result:
    """Targeted correct attribution probability: how often a guess the release makes with certainty is right.

    Numerator of "matched" and "conditional": records whose class is unanimous in the release and right (the DiSCO
    count). "matched" (the
    default, synthpop) divides by all records found in the release, "conditional" (Little et al. 2025) by those in
    unanimous classes;
    "certain" (riskutility) asks for classes unanimous in both files, over all found. certain <= matched <= conditional.
    """
    names = {"matched": "TCAP", "certain": "tcap_certain", "conditional": "tcap_conditional"}
    if variant not in names:
        raise InputError(f"variant={variant!r}: choose 'certain', 'matched' or 'conditional'")
    cells = plain_cells(pair, bins)
    figures = attribution_figures(cells)
    counts = figures.pop("_counts")
    value = figures[names[variant]]
    above, below = _tested(counts, variant)
    if value is None:
        raise NotApplicable(
            "no original record could be tested: "
            + (
                "no key combination of the original occurs in the release"
                if not counts["found_left"]
                else "no released class of a matched record is unanimous"
            )
        )
    of_whom = (
        "in released groups that agree on one value" if variant == "conditional" else "whose keys are in the release"
    )
    lucky = part(figures["chance"] * counts["n"], below) if variant != "certain" else part(_lucky_certain(cells), below)
    return Result(
        value=value,
        baseline=lucky,
        **leak_of_counts(above, below, held_out(pair, bins, lambda f: _tested(f["_counts"], variant)), confidence),
        interval=wilson(above, below, confidence),
        details={
            "tcap_certain": figures["tcap_certain"],
            "tcap_matched": figures["TCAP"],
            "tcap_conditional": figures["tcap_conditional"],
            "TCAP": figures["TCAP"],
            "iS": figures["iS"],
            "DiS": figures["DiS"],
            "DiSCO": figures["DiSCO"],
            "DiSDiO": figures["DiSDiO"],
            "denominator": int(below),
            "n_dropped": cells.dropped,
        },
        sentence=f"Of {int(below):,} people {of_whom}, {percent(value)} have their {pair.target} given away "
        f"with certainty; luck alone would give {percent(lucky or 0)}.",
        warnings=[*target_warnings(pair, bins), *no_match_warning(figures)],
        records=lambda: record_columns(plain_cells(pair, bins, in_memory=True)),
        flag="at_risk",
        rank="cap",
    )


def _tested(counts: Mapping[str, Any], variant: str) -> tuple[float, float]:
    """Guesses made with certainty that are right, and the people they are counted among."""
    return (
        counts["disdio"] if variant == "certain" else counts["disco"],
        counts["dis"] if variant == "conditional" else counts["found_left"],
    )


def _lucky_certain(cells: Cells) -> float:
    """Records of classes unanimous in both files that would agree by luck: d_q d_t / Nd over those classes."""
    import narwhals as nw

    agree = RELEASED_UNANIMOUS & (nw.col("nd") == 1) & (S > 0)
    total = cells.totals(lucky=within((nw.col("dq") * nw.col("dt")).cast(nw.Float64), agree))["lucky"]
    return float(total or 0.0) / cells.n_original


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    table="single",
    cite="Taub, Elliot and Sakshaug (2020); riskutility (WEAP)",
    attacker="the released file alone",
    group="matching",
    caveats="looks at one file: it says which released records look disclosive, not whether they are true of anybody",
    title="WEAP",
    tier="fast",
    advice=AGREES,
    riskutility=("WEAP", lambda r: {"pct_disclosive": 100 * r.details["pct_disclosive"]}),
)
def weap(pair: Pair, *, table: str = "released", bins: Any = None) -> Result:
    """Within-equivalence-class attribution probability: how far the records of one file with equal keys agree on the
    target.

    weap_j = s_tq / s_q for each record of the file. The mean equals synthpop's CAPs (CAPd on the original); the share
    with weap = 1 is Dsyn (Dorig). A class of one record always has weap 1, so those are counted apart.
    """
    import narwhals as nw

    cells = plain_cells(pair, bins)
    own, size, kinds = ("s", "sq", "ns") if table == "released" else ("d", "dq", "nd")
    ours = nw.col(own) > 0
    share = nw.col(own).cast(nw.Float64) / nw.col(size).cast(nw.Float64)
    sums = cells.totals(
        n=nw.col(own).sum(),
        total=within(share * nw.col(own), ours),
        disclosive=within(nw.col(own), nw.col(kinds) == 1),
        single=within(nw.col(own), ours & (nw.col(size) == 1)),
        classes=count(ours & (nw.col(kinds) == 1)),
    )
    n = sums["n"]

    def per_record() -> Mapping[str, np.ndarray]:
        local = plain_cells(pair, bins, in_memory=True)
        return local.records(table, weap=share, disclosive=nw.col(kinds) == 1, class_size=nw.col(size))

    return Result(
        value=sums["total"] / n,
        baseline=None,
        details={
            "mean": sums["total"] / n,
            "n_disclosive": int(sums["disclosive"]),
            "pct_disclosive": sums["disclosive"] / n,
            "n_disclosive_single": int(sums["single"]),
            "n_disclosive_larger": int(sums["disclosive"] - sums["single"]),
            "n": n,
            "n_dropped": cells.dropped,
        },
        sentence=f"{percent(sums['disclosive'] / n)} of the {table} records sit in groups with equal keys and a "
        f"single value of {pair.target}; {percent(sums['single'] / n)} are alone in their group.",
        warnings=target_warnings(pair, bins),
        records=per_record,
        flag="weap",
    )


def _spoken_keys(pair: Pair) -> str:
    keys = list(pair.keys)
    return (
        keys[0]
        if len(keys) == 1
        else ", ".join(keys[:-1]) + " and " + keys[-1]
        if len(keys) <= 6
        else f"{len(keys)} keys"
    )
