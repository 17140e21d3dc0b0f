"""Members against people never in the data: p values that hold their level, see planted leaks, and look at no label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.evidence import Counts
from glasshouse.engines.exchange import exchange_counts

RUNS = 120
ROLES: dict[str, Any] = {"keys": ["k", "l"], "target": "t"}
MEASURES: dict[str, Callable[..., gh.Result]] = {
    "disco": gh.disclosure.disco,
    "tcap": gh.disclosure.tcap,
    "tcap certain": partial(gh.disclosure.tcap, variant="certain"),
    "cap": gh.disclosure.cap,
    "cap matched": partial(gh.disclosure.cap, average="matched"),
    "limited": partial(gh.disclosure.disco, denominator_limit=2),
    "attribution": gh.disclosure.attribution,
    "attribution_all": partial(gh.disclosure.attribution_all, targets=["t", "u"]),
    "uniques": gh.disclosure.uniques,
}


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    k, l = rng.integers(0, 6, n), rng.integers(0, 5, n)
    t = np.where(rng.random(n) < 0.6, (k + l) % 3, rng.integers(0, 3, n))
    return pl.DataFrame({"k": k, "l": l, "t": t, "u": rng.integers(0, 4, n)}).with_columns(pl.all().cast(pl.String))


def households(rng: np.random.Generator, n: int, first: int) -> pl.DataFrame:
    """Four rows each, alike but for one cell in ten: what is true of one row of a household is true of the others."""
    rows = people(rng, n).select(pl.all().repeat_by(4).explode())
    other = people(rng, rows.height)
    change = pl.Series(rng.random(rows.height) < 0.1)
    return rows.with_columns(
        t=pl.when(change).then(other["t"]).otherwise(rows["t"]), house=pl.Series(np.repeat(np.arange(n), 4) + first)
    )


def clean_pair(rng: np.random.Generator, clustered: bool) -> gh.Pair:
    if clustered:
        tables = [households(rng, n, 1000 * i) for i, n in enumerate((14, 20, 8))]
    else:
        tables = [people(rng, n) for n in (50, 60, 30)]
    return gh.Pair(tables[0], tables[1], holdout=tables[2], cluster="house" if clustered else None, **ROLES)


def fisher(counts: Counts) -> float:
    strangers, m = counts.control_successes, counts.control_attempts
    assert strangers is not None
    assert m is not None
    return exchange_counts(counts.successes, round(counts.attempts), strangers, round(m)).p


def allowed(level: float, runs: int) -> float:
    return level + 3 * float(np.sqrt(level * (1 - level) / runs))


def check_level(names: tuple[str, ...], clustered: bool, runs: int) -> None:
    rng = np.random.default_rng(11)
    found = [
        {name: MEASURES[name](pair) for name in names} for pair in (clean_pair(rng, clustered) for _ in range(runs))
    ]
    for name in names:
        p = np.array([r[name].p_value for r in found if r[name].p_value is not None])
        assert len(p) > 0.9 * runs, name
        for level in (0.05, 0.2):
            assert (p <= level).mean() <= allowed(level, len(p)), (name, level)
    if clustered:  # the test of single records, which takes four rows of a household for four people, does not
        alone = np.array([fisher(r["disco"].counts) for r in found])  # type: ignore[arg-type]  # there is a holdout
        assert (alone <= 0.05).mean() > allowed(0.05, runs)


def test_clean_releases_keep_the_level() -> None:
    check_level(("disco", "cap", "uniques"), False, RUNS)


def test_clean_releases_of_households_keep_the_level() -> None:
    check_level(("disco", "cap matched"), True, RUNS)


@pytest.mark.study
@pytest.mark.parametrize("clustered", [False, True])
def test_every_measure_keeps_the_level(clustered: bool) -> None:
    check_level(tuple(MEASURES), clustered, 400)


def planted(rng: np.random.Generator, clustered: bool = False) -> gh.Pair:
    """Keys and target of a tenth of the people are in the release, with a target of their own that nobody expects."""
    n = 400
    tables = [people(rng, n).with_columns(pl.Series("l", rng.integers(0, 2000, n)).cast(pl.String)) for _ in range(3)]
    leaked = tables[0].head(n // 10)
    released = pl.concat([leaked, tables[1].tail(n - leaked.height)])
    if clustered:
        tables = [t.with_columns(house=pl.Series(np.arange(n) // 4 + 1000 * i)) for i, t in enumerate(tables)]
        released = released.with_columns(house=pl.Series(np.arange(n)))
    return gh.Pair(tables[0], released, holdout=tables[2], cluster="house" if clustered else None, **ROLES)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_planted_leak_is_seen(clustered: bool) -> None:
    pair = planted(np.random.default_rng(5), clustered)
    for name in ("disco", "cap", "attribution", "attribution_all", "uniques"):
        found = MEASURES[name](pair)
        assert found.p_value is not None
        assert found.p_value < 0.01, name
        assert found.verdict == "fail"
        assert found.exposure is not None
        assert found.exposure.share > 0.02
        assert found.exposure.members == (100 if clustered else 400)
        assert "chance gives as much in" in found.sentence
        assert "no more than" not in found.sentence


@pytest.mark.parametrize("clustered", [False, True])
def test_order_and_labels_do_not_matter(clustered: bool) -> None:
    pair = planted(np.random.default_rng(7), clustered)

    def changed(table: str) -> pl.DataFrame:
        frame = pair.local(table).sample(fraction=1.0, shuffle=True, seed=3)
        renamed = frame.with_columns(pl.concat_str(pl.lit("x"), pl.col("k").str.reverse()).alias("k"))
        return renamed.with_columns((10_000 - pl.col("house")).alias("house")) if clustered else renamed

    other = pair.replace(original=changed("original"), released=changed("released"), holdout=changed("holdout"))
    for name, measure in MEASURES.items():
        assert measure(other).p_value == measure(pair).p_value, name


def test_several_releases_tell_the_worst_and_pay_for_it() -> None:
    rng = np.random.default_rng(2)
    pair = planted(rng)
    both = pair.replace(released=[people(rng, 400), pair.local("released")])
    alone, worst = gh.disclosure.attribution(pair), gh.disclosure.attribution(both)
    assert alone.p_value is not None
    assert worst.p_value == pytest.approx(2 * alone.p_value)
    assert worst.difference == alone.difference


def test_lazy_tables_give_the_same_p(engine: Callable[[pl.DataFrame], Any]) -> None:
    pair = planted(np.random.default_rng(9))
    tables = {t: engine(pair.local(t)) for t in ("original", "released", "holdout")}
    other = gh.Pair(**tables, **ROLES)
    for name in ("disco", "cap", "tcap certain", "uniques", "limited"):
        assert MEASURES[name](other).p_value == pytest.approx(MEASURES[name](pair).p_value), name


def test_lazy_tables_stay_where_they_are() -> None:
    pair = planted(np.random.default_rng(9))
    lazy = gh.Pair(**{t: pair.local(t).lazy() for t in ("original", "released", "holdout")}, **ROLES)
    for name in ("disco", "cap", "attribution", "uniques"):
        assert MEASURES[name](lazy).p_value is not None
    assert not lazy._tables._here._carried, "an exchange collected a whole table"


def test_without_a_holdout_it_is_a_fact_about_the_population() -> None:
    pair = planted(np.random.default_rng(5))
    alone = gh.Pair(pair.local("original"), pair.local("released"), **ROLES)
    for name, measure in MEASURES.items():
        found = measure(alone)
        assert (found.p_value, found.verdict, found.exposure) == (None, None, None), name
        assert "fact about the population" in found.sentence
        assert "cannot be told" in found.sentence


# -- numbers as keys and targets


def numbers(rng: np.random.Generator, n: int) -> pl.DataFrame:
    x = rng.normal(50, 12, n)
    return pl.DataFrame(
        {"x": x, "z": rng.exponential(3, n), "y": x * 2 + rng.normal(0, 5, n), "g": rng.choice(list("ab"), n)}
    )


@pytest.mark.parametrize("name", ["disco", "tcap", "cap", "attribution", "uniques"])
def test_numbers_do_not_switch_a_measure_off(name: str) -> None:
    rng = np.random.default_rng(4)
    tables = [numbers(rng, 300) for _ in range(3)]
    pair = gh.Pair(tables[0], tables[1], holdout=tables[2], keys=["x", "z", "g"], target="y")
    found = MEASURES[name](pair)
    assert found.status == "ok"
    assert found.p_value is not None
    said = [w for w in found.warnings if "groups of about equally many released records" in w]
    assert len(said) == 1
    assert "x in 10 groups" in said[0]
    assert ("y in 10 groups" in said[0]) == (name != "uniques")


def test_groups_look_at_no_label() -> None:
    """Original and holdout may change places: the same breaks, so the same people are flagged."""
    rng = np.random.default_rng(4)
    one, released, two = (numbers(rng, 200) for _ in range(3))
    roles: dict[str, Any] = {"keys": ["x", "g"], "target": "y"}
    here, there = gh.Pair(one, released, holdout=two, **roles), gh.Pair(two, released, holdout=one, **roles)
    first, second = gh.disclosure.disco(here).counts, gh.disclosure.disco(there).counts
    assert first is not None
    assert second is not None
    assert (first.successes, first.control_successes) == (second.control_successes, second.successes)


def test_exact_values_can_be_asked_for() -> None:
    rng = np.random.default_rng(4)
    frame = numbers(rng, 100).with_columns(a=pl.Series(rng.integers(0, 30, 100)))
    grouped = gh.disclosure.disco(frame, frame, keys="a", target="y")
    exact = gh.disclosure.disco(frame, frame, keys="a", target="y", bins=None, key_groups=None)
    assert exact.value < grouped.value or exact.value > grouped.value
    assert not any("equal size" in w for w in exact.warnings)
    assert any("compared exactly" in w for w in exact.warnings)
    other = numbers(rng, 100).with_columns(a=pl.Series(rng.integers(0, 30, 100)))
    assert gh.disclosure.disco(frame, other, keys="x", target="g", key_groups=None).value == 0, "no value is met twice"
    with pytest.raises(gh.InputError, match="'auto' for deciles"):
        gh.disclosure.disco(frame, frame, keys="x", target="g", key_groups="decile")


def test_shared_values_are_compared_as_they_are() -> None:
    """Age in years is known as it is: 60 values in 600 records are shared by ten people each."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(20, 80, 600), "t": rng.choice(list("ab"), 600)})
    found = gh.disclosure.disco(frame, frame, keys="age", target="t")
    assert found.value == gh.disclosure.disco(frame, frame, keys="age", target="t", key_groups=None).value
    assert not found.warnings


def test_dates_are_grouped_too() -> None:
    rng = np.random.default_rng(1)
    days = pl.Series("born", rng.integers(0, 20_000, 200)).cast(pl.Date)
    frame = pl.DataFrame({"born": days, "t": rng.choice(list("ab"), 200)})
    for table in (frame, frame.lazy()):
        found = gh.disclosure.disco(table, table, keys="born", target="t")
        assert any("born in 10 groups" in w for w in found.warnings)
