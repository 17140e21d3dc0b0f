"""Calls that fit no function: arguments nobody knows, too few, too many, or one twice, each answered in a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.pointing import argument
from glasshouse.core.words import plural, spoken


class WrongCall(InputError, TypeError):
    """A call that Python itself would refuse: whoever catches its TypeError catches this."""


def misfit(
    name: str,
    signature: inspect.Signature,
    given: Sequence[object],
    named: Mapping[str, object],
    owner: type | None = None,
) -> WrongCall:
    """What is wrong with a call that a signature does not take.

    Parameters
    ----------
    name : str
        The function as a caller writes it: "assess", "Risk.from_advantage".
    signature : Signature
        What it takes, without the object a method is of.
    given, named : sequence, mapping
        The arguments by place and by name; only their number and names are read.
    owner : type, optional
        The class of a method: its other methods may take what this one does not.

    Returns
    -------
    WrongCall
        To be raised.
    """
    parameters = signature.parameters.values()
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known = [one for one in known if not one.startswith("_")]
    foreign = [one for one in named if one not in known]
    if foreign and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        return WrongCall(unknown_arguments(name, foreign, known, owner=owner))
    if len(given) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        rest = [one for one in known if one not in places]
        number = len(places)
        taken = f"{number} {plural(number, 'argument')} by place ({', '.join(places)})" if places else "none by place"
        out = f"; name the others, {rest[0]}=" if rest else ""
        return WrongCall(f"{name} takes {taken}, and {len(given)} were given{out}")
    twice = [one for one in places[: len(given)] if one in named]
    if twice:
        return WrongCall(f"{name} is given {twice[0]!r} twice, by place and by name; give it once")
    needed = [p.name for p in parameters if p.default is p.empty and p.name in known]
    missing = [one for one in needed if one not in named and one not in places[: len(given)]]
    return WrongCall(f"{name} needs {spoken([repr(one) for one in missing])}; it takes: {listed(known)}")


def unknown_arguments(
    who: str,
    given: Sequence[str],
    known: Iterable[str],
    *,
    called: str = "argument",
    measure: str = "",
    owner: type | None = None,
) -> str:
    """Every argument of a call that its function does not take, and what to write instead.

    Parameters
    ----------
    who : str
        The function, or "a Pair".
    given : sequence of str
        The arguments it does not take.
    known : iterable of str
        Those it takes.
    called : str, default "argument"
        What the message calls them.
    measure : str, default ""
        The measure it is, if it is one: some names of other packages are options of that alone.
    owner : type, optional
        The class of a method: its other methods may take what this one does not.

    Returns
    -------
    str
    """
    known = list(known)
    said, lost = [], []
    for name in given:
        pointer = argument(name, measure or (owner.__name__ if owner else ""))
        here = name if pointer is None else pointer.here
        sibling = None if here in known else next(_siblings(owner, who, here), None)
        if sibling is not None:
            what = f"`{name}` is" if pointer is None else f"`{name}` is called `{here}` here and is"
            said.append(f"{what} an argument of {sibling}")
        elif pointer is not None and (here in known or not here):
            said.append(replace(pointer, name=name).correction)  # as it was written
        else:
            lost.append(name)
    if len(lost) == 1:
        has = f"; it has: {listed(known)}" if known else ""
        said.append(f"{who} has no {called} {lost[0]!r}{closest(lost[0], known)}{has}")
    elif lost:
        meant = [f"{name!r}" + closest(name, known).replace("; ", " (").replace("?", "?)") for name in lost]
        said.append(f"{who} has no {called}s {spoken(meant, most=200)}")
    return "; ".join(said)


def _siblings(owner: type | None, method: str, wanted: str) -> Iterator[str]:
    """Methods of a class that take an argument: first those whose name begins like that of the method called."""
    if owner is None or not wanted:
        return
    start = method.rpartition(".")[2]
    names = list(dict.fromkeys(name for base in owner.__mro__ for name in vars(base) if not name.startswith("_")))
    for name in sorted(names, key=lambda one: not one.startswith(start)):
        member = getattr(owner, name)
        if callable(member) and name != start and wanted in inspect.signature(member).parameters:
            yield f"{owner.__name__}.{name}"
