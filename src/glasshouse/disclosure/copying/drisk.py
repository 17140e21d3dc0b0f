"""dRisk: originals with a release record inside a small box around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import BRACKETED
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying.boxes import BOX_TOL, Rows, inside_box, own_share
from glasshouse.disclosure.copying.closeness import CAVEAT, NO_HOLDOUT, refuse_infinite
from glasshouse.disclosure.copying.mahalanobis import mahalanobis_shares
from glasshouse.disclosure.wording import against
from glasshouse.engines.exchange import Exchange, exchange, exposed_people, people_clusters
from glasshouse.engines.neighbours.search import RULES

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

OVERWHELMING = 0.5


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=("numeric",),
    limit=replace(
        LEAK_LIMIT,
        # short of this, coarse values and copies cannot be told apart without people outside the data
        without_holdout=Limit(
            "surplus", fail=OVERWHELMING, passes=False, why="beyond what fresh people of the same size would show"
        ),
    ),
    figures=("surplus",),
    cite="Templ, Kowarik & Meindl (2015), sdcMicro dRisk and dRiskRMD; Mateo-Sanz, Sebe & Domingo-Ferrer (2004)",
    attacker="the numeric columns of some people",
    caveats=f"Numeric columns only; integer columns make the box an exact match. {CAVEAT}",
    cost="neighbours",
    group="distance",
    title="dRisk",
    advice=BRACKETED,
    riskutility=("dRisk", lambda r: {"value": r.value}),
    influence="free",
    wide="numeric",
)
def drisk(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    outlier_par: float = 0.01,
    alpha: float = 0.05,
    aligned_k: float = 0.05,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Result:
    """Share of original records with a release record inside a small box around them, in the numeric columns.

    Beside it the Mahalanobis version: the distance of each original to its nearest release record under the classical
    and a robust covariance, and the share below a radius. That radius belongs to one observation around the centre but
    is asked of the nearest of many, so it saturates; the AUC of original against holdout distances is the figure to
    read.

    Parameters
    ----------
    pair : Pair
        Original and release with at least one numeric column. A holdout gives the share for people never in the data.
    columns : sequence of str, optional
        Numeric columns to compare; all of them by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    outlier_par : float, default 0.01
        Width of the box in interquartile ranges of the original (before the factor for its size, see Notes).
    alpha : float, default 0.05
        Level of the chi-square radius of the Mahalanobis shares.
    aligned_k : float, default 0.05
        For row-paired releases: standard deviations within which an original counts as close to its own masked record.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of the robust covariance (minimum covariance determinant) and of the exchange of clusters.

    Returns
    -------
    Result
        ``value``: the share at risk; ``baseline`` and ``holdout``: the same share of holdout people; ``difference``:
        value minus holdout, with interval and p value of exchanged labels. Without a holdout the figure ``surplus``
        says by how much the lower limit exceeds what as many fresh people would show, where that is overwhelming
        (more than 0.5); else there is no verdict. ``details``: half widths,
        Mahalanobis distances, their shares (``rmd_``) and AUCs; ``aligned``, sdcMicro's own version for row-paired
        releases. ``records``: per original whether it is ``at_risk``.

    Notes
    -----
    Half width of the box in column v, n_T originals:

        h_v = outlier_par IQR_T(v) / (2 n_T)^(1/3)

    At risk: some release record differs by at most h_v in every numeric column. Mahalanobis share: distance to the
    nearest release record below sqrt(chi2(1 - alpha, p)), p columns. For the p value the interquartile range is that of
    original and holdout together, and labels are exchanged (of whole clusters, where there are any). Without a
    holdout, q being the chance of having nobody among n_T - 1 others in the box, a release of r (n_T - 1) fresh people
    leaves a person alone with chance q^r.

    References
    ----------
    Templ, Kowarik & Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro, Journal
    of Statistical Software 67 (dRisk and dRiskRMD).
    Mateo-Sanz, Sebé & Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, PSD, LNCS 3050.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.drisk(gh.data.load("case_study").pair("B"))
    >>> round(found.value, 3), round(found.holdout, 3), round(found.difference, 3)
    (0.465, 0.47, -0.005)
    """
    if not 0 < outlier_par < np.inf:
        raise InputError(f"outlier_par must be a positive number, not {outlier_par}")
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = _numeric_columns(pair, columns)
    refuse_infinite(pair, chosen, summed=True)
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    names = ("original", "released", *(["holdout"] if pair.has_holdout else []))
    # by name: the robust covariance draws people in the order of what they hold, column by column
    by_name = sorted(chosen)
    tables = {name: Rows.of(pair, by_name, name) for name in names}
    original = tables["original"].every
    half = _half_widths(original, len(original), outlier_par)
    widths = dict(zip(by_name, half.tolist(), strict=True))
    at_risk = inside_box(tables["original"], tables["released"], half, missing)
    share = float(at_risk.mean())
    details: dict[str, object] = {
        "vars": chosen,
        "half_widths": {name: widths[name] for name in chosen},
        "interval": share,
        "n_interval": int(at_risk.sum()),
    }
    notes: list[str] = []
    flat = [name for name in chosen if widths[name] == 0]
    if flat:
        notes.append(f"columns {listed(flat)} have an interquartile range of 0, so their box is an exact match")
    holdout: float | None = None
    tested, alone, strangers = None, None, None
    limits = wilson(int(at_risk.sum()), len(at_risk), confidence)
    if "holdout" in tables and len(tables["holdout"].every):
        strangers = inside_box(tables["holdout"], tables["released"], half, missing)
        holdout = float(strangers.mean())
        tested = _exchanged(pair, tables, (at_risk, strangers), outlier_par, missing, confidence, random_state)
        details |= tested.figures()
        compared = (
            f"; {percent(holdout)} of holdout people have one: {against(tested.p, float(at_risk.mean()), holdout)}"
        )
    else:
        notes.append(f"there is no reference for people outside the data, because there is {NO_HOLDOUT}")
        own = own_share(original, half, len(tables["released"].every))
        details["interval_self"] = own
        compared = f"; at most {percent(own)} would in a release of as many fresh people"
        alone = limits[0] - own
        if alone > OVERWHELMING:
            compared += ", so even without a holdout this is copying"
    details |= mahalanobis_shares(tables, alpha, random_state, notes)
    if pair.row_paired:
        spread = np.nanstd(tables["released"].every, axis=0, ddof=1)
        near_own = np.abs(original - tables["released"].every) <= aligned_k * spread + BOX_TOL
        details["aligned"] = float(near_own.all(axis=1).mean())
    return Result(
        value=share,
        baseline=holdout,
        holdout=holdout,
        interval=limits,
        of=len(at_risk),
        details=details,
        difference=None if tested is None else tested.difference,
        difference_interval=None if tested is None else tested.interval,
        p_value=None if tested is None else tested.p,
        counts=None if tested is None else tested.counts,
        exposure=None
        if strangers is None
        else exposed_people(at_risk, strangers, people_clusters(pair), confidence=confidence),
        figures={"surplus": alone},
        sentence=(
            f"{percent(share)} of original records have a release record within a small box of their numeric values"
            f"{compared}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: {"at_risk": at_risk},
        flag="at_risk",
    )


def _half_widths(people: np.ndarray, n: int, outlier_par: float) -> np.ndarray:
    return np.asarray(outlier_par * _iqr(people) / (2 * n) ** (1 / 3))


def _exchanged(
    pair: Pair,
    tables: dict[str, Rows],
    flags: tuple[np.ndarray, np.ndarray],
    outlier_par: float,
    missing: str,
    confidence: float,
    random_state: RandomState,
) -> Exchange:
    """Members against strangers; for the p value the boxes are cut by original and holdout together."""
    clusters = people_clusters(pair)
    real = [tables["original"], tables["holdout"]]
    half = _half_widths(np.concatenate([people.every for people in real]), len(real[0].every), outlier_par)
    found = exchange(*flags, clusters=clusters, confidence=confidence, random_state=random_state, name="drisk")
    alike = [inside_box(people, tables["released"], half, missing) for people in real]
    return found._replace(p=exchange(*alike, clusters=clusters, random_state=random_state, name="drisk").p)


def _iqr(table: np.ndarray) -> np.ndarray:
    low, high = np.nanquantile(np.where(np.isnan(table).all(axis=0), 0.0, table), [0.25, 0.75], axis=0)
    return np.asarray(high - low)


def _numeric_columns(pair: Pair, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return list(pair.numeric)
    if not columns:
        raise InputError("columns is empty; name the numeric columns to compare, or leave it out for all of them")
    unknown = [name for name in columns if name not in pair.numeric]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not numeric in every table; choose from {listed(pair.numeric)}"
        )
    return list(dict.fromkeys(columns))
