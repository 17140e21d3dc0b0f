"""Bring the files: dropped, chosen, or named by where they lie; or the bundled example, or a settings file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError, closest
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.plain import Content
from glasshouse.core.words import visible
from glasshouse.data.files import KINDS, SUFFIXES
from glasshouse.show.app.desk import TABLES, Desk, Form
from glasshouse.show.cli import settings

REPORTED = ("output", "format", "audience", "mode", "jobs")  # of a settings file, what is no part of the work here
TITLES = {
    "original": ("Original", "The confidential table: one row per person, or per record."),
    "released": ("Release", "The synthetic or anonymised table that you want to give out."),
    "holdout": (
        "Holdout",
        "People of the same population whom the synthesiser never saw. Without them most threats cannot be judged.",
    ),
}


def view(desk: Desk, query: Form) -> Content:
    """The three tables, and how files are read."""
    return {
        "tables": [_slot(desk, name) for name in TABLES],
        "header": bool(desk.said.get("header")),
        "encoding": desk.said.get("encoding", ""),
        "accept": ",".join(SUFFIXES),
        "kinds": KINDS,
        "ready": desk.ready,
    }


def _slot(desk: Desk, name: str) -> Content:
    title, about = TITLES[name]
    given = desk.said.get(name)
    path = None if given is None else Path(given)
    return {
        "name": name,
        "title": title,
        "about": about,
        "file": None if path is None else visible(path.name),
        "size": None if path is None or not path.exists() else spoken_size(path.stat().st_size),
        "kind": None if path is None else "".join(path.suffixes[-2:] if path.suffix == ".gz" else [path.suffix])[1:],
        "uploaded": path is not None and path.is_relative_to(desk.folder),
    }


def spoken_size(size: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def one(form: Form, name: str) -> str:
    """A field of a form; empty where it is not there."""
    return (form.get(name) or [""])[0].strip()


# -- acts --------------------------------------------------------------------------------------------------------------


def name_table(desk: Desk, form: Form) -> Content:
    """Take files, uploaded or named, each as one of the tables; one that cannot be taken keeps no other from it."""
    problems = missed(form)
    for table, path in zip(form.get("table", []), form.get("path", []), strict=True):
        try:
            if table not in TABLES:
                raise InputError("say which table the file is")
            desk.say(**{table: str(table_file(path))})
        except InputError as problem:
            problems.append(str(problem))
    return {"go": "files", "problem": ". ".join(problems) or None}


def missed(form: Form) -> list[str]:
    """What is said of uploads that did not come through."""
    return [f"{visible(name)} could not be copied: perhaps there is no room left" for name in form.get("failed", [])]


def table_file(given: str) -> Path:
    """The file of a path, when it is one that is read."""
    path = there(given)
    if not path.name.lower().endswith(SUFFIXES):
        raise InputError(f"glasshouse reads {KINDS}{closest(path.suffix.lower(), SUFFIXES) if path.suffix else ''}")
    return path


def remove(desk: Desk, form: Form) -> Content:
    """Take a table away; an uploaded file is deleted."""
    table = one(form, "table")
    path = desk.said.get(table) if table in TABLES else None
    if path is not None:
        desk.say(**{table: None})
        forget(desk, path)
    return {"go": "files"}


def forget(desk: Desk, path: str) -> None:
    """Delete a file that was uploaded; what lies elsewhere stays."""
    if Path(path).is_relative_to(desk.folder):
        Path(path).unlink(missing_ok=True)


def read(desk: Desk, form: Form) -> Content:
    """Read the tables and look at them."""
    desk.say(header="header" in form or None, encoding=one(form, "encoding") or None)
    _look(desk)
    return {"go": "columns"}


def example(desk: Desk, form: Form) -> Content:
    """Take the bundled, made-up data with their roles."""
    from glasshouse.data.examples import load

    found = load("health")
    folder = desk.folder / "example"
    folder.mkdir(exist_ok=True, mode=0o700)
    paths = {name: folder / f"{name}.arrow" for name in TABLES}
    for name, path in paths.items():
        getattr(found, name).write_ipc(path)
    desk.said = {}
    desk.say(**{name: str(path) for name, path in paths.items()}, keys=list(found.keys), target=found.target)
    _look(desk)
    return {"go": "columns", "said": f"Made-up data: {found.description}. Keys and target are set."}


def take_settings(desk: Desk, form: Form) -> Content:
    """Begin with what a settings file says."""
    desk.said = {}
    return begin(desk, settings.read(there(one(form, "path"))))


def begin(desk: Desk, said: Mapping[str, Any]) -> Content:
    """Begin with settings; the tables are read where both are named.

    Parameters
    ----------
    desk : Desk
        A fresh one.
    said : mapping
        By the names of a settings file.

    Returns
    -------
    dict
    """
    target, released = said.get("target"), said.get("released")
    if isinstance(target, list) and len(target) > 1:
        raise InputError("the workbench looks at one target at a time: name the one that matters most first")
    if isinstance(released, list) and len(released) > 1:
        raise InputError("the workbench assesses one release; bring the others on the page Compare")
    one_of = {
        "target": target[0] if isinstance(target, list) and target else target,
        "released": released[0] if isinstance(released, list) and released else released,
    }
    keys = said.get("keys")
    if isinstance(keys, list) and keys and isinstance(keys[0], list):
        one_of["keys"] = keys[0]
    desk.say(**{k: v for k, v in said.items() if k not in REPORTED})
    desk.say(**one_of)
    for table in TABLES:
        if table in desk.said:
            there(desk.said[table])
    if not desk.ready:
        return {"go": "files"}
    _look(desk)
    return {"go": "columns"}


def _look(desk: Desk) -> None:
    """Read the tables, and look for what does not fit."""
    with desk.telling():
        desk.pair.check()


def there(given: str) -> Path:
    """The file of a path."""
    given = given.strip().strip("\"'")  # a path that was copied often comes in quotes
    if not given:
        raise InputError("name a file")
    path = Path(given).expanduser()
    if not is_file(path):
        raise InputError(f"file not found: {as_told(given)}")
    return path.resolve()


ACTS = {
    "name": name_table,
    "remove": remove,
    "read": read,
    "example": example,
    "settings": take_settings,
    "begin": begin,
}
