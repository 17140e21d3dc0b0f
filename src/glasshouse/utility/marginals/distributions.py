"""Marginal fidelity: does every column of the release have the distribution it has in the original?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import chosen, require_numeric, small, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted, Statistic, counted, evaluate, mean_null
from glasshouse.utility.marginals.pictures import plot_columns
from glasshouse.utility.nulls import judged

KNOWN_LIMIT = "blind to relations between columns: independent columns score as well as a perfect synthesis"


@measure(
    side="utility",
    family="marginals",
    better="lower",
    range=(0, None),
    needs=("numeric",),
    unit="spread of the original",
    cite="Kantorovich (1942); exact one-dimensional form as in Ramdas, Trillos & Cuturi (2017)",
    caveats=KNOWN_LIMIT,
    tier="fast",
    on_map=True,
)
def wasserstein(
    pair: Pair, *, columns: Sequence[str] | None = None, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """How far numbers would have to be moved to turn the release's distribution into the original's.

    W1 = integral |F_X - F_Y|, exact, in the units of the column. The headline is the mean over columns of W1 / IQR of
    the original (standard deviation where the IQR is 0, then the range). Missing values and special codes are dropped
    per column.
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes)
    require_numeric(pair, names)
    made = [counted(pair, c) for c in names]
    scales = {c.name: distances.spread(c.x, _numbers(c), c.n_x) for c in made if c.x.sum() and c.y.sum()}

    def scaled(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return distances.wasserstein(x, y, _numbers(column)) / scales[column.name][1]

    def beside(column: Counted, value: float) -> tuple[float, dict[str, Any]]:
        iqr, scale = scales[column.name]
        raw, grid = value * scale, _grid_distance(column)
        return raw, {
            "wasserstein_exact": raw,
            "wasserstein_pot": raw,  # the same figure under the name of the transport library
            "energy_scipy_sqrt": float(distances.cramer(column.x, column.y, _numbers(column))),
            "wasserstein_scaled": value,
            "wasserstein_grid1000_type7": grid,
            "grid_scaled": grid / scale,
            "iqr_x": iqr,
            "scale": scale,
        }

    result = _over_columns(
        pair,
        made,
        scaled,
        beside,
        "wasserstein",
        replicates,
        random_state,
        lambda mean: (
            f"Numeric columns are {small(mean)} of the original's spread (IQR) away on average",
            1 - min(1.0, mean),
        ),
        {"mean": "wass_over_iqr"},
        notes,
    )
    grids = [c["grid_scaled"] for c in result.details["columns"].values() if c["figure"] is not None]
    if grids:  # riskutility's score, from 1000 quantiles instead of the exact integral
        result.details["wasserstein_rumap_utility"] = 1 - min(1.0, sum(grids) / len(grids))
    return result


@measure(
    side="utility",
    family="marginals",
    better="lower",
    needs=("numeric",),
    unit="distance",
    cite="Smirnov (1948)",
    caveats=KNOWN_LIMIT,
    title="Kolmogorov–Smirnov",
    tier="fast",
)
def kolmogorov_smirnov(
    pair: Pair, *, columns: Sequence[str] | None = None, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """The largest gap between the distribution functions of a numeric column in the original and in the release.

    D = max |F_X - F_Y|, averaged over columns. ``ks_p_asymp`` per column is the asymptotic p-value of two independent
    samples (conservative with ties); 1 - D is SDMetrics' KSComplement.
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes)
    require_numeric(pair, names)

    def beside(column: Counted, value: float) -> tuple[float, dict[str, Any]]:
        from scipy.stats import kstwo

        # the finite-sample law at the combined size, as two-sample tests in the field use it
        size = column.n_x * column.n_y / (column.n_x + column.n_y)
        p = float(np.clip(kstwo.sf(value, max(1, np.round(size))), 0, 1))
        cvm = distances.cramer_von_mises(column.x, column.y) if not pair.weights else None
        return value, {"ks_stat": value, "ks_p_asymp": p, "cvm_stat": cvm}

    return _over_columns(
        pair,
        [counted(pair, c) for c in names],
        lambda c, x, y: distances.kolmogorov_smirnov(x, y),
        beside,
        "kolmogorov_smirnov",
        replicates,
        random_state,
        lambda mean: (
            f"Distribution functions of numeric columns differ by {small(mean)} at most, on average",
            1 - mean,
        ),
        {"mean": "ks_mean"},
        notes,
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="distance",
    cite="Hellinger (1909); Gomatam, Karr & Sanil (2005)",
    caveats=KNOWN_LIMIT,
    tier="fast",
    on_map=True,
)
def hellinger(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    groups: int = 5,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Distance between the category shares of the original and of the release, 0 (equal) to 1 (no category in
    common).

    H = sqrt(1/2 sum (sqrt p - sqrt q)^2) over the union of levels, averaged over the categorical columns. Missing
    values are dropped per column. Numeric columns named in ``columns`` are compared in ``groups`` pooled quantile
    groups.
    """
    return _frequencies(
        pair,
        columns,
        groups,
        distances.hellinger,
        "hellinger",
        replicates,
        random_state,
        lambda mean: (f"Category shares are a Hellinger distance of {small(mean)} apart on average", 1 - mean),
        {"mean": "hellinger_mean", "utility": "hellinger_utility"},
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="share",
    cite="Karr et al. (2006); mostlyai-qa accuracy (expected value)",
    caveats=KNOWN_LIMIT,
    tier="fast",
)
def total_variation(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    groups: int = 5,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """The share of records that would have to change category to make the release's shares those of the original.

    TV = 1/2 sum |p - q| over the union of levels, averaged over the categorical columns. ``expected`` per column is
    the closed form for a fresh sample, 1/2 sum sqrt(2/pi p(1-p)(1/n+1/m)). 1 - TV is SDMetrics' TVComplement.
    """

    def beside(column: Counted, value: float) -> dict[str, Any]:
        expected = distances.expected_tv(column.x / column.x.sum(), column.n_x, column.n_y)
        return {"tv": value, "expected": expected, "expected_correct": expected / np.sqrt(2)}

    return _frequencies(
        pair,
        columns,
        groups,
        distances.total_variation,
        "tv",
        replicates,
        random_state,
        lambda mean: (
            f"{percent(mean, 2)} of records would have to change category, on average over columns",
            1 - mean,
        ),
        {"mean": "tv_mean"},
        beside,
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="bits",
    cite="Lin (1991)",
    caveats=KNOWN_LIMIT,
    title="Jensen–Shannon",
    tier="fast",
)
def jensen_shannon(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    groups: int = 5,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Jensen-Shannon divergence between category shares, in bits: 0 (equal) to 1 (no category in common).

    JSD = 1/2 KL(p||m) + 1/2 KL(q||m) with m = (p+q)/2, averaged over the categorical columns. ``jsd_nats`` per column
    is the same in nats (0 to ln 2), the unit of some other packages.
    """
    return _frequencies(
        pair,
        columns,
        groups,
        distances.jensen_shannon_bits,
        "jsd_bits",
        replicates,
        random_state,
        lambda mean: (f"Category shares diverge by {small(mean)} bits on average", 1 - mean),
        {"mean": "jsd_mean"},
        lambda c, value: {"jsd_bits": value, "jsd_nats": value * np.log(2)},
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="effect",
    cite="Pearson (1900); Cramér (1946)",
    caveats=KNOWN_LIMIT,
    tier="fast",
)
def chi_square(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    groups: int = 5,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Chi-square comparison of category shares, as an effect size from 0 (equal shares) to 1.

    Per column: the chi-square of the 2 x K table of both files (``chi2``, ``df``, ``p``), so that levels which only
    the release has count as well, and the effect sqrt(chi2 / N), averaged over columns. Beside it the goodness of fit
    to the original's shares on the original's levels (``pearson_chi2_on_original_support``, ``df_pearson``) and the
    number of invented levels (``n_cells_new``).
    """

    def effect(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.sqrt(distances.homogeneity(x, y) / (x.sum(axis=-1) + y.sum(axis=-1)))
        return made

    def beside(column: Counted, value: float) -> dict[str, Any]:
        from scipy.stats import chi2

        # weights: the chi-square is taken at the effective sizes
        x, y = column.x * (column.n_x / column.x.sum()), column.y * (column.n_y / column.y.sum())
        statistic = float(distances.homogeneity(x[None, :], y[None, :])[0])
        seen = x > 0
        df = int(((x + y) > 0).sum()) - 1
        expected = x[seen] / x.sum() * y.sum()
        return {
            "chi2": statistic,
            "df": df,
            "p": float(chi2.sf(statistic, df)) if df else 1.0,
            "pearson_chi2_on_original_support": float(((y[seen] - expected) ** 2 / expected).sum()),
            "df_pearson": int(seen.sum()) - 1,
            "n_cells_new": int(((x == 0) & (y > 0)).sum()),
        }

    return _frequencies(
        pair,
        columns,
        groups,
        effect,
        "effect",
        replicates,
        random_state,
        lambda mean: (f"Category shares differ by a chi-square effect of {small(mean)} on average", 1 - mean),
        {"mean": "effect_mean"},
        beside,
    )


def _grid_distance(column: Counted) -> float:
    """Mean absolute difference of type-7 quantiles at 1000 equally spaced probabilities, for comparison with other
    packages.
    """
    at = np.linspace(0, 1, 1000)
    sides = [
        distances.quantiles(c, _numbers(column), at, n) for c, n in ((column.x, column.n_x), (column.y, column.n_y))
    ]
    return float(np.abs(sides[0] - sides[1]).mean())


def _numbers(column: Counted) -> np.ndarray:
    assert column.levels is not None
    return column.levels


def _frequencies(
    pair: Pair,
    columns: Sequence[str] | None,
    groups: int,
    distance: Any,
    figure: str,
    replicates: int,
    random_state: RandomState,
    speak: Any,
    golden: Mapping[str, str],
    beside: Any = None,
) -> Result:
    notes: list[str] = []
    names = chosen(pair, columns, pair.categorical, "categorical", notes=notes)
    made = [counted(pair, c, groups if pair.is_numeric(c) else None) for c in names]

    def around(column: Counted, value: float) -> tuple[float, dict[str, Any]]:
        parts = {figure: value, "n_levels": int(((column.x + column.y) > 0).sum())}
        return value, parts | (beside(column, value) if beside else {})

    return _over_columns(
        pair, made, lambda c, x, y: distance(x, y), around, figure, replicates, random_state, speak, golden, notes
    )


def _over_columns(
    pair: Pair,
    columns: Sequence[Counted],
    statistic: Statistic,
    beside: Any,
    name: str,
    replicates: int,
    random_state: RandomState,
    speak: Any,
    golden: Mapping[str, str],
    notes: Sequence[str],
) -> Result:
    """The mean of a statistic over columns, its null band, and each column's figure with its own band."""
    values = evaluate(columns, statistic)
    null, each = mean_null(
        pair,
        [c for c, v in zip(columns, values, strict=True) if np.isfinite(v)],
        statistic,
        replicates=replicates,
        random_state=random_state,
        name=name,
    )
    bands = iter(each)
    table: dict[str, tuple[float | None, dict[str, Any]]] = {}
    empty = []
    for column, value in zip(columns, values.tolist(), strict=True):
        counts = {
            "n_x": round(column.n_x, 6),
            "n_y": round(column.n_y, 6),
            "dropped_x": column.dropped_x,
            "dropped_y": column.dropped_y,
        }
        if not np.isfinite(value):
            empty.append(column.name)
            table[column.name] = (None, counts)
            continue
        figure, parts = beside(column, value)
        own = next(bands)
        reading = {} if own is None else {k: v for k, v in own.reading(value, "lower").items() if k != "null_how"}
        table[column.name] = (figure, parts | counts | reading)
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if known.size else None
    sentence, utility = speak(mean) if mean is not None else ("No column has values in both tables", None)
    details: dict[str, Any] = {golden["mean"]: mean, "n_columns": int(known.size)}
    if "utility" in golden and utility is not None:
        details[golden["utility"]] = utility
    warnings = [
        *notes,
        *(f"column {c!r} has no value in one of the tables and is left out of the mean" for c in empty),
    ]
    result = judged(
        mean,
        null,
        "lower",
        utility=utility,
        details=details,
        sentence=sentence,
        warnings=warnings,
        plot_data={"columns": plot_columns(columns)},
    )
    return with_columns(result, table)
