"""Wide tables: what is said of many columns alike is said once, and asking a pair about its columns stays cheap."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.data.findings import ALIKE, IN_FULL
from glasshouse.data.tables import Tables
from glasshouse.show.cli.catalogue import MANY, _columns


def wide(columns: int, n: int = 60, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"v{j:04d}": rng.normal(size=n) * (2 if seed else 1) for j in range(columns)})


def test_a_check_of_many_columns_prints_a_summary() -> None:
    found = gh.check(wide(300), wide(300, seed=1))
    assert sum(f.code == "out_of_range" for f in found) > 200
    lines = repr(found).splitlines()
    assert len(lines) == len({f.code for f in found if f.code != "out_of_range"}) + IN_FULL + 1
    more = next(line for line in lines if "more like this" in line)
    assert "(out_of_range)" in more and "to_frame()" in more
    assert found._repr_html_().count("<tr>") == len(lines) + 1
    assert found.to_frame().height == len(found)  # nothing is lost


def test_few_findings_are_all_printed() -> None:
    found = gh.check(wide(ALIKE), wide(ALIKE, seed=1))
    assert len(repr(found).splitlines()) == len(found) == len(found.summary())


def test_an_assessment_of_many_columns_tells_the_summary() -> None:
    found = gh.assess(wide(300), wide(300, seed=1), measures=["repeated_records"])
    assert len(found.overview["findings"]) < 10


def test_the_command_counts_kinds_where_columns_are_many() -> None:
    few, many = (list(gh.Pair(wide(k), wide(k)).schema.values()) for k in (MANY, MANY + 1))
    assert len(_columns(few).splitlines()) == MANY + 1
    assert len(_columns(many).splitlines()) == 3 and "41" in _columns(many)


def test_which_columns_there_are_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for column by column, working it out each time is the square of the columns."""
    pair = gh.Pair(wide(30), wide(30))
    asked = []
    monkeypatch.setattr(Tables, "lazy_columns", lambda self, table: asked.append(table) or list(self.missing[table]))
    assert pair.columns is pair.columns and pair.numeric is pair.numeric
    assert len(pair.columns) == 30 and pair.columns == tuple(pair._tables.shared) and not asked
