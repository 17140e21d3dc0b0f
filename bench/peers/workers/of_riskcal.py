"""riskcal: the largest advantage of an attacker under a zCDP parameter."""

from __future__ import annotations

from typing import Any

from harness import serve


def advantage(tables: dict[str, Any], rhos: list[float], **_: Any) -> dict[str, Any]:
    from riskcal.analysis import get_advantage_from_zcdp

    return {f"{rho:g}": get_advantage_from_zcdp(rho) for rho in rhos}


if __name__ == "__main__":
    serve({"advantage": advantage})
