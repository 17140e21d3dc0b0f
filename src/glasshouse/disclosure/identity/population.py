"""Population uniqueness: how many records that are alone in the file are alone among everybody."""

from __future__ import annotations

import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.population_estimators import ESTIMATORS, Estimate, all_estimates, dankar
from glasshouse.disclosure.identity.tables import (
    is_synthetic,
    missing_notes,
    population_share,
    sizes_of,
    spoken,
    structure_note,
    supposed,
)
from glasshouse.disclosure.roles import KeyGroups, spoken_keys


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    table="single",
    cite=(
        "Zayatz (1991); Hoshino (2001), Pitman's sampling formula; Chen and Keller-McNulty (1998), shifted "
        "negative binomial; Dankar, El Emam, Neisa and Roffey (2012)"
    ),
    attacker="that a person is alone in the file, and a register of the population",
    caveats=(
        "no estimator is nearest everywhere: read the range; on synthetic data it has a meaning on the original only"
    ),
    group="classes",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("Population Uniqueness", lambda r: {"value": r.value}),
)
def population_uniqueness(
    pair: Pair,
    *,
    table: str = "released",
    sampling_fraction: float | None = None,
    population_size: int | None = None,
    rule: str | None = None,
    key_groups: KeyGroups = None,
) -> Result:
    """Probability that a record alone in the file is alone in the population too, by three published estimators shown
    as a range.

    No estimator is nearest to the truth everywhere, so the range is the answer. On synthetic data the figure has a
    meaning on the original only: the groups of a synthetic file are no sample of the population.

    Parameters
    ----------
    pair : Pair
        The tables with keys. Missing keys count as a level of their own or are dropped; they cannot be wildcards,
        because the estimators need groups that do not overlap.
    table : {"released", "original"}, default "released"
        The table whose uniques are in question.
    sampling_fraction : float or None, default None
        Share of the population in the table, in (0, 1]; taken from the survey weights where it is not given.
    population_size : int or None, default None
        People in the population, in place of the sampling fraction.
    rule : {None, "dankar"}, default None
        None takes the largest estimate; "dankar" the one that the rule of Dankar et al. chooses.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the largest estimate of P(F = 1 | f = 1), the cautious end, or the one the rule chooses;
        ``interval`` is the range of the three and not a confidence interval; there is no baseline. ``details`` hold
        each estimator's ``p_conditional`` and ``population_uniques`` (None where it has no solution), the file uniques
        expected to be alone in the population, and ``dankar``, the estimator that rule reads. There are no records.

    Notes
    -----
    The data enter through n_j, the number of groups with j records, and the sampling fraction: Zayatz weighs the
    groups by the hypergeometric chance that j people give one record, Pitman's sampling formula is fitted by maximum
    likelihood, and the shifted negative binomial by its moments. The rule of Dankar et al. reads Pitman up to a
    fraction of 0.1 (Zayatz where it fails), else the smaller of the shifted negative binomial and Zayatz.

    References
    ----------
    .. [1] Zayatz, L. (1991), Estimation of the percent of unique population elements on a microdata file using the
       sample. US Bureau of the Census.
    .. [2] Hoshino, N. (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of
       Official Statistics 17.
    .. [3] Chen, G. and Keller-McNulty, S. (1998), Estimation of identification disclosure risk in microdata. Journal
       of Official Statistics 14.
    .. [4] Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012), Estimating the re-identification risk of
       clinical data sets. BMC Medical Informatics and Decision Making 12.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> result = gh.disclosure.population_uniqueness(pair, table="original", sampling_fraction=0.1)
    >>> low, high = result.interval
    >>> round(low, 2), round(high, 2), result.details["sample_uniques"]
    (0.04, 0.1, 66)
    """
    if rule not in (None, "dankar"):
        raise InputError(f"rule={rule!r}: choose 'dankar' or leave it out")
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    n = sizes.n
    if population_size is not None:
        if population_size < n:
            raise InputError(f"population_size={population_size:,} is smaller than the {n:,} records of the file")
        N = int(population_size)
    else:
        share = population_share(pair, table, sampling_fraction)
        if share is None:
            raise NotApplicable(
                "population_uniqueness needs the size of the population: give sampling_fraction= (in (0, 1]), "
                "population_size= or weights="
            )
        N = max(n, round(n / share))
    histogram = sizes.histogram()
    j, counts = np.array(list(histogram)), np.array(list(histogram.values()))
    single = histogram.get(1, 0)
    fraction = n / N
    notes = [*structure_note(pair, table), *missing_notes(sizes)]
    if is_synthetic(pair, table):
        notes.append("the classes of a synthetic file are not a sample of the population; use table='original'")
    if sizes.rule == "wildcard" and sizes.incomplete:
        raise NotApplicable(
            "population uniqueness counts classes that do not overlap; use missing='level' or missing='drop'"
        )
    if single == 0 or n == N:
        known = 1.0 if single else 0.0
        estimates = {name: Estimate(known, float(single)) for name in ESTIMATORS}
        failed: dict[str, str] = {}
    else:
        estimates, failed = all_estimates(j, counts, N)
    notes += [f"{name} has no estimate: {why}" for name, why in failed.items()]
    ps = {name: estimate.p for name, estimate in estimates.items()}
    chosen = dankar(ps, fraction)
    low, high = min(ps.values()), max(ps.values())
    value = high if rule is None else ps[chosen] if chosen else None
    if value is None:
        raise NotApplicable("none of the estimators the rule chooses among has a solution on these class sizes")
    details: dict[str, object] = {
        **{name: estimate.details() for name, estimate in estimates.items()},
        **dict.fromkeys(failed),
        "low": low,
        "high": high,
        "dankar": chosen,
        "sample_uniques": single,
        "n_classes": sizes.classes,
        "n": n,
        "population_size": N,
        "sampling_fraction": fraction,
        "n_dropped": sizes.dropped,
        "table": table,
        "expected_population_uniques_low": single * low,
        "expected_population_uniques_high": single * high,
    }
    if len(ps) > 1:
        reach = f"between {percent(low)} and {percent(high)} ({single * low:,.0f} to {single * high:,.0f} records)"
    else:
        reach = f"{percent(high)} ({single * high:,.0f} records, by one estimator only)"
    return Result(
        value=value,
        interval=(low, high),
        details=details,
        sentence=supposed(
            pair,
            table,
            f"{single:,} of the {n:,} records of {spoken(pair, table)} are alone on {spoken_keys(pair)}; of these "
            f"{reach} are estimated to be alone in the population of {N:,} too.",
            f"{single:,} of the {n:,} would be alone on {spoken_keys(pair)}, and of these {percent(high)} at most in "
            "the population. The records of a synthetic table belong to nobody.",
        ),
        warnings=notes,
        plot_data={"estimates": {"estimator": list(ps), "p": list(ps.values())}},
    )
