"""The risk of each record: the probability that matching its keys in the population finds the right person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.loglinear import expected_counts
from glasshouse.disclosure.identity.risk_formulas import (
    expected_inverse,
    franconi,
    franconi_exact,
    global_threshold,
    household_risk,
    weighted_median,
)
from glasshouse.disclosure.identity.tables import (
    STRUCTURE,
    missing_notes,
    population_share,
    refuse_zero_weights,
    sizes_of,
    spoken,
    structure_note,
    supposed,
)
from glasshouse.disclosure.roles import KeyGroups
from glasshouse.engines.cells.classes import ClassCodes, class_codes

METHODS = ("franconi", "franconi_exact", "loglinear")
LEVELS = (0.05, 0.1, 0.2, 0.5, 1.0)
RISK_LIMIT = Limit(
    "value", warn=0.1, fail=0.2, why="mean risk < 0.05 low, < 0.1 moderate, < 0.2 elevated, else high (riskutility)"
)


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    table="single",
    limit=RISK_LIMIT,
    cite=(
        "Benedetti and Franconi (1998); Franconi and Polettini (2004); Skinner and Shlomo (2008) for the "
        "log-linear model"
    ),
    attacker="a register of the population with the keys",
    caveats="without weights a record's risk is 1 over its class size, as if the file were the population; "
    + STRUCTURE,
    group="classes",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("Individual Risk", lambda r: {"mean_risk": r.details["mean"]}),
)
def individual_risk(
    pair: Pair,
    *,
    table: str = "released",
    method: str = "franconi",
    alpha: float = 1.0,
    threshold: float = 0.1,
    max_global_risk: float = 0.01,
    sampling_fraction: float | None = None,
    model: str = "default",
    interactions: Sequence[Sequence[str]] = (),
    scale: str = "population",
    key_groups: KeyGroups = None,
) -> Result:
    """Mean probability that a record is re-identified by looking up its keys in the population.

    With survey weights a record that is alone in the file need not be alone among everybody; without them the file is
    taken for the population, and a record's risk is 1 over the size of its group.

    Parameters
    ----------
    pair : Pair
        The tables with keys, best with ``weights``; with ``cluster`` (households) the risk that anybody of the
        household is found is computed too. A missing key fits every value unless the pair was given another rule.
    table : {"released", "original"}, default "released"
        The table attacked.
    method : {"franconi", "franconi_exact", "loglinear"}, default "franconi"
        How the population is reached from the weights: the form in use, the exact integral, or a log-linear model.
    alpha : float, default 1.0
        What an incomplete record counts in the group of another one it is compatible with, from 0 to 1.
    threshold : float, default 0.1
        Records above this risk are counted and flagged ``at_risk``.
    max_global_risk : float, default 0.01
        Goal for the mean risk; ``global_threshold`` is the record risk to cut at in order to reach it.
    sampling_fraction : float or None, default None
        Share of the population in the table, for "loglinear"; taken from the weights where it is not given.
    model : {"default", "IPF", "CE", "PML", "weightedLLM"}, default "default"
        For "loglinear": main effects, iterative proportional fitting, Clogg and Eliason's offset, pseudo maximum
        likelihood, or the weighted count as a covariate.
    interactions : sequence of sequences of str, default ()
        For "loglinear": sets of keys whose interactions the model holds.
    scale : {"population", "sample"}, default "population"
        For "loglinear": "sample" leaves out the division by the sampling fraction, as sdcMicro does.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the mean risk; there is no baseline. ``details`` hold the expected number of re-identifications
        (``global_risk_ER``), records above the threshold, outliers (``n_high_risk``: above 0.1 and above the median
        plus 3 median deviations), ``bands`` of risk, ``hier_risk_*`` with households, and for "loglinear" ``tau1``
        (file uniques expected to be alone in the population) and ``tau2`` (expected right matches among them).
        ``records`` give ``risk``, group sizes ``fk`` and ``Fk``, ``at_risk`` and ``cluster_risk``.

    Notes
    -----
    f is the size of the record's group, F the sum of weights in it, p = f/F, and r = E(1/F_pop | f)::

        f = 1:  p/(1-p) ln(1/p)
        f = 2:  p/(1-p) - (p/(1-p))^2 ln(1/p)
        f > 2:  p / (f - (1-p))     ("franconi"), the exact integral with "franconi_exact"

    "loglinear" fits expected counts mu to the keys, Lambda = mu / pi with the sampling fraction pi, and takes
    r = E(1/F_pop | f, Lambda); for uniques that is (1 - e^-v)/v with v = (1 - pi) Lambda. The risk of a household is
    1 - product of (1 - r_i).

    References
    ----------
    .. [1] Benedetti, R. and Franconi, L. (1998), Statistical and technological solutions for controlled data
       dissemination. Pre-proceedings of New Techniques and Technologies for Statistics.
    .. [2] Franconi, L. and Polettini, S. (2004), Individual risk estimation in mu-Argus: a review. Privacy in
       Statistical Databases.
    .. [3] Skinner, C. and Shlomo, N. (2008), Assessing identification risk in survey microdata using log-linear
       models. Journal of the American Statistical Association 103.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> result = gh.disclosure.individual_risk(pair, table="original", method="loglinear", sampling_fraction=0.1)
    >>> round(result.value, 4), result.details["n_uniques"]
    (0.0358, 66)
    """
    if method not in METHODS:
        raise InputError(f"method={method!r}: choose one of {', '.join(METHODS)}")
    if scale not in ("population", "sample"):
        raise InputError(f"scale={scale!r}: choose 'population' or 'sample'")
    if not 0 < max_global_risk < 1:
        raise InputError(f"max_global_risk must lie between 0 and 1, not {max_global_risk}")
    refuse_zero_weights(pair, table)
    if method == "loglinear":
        return _loglinear(
            pair, table, threshold, max_global_risk, sampling_fraction, model, interactions, scale, key_groups
        )
    sizes = sizes_of(pair, table, "wildcard", alpha, None, key_groups)

    def risk_of(f: np.ndarray, F: np.ndarray) -> np.ndarray:
        if not sizes.weighted:
            return 1.0 / f
        return franconi(f, F) if method == "franconi" else franconi_exact(f, F)

    risk, records_with = risk_of(sizes.f, sizes.F), sizes.number

    def records() -> Mapping[str, np.ndarray]:
        found = sizes.records()
        mask = np.ma.getmaskarray(found["fk"])
        f, F = (np.where(mask, 1.0, np.ma.getdata(found[c]).astype(float)) for c in ("fk", "Fk"))
        single = np.ma.masked_array(risk_of(f, F), mask) if mask.any() else risk_of(f, F)
        return _with_clusters(pair, table, {"risk": single, **found}, threshold)

    below = int((sizes.F[sizes.f > 0] < sizes.f[sizes.f > 0] * (1 - 1e-12)).sum()) if sizes.weighted else 0
    notes = (
        [
            f"{below:,} class sizes exceed their sum of weights; the population class was taken to be at least as "
            "large as the class"
        ]
        if below
        else []
    )
    return _result(
        pair,
        table,
        risk,
        records_with,
        records,
        threshold,
        max_global_risk,
        {
            "method": method if sizes.weighted else "1/f",
            "n_dropped": sizes.dropped,
        },
        [*structure_note(pair, table), *missing_notes(sizes), *notes],
    )


def _loglinear(
    pair: Pair,
    table: str,
    threshold: float,
    max_global_risk: float,
    sampling_fraction: float | None,
    model: str,
    interactions: Sequence[Sequence[str]],
    scale: str,
    key_groups: KeyGroups,
) -> Result:
    fraction = population_share(pair, table, sampling_fraction)
    if fraction is None:
        raise InputError(
            "method='loglinear' needs the sampling fraction: give weights= or sampling_fraction=, the share of "
            "the population in the file"
        )
    sets = [[_position(pair, name) for name in names] for names in interactions]
    classes = class_codes(pair, table, key_groups)

    def fit(made: ClassCodes) -> tuple[np.ndarray, np.ndarray]:
        mu = expected_counts(made.codes + 1, made.sizes, made.weights, model, sets, fraction)
        v = (1 - fraction) * (mu / fraction if scale == "population" else mu)
        return expected_inverse(made.sizes, v), np.exp(-v)

    risk, alone = fit(classes)
    unique = classes.sizes == 1
    tau1, tau2, uniques = float(alone[unique].sum()), float(risk[unique].sum()), int(unique.sum())

    def records() -> Mapping[str, np.ndarray]:
        local = class_codes(pair, table, key_groups, in_memory=True)
        own, own_alone = (risk, alone) if local._cells is classes._cells else fit(local)
        found = local.records(
            {"risk": own, "fk": local.sizes, "population_unique": np.where(local.sizes == 1, own_alone, 0.0)}
        )
        return _with_clusters(pair, table, found, threshold)

    gr1, gr2 = (tau1 / uniques, tau2 / uniques) if uniques else (None, None)
    return _result(
        pair,
        table,
        risk,
        classes.sizes,
        records,
        threshold,
        max_global_risk,
        {
            "method": "loglinear",
            "model": model,
            "scale": scale,
            "sampling_fraction": fraction,
            "tau1": tau1,
            "tau2": tau2,
            "gr1": gr1,
            "gr2": gr2,
            "gr1perc": gr1,
            "gr2perc": gr2,
            "n_uniques": uniques,
            "n_dropped": pair.n(table) - int(classes.sizes.sum()),
        },
        structure_note(pair, table),
    )


def _position(pair: Pair, name: str) -> int:
    if name not in pair.keys:
        raise InputError(f"interactions names {name!r}, which is no key")
    return pair.keys.index(name)


def _with_clusters(pair: Pair, table: str, found: dict[str, np.ndarray], threshold: float) -> dict[str, np.ndarray]:
    risk = found["risk"]
    found["at_risk"] = risk > threshold
    cluster = pair.cluster_codes(table)
    if cluster is not None:
        # without a household a record stands for itself; a dropped record adds nothing to its household
        own = np.where(cluster < 0, cluster.max(initial=0) + 1 + np.arange(len(cluster)), cluster)
        joint = household_risk(np.ma.filled(risk, 0.0), own)
        found["cluster_risk"] = (
            np.ma.masked_array(joint, np.ma.getmaskarray(risk)) if np.ma.isMaskedArray(risk) else joint
        )
    return found


def _result(
    pair: Pair,
    table: str,
    risk: np.ndarray,
    records_with: np.ndarray,
    records: Callable[[], Mapping[str, np.ndarray]],
    threshold: float,
    max_global_risk: float,
    details: Mapping[str, object],
    warnings: list[str],
) -> Result:
    """Aggregates of risks given with the number of records that have them."""
    n = int(records_with.sum())
    expected = float((risk * records_with).sum())
    mean = expected / n
    median = weighted_median(risk, records_with) or 0.0
    mad = 1.4826 * (weighted_median(np.abs(risk - median), records_with) or 0.0)
    above = int(records_with[risk > threshold].sum())
    edges = np.array([-np.inf, *LEVELS[:-1], 1.0 - 1e-12, np.inf])
    names = ("<= 0.05", "0.05-0.1", "0.1-0.2", "0.2-0.5", "> 0.5", "1")
    banded = np.bincount(np.searchsorted(edges, risk, side="left") - 1, weights=records_with, minlength=6)
    figures: dict[str, object] = {
        "mean": mean,
        "global_risk": mean,
        "global_risk_ER": expected,
        "global_risk_pct": mean,
        "global_threshold": global_threshold(risk, records_with, max_global_risk),
        "max_global_risk": max_global_risk,
        "n_high_risk": int(records_with[(risk > median + 3 * mad) & (risk > 0.1)].sum()),
        "n_above_threshold": above,
        "threshold": threshold,
        "share_above_threshold": above / n,
        "max": float(risk.max()),
        "median": median,
        "n": n,
        "table": table,
        "bands": {name: int(c) for name, c in zip(names, banded, strict=True)},
        **details,
    }
    if pair.cluster is not None:
        joint = records().get("cluster_risk")
        if joint is not None:
            figures |= {
                "hier_risk_ER": float(joint.sum()),
                "hier_risk_global": float(joint.mean()),
                "hier_risk_pct": float(joint.mean()),
            }
    return Result(
        value=mean,
        details=figures,
        sentence=supposed(
            pair,
            table,
            f"An attacker with a register of the population in which the keys stand as in {spoken(pair, table)} would "
            f"identify {number(expected, 3)} of its {n:,} records ({percent(mean, 2)}); {above:,} records have a risk "
            f"above {number(threshold)}.",
            f"their keys would identify one with a chance of {percent(mean, 2)} on average. The records of a synthetic "
            "table belong to nobody.",
        ),
        warnings=warnings,
        records=records,
        flag="risk",
        plot_data={"table": table, "risk": {"band": list(names), "records": [int(c) for c in banded]}},
    )
