"""From scores of pairs to the chance of being found: each query on its own, one-to-one assignment, or transport."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.streams import RandomState, generator
from glasshouse.engines.pairs.scores import Scores, blocks, dense

Nudge: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]  # small changes of scores, by row and column
Solve: TypeAlias = Callable[[Nudge], tuple[np.ndarray, float]]  # the partner of every query, and the total score
CANDIDATES = ("nearest", "threshold", "topk", "topk_threshold", "nearest_threshold", "all")
WEIGHTINGS = ("uniform", "softmax", "kernel", "posterior")
KERNELS = {"gaussian": 2, "epanechnikov": 3, "tricube": 4}
# Pairs held at once by assignment and transport: 4 million doubles are 32 MB. Beyond, assignment goes sparse.
DENSE = 4_000_000
TOL = 1e-9
NEIGHBOURS = 50


@dataclass(frozen=True)
class Choice:
    """How candidate sets are formed and weighed; ``record_linkage`` explains each field."""

    candidates: str = "nearest"
    k: int = 5
    threshold: float | tuple[str, float] | None = None
    weighting: str = "uniform"
    kappa: float | None = None
    bandwidth: float | None = None
    kernel: str = "gaussian"

    @property
    def limit(self) -> float | tuple[str, float] | None:
        """The score up to which records are candidates; None for a choice that has none."""
        return self.threshold if "threshold" in self.candidates else None

    def check(self) -> None:
        """Raise where the choice is none."""
        for name, value, known in (
            ("candidates", self.candidates, CANDIDATES),
            ("weighting", self.weighting, WEIGHTINGS),
            ("kernel", self.kernel, tuple(KERNELS)),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {listed(known)}, not {value!r}")
        if self.k < 1:
            raise InputError("k must be at least 1")
        if "threshold" in self.candidates and self.threshold is None:
            raise InputError(
                f"candidates={self.candidates!r} needs threshold=: a score, or ('quantile', p) of each row's own scores"
            )
        if isinstance(self.threshold, tuple) and (len(self.threshold) != 2 or self.threshold[0] != "quantile"):
            raise InputError("threshold must be a number or ('quantile', p)")
        if any(v is not None and v <= 0 for v in (self.kappa, self.bandwidth)):
            raise InputError("kappa and bandwidth must be positive")


class Linked(NamedTuple):
    """All queries linked at once: the risk of each, figures of the solution, and a warning about how it was found."""

    risk: np.ndarray
    figures: dict[str, float]
    note: str | None = None


@dataclass
class Outcome:
    """Per query: risk, size of the candidate set, score of the true match, best score, rank of the true match, mean
    and variance of its scores; and figures of all of them together."""

    risk: np.ndarray
    size: np.ndarray
    true_score: np.ndarray
    best: np.ndarray
    rank: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    details: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @staticmethod
    def empty(n: int) -> Outcome:
        """Nobody found yet."""
        gone = np.full(n, np.nan)
        return Outcome(
            np.zeros(n), np.zeros(n, np.int64), gone.copy(), gone.copy(), gone.copy(), gone.copy(), gone.copy()
        )

    def put(self, rows: np.ndarray, part: Outcome) -> None:
        """Write the figures of some queries."""
        for name in ("risk", "size", "true_score", "best", "rank", "mean", "variance"):
            getattr(self, name)[rows] = getattr(part, name)


def independent(scores: Scores, true: np.ndarray, choice: Choice) -> Outcome:
    """Each query links to its candidates; risk = weight of the true match among them, 0 when it is not there.

    Parameters
    ----------
    scores : Scores
        Scores of all pairs, smaller meaning more alike.
    true : ndarray
        The true match of every query, -1 for none.
    choice : Choice
        How candidates are chosen and weighed.

    Returns
    -------
    Outcome
    """
    from glasshouse.engines.pairs.kernel import row_figures, true_weights

    out = Outcome.empty(len(true))
    shape, kappa, width = 0, choice.kappa or 0.0, choice.bandwidth or 0.0
    if choice.weighting == "softmax":
        shape, kappa = 1, kappa or (1.0 if scores.likelihood else 0.0)
    elif choice.weighting == "kernel":
        shape = KERNELS[choice.kernel]
    elif choice.weighting == "posterior":
        shape, kappa = 1, kappa or 1.0
    for rows, block in blocks(scores):
        mine = np.ascontiguousarray(true[rows])
        figures = row_figures(block, mine, choice.k if choice.candidates.startswith("topk") else 1)
        radius = _radius(block, figures, choice, scores.likelihood)
        size, risk = true_weights(block, radius, mine, shape, kappa, width, scores.likelihood)
        part = Outcome(
            risk,
            size,
            figures[:, 2],
            figures[:, 0],
            figures[:, 3] + (figures[:, 4] + 1) / 2,
            figures[:, 5],
            figures[:, 6],
        )
        out.put(rows, part)
    return out


def _radius(block: np.ndarray, figures: np.ndarray, choice: Choice, likelihood: bool) -> np.ndarray:
    """Every strategy keeps the scores up to some radius; minus infinity is an empty set."""
    best, kth = figures[:, 0], figures[:, 1]
    if choice.candidates == "all" or choice.weighting == "posterior":
        return np.full(len(best), np.inf)
    if choice.limit is not None:
        if isinstance(choice.limit, tuple):
            limit = np.quantile(block, choice.limit[1], axis=1)
        else:
            limit = np.full(len(best), -choice.limit if likelihood else choice.limit)
        if choice.candidates == "threshold":
            return np.asarray(limit)
        if choice.candidates == "topk_threshold":
            return np.minimum(limit, kth)
        return np.where(best <= limit + TOL, best, -np.inf)
    return kth if choice.candidates == "topk" else best


def bijective(scores: Scores, true: np.ndarray, random_state: RandomState, draws: int = 10) -> Linked:
    """One-to-one assignment of least total score; the risk is the share of optimal assignments that find the true
    match.

    Parameters
    ----------
    scores : Scores
        Scores of all pairs, smaller meaning more alike.
    true : ndarray
        The true match of every query, -1 for none.
    random_state : int, Generator or None
        Seed of the draws.
    draws : int, default 10
        Optimal assignments drawn.

    Returns
    -------
    Linked

    Notes
    -----
    The optimum is rarely unique. Total score and any one solution say little about the risk, so the least and the most
    correct matches over optimal solutions are reported (true pairs made dearer or cheaper by 1e-9), and the risk of a
    record is its mean over ``draws`` optima picked by random noise of 1e-9.
    """
    n, m = scores.shape
    solve, note = (_dense_solver(scores), None) if n * m <= DENSE else _sparse_solver(scores, true)
    known = np.flatnonzero(true >= 0)

    def correct(nudge: Nudge) -> tuple[np.ndarray, float]:
        assigned, cost = solve(nudge)
        hit = np.zeros(n, bool)
        hit[known] = assigned[known] == true[known]
        return hit, cost

    def on_true(step: float) -> Nudge:
        return lambda rows, columns: np.where(true[rows] == columns, step, 0.0)

    plain, cost = correct(lambda rows, columns: np.zeros(np.broadcast(rows, columns).shape))
    rng = generator(random_state, "linkage", "ties")
    drawn = [
        correct(lambda rows, columns: rng.random(np.broadcast(rows, columns).shape) * TOL)[0]
        for _ in range(draws if n * m <= DENSE else min(draws, 3))
    ]
    figures = {
        "optimal_cost": cost,
        "correct_any": int(plain.sum()),
        "correct_max_over_optima": int(correct(on_true(-TOL))[0].sum()),
        "correct_min_over_optima": int(correct(on_true(TOL))[0].sum()),
    }
    return Linked(np.mean(drawn, axis=0), figures, note)


def _dense_solver(scores: Scores) -> Solve:
    from scipy.optimize import linear_sum_assignment

    cost = dense(scores)
    n, m = cost.shape

    def solve(nudge: Nudge) -> tuple[np.ndarray, float]:
        rows, columns = linear_sum_assignment(cost + nudge(np.arange(n)[:, None], np.arange(m)[None, :]))
        assigned = np.full(n, -1)
        assigned[rows] = columns
        return assigned, float(cost[rows, columns].sum())

    return solve


def _sparse_solver(scores: Scores, true: np.ndarray) -> tuple[Solve, str]:
    """Assignment among true pairs and each record's ``NEIGHBOURS`` best partners, both ways; a query left without one
    stays unassigned.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n, m = scores.shape
    forward, backward = _best_partners(scores, NEIGHBOURS, true), _best_partners(scores.swap(), NEIGHBOURS)
    known = np.flatnonzero(true >= 0)
    rows = np.concatenate([np.repeat(np.arange(n), forward[0].shape[1]), backward[0].reshape(-1), known])
    columns = np.concatenate([forward[0].reshape(-1), np.repeat(np.arange(m), backward[0].shape[1]), true[known]])
    cost = np.concatenate([forward[1].reshape(-1), backward[1].reshape(-1), forward[2][known]])
    _, keep = np.unique(rows * np.int64(m) + columns, return_index=True)
    rows, columns, cost = rows[keep], columns[keep], cost[keep]
    lowest = cost.min()
    # a private last resort for every query keeps the problem solvable; it costs more than any real partner could save
    dear = (cost.max() - lowest + 1.0) * 1e3

    def solve(nudge: Nudge) -> tuple[np.ndarray, float]:
        weights = np.concatenate([cost - lowest + 1.0 + nudge(rows, columns), np.full(n, dear)])
        graph = csr_array(
            (weights, (np.concatenate([rows, np.arange(n)]), np.concatenate([columns, m + np.arange(n)]))), (n, m + n)
        )
        mine, theirs = min_weight_full_bipartite_matching(graph)
        assigned = np.full(n, -1)
        real = theirs < m
        assigned[mine[real]] = theirs[real]
        price = csr_array((cost - lowest + 1.0, (rows, columns)), (n, m))
        total = float(price[mine[real], theirs[real]].sum()) + (lowest - 1.0) * int(real.sum())
        return assigned, total

    return solve, (
        f"more than {DENSE:,} pairs are too many for a full cost matrix: the assignment is over true pairs and each "
        f"record's {NEIGHBOURS} best partners in both directions"
    )


def _best_partners(scores: Scores, k: int, true: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best partners of every query and their scores, and the scores of the true pairs where asked."""
    k = min(k, scores.shape[1])
    found, values, own = [], [], []
    for rows, block in blocks(scores):
        at = np.argpartition(block, k - 1, axis=1)[:, :k]
        found.append(at)
        values.append(np.take_along_axis(block, at, axis=1))
        if true is not None:
            own.append(block[np.arange(len(rows)), np.maximum(true[rows], 0)])
    return np.concatenate(found), np.concatenate(values), np.concatenate(own) if own else np.empty(0)


EARLY = 100  # where riskutility stops iterating, kept for comparison


def transport(
    scores: Scores, true: np.ndarray, epsilon: float | None, iterations: int = 3000, tolerance: float = 1e-12
) -> Linked:
    """Entropy-regularised transport with uniform margins: risk_i = n P[i, true], capped at 1.

    Parameters
    ----------
    scores : Scores
        Scores of all pairs, smaller meaning more alike.
    true : ndarray
        The true match of every query, -1 for none.
    epsilon : float or None
        Weight of the entropy; None takes 0.05 times the median of the positive scores.
    iterations : int, default 3000
        Iterations at most.
    tolerance : float, default 1e-12
        Largest violation of a margin that ends them.

    Returns
    -------
    Linked

    Notes
    -----
    Minimises <P, C> + epsilon sum P ln P (Cuturi 2013). The risk is mainly a function of epsilon: large spreads
    everybody over everybody, small approaches an assignment. The figure after 100 iterations is a sum of risks here;
    the caller divides by all queries, whatever the blocks.
    """
    n, m = scores.shape
    if n * m > DENSE:
        raise NotApplicable(
            f"transport needs the whole {n:,} by {m:,} score matrix, more than the limit of {DENSE:,} pairs; use "
            "block= to split the records, or matching='bijective'"
        )
    cost = dense(scores)
    if epsilon is None:
        positive = cost[cost > 0]
        epsilon = 0.05 * float(np.median(positive)) if len(positive) else 0.1
    if epsilon <= 0:
        raise InputError("epsilon must be positive")
    plan, used, error = sinkhorn(cost, epsilon, iterations, tolerance)
    early, _, early_error = sinkhorn(cost, epsilon, min(EARLY, iterations), tolerance)
    known = np.flatnonzero(true >= 0)

    def risks(of: np.ndarray) -> np.ndarray:
        found = np.zeros(n)
        found[known] = np.minimum(of[known, true[known]] * n, 1.0)
        return found

    figures = {
        "epsilon": epsilon,
        "iterations": used,
        "marginal_error": error,
        f"mean_risk_{EARLY}_iterations": float(risks(early).sum()),
        f"marginal_error_{EARLY}": early_error,
        "transport_cost": float((plan * cost).sum()),
    }
    return Linked(risks(plan), figures)


def sinkhorn(cost: np.ndarray, epsilon: float, iterations: int, tolerance: float) -> tuple[np.ndarray, int, float]:
    """The plan of entropy-regularised transport between uniform margins.

    Parameters
    ----------
    cost : ndarray
        Cost of every pair.
    epsilon : float
        Weight of the entropy.
    iterations : int
        Iterations at most.
    tolerance : float
        Largest violation of a margin that ends them.

    Returns
    -------
    plan : ndarray
    used : int
        Iterations used.
    error : float
        The largest violation of a margin.

    Notes
    -----
    Scaling iterations on a kernel whose potentials are absorbed whenever they grow, so that nothing under- or
    overflows.
    """
    n, m = cost.shape
    f, g = cost.min(axis=1), np.zeros(m)
    kernel = np.exp((f[:, None] + g[None, :] - cost) / epsilon)
    u, v = np.ones(n), np.ones(m)
    error, used = np.inf, 0
    for used in range(1, iterations + 1):
        u = (1.0 / n) / np.maximum(kernel @ v, 1e-300)
        v = (1.0 / m) / np.maximum(kernel.T @ u, 1e-300)
        if used % 20 == 0 or used == iterations or max(u.max(), v.max()) > 1e100:
            f, g = f + epsilon * np.log(u), g + epsilon * np.log(v)
            kernel = np.exp((f[:, None] + g[None, :] - cost) / epsilon)
            u, v = np.ones(n), np.ones(m)
            error = float(max(np.abs(kernel.sum(axis=1) - 1.0 / n).max(), np.abs(kernel.sum(axis=0) - 1.0 / m).max()))
            if error < tolerance:
                break
    return kernel, used, error
