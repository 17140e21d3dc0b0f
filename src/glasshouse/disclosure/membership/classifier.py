"""Membership attack by a classifier that learns to tell the release from other people of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import MEMBERSHIP
from glasshouse.core.errors import InputError
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.disclosure.copying.closeness import answerable_columns
from glasshouse.disclosure.membership.scores import Alike, attack_result, check_holdout, separate
from glasshouse.engines.asked import MOST, PEOPLE, People, people_asked
from glasshouse.engines.canonical import canonical, canonical_designs
from glasshouse.engines.exchange import people_clusters
from glasshouse.engines.neighbours.encoding import row_ids

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.engines.models.registry import Estimator

STEADY = 2000  # people whose scores need no second deal into folds
MOST_DEALS = 20
DRAWN = 100_000  # records a tree learns from at most; each tree draws its own


@measure(
    side="disclosure",
    family="membership",
    threat="membership",
    better="lower",
    range=(0, 1),
    needs=("holdout",),
    limit=LEAK_LIMIT,
    cite="El Emam, Mosquera & Fang (2022), membership disclosure; Lautrup et al. (2024), SynthEval",
    attacker="every column of the person, the release, and a sample of the population without that person",
    caveats="Blind when the release is easily told from real people: members then look real whatever was memorised.",
    cost="attackers",
    audited=True,
    group="membership",
    advice=MEMBERSHIP,
    influence="root",
    chance=0.5,
    wide="columns",
    grows="values",
)
def membership_classifier(
    pair: Pair,
    *,
    attacker: str | Estimator = "rf",
    folds: int = 4,
    trees: int = 200,
    columns: Sequence[str] | None = None,
    people: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """How well a classifier trained on release against population tells members from others.

    The attacker learns to tell release records from other real people and scores a person by the probability of being
    like a release record. People are scored by a model that saw nobody of their fold, so members and non-members are
    exchangeable unless the release leaks.

    Parameters
    ----------
    pair : Pair
        Original and release with a holdout: people of the same population whom the synthesiser never saw.
    attacker : str or estimator, default "rf"
        The classifier: a name such as "rf", "gbm", "cart" or "logit"
        (``glasshouse.engines.models.registry.attackers()`` lists all), or a scikit-learn estimator.
    folds : int, default 4
        Folds original and holdout are dealt into; at least 2.
    trees : int, default 200
        Trees of the forest ("rf").
    columns : sequence of str, optional
        Columns the attacker knows; every shared column with a value in the release by default.
    people : int or "all", optional
        How many of original and of holdout are asked about at most, drawn at random. Default: 100,000 of each. The
        attacker learns from everybody.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the folds, of the classifier and of the people asked about.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: AUC, the share of comparisons of a member with a non-member the attacker gets right (0.5 without a
        leak); ``baseline``: 0.5. ``difference``: members minus holdout people above a score that 1 % of holdout people
        exceed (one of them, if 1 % are fewer), with interval; ``p_value``: that of exchanged labels; ``counts``
        and ``operating``: hits and false alarms at a few thresholds. ``details``: interval and advantage (largest TPR -
        FPR), TPR at 1 % and 0.1 % false alarms, the least AUC this holdout could have detected, recall at an even cut
        and the false-positive rate beside it. ``records``: per original its ``score`` and whether it is ``exposed``.

    Notes
    -----
    Holdout and original are dealt into F folds jointly: equal records, and records of one cluster, share a fold. The
    model of fold f learns release (1) against the real people of the other folds (0), original and holdout alike, and
    for the people x of fold f

        score(x) = P(release | x),   AUC = P(score of a member > score of a non-member) + P(equal) / 2

    Each tree of the forest learns from as many records as there are, drawn with replacement, or from 100,000 of more.

    With fewer than 2,000 people they are dealt several times (``details``: ``deals``, at most 20) and their scores
    averaged, so that the answer hangs less on the seed.

    The labels of members and others (of whole clusters, where the pair has them) are exchanged twice: are members
    ranked higher on the whole, and are more of them found at few false alarms? The smaller p value counts, doubled
    (``details``: ``p_label_swap``, ``p_found``). Recall is given only beside the false-positive rate, because
    alone it says nothing about leaks: members look like the population the release describes.

    References
    ----------
    El Emam, Mosquera & Fang (2022), Validating a membership disclosure metric for synthetic health data, JAMIA Open 5.
    Lautrup, Hyrup, Zimek & Schneider-Kamp (2024), SynthEval, Data Mining and Knowledge Discovery.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.membership_classifier(gh.data.load("health").pair(), trees=20)
    >>> round(found.value, 2), found.baseline
    (0.73, 0.5)
    """
    from glasshouse.engines.models.model import fit_and_predict

    if folds < 2:
        raise InputError(f"folds must be at least 2, not {folds}")
    check_holdout(pair, columns, at_least=2 * folds)
    notes: list[str] = []
    names = answerable_columns(pair, columns, notes)
    ids = pair.memo(("row_ids", names, None), lambda: row_ids(pair, names))
    tables = canonical_designs(pair, names, ("original", "holdout", "released"))
    who = people_asked(pair, people, random_state, MOST)
    every = {t: np.arange(pair.n(t)) if rows is None else rows for t, rows in who.rows.items()}
    scores = {t: np.zeros(pair.n(t)) for t in PEOPLE}
    n_people = sum(pair.n(t) for t in PEOPLE)
    deals = _deals(n_people)
    dealt = [_deal(pair, names, ids, folds, random_state, deal) for deal in range(deals)]
    for (deal, fold), f in product(enumerate(dealt), range(folds)):
        # original and holdout people alike, else a score would depend on who is which
        real = [tables[t].take(fold[t] != f) for t in fold]
        training = tables["released"].stack(real[0].stack(real[1]))
        y = (np.arange(training.n) < pair.n("released")).astype(np.int64)
        at = {t: every[t][fold[t][every[t]] == f] for t in fold}
        options: dict[str, object] = {}
        if attacker == "rf":
            options = {"trees": trees, "node_size": 1, "draws": min(training.n, DRAWN)}
        answers, _ = fit_and_predict(
            attacker,
            training,
            y,
            [tables[t].take(at[t]) for t in fold],
            n_classes=2,
            random_state=integer_seed(random_state, "membership_classifier", deal * folds + f),
            n_jobs=n_jobs,
            **options,
        )
        for table, answer in zip(fold, answers, strict=True):
            scores[table][at[table]] += answer[:, 1] / deals
    _, twin, counts = np.unique(np.concatenate([ids[t] for t in PEOPLE]), return_inverse=True, return_counts=True)
    alone = who.of("original", counts[twin.reshape(-1)[: pair.n("original")]] == 1)
    possible = np.where(alone, np.inf, -np.inf)  # nobody can be found among their equals
    told = {t: who.of(t, scores[t]) for t in PEOPLE}
    alike = Alike(told["original"], told["holdout"], who.clusters(pair), possible)
    found = separate(alike.members, alike.others, confidence, alike=alike, random_state=random_state)
    # Cut where release and population are equally likely given their share in training.
    cut = pair.n("released") / (pair.n("released") + n_people * (folds - 1) / folds)
    name = attacker if isinstance(attacker, str) else type(attacker).__name__
    return attack_result(
        found,
        told["original"],
        attacker=f"A classifier ({name})",
        details={
            "attacker": name,
            "folds": folds,
            "deals": deals,
            "recall": float((told["original"] >= cut).mean()),
            "false_positive_rate": float((told["holdout"] >= cut).mean()),
        },
        n_others=who.n("holdout"),
        confidence=confidence,
        notes=notes,
        asked=who,
    )


def _deals(people: int) -> int:
    """How often people are dealt into folds: with few of them a single deal is luck, and their scores are averaged."""
    return min(MOST_DEALS, max(1, -(-STEADY // people)))


def _deal(
    pair: Pair,
    names: Sequence[str],
    ids: Mapping[str, np.ndarray],
    folds: int,
    random_state: RandomState,
    deal: int = 0,
) -> dict[str, np.ndarray]:
    """A fold for every original and holdout record, dealt jointly.

    Equal records share a fold, and so do the records of one cluster, whichever table they are in: a holdout record
    must not meet a model that never saw its twin while an original meets one that did. Random, of about equal sizes,
    the same whatever the order of rows and columns and the names of categories.
    """
    tables = ("original", "holdout")
    rows = np.concatenate([ids[t] for t in tables])
    clusters = people_clusters(pair)
    unit = rows if clusters is None else _joined(rows, np.concatenate(clusters))
    distinct, inverse = np.unique(unit, return_inverse=True)
    inverse = inverse.reshape(-1)
    content = np.zeros(len(distinct), np.uint64)
    found = canonical(pair, names)
    np.add.at(content, inverse, np.concatenate([found.records[t] for t in tables]))
    dealt = np.empty(len(distinct), np.int64)
    dealt[np.argsort(content, kind="stable")] = (
        generator(random_state, "membership folds", *([deal] if deal else [])).permutation(len(distinct)) % folds
    )
    made = dealt[inverse]
    return {"original": made[: len(ids["original"])], "holdout": made[len(ids["original"]) :]}


def _joined(rows: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Components of records tied by equal content or by a common cluster."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, cluster = np.unique(clusters, return_inverse=True)
    size = int(rows.max()) + 1
    total = size + int(cluster.max()) + 1
    links = coo_array((np.ones(len(rows)), (rows, size + cluster.reshape(-1))), shape=(total, total))
    return np.asarray(connected_components(links, directed=False)[1][rows])
