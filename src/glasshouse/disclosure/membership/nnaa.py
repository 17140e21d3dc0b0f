"""Nearest-neighbour adversarial accuracy: does the release sit closer to its originals than to holdout people?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.advice import MEMBERSHIP
from glasshouse.core.intervals import normal_quantile
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import points
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.disclosure.copying.closeness import closeness
from glasshouse.disclosure.membership.scores import (
    Alike,
    check_holdout,
    cluster_variance,
    drawn,
    figures,
    leak,
    separate,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.canonical import canonical
from glasshouse.engines.exchange import exchange_scores, people_clusters, upper_tail
from glasshouse.engines.neighbours.encoding import Rows
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import TOL, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

_FLOOR = 1e-6
_LONGEST_LIST = 48
Ranked: TypeAlias = tuple[np.ndarray, np.ndarray]  # nearest distances, and the chance that each is the nearest one left


@dataclass(frozen=True)
class Side:
    """AA of one set of real people against the release: strict and tied shares, and record values with ties half."""

    left: float
    right: float
    left_tie: float
    right_tie: float
    people: np.ndarray
    release: np.ndarray

    @classmethod
    def of(cls, left: np.ndarray, left_tie: np.ndarray, right: np.ndarray, right_tie: np.ndarray) -> Side:
        """A side from the chances of each person and of each release record."""
        share, back, tie, back_tie = (float(part.mean()) for part in (left, right, left_tie, right_tie))
        return cls(share, back, tie, back_tie, left + left_tie / 2, right + right_tie / 2)

    @property
    def aa(self) -> float:
        return (self.left + self.right) / 2

    @property
    def aa_mid(self) -> float:
        return self.aa + (self.left_tie + self.right_tie) / 4

    def figures(self) -> dict[str, float]:
        return {
            "left": self.left,
            "right": self.right,
            "aa": self.aa,
            "left_tie": self.left_tie,
            "right_tie": self.right_tie,
            "aa_mid": self.aa_mid,
        }


@measure(
    side="disclosure",
    family="membership",
    threat="membership",
    better="lower",
    range=(-1, 1),
    needs=("holdout",),
    limit=LEAK_LIMIT,
    cite="Yale, Dash, Dutta, Guyon, Pavao & Bennett (2020), Privacy preserving synthetic health data, Neurocomputing",
    attacker="every column of the person, the release, and a sample of the population",
    caveats="An average over all people: a few exposed ones hardly move it; read the true-positive rates as well.",
    cost="neighbours",
    group="membership",
    title="NNAA",
    tier="full",
    advice=MEMBERSHIP,
    riskutility=("NNAA", lambda r: {"privacy_loss": r.details["privacy_loss"]}),
    influence="free",
    chance=0.0,
    wide="columns",
    grows="people",
)
def nnaa(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    draws: int = 20,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Privacy loss: how much better the release hides among holdout people than among its own originals.

    Adversarial accuracy asks how often a record's nearest neighbour is of its own kind, real or released; 0.5 is a
    release that cannot be told from people. A release that memorised is told apart less often from its originals than
    from holdout people; the difference is the privacy loss. The same distances give an attack on single people.

    Parameters
    ----------
    pair : Pair
        Original and release with a holdout: people of the same population whom the synthesiser never saw.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    draws : int, default 20
        Random subsets when one table is far larger than the other (less than 12 % of it); else the expectation over
        subsets is taken exactly.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the random subsets and of the exchange of labels.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the privacy loss, 0 without memorisation, from -1 to 1; ``baseline``: 0; ``p_value``: that of
        exchanged labels, of the loss and of the members found at few false alarms, the smaller one doubled.
        ``difference``: members minus holdout people above a score that 1 % of holdout people exceed.
        ``details``: both accuracies with their parts (``train``, ``holdout``), the loss without ties
        (``privacy_loss``), and the figures of the attack (AUC, advantage, TPR at low rates of false alarms).
        ``records``: per original its ``score``, whether it is ``exposed``, and its part of the accuracy (``left``,
        unless subsets were drawn).

    Notes
    -----
    For people A and the release S, with leave-one-out distances d_AA and d_SS and ties counted half,

        AA(A, S) = (mean_a [d_AS > d_AA] + mean_s [d_SA > d_SS]) / 2
        loss     = AA(H, S) - AA(T, S)

    T being the originals and H the holdout. Tables of unequal size are compared at the size of the smaller one: the
    expectation over random subsets comes from neighbour lists. The release is never thinned, which would hide copies.
    For the p value originals and holdout people are asked alike: who is nearer to the release than to the next person
    of both tables together (of another cluster), and for how many release records that are nearer to people than to
    each other a person is the nearest; labels, of whole clusters, are exchanged.
    The attack scores x by the log of its distance to the nearest other person over its distance to the release.

    References
    ----------
    Yale, Dash, Dutta, Guyon, Pavao & Bennett (2020), Generation and evaluation of privacy preserving synthetic health
    data, Neurocomputing 416.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.nnaa(gh.data.load("health").pair())
    >>> round(found.value, 3), round(found.details["auc"], 3)
    (0.151, 0.679)
    """
    check_holdout(pair, columns, at_least=2)
    space = gower_space(pair, columns, missing)
    sizes = {t: pair.n(t) for t in ("original", "holdout")}
    smallest = min(sizes.values())
    notes: list[str] = []
    if max(sizes.values()) == smallest or smallest >= 0.12 * max(sizes.values()):
        own, held = (_expected_side(space, t, smallest, n_jobs) for t in ("original", "holdout"))
        spread = None
    else:
        content = canonical(pair, space.columns).records
        own, held, spread = _drawn_sides(space, content, smallest, draws, random_state, n_jobs)
        notes.append(
            f"mean of {draws} random subsets of {smallest:,} records, because a table is far larger than another"
        )
    if max(sizes.values()) > smallest:
        notes.append(
            f"tables of unequal size are compared at {smallest:,} records each; the people asked about are all of them"
        )
    loss = held.aa_mid - own.aa_mid
    members, others = (space.nearest(t, "released", 1, n_jobs).row[:, 0] for t in ("original", "holdout"))
    nearest_person = space.nearest("released", "original", 1, n_jobs).row[:, 0]
    sd = math.sqrt(_variance(own, held, [members, others, space.rows("released").inverse], nearest_person))
    half = normal_quantile(confidence) * sd
    p_normal = upper_tail(loss / sd) if sd > 0 else (0.0 if loss > TOL else 1.0)
    alone = {t: near[:, 0] for t, near in nearest_others(space, pair, 1, n_jobs).items()}
    scores = {t: _score(space, t, alone[t], n_jobs) for t in ("original", "holdout")}
    possible = np.log(alone["original"] / _FLOOR + 1)
    alike = Alike(scores["original"], scores["holdout"], people_clusters(pair), possible)
    found = separate(
        alike.members, alike.others, confidence, judged_by=(members, others), alike=alike, random_state=random_state
    )
    parts = _parts(pair, space, alone, columns, missing, n_jobs)
    exchanged = exchange_scores(*parts, clusters=alike.clusters, random_state=random_state, name="nnaa")
    found = replace(found, p_ranks=exchanged.p)  # of the adversarial accuracy itself
    details: dict[str, object] = {
        "train": own.figures(),
        "holdout": held.figures(),
        "privacy_loss": held.aa - own.aa,
        "privacy_loss_mid": loss,
        "p_loss": p_normal,
        "size": smallest,
        **figures(found, sizes["original"], sizes["holdout"]),
    }
    if spread is not None:
        details["sd_over_draws"] = spread
    return Result(
        value=loss,
        baseline=0.0,
        interval=(max(-1.0, loss - half), min(1.0, loss + half)),
        of=smallest,
        details=details,
        **leak(found, confidence),
        sentence=(
            f"The release is told apart from holdout people {points(abs(loss)).lstrip('+')} "
            f"{'less' if loss < 0 else 'more'} often than from its originals "
            f"(0 without memorisation); {against(found.p)}; an attacker using these distances reaches an AUC of "
            f"{found.auc:.3f}."
        ),
        warnings=notes,
        plot_data=drawn(found, sizes["holdout"]),
        records=lambda: {
            "score": scores["original"],
            "exposed": alike.flags[0],
            **({"left": own.people} if spread is None else {}),
        },
        flag="exposed",
        rank="score",
    )


def _expected_side(space: Space, table: str, size: int, n_jobs: int | None) -> Side:
    """AA when the table of people is cut to ``size`` at random, exactly up to the length of the neighbour lists."""
    n = space.rows(table).n
    one = np.ones(1)
    to_release = space.nearest(table, "released", 1, n_jobs).distance[:, :1], one
    within = space.nearest("released", "released", 1, n_jobs).distance[:, :1], one
    among = _list(space, table, table, size - 1, n - 1, n_jobs)
    back = _list(space, "released", table, size, n, n_jobs)
    left, left_tie = _farther(to_release, among)
    right, right_tie = _farther(back, within)
    return Side.of(left, left_tie, right, right_tie)


def _list(space: Space, of: str, among: str, size: int, n: int, n_jobs: int | None) -> Ranked:
    """Nearest distances, and the chance that each is the nearest one left when ``n`` records are cut to ``size``."""
    if size >= n:
        return space.nearest(of, among, 1, n_jobs).distance[:, :1], np.ones(1)
    share = size / n
    length = min(n, _LONGEST_LIST, math.ceil(math.log(1e-4) / math.log(1 - share)))
    distance = space.nearest(of, among, length, n_jobs).distance
    chance = np.empty(length)
    left = 1.0
    for j in range(length):
        hit = min(1.0, size / (n - j))
        chance[j] = left * hit
        left *= 1 - hit
    chance[-1] += left
    return distance, chance


def _farther(first: Ranked, second: Ranked) -> tuple[np.ndarray, np.ndarray]:
    """P(first > second) and P(first = second) per record, for two independent nearest distances."""
    above = np.zeros(len(first[0]))
    equal = np.zeros(len(first[0]))
    for a, p in zip(first[0].T, first[1], strict=True):
        for b, q in zip(second[0].T, second[1], strict=True):
            above += p * q * (a > b + TOL)
            equal += p * q * (np.abs(a - b) <= TOL)
    return above, equal


def _drawn_sides(
    space: Space,
    content: Mapping[str, np.ndarray],
    smallest: int,
    draws: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> tuple[Side, Side, float]:
    """Mean over random subsets of equal size; the per-record values are those of the last draw."""
    sides: dict[str, list[Side]] = {"original": [], "holdout": []}
    released = space.rows("released")
    within = space.nearest("released", "released", 1, n_jobs).distance[:, 0]
    for draw in range(draws):
        for table, found in sides.items():
            ordered = np.argsort(content[table], kind="stable")
            chosen = generator(random_state, "nnaa", table, draw).choice(len(ordered), smallest, replace=False)
            people = space.rows(table, np.sort(ordered[chosen]))
            found.append(_side(space, people, released, within, n_jobs))
    losses = [h.aa_mid - t.aa_mid for t, h in zip(sides["original"], sides["holdout"], strict=True)]
    spread = float(np.std(losses, ddof=1)) if draws > 1 else 0.0
    return _mean_side(sides["original"]), _mean_side(sides["holdout"]), spread


def _side(space: Space, people: Rows, released: Rows, within: np.ndarray, n_jobs: int | None) -> Side:
    one = np.ones(1)
    to_release = space.search(people, released, 1, n_jobs=n_jobs).distance
    among = space.search(people, people, 1, self_join=True, n_jobs=n_jobs).distance
    back = space.search(released, people, 1, n_jobs=n_jobs).distance
    left, left_tie = _farther((to_release, one), (among, one))
    right, right_tie = _farther((back, one), (within[:, None], one))
    return Side.of(left, left_tie, right, right_tie)


def _mean_side(sides: list[Side]) -> Side:
    names = ("left", "right", "left_tie", "right_tie")
    left, right, left_tie, right_tie = (float(np.mean([getattr(side, name) for side in sides])) for name in names)
    return Side(left, right, left_tie, right_tie, sides[-1].people, sides[-1].release)


def _variance(own: Side, held: Side, judged: Sequence[np.ndarray], nearest_person: np.ndarray) -> float:
    """Variance of the loss, allowing for people judged by the same release record and for records near one person."""
    paired = held.release - own.release
    influence = [
        -(own.people - own.people.mean()) / len(own.people),
        (held.people - held.people.mean()) / len(held.people),
        (paired - paired.mean()) / len(paired),
    ]
    independent = sum(float((part**2).sum()) for part in influence)
    if any(len(part) != len(who) for part, who in zip(influence, judged, strict=True)):
        return independent / 4
    by_release = cluster_variance(np.concatenate(influence), np.concatenate(judged))
    by_person = independent - float((influence[2] ** 2).sum()) + cluster_variance(influence[2], nearest_person)
    return max(independent, by_release, by_person) / 4


def _score(space: Space, table: str, alone: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Log distance to the nearest other person, original or holdout, over the distance to the release."""
    release = space.nearest(table, "released", 1, n_jobs).distance[:, 0]
    return np.asarray(np.log((alone + _FLOOR) / (release + _FLOOR)))


def _parts(
    pair: Pair,
    space: Space,
    alone: Mapping[str, np.ndarray],
    columns: Sequence[str] | None,
    missing: str,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Each person's part of the loss, originals and holdout people asked alike.

    A person counts who is nearer to the release than to the next person (ties half), and so does, for its nearest
    person, each release record that is nearer to people than to the rest of the release.
    """
    found = closeness(pair, columns, missing, 2, None, 0, n_jobs)
    among = space.nearest("released", "released", 1, n_jobs).distance[:, 0]
    sits = _nearer(found.pooled, among)
    scale = sum(pair.n(t) for t in alone) / (2 * pair.n("released"))  # both halves of the accuracy weigh the same
    near = {t: space.nearest(t, "released", 1, n_jobs).distance[:, 0] for t in alone}
    own = _nearer(near["original"], alone["original"]) + scale * found.hub_weights("original", sits)
    other = _nearer(near["holdout"], alone["holdout"]) + scale * found.hub_weights("holdout", sits)
    return own, other


def _nearer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """1 where the first distance is smaller, a half where both are equal."""
    return np.asarray((first < second - TOL) + (np.abs(first - second) <= TOL) / 2)
