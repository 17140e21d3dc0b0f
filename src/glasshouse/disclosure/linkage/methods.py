"""How alike are a person's keys and a released record? One function per linkage method, all giving scores of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.pair import Pair
from glasshouse.engines.canonical import canonical
from glasshouse.engines.pairs.scores import RULES, Euclidean, Mixed, Scores, Transition

SIDES = ("original", "released")


class TransitionMatrix(TypedDict):
    """A PRAM mechanism of one column as a user gives it: row = level before, column = level after."""

    levels: Sequence[object]
    matrix: npt.ArrayLike


Transitions: TypeAlias = Mapping[str, TransitionMatrix]


@dataclass
class Scored:
    """Scores of (original, released) pairs, and what a report should say about them."""

    scores: Scores
    details: dict[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MethodOptions:
    """Options of single methods; ``record_linkage`` explains each."""

    estimate: str
    m: Mapping[str, float] | None
    u: Mapping[str, float] | None
    tolerance: Mapping[str, float] | None
    pram: Transitions | None
    trees: int
    robust: bool
    epochs: int


@dataclass(frozen=True)
class Request:
    """What a method may use: the tables, the columns compared, the true matches, and the options."""

    pair: Pair
    columns: tuple[str, ...]
    missing: str
    weights: Mapping[str, float] | None
    true: np.ndarray
    random_state: RandomState
    n_jobs: int | None
    options: MethodOptions

    @property
    def numeric(self) -> tuple[str, ...]:
        """Columns compared by difference: numbers, dates, and categories with a declared order."""
        return tuple(c for c in self.columns if self.pair.is_numeric(c) or self.pair.schema[c].kind == "ordinal")

    @property
    def nominal(self) -> tuple[str, ...]:
        """Columns compared by equality."""
        return tuple(c for c in self.columns if c not in self.numeric)

    @property
    def filled(self) -> tuple[str, ...]:
        """Columns with some value in the release; a model learns nothing from the others."""
        some = tuple(c for c in self.columns if (self.pair.codes(c).of("released") >= 0).any())
        if not some:
            raise NotApplicable("every column compared is empty in the release; there is nothing to learn from")
        return some

    def numbers(self, table: str) -> np.ndarray:
        """Numeric columns as floats, NaN missing; ordered categories as positions in the joint order."""
        parts = []
        for name in self.numeric:
            if self.pair.is_numeric(name):
                values = np.where(self.pair.special_mask(name, table), np.nan, self.pair.values(name, table))
            else:
                codes = self.pair.codes(name).of(table)
                values = np.where(codes < 0, np.nan, codes.astype(float))
            parts.append(values)
        return np.column_stack(parts) if parts else np.empty((self.pair.n(table), 0))

    def codes(self, table: str) -> np.ndarray:
        """Nominal columns as codes, negative missing."""
        parts = [self.pair.codes(name).of(table) for name in self.nominal]
        return np.column_stack(parts).astype(np.int32) if parts else np.empty((self.pair.n(table), 0), np.int32)

    def column_weights(self) -> np.ndarray:
        """Weights in the order numeric, nominal."""
        given = dict(self.weights or {})
        unknown = [c for c in given if c not in self.columns]
        if unknown:
            raise InputError(f"weights name {listed(unknown)}, which are not among the columns compared")
        weights = np.array([float(given.get(c, 1.0)) for c in (*self.numeric, *self.nominal)])
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
            raise InputError("weights must be finite, not negative, and not all zero")
        return weights

    @property
    def rule(self) -> int:
        """The rule for missing values as the kernels number it."""
        return RULES.index(self.missing)


def ranges(sides: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Range of each column over both sides.

    Parameters
    ----------
    sides : tuple of ndarray
        Numbers of originals and of released records, NaN missing.

    Returns
    -------
    ndarray
        1 for a constant or empty column.

    Examples
    --------
    >>> ranges((np.array([[1.0, 5.0]]), np.array([[4.0, 5.0]]))).tolist()
    [3.0, 1.0]
    """
    both = np.concatenate(sides)
    out = np.ones(both.shape[1])
    for v in range(both.shape[1]):
        present = both[~np.isnan(both[:, v]), v]
        if len(present) and present.max() > present.min():
            out[v] = present.max() - present.min()
    return out


def _mixed(ask: Request, numbers: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> Mixed:
    codes = ask.codes("original"), ask.codes("released")
    return Mixed(numbers, codes, weights, ask.rule, ask.n_jobs)


def deterministic(ask: Request) -> Scored:
    """Gower's distance: range-scaled differences of numbers, 0/1 for categories, weighted mean.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    numbers = ask.numbers("original"), ask.numbers("released")
    scale = ranges(numbers)
    return Scored(_mixed(ask, (numbers[0] / scale, numbers[1] / scale), ask.column_weights()))


def ranks(ask: Request) -> Scored:
    """Average rank / n inside each table in place of the value: order survives any monotone masking.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    from scipy.stats import rankdata

    def ranked(table: str) -> np.ndarray:
        values = ask.numbers(table)
        return np.asarray(rankdata(values, axis=0, nan_policy="omit") / np.maximum((~np.isnan(values)).sum(axis=0), 1))

    if not ask.numeric:
        raise NotApplicable("linkage by ranks needs a numeric or ordered column among the keys")
    return Scored(_mixed(ask, (ranked("original"), ranked("released")), ask.column_weights()))


def mahalanobis(ask: Request) -> Scored:
    """Mahalanobis distance of the numbers under the originals' covariance, joined with unequal categories.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored

    Notes
    -----
    md / sqrt(2 chi2_{0.975, p}): the difference of two draws has twice the covariance. ``robust=True`` takes the
    minimum covariance determinant, and falls back to the classical covariance where that is singular.
    """
    from scipy.stats import chi2

    if not ask.numeric:
        raise NotApplicable("Mahalanobis linkage needs a numeric or ordered column among the keys")
    numbers = ask.numbers("original"), ask.numbers("released")
    complete = numbers[0][~np.isnan(numbers[0]).any(axis=1)]
    if len(complete) <= len(ask.numeric):
        raise NotApplicable("Mahalanobis linkage needs more originals with complete numbers than numeric keys")
    covariance, warnings = _covariance(complete, ask.options.robust, ask.random_state)
    cache: dict[bytes, tuple[np.ndarray, float]] = {}

    def whiten(present: np.ndarray) -> tuple[np.ndarray, float]:
        key = present.tobytes()
        if key not in cache:
            part = covariance[np.ix_(present, present)]
            # a factor W with W W' = pseudo-inverse: constant columns drop out instead of breaking the inverse
            values, vectors = np.linalg.eigh(part)
            keep = values > 1e-12 * max(values.max(), 1e-300)
            factor = vectors[:, keep] / np.sqrt(values[keep])
            cache[key] = factor, float(np.sqrt(2 * chi2.ppf(0.975, max(int(keep.sum()), 1))))
        return cache[key]

    empty = np.empty((ask.pair.n("original"), 0)), np.empty((ask.pair.n("released"), 0))
    share = len(ask.numeric) / len(ask.columns)
    codes = _mixed(ask, empty, np.ones(len(ask.nominal))) if ask.nominal else None
    return Scored(Euclidean(numbers, codes, share, whiten), {"robust": ask.options.robust}, warnings)


def _covariance(values: np.ndarray, robust: bool, random_state: RandomState) -> tuple[np.ndarray, list[str]]:
    classical = np.atleast_2d(np.cov(values, rowvar=False))
    if not robust:
        return classical, []
    import warnings

    from sklearn.covariance import MinCovDet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = MinCovDet(random_state=integer_seed(random_state, "linkage", "mcd")).fit(values).covariance_
        except ValueError:
            found = np.zeros_like(classical)
    if np.linalg.matrix_rank(found) < len(found):
        return classical, [
            "the robust covariance is singular (more than half of the records share one value in some direction); the "
            "classical covariance is used"
        ]
    return np.asarray(found), []


def pram(ask: Request) -> Scored:
    """Likelihood of a known transition mechanism: L(i, j) = prod_v M_v[x_iv, y_jv] over nominal keys.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    if ask.numeric:
        raise NotApplicable(
            f"PRAM linkage needs nominal keys, and {listed(ask.numeric)} are numeric or ordered; name nominal columns="
        )
    given = ask.options.pram
    codes = ask.codes("original"), ask.codes("released")
    # missing values move to one more level of their own
    sizes = [ask.pair.codes(c).n_levels for c in ask.nominal]
    full = tuple(np.where(side < 0, np.array(sizes, np.int32), side).astype(np.int32) for side in codes)
    logs = []
    for v, name in enumerate(ask.nominal):
        size = sizes[v] + 1
        if given is None:
            matrix = _counted_transition(full[0][:, v], full[1][:, v], ask.true, size)
        else:
            matrix = _given_transition(name, given, ask.pair.codes(name).levels)
        with np.errstate(divide="ignore"):
            logs.append(np.maximum(np.log(matrix), -700.0 / len(ask.nominal)))
    source = (
        "given" if given is not None else "counted from the true pairs (the attacker is taken to know the mechanism)"
    )
    return Scored(Transition((full[0], full[1]), tuple(logs)), {"transition": source})


def _counted_transition(mine: np.ndarray, theirs: np.ndarray, true: np.ndarray, size: int) -> np.ndarray:
    known = np.flatnonzero(true >= 0)
    counts = (
        np.bincount(mine[known] * size + theirs[true[known]], minlength=size * size).reshape(size, size).astype(float)
    )
    totals = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, counts / np.maximum(totals, 1), 1.0 / size))


def _given_transition(name: str, given: Transitions, levels: Sequence[object]) -> np.ndarray:
    """A user's matrix on the joint levels; levels it does not name have probability 0, missing values stay missing."""
    if name not in given:
        raise InputError(f"pram= has no transition matrix for column {name!r}")
    entry = given[name]
    if not isinstance(entry, Mapping) or "levels" not in entry or "matrix" not in entry:
        raise InputError(f"pram[{name!r}] must be {{'levels': [...], 'matrix': [[...], ...]}}, rows from, columns to")
    matrix = np.asarray(entry["matrix"], float)
    labels = [str(v) for v in entry["levels"]]
    if matrix.shape != (len(labels), len(labels)) or not (matrix >= 0).all():
        raise InputError(f"pram[{name!r}]: the matrix must be square, one row per level, without negative entries")
    if np.abs(matrix.sum(axis=1) - 1).max() > 1e-3:
        raise InputError(f"pram[{name!r}]: every row of the transition matrix must sum to 1")
    where = {label: i for i, label in enumerate(labels)}
    full = np.zeros((len(levels) + 1, len(levels) + 1))
    full[-1, -1] = 1.0
    at = np.array([where.get(str(label), -1) for label in levels])
    known = np.flatnonzero(at >= 0)
    full[np.ix_(known, known)] = matrix[np.ix_(at[known], at[known])]
    return full


def predictive(ask: Request) -> Scored:
    """|e(x) - e(y)| with e the estimated probability of being an original (logistic regression on the stacked tables).

    A diagnostic, not an attack to rely on: for a good release e is nearly constant and everything ties.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.model import fit

    mine, theirs = (design(ask.pair, ask.filled, t, numeric_key_na="median+flag") for t in SIDES)
    labels = np.concatenate([np.ones(mine.n, int), np.zeros(theirs.n, int)])
    model = fit("logit", mine.stack(theirs), labels, n_classes=2)
    sides = tuple(model.probabilities(table)[:, 1:2] for table in (mine, theirs))
    none = np.empty((mine.n, 0), np.int32), np.empty((theirs.n, 0), np.int32)
    warning = "linkage by a propensity score measures distortion rather than identity; do not use it as a headline"
    return Scored(Mixed((sides[0], sides[1]), none, np.ones(1), ask.rule, ask.n_jobs), warnings=[warning])


def forest(ask: Request) -> Scored:
    """1 - share of common leaves in a forest that tells originals from originals with their columns shuffled.

    Such a forest learns how the keys hang together without looking at the release, so visible masking does not push
    true pairs apart as it does in a forest trained on original against release.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.model import fit

    trees = ask.options.trees
    if trees < 10:
        raise InputError("trees must be at least 10")
    mine, theirs = (design(ask.pair, ask.filled, t, numeric_key_na="median+flag") for t in SIDES)
    rng = generator(ask.random_state, "linkage", "forest", "shuffle")
    people = mine.take(canonical(ask.pair, ask.filled).order("original"))
    shuffled = np.column_stack([rng.permutation(people.codes[:, j]) for j in range(people.codes.shape[1])])
    both = people.stack(replace(people, codes=np.ascontiguousarray(shuffled.astype(np.int32))))
    labels = np.repeat([1, 0], mine.n)
    seed = integer_seed(ask.random_state, "linkage", "forest")
    model = fit("rf", both, labels, n_classes=2, random_state=seed, n_jobs=ask.n_jobs, trees=trees)
    leaves = tuple(np.ascontiguousarray(model.leaves(table).T.astype(np.int32)) for table in (mine, theirs))
    none = np.empty((mine.n, 0)), np.empty((theirs.n, 0))
    return Scored(
        Mixed(none, (leaves[0], leaves[1]), np.ones(leaves[0].shape[1]), ask.rule, ask.n_jobs), {"trees": trees}
    )
