"""Write the table of docs/scale.md from what every measure does on tables in DuckDB, so that the page cannot guess."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import polars as pl

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.measure import AnyMeasure
from glasshouse.engines.models import boosting
from glasshouse.engines.models.forest import forest
from glasshouse.engines.models.tree import tree
from glasshouse.engines.neighbours.ready import Ready
from glasshouse.judgement.run import run

BEGIN, END = "<!-- made by tools/make_scale_list.py -->", "<!-- end -->"
N = 90
# the costly jobs by where they are called, and whether executors can do them
JOBS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "neighbours": (Ready, ("nearest", "within", "listed")),
    "forest": (forest, ("grow",)),
    "tree": (tree, ("grow",)),
    "boosting": (boosting, ("gbm",)),
}
FEWER: dict[str, dict[str, Any]] = {
    "rapid": {"trees": 10},
    "singling_out": {"n_attacks": 50},
}  # what runs stays what it is


def people(seed: int) -> pl.DataFrame:
    """A small table of every kind of column."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {int(v)}" for v in rng.permutation(10_000)[:N]],
            "town": rng.choice(["a", "b", "c"], N),
            "kids": rng.integers(0, 4, N),
            "pay": np.round(rng.lognormal(8, 1, N), 2),
            "ill": rng.choice(["no", "yes"], N),
            "weight": rng.uniform(1, 3, N).round(1),
        }
    )


def pair_for(measure: AnyMeasure) -> gh.Pair:
    """Tables in DuckDB with the roles that a measure asks for."""
    original, released, holdout = (duckdb.from_arrow(people(seed).to_arrow()) for seed in (1, 2, 3))
    roles: dict[str, Any] = {"holdout": holdout, "weights": "weight" if "weights" in measure.needs else None}
    return gh.Pair(
        original,
        released,
        keys=["town", "kids"],
        target="ill",
        exclude=() if "weights" in measure.needs else ("weight",),
        row_paired="row_paired" in measure.needs,
        **roles,
    )


@contextmanager
def watched(done: set[str]) -> Iterator[None]:
    """Notes which costly jobs are asked for."""
    patches = []
    for job, (home, names) in JOBS.items():
        for name in names:
            original = getattr(home, name)

            def noted(*given: Any, _job: str = job, _original: Any = original, **named: Any) -> Any:
                done.add(_job)
                return _original(*given, **named)

            patches.append(mock.patch.object(home, name, noted))
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def row(measure: AnyMeasure) -> tuple[str, str, str, str]:
    """Name, where it runs, what travels, which jobs executors can take over."""
    done: set[str] = set()
    pair = pair_for(measure)
    with watched(done):
        found = run([measure], pair, options={measure.name: FEWER.get(measure.name, {})}).results[measure.name]
    came = bool(pair._tables._here._carried)
    if found.status not in ("ok", None) and not came and not done:
        return f"`{measure.name}`", "–", f"not run here: {found.reason}", "–"
    where = "here, on codes" if came else "in the engine"
    travels = "labels once, codes of the records" if came else "aggregates: cells, counts, values with their counts"
    shared = [job for job in JOBS if job in done]
    return f"`{measure.name}`", where, travels, ", ".join(shared) or "–"


def listing() -> str:
    """The table."""
    ordered = sorted(all_measures().values(), key=lambda m: (m.side, m.family, m.name))
    lines = ["| measure | where it runs | what travels | jobs that executors can do |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(row(measure)) + " |" for measure in ordered]
    return "\n".join(lines)


def page(text: str, table: str) -> str:
    """The page with the table in its place."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
    target.write_text(page(target.read_text(encoding="utf-8"), listing()), encoding="utf-8")
