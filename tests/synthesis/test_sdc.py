"""Disclosure control of a release: reference counts, hand examples, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.synthesis import replicated_uniques, sdc
from glasshouse.synthesis.smoothing import sheather_jones, smooth, spline_by_rank

KEYS = ["sex", "age", "region", "placesize"]


def test_replicated_uniques_by_hand() -> None:
    original = pl.DataFrame({"a": ["x", "y", "y", None, "w"], "b": [1, 2, 2, 3, 4]})
    released = pl.DataFrame({"a": ["x", "y", None, "w", "w", "z"], "b": [1.0, 2, 3, 4, 4, 9]})
    found = replicated_uniques(released, original)
    assert found.original_uniques == 3 and found.synthetic_uniques == 4
    np.testing.assert_array_equal(found.replicated, [True, False, True, False, False, False])
    np.testing.assert_array_equal(found.in_original, [True, True, True, False, False, False])
    # one key: the masks are not empty (the reference implementation has a slip there)
    assert replicated_uniques(released, original, ["b"]).replicated.sum() == 2


def test_reference_counts(shared: Path) -> None:
    folder = shared / "golden" / "synthpop"
    expected = json.loads((folder / "expected_sdc.json").read_text())
    original = pl.read_csv(folder / "sd2011_orig.csv.gz")
    releases = [pl.read_csv(folder / f"sd2011_syn{i}.csv.gz") for i in range(1, 6)]
    for remove, case in (
        ("replicated_uniques", "rm_replicated_uniques_m1"),
        ("uniques_in_original", "rm_uniques_in_orig_m1"),
    ):
        done = sdc(releases[0], original, keys=KEYS, remove=remove)
        assert done.removed == expected[case]["rows_removed"]
        assert done.released.height == expected[case]["rows_left"]
    several = sdc(releases, original, keys=KEYS, remove="replicated_uniques")
    assert [d.removed for d in several] == expected["rm_replicated_uniques_m5"]["rows_removed"]
    case = expected["recode"]
    done = sdc(
        releases[0],
        recode={"age": (20, 80), "income": (None, 5000)},
        recode_exclude={"income": [-8]},
        suffix="_s",
        label="FAKE",
    )
    assert done.bottom_coded["age"] == case["bottom_coded_age"] and done.top_coded["age"] == case["top_coded_age"]
    assert done.top_coded["income"] == case["top_coded_income"]
    assert done.released["age_s"].sum() == case["age_sum_after"]
    assert done.released["income_s"].sum() == case["income_sum_after"]
    assert done.released.columns == case["names_after"]
    assert (done.released["flag"] == "FAKE").all()


def test_reference_smoothing_is_close(shared: Path) -> None:
    folder = shared / "golden" / "synthpop"
    case = json.loads((folder / "expected_sdc.json").read_text())["smooth_income"]
    released = pl.read_csv(folder / "sd2011_syn1.csv.gz")
    done = sdc(released, smooth=["income"], special_codes={"income": [-8]})
    assert done.smoothed["income"] == case["n_smoothed"]
    assert (done.released["income"] == -8).sum() == (released["income"] == -8).sum()
    before = released["income"].to_numpy()
    rows = np.flatnonzero(~np.isnan(before) & (before != -8))[:20]
    np.testing.assert_allclose(done.released["income"].to_numpy()[rows], case["first20_after"], rtol=0.03)


def test_pandas_and_order_of_work() -> None:
    original = pd.DataFrame({"a": [1, 2, 50], "b": ["x", "y", "z"]})
    released = pd.DataFrame({"a": [1, 2, 70], "b": ["x", "y", "z"]})
    done = sdc(released, original, recode={"a": (None, 50)}, remove="replicated_uniques", prefix="s_")
    assert isinstance(done.released, pd.DataFrame)
    assert done.removed == 3  # 70 became 50 before uniqueness was judged
    assert list(done.released.columns) == ["s_a", "s_b"]


def test_bandwidth_and_smoothers() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 2000)
    assert 0.15 < sheather_jones(x) < 0.3
    straight = np.arange(200.0)
    np.testing.assert_allclose(spline_by_rank(rng.permutation(straight)).mean(), straight.mean(), atol=0.1)
    dominated = np.where(rng.random(500) < 0.8, 0.0, rng.normal(10, 1, 500))
    np.testing.assert_array_equal(smooth(dominated, dominated, "density", 2, rng), dominated)
    np.testing.assert_array_equal(smooth(np.ones(50), np.ones(50), "rmean", 0, rng), np.ones(50))


def test_bad_input() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    with pytest.raises(InputError, match="remove="):
        sdc(frame, frame, remove="all")
    with pytest.raises(InputError, match="compares with the original"):
        sdc(frame, remove="replicated_uniques")
    with pytest.raises(InputError, match="not numeric"):
        sdc(frame, recode={"b": (0, 1)})
    with pytest.raises(InputError, match="does not have"):
        sdc(frame, smooth=["c"])
    with pytest.raises(InputError, match="not in the release"):
        replicated_uniques(frame.drop("b"), frame, ["b"])
