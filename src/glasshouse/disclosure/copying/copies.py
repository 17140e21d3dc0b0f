"""Records of people unlike anybody else in the release: exactly, and in all columns but one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PEOPLE_COPIED
from glasshouse.core.limits import LEAK_LIMIT, Evidence, Limit
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import SIMILARITY
from glasshouse.disclosure.copying.closeness import refuse_infinite
from glasshouse.disclosure.copying.found import CITE, copied_people
from glasshouse.disclosure.copying.pooled import exact_scores, pooled
from glasshouse.engines.asked import Asked, People, everybody, people_asked
from glasshouse.engines.exchange import exchange_scores
from glasshouse.engines.neighbours.effort import drawn_columns, most_columns
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import TOL
from glasshouse.engines.pairs.equality import by_chance, equals, weight_of

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

COARSE = 0.2
COMMON = 4.0  # so many times surer must an exchange be where people often equal each other but for one column
BY_CHANCE = Limit(
    "chance_p",
    warn=0.05,
    fail=0.01,
    operator=">=",
    evidence=Evidence(),
    why="equal records beyond those the original has with itself",
)


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Exact copies",
    better="lower",
    limit=replace(LEAK_LIMIT, without_holdout=BY_CHANCE),
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
    people: People = None,
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
    people : int or "all", optional
        Among how many of original and of holdout, drawn at random, a copied person's distance to the next is ranked.
        Default: everybody, and 50,000 of more than 100,000. Copies are looked for of everybody.
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
    at least the one seen. In tables too wide for distances between all people
    (:mod:`glasshouse.engines.neighbours.effort`) records are still compared in every column, and iso_j is measured in
    some of them.
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
    chosen, notes = chosen_columns(pair, columns), list[str]()
    many = missing == "level" and len(chosen) > most_columns(pair)
    measured = drawn_columns(chosen, most_columns(pair), (*pair.keys, *pair.targets)) if many else chosen
    asked = people_asked(pair, people, random_state) if missing == "level" else everybody(pair)
    if many:
        notes.append(
            f"records are compared in all of {len(chosen):,} columns; how far apart people are is measured in "
            f"{len(measured)} of them"
        )
    if not asked.whole:
        return _of_many(pair, chosen, measured, asked, columns, confidence, random_state, n_jobs, notes)
    found = pooled(pair, measured, missing, n_jobs)
    copied, alone, row = (found.reach <= TOL) & (found.isolation > TOL), found.isolation > TOL, found.row
    if many:
        equal = equals(pair, chosen)
        copied, alone, row = equal.whole, equal.single, equal.row
        found = replace(found, information=equal.information)
    return copied_people(
        pair,
        copied,
        exact_scores(copied, found.information, found.isolation, found.released, found.isolation),
        alone=alone,
        row=row,
        said="have their exact record in the release",
        confidence=confidence,
        random_state=random_state,
        name="exact_copies",
        chance=_equals_by_chance(pair, columns, False, random_state) if missing == "level" else None,
        columns=found.distances,
        notes=notes,
    )


def _of_many(
    pair: Pair,
    chosen: Sequence[str],
    measured: Sequence[str],
    asked: Asked,
    columns: Sequence[str] | None,
    confidence: float,
    random_state: RandomState,
    n_jobs: int | None,
    notes: Sequence[str],
) -> Result:
    """Equal records of everybody, which are found by sorting; how far apart people are of those who are copied, ranked
    among a sample of all."""
    refuse_infinite(pair, measured)
    equal = equals(pair, chosen)
    space = gower_space(pair, measured, "level")
    isolation = np.zeros(len(equal.whole))
    for who in (asked, asked.others(equal.whole)):  # those asked about anyhow share their searches with other measures
        apart = nearest_others(space, pair, 1, n_jobs, who)
        isolation[who.positions] = np.concatenate([found[:, 0] for found in apart.values()])
    among = isolation[asked.positions]
    return copied_people(
        pair,
        equal.whole,
        exact_scores(equal.whole, equal.information, isolation, pair.n("released"), among),
        alone=equal.single,
        row=equal.row,
        said="have their exact record in the release",
        confidence=confidence,
        random_state=random_state,
        name="exact_copies",
        chance=_equals_by_chance(pair, columns, False, random_state),
        notes=[
            *notes,
            f"records are compared of everybody; how far apart people are is ranked among {len(among):,} drawn at "
            "random, people='all' ranks among all",
        ],
    )


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Copies but for one column",
    better="lower",
    limit=LEAK_LIMIT,
    cite=CITE,
    attacker="every column of some people, one of them wrong",
    caveats=SIMILARITY,
    cost="rows",
    tier="fast",
    group="exact copies",
    alone="fail",
    advice=PEOPLE_COPIED,
    audited=True,
)
def copies_but_one(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Result:
    """Share of people whose record is in the release in all columns but at most one, where it fits nobody else.

    One redrawn cell, or one column of pure noise, hides a copy from a test of whole records. It does not hide it here.

    Parameters
    ----------
    pair : Pair
        Original, release and, if there is one, holdout.
    columns : sequence of str, optional
        The columns compared; all shared ones by default. Missing is a value of its own.
    confidence : float
        Of the intervals.
    random_state : int, Generator or None
        Seed of the exchange of labels; None draws.

    Returns
    -------
    Result
        ``value`` is the share of original people copied, ``holdout`` the same of holdout people, ``difference`` the
        leak and ``p_value`` the exchange test. ``records`` flags each original with the released row that fits.

    Notes
    -----
    Person j is copied when, with some column left out or with none, a released record equals j and no other real person
    does; with clusters, another person is one of another cluster. The score exchanged is

        log(1 + 0.01 e^(I_j) / m),   m released records,

    with I_j the sum of -log(share of real people with j's value) over the columns that agree, the largest where
    several columns can be left out. As for ``exact_copies``, real people who equal each other but for one column say
    what chance does, as long as at most one in five is met so: they lower the p value at most fourfold, and where no
    stranger is found ten times their own p value counts. Where more people are met so, a match is no surprise, and
    the exchange must be four times as sure. Without a holdout nothing is tested: a release that is smoother than
    people meets them but for one column more often than they meet each other (1 of 24 clean releases had p < 0.01).

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.disclosure.copies_but_one(gh.data.load("health").pair()).verdict
    'fail'
    """
    alike = equals(pair, chosen_columns(pair, columns))
    # without people never in the data a release that is smoother than people would look like a leak
    chance = _equals_by_chance(pair, columns, True, random_state) if pair.has_holdout else None
    return copied_people(
        pair,
        alike.partial > 0,
        weight_of(alike.partial, pair.n("released")),
        alone=alike.alone,
        row=alike.row,
        said="have their record in the release, in all columns but at most one",
        confidence=confidence,
        random_state=random_state,
        name="copies_but_one",
        chance=chance,
        surer=COMMON if chance is None else 1.0,
    )


def _equals_by_chance(
    pair: Pair, columns: Sequence[str] | None, but_one: bool, random_state: RandomState
) -> float | None:
    """p value of the test that needs no holdout: do released records equal an original more often than real people
    equal each other? None where more than one person in five has a twin: there equal records are no sign of copying,
    and only people never in the data could tell.

    A match weighs what it surprises. Rows that match alike are one unit, because they are matched or not together.
    """
    found = by_chance(pair, chosen_columns(pair, columns), but_one)
    if (found.met > 0).mean() > COARSE:
        return None
    n, released = pair.n("original"), len(found.matched)
    units = np.unique(np.concatenate(found.units), return_inverse=True)[1].reshape(-1)
    # the same record on both sides is two units
    sides = 2 * units[:released], 2 * units[released:] + 1
    return exchange_scores(
        weight_of(found.matched, n),
        weight_of(found.met, n),
        clusters=sides,
        random_state=random_state,
        name="equal records by chance",
    ).p
