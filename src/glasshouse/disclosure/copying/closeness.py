"""What the copying checks share: distances of release records, hub weights, and the exact null of swapped labels.

Copying checks are similarity diagnostics. They find copies; they do not show that a release without copies protects
anybody (Yao et al. 2025, The DCR Delusion), and no sentence here says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.intervals import Interval, clopper_pearson, wilson
from glasshouse.core.limits import LEAK_LIMIT, Limit
from glasshouse.core.streams import RandomState
from glasshouse.core.words import HOLDOUT, HOLDOUT_ADVICE, SIMILARITY
from glasshouse.data.arrays import LARGEST
from glasshouse.engines.asked import People, records_asked
from glasshouse.engines.exchange import Tested, exchange_scores, people_clusters, upper_tail
from glasshouse.engines.neighbours.encoding import Rows
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.search import TOL, Nearest, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

DELUSION = "Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, arXiv:2505.01524"
CAVEAT = SIMILARITY
NO_HOLDOUT = f"no holdout: {HOLDOUT}. {HOLDOUT_ADVICE}"


@dataclass(frozen=True)
class LabelTest:
    """Share of release records whose nearest record, originals and holdout pooled, is an original; and its null."""

    share: float
    expected: float
    sd: float
    z: float | None
    p: float
    largest_hub: float
    effective_n: float


class TiedMembers(NamedTuple):
    """Nearest records that tie: the query each belongs to, its distinct row, and its share of the query."""

    owner: np.ndarray
    row: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Closeness:
    """Distances from the release records asked about (all of them, or a sample) to original and holdout records."""

    space: Space
    rows: np.ndarray | None
    original: Nearest
    holdout: Nearest | None
    n_original: int
    n_holdout: int

    @property
    def n(self) -> int:
        return len(self.original.distance)

    @cached_property
    def query(self) -> Rows:
        """The release records asked about."""
        return self.space.rows("released", self.rows)

    @cached_property
    def pooled(self) -> np.ndarray:
        """Distance to the nearest record, originals and holdout pooled."""
        if self.holdout is None:
            raise NotApplicable(f"originals and holdout cannot be pooled, because there is {NO_HOLDOUT}")
        return np.minimum(self.original.distance[:, 0], self.holdout.distance[:, 0])

    @cached_property
    def _tied(self) -> dict[str, TiedMembers]:
        """Tied nearest records of the two pooled tables."""
        near = {"original": self.original, "holdout": self.holdout}
        parts = {t: self.space.tied_beyond(n, self.query, t, self.pooled) for t, n in near.items() if n is not None}
        total = parts["original"].records + parts["holdout"].records
        found = {}
        for table, part in parts.items():
            owner = np.repeat(np.arange(len(total)), np.diff(part.offsets))
            found[table] = TiedMembers(owner, part.row, part.query.counts[owner] / total[owner])
        return found

    @cached_property
    def pooled_ratio(self) -> np.ndarray:
        """Distance to the nearest over that to the second nearest record, originals and holdout pooled."""
        if self.holdout is None:
            raise NotApplicable(f"originals and holdout cannot be pooled, because there is {NO_HOLDOUT}")
        return distance_ratio(np.sort(np.hstack([self.original.distance, self.holdout.distance]), axis=1)[:, :2])

    def hub_weights(self, table: Literal["original", "holdout"], kept: np.ndarray | None = None) -> np.ndarray:
        """w_j = sum_i 1[j among the nearest of i] / (number of nearest of i), per record of the table.

        ``kept`` says how much each release record counts; all of them fully by default.
        """
        owner, row, weight = self._tied[table]
        if kept is not None:
            weight = weight * kept[self.query.firsts][owner]
        rows = self.space.rows(table)
        return np.bincount(row, weights=weight, minlength=rows.size)[rows.inverse]

    def within(self, distance: float) -> np.ndarray:
        """Release records whose nearest pooled record lies within that distance."""
        return self.pooled <= distance + TOL

    def label_test(
        self, pair: Pair, random_state: RandomState, name: str, kept: np.ndarray | None = None
    ) -> tuple[LabelTest, Tested]:
        """Is the nearest pooled record an original more often than by chance? Its null in closed form, and exchanged.

        Swapping the labels of original and holdout records moves no distance, so with hub weights w_j, N pooled
        records, q = n_T / N and n = sum_j w_j release records the null has mean q and variance
        q (1 - q) N / (N - 1) (sum w_j^2 - n^2 / N) / n^2. The weights of a few hubs are not normal, so the p value
        comes from dealing the labels.
        """
        return label_test(
            (self.hub_weights("original", kept), self.hub_weights("holdout", kept)), pair, random_state, name
        )


def label_test(
    weights: tuple[np.ndarray, np.ndarray], pair: Pair, random_state: RandomState, name: str
) -> tuple[LabelTest, Tested]:
    """Hub weights of every original and holdout record: the null of swapped labels, and the labels exchanged.

    With clusters the weights of a cluster are summed, and whole clusters exchanged.
    """
    clusters = people_clusters(pair)
    tested = exchange_scores(*weights, clusters=clusters, random_state=random_state, name=name)
    return label_null(weights, clusters), tested


def label_null(
    weights: tuple[np.ndarray, np.ndarray], clusters: tuple[np.ndarray, np.ndarray] | None = None
) -> LabelTest:
    """Swapped labels in closed form: hub weights of every original and every holdout record.

    Where no release record qualifies there is nothing to find: the share is what is expected, with p = 1.
    """
    n_original, total = len(weights[0]), len(weights[0]) + len(weights[1])
    pooled = np.concatenate(weights)
    n, q = float(pooled.sum()), n_original / total
    if n <= 0:
        return LabelTest(q, q, 0.0, None, 1.0, 0.0, 0.0)
    own = np.arange(total) if clusters is None else np.unique(np.concatenate(clusters), return_inverse=True)[1]
    beyond = np.bincount(own.reshape(-1), weights=pooled - n / total)
    units = len(beyond)
    variance = q * (1 - q) * units / max(units - 1, 1) * float((beyond**2).sum()) / (n * n)
    share = float(weights[0].sum()) / n
    largest = float(pooled.max())
    if variance <= 1e-18:
        return LabelTest(share, q, 0.0, None, 0.0 if share > q + TOL else 1.0, largest, n)
    sd = float(np.sqrt(variance))
    z = (share - q) / sd
    return LabelTest(share, q, sd, z, upper_tail(z), largest, min(n, q * (1 - q) / variance))


def closeness(
    pair: Pair,
    columns: Sequence[str] | None,
    missing: str,
    k: int,
    queries: People,
    random_state: RandomState,
    n_jobs: int | None,
) -> Closeness:
    """Distances shared by the copying checks. Originals are never thinned; of very many release records some are asked
    about."""
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    space = gower_space(pair, columns, missing)
    rows = records_asked(pair, "released", queries, random_state, "queries")
    query = space.asking("released", rows)
    key = ("closeness", id(space), None if rows is None else rows.tobytes(), k)

    def compute() -> Closeness:
        near = space.nearest(query, "original", k, n_jobs)
        holdout = space.nearest(query, "holdout", k, n_jobs) if pair.has_holdout else None
        return Closeness(space, rows, near, holdout, pair.n("original"), pair.n("holdout") if pair.has_holdout else 0)

    return pair.memo(key, compute)


def answerable_columns(pair: Pair, columns: Sequence[str] | None, notes: list[str]) -> tuple[str, ...]:
    """The columns a model can learn from: without numeric columns that have no value in the release."""
    names = chosen_columns(pair, columns)
    kept = tuple(n for n in names if not pair.is_numeric(n) or not np.isnan(pair.values(n, "released")).all())
    if len(kept) < len(names):
        notes.append(f"left out columns without any value in the release: {listed(n for n in names if n not in kept)}")
    if not kept:
        raise NotApplicable("there is no column in common with a value in the release")
    return kept


def sampled_note(found: Closeness, n_released: int) -> list[str]:
    """A warning that only some release records were asked about."""
    if found.rows is None:
        return []
    return [
        f"asked about {found.n:,} of {n_released:,} release records, drawn at random; originals were not thinned, and "
        "queries='all' asks about all"
    ]


def effective_interval(share: float, effective_n: float, confidence: float) -> Interval:
    """Wilson interval on the effective number of independent comparisons (one original may be nearest to many)."""
    return wilson(share * effective_n, effective_n, confidence)


def expected_hits(counts: np.ndarray, size: int, smaller: int) -> float:
    """Mean share of records with a hit when the ``size`` originals are cut to a random ``smaller``.

    A record with c hits keeps none with probability C(size - c, smaller) / C(size, smaller).
    """
    return float(hit_chances(counts, size, smaller).mean())


def hit_chances(counts: np.ndarray, size: int, smaller: int) -> np.ndarray:
    """Per record: the chance of a hit when the ``size`` originals are cut to a random ``smaller``."""
    if smaller >= size:
        return (counts > 0).astype(float)
    from scipy.special import gammaln

    c = np.minimum(counts, size).astype(float)
    room = size - c
    possible = room >= smaller
    log_none = np.where(
        possible,
        gammaln(room + 1)
        - gammaln(np.where(possible, room - smaller, 0) + 1)
        - gammaln(size + 1.0)
        + gammaln(size - smaller + 1.0),
        -np.inf,
    )
    return np.where(counts > 0, 1 - np.exp(np.minimum(log_none, 0.0)), 0.0)


def quantile_curve(values: np.ndarray, points: int = 101) -> list[float]:
    """Quantiles at equal steps, ends left out so that no single record is shown."""
    return [float(v) for v in np.quantile(values, np.linspace(0.01, 0.99, points))]


def leak_limit(alone: tuple[float, float], passes: bool = False) -> Limit:
    """The limit of the copying checks: exchanged labels, and ``alone`` on :func:`surplus` without a holdout.

    Without a holdout coarse values and copies look alike short of a large surplus, so finding none shows nothing
    unless ``passes``.
    """
    other = Limit("surplus", warn=alone[0], fail=alone[1], passes=passes, why="originals among themselves")
    return replace(LEAK_LIMIT, without_holdout=other)


def surplus(hits: int, n: int, baseline: float) -> float:
    """Without a holdout: by how much the exact lower limit of the share exceeds the originals among themselves.

    Exact (Clopper-Pearson) rather than Wilson, whose lower limit for one hit of one is 0.21: one record proves nothing.
    """
    return clopper_pearson(hits, n)[0] - baseline


def refuse_infinite(pair: Pair, columns: Sequence[str], summed: bool = False) -> None:
    """Distances need finite numbers: name the column, count the infinite values. ``summed``: their squares, too."""
    for name, infinite in infinite_values(pair, columns).items():
        raise InputError(
            f"column {name!r} has {infinite} infinite value{'' if infinite == 1 else 's'}; distances need finite "
            "numbers, so recode them as missing"
        )
    for name in columns if summed else ():
        if any((np.abs(pair.values(name, t)) > LARGEST).any() for t in pair.tables if pair.is_numeric(name)):
            raise InputError(f"column {name!r} holds numbers whose squares are infinite; say it in larger units")


def infinite_values(pair: Pair, columns: Sequence[str]) -> dict[str, int]:
    """Numeric columns with infinite values, and how many in all tables together."""
    tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    counts = {
        name: sum(int(np.isinf(pair.values(name, table)).sum()) for table in tables)
        for name in columns
        if pair.is_numeric(name)
    }
    return {name: count for name, count in counts.items() if count}


def distance_ratio(distance: np.ndarray) -> np.ndarray:
    """d1 / d2 per record; 0 where d1 is 0, 1 where there is no second record."""
    first, second = distance[:, 0], distance[:, 1]
    known = (first > TOL) & np.isfinite(second)
    ratio = np.divide(first, second, out=np.ones_like(first), where=known)
    return np.where(first <= TOL, 0.0, ratio)


def ratio_of(a: float, b: float) -> float | None:
    """a / b; None where b is 0."""
    return float(a / b) if b > 0 else None


def sizes(found: Closeness) -> dict[str, object]:
    """How many records and which columns were compared, for the details."""
    return {
        "n": [found.n_original, found.n_holdout, found.n],
        "p": len(found.space.columns),
        "ranges": dict(found.space.ranges),
        "columns": list(found.space.columns),
    }


def closest_release(space: Space, n_jobs: int | None, found: Closeness | None = None) -> Mapping[str, np.ndarray]:
    """Per original record: the closest release record, and for how many release records it is the closest original."""
    near = space.nearest("original", "released", 1, n_jobs)
    columns = {"distance": near.distance[:, 0], "released_row": near.index, "closeness": 1 - near.distance[:, 0]}
    if found is not None:
        columns["nearest_of"] = found.hub_weights("original")
    return columns
