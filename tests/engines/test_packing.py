"""What travels to executors and back: arrays and numbers, bit for bit, and nothing that could run."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.engines.distributed.packing import packed, unpacked


def test_arrays_and_numbers_come_back_as_they_went() -> None:
    rng = np.random.default_rng(0)
    value = (
        rng.normal(size=(5, 0)),
        [3, None, "text", 0.1, True],
        (rng.integers(0, 9, (4, 3)).astype(np.int8), (np.array([np.nan, np.inf, -0.0]), ())),
        np.float64(0.3),
        np.asfortranarray(rng.normal(size=(3, 4))),
    )
    back = unpacked(packed(value))
    assert back[1] == (3, None, "text", 0.1, True) and back[3] == 0.3
    for one, other in (
        (value[0], back[0]),
        (value[2][0], back[2][0]),
        (value[2][1][0], back[2][1][0]),
        (value[4], back[4]),
    ):
        assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    assert unpacked(packed(None)) is None and unpacked(packed(np.arange(3))).tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [np.array([object()]), object(), {"array": 0}, 1j])
def test_what_is_no_array_of_numbers_does_not_travel(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        packed(value)
