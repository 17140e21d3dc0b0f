"""Disclosure control on a finished release: recode the extremes, drop replicated uniques, smooth numbers, label the
file.

The order of work is that of the literature's tool for synthetic data: recoding, removal (uniqueness is judged on the
recoded release against the original as it is), smoothing, names, label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.data.frames import Adopted, adopt, give_back

REMOVALS = ("replicated_uniques", "uniques_in_original")


@dataclass(frozen=True)
class ReplicatedUniques:
    """Counts of the key combinations, and masks over the released records.

    ``replicated``: unique in the release and in the original. ``in_original``: unique in the release and anywhere in
    the original.
    """

    original_uniques: int
    synthetic_uniques: int
    synthetic_uniques_in_original: int
    replicated_uniques: int
    n_original: int
    n_released: int
    replicated: np.ndarray = field(repr=False)
    in_original: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Controlled:
    """A release after disclosure control, and what was done to it."""

    released: Any
    removed: int
    bottom_coded: dict[str, int]
    top_coded: dict[str, int]
    smoothed: dict[str, int]


def replicated_uniques(released: Any, original: Any, keys: Sequence[str] | None = None) -> ReplicatedUniques:
    """Records that are alone with their key values in the release and meet the original again.

    Missing is one more value of a key. ``keys``: default all columns of the release.
    """
    synthetic, real = _frame(released, "released")[0], _frame(original, "original")[0]
    return _replicated(synthetic, real, list(keys or synthetic.columns))


def sdc(
    released: Any,
    original: Any = None,
    *,
    keys: Sequence[str] | None = None,
    remove: str | None = None,
    recode: Mapping[str, tuple[float | None, float | None]] | None = None,
    recode_exclude: Mapping[str, Sequence[float]] | None = None,
    smooth: Sequence[str] = (),
    special_codes: Mapping[str, Sequence[float]] | None = None,
    prefix: str = "",
    suffix: str = "",
    label: str | None = None,
) -> Any:
    """Apply disclosure control to one release, or to each of a list.

    ``remove``: "replicated_uniques" or "uniques_in_original" (on ``keys``; needs the original). ``recode``: ``{"age":
    (20, 80)}``, values below and above are set to the limits (None: no limit), values in ``recode_exclude`` stay.
    ``smooth``: numeric columns replaced by a spline over their ranks, ``special_codes`` left out. ``label``: a first
    column "flag" that marks every record.
    """
    if isinstance(released, (list, tuple)):
        settings: dict[str, Any] = {
            "keys": keys, "remove": remove, "recode": recode, "recode_exclude": recode_exclude, "smooth": smooth,
            "special_codes": special_codes, "prefix": prefix, "suffix": suffix, "label": label,
        }  # fmt: skip
        return [sdc(one, original, **settings) for one in released]
    frame, like = _frame(released, "released")
    if remove is not None and remove not in REMOVALS:
        raise InputError(f"remove={remove!r} is unknown; choose one of {listed(REMOVALS)}")
    if remove is not None and original is None:
        raise InputError(f"remove={remove!r} compares with the original; pass it as the second argument")
    bottom, top = {}, {}
    for column, (low, high) in (recode or {}).items():
        frame, bottom[column], top[column] = _recode(frame, column, low, high, (recode_exclude or {}).get(column, ()))
    removed = 0
    if remove is not None:
        masks = _replicated(frame, _frame(original, "original")[0], list(keys or frame.columns))
        drop = masks.replicated if remove == "replicated_uniques" else masks.in_original
        removed = int(drop.sum())
        frame = frame.filter(pl.Series(~drop))
    smoothed = {}
    for column in smooth:
        frame, smoothed[column] = _smooth(frame, column, (special_codes or {}).get(column, ()))
    frame = frame.rename({c: f"{prefix}{c}{suffix}" for c in frame.columns})
    if label is not None:
        frame = frame.select(pl.lit(label).alias("flag"), pl.all())
    made = give_back({c: frame[c] for c in frame.columns}, like, keep_index=False)
    return Controlled(made, removed, bottom, top, smoothed)


def _frame(table: Any, role: str) -> tuple[pl.DataFrame, Adopted]:
    adopted = adopt(table, role)
    frame: pl.DataFrame = adopted.lazy.collect(backend="polars").to_native()
    return frame, adopted


def _replicated(synthetic: pl.DataFrame, real: pl.DataFrame, keys: list[str]) -> ReplicatedUniques:
    for key in keys:
        for table, role in ((synthetic, "release"), (real, "original")):
            if key not in table.columns:
                raise InputError(f"key {key!r} is not in the {role}{closest(key, table.columns)}")
    synthetic, real = _comparable(synthetic.select(keys), real.select(keys))
    in_real = real.group_by(keys).agg(pl.len().alias("_d"))
    in_synthetic = synthetic.group_by(keys).agg(pl.len().alias("_s"))
    counted = synthetic.join(in_synthetic, on=keys, how="left", nulls_equal=True, maintain_order="left").join(
        in_real, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    alone = (counted["_s"] == 1).to_numpy()
    again = counted["_d"].fill_null(0).to_numpy()
    replicated, anywhere = alone & (again == 1), alone & (again > 0)
    return ReplicatedUniques(
        int((in_real["_d"] == 1).sum()), int(alone.sum()), int(anywhere.sum()), int(replicated.sum()), real.height,
        synthetic.height, replicated, anywhere,
    )  # fmt: skip


def _comparable(synthetic: pl.DataFrame, real: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with one type per key: numbers as numbers, everything else by its text."""
    casts = {}
    for key in synthetic.columns:
        numeric = synthetic[key].dtype.is_numeric() and real[key].dtype.is_numeric()
        casts[key] = pl.Float64 if numeric else pl.String
    return synthetic.cast(casts), real.cast(casts)  # type: ignore[arg-type]


def _recode(
    frame: pl.DataFrame, column: str, low: float | None, high: float | None, exclude: Sequence[float]
) -> tuple[pl.DataFrame, int, int]:
    values = _numeric(frame, column, "recode")
    kept = values.is_in(list(exclude)) if exclude else pl.Series(np.zeros(len(values), np.bool_))
    below = ((values < low) & ~kept).fill_null(False) if low is not None else pl.Series(np.zeros(len(values), np.bool_))
    above = (
        ((values > high) & ~kept).fill_null(False) if high is not None else pl.Series(np.zeros(len(values), np.bool_))
    )
    dtype = frame[column].dtype
    limits = [limit for limit in (low, high) if limit is not None]
    whole = dtype.is_integer() and all(float(limit).is_integer() for limit in limits)
    coded = pl.when(below).then(pl.lit(low)).when(above).then(pl.lit(high)).otherwise(pl.col(column))
    return (
        frame.with_columns(coded.cast(dtype if whole else pl.Float64).alias(column)),
        int(below.sum()),
        int(above.sum()),
    )


def _smooth(frame: pl.DataFrame, column: str, special: Sequence[float]) -> tuple[pl.DataFrame, int]:
    from glasshouse.synthesis.smoothing import spline_by_rank

    values = _numeric(frame, column, "smooth").cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    rows = ~np.isnan(values) & ~np.isin(values, np.asarray(special, np.float64))
    if rows.any():
        values[rows] = spline_by_rank(values[rows])
    return frame.with_columns(pl.Series(column, values, nan_to_null=True)), int(rows.sum())


def _numeric(frame: pl.DataFrame, column: str, what: str) -> pl.Series:
    if column not in frame.columns:
        raise InputError(
            f"{what} names column {column!r}, which the release does not have{closest(column, frame.columns)}"
        )
    if not frame[column].dtype.is_numeric():
        raise InputError(f"{what} needs numbers, but column {column!r} is not numeric")
    return frame[column]
