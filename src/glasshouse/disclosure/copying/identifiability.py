"""Epsilon-identifiability: is a person closer to the release than to the next real person?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import TOO_NEAR
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.evidence import Exposure
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.arrays import Floats, Ints
from glasshouse.disclosure.copying.closeness import CAVEAT, NO_HOLDOUT, refuse_infinite
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import Asked, People, people_asked, records_asked
from glasshouse.engines.exchange import Exchange, exchange, exposed_people
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import TOL, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=LEAK_LIMIT,
    cite="Yoon, Drumright & van der Schaar (2020), ADS-GAN; Lautrup et al. (2024), SynthEval",
    attacker="every column of some people",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    title="ε-identifiability",
    on_map=True,
    advice=TOO_NEAR,
    riskutility=("Epsilon-Identifiability", lambda r: {"value": r.value}),
    influence="free",
    wide="columns",
    grows="people",
)
def epsilon_identifiability(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    bins: int = 20,
    epsilon: float = 0.05,
    people: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of original records that lie closer to a release record than to any other original record.

    Columns weigh by the inverse of their entropy in the original, so that rare information counts more. The holdout
    reference asks the same of holdout records: is the release closer than the nearest original?

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    bins : int, default 20
        Equal-width bins numbers are cut into for their entropy.
    epsilon : float, default 0.05
        Distance below which a release record counts for ``details["close_record_share"]``, in (0, 1).
    people : int or "all", optional
        How many of original, holdout and release are asked about at most, drawn at random. Default: everybody,
        and 50,000 of more than 100,000; those they are compared with are never thinned.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of that draw.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share; ``baseline`` and ``holdout``: the same share of holdout people; ``difference``:
        members minus strangers asked alike (see Notes), with interval and p value of exchanged labels. ``details``: the
        weights of the columns, mean distances, and the share of release records nearer than ``epsilon`` to an original.
        ``records``: per original whether it is ``closer`` to the release, both distances and their difference
        (``gain``).

    Notes
    -----
    With r_i the weighted Gower distance of original i to its nearest other original and r'_i to its nearest release
    record

        value = mean_i [r'_i < r_i],   weight of column v = 1 / H_v

    H_v is the entropy of column v in the original (natural logarithm; numbers in ``bins`` bins, missing as a level);
    constant columns weigh nothing. ``difference`` and the p value ask original and holdout people alike: r is then the
    distance to the nearest other person of both tables together (of another cluster, where there are any), H_v the
    entropy in both, and labels are exchanged.

    References
    ----------
    Yoon, Drumright & van der Schaar (2020), Anonymization through data synthesis using generative adversarial networks
    (ADS-GAN), IEEE Journal of Biomedical and Health Informatics 24.
    Lautrup, Hyrup, Zimek & Schneider-Kamp (2024), SynthEval, Data Mining and Knowledge Discovery.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.epsilon_identifiability(gh.data.load("health").pair())
    >>> round(found.value, 3), round(found.holdout, 3), round(found.difference, 3)
    (0.651, 0.444, 0.245)
    """
    if not 0 < epsilon < 1:
        raise InputError(f"epsilon must lie between 0 and 1, not {epsilon}")
    if bins < 2:
        raise InputError(f"bins must be at least 2, not {bins}")
    if pair.n("original") < 2 or not pair.n("released"):
        raise NotApplicable("the distance to another original needs at least two original records and a release")
    chosen = chosen_columns(pair, columns)
    refuse_infinite(pair, chosen, summed=True)
    weights = {name: _weight(pair, name, bins) for name in chosen}
    if not any(weights.values()):
        raise NotApplicable("every column is constant in the original, so no record can be told from another")
    space = gower_space(pair, chosen, missing, weights)
    asked = people_asked(pair, people, random_state)
    to_release = _nearest(space, asked, "original", "released", n_jobs)
    to_others = _nearest(space, asked, "original", "original", n_jobs)
    closer = to_release < to_others - TOL
    share = float(closer.mean())
    released = records_asked(pair, "released", people, random_state)
    close = space.nearest(space.asking("released", released), "original", 1, n_jobs).distance[:, 0] < epsilon
    holdout, notes, tested, exposed = None, asked.notes(), None, None
    if pair.has_holdout and pair.n("holdout"):
        reach = _nearest(space, asked, "holdout", "released", n_jobs)
        nearer = reach < _nearest(space, asked, "holdout", "original", n_jobs) - TOL
        holdout = float(nearer.mean())
        tested, exposed = _exchanged(pair, chosen, missing, bins, confidence, n_jobs, asked)
        compared = f"{percent(holdout)} of holdout people do: {against(tested.p, share, holdout)}"
    else:
        notes.append(f"there is no reference for people outside the data, because there is {NO_HOLDOUT}")
        compared = "without a holdout there is nothing to compare this with"
    return Result(
        value=share,
        baseline=holdout,
        holdout=holdout,
        interval=wilson(int(closer.sum()), len(closer), confidence),
        of=len(closer),
        details={
            "epsilon_identifiability": share,
            "close_record_share": float(close.mean()),
            "epsilon": epsilon,
            "weights": {name: weight / sum(weights.values()) for name, weight in weights.items()},
            "mean_distance_release": float(to_release.mean()),
            "mean_distance_others": float(to_others.mean()),
            **({} if tested is None else tested.figures()),
        },
        difference=None if tested is None else tested.difference,
        difference_interval=None if tested is None else tested.interval,
        p_value=None if tested is None else tested.p,
        counts=None if tested is None else tested.counts,
        exposure=exposed,
        sentence=(
            f"{percent(share)} of original records lie closer to a release record than to any other original; "
            f"{compared}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: {
            "closer": asked.spread(closer),
            "distance_release": asked.spread(to_release),
            "distance_others": asked.spread(to_others),
            "gain": asked.spread(to_others - to_release),
        },
        flag="closer",
        rank="gain",
    )


def _exchanged(
    pair: Pair, columns: Sequence[str], missing: str, bins: int, confidence: float, n_jobs: int | None, asked: Asked
) -> tuple[Exchange, Exposure]:
    """Who is closer to the release than to the next real person, original and holdout alike."""
    weights = {name: _weight(pair, name, bins, ("original", "holdout")) for name in columns}
    space = gower_space(pair, columns, missing, weights)
    others = nearest_others(space, pair, 1, n_jobs, asked)
    members, strangers = (
        _nearest(space, asked, table, "released", n_jobs) < others[table][:, 0] - TOL
        for table in ("original", "holdout")
    )
    clusters = asked.clusters(pair)
    found = exchange(members, strangers, clusters=clusters, confidence=confidence, name="epsilon_identifiability")
    # nothing lies closer to somebody who has a twin than that twin
    reachable = others["original"][:, 0] > TOL
    return found, exposed_people(members, strangers, clusters, reachable, confidence)


def _nearest(space: Space, asked: Asked, of: str, among: str, n_jobs: int | None) -> Floats:
    """Distance of those asked about to the nearest record of a table, themselves left out."""
    some = asked.rows[of]
    if of == among and some is not None:
        return space.nearest_besides(of, some, 1, n_jobs).distance[:, 0]
    return space.nearest(space.asking(of, some), among, 1, n_jobs).distance[:, 0]


def _binned(known: Floats, bins: int) -> Ints:
    """How many numbers lie in each of equally wide classes; one class where all are the same."""
    if not len(known) or known.min() == known.max():
        return np.array([len(known)])
    # between large numbers close together there is no room for breaks; between their distances there is
    near = np.ptp(known) < 4 * bins * np.spacing(np.abs(known).max())
    counts: Ints = np.histogram(known - known.min() if near else known, bins=bins)[0]
    return counts


def _weight(pair: Pair, name: str, bins: int, tables: Sequence[str] = ("original",)) -> float:
    """1 / entropy (natural logarithm) of the column in some tables, 0 for a constant; missing is a level."""
    if pair.is_numeric(name):
        values = np.concatenate([pair.values(name, table) for table in tables])
        known = values[~np.isnan(values)]
        counts = np.append(_binned(known, bins), len(values) - len(known))
    else:
        codes = np.concatenate([pair.codes(name).of(table) for table in tables])
        counts = np.bincount(np.where(codes < 0, pair.codes(name).n_levels, codes))
    p = counts[counts > 0] / counts.sum()
    entropy = float(-(p * np.log(p)).sum())
    return 1 / entropy if entropy > 1e-12 else 0.0
