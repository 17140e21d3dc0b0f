"""What every membership attack reports: how well its scores tell members from non-members.

Scores are "more like a member when higher". Under "no leak" members and non-members are exchangeable given the release,
so permuting the labels of the scores (of whole clusters, where there are any) is the exact null. Two questions are put
to the scores, because neither sees what the other does: are members ranked higher on the whole, and are more of them
found at few false alarms? The smaller p value counts, doubled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.core.evidence import Counts, Exposure, Leak
from glasshouse.core.intervals import Interval, normal_quantile, wilson
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.wording import against
from glasshouse.engines.exchange import Exchange, exchange, exposed_people
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.gower import chosen_columns
from glasshouse.engines.standing import FALSE_ALARMS, few_alarms, found_at_few_alarms, rank_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glasshouse.data.pair import Pair
    from glasshouse.engines.asked import Asked

LOW_RATES = {0.01: "tpr_at_fpr_1pct", 0.001: "tpr_at_fpr_0_1pct"}
_ONE_SIDED = 1.6448536269514722
_POWER = 0.8416212335729143
LOOKS = 2  # at the ranks, and at the members found at few false alarms


class AtRate(NamedTuple):
    """Members found at a low rate of false alarms: the score above which they are, their share, and the alarms."""

    threshold: float
    tpr: float
    interval: Interval
    alarms: int


class Curve(TypedDict):
    """A ROC curve, thinned."""

    fpr: list[float]
    tpr: list[float]


@dataclass(frozen=True)
class Alike:
    """Scores that ask members and non-members in exactly the same way, and who is found at few false alarms.

    Parameters
    ----------
    members, others
        Scores that do not look at the label.
    clusters
        The person or household of each; labels then go to whole clusters.
    possible
        The score each member would have if the release held their record; by default there is no bound.
    """

    members: np.ndarray
    others: np.ndarray
    clusters: tuple[np.ndarray, np.ndarray] | None = None
    possible: np.ndarray | None = None

    @cached_property
    def flags(self) -> tuple[np.ndarray, np.ndarray]:
        """Members and non-members above a score that 1 % of the non-members exceed."""
        return few_alarms(self.members, self.others)[:2]

    def leak(self, confidence: float) -> tuple[Exchange, Exposure]:
        """Members exposed beyond non-members at few false alarms: as records, and as people."""
        found = exchange(*self.flags, clusters=self.clusters, confidence=confidence, name="membership")
        cut = few_alarms(self.members, self.others)[2]
        able = None if self.possible is None else np.round(self.possible, 9) > cut
        people = exposed_people(*self.flags, self.clusters, able, confidence)
        says_the_same = max(self.members.max(), self.others.max()) <= min(self.members.min(), self.others.min())
        return found, replace(people, looks=LOOKS, alarms=FALSE_ALARMS, reach=0.0 if says_the_same else people.reach)


@dataclass(frozen=True)
class Separation:
    """How well scores separate members from non-members.

    ``at`` has an entry for each of ``LOW_RATES``; None where there are too few non-members for that rate.
    ``p_ranks`` asks whether members are ranked higher, ``p_found`` whether more are found at few false alarms.
    """

    auc: float
    interval: Interval
    p_ranks: float
    p_found: float
    advantage: float
    at: dict[float, AtRate | None]
    detectable_auc: float
    curve: Curve
    alike: Alike

    @property
    def p(self) -> float:
        """Of both questions together."""
        return min(1.0, LOOKS * min(self.p_ranks, self.p_found))


def separate(
    members: np.ndarray,
    others: np.ndarray,
    confidence: float,
    *,
    placements: tuple[np.ndarray, np.ndarray] | None = None,
    member_versions: int = 1,
    judged_by: tuple[np.ndarray, np.ndarray] | None = None,
    alike: Alike | None = None,
    random_state: RandomState = 0,
) -> Separation:
    """AUC (ties half) with DeLong's interval, rank-sum p, advantage, TPR at low FPR and the least detectable leak.

    ``members`` may hold several versions of each member's score, one block after the other (``member_versions``).
    ``placements`` gives DeLong's components directly when members were compared with parts of the non-members.
    ``judged_by`` numbers the release record each member and non-member was judged by: people who share one are not
    independent, and the interval allows for that. ``alike`` are the scores the p value rests on, where ``members`` and
    ``others`` were not asked in the same way.
    """
    members, others = np.round(members, 9), np.round(others, 9)
    alike = Alike(members, others) if alike is None else alike
    if placements is None:
        won, lost = _placement(members, others), 1 - _placement(others, members)
        won = won.reshape(member_versions, -1).mean(axis=0)
    else:
        won, lost = placements
    n, m = len(won), len(others)
    auc = float(won.mean())
    variance = (won.var(ddof=1) / n if n > 1 else 0.0) + (lost.var(ddof=1) / m if m > 1 else 0.0)
    influence = np.concatenate([(won - auc) / n, (lost - auc) / m])
    for tied in (judged_by, alike.clusters):
        if tied is not None:
            variance = max(variance, cluster_variance(influence, np.concatenate(tied)))
    half = normal_quantile(confidence) * math.sqrt(variance)
    interval = (max(0.0, auc - half), min(1.0, auc + half))
    if variance == 0:
        interval = wilson(auc * min(n, m), min(n, m), confidence)
    p_ranks, null_sd = rank_sum(
        alike.members, alike.others, clusters=alike.clusters, random_state=random_state, name="membership"
    )
    p_found = found_at_few_alarms(alike.members, alike.others, alike.clusters)
    curve = roc(members, others)
    advantage = float(np.max(np.asarray(curve["tpr"]) - np.asarray(curve["fpr"])))
    at: dict[float, AtRate | None] = {}
    for rate in LOW_RATES:
        if m * rate < 1:
            at[rate] = None
            continue
        cut = _threshold(others, rate)
        tpr = float((members > cut).mean())
        at[rate] = AtRate(cut, tpr, wilson(tpr * n, n, confidence), int((others > cut).sum()))
    detectable = 0.5 + (_ONE_SIDED + _POWER) * null_sd
    return Separation(auc, interval, p_ranks, p_found, advantage, at, detectable, curve, alike)


def roc(members: np.ndarray, others: np.ndarray, points: int = 400) -> Curve:
    """The ROC curve, thinned to a few hundred points for drawing but with the best cut kept."""
    cuts = np.unique(np.concatenate([members, others]))[::-1]
    tpr = 1 - np.searchsorted(np.sort(members), cuts, side="left") / len(members)
    fpr = 1 - np.searchsorted(np.sort(others), cuts, side="left") / len(others)
    tpr, fpr = np.append(0.0, tpr), np.append(0.0, fpr)
    if len(tpr) > points:
        kept = np.unique(
            np.concatenate(
                [
                    np.searchsorted(fpr, np.linspace(0, 1, points // 2), side="right") - 1,
                    np.searchsorted(fpr, np.geomspace(1e-4, 1, points // 2), side="right") - 1,
                    [int(np.argmax(tpr - fpr)), len(tpr) - 1],
                ]
            )
        )
        tpr, fpr = tpr[np.clip(kept, 0, None)], fpr[np.clip(kept, 0, None)]
    return {"fpr": fpr.tolist(), "tpr": tpr.tolist()}


def figures(found: Separation, n_members: int, n_others: int) -> dict[str, object]:
    """The figures under the names every membership measure uses."""
    rates: dict[str, object] = {}
    for rate, name in LOW_RATES.items():
        here = found.at[rate]
        rates |= {name: None if here is None else here.tpr}
        rates |= {f"{name}_interval": None if here is None else list(here.interval)}
    few = found.at[0.01]
    if few is not None:
        rates["alarms_at_fpr_1pct"] = few.alarms
    return {
        "auc": found.auc,
        "auc_interval": list(found.interval),
        "advantage": found.advantage,
        **rates,
        "p_label_swap": found.p_ranks,
        "p_found": found.p_found,
        "detectable_auc": found.detectable_auc,
        "detectable_share": min(1.0, 2 * (found.detectable_auc - 0.5)),
        "n_members": n_members,
        "n_nonmembers": n_others,
    }


class Drawn(TypedDict):
    """What the ROC chart needs."""

    roc: Curve
    auc: float
    n_nonmembers: int
    found_at: list[dict[str, float]]


def drawn(found: Separation, n_others: int) -> Drawn:
    """The curve, and the members found at the low rates of false alarms."""
    points = [{"fpr": rate, "tpr": here.tpr} for rate, here in found.at.items() if here is not None and here.tpr]
    return Drawn(roc=found.curve, auc=found.auc, n_nonmembers=n_others, found_at=points)


RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def operating_points(curve: Curve, members: int, others: int) -> tuple[Counts, ...]:
    """Hits and false alarms at a few thresholds fixed by their share of false alarms, read off the ROC curve.

    Hits are rounded down and false alarms up, so that a point never claims more than was seen.
    """
    points: dict[tuple[int, int], Counts] = {}
    for rate in RATES:
        within = [(f, t) for f, t in zip(curve["fpr"], curve["tpr"], strict=True) if f <= rate + 1e-12]
        if rate * others < 1 or not within:
            continue
        fpr, tpr = max(within)
        hits, alarms = math.floor(tpr * members + 1e-9), math.ceil(fpr * others - 1e-9)
        points[hits, alarms] = Counts(hits, members, alarms, others, f"at most {rate:.1%} false alarms")
    return tuple(points.values())


class MembershipLeak(Leak):
    """The same for a membership attack, with people exposed and the counts at its other operating points."""

    exposure: Exposure | None
    operating: tuple[Counts, ...]


def leak(found: Separation, confidence: float) -> MembershipLeak:
    """Members exposed beyond holdout people at few false alarms, and the p value of exchanged labels."""
    exchanged, people = found.alike.leak(confidence)
    n, m = len(found.alike.members), len(found.alike.others)
    return MembershipLeak(
        difference=exchanged.difference,
        difference_interval=exchanged.interval,
        p_value=found.p,
        counts=replace(exchanged.counts, label="with at most 1 % false alarms" if m >= 100 else "with one false alarm"),
        exposure=people,
        operating=operating_points(found.curve, n, m),
    )


def attack_result(
    found: Separation,
    scores: np.ndarray,
    *,
    attacker: str,
    details: Mapping[str, object],
    n_others: int,
    confidence: float,
    notes: Sequence[str] = (),
    asked: Asked | None = None,
) -> Result:
    """The Result of an attack whose headline is its AUC. ``scores`` are those of the original people asked about."""
    warnings = [*notes, *([] if asked is None else asked.notes())]

    def placed(values: np.ndarray) -> np.ndarray:
        return values if asked is None else asked.spread(values)

    for rate, here in found.at.items():
        if here is None:
            warnings.append(
                f"a false-positive rate of {percent(rate)} needs {round(1 / rate):,} holdout records; there are "
                f"{n_others:,}"
            )
    told = leak(found, confidence)
    hits = told["counts"]
    at_low = "" if hits is None else f", and finds {percent(hits.rate)} of members {hits.label}"
    return Result(
        value=found.auc,
        baseline=0.5,
        interval=found.interval,
        of=min(len(found.alike.members), len(found.alike.others)),
        details={**figures(found, len(scores), n_others), **details},
        **told,
        sentence=(
            f"{attacker} tells a member from a non-member in {percent(found.auc)} of comparisons (chance 50 %)"
            f"{at_low}; {against(found.p)}."
        ),
        warnings=warnings,
        plot_data=drawn(found, n_others),
        records=lambda: {"score": placed(scores), "exposed": placed(found.alike.flags[0])},
        flag="exposed",
        rank="score",
    )


def check_holdout(pair: Pair, columns: Sequence[str] | None = None, at_least: int = 2) -> None:
    """Refuse a holdout that is too small, or that the original already holds (a split made after synthesis)."""
    n = pair.n("holdout")
    if n < at_least or pair.n("original") < 2 or pair.n("released") < 2:
        raise NotApplicable(
            f"a membership attack needs at least {at_least} holdout records and two original and released ones"
        )
    names = chosen_columns(pair, columns)
    ids = pair.memo(("row_ids", names, None), lambda: row_ids(pair, names))
    shared = float(np.isin(ids["holdout"], ids["original"]).mean())
    _, counts = np.unique(ids["original"], return_counts=True)
    twins = 1 - float((counts == 1).sum()) / pair.n("original")
    if shared > 0.5 and shared > 2 * twins:
        raise NotApplicable(
            f"{percent(shared, 0)} of the holdout records are also in the original, so they are members and not a "
            "holdout. Set records aside before synthesis (gh.data.split_before_synthesis); a split made afterwards "
            "finds no leak whatever the release"
        )


def placement_auc(members: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """DeLong's components: share of non-members each member beats, and share of members that beat each non-member."""
    members, others = np.round(members, 9), np.round(others, 9)
    return _placement(members, others), 1 - _placement(others, members)


def cluster_variance(influence: np.ndarray, clusters: np.ndarray) -> float:
    """Variance of a sum of influences whose members are dependent inside clusters."""
    _, index = np.unique(clusters, return_inverse=True)
    return float((np.bincount(index.reshape(-1), weights=influence) ** 2).sum())


def _placement(asked: np.ndarray, reference: np.ndarray) -> np.ndarray:
    ordered = np.sort(reference)
    below = np.searchsorted(ordered, asked, side="left")
    upto = np.searchsorted(ordered, asked, side="right")
    return (below + upto) / (2 * len(ordered))


def _threshold(others: np.ndarray, rate: float) -> float:
    """The lowest cut that at most ``rate`` of the non-members exceed."""
    allowed = math.floor(rate * len(others) + 1e-9)
    return float(np.sort(others)[len(others) - 1 - allowed])
