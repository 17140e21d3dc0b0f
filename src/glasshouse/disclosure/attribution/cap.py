"""Correct attribution probability: of any guess from the released records (CAP), and of certain guesses (TCAP)."""

from __future__ import annotations

import math

import narwhals as nw

from glasshouse.core.advice import READS_OFF
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import Interval, normal_quantile, wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import (
    CORRECT,
    FOUND,
    ORIGINAL_UNANIMOUS,
    RELEASED_UNANIMOUS,
    S,
    Sums,
    attribution_figures,
    ratio,
    record_columns,
    within,
)
from glasshouse.disclosure.attribution.matching import (
    KNOWS,
    LIMITS,
    funnel,
    hit,
    hit_if_copied,
    no_match_warning,
    plain_cells,
    target_warnings,
)
from glasshouse.disclosure.roles import Groups, KeyGroups, spoken_keys
from glasshouse.disclosure.wording import beside_strangers, population_fact
from glasshouse.engines.cells.counting import Cells
from glasshouse.engines.cells.strangers import exchange_cells, told

TAUB = "Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability for synthetic data"
LITTLE = "Taub and Elliot (2019), The synthetic data challenge; Little, Allmendinger and Elliot (2025)"
VARIANTS = ("matched", "conditional", "certain")


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=LEAK_LIMIT,
    population=True,
    cite=TAUB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    title="CAP",
    tier="fast",
    advice=READS_OFF,
    riskutility=("CAP", lambda r: {"cap": r.value, "baseline": r.baseline}),
)
def cap(
    pair: Pair,
    *,
    average: str = "all",
    bins: Groups = "auto",
    key_groups: KeyGroups = "auto",
    confidence: float = 0.95,
) -> Result:
    """Mean probability that a guess drawn from the released records with a person's keys is right (correct
    attribution probability).

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    average : {"all", "matched"}, default "all"
        "all" counts people whose keys are not in the release as 0; "matched" averages over those found.
    bins : int, sequence of float, "auto" or None, default "auto"
        Groups of a numeric target: a number of quantile groups (breaks pooled over original and release), the breaks,
        "auto" for deciles of the release where a column has more than 20 values and fewer than 5 people share one,
        or None for exact values.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        The same for numeric keys: one wish for all of them, or {key: wish}.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Result
        ``value`` is the mean with a normal interval; ``baseline`` a guess drawn from the target's own distribution;
        ``holdout``, ``difference`` and ``p_value`` compare with holdout people. ``details`` hold both averages, the
        same inside the original (``CAPd``) and inside the release (``CAPs``), other baselines and the people found.
        ``records`` give ``predicted`` (the value most released records with the keys have), ``at_risk``, ``found``,
        ``released_disclosive`` and ``original_disclosive`` (groups with one target value), ``cap`` = s_tq/s_q, and the
        sizes of the record's group and cell in both tables.

    Notes
    -----
    With d_tq and s_tq records of target value t and key combination q in the original and in the release::

        cap_i    = s_tq / s_q                          for the person's own t and q
        all      = sum_tq d_tq s_tq / s_q / Nd         (synthpop's DCAP)
        matched  = all / iS                            iS = share of people whose q is in the release
        baseline = sum_t (d_t / Nd)^2                  (baseCAPd) for "all"
                   sum_t (d_t / Nd) (s_t / Ns)         (base_cross) for "matched"

    The p value deals the labels of members and people never in the data anew (of whole clusters, where the pair has
    them) and compares the difference of the means of cap_i; who is not found counts 0 on both sides under "all".

    References
    ----------
    .. [1] Taub, J., Elliot, M., Pampaka, M. and Smith, D. (2018), Differential correct attribution probability for
       synthetic data: an exploration. Privacy in Statistical Databases.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.cap(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.baseline, 3), round(result.holdout, 3)
    (0.593, 0.496, 0.53)
    """
    if average not in ("all", "matched"):
        raise InputError(f"average={average!r}: choose 'all' (unmatched people count 0) or 'matched'")

    def count(in_memory: bool = False) -> Cells:
        return plain_cells(pair, bins, key_groups, in_memory)

    cells = count()
    shares, sums = attribution_figures(cells)
    value = shares["DCAP"] if average == "all" else shares["cap_matched"]
    if value is None:
        raise NotApplicable(
            "no key combination of the original occurs in the release, so cap over matched people is undefined; "
            "average='all' gives 0"
        )
    base = shares["baseCAPd"] if average == "all" else shares["base_cross"]
    of = sums["n"] if average == "all" else sums["found_left"]
    leak = told(
        exchange_cells(
            pair,
            cells,
            lambda: count(True),
            ratio(S, nw.col("sq")),
            among=None if average == "all" else FOUND,
            copied=ratio(S + 1, nw.col("sq") + 1),
            confidence=confidence,
            name="cap",
        ),
        value * of,
        of,
    )
    return Result(
        value=value,
        baseline=base,
        interval=_cap_interval(value, sums, average, confidence),
        **leak,
        details={
            "cap_all": shares["DCAP"],
            "cap_matched": shares["cap_matched"],
            "cap_original": shares["CAPd"],
            "cap_released": shares["CAPs"],
            "DCAP": shares["DCAP"],
            "CAPd": shares["CAPd"],
            "CAPs": shares["CAPs"],
            "baseCAPd": shares["baseCAPd"],
            "cap_excess": shares["DCAP"] - shares["baseCAPd"],
            "base_mode_released": shares["base_mode_released"],
            "base_mode_original": shares["base_mode_original"],
            "base_prop_original": shares["baseCAPd"],
            "base_cross": shares["base_cross"],
            "iS": shares["iS"],
            "n_matched": int(sums["found"]),
            "n_unmatched": sums["n"] - int(sums["found"]),
            "n_dropped": cells.dropped,
        },
        sentence=f"Guessing {pair.target} from released records with the same {spoken_keys(pair)} is right for "
        f"{percent(value)} of people{'' if average == 'all' else ' who are found'}"
        f"{beside_strangers(leak['holdout'], leak['p_value'])}."
        + population_fact(f"guessing from the overall distribution is right for {percent(base)}"),
        warnings=[*target_warnings(pair, bins, key_groups), *no_match_warning(shares)],
        records=lambda: record_columns(count(True)),
        flag="cap",
    )


def _cap_interval(value: float, sums: Sums, average: str, confidence: float) -> Interval:
    of = sums["n"] if average == "all" else sums["found_left"]
    half = normal_quantile(confidence) * math.sqrt(max(sums["dcap2"] / of - value * value, 0.0) / of)
    return max(0.0, value - half), min(1.0, value + half)


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=LEAK_LIMIT,
    population=True,
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
def tcap(
    pair: Pair,
    *,
    variant: str = "matched",
    bins: Groups = "auto",
    key_groups: KeyGroups = "auto",
    confidence: float = 0.95,
) -> Result:
    """Targeted correct attribution probability: how often a guess the release makes with certainty is right.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    variant : {"matched", "conditional", "certain"}, default "matched"
        "matched" (synthpop) divides by all people found in the release, "conditional" (Little et al.) by those in
        groups that agree on one value; "certain" (riskutility) asks for groups that agree in both files, over all
        found.
    bins : int, sequence of float, "auto" or None, default "auto"
        Groups of a numeric target: a number of quantile groups (breaks pooled over original and release), the breaks,
        "auto" for deciles of the release where a column has more than 20 values and fewer than 5 people share one,
        or None for exact values.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        The same for numeric keys: one wish for all of them, or {key: wish}.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Result
        ``value`` is the share with Wilson's interval; ``baseline`` what luck would get right of it; ``holdout``,
        ``difference`` and ``p_value`` compare with holdout people. ``details`` hold all three variants, the steps on
        the way (``iS``, ``DiS``, ``DiSCO``, ``DiSDiO``) and the ``denominator``.
        ``records`` give ``predicted`` (the value most released records with the keys have), ``at_risk``, ``found``,
        ``released_disclosive`` and ``original_disclosive`` (groups with one target value), ``cap`` = s_tq/s_q, and the
        sizes of the record's group and cell in both tables.

    Notes
    -----
    With the counts of DiSCO and its relatives (records found, in groups unanimous in the release, right, and unanimous
    in the original too)::

        matched     = DiSCO / iS
        conditional = DiSCO / DiS
        certain     = DiSDiO / iS

    so that certain <= matched <= conditional. The baseline puts d_q d_t / Nd in place of the people that the unanimous
    value of a group gets right.

    Members are exchanged with people never in the data among those found (or in unanimous groups), as in ``disco``;
    "certain" then asks for groups that agree among all real people, because agreement among the originals alone would
    tell members from strangers.

    References
    ----------
    .. [1] Taub, J. and Elliot, M. (2019), The synthetic data challenge. Joint UNECE/Eurostat Work Session on
       Statistical Data Confidentiality.
    .. [2] Little, C., Allmendinger, R. and Elliot, M. (2025), for the conditional variant.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.tcap(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.baseline, 3), round(result.details["tcap_conditional"], 3)
    (0.317, 0.225, 0.795)
    """
    if variant not in VARIANTS:
        raise InputError(f"variant={variant!r}: choose 'certain', 'matched' or 'conditional'")

    def count(in_memory: bool = False) -> Cells:
        return plain_cells(pair, bins, key_groups, in_memory)

    cells = count()
    shares, sums = attribution_figures(cells)
    above, below = _tested(sums, variant)
    if not below:
        raise NotApplicable(
            "no original record could be tested: "
            + (
                "no key combination of the original occurs in the release"
                if not sums["found_left"]
                else "no released class of a matched record is unanimous"
            )
        )
    of_whom = (
        "in released groups that agree on one value" if variant == "conditional" else "whose keys are in the release"
    )
    value = above / below
    right, copied = hit(cells), hit_if_copied(cells)
    if variant == "certain" and cells.n_strangers:
        right, copied = (given & (nw.col("nr") == 1) for given in (right, copied))
    leak = told(
        exchange_cells(
            pair,
            cells,
            lambda: count(True),
            right,
            among=RELEASED_UNANIMOUS if variant == "conditional" else FOUND,
            copied=copied,
            confidence=confidence,
            name="tcap",
        ),
        above,
        below,
    )
    lucky = (_lucky_certain(cells) if variant == "certain" else shares["chance"] * sums["n"]) / below
    return Result(
        value=value,
        baseline=lucky,
        **leak,
        interval=wilson(above, below, confidence),
        details={
            "tcap_certain": shares["tcap_certain"],
            "tcap_matched": shares["TCAP"],
            "tcap_conditional": shares["tcap_conditional"],
            "TCAP": shares["TCAP"],
            "iS": shares["iS"],
            "DiS": shares["DiS"],
            "DiSCO": shares["DiSCO"],
            "DiSDiO": shares["DiSDiO"],
            "denominator": int(below),
            "n_dropped": cells.dropped,
        },
        sentence=f"Of {int(below):,} people {of_whom}, {percent(value)} have their {pair.target} given away "
        f"with certainty{beside_strangers(leak['holdout'], leak['p_value'])}."
        + population_fact(f"luck alone would give {percent(lucky)}"),
        warnings=[*target_warnings(pair, bins, key_groups), *no_match_warning(shares)],
        records=lambda: record_columns(count(True)),
        flag="at_risk",
        rank="cap",
        plot_data={"funnel": funnel(shares)},
    )


def _tested(sums: Sums, variant: str) -> tuple[float, float]:
    """Guesses made with certainty that are right, and the people they are counted among."""
    return (
        sums["disdio"] if variant == "certain" else sums["disco"],
        sums["dis"] if variant == "conditional" else sums["found_left"],
    )


def _lucky_certain(cells: Cells) -> float:
    """Records of classes unanimous in both files that would agree by luck: d_q d_t / Nd over those classes."""
    agree = CORRECT & ORIGINAL_UNANIMOUS
    total = cells.totals(lucky=within((nw.col("dq") * nw.col("dt")).cast(nw.Float64), agree))["lucky"]
    return float(total or 0.0) / cells.n_original
