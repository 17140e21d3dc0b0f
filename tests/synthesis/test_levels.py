"""Declared levels: the type of a sample names none that only real people have."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

LEVELS = ["south", "north", "Qzanary", "nobody"]


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """An original in which one person has a level of their own, and a release where nobody has it."""
    rng = np.random.default_rng(0)
    town = rng.choice(LEVELS[:2], 200).tolist()
    columns = {"age": rng.integers(18, 80, 200), "town": pl.Series(town, dtype=pl.Enum(LEVELS[:2]))}
    own = pl.Series(["Qzanary", *town[1:]], dtype=pl.Enum(LEVELS))
    return pl.DataFrame({**columns, "town": own}), pl.DataFrame(columns)


def without(make: Any) -> Any:
    """A sample in which nobody has that level."""
    for seed in range(20):
        made = make(seed)
        if "Qzanary" not in list(made["town"]):
            return made
    raise AssertionError("every draw has it")


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_level_nobody_in_the_sample_has_is_not_in_its_type(library: str) -> None:
    original, released = tables()
    given: list[Any] = [t.to_pandas() if library == "pandas" else t for t in (original, released)]
    model = gh.synthesis.Cart(minbucket=30).fit(given[0])
    sample = without(lambda seed: model.sample(200, random_state=seed))
    anew = without(lambda seed: gh.protection.resynthesise(
        given[1], original=given[0], minbucket=30, random_state=seed).table)  # fmt: skip
    # the release had two levels; the original has four, the last of which nobody has
    kept = [*LEVELS[:2], "nobody"]
    for made, left in ((sample, kept), (anew, LEVELS[:2] if library == "pandas" else kept)):
        kind = made["town"].dtype
        assert list(kind.categories) == left, "in the order they were declared"
        file = BytesIO()
        made.write_parquet(file) if library == "polars" else made.to_parquet(file)
        assert b"Qzanary" not in file.getvalue()
    found = gh.disclosure.uniques(gh.Pair(given[0], sample, keys=["town"]))
    assert found.status == "ok", "and the two go together"
