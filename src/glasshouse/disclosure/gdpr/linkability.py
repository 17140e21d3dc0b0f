"""Linkability: does the release connect two halves of what is known about one person?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from glasshouse.core.advice import LINKED
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.disclosure.gdpr.links import Links, Spaces, linked
from glasshouse.disclosure.gdpr.statistics import (
    CITE,
    LEAK,
    Attack,
    Exchanged,
    Side,
    difference_interval,
    report,
)
from glasshouse.engines.asked import Asked, People, records_asked, spread
from glasshouse.engines.canonical import drawn_records
from glasshouse.engines.exchange import exchange, exposed_people, people_clusters
from glasshouse.engines.neighbours.encoding import encode_pair
from glasshouse.engines.neighbours.gower import chosen_columns
from glasshouse.engines.neighbours.search import RULES, Space

DIRECTIONS = ("bridge", "release")
THINNINGS = 5
LOOKED_UP = 20_000  # of more than 100,000 people: each is looked up twice for every one of ten cuts
# Among fewer records than this the two halves of anybody may meet by likeness alone, member or not.
ENOUGH_TO_TELL = 100
Split: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # what each side knows


@measure(
    side="disclosure",
    family="gdpr",
    threat="identity",
    better="lower",
    range=(0, 1),
    limit=LEAK,
    figures=("over_naive",),
    audited=True,
    cost="neighbours",
    group="linkability",
    cite=CITE,
    attacker="two disjoint sets of columns about a person, held apart",
    caveats="one way of cutting the columns in two decides much of the answer, so several random cuts are "
    "averaged unless columns= is given; "
    "a very small release links everybody, members and strangers alike, so only the comparison with the control speaks",
    advice=LINKED,
    by_position=("lowest_index",),
    on_map=True,
    riskutility=("Linkability", lambda r: {"risk": r.value}),
    influence="free",
    wide="columns",
    grows="people",
)
def linkability(
    pair: Pair,
    *,
    columns: Sequence[Sequence[str]] | None = None,
    among: Sequence[str] | None = None,
    k: int = 1,
    direction: str = "bridge",
    n_attacks: People = None,
    n_splits: int = 10,
    missing: str = "level",
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people whose two halves lead to the same released record.

    An attacker who holds two sets of columns about people, apart, uses the release as a bridge: a link is made when the
    released records nearest to a person by the one set and by the other share a record. Likeness alone links people
    too, so only the comparison with people never in the data speaks of a leak.

    Parameters
    ----------
    pair : Pair
        Original and release with at least two shared columns. A holdout gives the control.
    columns : two sequences of str, optional
        What each side knows, disjoint: ``(["age", "sex"], ["income", "region"])``. By default the shared columns are
        cut in two at random, ``n_splits`` times.
    among : sequence of str, optional
        The columns that are cut in two at random; all shared ones by default.
    k : int, default 1
        Nearest records looked at on each side.
    direction : {"bridge", "release"}, default "bridge"
        "bridge": for a person, the nearest released records. "release": for a released record, the nearest originals
        by each set; a link when they share an original.
    n_attacks : int or "all", optional
        Attack a random sample of this many records. Default: everybody, and 20,000 of more than 100,000 of a table:
        each is looked up twice for every cut.
    n_splits : int, default 10
        Random cuts of the columns that are averaged.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in the distance: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the cuts, the samples and the thinning.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share linked; ``baseline``: that of two random sets of k records; ``holdout``: that of people
        never in the data; ``difference``: value minus holdout, with interval and p value; ``excess``:
        (value - holdout) / (1 - holdout). ``details``: range over the cuts, links under other tie rules (for given
        ``columns``), numbers of guesses and successes, and anonymeter's figures. ``records`` (bridge only): per
        original the chance of a link and the sizes of the tied sets.

    Notes
    -----
    Ties at the k-th place are broken at random, and the success is the exact probability over those draws; for k = 1
    with tied sets M0 and M1 it is

        |M0 n M1| / (|M0| |M1|)

    Baseline: two random k-subsets of n records meet with probability 1 - C(n - k, k) / C(n, k). Each person is asked on
    their own, so the bridge needs no equal sizes: for the p value members and strangers are looked up on one scale and
    their labels, of whole clusters, exchanged. A released record is no person: in the release direction the larger of
    original and holdout is thinned to the size of the smaller, and the p value comes from the interval of the
    difference.

    References
    ----------
    Giomi, Boenisch, Wehmeyer & Tasnadi (2023), A unified framework for quantifying privacy risk in synthetic data,
    PoPETs 2023(2).

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.linkability(gh.data.load("health").pair(), n_splits=3)
    >>> round(found.value, 3), round(found.baseline, 3), round(found.difference, 3)
    (0.034, 0.001, 0.032)
    """
    if direction not in DIRECTIONS:
        raise InputError(f"direction must be one of {listed(DIRECTIONS)}, not {direction!r}")
    if k < 1 or n_splits < 1:
        raise InputError("k and n_splits must be at least 1")
    splits = _splits(pair, columns, among, n_splits, generator(random_state, "linkability", "splits"))
    searched = "released" if direction == "bridge" else "original"
    queried = "original" if direction == "bridge" else "released"
    targets = _drawn(pair, queried, n_attacks, random_state)

    def two_sides(split: Split, people: str | None) -> Spaces:
        # random cuts are not kept on the pair: they would only fill its memory
        first, second = (attack_space(pair, side, missing, people, keep=columns is not None) for side in split)
        return first, second

    # an attacker who names the columns scales them by the people attacked, as the published method does; random cuts
    # are on one scale for members and strangers
    own, other = ("original", "holdout") if columns is not None else (None, None)
    bridged = pair.has_holdout and direction == "bridge"

    def looked_up(two: Spaces, table: str) -> Links:
        asked = _drawn(pair, table, n_attacks, random_state)
        return linked(two, table, asked, searched, None, k, n_jobs, by_number=len(splits) == 1)

    attacked, control = list[Links](), list[Links]()
    for split in splits:  # one after the other: the points of all of them would fill the memory
        two = two_sides(split, own)
        attacked.append(looked_up(two, queried))
        if bridged:
            # one scale for all where cuts are random: who was looked up for the figures is looked up for the test
            control.append(looked_up(two if other is None else two_sides(split, other), "holdout"))
    probability = np.mean([a.probability for a in attacked], axis=0)
    n = len(probability)
    attack = Side(float(probability.sum()), n)
    baseline = Side(_naive(pair.n(searched), k) * n, n)
    details: dict[str, object] = {
        "direction": f"linkability_{direction}",
        "k": k,
        "splits": len(splits),
        **attacked[0].counts(len(splits)),
    }
    if len(splits) > 1:
        rates = [float(a.probability.mean()) for a in attacked]
        details |= {"split_min": min(rates), "split_max": max(rates), "split_sd": float(np.std(rates, ddof=1))}
    exchanged: Exchanged | None = None
    whole = Attack(attack, baseline, None)
    if bridged:
        details["control"] = control[0].counts(len(splits))
        rate = np.mean([c.probability for c in control], axis=0)
        whole = Attack(attack, baseline, Side(float(rate.sum()), len(rate)))
        sides = attacked, control
        if other is not None:
            alike = two_sides(splits[0], None)
            sides = [looked_up(alike, "original")], [looked_up(alike, "holdout")]
        asked = targets, _drawn(pair, "holdout", n_attacks, random_state)
        exchanged = _exchanged(pair, sides, asked, confidence, random_state)
    elif pair.has_holdout:
        sides_of = [map(partial(two_sides, people=people), splits) for people in (own, other)]
        whole = _equal_sizes(pair, sides_of, whole, targets, k, confidence, random_state, n_jobs, details)

    tied = attacked[0].tied  # and not what was found in all cuts, which the result would keep

    def records() -> dict[str, np.ndarray]:
        columns_of = {"linked": probability, "tied_first": tied[0], "tied_second": tied[1]}
        return {name: spread(values, targets, pair.n("original")) for name, values in columns_of.items()}

    return report(
        whole,
        confidence=confidence,
        guess=f"{'people' if pair.cluster is None else 'records'} looked up by two halves of their data"
        if direction == "bridge"
        else "released records looked up by two halves",
        success="lead to the same released record" if direction == "bridge" else "lead to the same original",
        details=details,
        records=records if direction == "bridge" else None,
        flag="linked" if direction == "bridge" else None,
        decisive=pair.n(searched) >= ENOUGH_TO_TELL,
        exchanged=exchanged,
        warnings=_limited(pair, n_attacks, random_state, direction),
    )


def _limited(pair: Pair, wanted: People, random_state: RandomState, direction: str) -> list[str]:
    """What is said where nobody asked for a sample and there is one."""
    if wanted is not None or direction != "bridge":
        return []
    tables = ["original", *(["holdout"] if pair.has_holdout else [])]
    who = Asked({t: _drawn(pair, t, wanted, random_state) for t in tables}, {t: pair.n(t) for t in tables})
    return who.notes("n_attacks")


def _drawn(pair: Pair, table: str, wanted: People, random_state: RandomState) -> np.ndarray | None:
    """Record numbers to attack, the same people whatever the order of the rows; None for all of them."""
    return records_asked(pair, table, wanted, random_state, "n_attacks", LOOKED_UP)


def _exchanged(
    pair: Pair,
    attacks: tuple[list[Links], list[Links]],
    asked: tuple[np.ndarray | None, np.ndarray | None],
    confidence: float,
    random_state: RandomState,
) -> Exchanged:
    """Members and strangers looked up on one scale: the p value of exchanged labels, and the people exposed."""
    members, strangers = (np.mean([a.probability for a in side], axis=0) for side in attacks)
    reachable = np.mean([a.if_copied for a in attacks[0]], axis=0)
    clusters = people_clusters(pair)
    if clusters is not None:
        own, other = (ids if at is None else ids[at] for ids, at in zip(clusters, asked, strict=True))
        clusters = own, other
    p = exchange(members, strangers, clusters=clusters, random_state=random_state, name="linkability").p
    return Exchanged(p, exposed_people(members, strangers, clusters, reachable, confidence))


def _equal_sizes(
    pair: Pair,
    sides: Iterable[Iterable[Spaces]],
    whole: Attack,
    targets: np.ndarray | None,
    k: int,
    confidence: float,
    random_state: RandomState,
    n_jobs: int | None,
    details: dict[str, object],
) -> Attack:
    """Released records looked up among as many originals as holdout people."""
    size = min(pair.n("original"), pair.n("holdout"))

    def rate_at_size(table: str, spaces: Iterable[Spaces]) -> float:
        draws = THINNINGS if pair.n(table) > size else 1
        rng = generator(random_state, "linkability", "thinning", table)
        parts = [drawn_records(pair, table, size, rng) for _ in range(draws)]
        return float(
            np.mean(
                [
                    linked(two, "released", targets, table, part, k, n_jobs).probability.mean()
                    for two in spaces
                    for part in parts
                ]
            )
        )

    n = whole.attack.guesses
    level, control = (
        Side(rate_at_size(table, spaces) * n, n) for table, spaces in zip(("original", "holdout"), sides, strict=True)
    )
    details |= {"attack_equal_size": level.rate, "size": size}
    gap = level.rate - control.rate, difference_interval(level, control, confidence)
    return Attack(whole.attack, whole.baseline, control, gap=gap)


def _naive(n: int, k: int) -> float:
    """Probability that two random k-subsets of n records meet."""
    if 2 * k > n:
        return 1.0
    return float(1 - np.prod((n - k - np.arange(k)) / (n - np.arange(k))))


def _splits(
    pair: Pair,
    columns: Sequence[Sequence[str]] | None,
    among: Sequence[str] | None,
    n_splits: int,
    rng: np.random.Generator,
) -> list[Split]:
    if columns is None:
        names = sorted(chosen_columns(pair, among))
        if len(names) < 2:
            raise NotApplicable(
                "linkability needs two columns in common, one for each side of the link; release more columns"
            )
        orders = [rng.permutation(len(names)) for _ in range(n_splits)]
        half = (len(names) + 1) // 2
        made: set[Split] = set()
        for order in orders:
            first, second = (tuple(sorted(names[i] for i in part)) for part in (order[:half], order[half:]))
            made.add((min(first, second), max(first, second)))
        return sorted(made)
    if len(columns) != 2 or any(isinstance(side, str) for side in columns):
        raise InputError(
            "columns= takes two lists of columns, what each side knows: columns=(['age', 'sex'], ['income', 'region'])"
        )
    first, second = (tuple(dict.fromkeys(side)) for side in columns)
    if not first or not second:
        raise InputError("each side of columns= needs at least one column")
    shared = [c for c in first if c in second]
    if shared:
        raise InputError(f"columns {listed(shared)} are on both sides; linkability joins two disjoint sets")
    return [(first, second)]


def attack_space(pair: Pair, columns: Sequence[str], missing: str, people: str | None, keep: bool = True) -> Space:
    """Release and attacked people under one scaling: what an attacker with these targets and the release would compute.

    ``people`` names the table attacked; None puts all tables on one scale, so that members and strangers are asked in
    exactly the same way.
    """
    chosen = tuple(columns)
    unknown = [name for name in chosen if name not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in every table (or are identifiers or weights); choose from "
            f"{listed(pair.columns)}"
        )
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")

    def build() -> Space:
        return Space(encode_pair(pair, chosen, missing, None, None if people is None else ("released", people)))

    return pair.memo(("attack_space", chosen, missing, people), build) if keep else build()
