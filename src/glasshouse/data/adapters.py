"""Pairs from what other packages write: synthpop, sdcMicro, simPop and SDV. Each reads files or frames and a small
description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from glasshouse.core.errors import InputError, listed
from glasshouse.core.settings import read_settings
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.data.roles import Argument

Description: TypeAlias = "Mapping[str, Argument] | str | Path"  # a mapping, or a JSON file that holds one

SDV_KINDS = {
    "numerical": "numeric",
    "categorical": "categorical",
    "boolean": "boolean",
    "datetime": "datetime",
    "id": "identifier",
    "text": "text",
}


def _described(description: Description) -> dict[str, Argument]:
    """A description given as a mapping or as a JSON file."""
    if isinstance(description, Mapping):
        return dict(description)
    return read_settings(description, "description", "json")


def from_synthpop(original: Frame, released: Frame, description: Description, **roles: Argument) -> Pair:
    """A pair from what synthpop made.

    Parameters
    ----------
    original : frame or path
        The confidential table.
    released : frame, path or list of them
        One synthesis or the list of m syntheses.
    description : mapping, str or Path
        Fields of the synds object, or a JSON file with them. In R: ``jsonlite::write_json(list(cont.na = s$cont.na,
        method = as.list(s$method), m = s$m), "synds.json", auto_unbox = TRUE)``.
    **roles
        Other arguments of :class:`glasshouse.Pair`: keys, target, holdout, ...

    Returns
    -------
    Pair
        With ``special_codes`` from ``cont.na`` (NA left out). Columns with method "" were not synthesised: their real
        values are in the release, which ``pair.check()`` cannot know; they are in ``pair.unsynthesised``.

    Raises
    ------
    InputError
        When the number of syntheses is not the one described, or the description cannot be read.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.
    """
    content = _described(description)
    special = {
        column: [v for v in (values if isinstance(values, list) else [values]) if v is not None and v != "NA"]
        for column, values in (content.get("cont.na") or {}).items()
    }
    m = content.get("m")
    releases = list(released) if isinstance(released, (list, tuple)) else [released]
    if m is not None and int(m) != len(releases):
        raise InputError(f"the description says m = {m} syntheses, but {len(releases)} were given")
    pair = Pair(
        original,
        releases if len(releases) > 1 else releases[0],
        special_codes={c: v for c, v in special.items() if v},
        **roles,
    )
    kept = tuple(c for c, method in (content.get("method") or {}).items() if method == "" and c in pair.schema)
    pair._note(unsynthesised=kept)
    return pair


def from_sdcmicro(
    original: Frame,
    manipulated: Frame,
    *,
    keys: Sequence[str],
    numeric_keys: Sequence[str] = (),
    weights: str | None = None,
    household: str | None = None,
    **roles: Argument,
) -> Pair:
    """A row-paired pair from sdcMicro: the file before and after anonymisation.

    Parameters
    ----------
    original, manipulated : frame or path
        The file before and after, row by row the same people.
    keys : sequence of str
        Categorical key variables.
    numeric_keys : sequence of str, default empty
        Numeric key variables. Matched exactly they would find nobody, so they stay columns for the distance and
        linkage measures and are returned in ``pair.numeric_keys``.
    weights : str, optional
        Column of survey weights. Default: none.
    household : str, optional
        Column that names the household. Default: every record stands alone.
    **roles
        Other arguments of :class:`glasshouse.Pair`.

    Returns
    -------
    Pair

    Raises
    ------
    InputError
        When a numeric key is not in the original.

    References
    ----------
    Templ, Kowarik & Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro.
    """
    pair = Pair(original, manipulated, keys=keys, weights=weights, cluster=household, row_paired=True, **roles)
    unknown = [c for c in numeric_keys if c not in pair.schema]
    if unknown:
        raise InputError(f"numeric_keys names {listed(unknown)}, which the original does not have")
    pair._note(numeric_keys=tuple(numeric_keys))
    return pair


def from_simpop(
    sample: Frame, population: Frame, *, weights: str | None = None, household: str | None = None, **roles: Argument
) -> Pair:
    """A pair from simPop: the survey sample with its weights, and the synthetic population made from it.

    Parameters
    ----------
    sample : frame or path
        The survey: it is the original.
    population : frame or path
        The synthetic population: it is the release.
    weights : str, optional
        Column of survey weights. Default: none.
    household : str, optional
        Column that names the household. Default: every record stands alone.
    **roles
        Other arguments of :class:`glasshouse.Pair`.

    Returns
    -------
    Pair

    References
    ----------
    Templ, Meindl, Kowarik & Dupriez (2017), Simulation of synthetic complex data: the R package simPop.
    """
    return Pair(sample, population, weights=weights, cluster=household, **roles)


def from_sdv(original: Frame, released: Frame, metadata: Description, **roles: Argument) -> Pair:
    """A pair with the column kinds of SDV metadata: sdtypes become kinds, the primary key an identifier.

    Parameters
    ----------
    original, released : frame or path
        The confidential table and its release.
    metadata : mapping, str or Path
        Metadata of a single table, or a JSON file with them.
    **roles
        Other arguments of :class:`glasshouse.Pair`; entries of ``schema`` go before the metadata.

    Returns
    -------
    Pair

    Raises
    ------
    InputError
        When the metadata describe several tables or no column.

    References
    ----------
    Patki, Wedge & Veeramachaneni (2016), The synthetic data vault.
    """
    content = _described(metadata)
    if "tables" in content:
        tables = content["tables"]
        if len(tables) != 1:
            raise InputError(f"the metadata describe {len(tables)} tables; glasshouse assesses one table at a time")
        content = next(iter(tables.values()))
    if "columns" not in content:
        raise InputError("SDV metadata need an entry 'columns'")
    schema = {
        c: SDV_KINDS.get(str(spec.get("sdtype")), "identifier" if spec.get("pii") else "categorical")
        for c, spec in content["columns"].items()
    }
    if content.get("primary_key") in schema:
        schema[content["primary_key"]] = "identifier"
    return Pair(original, released, schema={**schema, **(roles.pop("schema", None) or {})}, **roles)
