"""The API reference: a page per room, its functions and classes from their docstrings with their types."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tools.site.writing import heading

import glasshouse as gh
from glasshouse.core.measure import Measure

FIRST = ("Pair", "check", "assess", "scenarios", "compare", "mitigate", "audit", "rapid_cv", "app", "measures",
         "explain", "device")  # fmt: skip
# what users hold in their hands, and where it is declared
HELD = {
    "Results": ["glasshouse.core.result.Result", "glasshouse.judgement.verdict.assessment.Assessment",
                "glasshouse.judgement.verdict.threats.Threat", "glasshouse.judgement.scenarios.scenarios.Scenarios",
                "glasshouse.judgement.rumap.map.RUMap", "glasshouse.judgement.mitigation.mitigated.Mitigated",
                "glasshouse.data.findings.Findings", "glasshouse.data.examples.Example"],
    "Policies": ["glasshouse.judgement.policy.policy.Policy", "glasshouse.judgement.policy.leak.LeakLevels",
                 "glasshouse.core.limits.Limit", "glasshouse.core.limits.Evidence"],
    "Errors": ["glasshouse.core.errors.GlasshouseError", "glasshouse.core.errors.InputError"],
}  # fmt: skip
ROOMS = {
    "data": ("gh.data: reading, bundled and simulated data", "glasshouse.data"),
    "formal": ("gh.formal and gh.Risk: formal guarantees", "glasshouse.formal"),
    "synthesis": ("gh.synthesis: making releases", "glasshouse.synthesis"),
    "protection": ("gh.protection: operations that make a table safer", "glasshouse.protection"),
}


def pages() -> Iterator[tuple[str, str]]:
    """File names and their text."""
    yield "functions.rst", heading("What one calls first") + "\n" + "\n".join(_one(f"glasshouse.{n}") for n in FIRST)
    for title, paths in HELD.items():
        text = heading(title) + "\n" + "\n".join(_one(path) for path in paths)
        yield f"{title.lower()}.rst", text
    for room, (title, package) in ROOMS.items():
        module = import_module(package)
        names = [name for name in sorted(module.__all__) if _documented(getattr(module, name))]
        paths = [f"{package}.{name}" for name in names]
        if room == "formal":
            paths = ["glasshouse.Risk", *(path for path in paths if not path.endswith(".Risk"))]
        yield f"{room}.rst", heading(title) + "\n" + "\n".join(_one(path) for path in paths)
    listed = ["functions", "results", "policies", *ROOMS, "errors"]
    yield (
        "index.rst",
        (
            heading("API reference")
            + "\nFrom the docstrings, with types. ``import glasshouse as gh`` brings all of it; the measures, "
            "``gh.disclosure.*`` and ``gh.utility.*``, have :doc:`pages of their own </measure/index>`.\n\n"
            ".. toctree::\n   :maxdepth: 1\n\n   " + "\n   ".join(listed) + "\n"
        ),
    )


def _documented(thing: object) -> bool:
    """Functions and classes whose home the room is; what is at home elsewhere has its place there."""
    if inspect.ismodule(thing) or isinstance(thing, Measure) or not callable(thing):
        return False
    return thing is not gh.Pair


def _thing(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _one(path: str) -> str:
    thing = _thing(path)
    if inspect.isclass(thing):
        return f".. autoclass:: {path}\n   :members:\n   :inherited-members: {_alien(thing)}\n"
    return f".. autofunction:: {path}\n"


def _alien(thing: type) -> str:
    """Classes of other libraries, whose methods are told elsewhere."""
    from glasshouse.core.errors import GlasshouseError

    if issubclass(thing, GlasshouseError):
        return "Exception"
    names = [one.__name__ for one in thing.__mro__ if not one.__module__.startswith("glasshouse")]
    return ", ".join(dict.fromkeys(["object", *names]))


def write(folder: Path) -> None:
    """Write all pages into a folder; a file that is right already is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        target = folder / name
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
