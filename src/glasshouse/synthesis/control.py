"""Disclosure control on a finished release: recode the extremes, drop replicated uniques, smooth numbers, label the
file.

The order of work is that of the literature's tool for synthetic data: recoding, removal (uniqueness is judged on the
recoded release against the original as it is), smoothing, names, label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.options import door
from glasshouse.data.arrays import Bools
from glasshouse.data.frames import Adopted, Frame, adopt_headed, give_back
from glasshouse.data.split import collected

REMOVALS = ("replicated_uniques", "uniques_in_original")


@dataclass(frozen=True)
class ReplicatedUniques:
    """Counts of the key combinations, and masks over the released records.

    Attributes
    ----------
    original_uniques, synthetic_uniques : int
        Records alone with their key values in the original, and in the release.
    synthetic_uniques_in_original : int
        Uniques of the release whose key values occur anywhere in the original.
    replicated_uniques : int
        Uniques of the release that are unique in the original too.
    n_original, n_released : int
        Records of the tables.
    replicated, in_original : array of bool
        Which released records are meant by ``replicated_uniques`` and by ``synthetic_uniques_in_original``.
    """

    original_uniques: int
    synthetic_uniques: int
    synthetic_uniques_in_original: int
    replicated_uniques: int
    n_original: int
    n_released: int
    replicated: Bools = field(repr=False)
    in_original: Bools = field(repr=False)


@dataclass(frozen=True)
class Controlled:
    """A release after disclosure control, and what was done to it.

    Attributes
    ----------
    released : frame
        The release, in the library it came in.
    removed : int
        Records removed.
    bottom_coded, top_coded, smoothed : dict of str to int
        Records changed, per column.
    """

    released: Frame
    removed: int
    bottom_coded: dict[str, int]
    top_coded: dict[str, int]
    smoothed: dict[str, int]


@door
def replicated_uniques(released: Frame, original: Frame, keys: Sequence[str] | None = None) -> ReplicatedUniques:
    """Records that are alone with their key values in the release and meet the original again.

    Parameters
    ----------
    released, original : frame or path
        The tables.
    keys : sequence of str, optional
        Columns that are compared; missing is one more value. Default: all columns of the release.

    Returns
    -------
    ReplicatedUniques

    Raises
    ------
    InputError
        When a table lacks a key.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original, copy = (gh.data.simulate_case_study(200)[name] for name in ("original", "C"))
    >>> found = gh.synthesis.replicated_uniques(copy, original, keys=["age_group", "sex", "education", "region"])
    >>> found.replicated_uniques == found.original_uniques
    True
    """
    synthetic, real = _frame(released, "released")[0], _frame(original, "original")[0]
    return _replicated(synthetic, real, list(dict.fromkeys(keys or synthetic.columns)))


@door
def sdc(
    released: Frame,
    original: Frame = None,
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
) -> Controlled | list[Controlled]:
    """Apply disclosure control to one release, or to each of a list.

    Parameters
    ----------
    released : frame, path or list of them
        The release, or several.
    original : frame or path, optional
        The confidential table; ``remove`` needs it. Default: none.
    keys : sequence of str, optional
        Columns on which ``remove`` compares. Default: all columns of the release.
    remove : {"replicated_uniques", "uniques_in_original"}, optional
        Drop records that are unique in the release and unique in the original, or unique in the release and anywhere
        in the original. Default: none.
    recode : mapping, optional
        ``{"age": (20, 80)}``: values below and above are set to the limits; None is no limit. Default: nothing.
    recode_exclude : mapping, optional
        ``{"age": [-8]}``: values that ``recode`` leaves as they are. Default: none.
    smooth : sequence of str, default empty
        Numeric columns to be replaced by a spline over their ranks.
    special_codes : mapping, optional
        ``{"income": [-8]}``: values that ``smooth`` leaves as they are. Default: none.
    prefix, suffix : str, default ""
        Written before and behind every column name.
    label : str, optional
        Text of a first column "flag" that marks every record. Default: no such column.

    Returns
    -------
    Controlled or list of Controlled
        The release (in its own frame library) and what was done to it.

    Raises
    ------
    InputError
        For an unknown removal, a removal without the original, or a column that is not there or not numeric.

    Notes
    -----
    In this order: recoding, removal (uniqueness is judged on the recoded release against the original as it is),
    smoothing, names, label.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.

    Examples
    --------
    >>> import glasshouse as gh
    >>> tables = gh.data.simulate_case_study(200)
    >>> safer = gh.synthesis.sdc(tables["B"], recode={"income": (20_000, 60_000)}, label="synthetic")
    >>> safer.released["income"].min(), safer.released["income"].max(), safer.released.columns[0]
    (20000, 60000, 'flag')
    """
    if remove is not None and remove not in REMOVALS:
        raise InputError(f"remove={remove!r} is unknown; choose one of {listed(REMOVALS)}")
    if remove is not None and original is None:
        raise InputError(f"remove={remove!r} compares with the original; pass it as the second argument")

    def controlled(table: Frame) -> Controlled:
        frame, like = _frame(table, "released")
        bottom, top, smoothed = {}, {}, {}
        for column, (low, high) in (recode or {}).items():
            kept = (recode_exclude or {}).get(column, ())
            frame, bottom[column], top[column] = _recode(frame, column, low, high, kept)
        removed = 0
        if remove is not None:
            masks = _replicated(frame, _frame(original, "original")[0], list(dict.fromkeys(keys or frame.columns)))
            drop = masks.replicated if remove == "replicated_uniques" else masks.in_original
            removed = int(drop.sum())
            frame = frame.filter(pl.Series(~drop))
        for column in smooth:
            frame, smoothed[column] = _smooth(frame, column, (special_codes or {}).get(column, ()))
        frame = frame.rename({c: f"{prefix}{c}{suffix}" for c in frame.columns})
        if label is not None:
            frame = frame.select(pl.lit(label).alias("flag"), pl.all())
        made = give_back({c: frame[c] for c in frame.columns}, like, keep_index=False)
        return Controlled(made, removed, bottom, top, smoothed)

    return [controlled(one) for one in released] if isinstance(released, (list, tuple)) else controlled(released)


def _frame(table: Frame, role: str) -> tuple[pl.DataFrame, Adopted]:
    """A caller's table in memory, and how to answer in its library."""
    adopted = adopt_headed(table, role)
    return collected(adopted), adopted


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
    casts = []
    for key in synthetic.columns:
        numeric = synthetic[key].dtype.is_numeric() and real[key].dtype.is_numeric()
        casts.append(pl.col(key).cast(pl.Float64 if numeric else pl.String))
    return synthetic.select(casts), real.select(casts)


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
