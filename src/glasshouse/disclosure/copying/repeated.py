"""One person published many times: how often a real record is repeated in the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PERSON_REPEATED
from glasshouse.core.errors import NotApplicable
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.core.words import SIMILARITY, plural
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.search import chosen_columns

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
    limit=Limit("repeated_p_below", warn=0.95, fail=0.99, operator="<=", why="one person's record far too often"),
    figures=("repeated_p_below",),
    cite="hypergeometric test of a record's frequency; Westfall & Young (1993) on testing many records",
    attacker="every column of one person",
    caveats=SIMILARITY,
    cost="rows",
    tier="fast",
    group="repeated records",
    advice=PERSON_REPEATED,
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
        ``value`` is the largest number of released records that equal one unique original record; ``records`` gives
        each original the number of its released copies.

    Notes
    -----
    Let a real record that occurs once among N real people occur r times among m released records. If the release were
    m more draws from the population, r given r + 1 occurrences in all would be hypergeometric. A generator may repeat
    any record, so r must also be rare by its own habit: the released records that equal nobody are repeated with
    chance q, which gives a tail q^(r - 1), and never less than the share of them repeated as often. The p value of a
    person is the larger of both, times the number of unique people who are in the release (Bonferroni).

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
    real = tally["original"] + tally.get("holdout", np.zeros(size, np.int64))
    copies = tally["released"][ids["original"]]
    unique = real[ids["original"]] == 1
    repeated = np.where(unique, copies, 0)
    most = int(repeated.max(initial=0))
    people = int(real.sum())
    p = _p_value(repeated, tally["released"][(real == 0) & (tally["released"] > 0)], people, pair.n("released"))
    times = "is not in the release" if most == 0 else f"is in the release {most:,} {plural(most, 'time')}"

    def records() -> Mapping[str, np.ndarray]:
        return {"released_copies": copies, "unique": unique, "repeated": repeated}

    return Result(
        value=most,
        figures={"repeated_p_below": 1 - p},
        p_chance=p,
        details={
            "n_unique": int(unique.sum()),
            "n_unique_released": int((repeated > 0).sum()),
            "n_repeated": int((repeated > 1).sum()),
            "share_of_release": most / pair.n("released"),
            "p_repeated": p,
        },
        sentence=f"Of people unlike anybody else, the one repeated most {times} "
        f"({percent(most / pair.n('released'), 2)} of it; {p_value(p)}). {SIMILARITY}",
        records=records,
        flag="repeated",
    )


def _p_value(repeated: Ints, nobodys: Ints, people: int, released: int) -> float:
    """The smallest p value over unique people in the release, times their number, at most 1."""
    from scipy.stats import hypergeom

    times = np.unique(repeated[repeated > 0])
    if not len(times):
        return 1.0
    chance: Floats = hypergeom.sf(times - 1, people + released, times + 1, released)
    # the generator's own habit: a geometric tail from its repeats, one added, and never less than what was seen
    again = (int((nobodys - 1).sum()) + 1) / (int(nobodys.sum()) + 1)
    seen = (nobodys[None, :] >= times[:, None]).sum(axis=1) / (1 + len(nobodys))
    habit = np.maximum(again ** (times - 1.0), seen)
    return float(min(1.0, np.maximum(chance, habit).min() * int((repeated > 0).sum())))
