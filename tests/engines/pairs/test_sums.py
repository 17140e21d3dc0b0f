"""Sums and the median over all pairs against plain numpy, on any block and any number of threads."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from glasshouse.engines.pairs import sums
from glasshouse.engines.workers import threads


@pytest.mark.parametrize("columns", [1, 2, 5, 6, 13])
def test_sums_are_those_of_the_whole_matrix(columns):
    rng = np.random.default_rng(columns)
    points, weights = rng.normal(size=(700, columns)), rng.integers(0, 4, (2, 700)).astype(float)
    found = sums.distance_sums(points, *weights)
    matrix = cdist(points, points)
    wanted = [a @ matrix @ b for a, b in ((weights[0], weights[0]), (weights[1], weights[1]), (weights[0], weights[1]))]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_sums_do_not_depend_on_threads():
    points = np.random.default_rng(0).normal(size=(1500, 3))
    label = (np.arange(1500) % 2).astype(float)
    found = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            found.append(sums.distance_sums(points, label, 1 - label))
    assert found[0] == found[1]


@pytest.mark.parametrize("step", [1e-9, 0.1, 1.0])
@pytest.mark.parametrize("size", [900, 901, 902, 903])
def test_the_median_is_that_of_all_pairs(size, step):
    points = np.round(np.random.default_rng(size).normal(size=(size, 2)) / step) * step
    found = sums.median_distance(points, np.random.default_rng(0))
    assert found == pytest.approx(float(np.median(pdist(points))), rel=1e-11, abs=1e-12)


def test_a_bracket_that_misses_is_widened(monkeypatch):
    points = np.random.default_rng(3).normal(size=(400, 2))
    monkeypatch.setattr(sums, "sampled_distances", lambda points, rng: np.full(100, 1e-3))
    assert sums.median_distance(points, np.random.default_rng(0)) == pytest.approx(float(np.median(pdist(points))))


def test_a_median_between_two_far_values_is_their_mean():
    points = np.array([[0.0], [1.0], [1.0], [5.0]])  # distances 0, 1, 1, 4, 4, 5
    assert sums.median_distance(points, np.random.default_rng(0)) == pytest.approx(2.5)
