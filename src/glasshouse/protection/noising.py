"""Noise: numbers moved a little at random, in a way that statistics survive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, names_known
from glasshouse.core.plain import percent
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.core.threads import one_blas_thread
from glasshouse.core.words import counted, plural, spoken
from glasshouse.data.arrays import LARGEST, Floats
from glasshouse.data.fingerprints import content_of
from glasshouse.data.frames import Frame, Values
from glasshouse.protection.held import Held, held
from glasshouse.protection.noise import Moments, complete, disturbed, moments, orthogonal, reflected
from glasshouse.protection.operation import Protected, operation, protected
from glasshouse.protection.rounding import all_whole, whole_numbers

Limits: TypeAlias = "tuple[float | None, float | None]"


@operation(
    title="add noise",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="columns",
    cost=4,
    needs=("numeric",),
)
def add_noise(
    table: Frame,
    columns: Sequence[str],
    scale: float = 0.1,
    method: Literal["correlated", "independent", "kept_moments"] = "correlated",
    exact: bool = False,
    bounds: Mapping[str, Mapping[str, float]] | None = None,
    leave_zeros: bool = False,
    random_state: RandomState = 0,
) -> Protected:
    """Add normal noise to numbers.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Numeric columns.
    scale : float, default 0.1
        Standard deviation of the noise over that of the data, for every method.
    method : {"correlated", "independent", "kept_moments"}, default "correlated"
        "correlated": noise with the covariances of the data, so correlations stay. "independent": each column's noise
        by itself, so covariances stay and correlations shrink. "kept_moments": values are drawn to the mean as far as
        the noise widens them, so means and all covariances stay.
    exact : bool, default False
        Whether the statements above hold for this table and not only on average.
    bounds : mapping, optional
        ``{"income": {"low": 0}, "share": {"low": 0, "high": 1}}``: values beyond a bound are thrown back to the inside.
        Default: none.
    leave_zeros : bool, default False
        Whether zeros stay zeros. It tells everybody who has zero.
    random_state : int, numpy.random.Generator or None, default 0
        Seed. Draws depend on the names and values of ``columns``, on nothing else in the table; who has not the values
        takes no noise off with the seed.

    Returns
    -------
    Protected
        ``details`` by column: means and standard deviations before and after, ``bias`` (what bounds did to the mean;
        zeros that are left alone do not count), ``unchanged`` cells, and the ratios ``covariance_ratio`` after to
        before over complete records.

    Raises
    ------
    InputError
        For a scale that is not above 0 (or not below 1 with kept moments), too few complete records, values beyond
        their bounds, and columns that are not there, hold no numbers or infinite ones.

    Notes
    -----
    With S the sample covariance of x and s the scale::

        correlated     y = x + e,  e ~ N(0, s^2 S)                         covariances times 1 + s^2, correlations stay
        independent    y = x + e,  e_j ~ N(0, s^2 var_j)                   variances times 1 + s^2, covariances stay
        kept moments   y = m + sqrt(1 - s^2) (x - m) + e,  e ~ N(0, s^2 S) means and all covariances stay

    ``exact`` centres e, takes out what correlates with x and rescales the rest, so sample moments hold to rounding. S
    comes from records complete in all columns, for which alone ``exact`` holds; constant columns get no noise. Missing
    stays missing. Columns of whole numbers are rounded after the noise. Bounds, zeros left alone and rounding each
    disturb the moments a little: ``details`` says how much. Draws go to the records in the order of their values: the
    order of the rows does not matter, but for records that agree in all the columns.

    Independent noise of a known scale can be filtered out of correlated columns (spectral attacks).

    References
    ----------
    Brand (2002), Microdata protection through noise addition.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"income": [11.5, 25.1, 32.2, 44.9, 58.4, 61.7, 70.3, 95.8]})
    >>> safer = gh.protection.add_noise(people, "income", scale=0.3, method="kept_moments", exact=True)
    >>> [round(float(t["income"].mean()), 6) for t in (people, safer.table)]
    [49.9875, 49.9875]
    >>> [round(float(t["income"].std()), 6) for t in (people, safer.table)]
    [27.156396, 27.156396]
    """
    before = held(table)
    names = before.columns(columns, kind="numeric")
    if not 0 < scale < np.inf or (method == "kept_moments" and scale >= 1):
        most = " and below 1 with kept moments" if method == "kept_moments" else ""
        raise InputError(f"scale={scale} must be above 0{most}: the noise over the data, in standard deviations")
    limits = _limits(before, names, bounds)
    seed = integer_seed(random_state, "add_noise")
    ordered = sorted(names)  # sums are the same whatever order the columns were named in
    values = np.column_stack([before.numbers(name, summed=True) for name in ordered])
    rows = np.lexsort(values.T[::-1])
    with one_blas_thread():
        noisy = np.empty_like(values)
        drawn = (seed, content_of(before.frame.select(ordered)))  # nobody outside has the values without noise
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence below
            noisy[rows] = _noisy(values[rows], ordered, scale, method, exact, drawn)
        if (np.abs(noisy) > LARGEST).any():
            raise InputError(f"scale={scale:g} makes numbers whose squares are infinite; choose a smaller one")
        made = _Noise(ordered, values, noisy, limits, leave_zeros)
        return protected(
            before,
            made.columns(names),
            did="blurred",
            notes=made.notes(method, exact),
            details=made.details(names),
        )


def _noisy(
    values: Floats, names: Sequence[str], scale: float, method: str, exact: bool, drawn: tuple[int, str]
) -> Floats:
    seed, content = drawn
    draws = np.column_stack([generator(seed, name, content).standard_normal(len(values)) for name in names])
    whole = complete(values)
    if method == "independent" and not exact:
        return disturbed(values, draws, _apart(values), scale, method)
    if whole.sum() < 2:
        raise InputError(
            f"too few records ({int(whole.sum())}) are complete in {spoken(names)} for their covariances; name "
            'columns that are observed together, or use method="independent"'
        )
    if exact:
        draws[whole] = orthogonal(draws[whole], values[whole])
    return disturbed(values, draws, moments(values[whole]), scale, method)


def _apart(values: Floats) -> Moments:
    """Means and standard deviations of each column's observed values."""
    each = [
        moments(column[~np.isnan(column)][:, None]) if (~np.isnan(column)).sum() > 1 else None for column in values.T
    ]
    means = np.array([0.0 if one is None else one.means[0] for one in each])
    sds = np.array([0.0 if one is None else one.sds[0] for one in each])
    return Moments(means, sds, np.eye(len(each)))


def _limits(before: Held, names: Sequence[str], bounds: Mapping[str, Mapping[str, float]] | None) -> dict[str, Limits]:
    """The bounds by column, each of which its values keep already."""
    found: dict[str, Limits] = {}
    names_known("bounds", bounds or (), names)
    for name, ends in (bounds or {}).items():
        low, high = ends.get("low"), ends.get("high")
        strange = [end for end in ends if end not in ("low", "high")]
        if strange or not ends or (low is not None and high is not None and not low < high):
            raise InputError(
                f'bounds of column {name!r} must be {{"low": number, "high": number}}, the low one below the high one, '
                "or one of the two"
            )
        values = before.numbers(name)
        outside = int((values < (-np.inf if low is None else low)).sum())
        outside += int((values > (np.inf if high is None else high)).sum())
        if outside:
            raise InputError(
                f"column {name!r} has {counted(outside, 'value')} beyond its bounds already; widen them, or code its "
                "ends first (top_code)"
            )
        found[name] = low, high
    return found


@dataclass(frozen=True)
class _Noise:
    """What was made of the columns: values, those with noise, and what the rules about them left of it."""

    names: Sequence[str]
    values: Floats
    noisy: Floats
    limits: Mapping[str, Limits]
    leave_zeros: bool

    @cached_property
    def inside(self) -> Floats:
        """The noise within bounds."""
        parts = [
            reflected(column, *self.limits.get(name, (None, None)))
            for name, column in zip(self.names, self.noisy.T, strict=True)
        ]
        return np.column_stack(parts)

    @cached_property
    def whole(self) -> list[str]:
        """Columns of whole numbers."""
        return [name for name, column in zip(self.names, self.values.T, strict=True) if all_whole(column)]

    @cached_property
    def released(self) -> Floats:
        """What is released."""
        made = np.where((self.values == 0) & self.leave_zeros, 0.0, self.inside)
        for name in self.whole:
            low, high = self.limits.get(name, (None, None))
            place = self.names.index(name)
            ends = -np.inf if low is None else np.ceil(low), np.inf if high is None else np.floor(high)
            made[:, place] = np.clip(np.rint(made[:, place]), *ends)
        return made

    def columns(self, names: Sequence[str]) -> dict[str, Values]:
        """The released columns."""
        found = {name: self.released[:, self.names.index(name)] for name in names}
        return {name: whole_numbers(column) if name in self.whole else column for name, column in found.items()}

    def details(self, names: Sequence[str]) -> dict[str, object]:
        """Figures of the columns, in the order they were named."""
        old, new = (
            {name: Figures.of(table[:, self.names.index(name)]) for name in names}
            for table in (self.values, self.released)
        )
        rows = complete(self.values)
        made: dict[str, object] = {
            "mean": {name: [old[name].mean, new[name].mean] for name in names},
            "sd": {name: [old[name].sd, new[name].sd] for name in names},
            "bias": {name: self.bias(name) for name in self.limits},
            "unchanged": {
                name: int((self.values[:, at] == self.released[:, at]).sum())
                for name in names
                for at in [self.names.index(name)]
            },
        }
        if rows.sum() > 1:
            at = [self.names.index(name) for name in names]
            first, then = (moments(table[rows][:, at]).covariance for table in (self.values, self.released))
            made["covariance_ratio"] = np.divide(then, first, out=np.full_like(then, np.nan), where=first != 0)
        return made

    def bias(self, name: str) -> float:
        """By how much bounds moved the mean of the column: values that do not keep their noise were not moved."""
        at = self.names.index(name)
        known = ~np.isnan(self.noisy[:, at])
        moved = np.where((self.values == 0) & self.leave_zeros, 0.0, self.inside - self.noisy)
        return float(moved[known, at].mean()) if known.any() else 0.0

    def notes(self, method: str, exact: bool) -> list[str]:
        """What whoever releases the table must know."""
        notes = []
        known = complete(self.values)
        if method == "independent" and len(self.names) > 1:
            notes.append(
                "Independent noise can be filtered out of columns that correlate, and lets their correlations shrink; "
                "correlated noise does neither."
            )
        if not known.all() and len(self.names) > 1 and (exact or method != "independent"):
            notes.append(
                f"Covariances come from the {int(known.sum()):,} of {len(known):,} records that are complete in "
                f"{spoken(self.names)}{'; only theirs are exact' if exact else ''}."
            )
        if self.whole:
            were = plural(len(self.whole), "was", "were")
            notes.append(f"{spoken(self.whole)} held whole numbers and {were} rounded after the noise.")
        if self.leave_zeros and (self.values == 0).any():
            notes.append("Zeros were left alone: whoever sees a zero knows it is true.")
        for name, old, new in zip(self.names, self.values.T, self.released.T, strict=True):
            below = int((new < 0).sum())
            if below and not (old < 0).any():
                said = f"{counted(below, 'value')} of {name!r} {plural(below, 'is', 'are')} below 0 now, where none was"
                notes.append(f'{said}; bounds={{"{name}": {{"low": 0}}}} throws them back, and moves the mean.')
        for name in self.limits:
            sd = Figures.of(self.values[:, self.names.index(name)]).sd
            if self.bias(name) and sd:
                notes.append(
                    f"Bounds moved the mean of {name!r} by {percent(abs(self.bias(name)) / sd)} of its standard "
                    "deviation."
                )
        return notes


@dataclass(frozen=True)
class Figures:
    """Mean and standard deviation of observed values; None where there are too few."""

    mean: float | None
    sd: float | None

    @classmethod
    def of(cls, values: Floats) -> Figures:
        """Those of a column."""
        known = values[~np.isnan(values)]
        return cls(float(known.mean()) if len(known) else None, float(known.std(ddof=1)) if len(known) > 1 else None)
