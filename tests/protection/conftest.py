"""The golden cases of protection, by kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT

KINDS = ("ls", "tb", "gr", "gar")


@pytest.fixture(scope="session")
def golden_protection(shared: Path) -> Path:
    folder = shared / "golden" / "protection"
    if not folder.is_dir():
        pytest.skip("the reference values of protection are not in the folder `shared`")
    return folder


def golden_case(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any], pl.DataFrame]:
    """Arguments, expected values and table of one case."""
    case = json.loads((folder / f"{name}.json").read_text())
    return case["args"], case["expected"], pl.read_csv(folder / case["input"], infer_schema_length=None)


__all__ = ["KINDS", "ROOT", "golden_case"]
