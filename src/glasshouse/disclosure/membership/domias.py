"""Membership attacks by density: DOMIAS, with k-nearest-neighbour, kernel and count densities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.advice import MEMBERSHIP
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.disclosure.membership.scores import (
    Alike,
    Separation,
    attack_result,
    check_holdout,
    placement_auc,
    separate,
)
from glasshouse.engines.asked import Asked, People, people_asked
from glasshouse.engines.canonical import canonical
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import Nearest, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

_FLOOR = 1e-6
_KERNEL_NEIGHBOURS = 50
RADII = (0.05, 0.1, 0.2)
COUNTED_PEOPLE = 20_000
COUNTED_COLUMNS = 60
DENSITIES = ("knn", "kde", "count")
PEOPLE = ("original", "holdout")
Halves: TypeAlias = tuple[np.ndarray, np.ndarray]
Rounds: TypeAlias = tuple[Halves, Halves]  # who is tested, and whom they are compared with
Score: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
Lists: TypeAlias = dict[str, np.ndarray]


@measure(
    side="disclosure",
    family="membership",
    threat="membership",
    better="lower",
    range=(0, 1),
    needs=("holdout",),
    limit=LEAK_LIMIT,
    cite="van Breugel, Sun, Qian & van der Schaar (2023), Membership inference attacks against synthetic data, AISTATS",
    attacker="every column of the person, the release, and a sample of the population without that person",
    caveats="Sees local overfitting and copies; a leak elsewhere in the distribution escapes it.",
    cost="neighbours",
    tier="fast",
    audited=True,
    group="membership",
    title="DOMIAS",
    advice=MEMBERSHIP,
    by_position=("auc_clean_reference",),
    on_map=True,
    riskutility=("DOMIAS", lambda r: {"auc": r.value}),
    influence="free",
    chance=0.5,
    wide="columns",
    grows="people",
)
def domias(
    pair: Pair,
    *,
    density: str = "knn",
    k: int = 1,
    radius: float | str = 0.1,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    counts: bool | None = None,
    people: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """How well an attacker tells members from others by where the release is denser than the population.

    A person is likely a member where released records are dense although other people of the population are not. One
    half of the holdout serves as the sample of the population while the other half is tested as non-members, then they
    swap, and the AUCs are averaged. The test asks everybody alike: against all other real people.

    Parameters
    ----------
    pair : Pair
        Original and release with a holdout: people of the same population whom the synthesiser never saw.
    density : {"knn", "kde", "count"}, default "knn"
        How densities are estimated (see Notes).
    k : int, default 1
        Neighbours of ``density="knn"``; the k-th nearest record tells the density.
    radius : float or "auto", default 0.1
        Radius of ``density="count"`` in Gower distance, in (0, 1); "auto" is the median distance of holdout records to
        their fifth neighbour.
    columns : sequence of str, optional
        Columns the attacker knows; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    counts : bool, optional
        Whether ``details["domias_count"]`` repeats the counting version of riskutility (reference: everybody else), for
        comparison; by default up to 20,000 people and 60 columns.
    people : int or "all", optional
        How many of original and of holdout are asked about at most, drawn at random, where ``density="knn"``. Default:
        everybody, and 50,000 of more than 100,000. The release and the people they are compared with are never thinned.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the halves of the holdout and of the exchange of clusters.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: AUC, the share of comparisons of a member with a non-member the attacker gets right (0.5 without a
        leak); ``baseline``: 0.5. ``difference``: members minus holdout people above a score that 1 % of holdout people
        exceed (one of them, if 1 % are fewer), with interval; ``p_value``: that of exchanged labels; ``counts``
        and ``operating``: hits and false alarms at a few thresholds. ``details``: interval and advantage (largest TPR -
        FPR), TPR at 1 % and 0.1 % false alarms, the least AUC this holdout could have detected, the AUC with five
        neighbours. ``records``: per original its ``score`` and whether it is ``exposed``.

    Notes
    -----
    With p_S the density of the release and p_R that of a reference sample that holds neither the tested members nor the
    tested non-members

        score(x) = log p_S(x) / p_R(x)

        knn     log((d_k(x, R) + 1e-6) / (d_k(x, S) + 1e-6)), d_k the distance to the k-th nearest record
        kde     exponential kernel on Gower distances, bandwidth the median 5-neighbour distance in the holdout per
                column, cut after the 50 nearest records
        count   records within the radius, one added, each per record of its table

    The interval of the AUC is DeLong's, widened for people judged by the same release record. For ``difference``, the
    p value and ``records`` everybody is asked alike: R is original and holdout together without the person asked (and
    without their cluster, for "knn" and "kde"), and the labels, of whole clusters, are exchanged twice: are members
    ranked higher, and are more of them found at few false alarms? The smaller p value counts, doubled.

    References
    ----------
    van Breugel, Sun, Qian & van der Schaar (2023), Membership inference attacks against synthetic data through
    overfitting detection, AISTATS.
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under correlated ROC curves, Biometrics 44.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.domias(gh.data.load("health").pair())
    >>> round(found.value, 3), round(found.p_value, 3)
    (0.674, 0.0)
    """
    if density not in DENSITIES:
        raise InputError(f"density must be one of {', '.join(DENSITIES)}, not {density!r}")
    if k < 1:
        raise InputError(f"k must be a positive number of neighbours, not {k}")
    check_holdout(pair, columns, at_least=4)
    space = gower_space(pair, columns, missing)
    halves = holdout_halves(canonical(pair, space.columns).order("holdout"), random_state)
    most = min(pair.n("released"), len(halves[0]), len(halves[1]))
    neighbours = min(k, most)
    details: dict[str, object] = {"density": density, "k": neighbours}
    possible = None
    who = people_asked(pair, people if density == "knn" else "all", random_state)
    rounds = _rounds(halves, who)
    near = {t: space.nearest(space.asking(t, who.rows[t]), "released", min(max(k, 5), most), n_jobs) for t in PEOPLE}
    if density == "knn":
        lists = _neighbour_lists(space, rounds, near, n_jobs, who)
        scores = _knn_scores(lists, neighbours)
        details["auc_k5"] = _swapped(_knn_scores(lists, min(5, most)), rounds, confidence).auc
        real = nearest_others(space, pair, neighbours, n_jobs, who)
        reach = {"original": lists["original"], "holdout": who.of("holdout", lists["holdout"])}
        asked = [_log_ratio(real[t][:, neighbours - 1], reach[t][:, neighbours - 1]) for t in PEOPLE]
        if neighbours == 1:
            possible = _log_ratio(real["original"][:, 0], np.zeros(who.n("original")))
    elif density == "kde":
        scores = _kde_scores(space, halves, n_jobs)
        asked = _kde_alike(space, pair, n_jobs)
    else:
        within = _radius(space, radius, n_jobs)
        scores = _count_scores(space, halves, within, n_jobs)
        asked = [np.log(ratio) for ratio in _count_ratios(space, within, n_jobs).values()]
    judged_by = _judges(space, pair, near, n_jobs, who)
    alike = Alike(asked[0], asked[1], who.clusters(pair), possible)
    found = _swapped(scores, rounds, confidence, judged_by, alike, random_state)
    few = pair.n("original") + pair.n("holdout") <= COUNTED_PEOPLE and len(space.columns) <= COUNTED_COLUMNS
    if counts or (counts is None and few):
        chosen = _radius(space, radius, n_jobs)
        radii = sorted({*RADII, round(chosen, 6)}) if density == "count" else RADII
        counted = {f"{r:g}": counting(space, r, pair.n("holdout"), n_jobs) for r in radii}
        details |= {"domias_count": counted, **counted}
    return attack_result(
        found,
        alike.members,
        attacker="An attacker who compares densities",
        details=details,
        n_others=who.n("holdout"),
        confidence=confidence,
        asked=who,
    )


def _rounds(halves: Halves, who: Asked) -> Rounds:
    """The people of each half who are tested, and the other half, which they are compared with, as a whole."""
    asked = who.rows["holdout"]
    tested = halves if asked is None else tuple(np.intersect1d(half, asked) for half in halves)
    if any(not len(some) for some in tested):
        raise NotApplicable(
            f"of {who.n('holdout'):,} holdout people drawn at random all are in one half, and each half is compared "
            "with the other; raise people="
        )
    return (tested[0], halves[1]), (tested[1], halves[0])


def _judges(
    space: Space, pair: Pair, near: Mapping[str, Nearest], n_jobs: int | None, who: Asked
) -> tuple[np.ndarray, np.ndarray]:
    """The released record nearest to every member and non-member; of several, the same whatever the order of rows."""
    released, order = space.rows("released"), canonical(pair, space.columns).order("released")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.full(released.size, len(order))
    np.minimum.at(first, released.inverse, place)

    def judges(table: str) -> np.ndarray:
        row, distinct = near[table].row, near[table].distinct
        tied = (row >= 0) & (distinct == distinct[:, :1])
        found = row[np.arange(len(row)), np.where(tied, first[row], len(order)).argmin(axis=1)]
        more = np.flatnonzero(tied[:, -1])  # as many as were looked for are equally near: there may be others
        if len(more) and row.shape[1] < released.size:
            some = who.rows[table]
            asking = space.rows(table, more if some is None else some[more])
            found[more] = space.search(asking, space.rows("released", order), 1, n_jobs=n_jobs).row[:, 0]
        return np.asarray(found)

    return judges("original"), judges("holdout")


def holdout_halves(order: np.ndarray, random_state: RandomState) -> Halves:
    """A random half of the holdout and the rest; ``order`` is the canonical one, so that rows may come in any."""
    n = len(order)
    shuffled = order[generator(random_state, "holdout halves").permutation(n)]
    return np.sort(shuffled[: n // 2]), np.sort(shuffled[n // 2 :])


def counting(space: Space, radius: float, n_holdout: int, n_jobs: int | None) -> dict[str, float | int | None]:
    """riskutility's counting attack: (c_S + 1) / (c_R + 1), the reference being everybody else in both real tables."""
    in_release, around = _counts(space, radius, n_jobs)
    ratio = _ratios(in_release, around)
    # A reference that holds nobody who is tested: the second half of the holdout as given, the first half being tested.
    reference = space.rows("holdout", np.arange(n_holdout // 2, n_holdout))
    clean = {t: space.count_between(space.rows(t), reference, radius, n_jobs) for t in ("original", "holdout")}
    tested = slice(0, n_holdout // 2)
    clean_auc = placement_auc(
        (in_release["original"] + 1) / (clean["original"] + 1),
        ((in_release["holdout"] + 1) / (clean["holdout"] + 1))[tested],
    )[0].mean()
    means = {t: float(r.mean()) for t, r in ratio.items()}
    return {
        "auc": float(placement_auc(ratio["original"], ratio["holdout"])[0].mean()),
        "mean_train": means["original"],
        "mean_holdout": means["holdout"],
        "memorization": means["original"] / means["holdout"],
        "sum_count_synth_train": int(in_release["original"].sum()),
        "sum_count_ref_train": int(around["original"].sum()),
        "auc_clean_reference": float(clean_auc),
    }


def _counts(space: Space, radius: float, n_jobs: int | None) -> tuple[Lists, Lists]:
    """Release records, and other real people, within the radius of every person."""
    in_release = {t: space.count_within(t, "released", radius, n_jobs) for t in PEOPLE}
    around = {t: np.sum([space.count_within(t, other, radius, n_jobs) for other in PEOPLE], axis=0) for t in PEOPLE}
    return in_release, around


def _count_ratios(space: Space, radius: float, n_jobs: int | None) -> Lists:
    return _ratios(*_counts(space, radius, n_jobs))


def _ratios(in_release: Lists, around: Lists) -> Lists:
    return {t: (in_release[t] + 1) / (around[t] + 1) for t in PEOPLE}


def _swapped(
    scores: Score,
    rounds: Rounds,
    confidence: float,
    judged_by: tuple[np.ndarray, np.ndarray] | None = None,
    alike: Alike | None = None,
    random_state: RandomState = 0,
) -> Separation:
    """Score with each half as reference in turn; DeLong components averaged per member and kept per non-member."""
    everybody = np.sort(np.concatenate([tested for tested, _ in rounds]))
    lost = np.empty(len(everybody))
    others = np.empty(len(everybody))
    won, members = [], []
    for tested, reference in rounds:
        joint = scores(tested, reference)
        member, other = joint[: -len(tested)], joint[-len(tested) :]
        beats, beaten = placement_auc(member, other)
        won.append(beats)
        at = np.searchsorted(everybody, tested)
        lost[at] = beaten
        others[at] = other
        members.append(member)
    return separate(
        np.concatenate(members),
        others,
        confidence,
        placements=(np.mean(won, axis=0), lost),
        member_versions=2,
        judged_by=judged_by,
        alike=alike,
        random_state=random_state,
    )


def _neighbour_lists(
    space: Space, rounds: Rounds, near: Mapping[str, Nearest], n_jobs: int | None, who: Asked
) -> Lists:
    """Distances to the k nearest release records and reference people, keyed by who asks or by the reference; of the
    holdout at the places of its records, infinite where nobody is asked about."""
    lists = {t: near[t].distance for t in PEOPLE}
    k, some = lists["holdout"].shape[1], who.rows["holdout"]
    if some is not None:
        lists["holdout"] = np.full((who.sizes["holdout"], k), np.inf)
        lists["holdout"][some] = near["holdout"].distance
    for tested, reference in rounds:
        people = space.rows("holdout", reference)
        ready = space.prepare(people)
        asked = (space.rows("original", who.rows["original"]), space.rows("holdout", tested))
        found = [space.search(rows, people, k, ready=ready, n_jobs=n_jobs).distance for rows in asked]
        lists[f"reference {reference[0]}"] = np.concatenate(found)
    return lists


def _knn_scores(lists: Lists, k: int) -> Score:
    """log((d_k to the reference + e) / (d_k to the release + e)) for the originals, then the tested holdout half."""

    def score(tested: np.ndarray, reference: np.ndarray) -> np.ndarray:
        release = np.concatenate([lists["original"][:, k - 1], lists["holdout"][tested, k - 1]])
        return _log_ratio(lists[f"reference {reference[0]}"][:, k - 1], release)

    return score


def _log_ratio(people: np.ndarray, release: np.ndarray) -> np.ndarray:
    return np.asarray(np.log((people + _FLOOR) / (release + _FLOOR)))


def _kde_scores(space: Space, halves: Halves, n_jobs: int | None) -> Score:
    """Difference of log kernel densities; the kernel is exp(-d / h), cut after the 50 nearest records."""
    # A kernel of equal width in every column reaches p times that width in all of them together.
    bandwidth = _radius(space, "auto", n_jobs) / len(space.columns)
    release = _release_density(space, bandwidth, n_jobs)

    def score(tested: np.ndarray, reference: np.ndarray) -> np.ndarray:
        people = space.rows("holdout", reference)
        few = min(_KERNEL_NEIGHBOURS, len(reference))
        parts = [space.rows("original"), space.rows("holdout", tested)]
        population = [
            _log_density(space.search(p, people, few, n_jobs=n_jobs).distance, len(reference), bandwidth) for p in parts
        ]
        return np.asarray(
            np.concatenate([release["original"], release["holdout"][tested]]) - np.concatenate(population)
        )

    return score


def _release_density(space: Space, bandwidth: float, n_jobs: int | None) -> Lists:
    n = space.rows("released").n
    k = min(_KERNEL_NEIGHBOURS, n)
    return {t: _log_density(space.nearest(t, "released", k, n_jobs).distance, n, bandwidth) for t in PEOPLE}


def _kde_alike(space: Space, pair: Pair, n_jobs: int | None) -> list[np.ndarray]:
    """Difference of log kernel densities of the release and of all other real people."""
    # the bandwidth must not look at the label either
    k = min(5, sum(pair.n(t) for t in PEOPLE) - 1)
    real = nearest_others(space, pair, max(k, min(_KERNEL_NEIGHBOURS, min(pair.n(t) for t in PEOPLE) - 1)), n_jobs)
    fifth = np.concatenate([real[t][:, k - 1] for t in PEOPLE])
    bandwidth = max(float(np.median(fifth[np.isfinite(fifth)])), _FLOOR) / len(space.columns)
    release = _release_density(space, bandwidth, n_jobs)
    return [release[t] - _log_density(real[t], 1, bandwidth) for t in PEOPLE]


def _log_density(near: np.ndarray, size: int, bandwidth: float) -> np.ndarray:
    first = near[:, :1]
    weight = np.where(np.isfinite(near), np.exp(-(near - first) / bandwidth), 0.0)
    return np.asarray(-first[:, 0] / bandwidth + np.log(weight.sum(axis=1) / size))


def _count_scores(space: Space, halves: Halves, radius: float, n_jobs: int | None) -> Score:
    """Log ratio of records within the radius, one added, each per record of its table."""
    in_release = {t: space.count_within(t, "released", radius, n_jobs) for t in ("original", "holdout")}
    n_released = space.rows("released").n

    def score(tested: np.ndarray, reference: np.ndarray) -> np.ndarray:
        people = space.rows("holdout", reference)
        parts = [space.rows("original"), space.rows("holdout", tested)]
        around = np.concatenate([space.count_between(part, people, radius, n_jobs) for part in parts])
        release = np.concatenate([in_release["original"], in_release["holdout"][tested]])
        return np.asarray(np.log((release + 1) / n_released) - np.log((around + 1) / len(reference)))

    return score


def _radius(space: Space, radius: float | str, n_jobs: int | None) -> float:
    """The radius asked for; "auto" is the median distance of holdout records to their fifth neighbour."""
    if radius == "auto":
        k = min(5, space.rows("holdout").n - 1)
        return max(float(np.median(space.nearest("holdout", "holdout", k, n_jobs).distance[:, k - 1])), _FLOOR)
    if isinstance(radius, str) or not 0 < radius < 1:
        raise InputError(f"radius must lie between 0 and 1, or be 'auto', not {radius!r}")
    return float(radius)
