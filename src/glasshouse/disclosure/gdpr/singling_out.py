"""Singling out: can a description guessed from the release fit exactly one person of the original?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glasshouse.core.advice import SINGLED_OUT
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.intervals import normal_quantile
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.disclosure.gdpr.predicates import Board, Description, Predicates
from glasshouse.disclosure.gdpr.statistics import CITE, LEAK, Attack, Exchanged, Side, difference_interval, phi, report
from glasshouse.engines.canonical import canonical
from glasshouse.engines.exchange import exchange_scores, exposed_people, people_clusters

MODES = ("multivariate", "univariate")
LISTED, EXCHANGES = 40, 400


@measure(
    side="disclosure",
    family="gdpr",
    threat="identity",
    better="lower",
    range=(0, 1),
    limit=LEAK,
    figures=("over_naive",),
    audited=True,
    cost="cells",
    group="singling_out",
    cite=CITE + "; Cohen & Nissim (2020), Towards formalizing the GDPR's notion of singling out, PNAS",
    attacker="the release only",
    caveats="predicates are guessed one released record at a time; success without a leak is common (up "
    "to 37 % for a description that fits one in n people), so only the comparison with the control speaks of it",
    tier="fast",
    advice=SINGLED_OUT,
    riskutility=("Singling Out", lambda r: {"risk": r.value}),
    influence="root",
    wide="columns",
    grows="values",
)
def singling_out(
    pair: Pair,
    *,
    mode: str = "multivariate",
    n_attacks: int = 2000,
    n_cols: int = 3,
    columns: Sequence[str] | None = None,
    predicates: Sequence[Description] | Any = None,  # Any: their form is explained where they are read
    max_attempts: int = 2_000_000,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Result:
    """Share of descriptions that fit exactly one released record and also fit exactly one person of the original.

    Descriptions are conditions on columns, such as age >= 80 and sex == f, made from the release alone. Repeated
    originals are different people, so a description that fits two of them singles out nobody. Success without a leak is
    common, so only the comparison with the same descriptions among people never in the data speaks of one.

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout gives the control.
    mode : {"multivariate", "univariate"}, default "multivariate"
        Multivariate: ``n_cols`` columns of a random released record, joined by "and"; categories by ==, numbers by >=
        above the release's median and <= below. Univariate: one column; the smallest and largest number, every value
        that occurs once, "is missing" where it occurs once.
    n_attacks : int, default 2000
        Descriptions wanted. Fewer may exist; the rate is taken over those made.
    n_cols : int, default 3
        Columns of a multivariate description.
    columns : sequence of str, optional
        Columns to describe people with; every shared column by default.
    predicates : sequence of descriptions, optional
        Descriptions to use instead, each a list of (column, operator, value), the value None meaning missing:
        ``[[("age", ">=", 80), ("sex", "==", "f")]]``.
    max_attempts : int, default 2,000,000
        Most descriptions tried.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the descriptions and of the exchange of people.

    Returns
    -------
    Result
        ``value``: the share; ``baseline``: that of random columns, values and operators; ``holdout``: that of the same
        descriptions among as many people never in the data; ``difference``: value minus holdout, with interval and p
        value; ``excess``: (value - holdout) / (1 - holdout). ``details``: numbers of descriptions, guesses and
        successes, people singled out, some descriptions that succeeded, and anonymeter's figures for the same counts.
        ``records``: per original whether it is ``singled_out``, and by how many ``descriptions``.

    Notes
    -----
    Only descriptions met by exactly one released record are used; where there are none, repeated released records count
    once, so that doubling a release hides nothing. With the originals T and the holdout H

        value = #{descriptions that fit exactly one person of T} / n

    How many people a description fits depends on how many there are, so sizes must be equal. With |H| = |T| the two
    shares are compared as they are. Otherwise only descriptions that fit exactly one person of T and H together are
    compared: without a leak that person is in T with probability |T| / (|T| + |H|), whatever the description, so

        difference = k_T / n - (|T| / |H|) k_H / n

    has mean zero without extrapolating to a size nobody observed, and ``holdout`` is the attack rate less this
    difference. One unusual person meets many descriptions, so the interval of the difference comes from exchanging
    original and holdout people at random, not from the number of descriptions. The p value asks who is singled out
    among original and holdout together (with clusters: all who fit belong to one), scores a person by log(1 +
    descriptions that do so), and exchanges the labels; ``exposure`` counts those people.

    References
    ----------
    Giomi, Boenisch, Wehmeyer & Tasnadi (2023), A unified framework for quantifying privacy risk in synthetic data,
    PoPETs 2023(2).
    Cohen & Nissim (2020), Towards formalizing the GDPR's notion of singling out, PNAS 117.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.singling_out(gh.data.load("health").pair(), n_attacks=500)
    >>> round(found.value, 3), round(found.baseline, 3), round(found.difference, 3)
    (0.314, 0.048, 0.088)
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
            "singling_out found no description that fits exactly one released record"
            f"{'' if attempts is None else f' in {attempts:,} attempts'}, so there is nothing to attack with; try more "
            "columns (n_cols=) or the other mode"
        )
    matches, first = board.count("original", made)
    hit = matches == 1
    width = min(n_cols, len(chosen)) if mode == "multivariate" else 1
    naive = board.random(n, width, generator(random_state, "singling_out", "baseline"))
    naive_hits = int((board.count("original", naive, stop_at=2)[0] == 1).sum())
    attack = _compare(pair, board, made, matches, first, naive_hits, confidence, random_state)
    exchanged = _exchanged(pair, board, made, confidence, random_state) if pair.has_holdout else None
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
        compared_with="as many people never in the data",
        details={
            "mode": mode,
            "n_cols": width,
            "n_predicates": n,
            "attempts": attempts,
            "people_singled_out": len(np.unique(first[hit])),
            "mean_matches": float(matches.mean()),
            "predicates": board.write(successes),
        },
        records=records,
        flag="singled_out",
        rank="descriptions",
        warnings=said,
        decisive=True,
        aims=pair.n("original"),
        exchanged=exchanged,
    )


def _exchanged(pair: Pair, board: Board, made: Predicates, confidence: float, random_state: RandomState) -> Exchanged:
    """People singled out among original and holdout together: the p value of exchanged labels, and those exposed."""
    clusters = people_clusters(pair)
    n, size = pair.n("original"), pair.n("original") + pair.n("holdout")
    kin = np.arange(size) if clusters is None else np.concatenate(clusters)
    lists = [board.sorted(table).count(made, room=LISTED) for table in ("original", "holdout")]
    matches = lists[0][0] + lists[1][0]
    who = np.hstack([lists[0][1], np.where(lists[1][1] >= 0, lists[1][1] + n, -1)])
    known = who >= 0
    of = kin[np.maximum(who, 0)]
    # all who fit are records of one person
    single = np.where(known, of, size + kin.max()).min(axis=1) == np.where(known, of, -1).max(axis=1)
    single &= (matches > 0) & (known.sum(axis=1) == matches)
    fits = np.bincount(who[single][known[single]], minlength=size)
    score, flags = np.log1p(fits), fits > 0
    p = exchange_scores(score[:n], score[n:], clusters=clusters, random_state=random_state, name="singling_out").p
    return Exchanged(p, exposed_people(flags[:n], flags[n:], clusters, confidence=confidence))


def _columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(sorted(pair.columns if columns is None else set(columns)))  # columns are drawn in one order
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
    board: Board,
    mode: str,
    wanted: int,
    width: int,
    given: Sequence[Description] | None,
    most: int,
    rng: np.random.Generator,
) -> tuple[Predicates, int | None]:
    """Descriptions, and how many were tried for them; None where none was tried in vain because all are listed."""
    if given is not None:
        return board.read(given), None
    attempts: int | None = None
    for repeated in (True, False):
        rows = board.released if repeated else np.unique(board.released, axis=0)
        if mode == "multivariate":
            made, attempts = board.multivariate(rows, wanted, width, rng, most)
        else:
            every = board.univariate(rows)
            made = every.take(rng.permutation(len(every))[:wanted])
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
    random_state: RandomState,
) -> Attack:
    """Attack, baseline and control on the same descriptions, at equal sizes (see the docstring of the measure)."""
    n = len(made)
    attack, baseline = Side(float((matches == 1).sum()), n), Side(naive_hits, n)
    if not pair.has_holdout:
        return Attack(attack, baseline, None)
    fresh, stranger = board.count("holdout", made)
    in_original, in_control = matches == 1, fresh == 1
    if pair.n("original") != pair.n("holdout"):
        return _unequal(pair, attack, baseline, matches, fresh, first, stranger, confidence)
    members, strangers = Side(float(in_original.sum()), n), Side(float(in_control.sum()), n)
    both = float((in_original & in_control).sum())
    correlation = phi(
        both, members.successes - both, strangers.successes - both, n - float((in_original | in_control).sum())
    )
    gap = members.rate - strangers.rate
    low, high = difference_interval(members, strangers, confidence, correlation)
    half = normal_quantile(confidence) * _relabelled(pair, board, made, matches, fresh, random_state)
    return Attack(attack, baseline, strangers, gap=(gap, (min(low, gap - half), max(high, gap + half))))


def _relabelled(
    pair: Pair, board: Board, made: Predicates, matches: np.ndarray, fresh: np.ndarray, random_state: RandomState
) -> float:
    """Standard deviation of attack minus control when original and holdout people are exchanged at random.

    The descriptions hang together, because one unusual person meets many of them, so their number says little about the
    precision. Descriptions that fit more than ``LISTED`` people of a side single out nobody under any exchange.
    """
    from scipy.sparse import csr_array

    ours = board.sorted("original").count(made, room=LISTED)[1]
    theirs = board.sorted("holdout").count(made, room=LISTED)[1]
    usable = np.flatnonzero((matches <= LISTED) & (fresh <= LISTED) & (matches + fresh > 0))
    people = np.hstack([ours[usable], np.where(theirs[usable] >= 0, theirs[usable] + len(board.table("original")), -1)])
    row, column = np.nonzero(people >= 0)
    if not len(row):
        return 0.0
    place = np.argsort(canonical(pair, pair.columns).order("original", "holdout"))  # one order of people for the draws
    persons, at = np.unique(place[people[row, column]], return_inverse=True)
    shape = (len(usable), len(persons))
    fits = csr_array((np.ones(len(row)), (row, at.reshape(-1))), shape)
    exchanged = generator(random_state, "singling_out", "exchange").random((len(persons), EXCHANGES)) < 0.5
    inside = fits @ exchanged.astype(float)
    outside = (matches + fresh)[usable][:, None] - inside
    gaps = ((inside == 1).sum(axis=0) - (outside == 1).sum(axis=0)) / len(made)
    return float(gaps.std(ddof=1))


def _unequal(
    pair: Pair,
    attack: Side,
    baseline: Side,
    matches: np.ndarray,
    fresh: np.ndarray,
    first: np.ndarray,
    stranger: np.ndarray,
    confidence: float,
) -> Attack:
    """Compare through descriptions that fit one person of both tables together."""
    n, scale = len(matches), pair.n("original") / pair.n("holdout")
    ours, theirs = (matches == 1) & (fresh == 0), (fresh == 1) & (matches == 0)
    members, strangers = Side(float(ours.sum()), n), Side(float(theirs.sum()), n)
    gap = members.rate - scale * strangers.rate
    correlation = phi(0.0, members.successes, strangers.successes, n - members.successes - strangers.successes)
    low, high = difference_interval(members, strangers, confidence, correlation, scale)
    # Label exchange: the difference is linear in the labels, so its variance is exact (Hoeffding's combinatorial sum).
    size = pair.n("original") + pair.n("holdout")
    weight = np.concatenate([np.bincount(first[ours], minlength=1), np.bincount(stranger[theirs], minlength=1)])
    spread = float((weight.astype(float) ** 2).sum() - weight.sum() ** 2 / size)
    variance = scale * size / max(size - 1, 1) * spread / n**2
    half = normal_quantile(confidence) * np.sqrt(max(variance, 0.0))
    control = min(max(attack.rate - gap, 0.0), 1.0)
    return Attack(attack, baseline, Side(control * n, n), gap=(gap, (min(low, gap - half), max(high, gap + half))))
