"""Looking up what another package calls a thing in the table of names, and saying what it is called here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from glasshouse.core import names

Kind: TypeAlias = Literal["function", "argument", "value", "figure"]
ALIASES = {there: here for _, there, here in names.ALIASES}
_VALUES = {
    (measure, option, there): here for _, measures, option, there, here, _ in names.VALUES for measure in measures
}


@dataclass(frozen=True)
class Pointer:
    """One name of another package, and what to write here.

    Parameters
    ----------
    kind : {"function", "argument", "value", "figure"}
        What is named.
    package, name : str
        Whose name it is, and the name.
    here : str
        What to write; empty where there is nothing.
    target : str
        The measure, function or argument behind it, without what stands around it.
    accepted : bool
        Whether the other name works as it is; if not, an error says what to write.
    why : str
        What differs, or why it is accepted.
    of : str, default ""
        For arguments and values: the measures that take them; empty for what every measure takes.
    """

    kind: Kind
    package: str
    name: str
    here: str
    target: str
    accepted: bool
    why: str
    of: str = ""

    @property
    def sentence(self) -> str:
        """What it is called here, as a sentence without its full stop."""
        whose = self.package + ("'" if self.package.endswith("s") else "'s")
        return self._said(f"{whose} {self.name}", f"is {self.here} here")

    @property
    def correction(self) -> str:
        """The same to somebody who has just used an argument of another package."""
        return self._said(f"`{self.name}`", f"is called `{self.here}` here")

    def _said(self, subject: str, known: str) -> str:
        if not self.here:
            return f"{subject} has no counterpart here: {self.why}"
        return f"{subject} {known}" + (f" ({self.why})" if self.why else "")


@cache
def table() -> tuple[Pointer, ...]:
    """The whole table of names.

    Returns
    -------
    tuple of Pointer
    """
    same = "a role of synth_pair, with the same values"
    return (
        *(Pointer("function", p, n, here, _target(here), False, why) for p, n, here, why in names.FUNCTIONS),
        *(
            Pointer("figure", p, n, f'{here}(...).details["{detail}"]', _target(here), False, why)
            for p, n, here, detail, why in names.FIGURES
        ),
        *(Pointer("argument", p, n, here, here, False, why, of) for p, n, here, of, why in names.ARGUMENTS),
        *(Pointer("argument", p, n, here, here, True, same) for p, n, here in names.ALIASES),
        *(
            Pointer("value", p, f"{o}={there!r}", f"{o}={here!r}", o, True, why, ", ".join(of))
            for p, of, o, there, here, why in names.VALUES
        ),
    )


def elsewhere(name: str) -> list[Pointer]:
    """What other packages mean by a name, however it is spelt: dots, underlines and capitals do not count.

    Parameters
    ----------
    name : str
        A name somebody tried.

    Returns
    -------
    list of Pointer
        Empty where no package of the table has it.
    """
    return _by_name().get(plainly(name), [])


def known_elsewhere(target: str) -> list[str]:
    """What other packages call a measure or function.

    Parameters
    ----------
    target : str
        Its name here.

    Returns
    -------
    list of str
        ``"ims (riskutility)"``, in the order of the table.
    """
    found = [p for p in table() if p.kind in ("function", "figure") and p.target == target]
    return list(dict.fromkeys(f"{p.name} ({p.package})" for p in found))


def pointed(name: str) -> str:
    """``"; riskutility's ims is gh.disclosure.identical here"`` for a function or figure of the table, else nothing."""
    found = [p.sentence for p in elsewhere(name) if p.kind in ("function", "figure")]
    return "".join(f"; {sentence}" for sentence in found)


def argument(name: str, measure: str = "") -> Pointer | None:
    """What an argument of another package is called here.

    Parameters
    ----------
    name : str
        The argument somebody gave.
    measure : str, default ""
        The measure it was given to.

    Returns
    -------
    Pointer or None
        None where the table has no such argument of that measure or of all.
    """
    fits = [p for p in elsewhere(name) if p.kind == "argument" and p.of in ("", measure)]
    return max(fits, key=lambda p: p.of == measure, default=None)


def translated(measure: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the values that other packages use put into ours.

    Parameters
    ----------
    measure : str
        The measure they are for.
    options : mapping
        Options as given.

    Returns
    -------
    dict
    """
    return {
        option: _VALUES.get((measure, option, value), value) if isinstance(value, str) else value
        for option, value in options.items()
    }


def plainly(name: str) -> str:
    """A name without what people forget: capitals, dots, underlines."""
    return re.sub(r"[\W_]", "", str(name)).lower()


@cache
def _by_name() -> dict[str, list[Pointer]]:
    found: dict[str, list[Pointer]] = {}
    for pointer in table():
        found.setdefault(plainly(pointer.name), []).append(pointer)
    return found


def _target(here: str) -> str:
    return here.partition("(")[0].rpartition(".")[2]
