"""Reading the reference cases of the attribute-prediction attack, shared by the tests of the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from glasshouse.data.pair import Pair

LEVELS = {
    "gender": ["female", "male"],
    "education": ["low", "medium", "high"],
    "region": ["east", "north", "south", "west"],
    "disease_status": ["healthy", "diabetic", "hypertensive"],
    "smoker": ["no", "yes"],
}


def read(folder: Path, name: str, levels: dict[str, list[str]] = LEVELS) -> pd.DataFrame:
    frame = pd.read_csv(folder / name, na_values=["NA"], keep_default_na=False)
    for column, order in levels.items():
        if column in frame:
            frame[column] = pd.Categorical(frame[column], categories=order)
    return frame


def load(folder: Path, name: str = "expected.json") -> dict[str, Any]:
    with open(folder / name) as file:
        found: dict[str, Any] = json.load(file)
    return found


def pair_of(folder: Path, case: dict[str, Any]) -> Pair:
    original, released = (read(folder, name) for name in case["files"])
    return Pair(original, released, keys=case["args"]["quasi_identifiers"], target=case["args"]["sensitive_attribute"])


def gain(shares: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Normalised gain of the true class over its share among the scored records."""
    own = shares[np.arange(len(truth)), truth]
    base = (np.bincount(truth, minlength=shares.shape[1]) / len(truth))[truth]
    return (own - base) / (1 - base)


def class_flags(shares: np.ndarray, truth: np.ndarray, method: str, tau: float) -> np.ndarray:
    own = shares[np.arange(len(truth)), truth]
    if method == "RCS_marginal":
        return gain(shares, truth) > tau
    if method == "RCS_conditional":
        means = np.bincount(truth, own) / np.maximum(np.bincount(truth), 1)
        return own / means[truth] > tau
    return 1 + np.log(np.maximum(own, 1e-10)) / np.log(shares.shape[1]) > tau


def number_flags(y: np.ndarray, predicted: np.ndarray, metric: str, epsilon: float, delta: float = 0.01) -> np.ndarray:
    miss = np.abs(y - predicted)
    if metric == "symmetric":
        return 2 * miss / (np.abs(y) + np.abs(predicted) + 2 * delta) < epsilon
    if metric == "stabilised_relative":
        return miss / (np.abs(y) + delta) < epsilon
    return miss < epsilon
