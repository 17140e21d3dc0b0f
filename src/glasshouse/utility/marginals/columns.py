"""A statistic of every column, its mean over them, and what a perfect synthesiser would reach: the frame of all
measures of single distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ColumnFigures, with_columns
from glasshouse.utility.marginals.counts import Counted, Statistic, evaluate, mean_null
from glasshouse.utility.marginals.pictures import plot_columns
from glasshouse.utility.nulls import judged

KNOWN_LIMIT = "blind to relations between columns: independent columns score as well as a perfect synthesis"

Surroundings: TypeAlias = Callable[[Counted, float], "tuple[float, dict[str, object]]"]
Spoken: TypeAlias = Callable[[float], "tuple[str, float]"]


def over_columns(
    pair: Pair,
    columns: Sequence[Counted],
    statistic: Statistic,
    beside: Surroundings,
    *,
    replicates: int,
    random_state: RandomState,
    speak: Spoken,
    named: Mapping[str, str],
    notes: Sequence[str],
) -> Result:
    """The mean of a statistic over columns, its null band, and each column's figure with its own band.

    Parameters
    ----------
    pair, columns
        The tables and the counts of the columns.
    statistic
        The figure behind mean and bands, 0 where both tables agree.
    beside
        From a column and its statistic: the figure to show, and the figures beside it.
    replicates, random_state
        How many deals make the bands, and their seed.
    speak
        From the mean: a sentence and the score from 0 to 1.
    named
        Names in the details of the "mean" and, where given, of the "utility" score.
    notes
        Warnings so far.

    Returns
    -------
    Result
        A column without a value in one of the tables stays in without a figure, and is left out of the mean.
    """
    values = evaluate(columns, statistic)
    null, each = mean_null(
        pair,
        [c for c, v in zip(columns, values, strict=True) if np.isfinite(v)],
        statistic,
        replicates=replicates,
        random_state=random_state,
    )
    bands = iter(each)
    table: ColumnFigures = {}
    empty = []
    for column, value in zip(columns, values.tolist(), strict=True):
        counts: dict[str, object] = {
            "n_x": round(column.n_x, 6),
            "n_y": round(column.n_y, 6),
            "dropped_x": column.dropped_x,
            "dropped_y": column.dropped_y,
        }
        if not np.isfinite(value):
            empty.append(column.name)
            table[column.name] = (None, counts)
            continue
        figure, parts = beside(column, value)
        own = next(bands)
        reading = {} if own is None else {k: v for k, v in own.reading(value, "lower").items() if k != "null_how"}
        table[column.name] = (figure, parts | counts | reading)
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if known.size else None
    sentence, utility = speak(mean) if mean is not None else ("No column has values in both tables", None)
    details: dict[str, object] = {named["mean"]: mean, "n_columns": int(known.size)}
    if "utility" in named and utility is not None:
        details[named["utility"]] = utility
    warnings = [
        *notes,
        *(f"column {c!r} has no value in one of the tables and is left out of the mean" for c in empty),
    ]
    result = judged(
        mean,
        null,
        "lower",
        utility=utility,
        details=details,
        sentence=sentence,
        warnings=warnings,
        plot_data={"columns": plot_columns(columns)},
    )
    return with_columns(result, table)
