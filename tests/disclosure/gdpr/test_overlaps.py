"""Links against brute force: two distance matrices, sets of nearest records, and every draw of the last places."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.gdpr.linkability import attack_space
from glasshouse.disclosure.gdpr.links import linked
from glasshouse.engines.neighbours import crowds
from glasshouse.engines.neighbours.search import RULES, SPARE, TOL
from tests.engines.neighbours.test_neighbours import gower

SIDES = (("few", "many", "whole"), ("some", "rare", "real"))


def table(n: int, seed: int, holes: float) -> pl.DataFrame:
    """Identifiers beside categories of two or three levels: where nobody has both, half the table is near."""
    rng = np.random.default_rng(seed)
    made = {
        "few": pl.Series([f"v{v}" for v in rng.integers(0, 2, n)]),
        "many": pl.Series([f"v{v}" for v in rng.integers(0, 80, n)]),
        "whole": pl.Series(rng.integers(0, 2, n).astype(float)),
        "some": pl.Series([f"v{v}" for v in rng.integers(0, 3, n)]),
        "rare": pl.Series([f"v{v}" for v in rng.integers(0, 400, n)]),
        "real": pl.Series(rng.integers(0, 3, n) + rng.choice([-1, 0, 1], n) * 0.3 * TOL),
    }
    frame = pl.DataFrame(made).with_columns(
        pl.when(pl.Series(rng.random(n) < holes)).then(None).otherwise(pl.col(name)).alias(name) for name in made
    )
    return pl.concat([frame, frame.head(n // 6)])


def distances(original: pl.DataFrame, released: pl.DataFrame, columns: tuple[str, ...], rule: str) -> np.ndarray:
    numbers = [c for c in columns if original[c].dtype.is_float()]
    names = [c for c in columns if c not in numbers]
    x = [frame.select(numbers).to_numpy().astype(float) for frame in (original, released)]
    level = {v: i for i, v in enumerate(f"v{i}" for i in range(400))}
    c = [
        np.array([[-1 if v is None else level[v] for v in row] for row in frame.select(names).rows()])
        for frame in (original, released)
    ]
    both = np.vstack(x)
    ranges = [float(np.nanmax(v) - np.nanmin(v)) if np.isfinite(v).any() else 1.0 for v in both.T]
    return gower(*x, *c, [r if r > 0 else 1.0 for r in ranges], np.ones(len(columns)), rule)


def drawn(distance: np.ndarray, k: int) -> tuple[list[set[int]], set[int], int]:
    """Every set of k nearest records, that by the lowest record numbers, and how many tie for the last places."""
    last = np.sort(distance)[k - 1]
    sure = set(np.flatnonzero(distance < last - TOL).tolist())
    ties = [i for i in np.flatnonzero(distance <= last + TOL).tolist() if i not in sure]
    take = k - len(sure)
    return [sure | set(rest) for rest in combinations(ties, take)], sure | set(ties[:take]), len(ties)


@pytest.mark.parametrize("rare", [0, 3, 64])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("holes", [0.0, 0.25])
def test_links_equal_brute_force(k: int, rule: str, rare: int, holes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "RARE", rare)
    original, released = table(40, 1, holes), table(24, 2, holes)
    # some whose identifiers are there, and never beside their own values of the small columns
    released = pl.concat([released, original.head(6).with_columns(few=pl.lit("v9"), some=pl.lit("v9"))])
    pair = gh.Pair(original, released, schema=dict.fromkeys(("whole", "real"), "numeric"))
    spaces = tuple(attack_space(pair, side, rule, "original", keep=False) for side in SIDES)
    found = linked((spaces[0], spaces[1]), "original", None, "released", None, k, 1, by_number=True)
    assert found.lowest is not None
    matrices = [distances(original, released, side, rule) for side in SIDES]
    several = 0
    for person in range(original.height):
        (sets0, lowest0, ties0), (sets1, lowest1, ties1) = (drawn(d[person], k) for d in matrices)
        several = max(several, ties0)
        if len(sets0) * len(sets1) < 40_000:
            chance = np.mean([bool(a & b) for a in sets0 for b in sets1])
            assert found.probability[person] == pytest.approx(chance, abs=1e-9)
        assert (found.tied[0][person], found.tied[1][person]) == (ties0, ties1)
        assert found.lowest[person] == bool(lowest0 & lowest1)
        within = [set(np.flatnonzero(d[person] <= np.sort(d[person])[k - 1] + TOL).tolist()) for d in matrices]
        assert found.inclusive[person] == bool(within[0] & within[1])
        equal = [int((d[person] <= TOL).sum()) if np.sort(d[person])[k - 1] <= TOL else 0 for d in matrices]
        places = [k / (1 + n) if n else 1.0 for n in equal]
        assert found.if_copied[person] == pytest.approx(
            max(found.probability[person], places[0] * places[1]), abs=1e-12
        )
    assert several > k + SPARE  # more than one search finds
