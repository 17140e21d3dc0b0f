"""glasshouse, asked in the same way as the others."""

from __future__ import annotations

from typing import Any

from harness import serve


def _pair(
    tables: dict[str, Any], keys: list[str] | None = None, target: str | None = None, cluster: str | None = None
) -> Any:
    import glasshouse as gh

    roles = {"keys": keys or None, "target": target or None, "cluster": cluster}
    return gh.Pair(tables["original"], tables["released"], holdout=tables["holdout"], **roles)


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


def _attacked(tables: dict[str, Any], name: str, target: str, seed: int = 0, **options: Any) -> tuple[Any, Any, Any]:
    """A model fitted on the release and asked about the original: its leaves, its answers, and the truth."""
    import numpy as np

    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.registry import Training, attacker_named

    keys = [c for c in tables["original"].columns if c != target]
    pair = _pair(tables, keys, target)
    learn, ask = design(pair, keys, "released"), design(pair, keys, "original")
    if tables["original"][target].dtype.kind in "if":
        y, truth = (tables[role][target].to_numpy(np.float64) for role in ("released", "original"))
        n_classes = None
    else:
        y, truth = pair.codes(target).of("released"), pair.codes(target).of("original")
        n_classes = int(max(y.max(), truth.max())) + 1
    training = Training(learn, y, n_classes, random_state=seed, n_jobs=1, asked=(ask,))
    model = attacker_named(name).build(training, **options)
    if getattr(model, "streamed", None):  # a forest that answered while it grew keeps no tree
        return None, model.streamed[0], truth
    return model.leaves(learn)[0], model.predict(ask), truth


def _scored(shares: Any, truth: Any) -> dict[str, float]:
    """What ``scored`` of harness.R says of class probabilities."""
    import numpy as np

    own = shares[np.arange(len(truth)), truth]
    base = (np.bincount(truth, minlength=shares.shape[1]) / len(truth))[truth]
    right = shares.argmax(axis=1) == truth
    return {"own": own.mean(), "accuracy": right.mean(), "rapid": ((own - base) / (1 - base) > 0.3).mean()}


def _grouping(group: Any) -> str:
    """What ``grouping`` of harness.R says of records that are together."""
    import hashlib

    number: dict[int, int] = {}
    lines = (f"{number.setdefault(int(g), len(number) + 1)}\n" for g in group)
    return hashlib.md5("".join(lines).encode(), usedforsecurity=False).hexdigest()


def forest(tables: dict[str, Any], target: str, trees: int, seed: int, **_: Any) -> dict[str, Any]:
    """The attacker ``rf``."""
    _, shares, truth = _attacked(tables, "rf", target, seed, trees=trees)
    return _scored(shares, truth)


def trees(
    tables: dict[str, Any], target: str, number: str, minsplit: int, minbucket: int, cp: float, maxdepth: int, **_: Any
) -> dict[str, Any]:
    """A class tree and a tree of numbers, with leaves as small as the synthesiser's."""
    limits = {"minsplit": minsplit, "minbucket": minbucket, "cp": cp, "maxdepth": maxdepth}
    classes, shares, truth = _attacked(tables, "cart", target, **limits)
    numbers, means, values = _attacked(tables, "cart", number, **limits)
    found = _scored(shares, truth)
    return {
        "own": found["own"],
        "rapid": found["rapid"],
        "error": ((means - values) ** 2).mean() ** 0.5,
        "class_leaves": len(set(classes.tolist())),
        "number_leaves": len(set(numbers.tolist())),
        "class_grouping": _grouping(classes),
        "number_grouping": _grouping(numbers),
    }


def synthesis(tables: dict[str, Any], target: str, number: str, seed: int, **_: Any) -> dict[str, Any]:
    """A release of the original by trees."""
    import glasshouse as gh

    original = tables["original"]
    made = gh.synthesis.Cart(n_jobs=1).fit(original).sample(random_state=seed)
    rows = set(original.itertuples(index=False, name=None))
    return {
        "target": (made[target] == min(original[target])).mean(),
        "number": made[number].mean(),
        "copied": sum(row in rows for row in made.itertuples(index=False, name=None)) / len(made),
    }


def advantage(tables: dict[str, Any], rhos: list[float], **_: Any) -> dict[str, Any]:
    import glasshouse as gh

    return {f"{rho:g}": gh.Risk.from_rho(rho).advantage for rho in rhos}


def decide(
    tables: dict[str, Any], keys: list[str], target: str, seed: int, cluster: str | None = None, **_: Any
) -> dict[str, Any]:
    """The verdict with no policy, on the disclosure measures of the default set."""
    import glasshouse as gh
    from glasshouse.catalogue import all_measures

    names = [
        name
        for name, m in sorted(all_measures().items())
        if m.side == "disclosure" and m.table == "pair" and m.tier in ("fast", "default")
    ]
    found = gh.assess(_pair(tables, keys, target, cluster), measures=names, random_state=seed, n_jobs=1)
    return {
        "verdict": str(found.verdict),
        "threats": {name: str(threat.status) for name, threat in found.threats.items()},
        "limits": {name: threat.detection_limit for name, threat in found.threats.items()},
    }


if __name__ == "__main__":
    serve({f.__name__: f for f in (measures, quality, forest, trees, synthesis, advantage, decide)})
