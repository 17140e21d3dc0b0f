"""DiSCO: disclosive in the release, and correct in the original."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from glasshouse.core.advice import READS_OFF
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import Exclusions, attribution_figures, record_columns
from glasshouse.disclosure.attribution.matching import (
    KNOWS,
    LIMITS,
    RAAB,
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

Shown: TypeAlias = Literal[
    "iS", "DiS", "DiSCO", "DiSDiO", "Dorig", "Dsyn", "chance", "max_denom", "mean_denom", "exact_cell_hits",
    "original_certain_hits",
]  # fmt: skip
SHOWN: tuple[Shown, ...] = get_args(Shown)


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=LEAK_LIMIT,
    population=True,
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
def disco(
    pair: Pair,
    *,
    denominator_limit: int | None = None,
    bins: Groups = "auto",
    key_groups: KeyGroups = "auto",
    confidence: float = 0.95,
) -> Result:
    """Share of original records whose target the release reveals, unanimously and correctly (DiSCO).

    A record counts when every released record with its keys agrees on one target value, and that value is the
    record's own.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    denominator_limit : int or None, default None
        Leaves out cells with more original records than that, because many people share them. None keeps all.
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
        ``value`` is DiSCO with Wilson's interval; ``baseline`` the share that luck would get right; ``holdout``,
        ``difference`` and ``p_value`` compare with holdout people. ``details`` hold the steps on the way (``iS``,
        ``DiS``, ``DiSDiO``), ``Dorig`` and ``Dsyn`` (disclosive in the original, in the release), the largest and mean
        disclosive cell, and weighted figures where there are survey weights.
        ``records`` give ``predicted`` (the value most released records with the keys have), ``at_risk``, ``found``,
        ``released_disclosive`` and ``original_disclosive`` (groups with one target value), ``cap`` = s_tq/s_q, and the
        sizes of the record's group and cell in both tables.

    Notes
    -----
    With d_tq and s_tq records of target value t and key combination q in the original and in the release, ns_q
    target values of q in the release and Nd original records::

        DiSCO    = sum_tq d_tq [ns_q = 1, s_tq > 0] / Nd
        baseline = sum_tq d_q d_t [ns_q = 1, s_tq > 0] / Nd^2

    The baseline lets the unanimous value of each group meet a person drawn at random. With a limit, the luck is
    counted over the same cells: E[L; L <= limit] with L ~ Binomial(d_q, d_t / Nd).

    Whether the release is right about a person depends on the release and on the person, so members and people never
    in the data are exchangeable where being in the data adds nothing: the p value is Fisher's exact one, and with
    clusters that of labels dealt to whole clusters. A limit is then put to all real people of a cell.

    References
    ----------
    .. [1] Raab, G. M., Nowok, B. and Dibben, C. (2025), Practical privacy metrics for synthetic data.
    .. [2] Raab, G. M. (2024), Privacy risk from synthetic data: practical proposals. Privacy in Statistical Databases.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.disco(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.baseline, 3), round(result.holdout, 3)
    (0.298, 0.211, 0.282)
    """
    target = pair.require_target()

    def count(in_memory: bool = False) -> Cells:
        return plain_cells(pair, bins, key_groups, in_memory, Exclusions(limit=denominator_limit))

    cells = count()
    shares, sums = attribution_figures(cells, denominator_limit)
    k, n = sums["disco"], sums["n"]
    leak = told(
        exchange_cells(
            pair,
            cells,
            lambda: count(True),
            hit(cells, denominator_limit),
            copied=hit_if_copied(cells, denominator_limit),
            confidence=confidence,
            name="disco",
        ),
        k,
        n,
    )
    return Result(
        value=shares["DiSCO"],
        baseline=shares["chance"],
        **leak,
        interval=wilson(k, n, confidence),
        details={
            **{name: shares[name] for name in SHOWN},
            "n_disclosed": k,
            "n": n,
            "n_dropped": cells.dropped,
            **{name: share for name, share in shares.items() if name.endswith("_weighted")},
        },
        sentence=f"Knowing {spoken_keys(pair)}, an attacker reads the right {target} off the release, with no "
        f"doubt left, for {percent(shares['DiSCO'])} of people ({k:,} of {n:,})"
        f"{beside_strangers(leak['holdout'], leak['p_value'])}."
        + population_fact(f"luck alone would give {percent(shares['chance'])}"),
        warnings=[*target_warnings(pair, bins, key_groups), *no_match_warning(shares)],
        records=lambda: record_columns(count(True)),
        flag="at_risk",
        rank="cap",
        plot_data={"funnel": funnel(shares)},
    )
