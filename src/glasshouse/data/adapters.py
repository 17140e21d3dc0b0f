"""Pairs from what other packages write: synthpop, sdcMicro, simPop and SDV. Each reads files or frames and a small
description."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError, listed
from glasshouse.data.pair import Pair

SDV_KINDS = {
    "numerical": "numeric",
    "categorical": "categorical",
    "boolean": "boolean",
    "datetime": "datetime",
    "id": "identifier",
    "text": "text",
}


def _described(description: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    """A description given as a mapping or as a JSON file."""
    if isinstance(description, Mapping):
        return dict(description)
    path = Path(description)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"file not found: {path}") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise InputError(f"{path} is not a JSON file") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} should hold one JSON object")
    return content


def from_synthpop(original: Any, released: Any, description: Mapping[str, Any] | str | Path, **roles: Any) -> Pair:
    """A pair from synthpop: ``released`` is one file or the list of m syntheses; ``description`` holds the fields of
    the synds object.

    In R: ``jsonlite::write_json(list(cont.na = s$cont.na, method = as.list(s$method), m = s$m), "synds.json",
    auto_unbox = TRUE)``. Read are ``cont.na`` (special values of numeric columns, NA left out) and ``method`` (a
    column with method "" was not synthesised: its real values are in the release, which ``pair.check()`` cannot know;
    such columns are returned in ``pair.unsynthesised``).
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
    object.__setattr__(pair, "unsynthesised", kept)
    return pair


def from_sdcmicro(
    original: Any,
    manipulated: Any,
    *,
    keys: Sequence[str],
    numeric_keys: Sequence[str] = (),
    weights: str | None = None,
    household: str | None = None,
    **roles: Any,
) -> Pair:
    """A row-paired pair from sdcMicro: the file before and after anonymisation.

    Only categorical keys become keys: numeric keys matched exactly would find nobody, so they stay columns for the
    distance and linkage
    measures and are returned in ``pair.numeric_keys``.
    """
    pair = Pair(original, manipulated, keys=keys, weights=weights, cluster=household, row_paired=True, **roles)
    unknown = [c for c in numeric_keys if c not in pair.schema]
    if unknown:
        raise InputError(f"numeric_keys names {listed(unknown)}, which the original does not have")
    object.__setattr__(pair, "numeric_keys", tuple(numeric_keys))
    return pair


def from_simpop(
    sample: Any, population: Any, *, weights: str | None = None, household: str | None = None, **roles: Any
) -> Pair:
    """A pair from simPop: the survey sample with its weights, and the synthetic population made from it."""
    return Pair(sample, population, weights=weights, cluster=household, **roles)


def from_sdv(original: Any, released: Any, metadata: Mapping[str, Any] | str | Path, **roles: Any) -> Pair:
    """A pair with the column kinds of SDV metadata (single table): sdtypes become kinds, the primary key an
    identifier."""
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
