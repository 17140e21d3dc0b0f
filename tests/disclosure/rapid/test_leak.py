"""RAPID and inference: members against people never in the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

RUNS = 120
ROLES: dict[str, Any] = {"keys": ["k", "l", "x"], "target": "t"}
rapid = partial(gh.disclosure.rapid, attackers="cart")
MEASURES: dict[str, Callable[..., gh.Result]] = {
    "rapid": rapid,
    "conditional": partial(rapid, score="conditional"),
    "two attackers": partial(gh.disclosure.rapid, attackers=("cart", "marginal")),
    "inference": gh.disclosure.inference,
    "forest": partial(gh.disclosure.inference, attacker="cart"),
}


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    k, l = rng.integers(0, 6, n), rng.integers(0, 5, n)
    t = np.where(rng.random(n) < 0.6, (k + l) % 3, rng.integers(0, 3, n))
    return pl.DataFrame(
        {"k": k.astype(str), "l": l.astype(str), "x": np.round(rng.normal(0, 1, n), 2), "t": t.astype(str)}
    )


def households(rng: np.random.Generator, n: int, first: int) -> pl.DataFrame:
    rows = people(rng, n).select(pl.all().repeat_by(4).explode())
    return rows.with_columns(x=rows["x"] + rng.normal(0, 0.01, rows.height), house=np.repeat(np.arange(n), 4) + first)


def clean_pair(rng: np.random.Generator, clustered: bool) -> gh.Pair:
    if clustered:
        tables = [households(rng, n, 1000 * i) for i, n in enumerate((14, 20, 8))]
    else:
        tables = [people(rng, n) for n in (50, 60, 30)]
    return gh.Pair(tables[0], tables[1], holdout=tables[2], cluster="house" if clustered else None, **ROLES)


def check_level(names: tuple[str, ...], clustered: bool, runs: int) -> None:
    rng = np.random.default_rng(3)
    found = [
        {name: MEASURES[name](pair) for name in names} for pair in (clean_pair(rng, clustered) for _ in range(runs))
    ]
    for name in names:
        p = np.array([r[name].p_value for r in found], float)
        for level in (0.05, 0.2):
            assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / runs), (name, level)


@pytest.mark.parametrize("clustered", [False, True])
def test_clean_releases_keep_the_level(clustered: bool) -> None:
    check_level(("rapid", "inference"), clustered, RUNS)


@pytest.mark.study
@pytest.mark.parametrize("clustered", [False, True])
def test_every_variant_keeps_the_level(clustered: bool) -> None:
    check_level(tuple(MEASURES), clustered, 3 * RUNS)


def planted(rng: np.random.Generator, clustered: bool = False, share: float = 0.2, **more: Any) -> gh.Pair:
    """Keys and target of a share of the people are in the release; without them the target follows from nothing."""
    n = 500
    copied = round(share * n)
    tables = [people(rng, n).with_columns(t=pl.Series(rng.choice(list("abc"), n))) for _ in range(3)]
    released = pl.concat([tables[0].head(copied), tables[1].tail(n - copied)])
    if clustered:
        tables = [t.with_columns(house=pl.Series(np.arange(n) // 4 + 1000 * i)) for i, t in enumerate(tables)]
        released = released.with_columns(house=pl.Series(np.arange(n)))
    return gh.Pair(tables[0], released, holdout=tables[2], cluster="house" if clustered else None, **{**ROLES, **more})


@pytest.mark.parametrize("clustered", [False, True])
def test_a_planted_leak_is_seen(clustered: bool) -> None:
    """A nearest record sees a fifth of the people; a forest averages over neighbours, so it is shown all of them."""
    measures = {"rapid": (partial(gh.disclosure.rapid, trees=100), 1.0), "inference": (gh.disclosure.inference, 0.2)}
    for name, (measure, share) in measures.items():
        found = measure(planted(np.random.default_rng(1), clustered, share))
        assert found.p_value is not None
        assert found.p_value < 0.01, name
        assert found.verdict == "fail"
        assert found.exposure is not None
        assert found.exposure.members == (125 if clustered else 500)
        assert "chance gives as much in" in found.sentence


def test_row_order_does_not_matter() -> None:
    pair = planted(np.random.default_rng(2), clustered=True)
    mixed = {t: pair.local(t).sample(fraction=1.0, shuffle=True, seed=4) for t in ("original", "holdout")}
    other = pair.replace(**mixed)
    for name in ("rapid", "conditional", "inference"):
        assert MEASURES[name](other).p_value == MEASURES[name](pair).p_value, name


def test_weights_change_the_difference_and_not_the_test() -> None:
    rng = np.random.default_rng(2)
    pair = planted(rng)
    weighted = {t: pair.local(t).with_columns(w=pl.Series(rng.uniform(1, 5, 500))) for t in ("original", "holdout")}
    found = rapid(
        gh.Pair(weighted["original"], pair.local("released"), holdout=weighted["holdout"], weights="w", **ROLES)
    )
    plain = rapid(pair)
    assert found.p_value == plain.p_value
    assert found.difference != plain.difference
    assert found.difference == pytest.approx(found.value - found.holdout)


def test_several_releases_tell_the_worst() -> None:
    rng = np.random.default_rng(2)
    pair = planted(rng)
    both = rapid(pair.replace(released=[people(rng, 500), pair.local("released")]))
    first, second = (one.p_value for one in both.replicates)
    assert first is not None
    assert second is not None
    assert both.p_value == pytest.approx(min(1.0, 2 * min(first, second)))
    assert both.exposure == both.replicates[int(second < first)].exposure


def test_several_targets_are_compared_too() -> None:
    pair = planted(np.random.default_rng(2), share=1.0, keys=["l", "x"], target=["t", "k"])
    found = gh.disclosure.rapid(pair, trees=100)
    assert found.p_value is not None
    assert found.p_value < 0.05
    assert found.holdout is not None
    assert found.counts is not None
    assert found.counts.attempts == 500


def test_the_cut_looks_at_no_label() -> None:
    """Original and holdout may change places: the same people are flagged."""
    pair = planted(np.random.default_rng(6))
    other = gh.Pair(pair.local("holdout"), pair.local("released"), holdout=pair.local("original"), **ROLES)
    for name in ("rapid", "conditional", "two attackers", "inference"):
        here, there = MEASURES[name](pair).counts, MEASURES[name](other).counts
        assert here is not None
        assert there is not None
        assert here.successes == pytest.approx(there.control_successes), name
        assert here.control_successes == pytest.approx(there.successes), name


def test_missing_keys_are_asked_about() -> None:
    rng = np.random.default_rng(8)
    gaps = pl.when(pl.Series(rng.random(200) < 0.2)).then(None)
    tables = [
        people(rng, 200).with_columns(k=gaps.otherwise(pl.col("k")), x=gaps.otherwise(pl.col("x"))) for _ in "abc"
    ]
    found = rapid(gh.Pair(tables[0], tables[1], holdout=tables[2], **ROLES))
    assert found.status == "ok"
    assert found.details["n_total"] == 200
    with pytest.raises(gh.InputError, match="numeric key 'x' has missing values"):
        rapid(gh.Pair(tables[0], tables[1], **ROLES), numeric_key_na="error")
