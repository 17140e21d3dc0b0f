"""Sums over pairs by other ways than all pairs, and deals of a sample of a large pool."""

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.utility.deals import pool
from glasshouse.utility.joint import tiles


def table(n: int, seed: int, shift: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(shift, 1, n)
    return pl.DataFrame({"a": a, "b": a + rng.normal(size=n), "c": rng.integers(0, 5, n).astype(float)})


def several(n: int, p: int) -> np.ndarray:
    return (np.random.default_rng(9).random((n, p)) < 0.4).astype(np.int8)


def by_hand(matrix: np.ndarray, labels: np.ndarray) -> list[list[float]]:
    ones, zeros = labels.astype(float), 1.0 - labels
    return [np.einsum("ir,ij,jr->r", x, matrix, y).tolist() for x, y in ((zeros, zeros), (ones, ones), (zeros, ones))]


@pytest.mark.parametrize("step", [1e-6, 0.5])
def test_one_column_is_summed_by_sorting(step):
    points = np.round(np.random.default_rng(1).normal(size=(300, 1)) / step) * step
    labels = several(300, 3)
    for found, wanted in zip(tiles.sorted_sums(points, labels), by_hand(cdist(points, points), labels), strict=True):
        assert found.tolist() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "rq"])
def test_kernels_are_summed_by_matrix_products(kernel):
    points, labels = table(300, 2).to_numpy(), several(300, 3)
    square = cdist(points, points) ** 2 / 2
    matrix = np.exp(-square) if kernel == "gaussian" else 1 / (1 + square)
    np.fill_diagonal(matrix, 0.0)
    found = tiles.kernel_sums(points, labels, kernel)
    for sums, wanted in zip(found, by_hand(matrix, labels), strict=True):
        assert sums.tolist() == pytest.approx(wanted, rel=1e-12)


def test_distinct_records_are_summed_as_often_as_they_occur():
    points, labels = table(400, 3).to_numpy().round(0), several(400, 1)
    found = tiles.distance_sums(points, labels[:, 0])
    for sums, wanted in zip(found, tiles.pair_sums(points, labels), strict=True):
        assert sums.tolist() == pytest.approx(wanted.tolist(), rel=1e-12)


@pytest.mark.parametrize("name", ["energy_distance", "mmd"])
def test_a_large_pool_is_dealt_by_a_stated_sample(name):
    pair = gh.Pair(table(700, 1), table(500, 2))
    run = getattr(gh.utility, name)
    part, whole = run(pair, dealt=600), run(pair, dealt=None)
    assert part.value == pytest.approx(whole.value, rel=1e-9)
    assert part.details["n_dealt"] == 600 and whole.details["n_dealt"] == 1200
    assert any("600 of 1,200 records" in note and "dealt=None" in note for note in part.warnings)
    assert "among 600 of 1,200" in part.null.how and part.settings["options"]["dealt"] == 600
    assert not any("dealt" in note for note in whole.warnings) and "among" not in whole.null.how
    # the width of the band is that of the tables' sizes, not of the sizes dealt
    assert part.null.high - part.null.low == pytest.approx(whole.null.high - whole.null.low, rel=0.35)


def test_one_column_is_dealt_whole():
    pair = gh.Pair(table(700, 1), table(500, 2))
    assert gh.utility.energy_distance(pair, columns=["a"], dealt=100).details["n_dealt"] == 1200


def test_too_few_to_deal_is_refused():
    with pytest.raises(InputError, match="dealt must be at least 100"):
        gh.utility.energy_distance(gh.Pair(table(300, 1), table(300, 2)), dealt=10)


@pytest.mark.parametrize(("n", "m", "dealt"), [(50, 950, (50, 150)), (950, 50, (150, 50)), (500, 500, (100, 100))])
def test_a_small_table_keeps_its_size_in_the_sample(n, m, dealt):
    base = pool(gh.Pair(table(n, 1), table(m, 2)))
    part = base.sample(200, np.random.default_rng(0))
    labels = part.labels(3, 0)
    assert (part.n, part.m) == dealt and labels.shape == (200, 3)
    assert labels.sum(axis=0).tolist() == [dealt[1]] * 3


def test_clusters_are_sampled_whole():
    rng = np.random.default_rng(0)
    made = [table(600, s).with_columns(h=pl.Series(rng.integers(0, 150, 600) + 1000 * s)) for s in (1, 2)]
    base = pool(gh.Pair(*made, cluster="h"))
    part = base.sample(300, np.random.default_rng(0))
    assert 300 <= len(part.rows) < 330
    house = np.concatenate([t["h"].to_numpy() for t in made])
    taken = np.isin(np.arange(1200), part.rows)
    assert all(taken[house == h].all() for h in np.unique(house[taken]))
    labels = part.labels(2, 0)[:, 0]
    assert all(len(set(labels[house[np.sort(part.rows)] == h])) == 1 for h in np.unique(house[taken]))


def test_the_sample_does_not_depend_on_the_order_of_rows():
    a, b = table(700, 1), table(500, 2)
    first = gh.utility.energy_distance(gh.Pair(a, b), dealt=300)
    second = gh.utility.energy_distance(gh.Pair(a.reverse(), b.sample(fraction=1, shuffle=True, seed=1)), dealt=300)
    assert first.null.high == pytest.approx(second.null.high, rel=1e-9) and first.details["p"] == second.details["p"]
