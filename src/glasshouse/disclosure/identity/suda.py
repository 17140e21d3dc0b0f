"""Special uniques: how few keys single a record out (SUDA), and the DIS-SUDA score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, factorial, prod

import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import STRUCTURE, missing_rule, spoken, structure_note
from glasshouse.disclosure.roles import KeyGroups, spoken_keys
from glasshouse.engines.cells.classes import ClassCodes, class_codes
from glasshouse.engines.cells.subsets import MOST_KEYS, minimal_uniques

BANDS = tuple(round(0.1 * i, 1) for i in range(11))


def msu_weight(size: int, keys: int, largest: int, score: str) -> float:
    """What one minimal sample unique adds to a record's score.

    Parameters
    ----------
    size, keys : int
        Keys of the minimal sample unique (m) and all keys (M).
    largest : int
        Largest set searched (K).
    score : {"elliot", "ihsn", "binary"}
        The weight in use.

    Returns
    -------
    float

    Notes
    -----
    "elliot": (M - m)! when every size is searched; with a limit K the product of (M - j) for j = m, ..., min(K, M - 1).
    "ihsn": (2^(M - m) - 1) m! (M - m)! / M!. "binary": 1 / 2^(m - 1).

    Examples
    --------
    >>> msu_weight(1, 4, 4, "elliot"), msu_weight(2, 4, 4, "binary")
    (6.0, 0.5)
    """
    if score == "elliot":
        return (
            float(factorial(keys - size))
            if largest >= keys - 1
            else float(prod(keys - j for j in range(size, largest + 1)))
        )
    if score == "ihsn":
        return (2 ** (keys - size) - 1) / comb(keys, size)
    return 2.0 ** (1 - size)


def dis_scores(score: np.ndarray, pairs: int, fraction: float, keys: int) -> np.ndarray:
    """DIS-SUDA: an approximate probability that a match with a unique is right.

    Parameters
    ----------
    score : ndarray
        SUDA scores.
    pairs : int
        Records in classes of exactly two (P).
    fraction : float
        Sampling fraction (f).
    keys : int
        Number of keys (M).

    Returns
    -------
    ndarray
        0 where the score is 0, 1 for the others where ``pairs`` is 0.

    Notes
    -----
    dis = 1 / (1 + P (1 - f) / (f score^Q A)), Q = 1 + (8 - M) / 20, A = sum of score^-Q over positive scores. The
    published form also holds the number of uniques, which cancels.
    """
    exponent = 1 + (8 - keys) / 20
    positive = score > 0
    dis = np.zeros(len(score))
    powered = score[positive] ** exponent
    dis[positive] = 1 / (1 + pairs * (1 - fraction) / (fraction * powered * (1 / powered).sum()))
    return dis


@dataclass(frozen=True)
class Scores:
    """Scores per class: only classes of one record can have any."""

    score: np.ndarray
    shares: np.ndarray  # per class and key: weight of the minimal uniques that contain the key
    count: np.ndarray
    smallest: np.ndarray  # size of the smallest minimal unique, 0 without one
    by_size: dict[int, int]


def _score(classes: ClassCodes, largest: int, score: str) -> Scores:
    keys = classes.codes.shape[1]
    total = np.zeros(len(classes.sizes))
    shares = np.zeros((len(classes.sizes), keys))
    count = np.zeros(len(classes.sizes), np.int64)
    smallest = np.zeros(len(classes.sizes), np.int64)
    by_size = dict.fromkeys(range(1, largest + 1), 0)
    for found in minimal_uniques(classes.codes, classes.sizes, largest):
        weight = msu_weight(found.size, keys, largest, score)
        total[found.rows] += weight
        count[found.rows] += 1
        smallest[found.rows] = np.where(
            smallest[found.rows] == 0, found.size, np.minimum(smallest[found.rows], found.size)
        )
        by_size[found.size] += len(found.rows)
        for key in range(keys):
            if found.mask >> key & 1:
                shares[found.rows, key] += weight
    return Scores(total, shares, count, smallest, by_size)


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    table="single",
    cite=(
        "Elliot, Manning and Ford (2002), a computational algorithm for handling the special uniques problem; "
        "Elliot and Manning (2003), DIS-SUDA"
    ),
    limit=Limit("smallest_set", warn=3, fail=2, operator=">=", why="one key fails, two keys warn"),
    figures=("smallest_set",),
    attacker="a few keys of somebody in the file",
    caveats=f"scores depend on the number of keys given; {STRUCTURE}",
    group="classes",
    cost="cells",
    title="SUDA",
    tier="fast",
    advice=STANDS_ALONE,
)
def suda(
    pair: Pair,
    *,
    table: str = "released",
    fraction: float = 0.01,
    max_k: int | None = None,
    score: str = "elliot",
    key_groups: KeyGroups = None,
) -> Result:
    """Share of records that some set of keys singles out, with a score for how few keys it takes (SUDA and DIS-SUDA).

    A record that two ordinary facts single out is in more danger than one that needs all keys. A missing value is
    part of no such set, and an ordinary value for the other records.

    Parameters
    ----------
    pair : Pair
        The tables with keys.
    table : {"released", "original"}, default "released"
        The table searched.
    fraction : float, default 0.01
        Sampling fraction of DIS-SUDA, between 0 and 1.
    max_k : int or None, default None
        Largest set of keys searched; None searches all of them. A limit makes the scores lower bounds.
    score : {"elliot", "ihsn", "binary"}, default "elliot"
        Weight of a minimal sample unique, see the notes.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the share of records with a minimal sample unique; there is no baseline. ``details`` hold
        ``smallest_msu``, ``msus_by_size``, mean and largest score and DIS score, what each key
        (``attribute_contributions``) and each level (``level_contributions``) carries of the scores; keys share
        minimal uniques, so their parts sum to more than 1. ``records`` give ``score``, ``dis_score``, ``msus``,
        ``smallest_msu``, ``special_unique`` and ``contribution_<key>``.

    Notes
    -----
    A minimal sample unique (MSU) of record i is a set S of keys on which i is unique and on no proper subset of which
    it is. With M keys and m = |S| the score of a record sums over its MSUs::

        "elliot":  (M - m)!
        "ihsn":    (2^(M - m) - 1) m! (M - m)! / M!
        "binary":  1 / 2^(m - 1)

    DIS-SUDA turns the score into an approximate probability that a match with a unique is right: with P records in
    groups of two, Q = 1 + (8 - M)/20 and A the sum of score^-Q over positive scores,
    dis = 1 / (1 + P (1 - fraction) / (fraction score^Q A)).

    References
    ----------
    .. [1] Elliot, M., Manning, A. and Ford, R. (2002), A computational algorithm for handling the special uniques
       problem. International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10.
    .. [2] Elliot, M. and Manning, A. (2003), DIS-SUDA.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> table = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    >>> result = gh.disclosure.suda(table, keys=["a", "b", "c"])
    >>> result.record_arrays()["score"].tolist(), result.details["msus_by_size"]
    ([2.0, 4.0, 2.0], {'1': 3, '2': 2, '3': 0})
    """
    keys = len(pair.keys)
    if not 0 < fraction < 1:
        raise InputError(f"fraction must lie between 0 and 1, not {fraction}")
    if score not in ("elliot", "ihsn", "binary"):
        raise InputError(f"score={score!r}: choose 'elliot', 'ihsn' or 'binary'")
    if max_k is not None and max_k < 1:
        raise InputError(f"max_k={max_k}: a set of keys holds at least 1")
    if keys > MOST_KEYS and (max_k is None or max_k > 4):
        raise InputError(
            f"{keys} keys have more sets than can be searched; use at most {MOST_KEYS} keys or max_k of 4 or less"
        )
    largest = keys if max_k is None else min(max_k, keys)
    classes = class_codes(pair, table, key_groups)
    made = _score(classes, largest, score)
    pairs = 2 * int((classes.sizes == 2).sum())
    dis = dis_scores(made.score, pairs, fraction, keys)
    n = int(classes.sizes.sum())
    hit = int((made.count > 0).sum())
    overall = made.score.sum()
    contributions = {k: float(made.shares[:, i].sum() / overall) if overall else 0.0 for i, k in enumerate(pair.keys)}
    smallest = next((size for size, number in made.by_size.items() if number), None)

    def records() -> Mapping[str, np.ndarray]:
        local = class_codes(pair, table, key_groups, in_memory=True)
        own = made if local._cells is classes._cells else _score(local, largest, score)
        own_dis = dis_scores(own.score, pairs, fraction, keys)
        share = np.divide(own.shares, own.score[:, None], out=np.zeros_like(own.shares), where=own.score[:, None] > 0)
        return local.records(
            {
                "score": own.score,
                "dis_score": own_dis,
                "msus": own.count,
                "smallest_msu": own.smallest,
                "special_unique": own.count > 0,
            }
            | {f"contribution_{k}": share[:, i] for i, k in enumerate(pair.keys)}
        )

    by_band = np.histogram(dis[made.score > 0], bins=np.array(BANDS))[0]
    bands = {f"{low:g}-{high:g}": int(c) for low, high, c in zip(BANDS, BANDS[1:], by_band, strict=False)}
    return Result(
        value=hit / n,
        figures={"smallest_set": keys + 1 if smallest is None else smallest},
        details={
            "attribute_contributions": contributions,
            "msus_by_size": {str(k): v for k, v in made.by_size.items()},
            "smallest_msu": smallest,
            "n_special_uniques": hit,
            "mean_score": float(overall / n),
            "max_score": float(made.score.max(initial=0.0)),
            "mean_dis_score": float(dis.sum() / n),
            "max_dis_score": float(dis.max(initial=0.0)),
            "n_dis_above_0.1": int((dis > 0.1).sum()),
            "dis_bands": bands,
            "level_contributions": _levels(pair, classes, made),
            "fraction": fraction,
            "n": n,
            "n_dropped": pair.n(table) - n,
            "max_k": largest,
            "table": table,
        },
        sentence=_sentence(pair, table, hit, n, made, contributions),
        warnings=[*structure_note(pair, table), *_notes(pair, largest, keys)],
        records=records,
        flag="special_unique",
        rank="score",
        plot_data={
            "contributions": {"key": list(contributions), "share": list(contributions.values())},
            "sizes": {"keys": list(made.by_size), "sets": list(made.by_size.values())},
            "dis": {"band": list(bands), "records": list(bands.values())},
        },
    )


def _notes(pair: Pair, largest: int, keys: int) -> list[str]:
    notes = []
    if missing_rule(pair, "level") == "wildcard":
        notes.append(
            "missing='wildcard' has no meaning for special uniques; missing was an ordinary value that is part "
            "of no minimal unique"
        )
    if largest < keys:
        notes.append(f"only sets of up to {largest} of {keys} keys were searched: the scores are lower bounds")
    return notes


def _sentence(pair: Pair, table: str, hit: int, n: int, made: Scores, contributions: dict[str, float]) -> str:
    where = spoken(pair, table)
    if not hit:
        return f"In {where} no record stands alone on {spoken_keys(pair)} or on fewer of them."
    one, two = int((made.smallest == 1).sum()), int((made.smallest == 2).sum())
    most = max(contributions, key=lambda k: contributions[k])
    few = (
        " and ".join(f"{count:,} by {word}" for count, word in ((one, "a single key"), (two, "two keys")) if count)
        or "none by fewer than three keys"
    )
    return (
        f"In {where} {percent(hit / n)} of the records ({hit:,} of {n:,}) are singled out by some of "
        f"{spoken_keys(pair)}, {few}; {most} contributes most."
    )


def _levels(pair: Pair, classes: ClassCodes, made: Scores, most: int = 10) -> dict[str, dict[str, float]]:
    """The levels of each key that carry most of the score. Levels are values of people, so external reports leave them
    out.
    """
    shown: dict[str, dict[str, float]] = {}
    overall = made.score.sum()
    for i, key in enumerate(pair.keys):
        levels = classes.levels[i]
        if not overall:
            continue
        carried = (
            np.bincount(classes.codes[:, i] + 1, weights=made.shares[:, i], minlength=len(levels) + 1)[1:] / overall
        )
        top = [int(j) for j in np.argsort(-carried, kind="stable")[:most] if carried[j] > 0]
        shown[key] = {str(levels[j]): float(carried[j]) for j in top}
    return shown
