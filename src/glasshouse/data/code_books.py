"""Codes become labels, and reasons for missing become special codes, once for all tables of a pair.

A column with value labels is a category when every value of the original that is no reason for missing has a label, and
its levels stand in the order of the codes, reasons for missing last. Otherwise (an income with labels for -8 and -9, a
scale with labels at its ends) it stays a number, and its reasons for missing become special codes. What the file of one
table says holds for all of them: a release written as CSV has the codes and not the labels. ``schema=`` goes before:
"numeric" keeps the codes, "categorical" takes the labels that there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from glasshouse.data.files.contents import Code, CodeBook
from glasshouse.data.schema import Wish

if TYPE_CHECKING:
    from glasshouse.data.frames import Adopted

_NO_LABELS = ("numeric", "integer", "boolean", "datetime", "identifier")


@dataclass(frozen=True)
class Settled:
    """Tables whose codes were settled.

    Parameters
    ----------
    tables : dict of str to Adopted
        The tables by name, labels in the place of codes.
    special_codes : dict of str to tuple of float, default empty
        Reasons for missing among numbers.
    remarks : dict of str to str, default empty
        What one table was told by the file of another.
    """

    tables: dict[str, Adopted]
    special_codes: dict[str, tuple[float, ...]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)


def settle(tables: Mapping[str, Adopted], wishes: Mapping[str, Wish]) -> Settled:
    """Turn codes into labels where the files say what they stand for.

    Parameters
    ----------
    tables : mapping of str to Adopted
        The tables by name, the original first.
    wishes : mapping
        What the user said about columns (``schema=``).

    Returns
    -------
    Settled
    """
    told = [a.contents for a in tables.values() if a.contents is not None]
    columns = dict.fromkeys(c for one in told for c in (*one.books, *one.reasons, *one.tagged))
    if not columns:
        return Settled(dict(tables))
    frames = {name: a.frame() for name, a in tables.items() if a.in_memory}
    orders = {name: dict(a.category_order) for name, a in tables.items()}
    special: dict[str, tuple[float, ...]] = {}
    remarks: dict[str, str] = {}
    for column in columns:
        book = _merged([one.books[column] for one in told if column in one.books])
        holding = {name: frame for name, frame in frames.items() if column in frame.columns}
        letters = {
            name: a.contents.tagged[column]
            for name, a in tables.items()
            if name in holding and a.contents is not None and column in a.contents.tagged
        }
        reasons = {code for one in told for code in one.reasons.get(column, ())}
        first = next(iter(tables))
        if book is not None and _by_label(book, holding.get(first), column, reasons, wishes.get(column)):
            texts = _labels(book)
            for name, frame in holding.items():
                frames[name] = frame.with_columns(_labelled(frame[column], texts, letters.get(name)))
                orders[name][column] = (list(texts.values()), book.ranked and not book.missing)
            bare = [n for n in holding if (found := tables[n].contents) is None or column not in found.books]
            if bare:
                spoken = " and ".join(dict.fromkeys("released" if n.startswith("released") else n for n in bare))
                remarks[column] = f"the {spoken} table has no value labels: read by those of the other"
            continue
        made = _numbered(holding, letters, column)
        frames |= made.frames
        codes = sorted(reasons | set(made.codes))
        if codes:
            special[column] = tuple(codes)
    settled = {
        name: a if name not in frames else a.with_frame(frames[name], orders[name]) for name, a in tables.items()
    }
    return Settled(settled, special, remarks)


# -- labels ------------------------------------------------------------------------------------------------------------


def _merged(books: list[CodeBook]) -> CodeBook | None:
    """One book of several; the first says what a code stands for."""
    if not books:
        return None
    labels: dict[Code, str] = {}
    for book in reversed(books):
        labels |= book.labels
    return replace(books[0], labels=labels, missing=frozenset().union(*(b.missing for b in books)))


def _labels(book: CodeBook) -> dict[Code, str]:
    """The text of every code in the order of the codes, reasons for missing last; equal texts are told apart."""
    codes = sorted(book.labels, key=lambda code: (code in book.missing, isinstance(code, str), code))
    said = list(book.labels.values())
    return {
        code: book.labels[code] if said.count(book.labels[code]) == 1 else f"{book.labels[code]} [{_spoken(code)}]"
        for code in codes
    }


def _by_label(
    book: CodeBook, original: pl.DataFrame | None, column: str, reasons: set[float], wish: Wish | None
) -> bool:
    """Whether a column with value labels is a category."""
    if isinstance(wish, Mapping):
        wish = wish["levels"] if "levels" in wish else str(wish.get("kind", "categorical"))  # type: ignore[assignment]
    if isinstance(wish, str):
        return wish not in _NO_LABELS
    if wish is not None:
        return set(map(str, wish)) <= set(_labels(book).values())
    if original is None or column not in original.columns:
        return False
    values = original[column].drop_nulls().unique().to_list()
    if original[column].dtype == pl.String and not any(isinstance(code, str) for code in book.labels):
        return True  # labels already
    missing = book.missing | reasons
    known = [value for value in values if value not in missing]
    return bool(known) and all(value in book.labels for value in known)


def _labelled(values: pl.Series, texts: Mapping[Code, str], letters: pl.Series | None) -> pl.Series:
    """A column of codes as labels; a code without a label is its own text."""
    own = set(texts.values())
    found = values.drop_nulls().unique()
    told = {value: _read(value, texts, own) for value in found.to_list()}
    made = (
        values.replace_strict(list(told), list(told.values()), return_dtype=pl.String)
        if told
        else pl.Series(values.name, [None] * len(values), dtype=pl.String)
    )
    if letters is not None:
        kinds = letters.drop_nulls().unique().to_list()
        reasons = letters.replace_strict(kinds, [texts.get(k, f".{k}") for k in kinds], return_dtype=pl.String)
        made = pl.select(pl.coalesce(made, reasons)).to_series()
    return made.alias(values.name)


def _read(value: Code, texts: Mapping[Code, str], own: set[str]) -> str:
    if value in texts:
        return texts[value]
    if isinstance(value, str) and value not in own:
        try:
            return texts.get(float(value), value)
        except ValueError:
            return value
    return _spoken(value)


def _spoken(code: Code) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


# -- numbers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbered:
    frames: dict[str, pl.DataFrame]
    codes: tuple[float, ...]


def _numbered(holding: Mapping[str, pl.DataFrame], letters: Mapping[str, pl.Series], column: str) -> _Numbered:
    """Missing values of several kinds as numbers below every value: .a is -901, or -9901 where values go that low."""
    used = sorted({letter.lower() for tags in letters.values() for letter in tags.drop_nulls().unique().to_list()})
    numeric = all(frame[column].dtype.is_numeric() for frame in holding.values())
    if not used or not numeric:
        return _Numbered({}, ())
    lows = [low for frame in holding.values() if isinstance(low := frame[column].min(), (int, float))]
    base = 900
    while lows and min(lows) <= -base:
        base = 10 * base + 900
    codes = {letter: -base - ("abcdefghijklmnopqrstuvwxyz_".index(letter) + 1) for letter in used}
    made = {}
    for name, tags in letters.items():
        frame = holding[name]
        told = tags.str.to_lowercase().replace_strict(list(codes), list(codes.values()), return_dtype=pl.Int64)
        made[name] = frame.with_columns(pl.select(pl.coalesce(frame[column], told)).to_series().alias(column))
    return _Numbered(made, tuple(float(code) for code in codes.values()))
