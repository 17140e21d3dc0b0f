"""dRisk: originals with a release record inside a small box around them, and robust Mahalanobis distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.advice import BRACKETED
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.disclosure.copying.closeness import CAVEAT, NO_HOLDOUT, copying_limit, refuse_infinite
from glasshouse.engines.exchange import exchange_flags
from glasshouse.engines.neighbours.search import RULES

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

_BOX_TOL = 1e-9
_MOST_PATTERNS = 64
SATURATED = 0.9
OVERWHELMING = 0.5


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=("numeric",),
    limit=replace(
        copying_limit(),
        # short of this, coarse values and copies cannot be told apart without people outside the data
        without_holdout=Limit("surplus", fail=OVERWHELMING, why="beyond what fresh people of the same size would show"),
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

    Half width h_v = outlier_par IQR_T(v) / (2 n_T)^(1/3); at risk when some release record differs by at most h_v in
    every numeric column. Beside it the Mahalanobis version: the distance of each original to its nearest release record
    under the classical and a robust covariance, and the share below sqrt(chi2(1 - alpha, p)). That radius belongs to
    one observation around the centre but is asked of the nearest of n_S, so it saturates; the AUC of original against
    holdout distances is the figure to read. For row-paired releases ``details["aligned"]`` is sdcMicro's own version,
    the share within ``aligned_k`` standard deviations of their own masked record.
    """
    if not outlier_par > 0:
        raise InputError(f"outlier_par must be positive, not {outlier_par}")
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = _numeric_columns(pair, columns)
    refuse_infinite(pair, chosen)
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    tables = {t: _matrix(pair, chosen, t) for t in ("original", "released", *(["holdout"] if pair.has_holdout else []))}
    original = tables["original"]
    half = outlier_par * _iqr(original) / (2 * len(original)) ** (1 / 3)
    at_risk = inside_box(original, tables["released"], half, missing)
    share = float(at_risk.mean())
    details: dict[str, Any] = {
        "vars": chosen,
        "half_widths": dict(zip(chosen, half.tolist(), strict=True)),
        "interval": share,
        "n_interval": int(at_risk.sum()),
    }
    notes: list[str] = []
    flat = [name for name, width in zip(chosen, half, strict=True) if width == 0]
    if flat:
        notes.append(f"columns {listed(flat)} have an interquartile range of 0, so their box is an exact match")
    holdout: float | None = None
    tested, alone = None, None
    limits = wilson(int(at_risk.sum()), len(at_risk), confidence)
    if "holdout" in tables and len(tables["holdout"]):
        strangers = inside_box(tables["holdout"], tables["released"], half, missing)
        holdout = float(strangers.mean())
        tested = exchange_flags(at_risk, strangers, confidence)
        details |= tested.figures()
        compared = f"; {percent(holdout)} of holdout people have one ({p_value(tested.p)})"
    else:
        notes.append(f"there is no reference for people outside the data, because there is {NO_HOLDOUT}")
        own = _own_share(original, half, len(tables["released"]))
        details["interval_self"] = own
        compared = f"; at most {percent(own)} would in a release of as many fresh people"
        if limits[0] - own > OVERWHELMING:
            alone = limits[0] - own
            compared += ", so even without a holdout this is copying"
    details |= _mahalanobis(tables, alpha, random_state, notes)
    if pair.row_paired:
        spread = np.nanstd(tables["released"], axis=0, ddof=1)
        own = np.abs(original - tables["released"]) <= aligned_k * spread + _BOX_TOL
        details["aligned"] = float(own.all(axis=1).mean())
    return Result(
        value=share,
        baseline=holdout,
        holdout=holdout,
        interval=limits,
        details=details,
        difference=None if tested is None else tested.difference,
        difference_interval=None if tested is None else tested.interval,
        p_value=None if tested is None else tested.p,
        counts=None if tested is None else tested.counts,
        figures={"surplus": alone},
        sentence=(
            f"{percent(share)} of original records have a release record within a small box of their numeric values"
            f"{compared}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: {"at_risk": at_risk},
        flag="at_risk",
    )


def _own_share(original: np.ndarray, half: np.ndarray, n_released: int) -> float:
    """Share of complete originals with another original in their box, raised to the size of the release.

    If q is a person's chance of having nobody among n_T - 1 others, a release of r (n_T - 1) fresh people leaves them
    alone with chance q^r, and 1 - mean(q)^r is no less than the mean of 1 - q^r for r >= 1 (Jensen).
    """
    from scipy.spatial import cKDTree

    whole = original[~np.isnan(original).any(axis=1)]
    if len(whole) < 2:
        return 0.0
    rows, counts = np.unique(_in_half_widths(whole, half), axis=0, return_counts=True)
    near = np.full(len(rows), np.inf)
    if len(rows) > 1:
        near = cKDTree(rows).query(rows, k=2, p=np.inf, distance_upper_bound=1 + 1e-6)[0][:, 1]
    accompanied = float(counts[(counts > 1) | (near <= 1 + _BOX_TOL)].sum()) / len(whole)
    return float(1 - (1 - accompanied) ** max(1.0, n_released / (len(whole) - 1)))


def inside_box(people: np.ndarray, released: np.ndarray, half: np.ndarray, missing: str) -> np.ndarray:
    """Which people have a released record within ``half`` of them in every column."""
    if missing == "level":
        gone = np.concatenate([np.isnan(people), np.isnan(released)]).any(axis=0)
        fill = np.concatenate([people, released])
        top = np.nanmax(np.where(np.isnan(fill), -np.inf, np.abs(fill)), axis=0, initial=0.0)
        marker = np.where(gone, 4 * top + 4 * half + 1, 0.0)
        return _any_within(
            np.where(np.isnan(people), marker, people), np.where(np.isnan(released), marker, released), half
        )
    if missing == "mismatch":
        whole = ~np.isnan(people).any(axis=1)
        found = np.zeros(len(people), bool)
        found[whole] = _any_within(people[whole], released[~np.isnan(released).any(axis=1)], half)
        return found
    return _any_within_by_pattern(people, released, half, nothing_shared=missing == "match")


def _any_within_by_pattern(
    people: np.ndarray, released: np.ndarray, half: np.ndarray, nothing_shared: bool
) -> np.ndarray:
    """A missing value fits everything: compare on the columns both sides have, pattern by pattern."""
    found = np.zeros(len(people), bool)
    patterns, which = np.unique(~np.isnan(people), axis=0, return_inverse=True)
    others, where = np.unique(~np.isnan(released), axis=0, return_inverse=True)
    if len(patterns) * len(others) > _MOST_PATTERNS**2:
        raise NotApplicable(
            f"{len(patterns)} and {len(others)} patterns of missing values are too many for this rule; "
            "use missing='level'"
        )
    for i, mine in enumerate(patterns):
        for j, theirs in enumerate(others):
            shared = mine & theirs
            at = np.flatnonzero((which.reshape(-1) == i) & ~found)
            if not shared.any():
                found[at] |= nothing_shared
                continue
            found[at] = _any_within(people[at][:, shared], released[where.reshape(-1) == j][:, shared], half[shared])
    return found


def _any_within(people: np.ndarray, released: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Chebyshev search on distinct rows after dividing by the half widths; columns of half width 0 must be equal."""
    from scipy.spatial import cKDTree

    if not len(people) or not len(released):
        return np.zeros(len(people), bool)
    scaled = _in_half_widths(np.concatenate([people, released]), half)
    asked, back = np.unique(scaled[: len(people)], axis=0, return_inverse=True)
    tree = cKDTree(np.unique(scaled[len(people) :], axis=0))
    nearest = tree.query(asked, k=1, p=np.inf, distance_upper_bound=1 + 1e-6)[0]
    return np.asarray(nearest <= 1 + _BOX_TOL)[back.reshape(-1)]


def _in_half_widths(table: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Columns divided by their half widths, so that the box is the unit cube around a record."""
    scaled = table / np.where(half > 0, half, 1.0)
    # Equality column: distinct values become whole numbers four apart, so that any difference leaves the box.
    for v in np.flatnonzero(half == 0):
        scaled[:, v] = 4.0 * np.unique(table[:, v], return_inverse=True)[1].reshape(-1)
    return np.asarray(scaled)


def _mahalanobis(
    tables: dict[str, np.ndarray], alpha: float, random_state: RandomState, notes: list[str]
) -> dict[str, Any]:
    """Nearest release record in Mahalanobis distance, classical and robust covariance of the complete originals."""
    from scipy.stats import chi2

    whole = {name: table[~np.isnan(table).any(axis=1)] for name, table in tables.items()}
    original = whole["original"]
    p = original.shape[1]
    if p < 2 or len(original) <= p + 1 or not len(whole["released"]):
        notes.append("Mahalanobis distances need two numeric columns and more complete records than columns")
        return {}
    if not (original.max(axis=0) > original.min(axis=0)).all():
        notes.append("a numeric column is constant in the original, so there are no Mahalanobis distances")
        return {}
    threshold = float(np.sqrt(chi2.ppf(1 - alpha, p)))
    details: dict[str, Any] = {}
    for name, covariance in (
        ("classical", np.cov(original, rowvar=False)),
        ("robust", _robust_covariance(original, random_state, notes)),
    ):
        if covariance is None or np.linalg.matrix_rank(covariance) < p:
            notes.append(f"the {name} covariance is singular, so it gives no Mahalanobis distance")
            continue
        distance = _nearest_whitened(original, whole["released"], covariance)
        prefix = "min_rmd" if name == "classical" else "min_rmd_robust"
        share = float((distance < threshold).mean())
        details |= {
            f"rmd_{name}_threshold": threshold,
            f"rmd_{name}": share,
            f"{prefix}_mean": float(distance.mean()),
            f"{prefix}_median": float(np.median(distance)),
            f"{prefix}_max": float(distance.max()),
        }
        if share > SATURATED:
            notes.append(
                f"the {name} Mahalanobis share is saturated ({percent(share, 0)} of originals): its radius fits one "
                "observation, not the nearest of many; read the AUC against the holdout instead"
            )
        if len(whole.get("holdout", ())):
            reach = _nearest_whitened(whole["holdout"], whole["released"], covariance)
            details[f"rmd_{name}_auc"] = _closer_auc(distance, reach)
    return details


def _nearest_whitened(people: np.ndarray, released: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    from scipy.linalg import cholesky, solve_triangular
    from scipy.spatial import cKDTree

    root = cholesky(covariance, lower=True)
    white = [solve_triangular(root, table.T, lower=True).T for table in (people, released)]
    asked, back = np.unique(white[0], axis=0, return_inverse=True)
    return np.asarray(cKDTree(np.unique(white[1], axis=0)).query(asked, k=1)[0])[back.reshape(-1)]


def _robust_covariance(original: np.ndarray, random_state: RandomState, notes: list[str]) -> np.ndarray | None:
    """MCD after dividing by a robust scale; shrinkage when half the records agree in a column and the MCD collapses."""
    import warnings

    from sklearn.covariance import LedoitWolf, MinCovDet

    scale = np.array([_robust_scale(column) for column in original.T])
    scaled = (original - np.median(original, axis=0)) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = integer_seed(random_state, "drisk mcd")
        try:
            mcd = np.asarray(MinCovDet(random_state=seed).fit(scaled).covariance_)
        except ValueError:  # more than half of the records lie in one point
            mcd = np.full((scaled.shape[1],) * 2, np.nan)
    variances = scaled.var(axis=0)
    degenerate = not np.isfinite(mcd).all() or (np.diag(mcd) < 0.01 * variances).any() or np.linalg.cond(mcd) > 1e10
    if degenerate:
        notes.append(
            "the robust covariance collapses (many equal values in a column); shrinkage covariance used instead"
        )
        mcd = np.asarray(LedoitWolf().fit(scaled).covariance_)
    return mcd * np.outer(scale, scale)


def _robust_scale(column: np.ndarray) -> float:
    """Median absolute deviation, at least the smallest step between different values."""
    steps = np.diff(np.unique(column))
    floor = float(steps.min()) if len(steps) else 1.0
    return max(float(np.median(np.abs(column - np.median(column)))), floor)


def _closer_auc(train: np.ndarray, holdout: np.ndarray) -> float:
    """Chance that a training record is nearer to the release than a holdout record, ties half."""
    ordered = np.sort(np.round(holdout, 10))
    asked = np.round(train, 10)
    below = np.searchsorted(ordered, asked, side="left")
    upto = np.searchsorted(ordered, asked, side="right")
    return float(1 - (below + upto).mean() / (2 * len(ordered)))


def _iqr(table: np.ndarray) -> np.ndarray:
    low, high = np.nanquantile(np.where(np.isnan(table).all(axis=0), 0.0, table), [0.25, 0.75], axis=0)
    return np.asarray(high - low)


def _numeric_columns(pair: Pair, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return list(pair.numeric)
    unknown = [name for name in columns if name not in pair.numeric]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not numeric in every table; choose from {listed(pair.numeric)}"
        )
    return list(dict.fromkeys(columns))


def _matrix(pair: Pair, columns: Sequence[str], table: str) -> np.ndarray:
    parts = []
    for name in columns:
        values = np.array(pair.values(name, table), float)
        values[pair.special_mask(name, table)] = np.nan
        parts.append(values)
    return np.stack(parts, axis=1)
