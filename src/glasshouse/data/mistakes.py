"""Findings about mistakes in what was handed over: the same table twice, tables swapped, people on both sides, names
that differ by case, codes among numbers, columns that were not synthesised, households taken for single people.
Measured on data without any of them by ``tests/data/test_mistakes.py``: none is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import listed
from glasshouse.core.words import plural
from glasshouse.data.conversion import collected
from glasshouse.data.findings import Finding, spoken
from glasshouse.data.frames import Lazy
from glasshouse.data.here import Label
from glasshouse.data.row_keys import RowKey
from glasshouse.data.units import units

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# What surveys write for "does not apply", "refused", "unknown": -1 to -9, and 7, 8, 9 repeated or after nines.
_HIGH = (*(int("9" * i + last) for i in range(6) for last in "6789"), 77, 88, 777, 888, 7777, 8888)
_LOW = (*range(-9, 0), *(-v for v in _HIGH if v > 9))
_PLAIN_NEGATIVE = -6  # -1 to -6 may also be scores of a scale around 0
_MANY = 10  # distinct values beyond which a scale around 0 is none
CODED = ("memory", "polars-lazy")  # engines whose whole records are slower to group than to encode
_NEW = 10  # of two tables alike, one lacks this many values of the other and none the other way once in 2 ** 10
_MADE = re.compile(r"(^|[^a-z])(syn|synth|synthetic|synthesi[sz]ed|releas(e|ed)|anonymi[sz]ed|public)($|[^a-z])")
_REAL = re.compile(r"(^|[^a-z])(orig|original|raw|real|confidential|train|training)($|[^a-z])")


# -- codes among numbers -----------------------------------------------------------------------------------------------


def special_codes(pair: Pair) -> Iterator[Finding]:
    """Numbers that look like reasons for missing.

    Notes
    -----
    Candidates are -1 to -9, 6 to 9, and runs of nines that end in 6, 7, 8 or 9 (also 77, 88, 777, 888), of either sign.
    Below 0: no other value is negative, at least 2 records hold it, with one digit also more than twice as many as hold
    the same number without the sign, and for -1 to -6 the column has more than 10 values (scales around 0 are none).
    Above: it lies at least as far from the rest as the rest is wide, and at least 2 records hold it (with one digit 3,
    and one in a hundred).

    Measured on 350 clean worlds of the twelve kinds of ``studies/kinds.py`` (200 to 3,000 records, ten draws each) and
    on the bundled data: no column but Adult's capital gain, whose 99999 is a code, in 22 of 30 draws, and the income
    of SD2011, whose -8 is one, in 20 of 20.
    """
    for column, codes, above in _likely_codes(pair):
        records = sum(codes.values())
        how = "far from all others" if above else "below 0, where no other is"
        yield Finding(
            "warning",
            column,
            "special_code",
            f"column {column!r}: {records:,} {plural(records, 'record holds', 'records hold')} a number that "
            f"looks like a code for missing ({how}); if it is one, say special_codes={{{column!r}: [...]}}, or "
            "make it missing: as a number it spoils means and distances",
        )


def likely_codes(pair: Pair) -> dict[str, list[float]]:
    """The numbers that :func:`special_codes` speaks of, by column: values of people, for the custodian alone.

    Parameters
    ----------
    pair : Pair
        The tables.

    Returns
    -------
    dict of str to list of float
    """
    return {column: list(codes) for column, codes, _ in _likely_codes(pair)}


def _likely_codes(pair: Pair) -> Iterator[tuple[str, dict[float, int], bool]]:
    """By column the numbers with the records that hold them, and whether they lie above the rest."""
    numeric = [c for c in pair.numeric if pair.schema[c].storage in ("int", "float")]
    if not numeric:
        return
    likely = [float(v) for v in (*_HIGH, *_LOW)]
    value = {c: nw.col(c).cast(nw.Float64) for c in numeric}
    rest: dict[str, nw.Expr] = {c: nw.when(~v.is_in(likely)).then(v) for c, v in value.items()}
    wanted: list[nw.Expr] = [
        e for i, r in enumerate(rest.values()) for e in (r.min().alias(f"l{i}"), r.max().alias(f"h{i}"))
    ]
    wanted += [e for i, v in enumerate(value.values()) for e in (v.min().alias(f"a{i}"), v.max().alias(f"z{i}"))]
    row = collected(pair.frame("original").select(*wanted), "original").row(0, named=True)
    for i, column in enumerate(numeric):
        low, high = row[f"l{i}"], row[f"h{i}"]
        if low is None or not (row[f"a{i}"] < low or row[f"z{i}"] > high):
            continue
        held = pair.frame("original").select(value[column].alias("value"), nw.lit(1).alias("count"))
        asked = nw.col("value").is_in([*likely, *map(float, range(1, 6))])
        counted = held.filter(asked).group_by("value").agg(nw.col("count").sum())
        found = {float(v): int(k) for v, k in collected(counted, "original").iter_rows()}
        declared = pair.special_codes.get(column, ())
        few = pair.n_distinct(column) <= _MANY
        codes = [v for v in found if v not in declared and _is_code(v, found, low, high, few, pair.n())]
        if codes:
            yield column, {v: found[v] for v in sorted(codes)}, max(codes) > high


def _is_code(value: float, counts: Mapping[float, int], low: float, high: float, few: bool, n: int) -> bool:
    count = counts[value]
    if value < 0 <= low:
        score = value >= -9 and count <= 2 * counts.get(-value, 0)
        return count >= 2 and not score and not (few and value >= _PLAIN_NEGATIVE)
    return value - high >= max(high - low, 1) and count >= (max(3, n / 100) if value < 10 else 2)


# -- names -------------------------------------------------------------------------------------------------------------


def similar_names(pair: Pair) -> Iterator[Finding]:
    """Columns whose names differ by case, blanks or punctuation only."""
    names = {t: a.lazy.collect_schema().names() for t, a in pair._tables.adopted.items()}
    original = set(names["original"])
    for table, own in names.items():
        if table == "original":
            continue
        free = {folded(name): name for name in own if name not in original}
        for name in names["original"]:
            other = free.get(folded(name))
            if name not in own and other is not None:
                yield Finding(
                    "warning",
                    name,
                    "similar_name",
                    f"column {name!r} of the original is called {other!r} in the {spoken(table)} table, and neither is "
                    "assessed; did you mean the same? Rename one of them",
                )


def folded(name: str) -> str:
    """A name without case, blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


# -- tables ------------------------------------------------------------------------------------------------------------


VOID = ("holdout_overlap", "holdout_released")


def without_void_holdout(pair: Pair) -> Pair:
    """The pair without a holdout that is none: one that holds members, or people who stand in the release.

    Parameters
    ----------
    pair : Pair
        The tables.

    Returns
    -------
    Pair
        As it is where its holdout can serve. Otherwise without it, and ``check`` goes on to say why.

    Notes
    -----
    Members are compared with people whom the synthesiser never saw. Against anybody else no leak of any size would be
    seen, and a comparison that can see nothing must not speak for a release.

    A few are enough: of releases that hold 5 % of 400 originals, 20 of 20 failed, and beside a holdout that was used
    although 4 of its 20, 40 or 60 people are members, 0, 2 and 7 of 20.
    """
    if not pair.has_holdout:
        return pair
    void = [finding for finding in same_people(pair) if finding.code in VOID]
    if not void:
        return pair
    made = pair.replace(holdout=None)
    made._note(void_holdout=tuple(f"{finding.code}: {finding.message}" for finding in void))
    return made


def same_people(pair: Pair) -> Iterator[Finding]:
    """The same table twice, a release that holds the holdout, a holdout that holds members.

    Notes
    -----
    A share of the holdout that also stands in another table is a finding when it exceeds what twins explain (records of
    the original that have a twin in it, and records of the holdout that have one in the original; times the size of the
    release in originals) by 2 points and three standard errors.
    """
    yield from pair.memo(("same_people",), lambda: tuple(_same_people(pair)))


def _same_people(pair: Pair) -> Iterator[Finding]:
    for said in pair.void_holdout:
        code, message = said.split(": ", 1)
        yield Finding("warning", None, code, f"{message}{'' if message.endswith('?') else '.'} It is not used")
    columns = list(pair.columns)
    tables = [t for t in pair.tables if pair.engine(t) == pair.engine("original")]
    if not columns or len(tables) < 2:
        return
    counts = _Counts(pair, columns, tables)
    releases = [t for t in pair.releases if t in tables]
    for table in releases:
        if counts.same("original", table):
            same = "original and release hold the same records: the same table was given twice, or nothing was changed"
            yield Finding("warning", None, "same_table", same)
    if "holdout" not in tables:
        return
    within, members = counts.within("original"), counts.shared("holdout", "original")
    if members > _beyond(within, pair.n("holdout")):
        overlap = Finding(
            "warning", None, "holdout_overlap",
            f"{100 * members:.1f} % of the holdout records also stand in the original, more than the "
            f"{100 * within:.1f} % expected from duplicates: were these people really never shown to the synthesiser?",
        )  # fmt: skip
        yield overlap
    for table in releases:
        if counts.same("holdout", table):
            synthesised = Finding(
                "warning", None, "holdout_released",
                "the holdout holds the same records as the release: a holdout is people of the population whom the "
                "synthesiser never saw, not what it made",
            )  # fmt: skip
            yield synthesised
            continue
        chance = min(max(within, members) * max(1.0, pair.n(table) / pair.n("original")), 1.0)
        found = counts.shared("holdout", table)
        if found > _beyond(chance, pair.n("holdout")):
            released = Finding(
                "warning", None, "holdout_released",
                f"{100 * found:.1f} % of the holdout records also stand in the release, more than the "
                f"{100 * chance:.1f} % expected by chance: the release holds people who were set aside",
            )  # fmt: skip
            yield released


def _beyond(expected: float, n: int) -> float:
    return expected + 0.02 + 3 * (max(expected, 0.01) / n) ** 0.5


class _Counts:
    """How often every record occurs in every table, in one query."""

    def __init__(self, pair: Pair, columns: Sequence[str], tables: Sequence[str]) -> None:
        self.pair, self.names = pair, _nobodys(columns, tables)
        count = _by_codes if pair.engine() in CODED else _by_query
        rows = count(pair, columns, self.names)
        held = {t: nw.col(n) for t, n in self.names.items()}
        wanted = {}
        for a, x in held.items():
            wanted[a, a] = nw.when(x > 1).then(x).otherwise(nw.lit(0)).sum()
            for b, y in held.items():
                if a != b:
                    wanted[a, b] = nw.when(y > 0).then(x).otherwise(nw.lit(0)).sum()
                    wanted[a, b + "="] = (x == y).all()
        keys = list(wanted)
        row = collected(rows.select(*(wanted[k].alias(f"v{i}") for i, k in enumerate(keys))), "common").row(0)
        self.found = dict(zip(keys, row, strict=True))

    def shared(self, table: str, other: str) -> float:
        """Share of the records of one table that also stand in another."""
        return float(self.found[table, other]) / self.pair.n(table)

    def within(self, table: str) -> float:
        """Share of the records of a table that have a twin in it."""
        return float(self.found[table, table]) / self.pair.n(table)

    def same(self, table: str, other: str) -> bool:
        """Whether two tables hold the same records, each as often."""
        return bool(self.found[table, other + "="])


def _nobodys(columns: Sequence[str], tables: Sequence[str]) -> dict[str, str]:
    """A name for the counts of each table, longer than any column's, so that it is no column's."""
    longest = "_" * (1 + max(len(c) for c in columns))
    return {t: f"{longest}{i}" for i, t in enumerate(tables)}


def _by_codes(pair: Pair, columns: Sequence[str], names: Mapping[str, str]) -> Lazy:
    """A row per distinct record with its counts, from the codes that most measures ask for anyway."""
    sizes = [pair.n(t) for t in names]
    key = RowKey(sum(sizes))
    for column in columns:
        codes = pair.codes(column)
        key.add(np.concatenate([codes.of(t) for t in names]).astype(np.int64) + 1)
    ids, edges = key.ids(), np.cumsum([0, *sizes])
    most = int(ids.max(initial=-1)) + 1
    counts = {n: np.bincount(ids[edges[i] : edges[i + 1]], minlength=most) for i, n in enumerate(names.values())}
    return nw.from_native(pl.DataFrame(counts).lazy())


def _by_query(pair: Pair, columns: Sequence[str], names: Mapping[str, str]) -> Lazy:
    """The same, where the tables are."""
    parts = [
        pair.frame(t).select(*columns).with_columns(*(nw.lit(int(o == t)).alias(n) for o, n in names.items()))
        for t in names
    ]
    sums = [nw.col(n).sum() for n in names.values()]
    return nw.concat(parts, how="vertical").group_by(*columns).agg(*sums)


def swapped(pair: Pair) -> Iterator[Finding]:
    """Original and release in each other's place.

    Notes
    -----
    A synthesiser that draws from the values it saw gives back some of them and adds none. So tables are swapped when no
    column of the original has a value that the release lacks, while the release has 10 values or more that the original
    lacks (numbers between its ends: noise draws from a whole domain) and no more than 1.2 times its records (a
    population made from a sample has all values of the sample).
    The names of files say it too: an original called synthetic, or a release called original.

    Measured on the same 350 clean worlds: none. Of 48 releases by CART of the twelve kinds (500 and 1,000 records),
    none in the right order, and swapped 40: all but those of the two kinds that have labels only, and keep them all.
    """
    names = {
        t: pair.source(t).rsplit(".", 1)[0].casefold() if pair._tables.adopted[t].path else "" for t in pair.tables
    }
    for table in pair.releases:
        made, real = names["original"], names[table]
        by_name = bool(_MADE.search(made)) and not _MADE.search(real) and not _REAL.search(made)
        by_name = by_name or (bool(_REAL.search(real)) and not _REAL.search(made) and not _MADE.search(real))
        if by_name or _drawn_from(pair, table):
            why = (
                "by their file names"
                if by_name
                else "every value of the original is in the release, and not the reverse"
            )
            yield Finding(
                "warning", None, "swapped",
                f"original and release may be swapped ({why}): the confidential table comes first, the one to be "
                "released second",
            )  # fmt: skip
            return


def _drawn_from(pair: Pair, table: str) -> bool:
    """Whether the values of the original look drawn from those of a release."""
    if pair.n(table) > 1.2 * pair.n("original"):
        return False
    new = 0
    for column in pair.columns:
        original, released = (_distinct(pair, t, column) for t in ("original", table))
        if original - released:
            return False
        added = released - original
        if pair.is_numeric(column) and original:
            low, high = min(original), max(original)
            added = {v for v in added if low < v < high}
        new += len(added)
    return new >= _NEW


def _distinct(pair: Pair, table: str, column: str) -> set[Label]:
    counted = pair.frame(table).group_by(column).agg(nw.len().alias(f"{column} records")).select(column)
    return set(collected(counted, spoken(table)).to_series().drop_nulls().to_list())


# -- columns as they are -----------------------------------------------------------------------------------------------


def unsynthesised(pair: Pair) -> Iterator[Finding]:
    """Columns that a synthesiser left as they are: real values of real people in the release."""
    kept = [c for c in pair.unsynthesised if c in pair._tables.shared]
    if kept:
        yield Finding(
            "warning",
            kept[0],
            "unsynthesised",
            f"{len(kept)} {plural(len(kept), 'column was', 'columns were')} not synthesised, so the release holds the "
            f"real values of real people there: {listed(kept)}; whoever knows them can look people up: "
            "name them as keys",
        )


MISTAKES: tuple[Callable[[Pair], Iterator[Finding]], ...] = (
    same_people, swapped, unsynthesised, similar_names, special_codes, units,
)  # fmt: skip
