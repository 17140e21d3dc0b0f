"""The detection study: what it plants is what it says, and a strong leak is noticed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

STUDY = Path(__file__).resolve().parents[3] / "studies" / "detection.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    import sys

    spec = importlib.util.spec_from_file_location("detection_study", STUDY)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["detection_study"] = module
    spec.loader.exec_module(module)
    return module


def test_planted_records_are_where_the_truth_says(study: ModuleType) -> None:
    training, release, holdout, truth = study.planted(study.Task(3, "copied", 0.05, 400))
    assert (training.height, release.height, holdout.height) == (400, 400, 400)
    sources = np.flatnonzero(truth >= 0)
    assert len(sources) == 20
    assert release[truth[sources]].equals(training[sources])
    _, moved, _, same_truth = study.planted(study.Task(3, "jittered", 0.05, 400))
    assert (same_truth == truth).all()
    assert not moved[truth[sources]].equals(training[sources])
    clean = study.planted(study.Task(3, "clean", 0.0, 400))[1]
    elsewhere = np.setdiff1d(np.arange(400), truth[sources])
    assert clean[elsewhere].equals(release[elsewhere])


def test_power_is_read_against_the_clean_level(study: ModuleType) -> None:
    rows = [
        {"measure": "m", "kind": kind, "share": share, "replicate": r, "statistic": value, "alarm": False}
        for kind, share, values in (("clean", 0.0, range(20)), ("copied", 0.05, (18.5, 19.5, 30, 40)))
        for r, value in enumerate(map(float, values))
    ]
    table = study.power(pl.DataFrame(rows))
    found = table.filter(pl.col("kind") == "copied")
    assert found["level"].item() == 19.0
    assert found["power"].item() == 0.75


@pytest.mark.study
def test_a_fifth_of_copies_is_seen_by_most_measures(study: ModuleType) -> None:
    clean = {row["measure"]: row for row in study.assess(study.Task(1, "clean", 0.0, 400))}
    leaky = {row["measure"]: row for row in study.assess(study.Task(1, "copied", 0.2, 400))}
    assert set(clean) == set(study.measures())
    higher = [name for name in clean if leaky[name]["statistic"] > clean[name]["statistic"]]
    assert len(higher) >= 0.8 * len(clean)
