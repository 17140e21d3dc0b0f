"""Fellegi-Sunter linkage: agreement levels per column, weighed by how much they speak for a true pair.

    LR(i, j) = sum_v ln( m_v[level] / u_v[level] )

m_v is the distribution of agreement levels over true pairs, u_v over all others (Fellegi & Sunter 1969). The
likelihood depends on a pair only through its agreement pattern, so EM runs on counts of patterns over *all* pairs:
exact, no sampling, no blocking, and independent of the truth (which an attacker does not have).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.disclosure.linkage.methods import Request, Scored, ranges
from glasshouse.engines.pairs.scores import Agreement, pattern_counts

LEVELS = ((0.0, 0.01, 0.05, 0.10), (0.0, 0.05), (0.05,))
MOST_PATTERNS = 1 << 21
ESTIMATES = ("em", "truth")
FLOOR = 0.01


@dataclass(frozen=True)
class Patterns:
    """Both sides as numbers (NaN missing), and how differences of each column become agreement levels.

    Attributes
    ----------
    values
        Numbers and codes of originals and of released records.
    is_code
        Which columns are codes, compared by equality.
    cuts, n_cuts
        Largest differences of the agreement levels per column, and how many there are.
    """

    values: tuple[np.ndarray, np.ndarray]
    is_code: np.ndarray
    cuts: np.ndarray
    n_cuts: np.ndarray

    @property
    def size(self) -> int:
        """Number of agreement patterns: per column its levels, one for disagreement, one for not comparable."""
        return int(np.prod([int(c) + 2 for c in self.n_cuts], dtype=object))


def probabilistic(ask: Request) -> Scored:
    """Agreement levels with m and u by EM (default), from the true pairs, or given as one m and u per column.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored
    """
    m, u = ask.options.m, ask.options.u
    if (m is None) != (u is None):
        raise InputError("m and u go together: give both, or neither to estimate them")
    if m is not None and u is not None:
        return _given(ask, m, u)
    estimate = ask.options.estimate
    if estimate not in ESTIMATES:
        raise InputError(f"estimate must be one of {listed(ESTIMATES)}, not {estimate!r}")
    pieces = _levels(ask)
    if estimate == "truth":
        tables = _supervised(ask, pieces)
        source = "from the true pairs (an attacker does not know them: an upper bound)"
    else:
        tables, source = _by_em(ask, pieces), "by EM on the patterns of all pairs"
    weights = _log_ratio(*tables, pieces.n_cuts)
    names = (*ask.numeric, *ask.nominal)
    shares = np.column_stack([tables[0][:, 0], tables[1][:, 0]])
    agree = {name: [float(share) for share in shares[v]] for v, name in enumerate(names)}
    return Scored(
        _scores(ask, pieces, weights), {"estimate": source, "exact_agreement_m_u": agree, **_by_column(names, shares)}
    )


def _by_column(names: Sequence[str], shares: np.ndarray) -> dict[str, dict[str, float]]:
    """m and u per column: the chance of (exact) agreement of true and of other pairs."""
    return {which: dict(zip(names, shares[:, side].tolist(), strict=True)) for side, which in enumerate("mu")}


def _values(ask: Request) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Numbers and codes of both sides as floats (NaN missing), and which columns are codes."""
    sides = []
    for table in ("original", "released"):
        codes = ask.codes(table).astype(float)
        codes[codes < 0] = np.nan
        sides.append(np.hstack([ask.numbers(table), codes]))
    return (sides[0], sides[1]), np.array([False] * len(ask.numeric) + [True] * len(ask.nominal))


def _levels(ask: Request) -> Patterns:
    """Cut points per column, as fine as the number of patterns allows."""
    values, is_code = _values(ask)
    scale = np.concatenate([ranges((values[0][:, ~is_code], values[1][:, ~is_code])), np.ones(int(is_code.sum()))])
    for shares in LEVELS:
        cuts = np.zeros((len(scale), len(shares)))
        cuts[~is_code] = np.outer(scale[~is_code], shares) + 1e-9 * scale[~is_code][:, None]
        found = Patterns(values, is_code, cuts, np.where(is_code, 1, len(shares)).astype(np.int64))
        if found.size <= MOST_PATTERNS:
            return found
    raise NotApplicable(
        f"probabilistic linkage counts agreement patterns, and {len(scale)} columns have too many; choose up to 13 "
        "with columns="
    )


def _by_em(ask: Request, pieces: Patterns) -> tuple[np.ndarray, np.ndarray]:
    counts = pattern_counts(pieces.values, pieces.is_code, pieces.cuts, pieces.n_cuts, ask.rule, pieces.size)
    seen = np.flatnonzero(counts)
    radix = pieces.n_cuts + 2
    levels = np.empty((len(seen), len(radix)), np.int64)
    rest = seen.copy()
    for v in range(len(radix) - 1, -1, -1):
        rest, levels[:, v] = np.divmod(rest, radix[v])
    prior = 1.0 / len(pieces.values[1])
    return expectation_maximisation(levels, counts[seen].astype(float), pieces.n_cuts, prior)


def expectation_maximisation(
    levels: np.ndarray,
    counts: np.ndarray,
    n_cuts: np.ndarray,
    prior: float,
    iterations: int = 500,
    tolerance: float = 1e-9,
) -> tuple[np.ndarray, np.ndarray]:
    """m and u of every column and level from pattern counts, columns independent given match or not.

    Parameters
    ----------
    levels : ndarray
        Agreement level of every pattern (rows) in every column; level n_cuts + 1 means "not comparable" and carries no
        weight.
    counts : ndarray
        Pairs with each pattern.
    n_cuts : ndarray
        Agreement levels of each column, without disagreement.
    prior : float
        Share of true pairs, which is known (one released record per person) and stays fixed.
    iterations : int, default 500
        Iterations at most.
    tolerance : float, default 1e-9
        Largest change of a probability that ends them.

    Returns
    -------
    m, u : ndarray
        Per column and level, its probability among true pairs and among the others.

    References
    ----------
    .. [1] Fellegi and Sunter (1969), A theory for record linkage.
    """
    p, width = levels.shape[1], int(n_cuts.max()) + 2
    total = counts.sum()
    used = levels <= n_cuts

    def shares(weight: np.ndarray) -> np.ndarray:
        table = np.zeros((p, width))
        for v in range(p):
            table[v] = np.bincount(levels[used[:, v], v], weights=weight[used[:, v]], minlength=width)[:width]
            table[v] /= max(table[v].sum(), 1e-300)
        return np.clip(table, 1e-9, 1.0)

    u = shares(counts)
    m = np.zeros((p, width))
    for v in range(p):
        fall = 0.2 ** np.arange(int(n_cuts[v]) + 1)
        m[v, : int(n_cuts[v]) + 1] = fall / fall.sum()
    m = np.clip(m, 1e-9, 1.0)
    columns = np.arange(p)
    for _ in range(iterations):
        ratio = np.where(used, np.log(m[columns, levels]) - np.log(u[columns, levels]), 0.0).sum(axis=1)
        odds = np.exp(np.clip(ratio, -700, 700)) * prior / (1 - prior) if prior < 1 else np.full(len(ratio), np.inf)
        posterior = np.where(np.isinf(odds), 1.0, odds / (1 + np.where(np.isinf(odds), 0.0, odds)))
        # no level is impossible for a true pair: without the floor EM runs to m = 1 on keys that hang together
        fresh_m, fresh_u = (
            np.clip(shares(counts * posterior), FLOOR, 1 - FLOOR),
            shares(counts * (1 - posterior) + 1e-12 * total),
        )
        moved = max(np.abs(fresh_m - m).max(), np.abs(fresh_u - u).max())
        m, u = fresh_m, fresh_u
        if moved < tolerance:
            break
    return m, u


def _supervised(ask: Request, pieces: Patterns) -> tuple[np.ndarray, np.ndarray]:
    """m from the true pairs, u from every pair that is not one."""
    mine, theirs = pieces.values
    known = np.flatnonzero(ask.true >= 0)
    p, width = len(pieces.n_cuts), int(pieces.n_cuts.max()) + 2
    m, u = np.zeros((p, width)), np.zeros((p, width))
    for v in range(p):
        one = slice(v, v + 1)
        is_code, cuts, n_cuts = pieces.is_code[one], pieces.cuts[one], pieces.n_cuts[one]
        size = int(n_cuts[0]) + 2
        found = pattern_counts((mine[:, one], theirs[:, one]), is_code, cuts, n_cuts, ask.rule, size)
        every = found.astype(float)
        true = _paired_levels(mine[known, v], theirs[ask.true[known], v], bool(is_code[0]), cuts[0], size - 2, ask.rule)
        true = np.bincount(true, minlength=size).astype(float)
        for table, counts in ((m, true), (u, every - true)):
            counts = counts[: size - 1]
            table[v, : size - 1] = counts / max(counts.sum(), 1e-300)
    return np.clip(m, FLOOR, 1 - FLOOR), np.clip(u, 1e-9, 1.0)


def _paired_levels(a: np.ndarray, b: np.ndarray, is_code: bool, cuts: np.ndarray, n_cuts: int, rule: int) -> np.ndarray:
    missing = np.isnan(a) | np.isnan(b)
    gap = np.abs(np.where(missing, 0.0, a) - np.where(missing, 0.0, b))
    level = np.where(gap > 0, n_cuts, 0) if is_code else np.searchsorted(cuts[:n_cuts], gap, "left")
    if not missing.any():
        return np.asarray(level, np.int64)
    both = np.isnan(a) & np.isnan(b)
    absent = {3: np.full(len(a), n_cuts + 1), 2: np.zeros(len(a)), 1: np.full(len(a), n_cuts)}
    return np.where(missing, absent.get(rule, np.where(both, 0, n_cuts)), level).astype(np.int64)


def _given(ask: Request, m: Mapping[str, float], u: Mapping[str, float]) -> Scored:
    """Two levels per column: equal (within a tolerance for numbers) or not, with the user's m and u."""
    values, is_code = _values(ask)
    names = (*ask.numeric, *ask.nominal)
    lacking = [c for c in names if c not in m or c not in u]
    if lacking:
        raise InputError(f"m and u lack {listed(lacking)}; give one probability per column compared")
    shares = np.array([[float(m[c]), float(u[c])] for c in names])
    if not ((shares > 0) & (shares < 1)).all():
        raise InputError("m and u are probabilities strictly between 0 and 1")
    tolerance = _tolerances(ask, values)
    cuts = np.array([[tolerance.get(c, 0.0) + 1e-9] for c in names])
    n_cuts = np.ones(len(names), np.int64)
    table = np.zeros((len(names), 3))
    table[:, 0] = np.log(shares[:, 0] / shares[:, 1])
    table[:, 1] = np.log((1 - shares[:, 0]) / (1 - shares[:, 1]))
    pieces = Patterns(values, is_code, cuts, n_cuts)
    return Scored(
        _scores(ask, pieces, table), {"estimate": "given", "tolerance": tolerance, **_by_column(names, shares)}
    )


def _tolerances(ask: Request, values: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """Largest difference that counts as agreement: the user's, else 1.4826 MAD of the originals, else a tenth of the
    range.
    """
    given = dict(ask.options.tolerance or {})
    scale = ranges((values[0][:, : len(ask.numeric)], values[1][:, : len(ask.numeric)]))
    found = {}
    for v, name in enumerate(ask.numeric):
        mine = values[0][:, v][~np.isnan(values[0][:, v])]
        spread = 1.4826 * float(np.median(np.abs(mine - np.median(mine)))) if len(mine) else 0.0
        found[name] = float(given.get(name, spread if spread > 0 else 0.1 * scale[v]))
    return found


def _log_ratio(m: np.ndarray, u: np.ndarray, n_cuts: np.ndarray) -> np.ndarray:
    table = np.log(m) - np.log(u)
    for v, last in enumerate(n_cuts):
        table[v, int(last) + 1 :] = 0.0
    return np.ascontiguousarray(table)


def _scores(ask: Request, pieces: Patterns, table: np.ndarray) -> Agreement:
    return Agreement(pieces.values, pieces.is_code, pieces.cuts, pieces.n_cuts, table, ask.rule, ask.n_jobs)
