"""Errors a user meets. Each is a sentence that names the column and the way out, and never quotes a value of a
person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Number
from typing import TypeVar

from glasshouse.core.interrupts import interrupted
from glasshouse.core.pointing import elsewhere
from glasshouse.core.words import visible

V = TypeVar("V")
LONGEST_NAME = 60
NEAR = 0.7  # how alike two names must be: no suggestion is better than a silly one
NEAR_SHORT, SHORT = 0.6, 4  # one wrong letter of three is a third of the name


class GlasshouseError(Exception):
    """Base of everything glasshouse raises on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())


class InputError(GlasshouseError, ValueError):
    """The data or the arguments cannot be used as they are."""


class NotApplicable(GlasshouseError):
    """A measure has no meaning for this pair. The measure decorator turns it into a Result that says why.

    ``needs`` names the input that is missing ("holdout", "keys", "target"), so that nobody has to read the text.
    """

    def __init__(self, reason: str, needs: str | None = None) -> None:
        super().__init__(reason)
        self.needs = needs


class MissingExtra(GlasshouseError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs an optional package; install it with: pip install "glasshouse[{extra}]"')
        self.extra = extra


def foreign(problem: BaseException) -> bool:
    """Whether an error is another library's, whose message may quote a value.

    The panic of a Rust library is one too, although it is no Exception; an interrupt is none, however it is wrapped.
    """
    ours = isinstance(problem, (GlasshouseError, MemoryError)) or interrupted(problem)
    return not ours and (isinstance(problem, Exception) or type(problem).__name__ == "PanicException")


class Named(dict[str, V]):
    """A dictionary that answers a name it does not have with a sentence of ours."""

    def __init__(self, what: str, content: Mapping[str, V]) -> None:
        super().__init__(content)
        self._what = what

    def __missing__(self, name: str) -> V:
        raise InputError(f"there is no {self._what} {name!r}{closest(name, self)}; there are: {listed(self)}")


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names for an error message: all of them when few, the first ones and a count when many."""
    names = [str(name) for name in names]
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def names_wanted(what: str, given: Sequence[object], known: Iterable[str]) -> None:
    """Stop, without a quote, where values stand in the place of names: a list none of whose texts is a known name or
    close to one, a list longer than there are names, a number that is no name. A single text, or one among names, is
    left to the check of that name, which may repeat it.

    Parameters
    ----------
    what
        What the names are, in the plural: "keys", "measures".
    given
        One name or several; what is neither text nor number is left alone.
    known
        The names there are.

    Raises
    ------
    InputError
        Says how many there are and of which type, and lists the names there are.
    """
    names = [str(name) for name in known]
    asked = [name for name in given if isinstance(name, (str, Number))]
    strange = [name for name in asked if str(name) not in names and not closest(str(name), names)]
    alone = len(strange) == len(asked) > 1
    if strange and (alone or len(asked) > max(len(names), 1) or any(map(_is_number, strange))):
        kinds = listed(dict.fromkeys(type(name).__name__ for name in strange))
        raise InputError(
            f"{what} takes names, and {len(strange):,} of {len(asked):,} given ({kinds}) cannot be one. What was given "
            f"is not repeated, for it may hold values. There are: {listed(names)}"
        )


def names_known(
    what: str,
    given: Iterable[object],
    known: Iterable[str],
    says: str = "names {name}, which is none of columns",
    more: str = "",
) -> None:
    """Stop at the first name that is not known, and say the closest that is. Keys of a mapping are names too: several
    that are all unknown may be values, and none of them is repeated.

    Parameters
    ----------
    what
        The argument or whoever takes the names: "base", "the measure disco".
    given
        The names.
    known
        The names there are.
    says
        What is wrong with ``{name}``, after ``what``.
    more
        What ends the sentence.

    Raises
    ------
    InputError
        As :func:`names_wanted`, and for a single name that is not known.
    """
    asked, there = list(given), [str(name) for name in known]
    names_wanted(what, asked, there)
    for name in asked:
        if name not in there:
            wrong = says.format(name=repr(shortened(str(name))))
            raise InputError(f"{what} {wrong}{closest(str(name), there)}{more}")


def _is_number(name: object) -> bool:
    try:
        float(str(name))
    except ValueError:
        return False
    return True


def shortened(name: str) -> str:
    """A name as an error repeats it: what was taken for a name may be a text of any length."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def closest(name: str, names: Iterable[str]) -> str:
    """'; did you mean ...?' when a known name is what another package calls so, or is close; else nothing."""
    known = [str(n) for n in names]
    for pointer in elsewhere(str(name)):
        if pointer.target in known:
            return f"; did you mean {pointer.target!r} ({pointer.package} calls it {pointer.name})?"
    near = NEAR if len(str(name)) > SHORT else NEAR_SHORT
    match = [n for n in known if n.casefold() == str(name).casefold()]
    match = match or get_close_matches(str(name), known, n=1, cutoff=near)
    return f"; did you mean {match[0]!r}?" if match else ""
