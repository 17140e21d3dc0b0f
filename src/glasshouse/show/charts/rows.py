"""Rows of a chart as the data it is drawn from, kept inside the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import altair as alt

Rows: TypeAlias = Sequence[Mapping[str, object]]


def data(rows: Rows) -> alt.Data:
    """One mark per row."""
    import altair as alt

    return alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]  # altair leaves it untyped
