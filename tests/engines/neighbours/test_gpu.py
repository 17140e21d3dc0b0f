"""The search on a card, computed by torch on the processor: the same bits as the tree."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.engines.neighbours import cpu
from glasshouse.engines.neighbours.encoding import RULES, encode

torch = pytest.importorskip("torch", reason="the card's search is torch's: install glasshouse[torch]")

from glasshouse.engines.neighbours.gpu import backend as gpu  # noqa: E402
from glasshouse.engines.neighbours.gpu.coding import coding  # noqa: E402


def tables(seed, n=(300, 500), levels=6):
    """Numbers and categories of two tables, with gaps, repeated records and unequal weights in some."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, 4), rng.integers(1, 4)
    numbers = [np.round(rng.normal(size=(size, p)), rng.integers(0, 3)) for size in n]
    codes = [rng.integers(0, levels, (size, q)) for size in n]
    share = rng.choice([0.0, 0.2, 0.7])
    for x, c in zip(numbers, codes, strict=True):
        x[rng.random(x.shape) < share] = np.nan
        c[rng.random(c.shape) < share] = -1
    weights = np.ones(p + q) if seed % 2 else rng.choice([1.0, 3.0, 0.3], p + q)
    return numbers, codes, weights


def encoded(numbers, codes, weights, rule, special=None):
    names = [f"x{v}" for v in range(numbers[0].shape[1])], [f"c{v}" for v in range(codes[0].shape[1])]
    return encode(
        ["a", "b"],
        {name: [x[:, v] for x in numbers] for v, name in enumerate(names[0])},
        {name: [c[:, v] for c in codes] for v, name in enumerate(names[1])},
        rule,
        dict(zip(names[0] + names[1], weights, strict=True)),
        special,
    )


def the_same(space, k, radius, **options):
    """Nearest, counts and lists from table a to b and from b to itself, on both."""
    a, b = space.distinct("a"), space.distinct("b")
    one, other = cpu.prepare(space, b), gpu.Prepared(space, b, "cpu", **options)
    for query, self_join in ((a, False), (b, True)):
        for expected, found in zip(one.nearest(query, k, self_join), other.nearest(query, k, self_join), strict=True):
            np.testing.assert_array_equal(expected, found)
        r = np.full(query.size, radius)
        np.testing.assert_array_equal(one.within(query, r, self_join), other.within(query, r, self_join))
    for expected, found in zip(
        one.listed(a, np.full(a.size, radius)), other.listed(a, np.full(a.size, radius)), strict=True
    ):
        np.testing.assert_array_equal(expected, found)
    return other


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_the_same_bits_as_the_processor(rule, seed):
    the_same(encoded(*tables(seed), rule), k=1 + seed % 4, radius=[0.0, 0.1, 0.3][seed % 3])


@pytest.mark.parametrize("rule", RULES)
def test_thousands_of_levels_share_cells_and_nothing_is_lost(rule):
    numbers, codes, weights = tables(3, n=(200, 3000), levels=2500)
    space = encoded(numbers, codes, weights, rule)
    found = the_same(space, k=3, radius=0.4)
    assert max(column.cells for column in found.coding.columns) <= 65


def test_a_table_larger_than_the_card_goes_through_in_parts(monkeypatch):
    monkeypatch.setattr(gpu, "QUERIES", 70)
    monkeypatch.setattr(gpu, "ROOM", 900)
    monkeypatch.setattr(gpu, "COMPUTED", 64)
    the_same(encoded(*tables(5, (90, 130)), "level"), k=4, radius=0.3, part=61)


def test_levels_become_finer_where_bounds_leave_too_many(monkeypatch):
    monkeypatch.setattr(gpu, "MANY", 2)
    rng = np.random.default_rng(1)
    numbers = [rng.normal(size=(400, 6)), rng.normal(size=(600, 6))]
    empty = [np.zeros((400, 0), int), np.zeros((600, 0), int)]
    found = the_same(encoded(numbers, empty, np.ones(6), "level"), k=1, radius=0.1)
    assert found.levels > gpu.LEVELS


def test_reasons_for_missing_are_levels():
    rng = np.random.default_rng(8)
    numbers = [np.round(rng.normal(size=(300, 1)), 1) for _ in range(2)]
    reasons = [rng.random(300) < 0.3 for _ in range(2)]
    for x, which in zip(numbers, reasons, strict=True):
        x[which, 0] = rng.choice([-7.0, -8, -9, -99, -999], int(which.sum()))
    codes = [rng.integers(0, 3, (300, 1)) for _ in range(2)]
    the_same(encoded(numbers, codes, np.ones(2), "level", {"x0": reasons}), k=2, radius=0.2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("levels", [3, 8, 31])
def test_a_bound_never_exceeds_the_distance(rule, levels):
    """For all pairs: what is excluded by its bound is further away."""
    for seed in range(6):
        space = encoded(*tables(seed, levels=100), rule)
        a, b = space.distinct("a"), space.distinct("b")
        card = gpu.Prepared(space, b, "cpu")
        card._use(levels)
        side, part = card._asking(a, slice(None)), next(card._parts())
        bound = side.cells.float() @ part.cells.float().T + part.alone + side.alone[:, None] - card.coding.slack
        asked, row = (x.reshape(-1) for x in torch.meshgrid(torch.arange(a.size), torch.arange(b.size), indexing="ij"))
        distance = card._exact(side, part, asked, row).reshape(a.size, b.size) / card.coding.unit
        if rule == "ignore":
            distance = distance * card._present(side)[:, None]
        assert (bound <= distance + 1e-9).all()
        assert coding(space, b, levels).slack < 0.51 * a.numbers.shape[1] + 0.01
