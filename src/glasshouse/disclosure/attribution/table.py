"""synthpop's whole disclosure table for one target, with exclusions, groupings and checks as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from glasshouse.core.advice import READS_OFF
from glasshouse.core.calling import bound, combine_releases
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.words import plural
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.checks import AttributionResult, Checks, Level, OneWay, TwoWay
from glasshouse.disclosure.attribution.checks import one_way as one_way_check
from glasshouse.disclosure.attribution.checks import two_way as two_way_check
from glasshouse.disclosure.attribution.figures import (
    Exclusions,
    Shares,
    attribution_figures,
    exclusion_counts,
    record_columns,
    with_exclusions,
)
from glasshouse.disclosure.attribution.matching import KNOWS, LIMITS, RAAB, funnel, hit, hit_if_copied, no_match_warning
from glasshouse.disclosure.attribution.people import People, people_figures
from glasshouse.disclosure.attribution.table_options import (
    Excluded,
    MissingKeys,
    TableOptions,
    Threshold,
    table_options,
)
from glasshouse.disclosure.roles import Groups, KeyGroups, grouped_note, spoken_keys
from glasshouse.disclosure.wording import beside_strangers, population_fact
from glasshouse.engines.cells.counting import Cells, count_cells
from glasshouse.engines.cells.strangers import exchange_cells, told

# what a message about a check points to
POINTED = "look at result.checks; exclude_pairs=result.checks leaves out what everybody knows"


class Looked(NamedTuple):
    """One release looked up for one target: its result, its shares, what the checks found, and how real people of
    either side fare."""

    result: AttributionResult
    shares: Shares
    one_way: list[OneWay]
    two_way: list[TwoWay]
    people: People


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
    replicates="own",
    tier="fast",
    advice=READS_OFF,
)
def attribution(
    pair: Pair,
    *,
    exclude_levels: str | float | Sequence[Level] = (),
    missing_target: bool = True,
    missing_keys: MissingKeys = True,
    exclude_pairs: Sequence[Excluded] = (),
    denominator_limit: int | None = None,
    target_groups: Groups = "auto",
    key_groups: KeyGroups = "auto",
    one_way: Threshold = (50, 0.90),
    two_way: Threshold = (4, 0.80),
    confidence: float = 0.95,
) -> AttributionResult:
    """The whole table of synthpop's disclosure(): identity, attribution and CAP figures with exclusions and checks.

    A disclosure that everybody knows of is none: levels, missing values and pairs can be left out, and two checks say
    where the figure comes from a level that everybody has or that a single key gives away.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target; with several releases each is looked up.
    exclude_levels : level or sequence of levels, default ()
        Target levels that everybody knows, which are left out.
    missing_target : bool, default True
        False leaves out people whose target is missing in the original, who have nothing to be given away.
    missing_keys : bool or mapping of str to bool, default True
        False leaves out people with a missing key; once for all keys, or {key: bool}.
    exclude_pairs : sequence of (str, level, level), default ()
        Cells left out: (key, key level, target level), None being missing; or findings, ``result.checks`` of an earlier
        run. A finding without a key leaves out the target level, as ``exclude_levels`` does.
    denominator_limit : int or None, default None
        Leaves out cells with more original records than that, because many people share them. None keeps all.
    target_groups : int, sequence of float, "auto" or None, default "auto"
        Groups of a numeric target: a number of quantile groups (breaks pooled over the original and every release),
        the breaks, "auto" for deciles of the release where a column has more than 20 values and fewer than 5
        people share one, or None for exact values.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        The same for numeric keys: one wish for all of them, or {key: wish}.
    one_way : tuple of float, default (50, 0.90)
        The one-way check names a target level that more than this many, and above this share, of the disclosive
        records have.
    two_way : tuple of float, default (4, 0.80)
        The two-way check looks at disclosive cells of more than this many records, and names pairs where above this
        share of the original records with the key level have the target level.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    AttributionResult
        ``value`` is DiSCO with Wilson's interval; ``baseline`` the share that luck would get right; ``holdout``,
        ``difference`` and ``p_value`` compare with holdout people; several releases give the worst, and ``to_frame()``
        a row for each. ``checks`` are the findings of both checks, each with its key (None for a one-way check), key
        level and target level, in any release. ``details`` hold
        UiO UiS UiOiS repU, Dorig Dsyn iS DiS DiSCO DiSDiO, max_denom mean_denom, baseCAPd CAPd CAPs DCAP TCAP
        tcap_certain tcap_conditional, the records each exclusion took (``Nexclusions``) and the findings ``one_way``
        and ``two_way``. ``records`` are those of ``disco``.

    Notes
    -----
    With d_tq and s_tq records of target value t and key combination q in the original and in the release, nd_q and
    ns_q target values of q in either, and primes for what exclusions leave::

        Dorig  = sum_tq d'_tq [nd_q = 1] / Nd             Dsyn = sum_tq s'_tq [ns_q = 1] / Ns
        iS     = sum_tq d'_tq [s_q > 0] / Nd              DiS  = sum_tq d'_tq [ns_q = 1] / Nd
        DiSCO  = sum_tq d'_tq [ns_q = 1, s_tq > 0] / Nd
        DiSDiO = sum_tq d'_tq [ns_q = 1, s_tq > 0, nd_q = 1] / Nd
        CAPd   = sum_tq d'_tq^2 / d'_q / Nd               CAPs = sum_tq s'_tq^2 / s'_q / Ns
        DCAP   = sum_tq d'_tq s'_tq / s'_q / Nd           baseCAPd = sum_t (d_t / Nd)^2
        TCAP   = sum DiSCO cells / sum_q d'_q [s'_q > 0]

    Whether a cell is disclosive is decided on the full counts; exclusions take counts away afterwards and never change
    a denominator. Members are exchanged with people never in the data as in ``disco``; of several releases the worst
    is told, its p value times their number.

    References
    ----------
    .. [1] Raab, G. M., Nowok, B. and Dibben, C. (2025), Practical privacy metrics for synthetic data.
    .. [2] Raab, G. M. (2024), Privacy risk from synthetic data: practical proposals. Privacy in Statistical Databases.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> result = gh.disclosure.attribution(pair)
    >>> round(result.value, 3), round(result.details["Dorig"], 3)
    (0.298, 0.354)
    >>> round(gh.disclosure.attribution(pair, exclude_levels=["healthy"]).value, 3)
    0.039
    """
    options = table_options(
        pair,
        exclude_levels=exclude_levels,
        missing_target=missing_target,
        missing_keys=missing_keys,
        exclude_pairs=exclude_pairs,
        denominator_limit=denominator_limit,
        target_groups=target_groups,
        key_groups=key_groups,
        one_way=one_way,
        two_way=two_way,
    )
    return over_releases(pair, [look_up(pair.release(i), options, confidence) for i in range(pair.m)])


def over_releases(pair: Pair, looked: Sequence[Looked]) -> AttributionResult:
    """The result of several releases: the worst of them, or the only one.

    Parameters
    ----------
    pair : Pair
        The tables, with one target.
    looked : sequence of Looked
        Every release in order.

    Returns
    -------
    AttributionResult
    """
    made = [bound(one.result, attribution, pair.release(i), {}) for i, one in enumerate(looked)]
    if len(made) == 1:
        return made[0]
    worst = combine_releases(made, attribution, pair.release_names)
    checks = Checks.of_releases([one.checks for one in made])
    unsaid = [f"checks of other releases: {POINTED}"] if checks and not worst.checks else []
    return worst._copy(
        # the smallest of several p values is small too often; so many times as large, it is not
        p_value=None if worst.p_value is None else min(1.0, worst.p_value * len(made)),
        checks=checks,
        warnings=[*worst.warnings, *unsaid],
    )


def look_up(pair: Pair, options: TableOptions, confidence: float = 0.95) -> Looked:
    """Everything synthpop's table says about one release and one target.

    Parameters
    ----------
    pair : Pair
        The tables with keys, one target and one release.
    options : TableOptions
        What is left out, grouped and checked.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Looked
    """
    target = pair.require_target()

    def table(in_memory: bool = False) -> tuple[Cells, Exclusions]:
        cells = count_cells(
            pair,
            target=target,
            strangers=True,
            key_groups=options.key_groups,
            target_group=options.target_group,
            in_memory=in_memory,
        )
        exclusions = options.exclusions(pair, cells)
        return with_exclusions(cells, exclusions), exclusions

    cells, exclusions = table()
    shares, sums = attribution_figures(cells, options.denominator_limit)
    singles, doubles = one_way_check(cells, *options.one_way), two_way_check(cells, *options.two_way)
    leak = told(
        exchange_cells(
            pair,
            cells,
            lambda: table(in_memory=True)[0],
            hit(cells, options.denominator_limit),
            copied=hit_if_copied(cells, options.denominator_limit),
            confidence=confidence,
            name="attribution",
        ),
        sums["disco"],
        sums["n"],
    )
    warnings = [*grouped_note(options.automatic), *no_match_warning(shares)]
    if singles:
        warnings.append(
            f"one-way check: {percent(singles[0]['PctLevelDis'])} of the disclosive records have the same {target}; "
            + POINTED
        )
    if doubles:
        warnings.append(
            f"two-way check: {len(doubles)} {plural(len(doubles), 'pair')} of {target} and a key level nearly go "
            f"together in the original; {POINTED}"
        )
    result = AttributionResult(
        value=shares["DiSCO"],
        baseline=shares["chance"],
        **leak,
        interval=wilson(sums["disco"], sums["n"], confidence),
        details={
            **shares,
            "TCAP_matched": shares["TCAP"],
            "TCAP_certain": shares["tcap_certain"],
            "TCAP_conditional": shares["tcap_conditional"],
            "Norig": sums["n"],
            "Nexclusions": exclusion_counts(cells, exclusions, sums),
            "one_way": singles,
            "two_way": doubles,
            "one_way_checks": len(singles),
            "two_way_checks": len(doubles),
            "n_dropped": cells.dropped,
        },
        sentence=f"Knowing {spoken_keys(pair)}, the release gives the right {target} away with certainty for "
        f"{percent(shares['DiSCO'])} of people{beside_strangers(leak['holdout'], leak['p_value'])}."
        + population_fact(
            f"luck alone would give {percent(shares['chance'])}, the original itself {percent(shares['Dorig'])}"
        ),
        warnings=warnings,
        records=lambda: record_columns(table(in_memory=True)[0]),
        flag="at_risk",
        rank="cap",
        plot_data={"funnel": funnel(shares)},
    )
    result._set(checks=Checks([*singles, *doubles]))
    return Looked(result, shares, singles, doubles, people_figures(cells))
