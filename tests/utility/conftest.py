"""Golden pairs for the utility tests: the committed case study, and SD2011 where the shared folder is at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import glasshouse as gh

CASE_KEYS = ["age_group", "sex", "education", "region"]


def read(path: Path) -> pd.DataFrame:
    """Golden files write missing values as NA; "NO" and "NONE" are categories."""
    return pd.read_csv(path, keep_default_na=False, na_values=["NA"])


@pytest.fixture(scope="session")
def case_frames(golden: Path) -> dict[str, pd.DataFrame]:
    folder = golden / "utility"
    return {"original": read(folder / "case_orig.csv"), **{k: read(folder / f"case_syn{k}.csv") for k in "ABC"}}


@pytest.fixture(scope="session")
def case_pairs(case_frames: dict[str, pd.DataFrame]) -> dict[str, gh.Pair]:
    return {k: gh.Pair(case_frames["original"], case_frames[k], keys=CASE_KEYS, target="income") for k in "ABC"}


@pytest.fixture(scope="session")
def case_expected(golden: Path) -> dict:
    return json.loads((golden / "utility" / "expected.json").read_text())


@pytest.fixture(scope="session")
def sd_frames(shared: Path) -> dict[str, pd.DataFrame]:
    folder = shared / "golden" / "utility"
    return {
        "original": read(folder / "sd2011_orig.csv"),
        **{k: read(folder / f"sd2011_syn_{k}.csv") for k in ("cart", "indep", "m1", "m2", "m3", "m4", "m5")},
    }


@pytest.fixture(scope="session")
def sd_pairs(sd_frames: dict[str, pd.DataFrame]) -> dict[str, gh.Pair]:
    return {
        k: gh.Pair(sd_frames["original"], sd_frames[k], keys=["age", "sex", "edu"], target="income")
        for k in ("cart", "indep")
    }


@pytest.fixture(scope="session")
def sd_expected(shared: Path) -> dict:
    return json.loads((shared / "golden" / "utility" / "expected.json").read_text())
