"""SynthEval: single metrics, and its presets for privacy and for a fast look. It takes no missing value."""

from __future__ import annotations

from typing import Any

from harness import serve


def _evaluator(tables: dict[str, Any]) -> Any:
    from syntheval import SynthEval

    return SynthEval(
        tables["original"],
        holdout_dataframe=tables["holdout"],
        verbose=False,
        enable_plots=False,
        console="off",
        missing_directive="drop",
    )


def metrics(tables: dict[str, Any], names: list[str], seed: int = 0, **_: Any) -> dict[str, Any]:
    import numpy as np

    np.random.seed(seed)  # noqa: NPY002  the package draws from it
    made = _evaluator(tables)
    made.evaluate(tables["released"], **{name: {} for name in names})
    missing = [name for name in names if name not in made._raw_results]
    if missing:
        raise RuntimeError("no answer for " + ", ".join(missing))
    return dict(made._raw_results)


def fast(tables: dict[str, Any], target: str, **_: Any) -> dict[str, Any]:
    made = _evaluator(tables)
    found = made.evaluate(tables["released"], analysis_target=target, presets_file="fast_eval")
    return {str(row["metric"]): row["val"] for _, row in found.iterrows()}


def decide(tables: dict[str, Any], names: list[str], seed: int, **_: Any) -> dict[str, Any]:
    """The privacy metrics of one release, each on its own so that one that fails takes no other along."""
    found = {}
    for name in names:
        try:
            found[name] = metrics(tables, [name], seed)[name]
        except Exception as problem:
            found[name] = {"failed": f"{type(problem).__name__}: {str(problem)[:200]}"}
    return found


if __name__ == "__main__":
    serve({f.__name__: f for f in (metrics, fast, decide)})
