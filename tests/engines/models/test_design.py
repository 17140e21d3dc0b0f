"""Rows of codes: their order, and which of them are equal."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.data import row_keys
from glasshouse.engines.canonical import Alike
from glasshouse.engines.models.design import distinct_rows, lexicographic


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_ordered_by_the_first_column_then_the_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(-1, rng.choice([1, 3, 2**31 - 1]), 50, np.int32) for _ in range(1 + seed % 7)]
    for last in (None, rng.random(50), rng.integers(0, 2, 50, np.int8)):
        keys = [*([] if last is None else [last]), *columns[::-1]]
        assert (lexicographic(columns, last) == np.lexsort(keys)).all()


@pytest.mark.parametrize("levels", [[2, 3], [40, 50], [2**31 - 1, 2**31 - 1, 5]])
def test_equal_rows_are_one_whether_counted_or_sorted(levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.choice(rng.integers(0, size, 4), 300) for size in levels])
    for few in (0, row_keys.COUNTED, 100):
        monkeypatch.setattr(row_keys, "COUNTED", few)
        first, row_of = distinct_rows(codes)
        assert (codes[first][row_of] == codes).all()
        rows = [tuple(row) for row in codes[first].tolist()]
        assert rows == sorted(set(map(tuple, codes.tolist())))
        assert all(tuple(codes[at]) not in set(map(tuple, codes[:at].tolist())) for at in first)


def test_rows_of_numbers_stand_by_what_they_hold() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (500, 2)) * 1.5
    last = rng.integers(0, 4, 500)
    alike, order = Alike.of(table), rng.permutation(500)
    assert (alike.rows == table[alike.order]).all()
    assert alike.number.max() + 1 == len(np.unique(table, axis=0)) and (np.diff(alike.number) >= 0).all()
    same = (np.diff(alike.number) == 0) == (np.diff(alike.rows, axis=0) == 0).all(axis=1)
    assert same.all()
    shuffled = Alike.of(table[order])
    assert (shuffled.rows == alike.rows).all()
    by, again = alike.by(last), shuffled.by(last[order])
    assert (table[by] == alike.rows).all() and (last[by] == last[order][again]).all()
    assert all((np.diff(last[by][alike.number == run]) >= 0).all() for run in range(9))
