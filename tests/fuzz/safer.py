"""The doors of what makes a release safer: recipes, hierarchies of planted values, and a search that is tiny."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

import glasshouse as gh
from glasshouse.core.errors import InputError
from tests.fuzz.nasty import Nasty

P = gh.protection
TINY = {
    "name": "tiny",
    "require": ["copying"],
    "leak": {"tolerance": 5},
    "run": {"measures": ["exact_copies", "identical"]},
}
TRIED = ("redraw_records", "swap_ranks", "merge_levels", "mix_independent", "round_numbers", "coarsen_dates")


def _released(given: Nasty) -> Any:
    return given.released[0] if isinstance(given.released, list) else given.released


def by_recipe(given: Nasty, name: str, arguments: dict[str, Any]) -> list[str]:
    """An operation by way of a recipe: written, read again, and applied to the release; what was said is looked at."""
    recipe = P.Recipe.from_toml(P.Recipe([P.Step(name, arguments)]).to_toml())
    made = P.apply(_released(given), recipe, original=given.original, random_state=1)
    steps = [str(one["sentence"]) for one in made.details["steps"]]
    return [made.sentence, repr(made), *made.notes, *steps]


def generalised(given: Nasty, pair: Any, rng: np.random.Generator) -> list[str]:
    """Keys at the levels of hierarchies that name the values of the table, some of them wrongly."""
    table, keys = _released(given), list(pair.columns)[:2]
    said: list[str] = []
    for k, hierarchies in ((2, None), (3, {key: _hierarchy(pair.local("released")[key], rng) for key in keys})):
        made = P.generalise(table, keys, k, hierarchies=hierarchies)
        said += [made.sentence, *made.notes]
    return said


def _hierarchy(values: pl.Series, rng: np.random.Generator) -> Any:
    """One of the forms a caller may write."""
    labels = [str(v) for v in values.drop_nulls().unique().to_list()[: int(rng.integers(1, 9))]]
    way = int(rng.integers(0, 6))
    if way == 0:
        return [dict.fromkeys(labels, "some")]
    if way == 1:
        return {"rows": [[label, label[:2], "*"] for label in labels]}
    if way == 2:
        return {"rows": [[label, labels[0]] for label in [*labels, *labels[:1]]]}
    if way == 3:
        return [labels, labels[:1]]
    return "nowhere.csv" if way == 4 else P.Hierarchy()


def mitigated(pair: Any) -> list[str]:
    """A search of two steps at most, as readers outside see it; inside only what is no table is looked at."""
    if pair.m != 1:
        raise InputError("one release at a time")
    fixed = gh.mitigate(pair, policy=gh.Policy.from_dict(TINY), allow=list(TRIED), steps=1, n_jobs=1, progress=False)
    fixed.to_html(), fixed.to_markdown(), repr(fixed), fixed.steps, fixed.recipe.to_toml()
    told = [fixed.to_json(audience="external"), fixed.to_markdown(audience="external")]
    return [*told, json.dumps(fixed.content("external")), fixed.to_html(audience="external")]
