"""A fitted CART synthesiser as plain arrays and JSON, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.synthesis.contract import Arrays, Header
from glasshouse.synthesis.variables import ColumnPlan, Variable

if TYPE_CHECKING:
    from glasshouse.synthesis.cart import Cart

C = TypeVar("C", bound="Cart")


def state(model: Cart) -> tuple[Header, Arrays]:
    """Header and arrays. The codes of the original are written only when trees are grown anew for each release."""
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
    steps = []
    for i, step in enumerate(model._steps.values()):
        steps.append(
            {
                "variable": step.variable,
                "predictors": list(step.predictors),
                "copies": step.copies,
                "tree": step.tree is not None,
            }
        )
        arrays[f"donors{i}"], arrays[f"starts{i}"], arrays[f"sizes{i}"] = step.donors, step.starts, step.sizes
        if step.lookup is not None:
            arrays[f"lookup{i}"] = step.lookup
        if step.tree is not None:
            for name in ("nodes", "directions", "ordered", "leaf_nodes"):
                arrays[f"{name}{i}"] = getattr(step.tree, name)
    for column, masks in model._rule_rows.items():
        if model.proper:
            arrays[f"rule_{model._plans_index(column)}"] = masks
    header = {
        "settings": model.settings(),
        "n_original": model.n_original,
        "notes": model.notes,
        "plans": [asdict(plan) for plan in model._plans],
        "variables": variables,
        "steps": steps,
    }
    return header, arrays


def restore(model: C, header: Header, arrays: Arrays) -> C:
    """The fitted synthesiser from what ``state`` gave."""
    from glasshouse.engines.models.tree.tree import CartTree
    from glasshouse.synthesis.steps import Step

    model.n_original = int(header["n_original"])
    model.notes = list(header["notes"])
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
    for i, s in enumerate(header["steps"]):
        tree = None
        if s["tree"]:
            empty = np.zeros(0)
            tree = CartTree(
                nodes=arrays[f"nodes{i}"],
                directions=arrays[f"directions{i}"],
                cuts=empty,
                ordered=arrays[f"ordered{i}"],
                members=empty,
                leaf_nodes=arrays[f"leaf_nodes{i}"],
                n_classes=0,
                leaf_counts=empty,
                importance=empty,
                approximate_splits=0,
            )
        model._steps[s["variable"]] = Step(
            s["variable"],
            tuple(s["predictors"]),
            arrays[f"donors{i}"],
            arrays[f"starts{i}"],
            arrays[f"sizes{i}"],
            tree,
            s["copies"],
            arrays.get(f"lookup{i}"),
        )
    model._rule_rows = {
        c: arrays.get(f"rule_{model._plans_index(c)}", np.zeros((0, model.n_original), np.bool_)) for c in model.rules
    }
    return model
