"""anonymeter: its three attacks, each with its naive baseline and its control."""

from __future__ import annotations

from typing import Any

from harness import serve


def _told(evaluator: Any) -> dict[str, Any]:
    risk, rates = evaluator.risk(), evaluator.results()
    return {
        "risk": risk.value,
        "low": risk.ci[0],
        "high": risk.ci[1],
        "attack": rates.attack_rate.value,
        "naive": rates.baseline_rate.value,
        "control": rates.control_rate.value,
    }


def _roles(tables: dict[str, Any]) -> dict[str, Any]:
    return {"ori": tables["original"], "syn": tables["released"], "control": tables["holdout"]}


def singling_out(
    tables: dict[str, Any], n_attacks: int, seed: int, max_attempts: int = 10_000_000, **_: Any
) -> dict[str, Any]:
    from anonymeter.evaluators import SinglingOutEvaluator

    made = SinglingOutEvaluator(**_roles(tables), n_attacks=n_attacks, n_cols=3, seed=seed, max_attempts=max_attempts)
    made.evaluate(mode="multivariate")
    return _told(made)


def linkability(tables: dict[str, Any], n_attacks: int, sides: list[list[str]], **_: Any) -> dict[str, Any]:
    from anonymeter.evaluators import LinkabilityEvaluator

    made = LinkabilityEvaluator(**_roles(tables), aux_cols=(sides[0], sides[1]), n_attacks=n_attacks, n_neighbors=1)
    made.evaluate(n_jobs=1)
    return _told(made)


def inference(tables: dict[str, Any], n_attacks: int, target: str, **_: Any) -> dict[str, Any]:
    from anonymeter.evaluators import InferenceEvaluator

    rest = [c for c in tables["original"].columns if c != target]
    regression = tables["original"][target].dtype.kind == "f"
    made = InferenceEvaluator(
        **_roles(tables), aux_cols=rest, secret=target, regression=regression, n_attacks=n_attacks
    )
    made.evaluate(n_jobs=1)
    return _told(made)


def decide(tables: dict[str, Any], seed: int, **options: Any) -> dict[str, Any]:
    """The three risks of one release. numpy is seeded because two of the evaluators take no seed."""
    import numpy as np

    found = {}
    for ask in (singling_out, linkability, inference):
        np.random.seed(seed)  # noqa: NPY002  the package draws from it
        try:
            found[ask.__name__] = ask(tables, seed=seed, **options)
        except Exception as problem:
            found[ask.__name__] = {"failed": f"{type(problem).__name__}: {str(problem)[:200]}"}
    return found


if __name__ == "__main__":
    serve({f.__name__: f for f in (singling_out, linkability, inference, decide)})
