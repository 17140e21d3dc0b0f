"""Who is at risk and which columns drive it: the figure without each key, and the figure inside each subgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from glasshouse.core.errors import GlasshouseError
from glasshouse.core.result import Result
from glasshouse.judgement.policy.outcomes import SEVERITY
from glasshouse.judgement.verdict.threats import Judged

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

PREFERRED = ("disco", "rapid", "tcap", "cap", "uniques")
MOST_LEVELS = 12
# records times keys up to which a model is refitted without each key; fixed, so that a report never depends on speed
MODEL_WORK = 50_000


def drivers(pair: Pair, judged: Sequence[Judged], options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Drop-one contributions of the keys: how far a measure falls when the attacker does not know one of them.

    Takes the worst attribute measure that can be run again cheaply: one that counts cells, or a model on a small table.
    None when there is nothing to drop or nothing to explain.
    """
    small = pair.n("original") * max(len(pair.keys), 1) <= MODEL_WORK
    again = ("cells", "rows", "attackers") if small else ("cells", "rows")
    chosen = _choose(
        [
            j
            for j in judged
            if j.decides
            and j.measure.cost in again
            and "keys" in j.measure.needs
            and j.measure.table == "pair"
            and j.measure.threat == "attribute"
        ]
    )
    if chosen is None or len(pair.keys) < 2 or not chosen.result.value:
        return None
    measure, value = chosen.measure, chosen.result.value
    assert value is not None
    rows: list[dict[str, Any]] = []
    for key in pair.keys:
        without = measure.run(pair.replace(keys=[k for k in pair.keys if k != key]), **options.get(measure.name, {}))
        if without.value is not None:
            rows.append({"column": key, "without": without.value, "falls_by": float(value) - float(without.value)})
    rows.sort(key=lambda row: (-row["falls_by"], row["column"]))
    return {"measure": measure.name, "value": value, "keys": rows} if rows else None


def people(pair: Pair, judged: Sequence[Judged]) -> dict[str, Any] | None:
    """How many original records the leading attribute (or identity) measure flags, and the share inside each
    subgroup.
    """
    able = [j for j in judged if j.decides and j.measure.table == "pair" and j.result._flag is not None]
    chosen = _choose([j for j in able if j.measure.threat == "attribute"]) or _choose(
        [j for j in able if j.measure.threat == "identity"]
    )
    if chosen is None:
        return None
    result = chosen.result
    flags, known = result._flags()
    groups: list[dict[str, Any]] = []
    for column in (*pair.keys, *pair.targets) if flags[known].any() else ():
        if len(pair.codes(column).levels) <= MOST_LEVELS:
            groups += _groups(result, column)
    return {
        "measure": result.name,
        "flagged": round(float(flags[known].sum())),
        "known": int(known.sum()),
        "of": len(flags),
        "groups": groups,
    }


def _groups(result: Result, column: str) -> list[dict[str, Any]]:
    table: Mapping[str, list[Any]] = nw.from_native(result.by(column), eager_only=True).to_dict(as_series=False)
    names = list(table)
    return [
        {"column": column, "level": level, "n": n, "value": value, "low": low, "high": high, "small": small}
        for level, n, value, low, high, small in zip(*(table[name] for name in names[:6]), strict=True)
        if n
    ]


def _choose(members: Sequence[Judged]) -> Judged | None:
    """The worst judged member; among equals the one whose figure people know best."""
    usable = [
        j
        for j in members
        if j.result.status == "ok" and j.result.value is not None and j.status in ("pass", "warn", "fail")
    ]
    order = {name: i for i, name in enumerate(PREFERRED)}
    return min(
        usable,
        key=lambda j: (-SEVERITY[j.status], not j.result.value, order.get(j.name, len(order)), j.name),
        default=None,
    )


def safely(compute: Any, *arguments: Any) -> tuple[Any, str | None]:
    """The answer, or None and a sentence without any data value: an explanation that fails must not cost the
    verdict.
    """
    try:
        return compute(*arguments), None
    except GlasshouseError as problem:
        return None, str(problem)
    except Exception as problem:
        return None, f"stopped with {type(problem).__name__}"
