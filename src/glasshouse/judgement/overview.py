"""What was assessed: tables, roles, columns, fingerprints, and the call that repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from glasshouse.catalogue import all_measures
from glasshouse.core.plain import Content
from glasshouse.data.schema import FEW, GIVEN, TWO_CODES
from glasshouse.judgement.run import safely

if TYPE_CHECKING:
    from glasshouse.data.findings import Findings
    from glasshouse.data.pair import Pair


def overview(pair: Pair) -> Content:
    """Sizes, roles, columns with their missing values, findings of the check, and a fingerprint of every table."""
    names = pair.tables
    columns = [
        {
            "name": name,
            "label": spec.label,
            "kind": spec.kind,
            "reason": spec.reason,
            "role": role(pair, name),
            "missing": {t: pair.n_missing(name, t) for t in names if pair.has(name, t)},
        }
        for name, spec in pair.schema.items()
    ]
    found, problem = safely(pair.check)
    return {
        "tables": [
            {"table": t, "source": pair.source(t), "records": pair.n(t), "fingerprint": pair.fingerprint(t)}
            for t in names
        ],
        "keys": list(pair.keys),
        "target": list(pair.targets),
        "weights": pair.weights,
        "cluster": pair.cluster,
        "missing": pair.missing,
        "row_paired": pair.row_paired,
        "releases": pair.m,
        "holdout": pair.has_holdout,
        "columns": columns,
        "reading": reading(pair),
        "remarks": pair.remarks,
        "findings": [{"level": "warning", "column": None, "code": "not_checked", "first": False, "message": problem}]
        if found is None
        else _findings(found),
    }


def reading(pair: Pair) -> Content:
    """Columns whose values could be read otherwise: whole numbers and dates as text, by what they are read as."""
    own = {c: pair.schema[c] for c in pair.columns if pair.schema[c].reason != GIVEN}
    few = [c for c, spec in own.items() if spec.kind == "integer" and 1 < pair.n_distinct(c) <= FEW]
    dates = [c for c, spec in own.items() if spec.kind == "datetime" and pair.stored_as_text(c)]
    return {
        "categories": [c for c, spec in own.items() if spec.reason == TWO_CODES],
        "numbers": [{"column": c, "values": pair.n_distinct(c)} for c in few],
        "dates": dates,
    }


def role(pair: Pair, column: str) -> str:
    """What a column is for: key, target, weights, cluster, identifier or nothing special."""
    if column in pair.keys:
        return "key"
    if column in pair.targets:
        return "target"
    if column == pair.weights:
        return "weights"
    if column == pair.cluster:
        return "cluster"
    return (
        "identifier, left out" if column in pair.identifiers else "" if column in pair.columns else "not in every table"
    )


def _findings(found: Findings) -> list[Content]:
    return [
        {"level": f.level, "column": f.column, "code": f.code, "first": f.first, "message": f.message}
        for f in found.summary()
    ]


def call(
    pair: Pair, policy: str | None, measures: Any, seed: int, options: Mapping[str, Any], ran: Iterable[str]
) -> str:
    """The Python call that gives the same figures again, given the same tables; ``ran`` are all measures that ran."""
    roles: list[tuple[str, Any]] = [
        ("keys", list(pair.keys) or None),
        ("target", pair.targets[0] if len(pair.targets) == 1 else list(pair.targets) or None),
    ]
    roles += [
        ("weights", pair.weights),
        ("cluster", pair.cluster),
        ("row_paired", pair.row_paired or None),
        ("missing", pair.missing if pair.missing_given else None),
    ]
    said = [f"{name}={value!r}" for name, value in roles if value is not None]
    said += ["holdout=holdout"] if pair.has_holdout else []
    run = [f"policy={policy!r}"] if policy is not None else []
    run += [f"measures={measures!r}" if isinstance(measures, str) else f"measures={list(measures)!r}"]
    run += [f"random_state={seed}"]
    rest, groups = _without_common_groups(options, ran)
    run += ([f"options={rest!r}"] if rest else []) + ([f"key_groups={groups[0]!r}"] if groups else [])
    released = "released" if pair.m == 1 else f"[{', '.join(pair.releases)}]"
    return f"pair = gh.Pair(original, {released}, {', '.join(said)})\ngh.assess(pair, {', '.join(run)})"


def _without_common_groups(options: Mapping[str, Any], ran: Iterable[str]) -> tuple[dict[str, Any], list[Any]]:
    """The options, and the grouping of keys that every measure with such an option has, which is said once."""
    known = all_measures()
    groups = [options.get(m, {}).get("key_groups", "default") for m in ran if "key_groups" in known[m].options]
    if len(groups) < 2 or groups[0] == "default" or any(one != groups[0] for one in groups):
        return dict(options), []
    rest = {name: {k: v for k, v in given.items() if k != "key_groups"} for name, given in options.items()}
    return {name: given for name, given in rest.items() if given}, groups[:1]
