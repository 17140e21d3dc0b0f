"""The reference cases of RAPID: data, arguments and per-record values of the original implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

LEVELS = {
    "gender": ["female", "male"],
    "education": ["low", "medium", "high"],
    "region": ["east", "north", "south", "west"],
    "disease_status": ["healthy", "diabetic", "hypertensive"],
    "smoker": ["no", "yes"],
}
FOLDER = Path(__file__).resolve().parents[2] / "golden" / "rapid"


def expected(name: str = "expected.json") -> dict[str, Any]:
    with open(FOLDER / name) as file:
        found: dict[str, Any] = json.load(file)
    return found


def read(name: str, levels: bool = True) -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / name, na_values=["NA"], keep_default_na=False)
    for column, order in LEVELS.items():
        if levels and column in frame:
            frame[column] = pd.Categorical(frame[column], categories=order)
    return frame


def call(case: dict[str, Any]) -> tuple[tuple[pd.DataFrame, pd.DataFrame], dict[str, Any]]:
    """Tables and options of a reference case."""
    given = case["args"]
    model = given["model_type"]
    options: dict[str, Any] = {
        "keys": given["quasi_identifiers"],
        "target": given["sensitive_attribute"],
        "attackers": ("logit" if model.startswith("logit") else "l1" if model == "l1_logit" else model,),
    }
    if "lambda" in given:
        options["attacker_options"] = {"l1": {"penalty": given["lambda"]}}
    if "num_epsilon" in given:
        options["epsilon"] = given["num_epsilon"] / (100 if given.get("num_epsilon_scale") == "percent" else 1)
    names = {
        "cat_tau": "tau",
        "cat_eval_method": "score",
        "num_error_metric": "error",
        "num_delta": "delta",
        "num_na_strategy": "missing_target",
        "num_constant_value": "constant",
    }
    options |= {ours: given[theirs] for theirs, ours in names.items() if given.get(theirs) is not None}
    original, released = (read(name) for name in case["files"])
    return (original, released), options
