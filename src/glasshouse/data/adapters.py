"""Pairs from what other packages write: synthpop, sdcMicro, simPop and SDV. Each reads files or frames and a small
description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from glasshouse.core.errors import InputError, listed, names_known
from glasshouse.core.options import door
from glasshouse.core.settings import read_settings
from glasshouse.data.frames import Frame, as_contents
from glasshouse.data.pair import Pair
from glasshouse.data.r_objects import is_r_file, ranked, sdcmicro, simpop, synds
from glasshouse.data.roles import Argument, names_of

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


@door
def from_synthpop(
    original: Frame,
    released: Frame,
    description: Description | None = None,
    *,
    method: Mapping[str, str] | str | None = None,
    **roles: Argument,
) -> Pair:
    """A pair from what synthpop made.

    Parameters
    ----------
    original : frame or path
        The confidential table.
    released : frame, path or list of them
        One synthesis, the list of m syntheses, or an .rds or .RData file with the whole synds object, which brings its
        own description (extra ``files``).
    description : mapping, str or Path, optional
        Fields of the synds object, or a JSON file with them. In R: ``jsonlite::write_json(list(cont.na = s$cont.na,
        method = as.list(s$method), m = s$m), "synds.json", auto_unbox = TRUE)``. Default: what the synds object says.
    method : mapping or str, optional
        How each column was synthesised, or one word for all; goes before the description. "" is not at all.
    **roles
        Other arguments of :class:`glasshouse.Pair`: keys, target, holdout, ...

    Returns
    -------
    Pair
        With ``special_codes`` from ``cont.na`` (NA left out). Columns with method "" were not synthesised: their real
        values are in the release. They are in ``pair.unsynthesised``, which ``replace`` keeps as long as the release is
        the same, and ``check`` and ``assess`` say so.

    Raises
    ------
    InputError
        When the number of syntheses is not the one described, or the description cannot be read.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.
    """
    content = {} if description is None else _described(description)
    releases = list(released) if isinstance(released, (list, tuple)) else [released]
    if not releases:
        raise InputError("released is an empty list; pass at least one synthesis")
    if len(releases) == 1 and is_r_file(releases[0]) and (found := synds(releases[0])) is not None:
        releases, content = list(found[0]), {**found[1], **content}
    special = {
        column: [v for v in (values if isinstance(values, list) else [values]) if v is not None and v != "NA"]
        for column, values in (content.get("cont.na") or {}).items()
    }
    m = content.get("m")
    if m is not None and int(m) != len(releases):
        raise InputError(f"the description says m = {int(m)} syntheses, but {len(releases)} were given")
    codes = {**{c: v for c, v in special.items() if v}, **(roles.pop("special_codes", None) or {})}
    pair = Pair(original, releases if len(releases) > 1 else releases[0], special_codes=codes, **roles)
    how = content.get("method") if method is None else method
    adopted = pair._tables.adopted["original"].lazy.collect_schema().names()
    own = () if method is None or isinstance(method, str) else method
    names_known("method", own, adopted, "names column {name}, which the original does not have")
    methods = dict.fromkeys(pair.schema, how) if isinstance(how, str) else dict(how or {})
    pair._note(unsynthesised=tuple(c for c, one in methods.items() if one == "" and c in pair.schema))
    return pair


@door
def from_sdcmicro(
    original: Frame,
    manipulated: Frame = None,
    *,
    keys: Sequence[str | int] | None = None,
    numeric_keys: Sequence[str | int] | None = None,
    weights: str | None = None,
    household: str | None = None,
    **roles: Argument,
) -> Pair:
    """A row-paired pair from sdcMicro: the file before and after anonymisation.

    Parameters
    ----------
    original : frame or path
        The file before; or an .rds or .RData file with the whole sdcMicroObj (extra ``files``), which brings the file
        after and all the roles.
    manipulated : frame or path, optional
        The file after, row by row the same people. Default: that of the sdcMicroObj.
    keys : sequence of str, optional
        Categorical key variables. Default: those of the sdcMicroObj.
    numeric_keys : sequence of str, optional
        Numeric key variables. Matched exactly they would find nobody, so they stay columns for the distance and
        linkage measures and are returned in ``pair.numeric_keys``. Default: those of the sdcMicroObj, else none.
    weights : str, optional
        Column of survey weights. Default: that of the sdcMicroObj, else none.
    household : str, optional
        Column that names the household. Default: that of the sdcMicroObj, else every record stands alone.
    **roles
        Other arguments of :class:`glasshouse.Pair`.

    Returns
    -------
    Pair

    Raises
    ------
    InputError
        When a numeric key is not in the original, or there is neither a file after nor an sdcMicroObj.

    References
    ----------
    Templ, Kowarik & Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro.
    """
    found = sdcmicro(original) if manipulated is None and is_r_file(original) else None
    if found is not None:
        before, manipulated, said = found
        original = as_contents(before).native
        keys = said["keys"] if keys is None else keys
        numeric_keys = said["numeric_keys"] if numeric_keys is None else numeric_keys
        weights, household = weights or said["weights"], household or said["household"]
        roles = {"target": said["target"], **roles, "schema": {**ranked(before), **(roles.get("schema") or {})}}
    if manipulated is None or keys is None:
        lacks = "the file after anonymisation" if manipulated is None else "keys="
        raise InputError(f"from_sdcmicro needs {lacks}, or an .rds file with the whole sdcMicroObj")
    pair = Pair(original, manipulated, keys=keys, weights=weights, cluster=household, row_paired=True, **roles)
    numeric = names_of(numeric_keys)
    unknown = [c for c in numeric if c not in pair.schema]
    if unknown:
        raise InputError(f"numeric_keys names {listed(unknown)}, which the original does not have")
    pair._note(numeric_keys=numeric)
    return pair


@door
def from_simpop(
    sample: Frame,
    population: Frame = None,
    *,
    weights: str | None = None,
    household: str | None = None,
    **roles: Argument,
) -> Pair:
    """A pair from simPop: the survey sample with its weights, and the synthetic population made from it.

    Parameters
    ----------
    sample : frame or path
        The survey: it is the original. Or an .rds or .RData file with the whole simPopObj (extra ``files``).
    population : frame or path, optional
        The synthetic population: it is the release. Default: that of the simPopObj.
    weights : str, optional
        Column of survey weights. Default: that of the simPopObj, else none.
    household : str, optional
        Column that names the household. Default: that of the simPopObj, else every record stands alone.
    **roles
        Other arguments of :class:`glasshouse.Pair`.

    Returns
    -------
    Pair

    References
    ----------
    Templ, Meindl, Kowarik & Dupriez (2017), Simulation of synthetic complex data: the R package simPop.
    """
    found = simpop(sample) if population is None and is_r_file(sample) else None
    if found is not None:
        survey, population, said = found
        sample = as_contents(survey).native
        weights, household = weights or said.get("weights"), household or said.get("household")
        roles["schema"] = {**ranked(survey), **(roles.get("schema") or {})}
    if population is None:
        raise InputError("from_simpop needs the population, or an .rds file with the whole simPopObj")
    return Pair(sample, population, weights=weights, cluster=household, **roles)


@door
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
