"""Copies of people who are unlike anybody else: verbatim, and nearly so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PEOPLE_COPIED, PEOPLE_NEARLY_COPIED
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT, Evidence, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import HOLDOUT, HOLDOUT_ADVICE, SIMILARITY, plural
from glasshouse.disclosure.copying.closeness import DELUSION
from glasshouse.disclosure.copying.pooled import (
    Pooled,
    against_strangers,
    exact_scores,
    near_scores,
    pooled,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.exchange import exchange_scores
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.search import TOL, chosen_columns
from glasshouse.engines.pairs.equality import information, weight_of

if TYPE_CHECKING:
    from glasshouse.data.arrays import Bools, Floats
    from glasshouse.data.pair import Pair

COARSE = 0.2
MOST_LOWERED = 4  # chance matches may make an exchange of labels this much surer
NO_STRANGERS = f"there is no holdout: {HOLDOUT}. {HOLDOUT_ADVICE}"
CITE = f"after Raab, Nowok & Dibben (2025), replicated uniques; {DELUSION}"


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Exact copies",
    better="lower",
    limit=replace(
        LEAK_LIMIT,
        without_holdout=Limit(
            "chance_p",
            warn=0.05,
            fail=0.01,
            operator=">=",
            evidence=Evidence(),
            why="equal records beyond those the original has with itself",
        ),
    ),
    figures=("chance_p",),
    cite=CITE,
    attacker="every column of some people",
    caveats=SIMILARITY,
    cost="neighbours",
    tier="fast",
    group="exact copies",
    alone="fail",
    advice=PEOPLE_COPIED,
    audited=True,
    on_map=True,
)
def exact_copies(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people unlike anybody else whose exact record is in the release.

    A person counts when no other real person has the same record and a released record equals it. By chance that
    happens to people never in the data as well, so members are compared with strangers.

    Parameters
    ----------
    pair : Pair
        Original, release and, if there is one, holdout.
    columns : sequence of str, optional
        The columns compared; all shared ones by default.
    missing : {"level", "ignore", "match", "mismatch"}
        How missing values compare: as a value of their own by default.
    confidence : float
        Of the intervals.
    random_state : int, Generator or None
        Seed of the exchange of labels; None draws.
    n_jobs : int, optional
        Threads; they never change a figure.

    Returns
    -------
    Result
        ``value`` is the share of original people copied, ``holdout`` the same of holdout people, ``difference`` the
        leak and ``p_value`` the exchange test. ``records`` flags each original with the released row that equals it.

    Notes
    -----
    Whether somebody is unlike anybody else is asked of original and holdout together, records of one's own cluster not
    counted. A copied person j has the score

        log(1 + 0.01 e^(I_j) / m) (1 + rank share of iso_j)^3,   m released records,

    with the information I_j = sum over columns of -log(share of real people with j's value) and iso_j the distance to
    the nearest other person. The first factor is the log-likelihood ratio of "one person in a hundred was copied"
    against a match by chance, if columns were independent; the second allows for columns that are not. So a copy of
    somebody with rare values, far from everybody, weighs most. Labels of members and strangers (of whole clusters,
    where the pair has them) are exchanged; the p value is the share of assignments whose difference of mean scores is
    at least the one seen.
    Released records that equal an original are also compared with real people who equal another one, weighed alike, as
    long as at most one in five does. Without a holdout that test stands alone. Beside one it lowers the p value of the
    exchange, at most fourfold and never below its own; where no stranger is found, ten times its own p value counts,
    because a holdout of a few people cannot tell much.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data; Yao, Krco, Ganev & de Montjoye (2025),
    The DCR Delusion.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.disclosure.exact_copies(gh.data.load("health").pair()).verdict
    'fail'
    """
    people = pooled(pair, columns, missing, n_jobs)
    copied = (people.reach <= TOL) & (people.isolation > TOL)
    return _result(
        pair,
        people,
        copied,
        exact_scores(people),
        said="have their exact record in the release",
        confidence=confidence,
        random_state=random_state,
        name="exact_copies",
        alone=_chance_of_equals(pair, columns, missing, random_state),
    )


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Near copies",
    better="lower",
    limit=LEAK_LIMIT,
    cite=CITE,
    attacker="every column of some people, roughly",
    caveats=SIMILARITY,
    cost="neighbours",
    tier="fast",
    group="near copies",
    alone="warn",
    advice=PEOPLE_NEARLY_COPIED,
    audited=True,
    on_map=True,
)
def near_copies(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people with a released record nearer than half-way to the next real person.

    Such a record can be about nobody else. Noise, rounding or a changed cell do not hide it as long as the person
    stands apart.

    Parameters
    ----------
    pair : Pair
        Original, release and holdout.
    columns : sequence of str, optional
        The columns compared; all shared ones by default.
    missing : {"level", "ignore", "match", "mismatch"}
        How missing values compare: as a value of their own by default.
    confidence : float
        Of the intervals.
    random_state : int, Generator or None
        Seed of the exchange of labels; None draws.
    n_jobs : int, optional
        Threads; they never change a figure.

    Returns
    -------
    Result
        ``value`` is the share of original people with a near copy, ``holdout`` the same of holdout people,
        ``difference`` the leak and ``p_value`` the exchange test. ``records`` flags each original with the released
        row that comes nearest.

    Notes
    -----
    With iso_j the distance of a real person to the nearest other one (original and holdout together, records of one's
    own cluster not counted) and d_j that to the release, a person counts when
    2 d_j < iso_j, and the score exchanged is (1 - 2 d_j / iso_j)+^2 sqrt(iso_j).

    References
    ----------
    Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, on why averages of distances miss copies.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.near_copies(gh.data.load("health").pair())
    >>> found.value > found.holdout
    True
    """
    people = pooled(pair, columns, missing, n_jobs)
    near = (2 * people.reach < people.isolation - TOL) & (people.isolation > TOL)
    return _result(
        pair,
        people,
        near,
        near_scores(people),
        said="have a released record nearer than half-way to the next real person",
        confidence=confidence,
        random_state=random_state,
        name="near_copies",
    )


def _result(
    pair: Pair,
    people: Pooled,
    flags: Bools,
    scores: Floats,
    *,
    said: str,
    confidence: float,
    random_state: RandomState,
    name: str,
    alone: float | None = None,
) -> Result:
    members, strangers = people.split(flags)
    reachable = people.split(people.isolation > TOL)[0]
    shown, exposed, tested = against_strangers(
        pair, (members, strangers), people.split(scores), reachable, confidence, random_state, name
    )
    if tested is not None and alone is not None:
        tested = tested._replace(p=_with_twins(tested.p, alone, bool(strangers.any())))
        shown["p_value"] = tested.p
    n, hits = len(members), int(members.sum())
    share = hits / n
    reference = "" if tested is None else f", {percent(float(strangers.mean()))} of people never in the data"
    verdict = "" if tested is None else f": {against(tested.p, share, float(strangers.mean()))}"
    notes = [] if tested is not None else [f"members cannot be compared with strangers, because {NO_STRANGERS}"]
    released = np.where(members > 0, people.row[: people.n], -1)

    def records() -> Mapping[str, np.ndarray]:
        return {
            "copied": members.astype(bool),
            "score": scores[: people.n],
            "released_row": np.ma.MaskedArray(released, released < 0),
            "isolation": people.isolation[: people.n],
            "distance": people.reach[: people.n],
        }

    return Result(
        value=share,
        baseline=shown["holdout"],
        interval=wilson(hits, n, confidence),
        **shown,
        exposure=exposed,
        figures={"chance_p": alone if tested is None else None},
        of=n,
        details={
            "n_copied": hits,
            "n_released_copies": len(np.unique(released[released >= 0])),
            "n_holdout_copied": int(strangers.sum()) if tested is not None else None,
            "n_alone": int((people.isolation[: people.n] > TOL).sum()),
            "null_sd": None if tested is None else tested.null_sd,
            "deals": None if tested is None else tested.deals,
        },
        sentence=f"{hits:,} of {n:,} original {plural(n, 'record')} ({percent(share, 2)}) {said}{reference}{verdict}. "
        f"{SIMILARITY}",
        warnings=notes,
        records=records,
        flag="copied",
        rank="score",
    )


def _with_twins(exchanged: float, by_chance: float, strangers_found: bool) -> float:
    """The p value of exact copies: that of exchanged labels, lowered by what real people say about chance.

    Where real people never equal each other, a few equal records are no luck, whoever they are of. That holds for a
    release made like the population; one that piles up common records equals members and strangers alike, so the
    exchange must point the same way, and counts at most four times as much. Few strangers cannot point anywhere: where
    none of them is found, a tenth of the level is set aside for chance alone.
    """
    together = max(exchanged / MOST_LOWERED, by_chance)
    return min(exchanged, together, 1.0 if strangers_found else 10 * by_chance)


def _chance_of_equals(
    pair: Pair, columns: Sequence[str] | None, missing: str, random_state: RandomState
) -> float | None:
    """p value of the test that needs no holdout: do released records equal an original more often than real people
    equal each other? None where missing values are no values, and where more than one person in five has a twin: there
    equal records are no sign of copying, and only people never in the data could tell.

    A match weighs what it surprises, counted among the other people on either side. Rows that equal each other are one
    unit, because they are matched or not together.
    """
    if missing != "level":
        return None
    chosen = tuple(chosen_columns(pair, columns))
    ids = pair.memo(("row_ids", chosen, None), lambda: row_ids(pair, chosen, None))
    members, released = ids["original"], ids["released"]
    real = np.concatenate([members, ids["holdout"]]) if pair.has_holdout else members
    size = 1 + int(max(real.max(initial=0), released.max(initial=0)))
    twins = np.bincount(real, minlength=size)[real] > 1
    if twins.mean() > COARSE:
        return None
    copied = np.zeros(size, bool)
    copied[members] = True
    surprise = np.zeros(size)
    surprise[real] = information(pair, chosen)
    n = len(members)
    matched = np.where(copied[released], weight_of(surprise[released], n), 0.0)
    met = np.where(twins, weight_of(information(pair, chosen, others=True), n), 0.0)
    tested = exchange_scores(
        matched, met, clusters=(released, real + size), random_state=random_state, name="exact_copies without holdout"
    )
    return tested.p
