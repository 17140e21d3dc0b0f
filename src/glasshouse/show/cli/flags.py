"""Hints in the language of the caller.

Every sentence of the house is written once and names arguments as Python has them: ``pass holdout=``. What the command
line prints goes through here, so that it names flags: ``pass --holdout``. Nothing else in the house knows of flags.
JSON stays as it is: it is data, and the same bytes whoever asked for it.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glasshouse.judgement.scenarios.scenarios import Scenarios
    from glasshouse.judgement.verdict.assessment import Assessment

ARGUMENTS: Mapping[str, str] = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "keys", "target", "holdout", "weights", "cluster", "schema", "special_codes", "exclude", "missing",
            "row_paired", "header", "encoding", "policy", "measures", "key_groups", "device", "people", "audience",
            "smoothing", "domain", "visit_sequence", "allow", "protect", "steps",
        )
    },
    "options": "--option",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "risk": "--measures",
    "utility": "--measures",
    "released": "RELEASED",
}  # fmt: skip
# what is said with more than an argument, longest first
PHRASES: Mapping[str, str] = {
    "give them names, keys={name: [...], ...}": "give them names in a settings file: [scenarios.NAME]",
    "give them as a mapping, allow={name: [arguments, ...]}": "take that step before, with a recipe and "
    "glasshouse protect",
    "gh.data.split_before_synthesis(cluster=...)": "glasshouse split --cluster",
    "gh.data.split_before_synthesis": "glasshouse split",
    "gh.measures()": "`glasshouse measures`",
    "gh.assess()": "`glasshouse assess`",
    "result.records names": "glasshouse measure NAME --records FILE names",
    "Risk.from_success_at_baseline": "--success with --baseline",
    "Risk.from_advantage": "--advantage without --baseline",
    "or None to compare values as they are": "or none to compare values as they are",
    "name them in visit_sequence": "name them in --visit-sequence",
    "out of visit_sequence": "out of --visit-sequence",
}
# where hints stand in a content; everything else in it is names and figures
_TEXTS = ("headline", "sentence", "reason", "text", "message", "notes", "warnings", "findings", "missing", "remarks")
_NAMED = re.compile(r"(?<![\w.])(options|key_groups|special_codes|exclude|schema) names\b")
_ARGUMENT = re.compile(r"(?<![\w.\-$])([a-z_]+)=(?!=)")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[\w+\-]+(?:\.\d+)?")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def flagged(text: str, measure: str | None = None, alone: bool = False) -> str:
    """A sentence of the house with flags in the place of arguments.

    Parameters
    ----------
    text : str
        The sentence.
    measure : str, optional
        The measure it is about, for hints at its options.
    alone : bool, default False
        Whether that measure is all that runs, so that ``--option`` need not name it.

    Returns
    -------
    str
    """
    for phrase, said in PHRASES.items():
        text = text.replace(phrase, said if measure is None else said.replace("NAME", measure))
    text = _NAMED.sub(lambda found: f"{ARGUMENTS[found[1]]} names", text)
    parts, at = [], 0
    for found in _ARGUMENT.finditer(text):
        if found.start() < at:
            continue  # inside the value of another
        flag = _flag(found[1], measure, alone)
        if flag is None:
            continue
        value, end = _value(text, found.end())
        parts += [text[at : found.start()], _said(flag, value)]
        at = end
    return "".join([*parts, text[at:]])


def _flag(name: str, measure: str | None, alone: bool) -> str | None:
    """``--keys``, or ``--option rapid.trees=`` for what only a measure takes; None for what is no argument."""
    if name in ARGUMENTS and (measure is None or measure not in _options().get(name, ())):
        return ARGUMENTS[name]
    takers = _options().get(name, ())
    if not takers:
        return None
    owner = measure if measure in takers else takers[0] if len(takers) == 1 else "MEASURE"
    return f"--option {name}=" if alone and owner == measure else f"--option {owner}.{name}="


@cache
def _options() -> dict[str, tuple[str, ...]]:
    """By option the measures that take it."""
    from glasshouse.catalogue import all_measures

    found: dict[str, tuple[str, ...]] = {}
    for measure in all_measures().values():
        for option in measure.options:
            found[option] = (*found.get(option, ()), measure.name)
    return found


def _value(text: str, start: int) -> tuple[Any, int]:
    """What stands after ``name=`` and where it ends; nothing where the argument is only named."""
    if start < len(text) and text[start] in _CLOSING:
        depth = 0
        for end in range(start, len(text)):
            depth += (text[end] in _CLOSING) - (text[end] in _CLOSING.values())
            if depth == 0:
                return _literal(text[start : end + 1]), end + 1
        return ..., len(text)
    word = _WORD.match(text, start)
    return ("", start) if word is None else (_literal(word[0]), word.end())


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # words between brackets, or worse
        return text if re.fullmatch(r"[\w+\-.]+", text) else ...


def _said(flag: str, value: Any) -> str:
    if flag.endswith("="):
        return flag if value == "" else f"{flag}{_written(value)}"
    if isinstance(value, bool) or value == "":
        return flag
    if isinstance(value, dict) and flag == "--option":
        every = [(f"{m}.{o}", v) for m, given in value.items() if isinstance(given, dict) for o, v in given.items()]
        return " ".join(f"{flag} {shlex.quote(name)}={_written(v)}" for name, v in every)
    if isinstance(value, dict):
        return " ".join(f"{flag} {shlex.quote(str(k))}={_written(v)}" for k, v in value.items())
    if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
        return " ".join(f"{flag} {_written(one)}" for one in value)
    return f"{flag} {_written(value)}"


def _written(value: Any) -> str:
    if value is ...:
        return "..."
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return ",".join(_written(one) for one in value)
    return shlex.quote(str(value)) if isinstance(value, str) else str(value).lower()


def flagged_content(content: Any, measure: str | None = None, hint: bool = False) -> Any:
    """A content whose hints name flags; names, figures and the call that repeats the run stay as they are.

    Parameters
    ----------
    content : object
        Plain data that passed the gate.
    measure : str, optional
        The measure it is about.
    hint : bool, default False
        Whether texts in it may hold hints.

    Returns
    -------
    object
    """
    if isinstance(content, Mapping):
        named = "name" if "judgement" in content else "measure" if "text" in content else None  # a result, an advice
        about = measure if named is None else content.get(named, measure)
        return {key: flagged_content(value, about, hint or key in _TEXTS) for key, value in content.items()}
    if isinstance(content, list):
        return [flagged_content(one, measure, hint) for one in content]
    return flagged(content, measure) if hint and isinstance(content, str) else content


def in_flags(found: Any, audience: str) -> Any:
    """An assessment, or several scenarios, whose content for an audience names flags.

    Parameters
    ----------
    found : Assessment or Scenarios
        What was found.
    audience : str
        For whom it will be told.

    Returns
    -------
    Assessment or Scenarios
        A copy.
    """
    several: Scenarios = found
    if hasattr(found, "assessments"):
        return type(several)({name: in_flags(one, audience) for name, one in several.assessments.items()})
    one: Assessment = found
    return replace(one, _contents={audience: flagged_content(one.content(audience))})
