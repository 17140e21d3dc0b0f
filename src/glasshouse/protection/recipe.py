"""A recipe: operations and their arguments in order, kept as TOML and applied to this year's table or the next."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, names_known
from glasshouse.core.options import door
from glasshouse.core.plain import Content, plain
from glasshouse.core.settings import parse, read_settings, toml_key, toml_value
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.core.words import counted
from glasshouse.core.writing import write_atomically
from glasshouse.data.frames import Frame
from glasshouse.protection.held import Held, changed, held
from glasshouse.protection.operation import SECRETS, Operation, Protected, operations

WITHOUT = "without"  # the key of a step that lists the arguments set to None, which TOML cannot write
HEAD = """# Steps that make a table safer, in order: glasshouse.protection.apply(table, "this file")
"""


@door
@dataclass(frozen=True)
class Step:
    """One operation with its arguments.

    Parameters
    ----------
    operation : str
        Its name.
    arguments : mapping, default empty
        Plain data, as the function takes it; the tables themselves are no arguments. A Generator as seed becomes a
        whole number drawn from it, so that the step replays. A secret is refused: ``apply`` takes it.
    """

    operation: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = operations()[self.operation].options
        names_known(self.operation, self.arguments, known, "takes no argument {name}", "; look at the step")
        if any(self.arguments.get(name) is not None for name in SECRETS):
            raise InputError(
                f"a step never holds a secret, because recipes are kept and shown: leave key out of the step "
                f"{self.operation}, and give it at replay, apply(table, recipe, key=...); or name a file that holds it "
                "with key_file"
            )
        seed = self.arguments.get("random_state")
        if isinstance(seed, np.random.Generator):
            object.__setattr__(self, "arguments", {**self.arguments, "random_state": integer_seed(seed)})

    def run(self, table: Frame, original: Frame = None, seed: int | None = None, key: str | None = None) -> Protected:
        """Run it on a table.

        Parameters
        ----------
        table : frame, path or Protected
            The table.
        original : frame or path, optional
            The confidential table, for operations that look at it.
        seed : int, optional
            In place of the step's own seed. Pseudonyms of a step without one are drawn anew all the same.
        key : str, optional
            The secret, for a step that needs one.

        Returns
        -------
        Protected

        Raises
        ------
        InputError
            Where the operation needs the original and there is none, and for what the operation itself refuses.
        """
        made = operations()[self.operation]
        given: dict[str, Any] = dict(self.arguments)
        if "original" in made.options:
            if original is None and made.options["original"] is inspect.Parameter.empty:
                raise InputError(f"{made.name} compares with the confidential table; pass the original too")
            given["original"] = original
        if self._seeded(made) and seed is not None:
            given["random_state"] = seed
        if self.takes_secret and key is not None:
            given["key"] = key
        self._complete(made, given)
        return made(table, **given)

    @property
    def takes_secret(self) -> bool:
        """Whether it needs a secret that it does not name a file of."""
        return self.arguments.get("method") == "keyed" and self.arguments.get("key_file") is None

    def _seeded(self, made: Operation) -> bool:
        """Whether a seed for the whole recipe reaches it: what is drawn anew by default is seeded by its step only."""
        return made.random and (made.seeded or self.arguments.get("random_state") is not None)

    def written(self) -> str:
        """The step as TOML; an argument that is None where the default is another stands under ``without``.

        Returns
        -------
        str
        """
        defaults = operations()[self.operation].options
        lines = ["[[step]]", f"operation = {toml_value(self.operation)}"]
        lines += [f"{toml_key(name)} = {toml_value(v)}" for name, v in self.arguments.items() if v is not None]
        none = [name for name, v in self.arguments.items() if v is None and defaults[name] is not None]
        return "\n".join([*lines, *([f"{WITHOUT} = {toml_value(none)}"] if none else [])]) + "\n"

    @staticmethod
    def _complete(made: Operation, given: Mapping[str, object]) -> None:
        needed = [name for name, default in made.options.items() if default is inspect.Parameter.empty]
        lacking = [name for name in needed if name not in given]
        if lacking:
            raise InputError(f"the step {made.name} of the recipe lacks {lacking[0]!r}; add it")


@door
@dataclass(frozen=True)
class Recipe:
    """Steps in order.

    Parameters
    ----------
    steps : sequence of Step
        What to do.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> recipe = gh.protection.Recipe([gh.protection.Step("round_numbers", {"columns": ["age"], "base": 5})])
    >>> print(recipe.to_toml().split(chr(10), 2)[2])
    [[step]]
    operation = "round_numbers"
    columns = ["age"]
    base = 5
    <BLANKLINE>
    >>> gh.protection.apply(pl.DataFrame({"age": [31, 33]}), recipe).table["age"].to_list()
    [30, 35]
    """

    steps: Sequence[Step] = ()

    def __post_init__(self) -> None:
        wrong = next((one for one in self.steps if not isinstance(one, Step)), None)
        if wrong is not None:
            raise InputError(f"a recipe is made of Step(operation, arguments), not of a {type(wrong).__name__}")
        object.__setattr__(self, "steps", tuple(self.steps))

    def __len__(self) -> int:
        return len(self.steps)

    def to_toml(self) -> str:
        """The recipe as TOML text.

        Returns
        -------
        str
        """
        return "\n".join([HEAD, *(step.written() for step in self.steps)])

    def save(self, path: str | Path) -> Path:
        """Write the recipe to a TOML file.

        Parameters
        ----------
        path : str or Path
            Where to.

        Returns
        -------
        Path
        """
        return write_atomically(path, self.to_toml())

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Recipe

        Raises
        ------
        InputError
            For a file that is not there, holds no steps, or names an operation or an argument that does not exist.
        """
        return cls._of(read_settings(path, "recipe", "toml"), f"recipe {path}")

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """Read a recipe from TOML text.

        Parameters
        ----------
        text : str
            What ``to_toml`` wrote.

        Returns
        -------
        Recipe
        """
        return cls._of(parse(text, "toml", "the recipe"), "the recipe")

    @classmethod
    def _of(cls, content: Content, source: str) -> Recipe:
        strange = [name for name in content if name != "step"]
        entries = content.get("step", [])
        if strange or not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise InputError(f"{source} must hold steps, each under [[step]] with operation = ..., and nothing else")
        steps = []
        for number, one in enumerate(entries, start=1):
            name = one.pop("operation", None)
            if not isinstance(name, str):
                raise InputError(f"step {number} of {source} does not say its operation, such as 'round_numbers'")
            none = one.pop(WITHOUT, [])
            if not isinstance(none, list) or not all(isinstance(each, str) and each not in one for each in none):
                raise InputError(
                    f"step {number} of {source}: {WITHOUT} lists the names of arguments that are set to nothing, each "
                    'of them given nowhere else, such as without = ["random_state"]'
                )
            steps.append(Step(name, {**one, **dict.fromkeys(none)}))
        return cls(steps)


@door
def apply(
    table: Frame,
    recipe: Recipe | str | Path,
    original: Frame = None,
    random_state: int | None = None,
    *,
    key: str | None = None,
) -> Protected:
    """Apply a recipe to a table, step after step.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    recipe : Recipe, str or Path
        The steps, or the TOML file that holds them.
    original : frame or path, optional
        The confidential table, for operations that look at it. Default: none.
    random_state : int, optional
        Seeds every step that draws at random, each by its own stream, but for pseudonyms whose step has no seed: they
        are drawn anew. Default: the seeds the recipe names.
    key : str, optional
        The secret of steps with keyed pseudonyms, which a recipe never holds. It is not written down anywhere.

    Returns
    -------
    Protected
        ``details["steps"]`` says what each step did; ``cells`` and ``records`` compare the end with the beginning, or
        add up the steps where records were removed.

    Raises
    ------
    InputError
        For a step that names a column the table does not have, or needs an original where there is none; for a recipe
        without steps, and for a secret that no step needs.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> steps = gh.protection.Recipe([gh.protection.Step("round_numbers", {"columns": ["age"], "base": 10})])
    >>> gh.protection.apply(pl.DataFrame({"age": [31, 37]}), steps)
    1 step: round_numbers. 2 cells of 2 records differ from before.
    """
    steps = recipe if isinstance(recipe, Recipe) else Recipe.load(recipe)
    if not steps.steps:
        raise InputError("the recipe has no steps: nothing would protect the table; add one under [[step]]")
    if key is not None and not any(step.takes_secret for step in steps.steps):
        raise InputError("a secret is given, and no step of the recipe needs one; leave it out, or say method='keyed'")
    made: list[Protected] = []
    before = held(table)
    current: Frame = changed(before, {}).table
    for number, step in enumerate(steps.steps, start=1):
        seed = None if random_state is None else integer_seed(random_state, "recipe", number, step.operation)
        try:
            made.append(step.run(current, original, seed, key))
        except InputError as problem:
            raise InputError(f"step {number} ({step.operation}): {problem}") from None
        current = made[-1]
    return _together(before, made, current, steps, random_state)


def _together(before: Held, made: Sequence[Protected], last: Frame, steps: Recipe, seed: RandomState) -> Protected:
    names = ", ".join(step.operation for step in steps.steps) or "none"
    after = held(last)
    columns: dict[str, int] = {}
    if after.n == before.n:
        gone = [c for c in before.frame.columns if c not in after.frame.columns]
        difference = changed(before, {c: after[c] for c in after.frame.columns}, drop=gone)
        columns, records = difference.columns, difference.records
    else:
        for one in made:
            for name, count in one.columns.items():
                columns[name] = columns.get(name, 0) + count
        records = min(before.n, sum(one.records for one in made))
    cells = sum(columns.values())
    return Protected(
        table=getattr(last, "table", last),
        operation="recipe",
        cells=cells,
        records=records,
        columns={name: count for name, count in columns.items() if count},
        settings={"steps": [{"operation": s.operation, **plain(dict(s.arguments))} for s in steps.steps],
                  "random_state": plain(seed)},
        notes=tuple(dict.fromkeys(note for one in made for note in one.notes)),
        details={"steps": [{"operation": one.operation, "cells": one.cells, "records": one.records,
                            "sentence": one.sentence} for one in made]},
        voids_dp=any(one.voids_dp for one in made),
        sentence=f"{counted(len(steps), 'step')}: {names}. {counted(cells, 'cell')} of {counted(records, 'record')} "
        "differ from before.",
    )  # fmt: skip
