"""Shared identifiers: columns that name people, left out of every other measure, and whether the release names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.advice import NAMES_PEOPLE
from glasshouse.core.errors import NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT, Evidence, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import spoken
from glasshouse.data.arrays import Bools
from glasshouse.data.pair import Pair
from glasshouse.data.roles import with_excluded
from glasshouse.disclosure.copying.found import with_chance
from glasshouse.disclosure.wording import beside_strangers
from glasshouse.engines.cells.strangers import Strangers, told
from glasshouse.engines.exchange import exchange, exposure, people_clusters

HANDFUL = 5
NO_SURPRISE = 1.0  # where chance shares more identifiers than this, only the exchange of labels tells
OWN_TEXT = 0.5  # free text counts when more than this share of the people have a value of their own
NUMBERED = r"^(\D*)(\d{1,18})(\D*)$"  # a number with the same text around it on every record: P0001, P0002


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    limit=replace(
        LEAK_LIMIT,
        without_holdout=Limit(
            "unexplained",
            warn=0,
            fail=HANDFUL,
            operator="<=",
            evidence=Evidence(),
            passes=False,
            why="a real identifier in the release is looked at; those of more than a handful of people are no "
            "coincidence",
        ),
    ),
    figures=("unexplained",),
    cite="Regulation (EU) 2016/679 (GDPR), article 4(5) and recital 26, on direct identifiers",
    attacker="the name or number of a real person",
    caveats="looks at columns taken for identifiers only: equal values are found, disguised ones are not",
    cost="rows",
    tier="fast",
    group="identifiers",
    alone="fail",
    title="Shared identifiers",
    advice=NAMES_PEOPLE,
)
def shared_identifiers(pair: Pair, *, confidence: float = 0.95, random_state: RandomState = 0) -> Result:
    """Share of real people whose own identifier (a name, a number) is in the release.

    Columns taken for identifiers are left out of every other measure, so a release of every real name would pass them
    all. Row numbers that both files run through from the same start name nobody and are not counted.

    Parameters
    ----------
    pair : Pair
        The tables. Looked at are columns taken for identifiers, free text that is different for most people, and
        excluded columns that look like either, in original and release.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the exchange of labels, where the pair has clusters.

    Returns
    -------
    Result
        ``value`` is the share of original people with any identifier in the release, ``holdout`` the same of holdout
        people, ``difference`` the leak and ``p_value`` the exchange test. ``details`` hold the number of people per
        column and what chance explains. ``records`` flag each original (``shared``) with the ``columns`` it shares.
        No value is shown anywhere.

    Notes
    -----
    A person counts when the value occurs in the release, spaces and case aside. Labels of members and strangers (of
    whole clusters, where the pair has them) are exchanged. Where real people never share a value, a few shared ones are
    no luck: with k different values of the original among m released ones, T values that several of the N real people
    (original and holdout) have, and numbers from a range R,

        numbers  P(K >= k),   K Poisson with mean n min(1, m / R)
        text     P(K >= k),   K binomial: k + T trials, each a shared value with chance n m / (n m + N (N - 1) / 2)

    This p value lowers that of the exchange at most fourfold and never below itself; where no stranger is found ten
    times it counts, as for ``exact_copies``. Where chance alone shares more than one, it says nothing.
    Without a holdout, chance explains as many people as

        numbers  n min(1, m / R)
        text     t m / (n - 1)        t originals whose value another original has

    and three standard deviations more; the figure ``unexplained`` is what is left, over all columns the largest.

    References
    ----------
    .. [1] Regulation (EU) 2016/679 (GDPR), article 4(5) and recital 26.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"name": [f"person {i * 7919 % 10007}" for i in range(50)], "age": [30, 40] * 25})
    >>> gh.disclosure.shared_identifiers(original, original).verdict
    'fail'
    """
    source, columns = _identifiers(pair)
    if not columns:
        raise NotApplicable("no column that looks like an identifier is in both original and release")
    read = [_Identifier.read(source, column) for column in columns]
    counted = [one for one in read if not one.row_numbers]
    n = pair.n("original")
    members = _any([one.shared for one in counted], n)
    compared = [one for one in counted if one.strangers is not None]
    found = None
    if pair.has_holdout and len(compared) == len(counted):
        strangers = _any([one.strangers for one in counted if one.strangers is not None], pair.n("holdout"))
        clusters = people_clusters(pair)
        tested = exchange(
            members,
            strangers,
            clusters=clusters,
            confidence=confidence,
            random_state=random_state,
            name="shared_identifiers",
        )
        chance = min((one.chance for one in counted), default=1.0) * max(len(counted), 1)
        tested = tested._replace(p=with_chance(tested.p, min(1.0, chance), bool(strangers.any())))
        found = Strangers(tested, exposure(tested, clusters))
    hits = int(members.sum())
    leak = told(found, hits, n)
    unexplained = max((one.unexplained for one in counted), default=0.0)

    def records() -> Mapping[str, np.ndarray]:
        many = np.sum([one.shared for one in counted], axis=0) if counted else np.zeros(n, np.int64)
        return {"shared": members, "columns": many}

    return Result(
        value=hits / n,
        interval=wilson(hits, n, confidence),
        **leak,
        figures={"unexplained": None if found is not None else unexplained},
        details={
            "n_shared": hits,
            "n": n,
            "people": {one.column: int(one.shared.sum()) for one in counted},
            "by_chance": {one.column: one.expected for one in counted},
            "row_numbers": [one.column for one in read if one.row_numbers],
        },
        sentence=_sentence(read, hits, n, leak["holdout"], leak["p_value"], unexplained),
        warnings=[]
        if found is not None or not pair.has_holdout or not counted
        else ["the holdout lacks an identifier column, so members cannot be compared with strangers"],
        records=records,
        flag="shared",
        rank="columns",
    )


@dataclass(frozen=True)
class _Identifier:
    """One column: whose value is in the release, how many chance explains, and whether it only numbers the rows."""

    column: str
    shared: Bools
    strangers: Bools | None
    expected: float
    chance: float
    row_numbers: bool

    @property
    def unexplained(self) -> float:
        """People beyond what chance explains, three standard deviations allowed."""
        return float(self.shared.sum()) - self.expected - 3 * float(np.sqrt(self.expected))

    @classmethod
    def read(cls, pair: Pair, column: str) -> _Identifier:
        """Look the real people's values up in the release."""
        original, released = _values(pair, column, "original"), _values(pair, column, "released")
        held = _values(pair, column, "holdout") if pair.has_holdout and pair.has(column, "holdout") else None
        different = released.drop_nulls().unique()
        shared = _occurs(original, different)
        n, m = len(original), len(different)
        numbers, others = _as_numbers(original), _as_numbers(different)
        if numbers is not None:
            expected = n * min(1.0, m / _range(numbers))
        else:
            twins = int((original.is_duplicated() & original.is_not_null()).sum())
            expected = min(float(n), twins * m / max(n - 1, 1))
        runs = (
            numbers is not None
            and others is not None
            and numbers.min() == others.min()
            and _range(numbers) == numbers.n_unique()
            and _range(others) == others.n_unique()
        )
        strangers = None if held is None else _occurs(held, different)
        return cls(column, shared, strangers, expected, _chance(original, different, held, numbers, expected), runs)


def _chance(
    original: pl.Series, different: pl.Series, held: pl.Series | None, numbers: pl.Series | None, expected: float
) -> float:
    """P value of as many shared values, if the release invented its own as real people come by theirs."""
    from scipy.stats import binom, poisson

    known = original.drop_nulls().unique()
    shared = int(known.is_in(different.implode()).sum())
    if numbers is not None:
        return float(poisson.sf(shared - 1, expected)) if expected <= NO_SURPRISE else 1.0
    people = (original if held is None else pl.concat([original, held])).drop_nulls()
    twins = int((people.value_counts().to_series(1) > 1).sum())
    met, could_meet = float(len(known)) * len(different), max(len(people) * (len(people) - 1) / 2, 1.0)
    if twins * met / could_meet > NO_SURPRISE:
        return 1.0
    return float(binom.sf(shared - 1, shared + twins, met / (met + could_meet)))


def _identifiers(pair: Pair) -> tuple[Pair, list[str]]:
    """The pair that shows them, and the columns that name people in both original and release."""
    source = with_excluded(pair)
    roles = {*pair.keys, *pair.targets, pair.weights, pair.cluster}
    found = []
    for column, spec in source.schema.items():
        if column in roles or not source.has(column, "released"):
            continue
        own = spec.kind == "text" and source.n_distinct(column) > OWN_TEXT * source.n("original")
        if spec.kind == "identifier" or own:
            found.append(column)
    return source, found


def _values(pair: Pair, column: str, table: str) -> pl.Series:
    """The column alone, texts without case and outer spaces; a lazy table gives nothing else away."""
    values: pl.Series = pair.frame(table).select(nw.col(column)).collect(backend="polars").to_native().to_series()
    return values.str.strip_chars().str.to_lowercase() if values.dtype == pl.String else values


def _occurs(values: pl.Series, among: pl.Series) -> Bools:
    found: Bools = values.is_in(among.implode()).fill_null(False).to_numpy()
    return found


def _as_numbers(values: pl.Series) -> pl.Series | None:
    """Whole numbers, also those with the same text around them on every record; None for other text."""
    present = values.drop_nulls()
    if present.dtype.is_integer():
        return present if len(present) else None
    if present.dtype != pl.String or not len(present):
        return None
    parts = present.str.extract_groups(NUMBERED).struct.unnest()
    before, number, after = (parts.to_series(i) for i in range(3))
    if number.null_count() or before.n_unique() > 1 or after.n_unique() > 1:
        return None
    return number.cast(pl.Int64)


def _range(numbers: pl.Series) -> int:
    return int(numbers.max()) - int(numbers.min()) + 1  # type: ignore[arg-type]  # whole numbers, and at least one


def _any(flags: list[Bools], n: int) -> Bools:
    found: Bools = np.logical_or.reduce(flags) if flags else np.zeros(n, bool)
    return found


def _sentence(
    read: list[_Identifier], hits: int, n: int, strangers: float | None, p: float | None, unexplained: float
) -> str:
    """Columns and numbers of people; never a value."""
    named = [f"{one.column} ({int(one.shared.sum()):,} people)" for one in read if not one.row_numbers]
    rows = [one.column for one in read if one.row_numbers]
    text = ""
    if named:
        text = f"{percent(hits / n)} of people ({hits:,} of {n:,}) have their own identifier in the release"
        if p is not None:
            text += beside_strangers(strangers, p)
        elif unexplained > HANDFUL:
            text += ", which chance cannot explain"
        elif unexplained > 0:
            text += "; whether chance explains so few cannot be told without people never in the data"
        else:
            text += ", no more than chance explains"
        text += f". Columns taken for identifiers: {spoken(named)}."
    if rows:
        verbs = ("numbers", "names") if len(rows) == 1 else ("number", "name")
        text += f" {spoken(rows)} only {verbs[0]} the rows and {verbs[1]} nobody."
    return text.strip()
