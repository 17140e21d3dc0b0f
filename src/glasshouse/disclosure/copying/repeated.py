"""One person published many times: how often a real record is repeated in the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PERSON_REPEATED
from glasshouse.core.errors import NotApplicable
from glasshouse.core.evidence import Counts
from glasshouse.core.limits import LEAK_LIMIT, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.words import SIMILARITY, plural
from glasshouse.disclosure.wording import against
from glasshouse.engines.exchange import exposed_people, people_clusters
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.gower import chosen_columns

if TYPE_CHECKING:
    from glasshouse.data.arrays import Floats, Ints
    from glasshouse.data.pair import Pair


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    title="Repeated records",
    better="lower",
    range=(0, None),
    unit="records",
    limit=replace(
        LEAK_LIMIT,
        without_holdout=Limit(
            "repeated_p", warn=0.05, fail=0.01, operator=">=", why="one person's record far too often"
        ),
    ),
    figures=("repeated_p",),
    cite="hypergeometric test of a record's frequency; Westfall & Young (1993) on testing many records",
    attacker="every column of one person",
    caveats=SIMILARITY,
    cost="rows",
    tier="fast",
    group="repeated records",
    alone="warn",
    advice=PERSON_REPEATED,
    influence="free",
)
def repeated_records(pair: Pair, *, columns: Sequence[str] | None = None, round_digits: int | None = None) -> Result:
    """How often the release repeats the record of one real person who is unlike anybody else.

    A generator that got stuck on an outlier publishes the same person again and again. Averages over everybody do not
    see one person; this looks at the most repeated one.

    Parameters
    ----------
    pair : Pair
        Original and release; a holdout, where there is one, helps to tell who is unlike anybody else.
    columns : sequence of str, optional
        The columns compared; all shared ones by default.
    round_digits : int, optional
        Decimals to which numbers are rounded before they are compared; as they are by default.

    Returns
    -------
    Result
        ``value`` is the largest number of released records that equal one unique original record; ``p_value`` (without
        a holdout ``figures["repeated_p"]``) says how surprising that is; ``counts`` and ``exposure`` are
        people repeated. ``records`` gives each original the number of its released copies and the first of them.

    Notes
    -----
    Let the record of a person unlike anybody else (original and holdout together; with clusters, of no other cluster)
    occur a times among N real records, a = 1 without clusters, and r times among m released ones. If the release were
    m more draws from the population, r given r + a occurrences in all would be hypergeometric. A generator may repeat
    any record, so r must also be rare by its own habit: the released records that equal nobody are repeated with
    chance q, which gives a tail q^(r - 1), and never less than the share of them repeated as often. The p value of a
    person is the larger of both, times the number of such people who are in the release (Bonferroni). One person
    cannot be told from one stranger by exchanging their labels, so this is no exchange test: a holdout only helps to
    tell who is unlike anybody else.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> gh.disclosure.repeated_records(pair).verdict
    'pass'
    """
    chosen = tuple(chosen_columns(pair, columns))
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    ids = pair.memo(("row_ids", chosen, round_digits), lambda: row_ids(pair, chosen, round_digits))
    size = 1 + max(int(part.max(initial=0)) for part in ids.values())
    tally = {table: np.bincount(part, minlength=size) for table, part in ids.items()}
    tables = ["original", *(["holdout"] if "holdout" in ids and len(ids["holdout"]) else [])]
    own = np.concatenate([ids[table] for table in tables])
    real = np.bincount(own, minlength=size)
    copies = tally["released"][own]
    alone = _owners(pair, own, tables, size)[own] == 1
    n = pair.n("original")
    unique, repeated = alone[:n], np.where(alone, copies, 0)[:n]
    most = int(repeated.max(initial=0))
    nobodys = tally["released"][(real == 0) & (tally["released"] > 0)]
    p = _p_value(repeated, real[own[:n]], nobodys, len(own), pair.n("released"))
    held = len(tables) > 1
    flags = alone & (copies > 1)
    clusters = people_clusters(pair)
    times = "is not in the release" if most == 0 else f"is in the release {most:,} {plural(most, 'time')}"

    def records() -> Mapping[str, np.ndarray]:
        found = np.full(size, -1, np.int64)
        last = np.arange(pair.n("released"))[::-1]
        found[ids["released"][last]] = last  # the first of equal ones stays
        row = found[ids["original"]]
        return {
            "released_copies": copies[:n],
            "unique": unique,
            "repeated": repeated,
            "released_row": np.ma.MaskedArray(row, row < 0),
        }

    return Result(
        value=most,
        figures={"repeated_p": None if held else p},
        p_value=p if held else None,
        p_chance=p,
        counts=Counts(int(flags[:n].sum()), n, int(flags[n:].sum()), len(own) - n)
        if held
        else Counts(int(flags.sum()), n),
        exposure=exposed_people(flags[:n], flags[n:], clusters, unique) if held else None,
        details={
            "n_unique": int(unique.sum()),
            "n_unique_released": int((repeated > 0).sum()),
            "n_repeated": int((repeated > 1).sum()),
            "share_of_release": most / pair.n("released"),
            "p_repeated": p,
        },
        sentence=f"Of people unlike anybody else, the one repeated most {times} "
        f"({percent(most / pair.n('released'), 2)} of it): {against(p)}. {SIMILARITY}",
        records=records,
        flag="repeated",
    )


def _owners(pair: Pair, own: Ints, tables: Sequence[str], size: int) -> Ints:
    """How many people have each record; records of one cluster are one person."""
    clusters = [pair.cluster_codes(table) for table in tables]
    known = [ids for ids in clusters if ids is not None]
    if len(known) < len(tables):
        return np.bincount(own, minlength=size)
    kin = np.concatenate(known).astype(np.int64)
    kin = np.where(kin >= 0, kin, kin.max(initial=0) + 1 + np.arange(len(kin)))  # no known cluster: alone
    return np.bincount(np.unique(np.column_stack([own, kin]), axis=0)[:, 0], minlength=size)


def _p_value(repeated: Ints, real: Ints, nobodys: Ints, people: int, released: int) -> float:
    """The smallest p value over unique people in the release, times their number, at most 1."""
    from scipy.stats import hypergeom

    found = np.flatnonzero(repeated)
    if not len(found):
        return 1.0
    cases = np.unique(np.column_stack([repeated[found], real[found]]), axis=0)
    times, own = cases.T
    chance: Floats = hypergeom.sf(times - 1, people + released, times + own, released)
    # the generator's own habit: a geometric tail from its repeats, one added, and never less than what was seen
    again = (int((nobodys - 1).sum()) + 1) / (int(nobodys.sum()) + 1)
    seen = (nobodys[None, :] >= times[:, None]).sum(axis=1) / (1 + len(nobodys))
    habit = np.maximum(again ** (times - 1.0), seen)
    return float(min(1.0, np.maximum(chance, habit).min() * len(found)))
