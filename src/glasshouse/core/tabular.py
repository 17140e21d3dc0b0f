"""Small tables as text and as HTML, for outcomes that print themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, ClassVar

from glasshouse.core.plain import number
from glasshouse.core.records import Frame
from glasshouse.core.words import visible


def shown(entry: object) -> str:
    """One entry: numbers with a few digits, yes and no in words, nothing as a dash."""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if entry is None or isinstance(entry, (int, float)):
        return number(entry)
    return str(entry)


def text_table(rows: Sequence[Mapping[str, object]], titles: Mapping[str, str], most: int | None = None) -> list[str]:
    """Rows as aligned lines: numbers to the right, words to the left.

    Parameters
    ----------
    rows
        The rows.
    titles
        By column, in order, what stands above it.
    most
        Rows shown at most; all by default.

    Returns
    -------
    list of str
        The title line, then one line per row.
    """
    kept = rows if most is None else rows[:most]
    table = [list(titles.values()), *([shown(row.get(name)) for name in titles] for row in kept)]
    widths = [max(len(line[j]) for line in table) for j in range(len(titles))]
    left = [any(isinstance(row.get(name), (str, bool)) for row in kept) for name in titles]
    return [
        "  "
        + "  ".join(
            entry.ljust(width) if words else entry.rjust(width)
            for entry, width, words in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in table
    ]


def html_table(rows: Sequence[Mapping[str, object]], titles: Mapping[str, str]) -> str:
    """The same as HTML, every label escaped."""
    head = "".join(f"<th style='text-align:left'>{escape(title)}</th>" for title in titles.values())
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(shown(row.get(name)))}</td>" for name in titles) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


class Tabled:
    """An outcome that prints as a sentence above a table, and draws itself.

    Attributes
    ----------
    name
        The name its charts are registered by.
    status, reason
        Always "ok" and None: an outcome that could not be computed was raised.
    """

    name: ClassVar[str] = ""
    status: ClassVar[str] = "ok"
    reason: ClassVar[None] = None

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        raise NotImplementedError

    def _table(self) -> tuple[Sequence[Mapping[str, object]], Mapping[str, str]]:
        """Rows, and the titles of the columns shown."""
        raise NotImplementedError

    def _rest(self) -> list[str]:
        """Lines below the table."""
        return []

    def to_frame(self) -> Frame:
        """The whole table.

        Returns
        -------
        frame
            In the user's own library.
        """
        raise NotImplementedError

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw the outcome.

        Parameters
        ----------
        kind : str, optional
            One of several charts where there are more.
        **options
            Passed to the chart.

        Returns
        -------
        altair.Chart
            The picture.
        """
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)

    def __repr__(self) -> str:
        return visible("\n".join([self.sentence, "", *text_table(*self._table()), *self._rest()]))

    def _repr_html_(self) -> str:
        rest = "".join(f"<p>{escape(line.strip())}</p>" for line in self._rest())
        return f"<div><p>{escape(self.sentence)}</p>{html_table(*self._table())}{rest}</div>"
