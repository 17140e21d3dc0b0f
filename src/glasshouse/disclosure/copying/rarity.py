"""Agreement weighed by rarity: does one released record fit a person far better than everything else released?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PEOPLE_NEARLY_COPIED
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import SIMILARITY
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import People, spread
from glasshouse.engines.canonical import canonical
from glasshouse.engines.exchange import exchange, exchange_scores, exposed_people, people_clusters
from glasshouse.engines.neighbours.gower import chosen_columns
from glasshouse.engines.pairs.agreement import rarity_agreement
from glasshouse.engines.pairs.equality import CERTAIN, EXPECTED, information
from glasshouse.engines.standing import few_alarms

if TYPE_CHECKING:
    from glasshouse.data.arrays import Floats, Ints
    from glasshouse.data.pair import Pair

WORK = 20_000_000_000  # cells compared; above it a stated random sample of people is asked


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Rare agreement",
    better="lower",
    needs=("holdout",),
    limit=LEAK_LIMIT,
    cite="after Fellegi & Sunter (1969), a theory for record linkage: agreement weighed by the rarity of the value",
    attacker="every column of some people, some of them wrong",
    caveats=SIMILARITY,
    cost="pairs",
    tier="default",
    group="rare agreement",
    alone="warn",
    advice=PEOPLE_NEARLY_COPIED,
    audited=True,
    on_map=True,
    wide="columns",
    grows="people",
)
def rare_agreement(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    people: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Result:
    """Share of people whom one released record fits far better than every other released record.

    A copy stands out from everything else in the release, even when a cell was redrawn, numbers got noise or columns
    of pure noise were added: what agrees by chance is common, what agrees because it was copied is rare.

    Parameters
    ----------
    pair : Pair
        Original, release and holdout.
    columns : sequence of str, optional
        The columns compared; all shared ones by default.
    people : int or "all", optional
        How many people of original and holdout together to ask about, drawn at random; all of them by default while
        the work stays within 20 billion comparisons of cells.
    confidence : float
        Of the intervals.
    random_state : int, Generator or None
        Seed of the sample and of the exchange of labels; None draws.

    Returns
    -------
    Result
        ``value`` is the share of original people with a score that at most 1 % of holdout people reach, ``holdout``
        that share of holdout people, ``difference`` the leak and ``p_value`` the exchange test. ``records`` gives each
        original its score, its gap and the released row that fits best.

    Notes
    -----
    For a real person j and a released record i, agreement is the sum over columns of -log(share of real people who
    agree with j at least as closely), and g_j the best agreement minus the second best over the release. Exchanged is

        log(1 + 0.01 (e^(g_j) - 1)),

    an approximation of the log-likelihood ratio of "one person in a hundred was copied" against "nobody was". Noise in
    many columns costs g_j little.

    References
    ----------
    Fellegi & Sunter (1969), A theory for record linkage.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.disclosure.rare_agreement(gh.data.load("health").pair()).p_value < 0.05
    True
    """
    chosen = chosen_columns(pair, columns)
    n, m = pair.n("original"), pair.n("holdout")
    asked, notes = _asked(pair, people, chosen, random_state)
    members = asked < n
    if members.all() or not members.any():
        raise NotApplicable(
            f"of {len(asked):,} people drawn at random all are on one side, so members and people never in the data "
            "cannot be compared; raise people="
        )
    found = rarity_agreement(pair, chosen, asked)
    score = _ratio(found.gap)
    clusters = people_clusters(pair)
    if clusters is not None:
        pooled = np.concatenate(clusters)[asked]
        clusters = pooled[members], pooled[~members]
    tested = exchange_scores(
        score[members], score[~members], clusters=clusters, random_state=random_state, name="rare_agreement"
    )
    flags, strangers, cut = few_alarms(score[members], score[~members])
    shown = exchange(
        flags, strangers, clusters=clusters, confidence=confidence, random_state=random_state, name="rare_agreement"
    )
    # the score a verbatim copy would have
    possible = _ratio(information(pair, chosen)[asked] - found.best)
    rate, control = shown.counts.rate, shown.counts.control_rate or 0.0

    def records() -> Mapping[str, np.ndarray]:
        own = asked[members]
        made = {
            "stands_out": flags,
            "score": score[members],
            "gap": found.gap[members],
            "released_row": np.ma.MaskedArray(found.row[members], ~flags),
        }
        return {name: spread(values, None if len(own) == n else own, n) for name, values in made.items()}

    return Result(
        value=rate,
        baseline=control,
        holdout=control,
        interval=wilson(shown.counts.successes, shown.counts.attempts, confidence),
        difference=shown.difference,
        difference_interval=shown.interval,
        p_value=tested.p,
        counts=shown.counts,
        exposure=exposed_people(flags, strangers, clusters, possible[members] > cut, confidence),
        details={
            "n_asked": len(asked),
            "n_people": n + m,
            "n_stand_out": int(flags.sum()),
            "score_cut": cut,
        },
        sentence=f"{percent(rate)} of original people are fitted by one released record far better than by any other, "
        f"{percent(control)} of people never in the data: {against(tested.p, rate, control)}. {SIMILARITY}",
        warnings=notes,
        records=records,
        flag="stands_out",
        rank="score",
    )


def _ratio(gap: Floats) -> Floats:
    """log(1 + 0.01 (e^gap - 1)), 0 where nothing stands out."""
    return np.asarray(np.log1p(EXPECTED * np.expm1(np.clip(gap, 0.0, CERTAIN))))


def _asked(pair: Pair, people: People, columns: Sequence[str], random_state: RandomState) -> tuple[Ints, list[str]]:
    """Positions in original and holdout laid end to end, and the note when they are not all."""
    size = pair.n("original") + pair.n("holdout")
    if people is not None and people != "all" and (isinstance(people, str) or people < 2):
        raise InputError(f"people must be a number of at least 2, or 'all', not {people!r}")
    affordable = max(2_000, WORK // max(pair.n("released") * len(columns), 1))
    most = size if isinstance(people, str) else affordable if people is None else people
    if most >= size:
        return np.arange(size), []
    drawn = generator(random_state, "rare_agreement", "people").choice(size, most, replace=False)
    # the same people whatever the order of the rows
    chosen = np.sort(canonical(pair, columns).order("original", "holdout")[drawn])
    return chosen, [f"asked about {most:,} of {size:,} real people, drawn at random; people='all' asks about all"]
