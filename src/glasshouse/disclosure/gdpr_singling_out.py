"""Singling out: can a description guessed from the release fit exactly one person of the original?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.disclosure.gdpr_predicates import Board, Predicates
from glasshouse.disclosure.gdpr_statistics import BANDS, CITE, Attack, Side, difference_interval, phi, report

MODES = ("multivariate", "univariate")


@measure(
    side="disclosure",
    family="gdpr",
    threat="identity",
    better="lower",
    range=(0, 1),
    bands=BANDS,
    cost="cells",
    group="singling_out",
    private=("predicates",),
    cite=CITE + "; Cohen & Nissim (2020), Towards formalizing the GDPR's notion of singling out, PNAS",
    knows="the release only",
    limits="predicates are guessed one released record at a time; success without a leak is common (up "
    "to 37 % for a description that fits one in n people), so only the comparison with the control speaks of it",
)
def singling_out(
    pair: Pair,
    *,
    mode: str = "multivariate",
    n_attacks: int = 2000,
    n_cols: int = 3,
    columns: Sequence[str] | None = None,
    predicates: Sequence[Sequence[Sequence[Any]]] | None = None,
    max_attempts: int = 2_000_000,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Result:
    """Share of descriptions that fit exactly one released record and also fit exactly one person of the original.

    Univariate: one column; the smallest and largest number, every value that occurs once, "is missing" when it occurs
    once. Multivariate: ``n_cols`` columns of a random released record, joined by "and"; categories by ==, numbers by >=
    above the release's median and <= below. Only descriptions met by exactly one released record are used (where there
    are none, repeated released records count once, so that doubling a release hides nothing); fewer than ``n_attacks``
    may exist, and the rate is taken over those made. Repeated originals are different people, so a description that
    fits two of them singles out nobody.

    Baseline: random columns, values and operators. Control: the same descriptions among held-out people. How many
    people a description fits depends on how many there are, so sizes must be equal. With |H| = |T| the two shares are
    compared as they are. Otherwise only descriptions that fit exactly one person of T and H together are compared:
    without a leak that person is in T with probability |T| / (|T| + |H|), whatever the description, so

        difference = k_T / n - (|T| / |H|) k_H / n

    has mean zero without extrapolating to a size nobody observed, and ``holdout`` is the attack rate less this
    difference. One unusual person is singled out by many descriptions, so the interval of the difference is widened by
    the design effect of persons.
    """
    if mode not in MODES:
        raise InputError(f"mode must be one of {listed(MODES)}, not {mode!r}")
    if n_attacks < 1 or n_cols < 1:
        raise InputError("n_attacks and n_cols must be at least 1")
    chosen = _columns(pair, columns)
    board = pair.memo(("singling_out", chosen), lambda: Board(pair, chosen))
    rng = generator(random_state, "singling_out", mode)
    made, attempts = _make(board, mode, n_attacks, min(n_cols, len(chosen)), predicates, max_attempts, rng)
    n = len(made)
    if not n:
        raise NotApplicable(
            f"singling_out found no description that fits exactly one released record in {attempts:,} attempts, so "
            f"there is nothing to "
            "attack with; try more columns (n_cols=) or the other mode"
        )
    matches, first = board.count("original", made)
    hit = matches == 1
    width = min(n_cols, len(chosen)) if mode == "multivariate" else 1
    naive = board.random(n, width, generator(random_state, "singling_out", "baseline"))
    naive_hits = int((board.count("original", naive, stop_at=2)[0] == 1).sum())
    attack = _compare(pair, board, made, matches, first, naive_hits, confidence)
    successes = made.take(np.flatnonzero(hit)[:20])
    said = (
        []
        if n >= n_attacks or predicates is not None
        else [f"only {n:,} of the {n_attacks:,} descriptions asked for exist or were found"]
    )

    def records() -> dict[str, np.ndarray]:
        fits = np.bincount(first[hit], minlength=pair.n("original"))
        return {"singled_out": fits > 0, "descriptions": fits}

    return report(
        attack,
        confidence=confidence,
        guess="descriptions that fit one released record",
        success="single out one person of the original",
        control="as many people never shown to the synthesiser",
        details={
            "mode": mode,
            "n_cols": width,
            "attempts": attempts,
            "people_singled_out": len(np.unique(first[hit])),
            "mean_matches": float(matches.mean()),
            "predicates": board.write(successes),
        },
        records=records,
        flag="singled_out",
        rank="descriptions",
        warnings=said,
    )


def _columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(pair.columns if columns is None else dict.fromkeys(columns))
    unknown = [c for c in chosen if c not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in every table (or are identifiers or weights); choose from "
            f"{listed(pair.columns)}"
        )
    if not chosen:
        raise NotApplicable(
            "there is no column in common to describe people with; release at least one column of the original"
        )
    return chosen


def _make(
    board: Board, mode: str, wanted: int, width: int, given: Sequence[Any] | None, most: int, rng: np.random.Generator
) -> tuple[Predicates, int]:
    if given is not None:
        return board.read(given), len(given)
    for repeated in (True, False):
        rows = board.released if repeated else np.unique(board.released, axis=0)
        if mode == "multivariate":
            made, attempts = board.multivariate(rows, wanted, width, rng, most)
        else:
            every = board.univariate(rows)
            made, attempts = every.take(rng.permutation(len(every))[:wanted]), len(every)
        if len(made):
            break
    return made, attempts


def _compare(
    pair: Pair,
    board: Board,
    made: Predicates,
    matches: np.ndarray,
    first: np.ndarray,
    naive_hits: int,
    confidence: float,
) -> Attack:
    """Attack, baseline and control on the same descriptions, at equal sizes (see the docstring of the measure)."""
    n = len(made)
    attack, baseline = Side(float((matches == 1).sum()), n), Side(naive_hits, n)
    if not pair.has_holdout:
        return Attack(attack, baseline, None)
    fresh, stranger = board.count("holdout", made, stop_at=2)
    equal = pair.n("original") == pair.n("holdout")
    scale = pair.n("original") / pair.n("holdout")
    ours = (matches == 1) & (equal | (fresh == 0))
    theirs = (fresh == 1) & (equal | (matches == 0))
    members, strangers = Side(float(ours.sum()), n), Side(float(theirs.sum()), n)
    both = float((ours & theirs).sum())
    correlation = phi(both, members.successes - both, strangers.successes - both, n - float((ours | theirs).sum()))
    gap = members.rate - scale * strangers.rate
    low, high = difference_interval(members, strangers, confidence, correlation, scale)
    widen = np.sqrt(_design_effect(pair, first[ours], stranger[theirs], n, scale))
    interval = (gap - widen * (gap - low), gap + widen * (high - gap))
    control = strangers.rate if equal else min(max(attack.rate - gap, 0.0), 1.0)
    return Attack(attack, baseline, Side(control * n, n), gap=(gap, interval))


def _design_effect(pair: Pair, members: np.ndarray, strangers: np.ndarray, n: int, scale: float) -> float:
    """How much wider the interval must be because one unusual person is singled out by many descriptions; at least 1.

    Variance of the difference when persons are what was sampled, over its variance for independent descriptions.
    """

    def variances(persons: np.ndarray, size: int) -> tuple[float, float]:
        weight = np.bincount(persons, minlength=1).astype(float)
        total = weight.sum()
        return float((weight**2).sum() - total**2 / size), float(total * (1 - total / n))

    ours, theirs = variances(members, pair.n("original")), variances(strangers, pair.n("holdout"))
    clustered, plain = ours[0] + scale**2 * theirs[0], ours[1] + scale**2 * theirs[1]
    return max(1.0, clustered / plain) if plain > 0 else 1.0
