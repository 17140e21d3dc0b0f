"""glasshouse.toml: what a run is about, so that the run is one word.

Everything in it has a flag of the same name, and a flag wins over the file. Names nobody reads are errors: a role that
is silently not taken is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.settings import read_settings

NAME = "glasshouse.toml"
WHAT = "settings file"
CASE = ("keys", "target", "key_groups")


def _text(value: object) -> bool:
    return isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _sets(value: object) -> bool:
    return _texts(value) or (isinstance(value, list) and all(isinstance(one, list) and _texts(one) for one in value))


def _table(value: object) -> bool:
    return isinstance(value, dict)


def _tables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole_or_all(value: object) -> bool:
    return _whole(value) or value == "all"


def _truth(value: object) -> bool:
    return isinstance(value, bool)


def _any(value: object) -> bool:
    return True


# by name: what it is in words, with an example, and the test
KNOWN: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "original": ('a file, original = "original.csv"', _text),
    "released": ('a file or a list of files, released = "released.csv"', _texts),
    "releases": ('a table of names and files for glasshouse compare, [releases] and then A = "a.csv"', _table),
    "holdout": ('a file, holdout = "holdout.csv"', _text),
    "keys": ('a list of columns, keys = ["age", "sex"], or a list of such lists', _sets),
    "target": ('a column, target = "income", or a list of columns', _texts),
    "scenarios": ('tables, [scenarios.neighbour] and then keys = ["age", "sex"]', _tables),
    "key_groups": ("a number of groups, or a table of columns and groups", _any),
    "weights": ('a column, weights = "w"', _text),
    "cluster": ('a column, cluster = "household"', _text),
    "exclude": ('a list of columns, exclude = ["note"]', _texts),
    "missing": ('a rule, missing = "level"', _text),
    "row_paired": ("true or false", _truth),
    "header": ("true or false", _truth),
    "encoding": ('an encoding, encoding = "latin-1"', _text),
    "schema": ('a table of columns and kinds, [schema] and then region = "categorical"', _table),
    "special_codes": ("a table of columns and codes, [special_codes] and then income = [-8]", _table),
    "policy": ('a policy file or a preset, policy = "research"', _text),
    "measures": ('a word or a list of words, measures = ["copying", "rapid"]', _texts),
    "options": ("tables, [options.rapid] and then trees = 200", _tables),
    "seed": ("a whole number, seed = 0", _whole),
    "jobs": ("a whole number, jobs = 2", _whole),
    "device": ('cpu, cuda or spark, device = "cuda"', _text),
    "people": ('a whole number or "all", people = "all"', _whole_or_all),
    "output": ('a file or a list of files, output = "report.html"', _texts),
    "format": ('a format, format = "json"', _text),
    "audience": ('internal or external, audience = "external"', _text),
    "mode": ('permissions, mode = "640"', _text),
}
_blamed: dict[str, Path] = {}  # what the run at hand takes from a file, and the file
_FILES = ("original", "released", "holdout", "output")


def read(path: Path) -> dict[str, Any]:
    """What a settings file says, with the files it names found from its own folder.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict
        By the names of ``KNOWN``, those given only.

    Raises
    ------
    InputError
        For a name nobody reads, or a value of the wrong kind.
    """
    where = f"{WHAT} {path}"
    found = read_settings(path, WHAT, "toml")
    for name, value in found.items():
        if name not in KNOWN:
            there = closest(name, KNOWN)
            raise InputError(f"{where} has an unknown name {name!r}{there}; it takes: {listed(KNOWN, 40)}")
        words, fits = KNOWN[name]
        if not fits(value):
            raise InputError(f"{where}: {name} is {words}")
    for name, case in found.get("scenarios", {}).items():
        _check_case(case, f"{where}, [scenarios.{name}]")
    folder = path.parent
    for name in _FILES:
        if name in found:
            given = found[name]
            found[name] = _placed(folder, given) if isinstance(given, str) else [_placed(folder, one) for one in given]
    if "releases" in found:
        found["releases"] = {name: _placed(folder, str(file)) for name, file in found["releases"].items()}
    if (policy := found.get("policy")) is not None and (folder / policy).is_file():
        found["policy"] = str(folder / policy)
    return found


def remember(path: Path | None, names: Iterable[str]) -> None:
    """Note which file says what in the run at hand, so that its faults are not looked for on the command line.

    Parameters
    ----------
    path : Path, optional
        The settings file; None where there is none.
    names : iterable of str
        What is taken from it, and not from a flag.
    """
    _blamed.clear()
    if path is not None:
        _blamed.update(dict.fromkeys(names, path))


def blamed(text: str) -> str:
    """An error that begins with a flag nobody gave, told of the settings file that said it."""
    for name, path in _blamed.items():
        flag = f"--{name.replace('_', '-')} "
        if text.startswith(flag):
            return f"{path}: {name} {text.removeprefix(flag)}"
    return text


def _check_case(case: Mapping[str, Any], where: str) -> None:
    for name, value in case.items():
        if name not in CASE:
            raise InputError(f"{where} has an unknown name {name!r}{closest(name, CASE)}; it takes: {listed(CASE)}")
        if name == "keys" and not _texts(value):
            raise InputError(f'{where}: keys is a list of columns, keys = ["age", "sex"]')
        if name == "target" and not _text(value):
            raise InputError(f'{where}: target is a column, target = "income"')


def _placed(folder: Path, file: str) -> str:
    return file if file == "-" else str(folder / file)


def found_for(given: Path | None, original: Path | None) -> tuple[Path | None, dict[str, Any], str]:
    """The settings of a run: the file named, else the one in this folder when it is about the same original.

    Parameters
    ----------
    given : Path, optional
        ``--settings``.
    original : Path, optional
        The table named on the command line.

    Returns
    -------
    tuple
        The file or None, what it says, and a note for the person at the terminal.
    """
    if given is not None:
        return given, read(given), ""
    here = Path(NAME)
    if not here.is_file():
        return None, {}, ""
    said = read(here)
    own = said.get("original")
    if original is not None and not (own is not None and _same(Path(own), original)):
        # keys and schema of one table would be taken for those of another
        return None, {}, f"note: {NAME} is about another original and is not used; --settings {NAME} uses it"
    return here, said, f"settings from {NAME}; flags win"


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
