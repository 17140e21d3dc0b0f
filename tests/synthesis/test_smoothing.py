"""Infinite numbers have no place on a scale: they stay as they are, and the others are smoothed as without them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from glasshouse.synthesis.cart import Cart
from glasshouse.synthesis.smoothing import sheather_jones, smooth


@pytest.mark.parametrize("how", ["density", "rmean", "spline"])
def test_infinite_numbers_stay_and_do_not_move_the_others(how: str) -> None:
    observed = np.random.default_rng(0).normal(size=80)
    drawn = np.random.default_rng(1).choice(observed, 60)
    plain = smooth(drawn, observed, how, 3, np.random.default_rng(2))
    both = smooth(np.append(drawn, np.inf), np.append(observed, -np.inf), how, 3, np.random.default_rng(2))
    assert np.array_equal(both[:-1], plain) and both[-1] == np.inf


@pytest.mark.parametrize("unit", [1e-200, 1e-40, 1e40, 1e300])
def test_a_bandwidth_grows_with_the_unit_however_small_or_large_it_is(unit: float) -> None:
    x = np.random.default_rng(3).normal(size=120)
    assert sheather_jones(x * unit) == pytest.approx(
        sheather_jones(x) * unit, rel=0.01
    )  # as near as its root is looked for


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("extremes", [(1e308, -1e308), (1e-300, 3.0), (5e-324, 1e-310), (1e200, 1.0)])
def test_numbers_of_all_sizes_at_once_are_smoothed_without_a_word(extremes: tuple[float, float]) -> None:
    rng = np.random.default_rng(4)
    for x in (np.append(rng.normal(size=60), extremes), rng.choice([*extremes, 0.0, 1.0], 60)):
        made = smooth(x, x, "density", 12, np.random.default_rng(5))
        assert np.isfinite(made).all() and len(made) == len(x)


def test_the_seed_alone_takes_no_smoothing_off() -> None:
    """Smoothing adds numbers to real ones. Drawn from the seed alone (0 as often as not), they could be drawn again
    and subtracted; they follow the original, which nobody outside has."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.integers(0, 3, 300), "x": rng.gamma(2, 100, 300)})
    other = table.with_columns(x=pl.when(pl.int_range(300) == 7).then(1.5).otherwise("x"))
    made = [Cart(smoothing="density").fit(one).sample(random_state=0) for one in (table, table, other)]
    assert made[0].equals(made[1])
    assert (made[0]["a"] == made[2]["a"]).mean() < 0.6, "a third of three levels agrees by chance"


@pytest.mark.parametrize("form", ["date", "text", "minutes", "zone"])
def test_dates_are_moved_off_those_of_real_people_and_stay_as_fine_as_they_were(form: str) -> None:
    rng = np.random.default_rng(4)
    minutes = pl.Series("at", rng.integers(-(10**7), 10**7, 400) * 60_000_000).cast(pl.Datetime("us"))
    at = {
        "date": minutes.cast(pl.Date),
        "text": minutes.cast(pl.Date).cast(pl.String),
        "minutes": minutes,
        "zone": minutes.dt.replace_time_zone("UTC"),
    }[form]
    table = pl.DataFrame({"at": at, "age": rng.integers(18, 90, 400)})
    kept, moved = (Cart(smoothing=how).fit(table).sample(random_state=1) for how in (None, "density"))
    assert moved.schema == table.schema and kept["at"].is_in(at.implode()).all()
    assert moved["at"].is_in(at.implode()).mean() < 0.2
    if form in ("minutes", "zone"):
        assert (moved["at"].dt.second() == 0).all() and (moved["at"].dt.microsecond() == 0).all()
    assert moved["at"].min() >= at.min()
