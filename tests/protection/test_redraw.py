"""Copies drawn anew or removed: they are found, nobody is copied afterwards, and hardly anything else changes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.protection.copies import find_copies


def world(seed: int = 0, n: int = 300, copied: int = 15) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """An original, a release with some people of it, and where they stand."""
    original = gh.data.simulate_health(n, random_state=seed)
    released = gh.data.simulate_health(n, random_state=seed + 1000)
    places = np.random.default_rng(seed).permutation(n)[:copied]
    source = np.arange(n)
    source[places] = n + np.arange(copied)
    return original, pl.concat([released, original[:copied]])[source.tolist()], np.sort(places)


def exact(original: pl.DataFrame, released: pl.DataFrame) -> np.ndarray:
    return find_copies(original, released, original.columns, "exact", 0.5).exact


def test_copies_by_hand() -> None:
    """Two people alike are nobody in particular; somebody alone is copied, exactly, but for a cell, or nearly."""
    original = pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": [20, 20, 50, 90]})
    released = pl.DataFrame({"sex": ["f", "m", "f", "m"], "age": [20, 90, 50, 88]})
    found = find_copies(original, released, ["sex", "age"], "near", 1.0)
    assert found.exact.tolist() == [False, True, False, False], "two people are 20 and f"
    assert found.but_one.tolist() == [False, True, True, False], "f, 50 is m, 50 but for one column"
    assert found.near.tolist() == [False, True, False, True], "88 is far nearer to 90 than the next person is"
    assert found.of("exact").sum() == 1 and found.of("near").sum() == 3


def test_every_copy_is_drawn_anew_and_nothing_else_changes() -> None:
    original, released, places = world()
    assert np.array_equal(np.flatnonzero(exact(original, released)), places)
    made = gh.protection.redraw_records(released, original=original)
    assert not exact(original, made.table).any()
    same = np.setdiff1d(np.arange(released.height), places)
    assert made.table[same.tolist()].equals(released[same.tolist()])
    assert made.records == len(places) and made.details["left"] == 0 and made.voids_dp
    assert any("drawn anew and not removed" in note for note in made.notes)


def test_redrawn_records_are_made_of_released_values() -> None:
    original, released, places = world(copied=5)
    made = gh.protection.redraw_records(released, original=original)
    others = np.setdiff1d(np.arange(released.height), places).tolist()
    for name in released.columns:
        assert set(made.table[name][places.tolist()]) <= set(released[name][others])


def test_what_is_kept_stays_and_identifiers_are_left_alone() -> None:
    original, released, _ = world()
    names = pl.Series("name", [f"person {i:04d} of town" for i in range(released.height)])
    made = gh.protection.redraw_records(
        released.with_columns(names), original=original.with_columns(names.reverse()), keep=["age"]
    )
    assert made.records and made.table["age"].equals(released["age"]) and made.table["name"].equals(names)


def test_seeds_rows_and_libraries() -> None:
    original, released, _ = world(copied=8)
    once = gh.protection.redraw_records(released, original=original, random_state=3)
    again = gh.protection.redraw_records(released, original=original, random_state=3, n_jobs=1)
    assert once.table.equals(again.table)
    other = gh.protection.redraw_records(released, original=original, random_state=4)
    assert not once.table.equals(other.table)
    pandas = gh.protection.redraw_records(released.to_pandas(), original=original.to_pandas(), random_state=3)
    assert pl.DataFrame(pandas.table.astype(dict.fromkeys(("gender", "education", "disease_status"), str))).equals(
        once.table.with_columns(pl.col("gender", "education", "disease_status").cast(pl.String))
    )
    order = np.random.default_rng(0).permutation(released.height).tolist()
    shuffled = gh.protection.redraw_records(released[order], original=original, random_state=3)
    assert shuffled.table.sort(shuffled.table.columns).equals(once.table[order].sort(once.table.columns))


def test_a_clean_release_stays_as_it_is() -> None:
    original, released, _ = world(copied=0)
    made = gh.protection.redraw_records(released, original=original)
    assert made.cells == 0 and made.table.equals(released)


def test_clusters_are_no_other_people() -> None:
    original = pl.DataFrame({"house": [1, 1, 2, 3], "age": [40, 40, 50, 70], "sex": ["f", "f", "m", "m"]})
    released = pl.DataFrame({"house": [7, 8, 9, 10], "age": [40, 41, 52, 60], "sex": ["f", "f", "m", "m"]})
    assert not gh.protection.remove_records(released, original=original, columns=["age", "sex"]).records
    with_houses = gh.protection.remove_records(released, original=original, columns=["age", "sex"], cluster="house")
    assert with_houses.records == 1 and with_houses.table.height == 3


def test_removing_says_what_it_tells() -> None:
    original, released, places = world()
    made = gh.protection.remove_records(released, original=original)
    assert made.table.height == released.height - len(places) and made.records == len(places)
    assert "can itself tell something" in made.notes[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"copies": "alike"}, "choose one of"),
        ({"threshold": 0.0}, "above 0"),
        ({"threshold": 1.5}, "not above 1"),
        ({"k": 1}, "at least 2"),
        ({"columns": ["nothing"]}, "nothing"),
        ({"cluster": "house"}, "no column of the original"),
        ({"keep": ["agee"]}, "did you mean 'age'"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, object], said: str) -> None:
    original, released, _ = world(n=60, copied=3)
    with pytest.raises(gh.InputError, match=said):
        gh.protection.redraw_records(released, original=original, **given)  # type: ignore[arg-type]


def test_copies_that_stay_are_not_told_as_gone() -> None:
    """The pay stays, and all have the same town: whatever is drawn is the same person again."""
    original = pl.DataFrame({"pay": [1000.5 + 7 * i for i in range(40)], "town": ["a"] * 40})
    released = pl.DataFrame({"pay": [*original["pay"][:5], *(5000.5 + 7 * i for i in range(35))], "town": ["a"] * 40})
    kept = gh.protection.redraw_records(released, original=original, keep=["pay"])
    assert kept.details["left"] == 5 and any(note.startswith("5 copies could not be drawn") for note in kept.notes)
    assert "no record of the table equals" not in " ".join(kept.notes)
    gone = gh.protection.redraw_records(released, original=original)
    assert gone.details["left"] == 0 and "no record of the table equals" in " ".join(gone.notes)
    assert gh.protection.redraw_records(released, original=original, keep=["pay", "town"]).details["left"] == 5


def test_a_release_of_copies_alone_has_nothing_to_draw_from() -> None:
    original, _, _ = world(n=40, copied=0)
    with pytest.raises(gh.InputError, match="synthesise the table anew"):
        gh.protection.redraw_records(original, original=original)
    with pytest.raises(gh.InputError, match="synthesise the table anew"):
        gh.protection.remove_records(original, original=original)
