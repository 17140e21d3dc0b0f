"""Doors: a call with an argument of the wrong type is answered in a sentence before anything runs.

What an argument takes is what its function declares (:mod:`glasshouse.core.declared`); no function says it twice. The
options of measures are checked by the caller of measures, every other public function is a ``@door``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from glasshouse.core.declared import LARGEST_COUNT, TRUTH, WHOLE, Taken, declared, is_nan
from glasshouse.core.errors import InputError
from glasshouse.core.misfits import misfit

OF_LEVELS = ("mapping", "matrix")  # arguments whose keys are levels of a column, which are values of people
Door = TypeVar("Door", bound=Callable[..., Any])


def door(public: Door) -> Door:
    """Decorate a public function, or a class with public methods: wrong types are refused in a sentence.

    Parameters
    ----------
    public : function or class
        Of a class its constructor and the public methods it defines itself. An argument may be what its annotation
        says, or its default; what is another kind of list comes as one.

    Returns
    -------
    function or class
        The class itself; of a function one that checks and calls it. A call that leaves out an argument, has one too
        many or one nobody knows is answered in a sentence too (:mod:`glasshouse.core.misfits`).
    """
    if not isinstance(public, type):
        return _checked(public, _method(public))  # type: ignore[return-value]  # the same signature
    for name, member in list(vars(public).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, staticmethod):
            setattr(public, name, staticmethod(_checked(member.__func__)))
        elif isinstance(member, classmethod):
            setattr(public, name, classmethod(_checked(member.__func__, f".{name}")))
        elif inspect.isfunction(member):
            setattr(public, name, _checked(member, _method(member)))
    return public


def fitted(public: Door) -> Door:
    """Decorate a public function that looks at the types of its arguments itself: only the form of the call is checked.

    Parameters
    ----------
    public : function
        Or a method.

    Returns
    -------
    function
    """
    return _checked(public, _method(public), types=False)  # type: ignore[return-value]  # the same signature


def _method(function: Callable[..., Any]) -> str | None:
    """What follows the name of the object's class where the function is a method of one; None where it is none."""
    if next(iter(inspect.signature(function).parameters), "") != "self":
        return None
    return "" if function.__name__ == "__init__" else f".{function.__name__}"


def _checked(function: Callable[..., Any], method: str | None = None, types: bool = True) -> Callable[..., Any]:
    """The function behind a check; a method is spoken of as one of its object's own class."""
    signature = inspect.signature(function)

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        of_object = method is not None and bool(args)
        owner = (args[0] if isinstance(args[0], type) else type(args[0])) if of_object else None
        name = function.__qualname__ if owner is None else f"{owner.__name__}{method}"
        try:
            call = signature.bind(*args, **kwargs)
        except TypeError:
            taken = list(signature.parameters.values())[of_object:]
            raise misfit(name, signature.replace(parameters=taken), args[of_object:], kwargs, owner) from None
        if types:
            call.arguments.update(admitted(name, function, call.arguments))
        return function(*call.args, **call.kwargs)

    return checking


def admitted(name: str, function: Callable[..., object], arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call as its function declares them, or an error that names the first that cannot be.

    Parameters
    ----------
    name : str
        The function's name, for the message.
    function : callable
        Its annotations are what is held against the values.
    arguments : mapping
        As given. A single name, an array, a series or an iterator where a list belongs comes as a list, 5.0 where a
        whole number belongs as 5, and 0 or 1 where true or false belongs as that.

    Returns
    -------
    dict
        The same arguments.

    Raises
    ------
    InputError
        As for :func:`check_types`.
    """
    kinds = declared(function)
    written = {k: _as_declared(v, kinds[k]) if k in kinds else v for k, v in arguments.items()}
    check_types(name, function, written, "argument")
    return written


def _as_declared(value: Any, wanted: tuple[Taken, ...]) -> object:
    fitting = next((kind for kind in wanted if kind.fits(value)), None)
    if fitting is not None:
        listed = fitting.listing and not isinstance(value, (list, tuple))
        return ([value] if isinstance(value, str) else list(value)) if listed else value
    if isinstance(value, (float, np.floating)) and WHOLE in wanted and float(value).is_integer():
        return int(value)
    return bool(value) if isinstance(value, Integral) and TRUTH in wanted and value in (0, 1) else value


def check_types(
    name: str, function: Callable[..., object], options: Mapping[str, object], called: str = "option"
) -> None:
    """Stop at the first argument whose value is not of the type that the function declares.

    Parameters
    ----------
    name : str
        The function's name, for the message.
    function : callable
        Its annotations are what is held against the values.
    options : mapping
        The arguments as given.
    called : str, default "option"
        What the message calls them.

    Raises
    ------
    InputError
        The message names the argument and the types it takes. It does not quote the value: some hold labels.
    """
    for option, value in options.items():
        if fits(function, option, value):
            continue
        wanted = declared(function)[option]
        spoken = " or ".join(dict.fromkeys(kind.words for kind in wanted))
        raise InputError(f"{called} {option!r} of {name} takes {spoken}, not {_kind(value, wanted, option)}")


def fits(function: Callable[..., object], option: str, value: object) -> bool:
    """Whether a value is of the type that a function declares for an argument.

    Parameters
    ----------
    function : callable
        The function.
    option : str
        The argument.
    value : object
        The value.

    Returns
    -------
    bool
        Also for the default, and where the function declares nothing that can be told.
    """
    wanted = declared(function).get(option, ())
    return not wanted or any(kind.fits(value) for kind in wanted) or _is_default(function, option, value)


def _is_default(function: Callable[..., object], option: str, value: object) -> bool:
    return value is inspect.signature(function).parameters[option].default


def _kind(value: object, wanted: tuple[Taken, ...] = (), option: str = "") -> str:
    """What came, by its type only; of a mapping the first entry that is wrong."""
    entry = next((kind.entry for kind in wanted if kind.entry is not None), None)
    if isinstance(value, Mapping) and entry is not None:
        key, wrong = next((k, one) for k, one in value.items() if not entry(one))
        # keys are columns mostly; where they are levels of one, they are values
        return _kind(wrong) if option in OF_LEVELS else f"{_kind(wrong)} for {str(key)!r}"
    if value is None:
        return "None"
    if is_nan(value):
        return "NaN"
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) > LARGEST_COUNT:
        return "a number beyond 2**53"
    held = value if isinstance(value, (list, tuple, set, frozenset)) else ()
    inside = list(dict.fromkeys(type(one).__name__ for one in held))
    return f"a value of type {type(value).__name__}" + (f" that holds {' and '.join(inside[:3])}" if inside else "")
