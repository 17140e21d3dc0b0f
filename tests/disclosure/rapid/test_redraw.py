"""RAPID's own interval holds the share of fresh people of the same population as often as it says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.rapid.answers import ClassAnswers
from glasshouse.disclosure.rapid.inference import share_interval
from glasshouse.disclosure.rapid.redraw import people_interval, redrawn_rates
from glasshouse.disclosure.rapid.scores import class_shares


def asked(rng: np.random.Generator, n: int, chances: np.ndarray, repeat: int = 1) -> ClassAnswers:
    """An attacker with a few different answers, as sure as they say: a small move of a cut flags whole groups. Each
    person stands in the table ``repeat`` times."""
    groups = rng.integers(0, len(chances), n)
    y = np.minimum((rng.random(n)[:, None] > chances[groups].cumsum(axis=1)).sum(axis=1), 2)
    groups, y = np.repeat(groups, repeat), np.repeat(y, repeat)
    return ClassAnswers(chances[groups], y, "marginal", 0.3, class_shares(y, 3), 3)


def coverage(repeat: int, attackers: int, runs: int) -> tuple[float, float]:
    ours, fixed = [], []
    for attacker in range(attackers):
        rng = np.random.default_rng(attacker)
        chances = rng.dirichlet([2.0, 1.2, 0.8], 12 if attacker % 2 else 30)
        truth = asked(rng, 200_000, chances).rate()
        for run in range(runs):
            answers = asked(rng, 500, chances, repeat)
            clusters = None if repeat == 1 else np.repeat(np.arange(500), repeat)
            low, high = people_interval([answers], n_boot=300, random_state=run, clusters=clusters)
            ours.append(low <= truth <= high)
            method = "wilson" if repeat == 1 else "cluster"
            low, high = share_interval(answers.flags(), method, clusters=clusters, n_boot=300, random_state=run)
            fixed.append(low <= truth <= high)
    return float(np.mean(ours)), float(np.mean(fixed))


@pytest.mark.parametrize("repeat", [1, 4])
def test_the_interval_covers_what_it_says(repeat: int) -> None:
    ours, fixed = coverage(repeat, 8, 60 if repeat == 1 else 25)
    assert 0.92 <= ours <= 0.98
    assert fixed < 0.9, "an interval that keeps every flag as it is would do, and the test could not fail"


def test_short_cut_and_redrawn_records_agree() -> None:
    rng = np.random.default_rng(3)
    answers = asked(rng, 400, rng.dirichlet([2.0, 1.2, 0.8], 20))
    fast = redrawn_rates([answers], 4000, 1)[:, 0]
    slow = redrawn_rates([answers, answers], 4000, 1)[:, 0]
    assert fast.mean() == pytest.approx(slow.mean(), abs=0.01)
    assert fast.std() == pytest.approx(slow.std(), rel=0.1)


@pytest.mark.study
def test_coverage_against_12_000_fresh_people() -> None:
    rng = np.random.default_rng(7)

    def draw(n: int) -> pl.DataFrame:
        k, l = rng.integers(0, 4, n), rng.integers(0, 3, n)
        t = np.where(rng.random(n) < 0.5, (k + l) % 3, rng.choice(3, n, p=[0.5, 0.3, 0.2]))
        return pl.DataFrame({"k": k.astype(str), "l": l.astype(str), "t": t.astype(str)})

    inside = []
    for _ in range(300):
        original, released, fresh = draw(1000), draw(1000), draw(12_000)
        low, high = gh.disclosure.rapid(original, released, keys=["k", "l"], target="t", trees=100).interval
        truth = gh.disclosure.rapid(fresh, released, keys=["k", "l"], target="t", trees=100).value
        inside.append(low <= truth <= high)
    assert 0.92 <= np.mean(inside) <= 0.98
