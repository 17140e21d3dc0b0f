"""Options of the wrong type are refused in a sentence before a measure runs, by the types it declares itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError

Taken: TypeAlias = "tuple[str, Callable[[object], bool]]"  # what an option takes, in words and as a test


def check_types(name: str, function: Callable[..., object], options: Mapping[str, object]) -> None:
    """Stop at the first option whose value is not of the type that the measure declares.

    Parameters
    ----------
    name : str
        The measure's name, for the message.
    function : callable
        The measure; its annotations are what is held against the values.
    options : mapping
        The options as given.

    Raises
    ------
    InputError
        The message names the option and the types it takes. It does not quote the value: some options hold labels.
    """
    declared = _declared(function)
    for option, value in options.items():
        wanted = declared.get(option, ())
        if wanted and not any(fits(value) for _, fits in wanted):
            spoken = " or ".join(dict.fromkeys(words for words, _ in wanted))
            raise InputError(f"option {option!r} of {name} takes {spoken}, not {_kind(value)}")


@cache
def _declared(function: Callable[..., object]) -> dict[str, tuple[Taken, ...]]:
    """What each option takes, in words and as a test; nothing for an option that may take anything."""
    names = getattr(function, "__globals__", {})
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        taken = [_taken(part) for part in _resolved(str(parameter.annotation), names)]
        if all(one is not None for one in taken):
            found[name] = tuple(one for one in taken if one is not None)
    return found


def _resolved(annotation: str, names: Mapping[str, object]) -> list[str]:
    """The alternatives of an annotation, with the aliases of the measure's own module spelt out."""
    parts: list[str] = []
    for part in _split(annotation):
        alias = names.get(part)
        if alias is None or isinstance(alias, type):
            parts.append(part)
        else:
            parts += _resolved(str(alias).replace("collections.abc.", ""), names)
    return parts


def _taken(part: str) -> Taken | None:
    """One alternative in words and as a test; None where it cannot be told."""
    make = _KNOWN.get(part.partition("[")[0])
    if make is not None:
        return make(part)
    kind = part.rpartition(".")[2]
    if kind not in _KINDS:
        return None
    return _KINDS[kind], lambda value: any(base.__name__ == kind for base in type(value).__mro__)


def _split(annotation: str) -> list[str]:
    """``"int | Sequence[int | str]"`` as its alternatives."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _number(value: object) -> bool:
    return isinstance(value, Real) and not _truth(value) and not math.isnan(float(value))


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not _truth(value)


def _truth(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))


def _text(value: object) -> bool:
    return isinstance(value, str)


def _several(annotation: str) -> Taken:
    """A sequence, its elements looked at where they are plain; one name stands for a list of one."""
    inner = annotation.partition("[")[2].removesuffix("]")
    nested = (_several(inner)[1], "a list of lists") if inner.startswith("Sequence[") else (None, "a list")
    element, words = {
        "str": (_text, "a list of names"),
        "float": (_number, "a list of numbers"),
        "int": (_whole, "a list of whole numbers"),
        "float, float": (_number, "two numbers"),
    }.get(inner, nested)

    def fits(value: object) -> bool:
        if isinstance(value, str):
            return inner == "str"
        if isinstance(value, Mapping) or not isinstance(value, Iterable):
            return False
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return False
        listed: list[Any] = list(value)
        if inner == "float, float" and len(listed) != 2:
            return False
        return element is None or all(element(one) for one in listed)

    return words, fits


_KINDS = {"Grouping": "a Grouping", "ndarray": "an array", "Measure": "a measure", "Generator": "a numpy Generator"}
_KNOWN: dict[str, Callable[[str], Taken]] = {
    "int": lambda _: ("a whole number", _whole),
    "float": lambda _: ("a number", _number),
    "str": lambda _: ("a text", _text),
    "bool": lambda _: ("true or false", _truth),
    "None": lambda _: ("None", lambda value: value is None),
    "Sequence": _several,
    "tuple": _several,
    "Callable": lambda _: ("a function", callable),
    "Estimator": lambda _: ("an estimator", lambda value: hasattr(value, "fit")),
    "Mapping": lambda _: ("a mapping", lambda value: isinstance(value, Mapping)),
}


def _kind(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Real) and not _truth(value) and math.isnan(float(value)):
        return "NaN"
    return f"a value of type {type(value).__name__}"
