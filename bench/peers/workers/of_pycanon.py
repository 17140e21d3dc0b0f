"""pyCANON: k-anonymity, l-diversity and t-closeness of one table."""

from __future__ import annotations

from typing import Any

from harness import serve


def levels(tables: dict[str, Any], keys: list[str], target: str, **_: Any) -> dict[str, Any]:
    from pycanon import anonymity

    table = tables["released"]
    return {
        "k": anonymity.k_anonymity(table, keys),
        "l": anonymity.l_diversity(table, keys, [target]),
        "t": anonymity.t_closeness(table, keys, [target]),
    }


def decide(tables: dict[str, Any], keys: list[str], target: str, **_: Any) -> dict[str, Any]:
    return levels(tables, keys, target)


if __name__ == "__main__":
    serve({f.__name__: f for f in (levels, decide)})
