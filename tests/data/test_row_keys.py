"""Joint identity of records, counted or sorted: the same as numpy finds."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.data.row_keys import RowKey


@pytest.mark.parametrize("levels", [1, 7, 5000, 2**40])  # counted, counted with gaps, sorted, made dense on the way
@pytest.mark.parametrize("n", [0, 1, 60])
def test_distinct_records_are_those_of_numpy(levels: int, n: int) -> None:
    ids = np.random.default_rng(n).integers(0, levels, n)
    columns = (ids, ids[::-1], (ids % 2).astype(np.uint8))
    key = RowKey(n)
    for column in columns:
        key.add(column)
    rows = np.column_stack(columns)
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(key.ids(), kind.reshape(-1))
    for one, other in zip(key.distinct(), (first, kind.reshape(-1)), strict=True):
        np.testing.assert_array_equal(one, other)
