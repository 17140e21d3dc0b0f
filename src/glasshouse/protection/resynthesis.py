"""A table made anew: by coarser trees, by mixing in independent draws, or by a differentially private model.

The released table says which columns there are and how many records; the model learns from the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import counted, spoken
from glasshouse.data.arrays import Bools
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected
from glasshouse.protection.redraw import LOOKED

PRIVATE = {"mst": "Mst", "aim": "Aim"}
OF_ORIGINAL = (
    "All records were made anew by a model that learnt from the original. Nothing of the table as it was is left but "
    "its columns and its number of records; what somebody had done to it by hand is gone."
)
STAYED = "Kept from the table as it was: {columns}. That says nothing about the new records; drop what nobody needs."


@operation(
    title="synthesise anew",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="model",
    cost=8,
    looks_at_original=True,
    needs=("any",),
)
def resynthesise(
    table: Frame,
    *,
    original: Frame,
    minbucket: int = 20,
    smoothing: str | None = "density",
    keep: Sequence[str] = (),
    special_codes: Mapping[str, Sequence[float]] | None = None,
    remove_uniques: bool = False,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Protected:
    """Make the release anew with classification and regression trees that hold more people in every leaf.

    Parameters
    ----------
    table : frame, path or Protected
        The release: its columns and its number of records are kept.
    original : frame or path
        The confidential table.
    minbucket : int, default 20
        Records of a leaf, at least; the usual synthesis has 5.
    smoothing : str, optional
        One of "density", "rmean", "spline": numbers and dates are moved off the values of real people. None keeps them.
        Default: "density".
    keep : sequence of str, default empty
        Columns that are not made anew, beside those that look like identifiers: numbers of households, texts.
    special_codes : mapping of str to list of float, optional
        By column the numbers that stand for a reason for missing, and are not smoothed. Default: none.
    remove_uniques : bool, default False
        Leave out new records that are unique in the release and in the original (``gh.synthesis.sdc``); the release
        then has fewer records, and redraw_records after this step is the better way.
    random_state : int, numpy Generator or None, default 0
        The same call gives the same table; None draws.
    n_jobs : int, optional
        Threads; no release depends on it. Default: all.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        When the release has a column that the original lacks, when no column is left, and for unknown settings.

    Notes
    -----
    A model of names would hand out the names of real people, so identifiers stay those of the table as it was, and
    belong to none of the new records. Dates, also those that are ISO text, are smoothed as numbers of days (of
    hours, minutes, seconds or less where they are told so).

    ``gh.synthesis.Cart(minbucket=..., smoothing=...)`` on the columns of the release. Larger leaves average over more
    people: a value is drawn from at least ``minbucket`` of them. Smoothed numbers are nobody's own. There is no formal
    guarantee.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> made = gh.protection.resynthesise(example.released, original=example.original, minbucket=50)
    >>> made.table.shape == example.released.shape, made.voids_dp
    (True, True)
    """
    from glasshouse.synthesis.cart import Cart
    from glasshouse.synthesis.control import replicated_uniques

    before, real = held(table), held(original)
    stay = _staying(before, real, keep)
    columns = _in_original(before, real, stay)
    source = real.frame.select(columns)
    coded = special_codes or {}
    codes = {c: coded[c] for c in (before.columns(list(coded), "special_codes") if coded else []) if c in columns}
    model = Cart(
        minbucket=minbucket, smoothing=smoothing, visit_sequence=columns, special_codes=codes, n_jobs=n_jobs
    ).fit(source)
    own = generator(random_state, "resynthesise", before.content, real.content)
    made = pl.DataFrame(model.sample(before.n, random_state=own))
    left = ~np.asarray(replicated_uniques(made, source).replicated) if remove_uniques else None
    notes = [OF_ORIGINAL, *([STAYED.format(columns=spoken(stay))] if stay else []), LOOKED, *model.notes]
    return _anew(before, made, left, notes)


@operation(
    title="mix in independent draws",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="columns",
    cost=7,
    needs=("any",),
)
def mix_independent(
    table: Frame,
    columns: str | Sequence[str] | None = None,
    share: float = 0.1,
    *,
    whole: bool = False,
    random_state: RandomState = 0,
) -> Protected:
    """Replace a share of the cells, or of the records, by values drawn from each column on its own.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str, optional
        The columns. Default: all.
    share : float, default 0.1
        Share of the cells of each column that are drawn anew, above 0 and at most 1.
    whole : bool, default False
        Whether whole records are drawn (the same ones in every column), instead of cells here and there.
    random_state : int, numpy Generator or None, default 0
        The same call gives the same table; None draws.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a column that is not there, or a share that is none.

    Notes
    -----
    A chosen cell takes the value of a random record of the table: margins stay in expectation, every relation between
    columns shrinks by about (1 - share)^2 where cells are drawn, and by (1 - share) where whole records are. The
    original is not looked at.

    References
    ----------
    Hundepool et al. (2012), Statistical Disclosure Control, section 3.6.

    Examples
    --------
    >>> import glasshouse as gh
    >>> released = gh.data.load("health").released
    >>> made = gh.protection.mix_independent(released, ["income"], share=0.2)
    >>> list(made.columns), 150 < made.records <= 200
    (['income'], True)
    """
    before = held(table)
    names = before.columns(before.frame.columns if columns is None else columns)
    if not 0 < share <= 1:
        raise InputError(f"share must lie above 0 and not above 1, not {share:g}")
    seed = int(generator(random_state, "mix_independent", before.content).integers(0, 2**62))
    count = max(1, round(share * before.n))
    made: dict[str, pl.Series] = {}
    for name in names:
        rng = generator(seed, "whole records") if whole else generator(seed, name, "cells")
        chosen = rng.permutation(before.n)[:count]
        source = np.arange(before.n)
        source[chosen] = generator(seed, name, "donors").integers(0, before.n, count)
        made[name] = before[name].gather(source)
    return protected(before, made, did="drawn anew")


@operation(
    title="synthesise anew with differential privacy",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="model",
    cost=9,
    needs=("any",),
)
def resynthesise_dp(
    table: Frame,
    *,
    original: Frame,
    rho: float,
    domain: Mapping[str, Any] | str | Path,
    method: str = "mst",
    random_state: int | None = 0,
) -> Protected:
    """Make the release anew with a differentially private synthesiser.

    Needs the extra ``glasshouse[dp]``.

    Parameters
    ----------
    table : frame, path or Protected
        The release: its columns and its number of records are kept.
    original : frame or path
        The confidential table.
    rho : float
        The whole budget of zero-concentrated differential privacy; ``gh.Risk`` derives it from what an attacker may
        reach.
    domain : mapping or path
        The possible values of every column, from the code book and not from the data.
    method : {"mst", "aim"}, default "mst"
        The synthesiser.
    random_state : int or None, default 0
        Seeds the draw of records from the private model; the noise itself cannot be seeded.

    Returns
    -------
    Protected
        It reads the original through a private mechanism alone, so ``voids_dp`` is False: the release has a guarantee
        of its own, which ends with the next step that looks at the original.

    Raises
    ------
    InputError
        For an unknown method, a column without a domain, and without the extra.

    Notes
    -----
    See :class:`glasshouse.synthesis.Mst` and :class:`glasshouse.synthesis.Aim`. The number of records of the release is
    taken for public.

    References
    ----------
    McKenna, Miklau & Sheldon (2021), Winning the NIST contest; McKenna et al. (2022), AIM.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> domain = {"gender": ["female", "male"], "education": ["low", "medium", "high"]}
    >>> made = gh.protection.resynthesise_dp(
    ...     example.released.select("gender", "education"), original=example.original, rho=1.0, domain=domain
    ... )
    >>> made.voids_dp, made.table.height
    (False, 1000)
    """
    from glasshouse.formal.risk import Risk
    from glasshouse.synthesis.dp.aim import Aim
    from glasshouse.synthesis.dp.mst import Mst

    if method not in PRIVATE:
        raise InputError(f"method={method!r} is unknown; choose one of {listed(PRIVATE)}")
    before, real = held(table), held(original)
    columns = _in_original(before, real)
    given: Any = domain
    if isinstance(domain, Mapping):
        lacking = [c for c in columns if c not in domain]
        if lacking:
            raise InputError(f"domain says nothing about column {lacking[0]!r}; add its possible values")
        given = {c: domain[c] for c in columns}
    model = (Mst if method == "mst" else Aim)(Risk.from_rho(rho), given, rows=real.n)
    made = pl.DataFrame(model.fit(real.frame.select(columns)).sample(before.n, random_state=random_state))
    note = (
        f"The release was made with rho = {rho:g} of zero-concentrated differential privacy. The guarantee holds as "
        "long as no later step looks at the original; the noise cannot be seeded, so the recipe makes another table "
        "each time and uses up the budget anew."
    )
    return _anew(before, made, None, [note])


def _staying(before: Held, real: Held, keep: Sequence[str]) -> list[str]:
    """The columns that are not made anew: those named, and identifiers."""
    named = set(before.columns(keep, "keep")) if len(keep) else set()
    shared = [c for c in before.frame.columns if c in real.frame.columns]
    found = set(Pair(real.frame.select(shared), before.frame.select(shared)).identifiers) if shared else set()
    stay = [c for c in before.frame.columns if c in named | found]
    if len(stay) == len(before.frame.columns):
        raise InputError("every column stays as it is or looks like an identifier, so there is nothing to make anew")
    return stay


def _in_original(before: Held, real: Held, stay: Sequence[str] = ()) -> list[str]:
    columns = [c for c in before.frame.columns if c not in stay]
    lacking = [c for c in columns if c not in real.frame.columns]
    if lacking:
        raise InputError(
            f"the original has no column {lacking[0]!r}, so a model cannot make it"
            f"{closest(lacking[0], real.frame.columns)}; drop it first"
        )
    return columns


def _anew(before: Held, made: pl.DataFrame, keep: Bools | None, notes: Sequence[str]) -> Protected:
    return protected(
        before,
        {c: made[c] for c in made.columns},
        keep=keep,
        notes=notes,
        sentence=f"Made {counted(before.n if keep is None else int(keep.sum()), 'record')} anew.",
    )
