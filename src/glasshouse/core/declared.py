"""What an argument takes, in words and as a test, read from the annotation its function declares.

An annotation is text here (every module postpones them), so it is read as Python reads it, and a name that only a type
checker can resolve counts as "anything": a door refuses what it knows to be wrong and nothing else.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar, is_typeddict

import numpy as np

from glasshouse.core.rooms import MeasureFolder

Fits: TypeAlias = Callable[[object], bool]
LARGEST_COUNT = 2**53  # no table, forest or number of draws is larger; a seed may be
LARGEST_NUMBER = 2**1023  # a larger whole number is no machine number


@dataclass(frozen=True)
class Taken:
    """One kind of value: in words, as a test, several of them in words, whether it is a list of any length, of a
    mapping what its entries must be, and whether each of its places has a meaning of its own."""

    words: str
    fits: Fits
    many: str = ""
    listing: bool = False
    entry: Fits | None = None
    places: bool = False


Alternatives: TypeAlias = "tuple[Taken, ...] | None"  # None: anything
Names: TypeAlias = Mapping[str, object]


@cache
def declared(function: Callable[..., object]) -> dict[str, tuple[Taken, ...]]:
    """What each argument of a function takes; nothing for an argument that may be anything.

    Parameters
    ----------
    function : callable
        Its annotations are read, with the aliases of its own module spelt out.

    Returns
    -------
    dict of str to tuple of Taken
    """
    names = getattr(inspect.unwrap(function), "__globals__", {})
    parameters = inspect.signature(function).parameters.values()
    found = {p.name: taken(p.annotation, names) for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return {name: kinds for name, kinds in found.items() if kinds is not None}


def taken(annotation: object, names: Names) -> Alternatives:
    """The alternatives of one annotation.

    Parameters
    ----------
    annotation : str or type
        As it stands in the signature.
    names : mapping
        What the names in it mean.

    Returns
    -------
    tuple of Taken or None
        None for anything.
    """
    if annotation is inspect.Parameter.empty:
        return None
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    try:
        return _read(ast.parse(text, mode="eval").body, names)
    except SyntaxError:  # an alias that is no expression, such as a type variable
        return None


def _read(node: ast.expr, names: Names) -> Alternatives:
    if isinstance(node, ast.BinOp):
        left, right = _read(node.left, names), _read(node.right, names)
        return None if left is None or right is None else (*left, *right)
    if isinstance(node, ast.Constant):
        return (_NONE,) if node.value is None else taken(node.value, names)
    if isinstance(node, ast.Subscript):
        name, meaning = _last(node.value), _meaning(node.value, names)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in _NESTED:
            return _NESTED[name](inner, names)
        return _named(name, meaning, names)
    return _named(_last(node), _meaning(node, names), names)


def _last(node: ast.expr) -> str:
    """``np.random.Generator`` is known as Generator."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _meaning(node: ast.expr, names: Names) -> object:
    if isinstance(node, ast.Attribute):
        return getattr(_meaning(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _named(name: str, alias: object, names: Names) -> Alternatives:
    if name in _PLAIN:
        return (_PLAIN[name],)
    if name in _ALIASES:
        return _ALIASES[name]
    if name in _NESTED:
        return _NESTED[name]([], names)
    if alias is None and name in _KINDS:  # only a type checker imports it, so it is known by its name
        return (Taken(_KINDS[name], lambda value: name in _stands_for(value)),)
    if is_typeddict(alias):
        return _record(alias)
    if isinstance(alias, type) and (name in _KINDS or _of_this_house(alias)):
        fits = (lambda value: name in _stands_for(value)) if name == "Measure" else _isinstance(alias)
        return (Taken(_KINDS.get(name, f"a value of type {name}"), fits),)
    if alias is None or alias is Any or isinstance(alias, (type, TypeVar)):
        return None
    return taken(alias, names)


def _stands_for(value: object) -> set[str]:
    """The classes of a value by name; a family's folder that is called like one of its measures is that measure."""
    return {base.__name__ for base in type(value).__mro__} | (
        {"Measure"} if isinstance(value, MeasureFolder) else set()
    )


def _of_this_house(kind: type) -> bool:
    """A class of ours; a protocol is no class to belong to."""
    return kind.__module__.startswith("glasshouse.") and not getattr(kind, "_is_protocol", False)


def _number(value: object) -> bool:
    if not isinstance(value, Real) or is_truth(value) or is_nan(value):
        return False
    return not isinstance(value, Integral) or abs(int(value)) < LARGEST_NUMBER


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not is_truth(value) and abs(int(value)) <= LARGEST_COUNT


def _seed(value: object) -> bool:
    return isinstance(value, Integral) and not is_truth(value)


def _numbers(value: object) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    try:
        return np.asarray(value, float).dtype == float
    except (TypeError, ValueError, OverflowError):
        return False


def is_truth(value: object) -> bool:
    """Whether a value is true or false, of Python or numpy: those are no numbers here."""
    return isinstance(value, (bool, np.bool_))


def is_nan(value: object) -> bool:
    """Whether a number is none."""
    return isinstance(value, Real) and bool(value != value)


def _any_of(kinds: Alternatives) -> Fits:
    return (lambda value: True) if kinds is None else (lambda value: any(kind.fits(value) for kind in kinds))


def _plural(kinds: Alternatives) -> str:
    spoken = [] if kinds is None else [kind.many for kind in kinds]
    return f" of {' or '.join(dict.fromkeys(spoken))}" if spoken and all(spoken) else ""


def _several(inner: list[ast.expr], names: Names) -> Alternatives:
    """A sequence, its elements looked at where they can be told; one name stands for a list of one."""
    kinds = _read(inner[0], names) if inner else None
    # what is wrong with a list of (key, level, level) its function says best
    element = _any_of(None if kinds is not None and any(kind.places for kind in kinds) else kinds)
    one_name = kinds is not None and _PLAIN["str"] in kinds

    def fits(value: object) -> bool:
        if isinstance(value, str):
            return one_name
        if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable) or _scalar(value):
            return False
        return isinstance(value, Iterator) or all(element(one) for one in value)  # an iterator can be read once

    return (Taken(f"a list{_plural(kinds)}", fits, f"lists{_plural(kinds)}", listing=True),)


def _fixed(inner: list[ast.expr], names: Names) -> Alternatives:
    """A tuple: of any length where it says so, else one element per place."""
    if not inner or (isinstance(inner[-1], ast.Constant) and inner[-1].value is ...):
        return _several(inner[:1], names)
    kinds = [_read(one, names) for one in inner]
    elements = [_any_of(one) for one in kinds]

    def fits(value: object) -> bool:
        if isinstance(value, (str, bytes, Mapping, Iterator)) or not isinstance(value, Iterable) or _scalar(value):
            return False
        listed = list(value)
        return len(listed) == len(elements) and all(test(one) for test, one in zip(elements, listed, strict=True))

    same = _plural(kinds[0]).removeprefix(" of ") if all(one == kinds[0] for one in kinds) else ""
    count = {2: "two", 3: "three"}.get(len(kinds), str(len(kinds)))
    return (Taken(f"{count} {same or 'values'}", fits, "lists", places=True),)


def _scalar(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 0


def _mapping(inner: list[ast.expr], names: Names) -> Alternatives:
    kinds = _read(inner[1], names) if inner else None
    entry = _any_of(kinds)

    def fits(value: object) -> bool:  # a label that is no text is a label too, so the names are not looked at
        return isinstance(value, Mapping) and all(entry(one) for one in value.values())

    return (Taken(f"a mapping{_plural(kinds)}", fits, "mappings", entry=entry),)


def _record(kind: Any) -> Alternatives:
    """A mapping with the entries that a typed dictionary names."""
    names = vars(import_module(kind.__module__))
    entries = {k: _any_of(taken(_text(a), names)) for k, a in kind.__annotations__.items()}

    def fits(value: object) -> bool:
        if not isinstance(value, Mapping) or not kind.__required_keys__ <= set(value):
            return False
        return all(test(value[key]) for key, test in entries.items() if key in value)

    spoken = " and ".join(repr(key) for key in entries)
    return (Taken(f"a mapping with {spoken}", fits, "mappings"),)


def _text(annotation: Any) -> object:
    return getattr(annotation, "__forward_arg__", annotation)


def _choice(inner: list[ast.expr], names: Names) -> Alternatives:
    """Words to choose from."""
    words = [one.value for one in inner if isinstance(one, ast.Constant)]
    return tuple(Taken(repr(word), partial(_is_word, word)) for word in words)


def _is_word(word: object, value: object) -> bool:
    return type(value) is type(word) and value == word


def _isinstance(kind: type | tuple[type, ...]) -> Fits:
    return lambda value: isinstance(value, kind)


_NONE = Taken("None", lambda value: value is None, "None")
WHOLE = Taken("a whole number", _whole, "whole numbers")
TRUTH = Taken("true or false", is_truth, "true or false")
_PLAIN = {
    "int": WHOLE,
    "float": Taken("a number", _number, "numbers"),
    "Score": Taken("a number", lambda value: is_nan(value) or _number(value), "numbers"),  # NaN: not measured
    "str": Taken("a text", _isinstance(str), "names"),
    "bool": TRUTH,
    "None": _NONE,
    "ArrayLike": Taken("numbers", _numbers, "numbers"),
    "Path": Taken("a path", _isinstance(os.PathLike), "paths"),
    "Estimator": Taken("an estimator", lambda value: hasattr(value, "fit"), "estimators"),
}
_ALIASES: dict[str, Alternatives] = {
    "RandomState": (Taken("a whole number", _seed), Taken("a numpy Generator", _isinstance(np.random.Generator)), _NONE)
}
_NESTED: dict[str, Callable[[list[ast.expr], Names], Alternatives]] = {
    "Sequence": _several,
    "Iterable": _several,
    "Collection": _several,
    "list": _several,
    "tuple": _fixed,
    "Mapping": _mapping,
    "dict": _mapping,
    "Literal": _choice,
    "Callable": lambda inner, names: (Taken("a function", callable, "functions"),),
}
# classes of this house and of others that an argument may have to be
_KINDS = {
    "Grouping": "a Grouping",
    "ndarray": "an array",
    "Measure": "a measure",
    "Generator": "a numpy Generator",
    "Assessment": "an Assessment",
    "Pair": "a Pair",
    "Policy": "a Policy",
    "Result": "a Result",
    "Risk": "a Risk",
    "RUMap": "an RUMap",
    "Domain": "a Domain",
    "Synthesiser": "a synthesiser",
}
