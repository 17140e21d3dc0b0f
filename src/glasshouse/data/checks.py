"""Findings about a pair before anything runs. Each names a column and a way out, and counts instead of quoting
values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import narwhals as nw
import polars as pl

from glasshouse.core.errors import listed
from glasshouse.core.words import counted, plural
from glasshouse.data.conversion import GROUPED, collected, date_texts, readable
from glasshouse.data.findings import LEVELS, Finding, Findings, spoken
from glasshouse.data.frames import Lazy
from glasshouse.data.headers import headerless_text
from glasshouse.data.here import Label
from glasshouse.data.mistakes import MISTAKES
from glasshouse.data.schema import FEW, GIVEN, TWO_CODES
from glasshouse.data.units import names_units

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# what R, pandas, Excel and databases write for a missing value; ordinary words such as "none" may be answers
MISSING_WORDS = ("NA", "<NA>", "N/A", "#N/A", "NaN", "nan", "NULL", "NaT")
DATE_SHAPES = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")


def check(pair: Pair) -> Findings:
    """Every mismatch, new level, odd type and probable identifier of a pair, the most serious first.

    Parameters
    ----------
    pair : Pair
        The tables and roles.

    Returns
    -------
    Findings
    """
    headerless = pair._tables.headerless
    if headerless:  # any other finding would name a column, which may be called like a value of a person
        return Findings([Finding("error", None, "no_header", headerless_text(headerless))])
    found = [finding for look in _LOOKS for finding in look(pair)]
    return Findings(sorted(found, key=lambda f: (LEVELS.index(f.level), not f.first, f.column or "")))


def _columns_differ(pair: Pair) -> Iterator[Finding]:
    tables = pair._tables
    names = {t: set(a.lazy.collect_schema().names()) for t, a in tables.adopted.items()}
    for table, own in names.items():
        if table == "original":
            continue
        lost, extra = sorted(names["original"] - own), sorted(own - names["original"])
        if lost:
            yield Finding(
                "warning",
                lost[0],
                "missing_column",
                f"{counted(len(lost), 'column')} of the original {_are(lost)} not in the {spoken(table)} table and "
                f"{_are(lost)} not assessed: {listed(lost)}",
            )
        if extra:
            yield Finding(
                "note",
                extra[0],
                "extra_column",
                f"{counted(len(extra), 'column')} of the {spoken(table)} table {_are(extra)} not in the original and "
                f"{_are(extra)} not assessed: {listed(extra)}",
            )


def _are(names: Sequence[str]) -> str:
    return plural(len(names), "is", "are")


def _types_differ(pair: Pair) -> Iterator[Finding]:
    for column, remark in pair._tables.remarks.items():
        yield Finding(
            "warning", column, "type_mismatch", f"column {column!r}: {remark}; override with schema={{{column!r}: ...}}"
        )


def _kinds(pair: Pair) -> Iterator[Finding]:
    for column in pair._tables.shared:
        spec, distinct, n = pair.schema[column], pair._tables.distinct[column], pair.n("original")
        missing = pair.n_missing(column)
        if missing == n:
            yield Finding("warning", column, "all_missing", f"column {column!r} has no value in the original")
        elif distinct == 1:
            yield Finding("note", column, "constant", f"column {column!r} is constant in the original")
        if spec.kind == "identifier":
            use = (
                "used because it has a role" if column in pair.columns else "left out; declare it in schema= to use it"
            )
            yield Finding(
                "warning",
                column,
                "identifier",
                f"column {column!r} looks like an identifier ({spec.reason}); {use}. An identifier in a release is "
                "itself a disclosure",
            )
        elif spec.kind == "integer" and 1 < distinct <= FEW and spec.reason != GIVEN:
            yield Finding(
                "note",
                column,
                "few_integers",
                f"column {column!r} is whole numbers with {distinct} values: treated as numeric; if they are codes, "
                f"say schema={{{column!r}: 'categorical'}}",
            )
        elif spec.reason == TWO_CODES:
            yield Finding(
                "note",
                column,
                "two_codes",
                f"column {column!r} is two whole numbers: treated as categories; if distances between them mean "
                f"something, say schema={{{column!r}: 'numeric'}}",
            )
        elif spec.kind == "datetime" and pair.stored_as_text(column):
            yield Finding(
                "note",
                column,
                "iso_dates",
                f"column {column!r} is text with dates: read as dates; schema={{{column!r}: 'categorical'}} "
                "keeps the labels",
            )
        elif spec.kind == "text" and column != pair.cluster and not names_units(column, distinct, n - missing):
            yield Finding(
                "note",
                column,
                "free_text",
                f"column {column!r} is {spec.reason}: compared as labels; free text is better left out with "
                f"exclude=[{column!r}]",
            )


def _text_looks_like(pair: Pair) -> Iterator[Finding]:
    for column in pair._tables.shared:
        spec = pair.schema[column]
        if (
            spec.storage != "text"
            or spec.levels is not None
            or spec.reason == GIVEN
            or pair._tables.distinct[column] == 0
        ):
            continue
        labels = pair._tables.labels("original", column)
        words = labels.is_in(MISSING_WORDS)
        if words.any():
            yield _missing_word(column, labels.filter(~words))
            continue
        numbers = readable(labels, "number", commas=True)
        grouped = labels.str.contains(GROUPED)
        use = "treated as categories" if column in pair.columns else "left out as if it were an identifier"
        fractions = labels.filter(numbers).str.contains(r"[.,]").any()  # codes have none
        if labels.len() and numbers.sum() >= 0.99 * labels.len():
            yield Finding(
                "warning",
                column,
                "fractions_as_text" if fractions else "numeric_text",
                f"column {column!r} is text, but 99 % or more of its labels are numbers: {use}; "
                f"schema={{{column!r}: 'numeric'}} reads them as numbers",
            )
        elif labels.len() and (numbers | grouped).sum() >= 0.99 * labels.len():
            yield Finding(
                "warning",
                column,
                "fractions_as_text",
                f"column {column!r} is text that looks like numbers with marks of thousands: {use}; write them "
                "without such marks to have them read as numbers",
            )
        elif labels.len() and labels.is_in(date_texts(labels)).all():
            yield Finding(
                "warning",
                column,
                "date_text",
                f"column {column!r} is text that looks like dates and is not guessed: {use}; "
                f"schema={{{column!r}: 'datetime'}} reads them as dates",
            )
        elif any(labels.str.to_datetime(shape, strict=False).is_not_null().all() for shape in DATE_SHAPES):
            yield Finding(
                "warning",
                column,
                "unclear_dates",
                f"column {column!r} is text that looks like dates, and nothing tells which of them is the day: {use}; "
                "write them as 2020-12-31 to have them read as dates",
            )


def _missing_word(column: str, others: pl.Series) -> Finding:
    """A word for missing among the labels of a column, whose other labels may be numbers or dates."""
    code, kind, what = "missing_word", "", ""
    if len(others) and readable(others, "number", commas=True).all():
        code, kind, what = "fractions_as_text", "numeric", "numbers"
    elif len(others) and others.is_in(date_texts(others)).all():
        code, kind, what = "date_text", "datetime", "dates"
    if kind:
        told = (
            f"column {column!r} is read as text because a word such as NA stands among its {what}; "
            f"schema={{{column!r}: {kind!r}}} reads the {what}, and the word as missing"
        )
    else:
        told = (
            f"column {column!r} holds a word for missing, such as the NA that R writes: it counts as a level like any "
            'other; leave the field empty to have it read as missing (in R: write.csv(..., na = ""))'
        )
    return Finding("warning" if kind else "note", column, code, told)


def _levels(pair: Pair) -> Iterator[Finding]:
    for column in pair.columns:
        if pair.is_numeric(column) or pair.schema[column].storage == "bool":
            continue
        seen = {t: set(pair._tables.labels(t, column).to_list()) for t in pair._tables.adopted}
        for table, own in seen.items():
            if table == "original":
                continue
            new, lost = own - seen["original"], seen["original"] - own
            if new:
                folded = {str(v).strip().casefold() for v in seen["original"]}
                twins = sum(str(v).strip().casefold() in folded for v in new)
                hint = (
                    f"; {twins} {plural(twins, 'differs', 'differ')} from an original level only by case or blanks"
                    if twins
                    else ""
                )
                yield Finding(
                    "warning",
                    column,
                    "unseen_level",
                    f"column {column!r}: {counted(len(new), 'level')} of the {spoken(table)} table "
                    f"{plural(len(new), 'does', 'do')} not occur in the original{hint}",
                )
            if lost and table != "holdout":
                yield Finding(
                    "note",
                    column,
                    "lost_level",
                    f"column {column!r}: {len(lost)} of {len(seen['original'])} levels of the original do not occur "
                    "in the release",
                )


def _ranges(pair: Pair) -> Iterator[Finding]:
    numeric = [c for c in pair.columns if pair.schema[c].storage in ("int", "float")]
    if not numeric:
        return
    low, high = ({c: nw.col(c).min().alias(c) for c in numeric}, {c: nw.col(c).max().alias(c) for c in numeric})
    ends = {
        t: (_row(pair.frame(t).select(*low.values())), _row(pair.frame(t).select(*high.values())))
        for t in pair._tables.adopted
        if t != "holdout"
    }
    for table, (lows, highs) in ends.items():
        for column in numeric if table != "original" else ():
            first, last = ends["original"][0][column], ends["original"][1][column]
            if first is None or lows[column] is None:
                continue
            if lows[column] < first or highs[column] > last:
                yield Finding(
                    "note",
                    column,
                    "out_of_range",
                    f"column {column!r}: the release has values outside the range of the original",
                )


def _infinite(pair: Pair) -> Iterator[Finding]:
    for table, adopted in pair._tables.adopted.items():
        decimals = [c for c, t in adopted.lazy.collect_schema().items() if c in pair.columns and t.is_float()]
        if not decimals:
            continue
        value = {c: nw.col(c).cast(nw.Float64) for c in decimals}
        sums = [((v == math.inf) | (v == -math.inf)).cast(nw.Int64).sum().alias(c) for c, v in value.items()]
        for column, count in _row(adopted.lazy.select(*sums)).items():
            if count:
                yield Finding(
                    "warning",
                    column,
                    "infinite",
                    f"column {column!r}: {counted(count, 'value')} of the {spoken(table)} table "
                    f"{plural(count, 'is', 'are')} infinite; make {plural(count, 'it', 'them')} missing, "
                    "or few measures can use the column",
                )


def _missing(pair: Pair) -> Iterator[Finding]:
    for column in pair.columns:
        shares = {t: pair.n_missing(column, t) / pair.n(t) for t in pair.tables}
        for table, share in shares.items():
            if table != "original" and abs(share - shares["original"]) > 0.05:
                yield Finding(
                    "warning",
                    column,
                    "missing_share",
                    f"column {column!r} is missing in {100 * shares['original']:.1f} % of the original and "
                    f"{100 * share:.1f} % of the {spoken(table)} table",
                )


def _sizes(pair: Pair) -> Iterator[Finding]:
    n, m = pair.n("original"), pair.n("released")
    if m > 5 * n or n > 5 * m:
        yield Finding(
            "note",
            None,
            "sizes",
            f"the original has {n:,} records and the release {m:,}: shares of either are over very different numbers",
        )
    if n < 50:
        yield Finding(
            "warning", None, "few_records", f"the original has only {n} records: every figure will have a wide interval"
        )


def _holdout(pair: Pair) -> Iterator[Finding]:
    if not pair.has_holdout and not pair.void_holdout:
        yield Finding(
            "note",
            None,
            "no_holdout",
            "no holdout: membership and memorisation cannot be judged; set records aside before synthesis and pass "
            "holdout=",
        )


def _reading(pair: Pair) -> Iterator[Finding]:
    """How files were read, where that is not obvious."""
    for table, adopted in pair._tables.adopted.items():
        for note in () if adopted.contents is None else adopted.contents.notes:
            yield Finding(note.level, None, note.code, note.message.format(table=spoken(table)))


def _row(frame: Lazy) -> dict[str, Label]:
    made: dict[str, Label] = collected(frame, "common").row(0, named=True)
    return made


_LOOKS: tuple[Callable[[Pair], Iterator[Finding]], ...] = (
    *MISTAKES, _columns_differ, _types_differ, _kinds, _text_looks_like, _levels, _ranges, _infinite, _missing, _sizes,
    _holdout, _reading,
)  # fmt: skip
