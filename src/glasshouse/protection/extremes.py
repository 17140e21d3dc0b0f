"""Top and bottom coding: extreme numbers name people, so all beyond a limit get one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from glasshouse.core.errors import InputError, names_known
from glasshouse.core.plain import percent
from glasshouse.core.words import counted
from glasshouse.data.arrays import Bools, Floats
from glasshouse.data.frames import Frame
from glasshouse.protection.held import held
from glasshouse.protection.operation import Protected, operation, protected


@dataclass(frozen=True)
class Limits:
    """Where a column is cut, and by what the cut values are replaced; None: not cut, or by the limit."""

    top: float | None
    bottom: float | None
    top_value: float | None
    bottom_value: float | None

    def check(self, column: str) -> None:
        """Refuse limits that cross and replacements on the wrong side."""
        if self.top is None and self.bottom is None:
            raise InputError(f"top_code needs a limit for column {column!r}: top=, bottom= or share=")
        if self.top is not None and self.bottom is not None and self.top < self.bottom:
            raise InputError(f"top lies below bottom for column {column!r}; exchange them")
        for value, limit, name in ((self.top_value, self.top, "top"), (self.bottom_value, self.bottom, "bottom")):
            if value is None:
                continue
            if limit is None:
                raise InputError(f"{name}_value is given for column {column!r} and {name} is not")
            if (value < limit) if name == "top" else (value > limit):
                raise InputError(
                    f"{name}_value lies on the wrong side of {name} for column {column!r}: values beyond the limit "
                    "would change places with ordinary ones"
                )


@operation(title="top and bottom code numbers", acts_on=("identity", "attribute", "copying"), touches="columns", cost=2,
           needs=("numeric",))  # fmt: skip
def top_code(
    table: Frame,
    columns: Sequence[str],
    top: float | Mapping[str, float] | None = None,
    bottom: float | Mapping[str, float] | None = None,
    *,
    share: float | None = None,
    sides: Literal["top", "bottom", "both"] = "both",
    replacement: Literal["limit", "mean"] = "limit",
    top_value: float | None = None,
    bottom_value: float | None = None,
    weights: str | None = None,
    k: int = 5,
) -> Protected:
    """Replace numbers above a limit and below another by one value each.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Numeric columns.
    top, bottom : float or mapping, optional
        Values above ``top`` and below ``bottom`` are replaced; a limit itself stays. One for all columns, or
        ``{"income": 200_000}``. Default: no limit.
    share : float, optional
        In place of limits: this share of the values is replaced on each side, fewer where values are tied.
    sides : {"top", "bottom", "both"}, default "both"
        The sides that ``share`` speaks of.
    replacement : {"limit", "mean"}, default "limit"
        The limit, or the mean of what is replaced, which keeps the total.
    top_value, bottom_value : float, optional
        A value of your own in place of either.
    weights : str, optional
        Column of survey weights, for a mean that keeps the weighted total.
    k : int, default 5
        A note says where fewer records share a replaced value: so few are still told apart.

    Returns
    -------
    Protected
        ``details`` holds, by column and side, the records replaced and the change of the (weighted) total.

    Raises
    ------
    InputError
        For a column without numbers, limits that cross, and a replacement on the wrong side of its limit.

    Notes
    -----
    y = r_top where x > top, r_bottom where x < bottom, else x; both strict. Missing values stay missing. With
    replacement="mean", r = sum w x / sum w over the replaced records. The mean of a single record is its value: look at
    the notes.

    References
    ----------
    Hundepool et al. (2012), Statistical Disclosure Control, section 3.4.2.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> pay = pl.DataFrame({"pay": [900, 1500, 2000, 9000, 11000]})
    >>> gh.protection.top_code(pay, "pay", top=5000, bottom=1000).table["pay"].to_list()
    [1000, 1500, 2000, 5000, 5000]
    >>> gh.protection.top_code(pay, "pay", top=5000, replacement="mean").table["pay"].to_list()
    [900, 1500, 2000, 10000, 10000]
    """
    before = held(table)
    names = before.columns(columns, kind="numeric")
    if weights is not None:
        before.columns(weights, "weights", kind="numeric")
    weighing = before.numbers(weights) if weights is not None else np.ones(before.n)
    if np.isnan(weighing).any() or (weighing < 0).any():
        raise InputError(f"column {weights!r} has missing or negative weights")
    if share is not None and (top is not None or bottom is not None):
        raise InputError("share= stands in place of top= and bottom=; give one or the other")
    if share is not None and not 0 < share < 0.5:
        raise InputError("share must lie between 0 and 0.5, such as 0.01")
    for called, given in (("top", top), ("bottom", bottom)):
        names_known(called, given if isinstance(given, Mapping) else (), names)
    new: dict[str, Floats] = {}
    details: dict[str, object] = {}
    notes: list[str] = []
    for name in names:
        values = before.numbers(name)
        limits = Limits(_limit(top, name), _limit(bottom, name), top_value, bottom_value)
        if share is not None:
            limits = _by_share(values, share, sides, limits)
        limits.check(name)
        new[name], details[name], told = _coded(name, values, weighing, limits, replacement, k)
        notes += told
    return protected(before, new, did="coded", notes=notes, details=details)


def _coded(
    name: str, values: Floats, weights: Floats, limits: Limits, replacement: str, k: int
) -> tuple[Floats, dict[str, object], list[str]]:
    coded, found, notes = values.copy(), {}, []
    above = values > limits.top if limits.top is not None else np.zeros(len(values), np.bool_)
    below = values < limits.bottom if limits.bottom is not None else np.zeros(len(values), np.bool_)
    for side, beyond, limit, own in (
        ("top", above, limits.top, limits.top_value),
        ("bottom", below, limits.bottom, limits.bottom_value),
    ):
        if limit is None:
            continue
        code = own if own is not None else _mean(values, weights, beyond, limit) if replacement == "mean" else limit
        coded[beyond] = code
        sharing = int((coded == code).sum())
        told = {"records": int(beyond.sum()), "share_a_value": sharing}
        found[side] = told
        if beyond.any() and sharing < k:
            notes.append(
                f"{side.capitalize()} coding of {name!r}: only {counted(sharing, 'record')} share the replaced value; "
                f"take a limit further in, so that at least {k} do."
            )
    total, after = float(np.nansum(weights * values)), float(np.nansum(weights * coded))
    change = (after - total) / total if total else 0.0
    if abs(change) > 1e-12:
        notes.append(f"The total of {name!r} is now {percent(1 + change)} of what it was; replacement='mean' keeps it.")
    return coded, {**found, "change_of_total": change}, notes


def _mean(values: Floats, weights: Floats, beyond: Bools, limit: float) -> float:
    mass = float(weights[beyond].sum())
    return float((weights[beyond] * values[beyond]).sum() / mass) if mass > 0 else limit


def _by_share(values: Floats, share: float, sides: str, limits: Limits) -> Limits:
    """Limits at values of the column beyond which at most a share of them lies."""
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return Limits(0.0, 0.0, limits.top_value, limits.bottom_value)
    cut = int(np.floor(share * known.size))
    top = float(known[known.size - 1 - cut]) if sides != "bottom" else None
    bottom = float(known[cut]) if sides != "top" else None
    return Limits(top, bottom, limits.top_value, limits.bottom_value)


def _limit(given: float | Mapping[str, float] | None, column: str) -> float | None:
    limit = given.get(column) if isinstance(given, Mapping) else given
    if limit is not None and not np.isfinite(limit):
        raise InputError(f"the limit of column {column!r} is no finite number")
    return None if limit is None else float(limit)
