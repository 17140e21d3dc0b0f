"""Which columns a measure looks at in a wide table: bounded by how its work grows, drawn by name, and told."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.measure import AnyMeasure
from glasshouse.engines.neighbours import effort
from glasshouse.judgement import wide

# their work is linear in the columns, or goes by the keys; what is equal in every column is looked for in every column
WHOLE = {
    "exact_copies", "copies_but_one", "identical", "repeated_records", "shared_identifiers",
    "gower_paired",
}  # fmt: skip
MEASURES = sorted(all_measures().items())


def table(columns: int, n: int = 20, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    half = columns // 2
    return pl.DataFrame(
        {f"c{j}": rng.choice(["a", "b"], n) for j in range(half)}
        | {f"n{j}": rng.normal(size=n) for j in range(columns - half)}
    )


def looked_at(measure: AnyMeasure, pair: gh.Pair) -> list[str] | None:
    made = wide.narrowed(measure, pair, {})
    return None if made is None else next(iter(made.values()))


@pytest.mark.parametrize(("name", "measure"), MEASURES)
def test_every_measure_of_all_columns_is_bounded(name: str, measure: AnyMeasure, monkeypatch: object) -> None:
    """A measure that takes columns declares what a wide table does to it, or is among those that look at all."""
    takes = any(option in measure.options for option in wide.NAMED_IN)
    assert not takes or bool(measure.wide) != (name in WHOLE)
    if measure.wide:
        assert takes, "nobody could ask for more columns"
        long = gh.Pair(table(500), table(500, seed=1))
        monkeypatch.setattr(effort, "COMPARISONS", 1)  # type: ignore[attr-defined]
        assert len(looked_at(measure, long)) in (wide.MOST_COLUMNS, wide.LEAST_COLUMNS)


def test_short_tables_are_compared_in_every_column() -> None:
    dcr = all_measures()["dcr"]
    assert looked_at(dcr, gh.Pair(table(500), table(500, seed=1))) is None
    assert effort.most_columns(gh.Pair(table(2, 5_000), table(2, 10))) == 400


def test_the_same_columns_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "COMPARISONS", 1)
    original, released = table(300), table(300, seed=1)
    dcr = all_measures()["dcr"]
    one = looked_at(dcr, gh.Pair(original, released, keys=["c3"], target="n149"))
    turned = [t.select(t.columns[::-1]).sample(fraction=1, shuffle=True, seed=2) for t in (original, released)]
    other = looked_at(dcr, gh.Pair(*turned, keys=["c3"], target="n149"))
    assert set(one) == set(other) and {"c3", "n149"} <= set(one)
    assert 20 < sum(name.startswith("n") for name in one) < 80, "drawn from the whole table, not its first columns"


def test_keys_are_never_cut_from_an_attacker() -> None:
    original, released = table(300), table(300, seed=1)
    keyed = gh.Pair(original, released, keys=[f"c{j}" for j in range(5)], target="c9")
    bare = gh.Pair(original, released, target="c9")
    tstr = all_measures()["tstr"]
    assert looked_at(tstr, keyed) is None
    assert len(looked_at(tstr, bare)) == wide.MOST_COLUMNS and "c9" not in looked_at(tstr, bare)


def test_an_assessment_says_what_was_looked_at_and_how_to_see_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "COMPARISONS", 1)
    original, released, holdout = (table(120, 40, seed) for seed in range(3))
    given = {"holdout": holdout, "measures": ["dcr", "linkability", "exact_copies", "association"]}
    found = gh.assess(original, released, **given)
    assert "dcr, linkability look at 100 columns only" in found.notes[0] and "association looks at 60" in found.notes[0]
    assert "exact_copies" not in found.notes[0]
    assert len(found.results["dcr"].details["columns"]) == 100
    outside = found.to_dict("external")["notes"]
    assert "100 columns or more" in outside[0] and "association looks at 60" in outside[0]
    options = {"dcr": {"columns": None}, "linkability": {"among": None}, "association": {"columns": None}}
    whole = gh.assess(original, released, **given, options=options)
    assert not whole.notes and len(whole.results["dcr"].details["columns"]) == 120


def test_what_is_told_outside_does_not_depend_on_the_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of columns that are looked at follows from the number of people, which is nobody's business."""
    chosen = [all_measures()[name] for name in ("dcr", "association", "hellinger")]
    tables = table(120), table(120, seed=1)
    said = []
    for comparisons in (1, 10**10):
        monkeypatch.setattr(effort, "COMPARISONS", comparisons)
        said.append(wide.outside_note(chosen, gh.Pair(*tables), {}))
    assert said[0] == said[1] and "dcr" in said[0]
    assert wide.outside_note(chosen, gh.Pair(table(60), table(60)), {}) is None
