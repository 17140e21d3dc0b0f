"""Junction trees against the full joint table, estimation against exact counts and Private-PGM, and sampling."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.synthesis.dp.estimate import Measurement, estimate, estimate_with_mbi, noisy_total
from glasshouse.synthesis.dp.junction import JunctionTree, TreeModel, cells_of, cliques_after_elimination, model_cells

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 3}


def joint(tree: JunctionTree, tables: list[np.ndarray]) -> np.ndarray:
    """The full table, by brute force, normalised."""
    names = list(tree.sizes)
    operands: list[Any] = []
    for clique, table in zip(tree.cliques, tables, strict=True):
        operands += [table, [names.index(c) for c in clique]]
    full = np.einsum(*operands, list(range(len(names))))
    full = full * np.ones(tree.shape(names))
    return full / full.sum()


def marginal(full: np.ndarray, names: list[str], columns: tuple[str, ...]) -> np.ndarray:
    kept = [c for c in names if c in columns]
    table = full.sum(axis=tuple(i for i, c in enumerate(names) if c not in columns))
    return np.transpose(table, [kept.index(c) for c in columns])


cliques = st.lists(
    st.sets(st.sampled_from("abcde"), min_size=1, max_size=3).map(lambda s: tuple(sorted(s))), max_size=6
)


@settings(max_examples=60, deadline=None)
@given(cliques=cliques, seed=st.integers(0, 10**6))
def test_marginals_projections_and_conditions_equal_brute_force(cliques: list[tuple[str, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = JunctionTree.of(SIZES, cliques)
    for clique in cliques:
        assert tree.holder(clique) is not None
    tables = [rng.random(tree.shape(c)) * (rng.random(tree.shape(c)) > 0.1) + 1e-6 for c in tree.cliques]
    full, names = joint(tree, tables), list(SIZES)
    model = TreeModel(tree, tree.calibrate(tables))
    for k in (1, 2, 3):
        for columns in combinations(reversed(names), k):
            assert model.project(columns) == pytest.approx(marginal(full, names, columns), abs=1e-12)
    conditioned, share = model.given({"b": np.array([0, 2]), "d": np.array([1])})
    cut = full[:, [0, 2]][:, :, :, [1]]
    assert share == pytest.approx(cut.sum(), abs=1e-12)
    kept = np.zeros_like(full)
    kept[:, [0, 2], :, 1] = full[:, [0, 2], :, 1]
    assert conditioned.project(("a", "e")) == pytest.approx(marginal(kept / kept.sum(), names, ("a", "e")), abs=1e-12)


def test_running_intersection_and_sizes() -> None:
    """A cycle of pairs needs one diagonal: two tables of three columns."""
    cycle = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    found = cliques_after_elimination(SIZES, cycle)
    assert sorted(len(c) for c in found) == [1, 3, 3]
    assert model_cells(SIZES, cycle) == sum(cells_of(SIZES, c) for c in found)


def tables_of(rng: np.random.Generator, n: int = 5000) -> dict[str, np.ndarray]:
    """A chain a - b - c with strong links, d and e on their own."""
    a = rng.integers(0, 2, n)
    b = (a + (rng.random(n) < 0.3)) % 3
    c = (b + (rng.random(n) < 0.2)) % 2
    return {"a": a, "b": b, "c": c, "d": rng.integers(0, 4, n), "e": rng.integers(0, 3, n)}


def count(data: dict[str, np.ndarray], columns: tuple[str, ...]) -> np.ndarray:
    shape = [SIZES[c] for c in columns]
    index = np.ravel_multi_index([data[c] for c in columns], shape)
    return np.bincount(index, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def test_estimation_recovers_what_was_measured_exactly() -> None:
    data = tables_of(np.random.default_rng(0))
    measured = [("a", "b"), ("c", "b"), ("d",), ("e",)]
    model = estimate(SIZES, [Measurement(c, count(data, c), 1.0) for c in measured], iterations=5000, tolerance=0)
    for c in measured:
        assert model.project(c) == pytest.approx(count(data, c) / 5000, abs=2e-4)
    # maximal entropy: a and c independent given b
    ab, cb = count(data, ("a", "b")), count(data, ("c", "b"))
    expected = np.einsum("ab,cb->ac", ab, cb / cb.sum(axis=0)) / 5000
    assert model.project(("a", "c")) == pytest.approx(expected, abs=5e-4)


def test_repeated_measurements_are_weighted_by_precision() -> None:
    rough = Measurement(("a",), np.array([0.0, 100.0]), 10.0)
    fine = Measurement(("a",), np.array([60.0, 40.0]), 1.0)
    sizes = {"a": 2}
    model = estimate(sizes, [rough, fine], iterations=5000, tolerance=0)
    weighted = (np.array([0.0, 100.0]) / 100 + np.array([60.0, 40.0])) / (1 / 100 + 1)
    assert model.project(("a",)) == pytest.approx(weighted / weighted.sum(), abs=1e-4)
    assert noisy_total([rough, fine]) == pytest.approx(100.0)


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    data = tables_of(np.random.default_rng(1))
    rng = np.random.default_rng(2)
    noisy = [
        Measurement(c, count(data, c) + rng.normal(0, 5, count(data, c).shape), 5.0)
        for c in [("a", "b"), ("b", "c"), ("d",)]
    ]
    more = [
        *noisy,
        Measurement(("a", "c"), count(data, ("a", "c")), 5.0),
        Measurement(("d", "e"), count(data, ("d", "e")), 5.0),
    ]
    cold = estimate(SIZES, more, iterations=6000, tolerance=0)
    warm = estimate(SIZES, more, start=estimate(SIZES, noisy), iterations=6000, tolerance=0)
    for pair in combinations(SIZES, 2):
        assert warm.project(pair) == pytest.approx(cold.project(pair), abs=1e-3)


def test_agrees_with_private_pgm() -> None:
    pytest.importorskip("mbi", reason="the second implementation to compare with is not installed")
    data = tables_of(np.random.default_rng(3))
    rng = np.random.default_rng(4)
    measured = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("e",)]
    noisy = [Measurement(c, count(data, c) + rng.normal(0, 20, count(data, c).shape), 20.0) for c in measured]
    ours, theirs = (
        estimate(SIZES, noisy, iterations=5000, tolerance=0),
        estimate_with_mbi(SIZES, noisy, iterations=5000),
    )
    for pair in combinations(SIZES, 2):
        assert 0.5 * np.abs(ours.project(pair) - theirs.project(pair)).sum() < 2e-3


def test_the_sampler_does_not_distort() -> None:
    """Columns that share a parent stay independent given it: the trap of sampling by rounding in a fixed order."""
    rng = np.random.default_rng(5)
    sizes = {"p": 2, "x": 16, "y": 2, "z": 7}
    tree = JunctionTree(dict(sizes), [("p", "x"), ("p", "y"), ("p", "z")])
    model = TreeModel(tree, tree.calibrate([rng.random(tree.shape(c)) for c in tree.cliques]))
    n = 20_000
    drawn = model.sample(n, rng)
    for pair in combinations(sizes, 2):
        shape = [sizes[c] for c in pair]
        found = np.bincount(np.ravel_multi_index([drawn[c] for c in pair], shape), minlength=int(np.prod(shape))) / n
        distance = 0.5 * np.abs(found - model.project(pair).ravel()).sum()
        independent_draws = 0.4 * np.sqrt(found.size / n)  # expected distance of n independent draws
        assert distance < 1.5 * independent_draws, pair


def test_sampling_spreads_better_than_independent_draws_and_stays_unbiased() -> None:
    rng = np.random.default_rng(6)
    tree = JunctionTree({"x": 5, "y": 4}, [("x", "y")])
    model = TreeModel(tree, tree.calibrate([rng.random((5, 4))]))
    draws = np.array([np.bincount(model.sample(97, rng)["x"], minlength=5) for _ in range(400)])
    expected = 97 * model.project(("x",))
    assert draws.mean(axis=0) == pytest.approx(expected, abs=0.15)
    assert (draws.var(axis=0) < 97 * 0.1).all()


def test_impossible_cells_are_never_drawn() -> None:
    table = np.array([[0.5, 0.0, 0.2], [0.0, 0.3, 0.0]])
    tree = JunctionTree({"x": 2, "y": 3}, [("x", "y")])
    drawn = TreeModel(tree, [table]).sample(5000, np.random.default_rng(7))
    assert table[drawn["x"], drawn["y"]].min() > 0


def test_a_table_with_next_to_no_mass_where_its_parent_has_all_of_it() -> None:
    """Heavy noise leaves such tables; the ratio of the two masses is too large for a number."""
    tree = JunctionTree.of({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("b", "c")])
    tables = [np.ones(tree.shape(c)) for c in tree.cliques]
    root, child = tree.order[0], tree.order[1]
    at = tree.cliques[child].index("b")
    tables[child] = np.moveaxis(tables[child], at, 0) * np.array([[1.0], [1e-310]])
    tables[child] = np.moveaxis(tables[child], 0, at)
    at = tree.cliques[root].index("b")
    tables[root] = np.moveaxis(np.moveaxis(tables[root], at, 0) * np.array([[1e-310], [1.0]]), 0, at)
    made = tree.calibrate(tables)
    for table in made:
        assert np.isfinite(table).all() and table.sum() == pytest.approx(1.0)
