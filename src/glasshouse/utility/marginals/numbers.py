"""Do numeric columns of the release have the distributions they have in the original?"""

from __future__ import annotations

import numpy as np

from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import Columns, chosen, require_numeric, small
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.columns import KNOWN_LIMIT, over_columns
from glasshouse.utility.marginals.counts import Counted, counted


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
    wide="numeric",
    grows="values",
)
def wasserstein(pair: Pair, *, columns: Columns = None, replicates: int = 100, random_state: RandomState = 0) -> Result:
    """How far numbers would have to be moved to turn the release's distribution into the original's.

    The distance of a column is divided by the spread of the original, so that columns in different units can be
    averaged: 0.04 means that values are off by 4 % of the interquartile range.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns to compare; default: all of them.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean over columns of W1 / spread; 0 is equal. ``null``: what a perfect synthesiser would reach.
        ``details["columns"]`` has per column ``wasserstein_exact`` (in its own units), ``wasserstein_scaled``,
        ``iqr_x``, the ``scale`` that was used, the one-dimensional energy distance ``energy_scipy_sqrt``, and
        ``wasserstein_grid1000_type7``, the mean gap of 1,000 quantiles that riskutility takes for W1.

    Notes
    -----
    W1 = integral |F_X(t) - F_Y(t)| dt, exact, from the distribution functions of original (X) and release (Y). The
    spread is the IQR of the original; where that is 0 its standard deviation, and then its range. Missing values and
    special codes are dropped per column.

    References
    ----------
    Kantorovich (1942), On the translocation of masses. Ramdas, Trillos & Cuturi (2017), On Wasserstein two-sample
    testing and related families of nonparametric tests.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.wasserstein(pair, columns="age")
    >>> round(found.value, 3), found.details["columns"]["age"]["iqr_x"]
    (0.021, 16.0)
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes)
    require_numeric(pair, names)
    made = [counted(pair, c) for c in names]
    usable = [c for c in made if c.x.sum() and c.y.sum()]
    scales = {c.name: distances.spread(c.x, c.numbers, c.n_x) for c in usable}
    grids = {c.name: _grid_distance(c) for c in usable}

    def scaled(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return distances.wasserstein(x, y, column.numbers) / scales[column.name][1]

    def beside(column: Counted, value: float) -> tuple[float, dict[str, object]]:
        iqr, scale = scales[column.name]
        raw, grid = value * scale, grids[column.name]
        return raw, {
            "wasserstein_exact": raw,
            "wasserstein_pot": raw,  # the same figure under the name of the transport library
            "energy_scipy_sqrt": float(distances.cramer(column.x, column.y, column.numbers)),
            "wasserstein_scaled": value,
            "wasserstein_grid1000_type7": grid,
            "grid_scaled": grid / scale,
            "iqr_x": iqr,
            "scale": scale,
        }

    def speak(mean: float) -> tuple[str, float]:
        return f"Numeric columns are {small(mean)} of the original's spread (IQR) away on average", 1 - min(1.0, mean)

    result = over_columns(
        pair,
        made,
        scaled,
        beside,
        replicates=replicates,
        random_state=random_state,
        speak=speak,
        named={"mean": "wass_over_iqr"},
        notes=notes,
    )
    if not grids:
        return result
    # riskutility's score, from 1000 quantiles instead of the exact integral
    mean_grid = sum(grid / scales[name][1] for name, grid in grids.items()) / len(grids)
    return result._copy(details={**result.details, "wasserstein_rumap_utility": 1 - min(1.0, mean_grid)})


def _grid_distance(column: Counted) -> float:
    """Mean absolute difference of type-7 quantiles at 1000 equally spaced probabilities, for comparison with other
    packages.
    """
    at = np.linspace(0, 1, 1000)
    sides = [distances.quantiles(c, column.numbers, at, n) for c, n in ((column.x, column.n_x), (column.y, column.n_y))]
    return float(np.abs(sides[0] - sides[1]).mean())


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
    influence="share",
    wide="numeric",
    grows="values",
)
def kolmogorov_smirnov(
    pair: Pair, *, columns: Columns = None, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """The largest gap between the distribution functions of a numeric column in the original and in the release.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns to compare; default: all of them.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean over columns of D, 0 (equal) to 1. ``details["columns"]`` has per column ``ks_stat`` (D), its
        p value ``ks_p_asymp`` and the two-sample Cramér-von Mises statistic ``cvm_stat`` (None with weights).

    Notes
    -----
    D = max |F_X - F_Y|. The p value is that of two independent samples at the combined size n m / (n + m), which is
    conservative with ties. 1 - D is the KSComplement of SDMetrics. Missing values and special codes are dropped per
    column.

    References
    ----------
    Smirnov (1948), Table for estimating the goodness of fit of empirical distributions. Anderson (1962), On the
    distribution of the two-sample Cramér-von Mises criterion.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.kolmogorov_smirnov(pair, replicates=20).value, 3)
    0.025
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes)
    require_numeric(pair, names)

    def beside(column: Counted, value: float) -> tuple[float, dict[str, object]]:
        from scipy.stats import kstwo

        # the finite-sample law at the combined size, as two-sample tests in the field use it
        size = column.n_x * column.n_y / (column.n_x + column.n_y)
        p = float(np.clip(kstwo.sf(value, max(1, np.round(size))), 0, 1))
        cvm = distances.cramer_von_mises(column.x, column.y) if not pair.weights else None
        return value, {"ks_stat": value, "ks_p_asymp": p, "cvm_stat": cvm}

    def speak(mean: float) -> tuple[str, float]:
        return f"Distribution functions of numeric columns differ by {small(mean)} at most, on average", 1 - mean

    return over_columns(
        pair,
        [counted(pair, c) for c in names],
        lambda c, x, y: distances.kolmogorov_smirnov(x, y),
        beside,
        replicates=replicates,
        random_state=random_state,
        speak=speak,
        named={"mean": "ks_mean"},
        notes=notes,
    )
