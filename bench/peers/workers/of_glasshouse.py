"""glasshouse, asked in the same way as the others."""

from __future__ import annotations

from typing import Any

from harness import serve


def _pair(tables: dict[str, Any], keys: list[str] | None = None, target: str | None = None) -> Any:
    import glasshouse as gh

    return gh.Pair(
        tables["original"], tables["released"], holdout=tables["holdout"], keys=keys or None, target=target or None
    )


def measures(
    tables: dict[str, Any], names: list[str], given: dict[str, dict[str, Any]] | None = None, **roles: Any
) -> dict[str, Any]:
    """Measures on one pair, with options of their own."""
    import glasshouse as gh

    pair = _pair(tables, roles.get("keys"), roles.get("target"))
    found = {}
    for name in names:
        room = gh.disclosure if hasattr(gh.disclosure, name) else gh.utility
        result = getattr(room, name).run(pair, **(given or {}).get(name, {}))
        if result.status != "ok":
            raise RuntimeError(f"{name}: {result.reason}")
        found[name] = {"value": result.value, "baseline": result.baseline, "holdout": result.holdout}
    return found


def quality(tables: dict[str, Any], keys: list[str], target: str, **_: Any) -> dict[str, Any]:
    """The utility measures of the default set."""
    import glasshouse as gh
    from glasshouse.catalogue import all_measures

    pair = _pair(tables, keys, target)
    names = [name for name, m in all_measures().items() if m.side == "utility" and m.on_map]
    found = {name: getattr(gh.utility, name).run(pair) for name in names}
    return {name: {"status": r.status, "value": r.value if r.status == "ok" else r.reason} for name, r in found.items()}


def advantage(tables: dict[str, Any], rhos: list[float], **_: Any) -> dict[str, Any]:
    import glasshouse as gh

    return {f"{rho:g}": gh.Risk.from_rho(rho).advantage for rho in rhos}


def decide(tables: dict[str, Any], keys: list[str], target: str, seed: int, **_: Any) -> dict[str, Any]:
    """The verdict with no policy, on the disclosure measures of the default set."""
    import glasshouse as gh
    from glasshouse.catalogue import all_measures

    names = [
        name
        for name, m in sorted(all_measures().items())
        if m.side == "disclosure" and m.table == "pair" and m.tier in ("fast", "default")
    ]
    found = gh.assess(_pair(tables, keys, target), measures=names, random_state=seed, n_jobs=1)
    return {
        "verdict": str(found.verdict),
        "threats": {name: str(threat.status) for name, threat in found.threats.items()},
    }


if __name__ == "__main__":
    serve({f.__name__: f for f in (measures, quality, advantage, decide)})
