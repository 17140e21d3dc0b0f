"""RAPID's formulas on plain arrays: how sure the attacker is of the truth, and how sure luck alone would be.

Categorical target, g = predicted probability of the record's true class, b = share of that class (Templ, Thees & Müller
2026):

    marginal      r = (g - b) / (1 - b)            flagged when r > tau
    conditional   r = g / mean(g | same class)     flagged when r > tau
    nce           r = 1 + log(g) / log(K)          flagged when r > tau

Continuous target, f = prediction: the errors below, flagged when e < epsilon. Both inequalities are strict.

Chance level. Keep the predictions, relabel the people at random. With A_ij = 1(record i would be flagged if its true
value were y_j), the mean of A is the expected share of flags, and the variance is that of a combinatorial sum
(Hoeffding 1951):

    sd = sqrt( sum_ij d_ij^2 / (n - 1) ),   d = A_ij v_j centred by rows and columns,   v_j = w_j / sum(w)

No Monte Carlo, no n-by-n matrix: A depends on y_j only through its class, or, for numbers, is 1 on at most three runs
of the sorted y.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray
Score = Literal["marginal", "conditional", "nce"]
ErrorMetric = Literal["symmetric", "stabilised_relative", "absolute"]
Moments = tuple[float, float]

USUAL_TAU: dict[str, float] = {"marginal": 0.3, "conditional": 1.25, "nce": 0.5}
SMALLEST_PROBABILITY = 1e-10

# -- shares and means, with or without weights -----


def share(flags: Array, weights: Array | None = None) -> float:
    """Share of flagged records, weighted if asked."""
    return float(np.mean(flags)) if weights is None else float(np.dot(weights, flags) / weights.sum())


def class_shares(y: Array, n_classes: int, weights: Array | None = None) -> Array:
    """Share of every class among the scored records."""
    counts = np.bincount(y, weights=weights, minlength=n_classes).astype(float)
    shares: Array = counts / counts.sum()
    return shares


def class_means(values: Array, y: Array, n_classes: int, weights: Array | None = None) -> Array:
    """Mean of ``values`` inside each class; 0 for a class without records."""
    w = np.ones(len(y)) if weights is None else weights
    sizes = np.bincount(y, weights=w, minlength=n_classes)
    sums = np.bincount(y, weights=w * values, minlength=n_classes)
    means: Array = np.divide(sums, sizes, out=np.zeros(n_classes), where=sizes > 0)
    return means


def effective_n(weights: Array | None, n: int) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2."""
    return float(n) if weights is None else float(weights.sum() ** 2 / np.square(weights).sum())


# -- categorical target -----


def normalised_gain(g: Array, b: Array) -> Array:
    """(g - b) / (1 - b): the share of the missing certainty that the attacker has gained; 0 where one class is all
    there is."""
    g, b = np.broadcast_arrays(np.asarray(g, float), np.asarray(b, float))
    gain: Array = np.divide(g - b, 1 - b, out=np.zeros(g.shape), where=b < 1)
    return gain


def relative_score(g: Array, b: Array) -> Array:
    """g / b; 0 where the class never gets any probability."""
    g, b = np.broadcast_arrays(np.asarray(g, float), np.asarray(b, float))
    ratio: Array = np.divide(g, b, out=np.zeros(g.shape), where=b > 0)
    return ratio


def entropy_score(g: Array, n_classes: int) -> Array:
    """1 + log(g) / log(K): 1 for certainty, 0 for a uniform guess; 0 when there is only one class to predict."""
    if n_classes < 2:
        return np.zeros(np.shape(g))
    score: Array = 1 + np.log(np.maximum(g, SMALLEST_PROBABILITY)) / np.log(n_classes)
    return score


def score_true_class(
    probabilities: Array, y: Array, score: Score, shares: Array, n_columns: int, weights: Array | None = None
) -> tuple[Array, Array, Array]:
    """(g, baseline, score) of every record. ``n_columns`` is the number of classes the attacker can name."""
    g = probabilities[np.arange(len(y)), y]
    if score == "marginal":
        b = shares[y]
        return g, b, normalised_gain(g, b)
    if score == "conditional":
        b = class_means(g, y, probabilities.shape[1], weights)[y]
        return g, b, relative_score(g, b)
    return g, np.full(len(y), np.nan), entropy_score(g, n_columns)


def score_every_class(probabilities: Array, score: Score, shares: Array, n_columns: int) -> Array:
    """[n, K]: the score each record would have if its true class were k.

    The conditional baseline of a random relabelling is, up to sampling noise, the mean probability of class k over all
    records.
    """
    if score == "marginal":
        return normalised_gain(probabilities, shares[None, :])
    if score == "conditional":
        return relative_score(probabilities, probabilities.mean(axis=0)[None, :])
    return entropy_score(probabilities, n_columns)


def chance_for_classes(flagged: Array, y: Array, weights: Array | None = None) -> Moments:
    """Exact mean and sd of the share of flags over all relabellings; ``flagged`` [n, K] = would be flagged with class
    k."""
    n, n_classes = flagged.shape
    v = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    mass = np.bincount(y, weights=v, minlength=n_classes)
    squares = np.bincount(y, weights=v * v, minlength=n_classes)
    column_share = flagged.mean(axis=0)
    # without weights the mean is a ratio of two whole numbers: exact, so that no excess is made of rounding
    mean = float(mass @ column_share)
    if weights is None:
        mean = int(np.bincount(y, minlength=n_classes) @ flagged.sum(axis=0)) / n**2
    row_sums = flagged @ mass
    return min(mean, 1.0), _combinatorial_sd(
        n,
        total_squares=float(n * squares @ column_share),
        row_squares=float(row_sums @ row_sums),
        column_squares=float(n * n * (squares @ column_share**2)),
        grand_sum=n * mean,
    )


def _combinatorial_sd(
    n: int, total_squares: float, row_squares: float, column_squares: float, grand_sum: float
) -> float:
    """Sd of sum_i c_{i, pi(i)} over random permutations pi, from the sums of squares of c, of its row and its column
    sums."""
    if n < 2:
        return 0.0
    centred = total_squares - row_squares / n - column_squares / n + grand_sum**2 / n**2
    rounding = 1e-12 * max(total_squares, 1e-300)
    return float(np.sqrt(max(centred, 0.0) / (n - 1))) if centred > rounding else 0.0


# -- continuous target -----


def prediction_error(y: Array, predicted: Array, metric: ErrorMetric, delta: float) -> Array:
    """symmetric 2|y-f| / (|y|+|f|+2 delta); stabilised_relative |y-f| / (|y|+delta); absolute |y-f|."""
    distance = np.abs(y - predicted)
    if metric == "symmetric":
        error: Array = 2 * distance / (np.abs(y) + np.abs(predicted) + 2 * delta)
    elif metric == "stabilised_relative":
        error = distance / (np.abs(y) + delta)
    else:
        error = distance
    return error


def automatic_delta(y: Array) -> float:
    """0.01 * median(|y|, y != 0): a stabiliser on the scale of the target."""
    nonzero = np.abs(y[y != 0])
    return 0.01 * float(np.median(nonzero)) if len(nonzero) else 0.01


def close_runs(
    sorted_y: Array, predicted: Array, metric: ErrorMetric, delta: float, epsilon: float
) -> list[tuple[Array, Array]]:
    """For each prediction, the runs [start, stop) of the sorted true values that lie within ``epsilon`` of it.

    Between -inf, 0 and the prediction every error metric is monotone in y, so each of the three stretches holds at most
    one run, at one of its ends; bisection finds where it stops, by the very comparison that sets the flags.
    """
    n = len(sorted_y)
    low = np.searchsorted(sorted_y, np.minimum(predicted, 0.0))
    high = np.searchsorted(sorted_y, np.maximum(predicted, 0.0))
    runs = []
    for start, stop in ((np.zeros_like(low), low), (low, high), (high, np.full_like(high, n))):

        def close(at: Array) -> Array:
            return np.asarray(prediction_error(sorted_y[np.clip(at, 0, n - 1)], predicted, metric, delta) < epsilon)

        filled = stop > start
        first = close(start) & filled
        last = close(stop - 1) & filled
        # ``before`` .. ``after`` brackets the end of the run: the first position that differs from the run's end
        before, after = start.copy(), np.where(filled, stop - 1, start)
        while np.any(after - before > 1):
            middle = (before + after) // 2
            same_as_first = close(middle) == first
            before = np.where(same_as_first, middle, before)
            after = np.where(same_as_first, after, middle)
        run_start = np.where(first, start, np.where(last, after, stop))
        run_stop = np.where(first & ~last, np.where(filled, before + 1, stop), stop)
        runs.append((run_start, np.maximum(run_stop, run_start)))
    return runs


def chance_for_numbers(
    y: Array, predicted: Array, metric: ErrorMetric, delta: float, epsilon: float, weights: Array | None = None
) -> Moments:
    """Exact mean and sd of the share of flags over all relabellings of a continuous target, in O(n log n)."""
    n = len(y)
    order = np.argsort(y, kind="stable")
    v = (np.full(n, 1 / n) if weights is None else weights / weights.sum())[order]
    mass, squares = _running(v), _running(v * v)
    row_sums, total_squares, cover, pairs = np.zeros(n), 0.0, np.zeros(n + 1), 0
    for start, stop in close_runs(y[order], predicted, metric, delta, epsilon):
        row_sums += mass[stop] - mass[start]
        total_squares += float((squares[stop] - squares[start]).sum())
        pairs += int((stop - start).sum())
        cover += np.bincount(start, minlength=n + 1) - np.bincount(stop, minlength=n + 1)
    column_sums = v * np.cumsum(cover)[:n]
    grand_sum = float(row_sums.sum())
    mean = pairs / n**2 if weights is None else min(grand_sum / n, 1.0)
    return mean, _combinatorial_sd(
        n, total_squares, float(row_sums @ row_sums), float(column_sums @ column_sums), grand_sum
    )


def best_constant(
    y: Array, metric: ErrorMetric, delta: float, epsilon: float, weights: Array | None = None
) -> tuple[float, float]:
    """(c, coverage): the one number that is within ``epsilon`` of the most people, the attack that needs no release at
    all."""
    low, high = _accepting_interval(y, metric, delta, epsilon)
    w = np.full(len(y), 1 / len(y)) if weights is None else weights / weights.sum()
    ends = np.concatenate([low, high])
    change = np.concatenate([w, -w])
    order = np.lexsort((np.concatenate([np.ones(len(y)), np.zeros(len(y))]), ends))
    ends = ends[order]
    inside = np.cumsum(change[order])[:-1]
    room = np.diff(ends) > 1e-9 * max(
        1e-300, float(np.abs(ends).max())
    )  # ends that differ by rounding only leave no room
    best = int(np.argmax(np.where(room, inside, -1.0)))
    c = (ends[best] + ends[best + 1]) / 2
    return float(c), share(prediction_error(y, np.full(len(y), c), metric, delta) < epsilon, weights)


def _accepting_interval(y: Array, metric: ErrorMetric, delta: float, epsilon: float) -> tuple[Array, Array]:
    """The open interval of guesses that come within epsilon of y."""
    if metric != "symmetric":
        reach = epsilon * (np.abs(y) + delta) if metric == "stabilised_relative" else np.full(len(y), float(epsilon))
        return y - reach, y + reach
    size = np.abs(y)
    if epsilon >= 2:  # the symmetric error never reaches 2: every guess will do
        return np.full(len(y), -1.0), np.full(len(y), 1.0)
    away = (size * (2 + epsilon) + 2 * delta * epsilon) / (2 - epsilon)
    towards = (size * (2 - epsilon) - 2 * delta * epsilon) / (2 + epsilon)
    towards = np.where(towards < 0, size - 2 * delta * epsilon / (2 - epsilon), towards)
    return np.where(y >= 0, towards, -away), np.where(y >= 0, away, -towards)


def _running(values: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(values)])
