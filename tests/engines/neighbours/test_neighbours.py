"""The neighbours engine against brute force written from the formula, for every missing-value rule."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.data.pair import Pair
from glasshouse.engines.neighbours import cpu
from glasshouse.engines.neighbours.answers import Tied
from glasshouse.engines.neighbours.encoding import as_seen_by, encode
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.search import RULES, TOL, Space


def gower(xa, xb, ca, cb, ranges, weights, rule):
    """All distances between two tables of raw numbers (NaN missing) and codes (negative missing)."""
    columns = [(xa[:, v], xb[:, v], ranges[v]) for v in range(xa.shape[1])]
    columns += [(a, b, None) for a, b in zip(ca.T, cb.T, strict=True)]
    total = np.zeros((len(xa), len(xb)))
    present = np.zeros_like(total)
    for (a, b, scale), w in zip(columns, weights, strict=True):
        a, b = a[:, None], b[None, :]
        gone_a, gone_b = (np.isnan(a), np.isnan(b)) if scale is not None else (a < 0, b < 0)
        part = np.abs(a - b) / scale if scale is not None else (a != b).astype(float)
        either = gone_a | gone_b
        if rule == "level":
            part = np.where(either, ~(gone_a & gone_b), part)
        else:
            part = np.where(either, float(rule == "mismatch"), part)
        total += w * part
        present += w * ~either
    if rule == "ignore":
        return np.where(present > 0, total / np.where(present > 0, present, 1), 1.0)
    return total / weights.sum()


def random_tables(rng):
    n_numbers, n_codes = rng.integers(0, 4), rng.integers(1, 5)
    sizes = rng.integers(2, 400), rng.integers(2, 900)
    levels = int(rng.choice([2, 5, 200]))
    numbers = [np.round(rng.normal(size=(n, n_numbers)), rng.integers(0, 3)) for n in sizes]
    codes = [rng.integers(0, levels, (n, n_codes)) for n in sizes]
    share = rng.choice([0, 0.2, 0.9])
    for x, c in zip(numbers, codes, strict=True):
        x[rng.random(x.shape) < share] = np.nan
        c[rng.random(c.shape) < share] = -1
    return numbers, codes, rng.choice([1.0, 2.0, 0.5], n_numbers + n_codes)


def make_space(numbers, codes, weights, rule):
    names = [f"x{v}" for v in range(numbers[0].shape[1])], [f"c{v}" for v in range(codes[0].shape[1])]
    encoded = encode(
        ["a", "b"],
        {name: [x[:, v] for x in numbers] for v, name in enumerate(names[0])},
        {name: [c[:, v] for c in codes] for v, name in enumerate(names[1])},
        rule,
        dict(zip(names[0] + names[1], weights, strict=True)),
    )
    return Space(encoded), [encoded.ranges[name] for name in names[0]]


# records looked at on the tree, smallest reference, queries that begin there
WAYS = {"tree": (10**9, 0, 9), "flat": (0, 0, 10**6), "either": (60, 0, 10**6), "straight": (0, 0, 1)}


def go(monkeypatch, way):
    """Search by the tree alone, flat after it, by whichever is cheaper for each record, or flat from the start."""
    monkeypatch.setattr(cpu, "LOOKED_AT", WAYS[way][0])
    monkeypatch.setattr(cpu, "SMALL", WAYS[way][1])
    monkeypatch.setattr(cpu, "PILOT", WAYS[way][2])


def listed(space, of, among, radius):
    """Everything within a radius of each distinct record, listed from the start."""
    query, reference = space.rows(of), space.rows(among)
    offsets, row = space.prepare(reference).listed(query, np.ascontiguousarray(radius[query.firsts]))
    return Tied(offsets, row, query, reference)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_equals_brute_force(rule, seed, way, monkeypatch):
    go(monkeypatch, way)
    rng = np.random.default_rng(seed)
    numbers, codes, weights = random_tables(rng)
    space, ranges = make_space(numbers, codes, weights, rule)
    for of, among in (("a", "b"), ("b", "a"), ("b", "b")):
        i, j = "ab".index(of), "ab".index(among)
        full = gower(numbers[i], numbers[j], codes[i], codes[j], ranges, weights, rule)
        if of == among:
            np.fill_diagonal(full, np.inf)
        k = int(rng.integers(1, 6))
        near = space.nearest(of, among, k)
        expected = np.full((len(full), k), np.inf)
        expected[:, : min(k, full.shape[1])] = np.sort(full, axis=1)[:, :k]
        np.testing.assert_allclose(near.distance, expected, atol=1e-12, rtol=0)
        rows, slots = np.nonzero(near.indices >= 0)
        assert ((near.indices >= 0) == np.isfinite(near.distance)).all()
        np.testing.assert_allclose(full[rows, near.indices[rows, slots]], near.distance[rows, slots], atol=1e-12)
        assert all(len(set(r[r >= 0])) == (r >= 0).sum() for r in near.indices)
        np.testing.assert_array_equal(space.count_within(of, among, 0.15), (full <= 0.15 + TOL).sum(axis=1))
        if of != among:
            tied = listed(space, of, among, near.distance[:, 0])
            np.testing.assert_array_equal(
                tied.records[tied.query.inverse], (full <= near.distance[:, :1] + TOL).sum(axis=1)
            )


@pytest.mark.parametrize("rule", RULES)
def test_the_way_changes_no_bit(rule, monkeypatch):
    numbers, codes, weights = random_tables(np.random.default_rng(99))
    found = {}
    for way in WAYS:
        go(monkeypatch, way)
        space, _ = make_space(numbers, codes, weights, rule)
        near, own = space.nearest("a", "b", 4), space.nearest("b", "b", 3)
        tied = listed(space, "a", "b", near.distance[:, 1])
        counts = space.count_within("a", "b", near.distance[:, 2]), space.count_within("b", "b", 0.1)
        found[way] = [near.distance, near.row, near.indices, own.distance, own.indices, tied.offsets, tied.row, *counts]
    for way in WAYS:
        for one, other in zip(found["tree"], found[way], strict=True):
            np.testing.assert_array_equal(one, other)


def test_where_nothing_can_be_skipped_the_tree_is_given_up(monkeypatch):
    """Independent continuous columns are scanned flat, people in clumps are not; decided by the records."""
    rng = np.random.default_rng(5)
    clumps = rng.normal(size=(40, 8)).repeat(150, axis=0)
    tables = {
        "flat": rng.normal(size=(6000, 8)),
        "tree": clumps + 0.01 * rng.normal(size=clumps.shape),
    }
    flat_asked = []
    plain = cpu.flat.nearest
    monkeypatch.setattr(cpu.flat, "nearest", lambda *args: (flat_asked.append(args[-1] - args[-2]), plain(*args)))
    for way, table in tables.items():
        flat_asked.clear()
        empty = np.zeros((len(table), 0), int)
        space, _ = make_space([table, table], [empty, empty], np.ones(8), "level")
        space.nearest("a", "b", 2)
        assert sum(flat_asked) == len(table) if way == "flat" else sum(flat_asked) < len(table) / 4


def test_hand_example():
    """By hand: age 20..60 and sex; d(a,b) = 0.125, d(a,c) = 0.5, d(b,c) = 0.625."""
    table = pl.DataFrame({"age": [30.0, 40, 30, 20, 60], "sex": ["F", "F", "M", "X", "X"]})
    space = gower_space(Pair(table, table, schema={"age": "numeric"}))
    assert space.ranges == {"age": 40.0}
    near = space.nearest("original", "released", k=5).distance
    np.testing.assert_allclose(near[0, :3], [0, 0.125, 0.5])
    np.testing.assert_allclose(near[1, :3], [0, 0.125, 0.625])


@pytest.mark.parametrize(("rule", "expected"), [("ignore", 0.0), ("match", 0.0), ("mismatch", 0.5), ("level", 0.5)])
def test_hand_example_with_missing_age(rule, expected):
    a = pl.DataFrame({"age": [30.0, 20, 60], "sex": ["F", "X", "X"]})
    b = pl.DataFrame({"age": [None], "sex": ["F"]}, schema={"age": pl.Float64, "sex": pl.String})
    space = gower_space(Pair(a, b, schema={"age": "numeric"}), missing=rule)
    assert space.nearest("original", "released").distance[0, 0] == pytest.approx(expected, abs=1e-15)


def test_no_shared_column_is_distance_one():
    encoded = encode(["a", "b"], {"x": [np.array([1.0, np.nan]), np.array([np.nan])]}, {}, "ignore")
    assert Space(encoded).nearest("a", "b").distance.tolist() == [[1.0], [1.0]]


def test_answers_do_not_depend_on_threads_or_row_order():
    rng = np.random.default_rng(3)
    numbers = [rng.normal(size=(3000, 3)).round(1) for _ in range(2)]
    codes = [rng.integers(0, 4, (3000, 4)) for _ in range(2)]
    space, _ = make_space(numbers, codes, np.ones(7), "level")
    other, _ = make_space(numbers, codes, np.ones(7), "level")
    one, two = space.nearest("a", "b", 3, n_jobs=1), other.nearest("a", "b", 3, n_jobs=2)
    np.testing.assert_array_equal(one.distance, two.distance)
    np.testing.assert_array_equal(one.indices, two.indices)
    order = rng.permutation(3000)
    shuffled, _ = make_space([numbers[0], numbers[1][order]], [codes[0], codes[1][order]], np.ones(7), "level")
    np.testing.assert_array_equal(one.distance, shuffled.nearest("a", "b", 3).distance)


def test_thousands_of_levels_and_many_duplicates():
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, 5000, (4000, 2)), rng.integers(0, 5000, (4000, 2))]
    codes[1][:500] = codes[0][:500]
    numbers = [np.zeros((4000, 1)), np.zeros((4000, 1))]
    space, _ = make_space(numbers, codes, np.ones(3), "level")
    full = gower(numbers[0], numbers[1], codes[0], codes[1], [1.0], np.ones(3), "level")
    np.testing.assert_allclose(space.nearest("a", "b").distance[:, 0], full.min(axis=1), atol=1e-15)


def test_one_value_repeated_is_one_point():
    encoded = encode(["a", "b"], {"x": [np.full(1000, 3.0), np.full(2000, 3.0)]}, {})
    space = Space(encoded)
    assert space.rows("b").size == 1
    assert (space.nearest("a", "b", 2).distance == 0).all()
    assert (space.count_within("b", "b", 0.0) == 1999).all()


def test_special_codes_are_levels_of_their_own():
    reason = np.array([True, False, False])
    encoded = encode(
        ["a", "b"],
        {"x": [np.array([-8.0, 0, 10]), np.array([-8.0, -9, np.nan])]},
        {},
        special={"x": [reason, np.array([True, True, False])]},
    )
    space = Space(encoded)
    assert space.ranges == {"x": 10.0}
    assert space.nearest("a", "b", 3).distance.tolist() == [[0, 1, 1], [1, 1, 1], [1, 1, 1]]


def test_huge_and_tiny_numbers_stay_finite():
    encoded = encode(["a", "b"], {"x": [np.array([-1.7e308, 1.7e308]), np.array([1.7e308, 0.0])]}, {})
    assert Space(encoded).nearest("a", "b").distance[:, 0].tolist() == [0.5, 0.0]


def test_bad_input_says_what_to_do():
    table = pl.DataFrame({"age": [1.0, 2.0], "sex": ["a", "b"]})
    pair = Pair(table, table)
    with pytest.raises(InputError, match="missing must be one of"):
        gower_space(pair, missing="drop")
    with pytest.raises(InputError, match="'nope'"):
        gower_space(pair, columns=["nope"])
    with pytest.raises(InputError, match="n_jobs"):
        gower_space(pair).nearest("original", "released", n_jobs=0)
    with pytest.raises(InputError, match="1 infinite"):
        encode(["a"], {"x": [np.array([1.0, np.inf])]}, {})
    with pytest.raises(NotApplicable, match="weight zero"):
        encode(["a"], {"x": [np.array([1.0])]}, {}, weights={"x": 0.0})
    one = Pair(table.head(1), table)
    with pytest.raises(NotApplicable, match="one record"):
        gower_space(one).nearest("original", "original")


@pytest.mark.parametrize("rule", ("level", "mismatch", "match"))
def test_among_records_as_near_as_each_other_the_first_counts_whatever_the_way(rule, monkeypatch):
    """Categories of one weight: distances are counts, most people are equally near, and none of them is looked at."""
    rng = np.random.default_rng(7)
    codes = [rng.integers(-1, 3, (n, 4)) for n in (300, 900)]
    codes[0][:, 3] = rng.integers(50, 400, 300)  # hardly anybody's, as an identifier is
    codes[1][:, 3] = rng.integers(350, 700, 900)
    nothing = [np.zeros((len(c), 0)) for c in codes]
    found = {}
    for way in WAYS:
        go(monkeypatch, way)
        space, _ = make_space(nothing, codes, np.ones(4), rule)
        near, own = space.nearest("a", "b", 3), space.nearest("b", "b", 2)
        found[way] = [near.distance, near.row, near.indices, own.distance, own.indices]
    for way in WAYS:
        for one, other in zip(found["tree"], found[way], strict=True):
            np.testing.assert_array_equal(one, other)


def test_categories_that_nobody_asked_about_has_are_one():
    rng = np.random.default_rng(3)
    numbers = [np.round(rng.normal(size=(n, 1)), 1) for n in (400, 300)]
    ids = [rng.integers(low, low + 600, n) for n, low in ((400, 0), (300, 550))]
    codes = [np.column_stack([rng.integers(0, 3, len(own)), own]) for own in ids]
    codes[0][::9, 1] = -1
    space, _ = make_space(numbers, codes, np.array([1.0, 2.0, 0.5]), "level")
    plain = space.rows("a")
    seen = as_seen_by(plain, space.rows("b"))
    assert seen.size < plain.size and seen.n == plain.n and seen.counts.sum() == plain.n
    assert (seen.inverse[seen.firsts] == np.arange(seen.size)).all()
    one, other = (space.nearest(rows, "b", 4) for rows in (plain, seen))
    np.testing.assert_array_equal(one.distance, other.distance)
    np.testing.assert_array_equal(one.indices, other.indices)
    assert as_seen_by(space.rows("b"), space.rows("b")) is space.rows("b")
