"""The list of measures, for people: ``gh.measures()``, ``gh.explain(name)``, ``gh.check(original, released)``."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise

import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.measure import Measure, registered
from glasshouse.core.printing import prose
from glasshouse.core.rooms import measures_of
from glasshouse.data.checks import Findings
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.data.roles import Argument

_UNDERLINE = re.compile(r"-{3,}")


def all_measures() -> dict[str, Measure]:
    """Every measure of every room, by name.

    Returns
    -------
    dict of str to Measure
        Imports every room of measures.
    """
    return {**measures_of("glasshouse.disclosure"), **measures_of("glasshouse.utility"), **registered()}


def measures() -> pl.DataFrame:
    """The measures there are, one row each.

    Returns
    -------
    polars.DataFrame
        Columns name, side, family, threat, range, direction, needs, bands, cost, summary and citation; sorted by side,
        family and name.

    Examples
    --------
    >>> import glasshouse as gh
    >>> listing = gh.measures()
    >>> listing.columns[:4]
    ['name', 'side', 'family', 'threat']
    >>> "disco" in listing["name"]
    True
    """
    wanted = ("name", "side", "family", "threat", "range", "direction", "needs", "bands", "cost", "summary", "citation")
    records = sorted((m.record() for m in all_measures().values()), key=lambda r: (r["side"], r["family"], r["name"]))
    return pl.DataFrame([{k: r[k] for k in wanted} for r in records], schema=dict.fromkeys(wanted, pl.String))


def sections(text: str | None) -> dict[str, str]:
    """Sections of a docstring by title.

    Parameters
    ----------
    text : str or None
        A docstring with numpydoc sections (a title underlined with hyphens), or without.

    Returns
    -------
    dict of str to str
        What stands before the first section is under ``""``.

    Examples
    --------
    >>> from glasshouse.catalogue import sections
    >>> sections(chr(10).join(["Count.", "", "Notes", "-----", "n = 1"]))
    {'': 'Count.', 'Notes': 'n = 1'}
    """
    lines = inspect.cleandoc(text or "").splitlines()
    found: dict[str, list[str]] = {"": []}
    title = ""
    for line, below in pairwise([*lines, ""]):
        if line.strip() and _UNDERLINE.fullmatch(below):
            title = line.strip()
            found[title] = []
        elif not _UNDERLINE.fullmatch(line):
            found[title].append(line)
    return {name: "\n".join(body).strip("\n") for name, body in found.items()}


class Explanation(str):
    """Text that a notebook shows as text, not as a quoted string."""

    def __repr__(self) -> str:
        return str(self)


def explain(name: str) -> Explanation:
    """What a measure asks, how to read it, what it needs, its limits and its source, as prose.

    Parameters
    ----------
    name : str
        A name that ``gh.measures()`` lists.

    Returns
    -------
    Explanation
        Text; it prints as text in a notebook too.

    Raises
    ------
    InputError
        When there is no such measure; the closest name is offered.

    Examples
    --------
    >>> import glasshouse as gh
    >>> text = gh.explain("disco")
    >>> "Raab" in text
    True
    """
    known = all_measures()
    if name not in known:
        raise InputError(f"there is no measure {name!r}{closest(name, known)}; gh.measures() lists them")
    found = known[name]
    options = ", ".join(f"{k}={v!r}" for k, v in found.options.items())
    parts = sections(found.__doc__)
    text = "\n\n".join(
        [*parts[""].split("\n\n")[1:], *(parts[title] for title in ("Notes", "Parameters") if title in parts)]
    )
    return Explanation(prose({**found.record(), "text": text, "options": options}))


def check(original: Frame, released: Frame, **roles: Argument) -> Findings:
    """Findings about two tables before anything runs.

    Parameters
    ----------
    original : frame or path
        The confidential table.
    released : frame, path or list of them
        The release, or several.
    **roles
        Other arguments of :class:`glasshouse.Pair`: keys, target, holdout, ...

    Returns
    -------
    Findings
        A list that prints itself, the most serious first.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> gh.check(example.original, example.released, holdout=example.holdout)
    no findings: the tables fit together
    """
    return Pair(original, released, **roles).check()
