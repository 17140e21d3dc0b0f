"""People whom a released record comes nearer than half-way to the next real person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glasshouse.core.advice import PEOPLE_NEARLY_COPIED
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import SIMILARITY
from glasshouse.disclosure.copying.found import CITE, copied_people
from glasshouse.disclosure.copying.pooled import near_scores, pooled
from glasshouse.engines.asked import People, people_asked
from glasshouse.engines.neighbours.search import TOL

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


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
    influence="free",
    wide="columns",
    grows="people",
)
def near_copies(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    people: People = None,
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
    people : int or "all", optional
        How many of original and of holdout are asked about at most, drawn at random. Default: everybody, and 50,000
        of more than 100,000; those they are compared with are never thinned.
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
    asked = people_asked(pair, people, random_state)
    found = pooled(pair, columns, missing, n_jobs, asked)
    near = (2 * found.reach < found.isolation - TOL) & (found.isolation > TOL)
    return copied_people(
        pair,
        near,
        near_scores(found),
        alone=found.isolation > TOL,
        row=found.row,
        said="have a released record nearer than half-way to the next real person",
        confidence=confidence,
        random_state=random_state,
        name="near_copies",
        columns=found.distances,
        asked=asked,
    )
