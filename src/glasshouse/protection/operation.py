"""An operation: a function of a table that makes it safer, declared once, and the record of what it did.

The declaration is all that the search, the report, the command line and the documentation need to know, so adding an
operation touches one file and a line of the stub.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Literal, ParamSpec, TypeAlias, cast

import numpy as np

from glasshouse.core.errors import InputError, Named
from glasshouse.core.options import door, fits
from glasshouse.core.plain import Content, plain
from glasshouse.core.streams import integer_seed
from glasshouse.core.words import THREATS, Threat, counted, spoken, visible
from glasshouse.data.arrays import Bools
from glasshouse.data.frames import Frame, Values
from glasshouse.protection.held import Held, changed

Touches: TypeAlias = Literal["columns", "records", "model"]
Kind: TypeAlias = Literal["numeric", "categorical", "date", "any"]
P = ParamSpec("P")

TABLES = ("table", "original", "holdout", "reference")  # arguments that are data, and no setting
SECRETS = ("key",)  # never written down


@dataclass(frozen=True)
class Protected:
    """A table that an operation has made, and what was done to it. Every function that takes a table takes it.

    Attributes
    ----------
    table : frame
        The table, in the library it came in and in its row order; without those records that were removed.
    operation : str, default ""
        What was done: the name of the operation, or "recipe".
    cells, records : int, default 0
        Cells that hold another value than before, and records with at least one of them or removed.
    columns : dict of str to int, default empty
        Cells changed, by column.
    settings : dict, default empty
        The arguments it ran with, seed included: plain data, enough to run it again.
    notes : tuple of str, default empty
        What whoever releases the table must know.
    details : dict, default empty
        Figures for showing: a transition matrix, losses, sizes of classes.
    voids_dp : bool, default False
        Whether the operation looked at the original, so that no claim of differential privacy stands any longer.
    sentence : str, default ""
        What was done, in one sentence.
    """

    table: Frame = field(repr=False)
    operation: str = ""
    cells: int = 0
    records: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    settings: Content = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    details: Content = field(default_factory=dict)
    voids_dp: bool = False
    sentence: str = ""

    @property
    def __glasshouse_table__(self) -> Frame:
        """The table, for doors that take one (:func:`glasshouse.data.frames.as_given`)."""
        return self.table

    def __repr__(self) -> str:
        return visible(self.sentence)


@dataclass(frozen=True)
class Operation:
    """What an operation declares about itself.

    Attributes
    ----------
    function : callable
        What a caller calls; the first argument is the table.
    title : str
        In words, for tables, pictures and sentences: "swap nearby values".
    acts_on : tuple of str
        Threats it moves: "identity", "attribute", "membership", "copying".
    touches : {"columns", "records", "model"}
        What it changes: values of columns, whole records, or all by a model.
    cost : int
        Order of trying, from 1 (drops an identifier) to 9 (synthesises anew).
    looks_at_original : bool
        Whether it reads the confidential table, which voids a claim of differential privacy for the release.
    needs : tuple of str
        Kinds of columns it works on: "numeric", "categorical", "date", "any".
    """

    function: Callable[..., Protected]
    title: str
    acts_on: tuple[Threat, ...]
    touches: Touches
    cost: int
    looks_at_original: bool
    needs: tuple[Kind, ...]

    @property
    def name(self) -> str:
        """The name it is called by."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @cached_property
    def options(self) -> dict[str, Any]:
        """Arguments but the table, with their defaults; those without one are ``inspect.Parameter.empty``."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: p.default for p in parameters}

    @cached_property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """By option the words its docstring says it may be."""
        stated = re.finditer(r"^ *(\w+(?:, \w+)*) : (.*)$", inspect.getdoc(self.function) or "", re.MULTILINE)
        words = [(name, tuple(re.findall(r'"([^"]*)"', line[2]))) for line in stated for name in line[1].split(", ")]
        return {name: said for name, said in words if said and name in self.options}

    @property
    def random(self) -> bool:
        """Whether it draws at random."""
        return "random_state" in self.options

    @property
    def seeded(self) -> bool:
        """Whether it draws the same again unless told otherwise: pseudonyms are not, so that nobody undoes them."""
        return self.options.get("random_state") is not None

    def __call__(self, table: Frame, **arguments: Any) -> Protected:
        """Run it.

        Parameters
        ----------
        table : frame, path or Protected
            The table.
        **arguments
            Those of the function.

        Returns
        -------
        Protected
        """
        return self.function(table, **arguments)

    def record(self) -> Content:
        """The declaration as plain data.

        Returns
        -------
        dict
        """
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "acts_on": list(self.acts_on),
            "touches": self.touches,
            "cost": self.cost,
            "looks_at_original": self.looks_at_original,
            "needs": list(self.needs),
            "random": self.random,
        }


OPERATIONS: dict[str, Operation] = {}


def operation(
    *,
    title: str,
    acts_on: Sequence[Threat],
    touches: Touches,
    cost: int,
    looks_at_original: bool = False,
    needs: Sequence[Kind] = ("any",),
) -> Callable[[Callable[P, Protected]], Callable[P, Protected]]:
    """Declare and register an operation; :class:`Operation` says what each argument means.

    What the function returns (:func:`protected`) gets its name, its settings and whether it voids a claim of
    differential privacy written onto it; wrong arguments are answered in sentences.
    """
    strange = [threat for threat in acts_on if threat not in THREATS]
    if strange or not 1 <= cost <= 9:
        raise InputError(f"operation {title!r}: unknown threats {strange} or a cost beyond 1 to 9 ({cost})")

    def register(function: Callable[P, Protected]) -> Callable[P, Protected]:
        checked = door(function)
        signature = inspect.signature(function)

        @wraps(function)
        def operating(*args: P.args, **kwargs: P.kwargs) -> Protected:
            given: list[Any] = [_seed(function, *one) for one in zip(signature.parameters, args, strict=False)]
            given += args[len(given) :]  # too many are refused below
            named = {name: _seed(function, name, value) for name, value in kwargs.items()}
            made = checked(*given, **named)
            call = signature.bind(*given, **named)
            call.apply_defaults()
            return replace(
                made,
                operation=function.__name__,
                settings={k: _setting(v) for k, v in call.arguments.items() if k not in (*TABLES, *SECRETS)},
                voids_dp=looks_at_original,
            )

        if function.__name__ in OPERATIONS and OPERATIONS[function.__name__].function.__module__ != function.__module__:
            raise InputError(f"two operations are called {function.__name__!r}")
        OPERATIONS[function.__name__] = Operation(
            operating, title, tuple(acts_on), touches, cost, looks_at_original, tuple(needs)
        )
        return cast("Callable[P, Protected]", operating)

    return register


@door
def operations() -> dict[str, Operation]:
    """Every operation there is, cheapest first; an unknown name is answered with the closest.

    Returns
    -------
    dict of str to Operation

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.protection.operations()["round_numbers"].acts_on
    ('identity', 'copying')
    """
    package = importlib.import_module(__package__ or "glasshouse.protection")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return Named("operation", {one.name: one for one in sorted(OPERATIONS.values(), key=lambda o: (o.cost, o.name))})


def protected(
    before: Held,
    columns: Mapping[str, Values] | None = None,
    *,
    drop: Iterable[str] = (),
    keep: Bools | None = None,
    did: str = "changed",
    notes: Iterable[str] = (),
    details: Mapping[str, object] | None = None,
    sentence: str = "",
) -> Protected:
    """What an operation returns: the caller's table with other columns, and the count of what changed.

    Parameters
    ----------
    before : Held
        The table as it was.
    columns : mapping of str to array, optional
        New values of columns, one per record of ``before``. Default: none.
    drop : iterable of str, default empty
        Columns left out.
    keep : array of bool, optional
        The records that stay. Default: all.
    did : str, default "changed"
        The verb of the sentence: "rounded", "swapped".
    notes : iterable of str, default empty
        What whoever releases the table must know.
    details : mapping, optional
        Figures for showing.
    sentence : str, default ""
        In place of the usual one.

    Returns
    -------
    Protected
    """
    made = changed(before, columns or {}, drop, keep)
    removed = 0 if keep is None else int((~keep).sum())
    said = sentence or _sentence(did, made.columns, made.cells, made.records, removed, before.n)
    return Protected(
        table=made.table,
        cells=made.cells,
        records=made.records,
        columns=made.columns,
        notes=(*notes, *made.notes),
        details=plain(dict(details or {})),
        sentence=said,
    )


def _sentence(did: str, columns: Mapping[str, int], cells: int, records: int, removed: int, n: int) -> str:
    """``Rounded 1,200 cells of 900 records in age and pay.``"""
    touched = [name for name, count in columns.items() if count]
    if not cells and not removed:
        return f"Nothing had to be {did}." if did != "changed" else "Nothing changed."
    parts = []
    if removed:
        parts.append(f"removed {counted(removed, 'record')} of {n:,}")
    if cells:
        parts.append(f"{did} {counted(cells, 'cell')} of {counted(records - removed, 'record')} in {spoken(touched)}")
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _seed(function: Callable[..., object], argument: str, value: object) -> Any:
    """An argument; a Generator as seed is drawn from once, so that the settings name what runs the operation again."""
    drawn = argument == "random_state" and isinstance(value, np.random.Generator) and fits(function, argument, value)
    return integer_seed(cast("np.random.Generator", value)) if drawn else value


def _setting(value: object) -> Any:
    """An argument as plain data that runs the operation again."""
    if callable(getattr(value, "to_setting", None)):
        return value.to_setting()  # type: ignore[attr-defined]  # just looked for
    if isinstance(value, Mapping):
        return {str(plain(key)): _setting(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_setting(one) for one in value]
    return plain(value)
