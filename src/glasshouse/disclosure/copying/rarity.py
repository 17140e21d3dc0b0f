"""Agreement weighed by rarity: does one released record fit a person far better than everything else released?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PEOPLE_NEARLY_COPIED
from glasshouse.core.errors import InputError
from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import SIMILARITY
from glasshouse.disclosure.copying.pooled import COPY_LIMIT
from glasshouse.engines.exchange import exchange_scores, people_clusters
from glasshouse.engines.neighbours.search import chosen_columns
from glasshouse.engines.pairs.agreement import rarity_agreement

if TYPE_CHECKING:
    from glasshouse.data.arrays import Ints
    from glasshouse.data.pair import Pair

WORK = 4_000_000_000  # cells compared; above it a stated random sample of people is asked
STANDS_OUT = 0.99
HIGHEST = 30.0  # exp of more is the same certainty and only drowns the rest


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Rare agreement",
    better="lower",
    needs=("holdout",),
    limit=COPY_LIMIT,
    cite="after Fellegi & Sunter (1969), a theory for record linkage: agreement weighed by the rarity of the value",
    attacker="every column of some people, some of them wrong",
    caveats=SIMILARITY,
    cost="pairs",
    tier="default",
    group="rare agreement",
    advice=PEOPLE_NEARLY_COPIED,
    audited=True,
    alone="warn",
    on_map=True,
)
def rare_agreement(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    people: int | None = None,
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
    people : int, optional
        How many people of original and holdout together to ask about, drawn at random; all of them by default while
        the work stays within 4 billion comparisons of cells.
    confidence : float
        Of the intervals.
    random_state : int, Generator or None
        Seed of the sample and of the exchange of labels; None draws.

    Returns
    -------
    Result
        ``value`` is the share of original people whose gap lies above the 99 % point of all real people's, ``holdout``
        the same of holdout people, ``difference`` the leak and ``p_value`` the exchange test. ``records`` gives each
        original the released row that fits best.

    Notes
    -----
    For a real person j and a released record i, agreement is the sum over columns of -log(share of real people who
    agree with j at least as closely). The gap is the best agreement minus the second best over the release, and the
    score exchanged is exp(gap) - 1: it approximates the likelihood ratio of "copied" against "independent".

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
    asked, notes = _asked(pair, people, len(chosen), random_state)
    found = rarity_agreement(pair, chosen, asked)
    gap = np.minimum(found.gap, HIGHEST)
    members = asked < n
    score = np.expm1(gap)
    clusters = people_clusters(pair)
    if clusters is not None:
        pooled = np.concatenate(clusters)[asked]
        clusters = pooled[members], pooled[~members]
    tested = exchange_scores(
        score[members], score[~members], clusters=clusters, random_state=random_state, name="rare_agreement"
    )
    cut = float(np.quantile(gap, STANDS_OUT, method="higher"))
    flags = (gap >= cut) & (gap > 0)
    counts = _counts(flags, members)
    interval = counts.difference(confidence)
    rate = counts.rate

    def records() -> Mapping[str, np.ndarray]:
        own = asked[members]
        made = {"stands_out": flags[members], "gap": gap[members], "released_row": found.row[members]}
        return {name: _full(values, own, n) for name, values in made.items()}

    return Result(
        value=rate,
        baseline=counts.control_rate,
        holdout=counts.control_rate,
        interval=wilson(counts.successes, counts.attempts, confidence),
        difference=None if interval is None else interval[0],
        difference_interval=None if interval is None else interval[1],
        p_value=tested.p,
        counts=counts,
        details={
            "n_asked": len(asked),
            "n_people": n + m,
            "gap_cut": cut,
            "mean_score": float(score[members].mean()),
            "mean_score_holdout": float(score[~members].mean()),
            "null_sd": tested.null_sd,
            "deals": tested.deals,
        },
        sentence=f"{percent(rate)} of original people are fitted by one released record far better than by any other, "
        f"{percent(counts.control_rate or 0.0)} of people never in the data ({p_value(tested.p)}). {SIMILARITY}",
        warnings=notes,
        records=records,
        flag="stands_out",
        rank="gap",
    )


def _asked(pair: Pair, people: int | None, columns: int, random_state: RandomState) -> tuple[Ints, list[str]]:
    """Positions in original and holdout laid end to end, and the note when they are not all."""
    size = pair.n("original") + pair.n("holdout")
    if people is not None and people < 2:
        raise InputError(f"people must be at least 2, not {people}")
    most = max(2_000, WORK // max(pair.n("released") * columns, 1)) if people is None else people
    if most >= size:
        return np.arange(size), []
    chosen = np.sort(generator(random_state, "rare_agreement", "people").choice(size, most, replace=False))
    return chosen, [f"asked about {most:,} of {size:,} real people, drawn at random; people={size} asks about all"]


def _counts(flags: np.ndarray, members: np.ndarray) -> Counts:
    return Counts(int(flags[members].sum()), int(members.sum()), int(flags[~members].sum()), int((~members).sum()))


def _full(values: np.ndarray, at: Ints, n: int) -> np.ndarray:
    """Values at their places among all original records; people who were not asked are masked."""
    if len(at) == n:
        return values
    placed = np.zeros(n, values.dtype)
    placed[at] = values
    hidden = np.ones(n, bool)
    hidden[at] = False
    return np.ma.MaskedArray(placed, hidden)
