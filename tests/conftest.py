"""Fixtures every room shares: where the reference data lives, and the four engines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with reference data that may not be committed (GLASSHOUSE_SHARED, or `shared` beside the repository)."""
    folder = Path(os.environ.get("GLASSHOUSE_SHARED", ROOT.parent / "shared"))
    if not (folder / "golden").is_dir():
        pytest.skip("reference data folder `shared` is not here; it holds third-party data that cannot be committed")
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """Reference values made by our own simulations, committed with the tests."""
    return ROOT / "tests" / "golden"
