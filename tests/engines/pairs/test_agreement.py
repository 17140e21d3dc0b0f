"""The two best agreements against a plain double loop, whatever can be left out by limits."""

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines.pairs import agreement


def table(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    wealth = np.exp(rng.normal(size=n)).round(2)
    return pl.DataFrame(
        {
            "wealth": pl.Series(np.where(rng.random(n) < 0.1, np.nan, wealth)).fill_nan(None),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "town": pl.Series(rng.choice(["a", "b", "c", ""], n)).replace("", None),
        }
    )


def plain(pair: gh.Pair, columns: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    made = [agreement._column(pair, c) for c in columns]
    size = pair.n("original") + pair.n("holdout")
    total = np.zeros((size, pair.n("released")))
    for c in made:
        near = c.shared[:, None] + np.abs(c.people[:, None].astype(int) - c.released[None, :])
        weight = -np.log(np.minimum(near, size) / size)
        equal = c.people[:, None] == c.released[None, :]
        total += weight if c.ranked else np.where(equal, -np.log(c.shared / size)[:, None], 0.0)
    first = total.argmax(axis=1)
    best = total[np.arange(size), first]
    total[np.arange(size), first] = -1.0
    return best, np.maximum(total.max(axis=1), 0.0), first


@pytest.mark.parametrize("columns", [["wealth", "age", "sex", "town"], ["sex", "town"], ["wealth"]])
@pytest.mark.parametrize("released", [1, 2, 300, 700])
def test_two_best_are_those_of_all_pairs(columns, released):
    pair = gh.Pair(table(400, 1), table(released, 2).vstack(table(400, 1).head(released // 5)), holdout=table(200, 3))
    found = agreement.rarity_agreement(pair, columns, np.arange(600))
    best, second, row = plain(pair, columns)
    np.testing.assert_allclose(found.best, best, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.second, second, rtol=1e-12, atol=1e-12)
    assert (found.row == row).mean() > 0.99  # the first of those that agree equally well, up to rounding
