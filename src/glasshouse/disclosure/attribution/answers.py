"""Copied answers: keys and target of people unlike anybody else, found together in one released record."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glasshouse.core.advice import READS_OFF
from glasshouse.core.errors import NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import spoken
from glasshouse.data.pair import Pair
from glasshouse.disclosure.wording import beside_strangers
from glasshouse.engines.exchange import exchange_scores, exposed_people, people_clusters
from glasshouse.engines.pairs.equality import equals, weight_of


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    title="Copied answers",
    better="lower",
    needs=("keys", "targets", "holdout"),
    limit=LEAK_LIMIT,
    cite="after Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data (replicated uniques)",
    attacker="the keys of real people, exactly as the custodian holds them",
    caveats="sees only people whose keys and target nobody else has; where keys are coarse there are few",
    cost="rows",
    tier="fast",
    group="copied answers",
    advice=READS_OFF,
)
def copied_answers(pair: Pair, *, confidence: float = 0.95, random_state: RandomState = 0) -> Result:
    """Share of people whose keys and target, which nobody else has, stand together in one released record.

    Groups of equal keys are too coarse for numeric keys, and values compared one by one are met by nobody; a record
    that holds the exact keys and the exact target of one person and of nobody else was most likely copied from that
    person, whatever the rest of it says.

    Parameters
    ----------
    pair : Pair
        Original, release and holdout, with keys and one or more targets.
    confidence : float, default 0.95
        Of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the exchange of labels; None draws.

    Returns
    -------
    Result
        ``value`` is the share of original people found, ``holdout`` that of holdout people, ``difference`` the leak
        and ``p_value`` the exchange test. ``records`` flags each original.

    Notes
    -----
    A real person is found when a released record equals them in every key and target and no other real person (of
    original and holdout together; with clusters, of another cluster) does. With I the sum over these columns of
    -log(share of real people with the value), the score of somebody found is log(1 + 0.01 e^I / m) for m released
    records: the log-likelihood ratio of "one person in a hundred was copied" against chance. Labels of members and
    strangers are exchanged, of whole clusters where there are any.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data; Fellegi & Sunter (1969), A theory for
    record linkage.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.disclosure.copied_answers(gh.data.load("health").pair()).status
    'ok'
    """
    if not pair.n("holdout") or not pair.n("released"):
        raise NotApplicable("copied answers are told against a holdout and a release that hold records")
    columns = tuple(sorted({*pair.keys, *pair.targets}))
    found = equals(pair, columns)
    n, clusters = pair.n("original"), people_clusters(pair)
    score = np.where(found.whole, weight_of(found.information, pair.n("released")), 0.0)
    p = exchange_scores(score[:n], score[n:], clusters=clusters, random_state=random_state, name="copied_answers").p
    flags = found.whole
    exposed = exposed_people(flags[:n], flags[n:], clusters, found.single[:n], confidence)
    rate, strangers = float(flags[:n].mean()), float(flags[n:].mean())

    def records() -> Mapping[str, np.ndarray]:
        return {"copied": flags[:n], "released_row": np.ma.MaskedArray(found.row[:n], ~flags[:n])}

    names = spoken([*pair.keys, *pair.targets])
    return Result(
        value=rate,
        holdout=strangers,
        interval=wilson(float(flags[:n].sum()), n, confidence),
        difference=exposed.share,
        difference_interval=exposed.interval,
        p_value=p,
        exposure=exposed,
        of=n,
        details={"n_copied": int(flags[:n].sum()), "n_alone": int(found.single[:n].sum()), "n": n},
        sentence=f"{percent(rate)} of people have their own {names}, which nobody else has, together in one released "
        f"record{beside_strangers(strangers, p, rate)}.",
        records=records,
        flag="copied",
    )
