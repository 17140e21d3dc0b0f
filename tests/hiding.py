"""A Python in which some packages are not installed, although they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIDE = """
import importlib.machinery, sys

class Hiding(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else super().find_spec(name, path, target)

sys.meta_path[:] = [Hiding if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
"""


def needs_pandas() -> Any:
    """pandas; where it is missing, the tests of a file are skipped, which say why."""
    return pytest.importorskip("pandas", reason="tables of pandas need pandas: make test installs it")


def without(script: str, *hidden: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script where packages are hidden, as they are on a machine that lacks them."""
    return subprocess.run(
        [sys.executable, "-c", f"HIDDEN = {set(hidden)!r}\n{HIDE}\n{script}"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        timeout=300,
    )


def answers(script: str, *hidden: str, folder: Path | None = None) -> str:
    """What the script prints; it must not fail."""
    ran = without(script, *hidden, folder=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()
