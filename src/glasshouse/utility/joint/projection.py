"""Common axes: is the release spread along the same directions as the original? And, for perturbed records, how far
each moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.evidence import Null
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import Rows, pooled, resampled
from glasshouse.utility.figures import Columns, chosen, ignored_weights, require_numeric, small
from glasshouse.utility.joint.copula import numbers
from glasshouse.utility.nulls import judged


def _axes(values: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(eigenvalues, loadings [columns, components]) of the correlation-scaled covariance, largest first."""
    scaled = (values - mean) / sd
    scaled = scaled - scaled.mean(axis=0)
    size, vectors = np.linalg.eigh(scaled.T @ scaled / max(len(values) - 1, 1))
    return np.maximum(size[::-1], 0.0), vectors[:, ::-1]


def _upright(axes: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The axes turned so that the largest loading is positive, the first by name among equals: an axis has no sign of
    its own, and which one comes out depends on the order of the columns.
    """
    order = np.argsort(np.asarray(names))
    largest = order[np.argmax(np.round(np.abs(axes[order]), 9), axis=0)]
    made: np.ndarray = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return made


@measure(
    side="utility",
    family="dependence",
    better="higher",
    needs=("numeric",),
    unit="cosine",
    group="joint",
    cite="Krzanowski (1979), Between-groups comparison of principal components",
    caveats="linear structure of numeric columns only",
    title="PCA",
    tier="fast",
    wide="numeric",
    influence="free",
)
def pca(
    pair: Pair,
    *,
    columns: Columns = None,
    components: int = 2,
    replicates: int = 50,
    random_state: RandomState = 0,
) -> Result:
    """Do the main axes of the release point where those of the original point?

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns, at least two; default: all of them.
    components : int, default 2
        Number of axes compared; below the number of columns.
    replicates : int, default 50
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: 1 when both tables span the same plane, 0 when the planes are perpendicular. ``details`` has the
        shares of variance per axis (``explained_x``, ``explained_y``), the ``angles_degrees`` between the planes and
        the ``loadings`` of the original.

    Notes
    -----
    Both tables are standardised by the means and standard deviations of the original. With A and B the first k
    principal axes of original and release, value = ||A' B||^2 / k, the mean squared cosine of the angles between the
    planes (Krzanowski's similarity). Complete records; weights are ignored.

    References
    ----------
    Krzanowski (1979), Between-groups comparison of principal components.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.pca(pair, replicates=10).value, 3)
    0.994
    """
    from scipy.linalg import subspace_angles

    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", 2, notes=notes, valued="both")
    require_numeric(pair, names)
    if not 1 <= components < len(names) and len(names) != 2:
        raise InputError(f"components must lie between 1 and {len(names) - 1}, not {components}")
    k = min(components, len(names) - 1)
    (x, keep_x), (y, keep_y) = (numbers(pair, names, table) for table in ("original", "released"))
    if min(len(x), len(y)) < 3:
        raise NotApplicable(
            "fewer than three records are complete in the numeric columns; choose fewer with columns=[...]"
        )
    mean, sd = x.mean(axis=0), x.std(axis=0, ddof=1)
    sd = np.where(sd > 0, sd, 1.0)
    (size_x, axes_x), (size_y, axes_y) = (_axes(v, mean, sd) for v in (x, y))
    axes_x = _upright(axes_x, names)
    if size_x.sum() <= 0:
        raise NotApplicable("the numeric columns are constant, so there are no axes")

    def similarity(a: np.ndarray, b: np.ndarray) -> float:
        return float(min(1.0, ((a[:, :k].T @ b[:, :k]) ** 2).sum() / k))

    both = pooled([x, y])

    def between(rows_x: Rows, rows_y: Rows) -> float:
        sides = [axes_x if rows is None else _axes(both[rows], mean, sd)[1] for rows in (rows_x, rows_y)]
        return similarity(*sides)

    null = resampled(pair, between, replicates=replicates, random_state=random_state, keep=pooled([keep_x, keep_y]))
    value = similarity(axes_x, axes_y)
    share_x, share_y = size_x / size_x.sum(), size_y / max(size_y.sum(), 1e-300)
    projected = {name: (v - mean) / sd @ axes_x[:, :2] for name, v in (("original", x), ("released", y))}
    return judged(
        value,
        null,
        "higher",
        utility=value,
        details={
            "explained_x": share_x,
            "explained_y": share_y,
            "explained_difference": float(np.abs(share_x - share_y).sum() / 2),
            "angles_degrees": np.degrees(np.sort(subspace_angles(axes_x[:, :k], axes_y[:, :k]))),
            "loadings": {c: axes_x[j, :k] for j, c in enumerate(names)},
            "components": k,
            "n_x": len(x),
            "n_y": len(y),
        },
        sentence=f"The first {k} principal axes agree to {number(value, 3)} (1 = the same directions)",
        warnings=[*notes, *ignored_weights(pair, "pca")],
        plot_data={"plane": _plane(projected)},
    )


class Cell(TypedDict):
    """A cell of the plane and the share of a table that lies in it."""

    table: str
    x1: float
    x2: float
    y1: float
    y2: float
    share: float


def _plane(projected: dict[str, np.ndarray], bins: int = 24) -> list[Cell]:
    """Shares of both tables in cells of the original's first plane: an aggregate, no record is drawn."""
    pooled = np.concatenate(list(projected.values()))
    low, high = np.quantile(pooled, [0.005, 0.995], axis=0)
    edges = [np.linspace(low[j], high[j] if high[j] > low[j] else low[j] + 1, bins + 1) for j in range(2)]
    made: list[Cell] = []
    for table, points in projected.items():
        shares = np.histogram2d(points[:, 0], points[:, 1], bins=edges)[0] / len(points)
        for i, j in zip(*np.nonzero(shares), strict=True):
            made.append(
                {
                    "table": table,
                    "x1": float(edges[0][i]),
                    "x2": float(edges[0][i + 1]),
                    "y1": float(edges[1][j]),
                    "y2": float(edges[1][j + 1]),
                    "share": float(shares[i, j]),
                }
            )
    return made


@measure(
    side="utility",
    family="dependence",
    better="lower",
    needs=("row_paired",),
    unit="Gower distance",
    cite="Gower (1971)",
    caveats="for perturbed records only; a small value means that records were hardly changed, which is a risk",
    tier="fast",
    influence="free",
)
def gower_paired(pair: Pair, *, columns: Columns = None) -> Result:
    """How far perturbation moved each record: mean Gower distance between row i of the original and row i of the
    release.

    Parameters
    ----------
    pair : Pair
        Original and a row-paired release (``row_paired=True``).
    columns : list of str or str, optional
        Columns to compare; default: all shared ones.

    Returns
    -------
    Result
        ``value``: mean distance, 0 (nothing was changed) to 1. ``details`` has the mean of each column and
        ``unchanged``, the share of records that were not changed at all. ``records``: the distance of each record
        (``gower``).

    Notes
    -----
    Per column |x - y| / pooled range (numbers) or 0/1 (categories), averaged over the columns in which at least one
    of the two rows has a value; a value against a missing one counts 1. The mean is weighted where there are weights.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "f"]})
    >>> released = pl.DataFrame({"age": [20, 40, 40], "sex": ["f", "m", "m"]})
    >>> found = gh.utility.gower_paired(original, released, row_paired=True)
    >>> found.value, found.records["gower"].to_list()
    (0.25, [0.0, 0.25, 0.5])
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.columns, "shared", notes=notes, valued="one")
    total, known = np.zeros(pair.n("original")), np.zeros(pair.n("original"))
    by_column: dict[str, float | None] = {}
    for name in names:
        codes = pair.codes(name)
        a, b = codes.of("original"), codes.of("released")
        if pair.is_numeric(name):
            x, y = pair.values(name, "original"), pair.values(name, "released")
            both = np.concatenate([x, y])
            width = float(np.nanmax(both) - np.nanmin(both)) if np.isfinite(both).any() else 0.0
            gap = np.abs(x - y) / width if width > 0 else (x != y).astype(float)
            gap = np.where((a < 0) != (b < 0), 1.0, np.minimum(gap, 1.0))
        else:
            gap = (a != b).astype(float)
        counts = (a >= 0) | (b >= 0)
        total += np.where(counts, gap, 0.0)
        known += counts
        by_column[name] = float(gap[counts].mean()) if counts.any() else None
    distance = np.divide(total, known, out=np.zeros_like(total), where=known > 0)
    weights = pair.weight_values("original")
    value = float(np.average(distance, weights=weights))
    return Result(
        value,
        details={
            **by_column,
            "gower_row_paired": value,
            "utility": 1 - value,
            "unchanged": float((distance == 0).mean()),
            "copy_alarm": value == 0.0,
        },
        utility=1 - value,
        null=Null(None, None, None, "records that were not moved at all", copied=value == 0.0),
        sentence=f"Records were moved by a Gower distance of {small(value)} on average; "
        f"{100 * float((distance == 0).mean()):.1f} % were not changed at all.",
        warnings=notes,
        records=lambda: {"gower": distance},
        flag="gower",
    )
