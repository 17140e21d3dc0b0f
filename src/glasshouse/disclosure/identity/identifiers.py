"""Shared identifiers: columns that name people, left out of every other measure, and whether the release names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from glasshouse.core.advice import NAMES_PEOPLE
from glasshouse.core.errors import NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT, Evidence, Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.core.words import plural, spoken
from glasshouse.data.arrays import Bools
from glasshouse.data.pair import Pair
from glasshouse.data.roles import with_excluded
from glasshouse.disclosure.wording import against, beside_strangers
from glasshouse.engines.cells.strangers import Strangers, told
from glasshouse.engines.exchange import clusters_of, exchange, exposure, largest_of

MOST = 0.5  # without people never in the data, more than this share of the people named is no coincidence
SURER = 3  # how much surer the exchange is where no stranger is named
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
            fail=MOST,
            operator="<=",
            evidence=Evidence(),
            passes=False,
            why="real identifiers in the release are looked at; those of most people are no coincidence",
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
def shared_identifiers(pair: Pair, *, confidence: float = 0.95) -> Result:
    """Share of real people whose own identifier (a name, a number) is in the release.

    Columns taken for identifiers are left out of every other measure, so a release of every real name would pass them
    all. Numbers that the release runs through without a gap, as it does its row numbers, name nobody where chance
    explains them.

    Parameters
    ----------
    pair : Pair
        The tables. Looked at are columns taken for identifiers, free text that is different for most people, and
        excluded columns that look like either, in original and release.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Result
        ``value`` is the share of original people with any identifier in the release, ``holdout`` the same of holdout
        people, ``difference`` the leak and ``p_value`` the exchange test. ``details`` hold the number of people per
        column and what chance explains. ``records`` flag each original (``shared``) with the ``columns`` it shares.
        No value is shown anywhere.

    Notes
    -----
    A person counts when the value occurs in the release, spaces and case aside; with clusters, when any of their
    records has one. Labels of members and strangers (whole clusters) are exchanged, and nothing is assumed about how
    identifiers came about: names people share, codes given out once and invented ones meet members and strangers alike.
    Where no stranger is named the p value counts a third, so that three names beside as many strangers call for review
    and six fail; how seldom luck does that is in docs/calibration.md. Whole numbers that the release runs through, as
    it does its own row numbers, name nobody, whatever range the holdout has.

    Without a holdout, chance explains as many people as

        numbers  n min(1, m / R)      m different released numbers, R the range of the original ones
        text     t M / (n - 1)        t people whose value another person has, M released records

    and three standard deviations more (values that several people have are met together); the figure ``unexplained`` is
    the share of people left, over all columns the largest. What is given out once per person cannot be told from luck
    there, so that less than half of the people only call for review.

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
    records_shared = _any([one.shared for one in counted], pair.n("original"))
    members = _people(source, "original", records_shared)
    n = len(members)
    compared = [one for one in counted if one.strangers is not None]
    found = None
    if pair.has_holdout and len(compared) == len(counted):
        flags = _any([one.strangers for one in counted if one.strangers is not None], pair.n("holdout"))
        strangers = _people(source, "holdout", flags)
        tested = exchange(members, strangers, confidence=confidence)
        if members.any() and not strangers.any():
            tested = tested._replace(p=tested.p / SURER)
        # what would have been seen of names says nothing about other ways of tying records to people
        found = Strangers(tested, replace(exposure(tested), particular=True))
    hits = int(members.sum())
    leak = told(found, hits, n)
    unexplained = max((one.unexplained for one in counted), default=0.0)

    def records() -> Mapping[str, np.ndarray]:
        many = np.sum([one.shared for one in counted], axis=0) if counted else np.zeros(len(records_shared), np.int64)
        return {"shared": records_shared, "columns": many}

    return Result(
        value=hits / n,
        interval=wilson(hits, n, confidence),
        **leak,
        figures={"unexplained": None if found is not None else unexplained},
        details={
            "n_shared": hits,
            "n": n,
            "people": {one.column: one.people for one in counted},
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
    people: int
    unexplained: float
    expected: float
    row_numbers: bool

    @classmethod
    def read(cls, pair: Pair, column: str) -> _Identifier:
        """Look the real people's values up in the release."""
        original, released = _values(pair, column, "original"), _values(pair, column, "released")
        held = _values(pair, column, "holdout") if pair.has_holdout and pair.has(column, "holdout") else None
        different = released.drop_nulls().unique()
        shared = _occurs(original, different)
        people = _people(pair, "original", shared)
        n, hits = len(people), int(people.sum())
        numbers, others = _as_numbers(original), _as_numbers(different)
        if numbers is not None:
            expected = n * min(1.0, len(different) / _range(numbers))
            spread = float(np.sqrt(expected))
        else:
            clusters = clusters_of(pair, "original")
            person = np.arange(len(original)) if clusters is None else clusters[0]
            own = pl.DataFrame({"value": original, "person": person}).drop_nulls("value").unique()
            twins = own["value"].value_counts().to_series(1).to_numpy()
            twins = twins[twins > 1].astype(float)
            expected = min(float(n), float(twins.sum()) * (len(released) - released.null_count()) / max(n - 1, 1))
            spread = float(np.sqrt((twins**2).sum()))  # everybody of one name is met together
        runs = numbers is not None and others is not None and hits <= expected + 3 * spread and _run_through(others)
        strangers = None if held is None else _occurs(held, different)
        left = (hits - expected - 3 * spread) / max(n, 1)
        return cls(column, shared, strangers, hits, left, expected, runs)


def _run_through(numbers: pl.Series) -> bool:
    """Whether no number is left out, as in those a program gives to rows; people's own numbers have gaps."""
    return bool(numbers.n_unique() == _range(numbers))


def _people(pair: Pair, table: str, flags: Bools) -> Bools:
    """Flags of people: of clusters where there are any, a cluster with a flagged record being flagged."""
    clusters = clusters_of(pair, table)
    return flags if clusters is None else largest_of(flags, clusters[0]) > 0


def _identifiers(pair: Pair) -> tuple[Pair, list[str]]:
    """The pair that shows them, and the columns that name people in both original and release."""
    source = with_excluded(pair)
    roles = {*pair.keys, *pair.targets, pair.weights}
    clusters = clusters_of(pair, "original")
    people = pair.n("original") if clusters is None else len(np.unique(clusters[0]))
    found = []
    for column, spec in source.schema.items():
        if column in roles or not source.has(column, "released"):
            continue
        # one name on all records of a person is a name all the same
        words = spec.kind == "text" or (clusters is not None and spec.kind == "categorical" and spec.storage == "text")
        if (
            spec.kind == "identifier"
            or column == pair.cluster
            or (words and source.n_distinct(column) > OWN_TEXT * people)
        ):
            found.append(column)
    return source, found


def _values(pair: Pair, column: str, table: str) -> pl.Series:
    """The column, texts without case and outer spaces."""
    values = pair.column(column, table)
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
    named = [
        f"{one.column} ({one.people:,} {plural(one.people, 'person', 'people')})" for one in read if not one.row_numbers
    ]
    rows = [one.column for one in read if one.row_numbers]
    text = ""
    if named:
        text = f"{percent(hits / n)} of people ({hits:,} of {n:,}) have their own identifier in the release"
        if p is not None and not strangers and hits:
            often = against(min(1.0, SURER * p)).rsplit(" (", 1)[0]
            text += f", nobody of people never in the data: {often}, which counts a third because no stranger is named"
            text += f" ({p_value(p)})"
        elif p is not None:
            text += beside_strangers(strangers, p)
        elif unexplained > MOST:
            text += ", which chance cannot explain"
        elif unexplained > 0:
            text += "; whether chance explains them cannot be told without people never in the data"
        else:
            text += ", no more than chance explains"
        text += f". Columns taken for identifiers: {spoken(named)}."
    if rows:
        verbs = ("numbers", "names") if len(rows) == 1 else ("number", "name")
        text += f" {spoken(rows)} only {verbs[0]} the rows and {verbs[1]} nobody."
    return text.strip()
