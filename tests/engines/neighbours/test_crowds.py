"""Crowds and what is beside them are together everybody within the radius, and what they hold is counted once each."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.core.errors import NotApplicable
from glasshouse.engines.neighbours import crowds
from glasshouse.engines.neighbours.encoding import as_seen_by, encode
from glasshouse.engines.neighbours.search import RULES, TOL, Space
from glasshouse.engines.neighbours.tallies import Tally
from tests.engines.neighbours.test_neighbours import gower

LEVELS = (2, 3, 40, 400)  # of a category: many share a low one, few a high one


def tables(seed, rule):
    """Two tables in one space, their raw values, and the weights; numbers with ties within the tolerance."""
    rng = np.random.default_rng(seed)
    levels, n_numbers = rng.choice(LEVELS, rng.integers(1, 5)), rng.integers(0, 3)
    share = rng.choice([0, 0.3])
    made = []
    for n in (rng.integers(5, 120), rng.integers(5, 300)):
        x = rng.integers(0, 3, (n, n_numbers)) + rng.choice([-1, 0, 1], (n, n_numbers)) * 0.3 * TOL
        c = rng.integers(0, levels, (n, len(levels)))
        x[rng.random(x.shape) < share], c[rng.random(c.shape) < share] = np.nan, -1
        made.append((x, c))
    weights = rng.choice([1.0, 1.0, 0.5], n_numbers + len(levels))
    encoded = encode(
        ["people", "searched"],
        {f"x{v}": [x[:, v] for x, _ in made] for v in range(n_numbers)},
        {f"c{v}": [c[:, v] for _, c in made] for v in range(len(levels))},
        rule,
        dict(zip([f"x{v}" for v in range(n_numbers)] + [f"c{v}" for v in range(len(levels))], weights, strict=True)),
    )
    ranges = [encoded.ranges[f"x{v}"] for v in range(n_numbers)]
    (x0, c0), (x1, c1) = made
    return Space(encoded), gower(x0, x1, c0, c1, ranges, weights, rule)


def listed(near, reference, q):
    """Records near to a distinct query: those of its own list and those of its crowd."""
    own = near.row[near.offsets[q] : near.offsets[q + 1]]
    crowd = near.crowd_row[near.crowd_offsets[near.crowd[q]] : near.crowd_offsets[near.crowd[q] + 1]]
    return [np.flatnonzero(np.isin(reference.inverse, rows)) for rows in (own, crowd)]


@pytest.mark.parametrize("rare", [0, 4, 64])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_own_list_and_crowd_are_everybody_within_the_radius(seed, rule, rare, monkeypatch):
    monkeypatch.setattr(crowds, "RARE", rare)
    space, full = tables(seed, rule)
    rng = np.random.default_rng(seed)
    reference = space.rows("searched")
    query = as_seen_by(space.rows("people"), reference)
    held, size = rng.integers(0, 4, reference.n), 4
    k = int(rng.integers(1, 4))
    near = space.nearest(query, "searched", min(k, reference.n))
    radius = near.distance[:, -1][query.firsts][query.inverse]
    found = space.tied_in_crowds(near, query, "searched", radius)
    tally = Tally(found, reference, held, size)
    said, low = tally.most_common(), rng.integers(0, size, query.size)
    counted = tally.between(np.arange(query.size), low, np.minimum(low + 1, size - 1))
    for person, q in enumerate(query.inverse):
        expected = np.flatnonzero(full[person] <= radius[person] + TOL)
        own, crowd = listed(found, reference, q)
        assert not np.intersect1d(own, crowd).size
        np.testing.assert_array_equal(np.union1d(own, crowd), expected)
        assert found.records(reference)[q] == len(expected)
        codes = np.bincount(held[expected], minlength=size)
        assert said[q] == codes.argmax()
        assert counted[q] == codes[low[q] : low[q] + 2].sum()


def identifiers(n):
    """Everybody's identifier is there, but never with one's own sex: half the table is as near as whoever has it."""
    sex, card = np.arange(n) % 2, np.arange(n)
    return Space(encode(["people", "searched"], {}, {"sex": [sex, 1 - sex], "card": [card, card]}))


def test_what_all_share_is_listed_once(monkeypatch):
    """Listed one by one, these are the square of the records."""
    monkeypatch.setattr(crowds, "MOST_TIES", 3000)
    space = identifiers(2000)
    query = space.rows("people")
    near = space.nearest(query, "searched", 4)
    found = space.tied_in_crowds(near, query, "searched", near.distance[:, 0])
    assert (found.records(space.rows("searched")) == 1001).all()
    assert len(found.row) == 2000 and len(found.crowd_row) == 2000
    monkeypatch.setattr(crowds, "RARE", 0)
    with pytest.raises(NotApplicable, match="1,001 records are equally near"):
        space.tied_in_crowds(near, query, "searched", near.distance[:, 0])
