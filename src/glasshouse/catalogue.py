"""The list of measures, for people: ``gh.measures()``, ``gh.explain(name)``, ``gh.check(original, released)``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import pairwise

import polars as pl

from glasshouse.core.charts import described
from glasshouse.core.errors import InputError, closest
from glasshouse.core.measure import Measure, registered
from glasshouse.core.options import door
from glasshouse.core.pointing import elsewhere, known_elsewhere, plainly, table
from glasshouse.core.printing import prose
from glasshouse.core.rooms import measures_of
from glasshouse.data.findings import Findings
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.data.roles import Argument

_UNDERLINE = re.compile(r"-{3,}")
# what these give is drawn under a name of its own; measures are drawn under theirs
_CHARTS = {"compare": "rumap", "RUMap": "rumap", "audit": "audit", "Risk": "risk", "rapid_cv": "rapid_cv"}


def all_measures() -> dict[str, Measure]:
    """Every measure of every room, by name.

    Returns
    -------
    dict of str to Measure
        Imports every room of measures.
    """
    return {**measures_of("glasshouse.disclosure"), **measures_of("glasshouse.utility"), **registered()}


@door
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


def named(name: str) -> str | None:
    """The measure or public function that a name means, however it is spelt and whichever package it comes from.

    Parameters
    ----------
    name : str
        A name of ours, perhaps with other capitals or underlines, or of another package.

    Returns
    -------
    str or None
        The name here; None where there is none.

    Examples
    --------
    >>> from glasshouse.catalogue import named
    >>> named("ims"), named("kAnonymity"), named("rumap")
    ('identical', 'k_anonymity', 'compare')
    """
    measures, functions = ({plainly(one): one for one in room} for room in (all_measures(), _functions()))
    if name in functions.values():
        return name
    ours = {*measures.values(), *functions.values()}
    there = [pointer.target for pointer in elsewhere(name) if pointer.target in ours]
    # a measure spelt otherwise, what another package calls so, a function spelt otherwise: rumap() is no RUMap
    return measures.get(plainly(name)) or next(iter(there), None) or functions.get(plainly(name))


@door
def explain(name: str) -> Explanation:
    """What a measure asks, how to read it, what it needs, its options and charts, its limits and its source, as prose.

    Parameters
    ----------
    name : str
        A name that ``gh.measures()`` lists, a function such as "compare", or what synthpop, riskutility, RAPID,
        sdcMicro, anonymeter or SDMetrics call it: a function, an argument or a figure.

    Returns
    -------
    Explanation
        Text; it prints as text in a notebook too. A name of another package is answered by what it is called here and
        what differs, then by the explanation of that.

    Raises
    ------
    InputError
        When nothing is called so; the closest name is offered.

    Examples
    --------
    >>> import glasshouse as gh
    >>> text = gh.explain("disco")
    >>> "Raab" in text
    True
    >>> print(gh.explain("ims").splitlines()[0])
    riskutility's ims is gh.disclosure.identical here (the detail 'ims'; the value is held against a holdout).
    """
    known, meant = all_measures(), named(name)
    foreign = [] if name in known or name in _functions() else [f"{p.sentence}." for p in elsewhere(name)]
    if meant is None and not foreign:
        spoken = [*known, *(pointer.name for pointer in table() if pointer.kind == "function")]
        there = closest(name, spoken) or _about(name)
        raise InputError(f"there is no measure {name!r}{there}; gh.measures() lists them")
    if meant is None:
        return Explanation("\n".join(foreign))
    record = facts(meant)
    parts = sections(known[meant].__doc__ if meant in known else inspect.getdoc(_functions()[meant]))
    text = "\n\n".join(
        [*parts[""].split("\n\n")[1:], *(parts[title] for title in ("Notes", "Parameters") if title in parts)]
    )
    told = prose({**record, "text": text})
    return Explanation("\n".join([*foreign, "", told]) if foreign else told)


def _about(name: str) -> str:
    """'; see ...' for the measure or function whose first paragraph speaks of a thing by this name; else nothing."""
    words = [re.escape(word) for word in re.split(r"[\W_]+", name) if word]
    said = re.compile(r"\b" + r"[\W_]+".join(words) + r"\b", re.IGNORECASE)
    told = {n: m.__doc__ for n, m in all_measures().items()} | {n: inspect.getdoc(f) for n, f in _functions().items()}
    found = [n for n, text in told.items() if len(words) > 1 and said.search(sections(text)[""])]
    return f"; see {found[0]!r}" if found else ""


def facts(name: str) -> dict[str, str | None]:
    """What can be said about a measure or a function in a line each: its declaration, options, charts, other names.

    Parameters
    ----------
    name : str
        A measure, or a function of ``glasshouse``.

    Returns
    -------
    dict of str to str or None
    """
    known = all_measures()
    if name in known:
        record: dict[str, str | None] = known[name].record()
        options = known[name].options
    else:
        function = _functions()[name]
        summary = sections(inspect.getdoc(function))[""].split("\n\n")[0].replace("\n", " ")
        record = {"name": name, "summary": summary}
        taken = [p for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_KEYWORD,)]
        options = {p.name: p.default for p in taken if p.default is not p.empty}
    drawn = _CHARTS.get(name, name if name in known else None)
    return {
        **record,
        "options": ", ".join(f"{k}={v!r}" for k, v in options.items()),
        "charts": None if drawn is None else ", ".join(described(drawn)),
        "elsewhere": ", ".join(known_elsewhere(name)),
    }


def _functions() -> dict[str, Callable[..., object]]:
    """Public functions and classes by name, the measures aside."""
    import glasshouse
    from glasshouse import data, protection, synthesis

    found: dict[str, Callable[..., object]] = {}
    for room in (glasshouse, data, protection, synthesis):
        for name in room.__all__:
            if callable(one := getattr(room, name)):
                found.setdefault(name, one)
    return found


@door
def check(original: Frame = None, released: Frame = None, **roles: Argument) -> Findings:
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
