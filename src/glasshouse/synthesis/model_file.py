"""A fitted sequential synthesiser as plain arrays and JSON, and back."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.synthesis.contract import Arrays, Header
from glasshouse.synthesis.steps import AnyStep
from glasshouse.synthesis.variables import ColumnPlan, Variable

if TYPE_CHECKING:
    from glasshouse.engines.models.tree.tree import CartTree
    from glasshouse.synthesis.sequential import Sequential

S = TypeVar("S", bound="Sequential")

STEPS = {
    "Donors": "steps",
    "Lookup": "steps",
    "Normal": "methods.normal",
    "Ranked": "methods.normal",
    "Classes": "methods.logistic",
    "Thresholds": "methods.logistic",
    "Cells": "methods.block",
    "Member": "methods.block",
}
TREE = ("nodes", "directions", "ordered", "leaf_nodes")  # what a tree needs to find a leaf


def state(model: Sequential) -> tuple[Header, Arrays]:
    """Header and arrays. The codes of the original are written only when they are needed for the next release."""
    if not model._variables:
        raise InputError("this synthesiser is not fitted; call fit(original) before save")
    arrays: Arrays = {}
    variables = []
    for i, variable in enumerate(model._variables.values()):
        described: Header = {
            "name": variable.name,
            "column": variable.column,
            "number": variable.number,
            "ordered": variable.ordered,
        }
        if variable.number:
            arrays[f"levels{i}"] = np.asarray(variable.levels, np.float64)
        else:
            described["levels"] = list(variable.levels)
        if model.proper or (variable.number and model.smoothing):
            arrays[f"codes{i}"] = variable.codes
        if variable.rows is not None:
            arrays[f"rows{i}"] = variable.rows
        variables.append(described)
    steps = {name: _packed(step, f"step{i}", arrays) for i, (name, step) in enumerate(model._steps.items())}
    for column, masks in model._rule_rows.items():
        if model.proper:
            arrays[f"rule_{model._plans_index(column)}"] = masks
    header = {
        "settings": model.settings(),
        "n_original": model.n_original,
        "content": model._content,
        "notes": model.notes,
        "methods": model._methods,
        "plans": [asdict(plan) for plan in model._plans],
        "variables": variables,
        "steps": steps,
    }
    return header, arrays


def restore(model: S, header: Header, arrays: Arrays) -> S:
    """The fitted synthesiser from what ``state`` gave."""
    model.n_original = int(header["n_original"])
    model._content = str(header.get("content", ""))
    model.notes = list(header["notes"])
    model._methods = dict(header["methods"])
    model._plans = [ColumnPlan(**plan) for plan in header["plans"]]
    nothing = np.zeros(0, np.int32)
    for i, v in enumerate(header["variables"]):
        levels = arrays[f"levels{i}"] if v["number"] else v["levels"]
        model._variables[v["name"]] = Variable(
            v["name"],
            v["column"],
            v["number"],
            v["ordered"],
            levels,
            arrays.get(f"codes{i}", nothing),
            arrays.get(f"rows{i}"),
        )
    model._steps = {name: _unpacked(packed, arrays) for name, packed in header["steps"].items()}
    model._rule_rows = {
        c: arrays.get(f"rule_{model._plans_index(c)}", np.zeros((0, model.n_original), np.bool_)) for c in model.rules
    }
    return model


def _packed(step: AnyStep, key: str, arrays: Arrays) -> Header:
    """A step as JSON; its arrays go to ``arrays`` under names that begin with ``key``."""
    described: Header = {"class": type(step).__name__}
    for field in fields(step):  # type: ignore[arg-type]  # every step is a data class
        value, place = getattr(step, field.name), f"{key}_{field.name}"
        if isinstance(value, np.ndarray):
            arrays[place] = value
            described[field.name] = {"array": place}
        elif isinstance(value, list):
            for k, table in enumerate(value):
                arrays[f"{place}_{k}"] = table
            described[field.name] = {"arrays": [f"{place}_{k}" for k in range(len(value))]}
        elif field.name == "tree" and value is not None:
            for part in TREE:
                arrays[f"{place}_{part}"] = getattr(value, part)
            described[field.name] = {"tree": place}
        elif is_dataclass(value):
            described[field.name] = {"step": _packed(value, place, arrays)}  # type: ignore[arg-type]
        else:
            described[field.name] = value
    return described


def _unpacked(described: Header, arrays: Arrays) -> Any:
    """The step from what ``_packed`` gave."""
    made = getattr(import_module(f"glasshouse.synthesis.{STEPS[described['class']]}"), described["class"])
    found: Header = {}
    for name, value in described.items():
        if name == "class":
            continue
        if not isinstance(value, dict):
            found[name] = tuple(value) if isinstance(value, list) else value
        elif "array" in value:
            found[name] = arrays[value["array"]]
        elif "arrays" in value:
            found[name] = [arrays[place] for place in value["arrays"]]
        elif "tree" in value:
            found[name] = _tree({part: arrays[f"{value['tree']}_{part}"] for part in TREE})
        else:
            found[name] = _unpacked(value["step"], arrays)
    return made(**found)


def _tree(parts: Arrays) -> CartTree:
    from glasshouse.engines.models.tree.tree import CartTree

    empty = np.zeros(0)
    return CartTree(
        **parts, cuts=empty, members=empty, n_classes=0, leaf_counts=empty, importance=empty, approximate_splits=0
    )
