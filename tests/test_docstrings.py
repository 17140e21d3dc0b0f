"""What the docstrings promise: every parameter is explained where it is declared, and every example runs.

The checks take any object, so a measure (whose function holds the docstring) goes through the same ones.
"""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from itertools import pairwise
from types import ModuleType

import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures, sections
from glasshouse.core.measure import Measure

ROOMS = {"gh": gh, "gh.data": gh.data, "gh.formal": gh.formal, "gh.protection": gh.protection,
         "gh.synthesis": gh.synthesis}  # fmt: skip
NEEDS = {"glasshouse.synthesis.dp.mst": "opendp", "glasshouse.synthesis.dp.aim": "opendp"}
ENGINES = ("cells", "neighbours", "pairs")
EXAMPLES_OF = ("data", "formal", "synthesis", "protection", "judgement")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


# -- reading a docstring -----------------------------------------------------------------------------------------------


def explained(text: str | None, *titles: str) -> set[str]:
    """Names that the given sections explain: unindented lines ``a, b : type`` with something indented below."""
    names: set[str] = set()
    parts = sections(text)
    for title in titles:
        lines = parts.get(title, "").splitlines()
        for line, below in pairwise([*lines, ""]):
            if line and not line.startswith(" ") and below.startswith(" "):
                names |= {name.strip().lstrip("*") for name in line.split(" : ")[0].split(",")}
    return names


def parameters(function: Callable[..., object]) -> list[str]:
    """Names a caller may write; private ones and the object itself are none."""
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls") and name[0] != "_"]


def unexplained(thing: object) -> list[str]:
    """Parameters of a function, method or class that its docstring does not explain."""
    titles = ["Parameters", "Other Parameters"]
    if not inspect.isclass(thing):
        known = explained(inspect.getdoc(thing), *titles)
        return [name for name in parameters(thing) if name not in known]  # type: ignore[arg-type]  # a function
    if is_dataclass(thing):
        titles.append("Attributes")  # what a caller reads off a result, and never passes
    if thing.__init__ is object.__init__ or issubclass(thing, Exception) or is_protocol(thing):  # type: ignore[misc]
        return []
    known = explained(thing.__doc__, *titles) | explained(thing.__init__.__doc__, *titles)  # type: ignore[misc]
    return [name for name in parameters(thing) if name not in known]


def is_protocol(thing: type) -> bool:
    return bool(getattr(thing, "_is_protocol", False))


# -- what is public ----------------------------------------------------------------------------------------------------


def public_things() -> dict[str, object]:
    """Functions and classes of the public rooms by the name a user writes, and the public methods of the classes."""
    found: dict[str, object] = {}
    for room, module in ROOMS.items():
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, (ModuleType, Measure)) or not callable(thing):
                continue
            found[f"{room}.{name}"] = thing
            if inspect.isclass(thing):
                found.update({f"{room}.{name}.{method}": made for method, made in methods(thing)})
    return found


def methods(owner: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties that glasshouse itself defines."""
    for name in dir(owner):
        raw = inspect.getattr_static(owner, name)
        made = raw if isinstance(raw, property) else getattr(owner, name)
        home = getattr(raw.fget if isinstance(raw, property) else made, "__module__", None) or ""
        is_method = isinstance(raw, (property, classmethod, staticmethod)) or inspect.isfunction(raw)
        if name[0] != "_" and is_method and home.startswith("glasshouse"):
            yield name, made


def engine_things() -> dict[str, object]:
    """What the counting, neighbour and pair engines offer other rooms: everything but compiled loops."""
    found: dict[str, object] = {}
    for engine in ENGINES:
        package = importlib.import_module(f"glasshouse.engines.{engine}")
        for part in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(part.name)
            for name, thing in vars(module).items():
                if (
                    name[0] != "_"
                    and home(thing) == part.name
                    and (inspect.isfunction(thing) or inspect.isclass(thing))
                ):
                    found[f"{engine}.{name}"] = thing
                    if inspect.isclass(thing):
                        found.update({f"{engine}.{name}.{method}": made for method, made in methods(thing)})
    return found


def home(thing: object) -> str:
    return str(getattr(thing.fget if isinstance(thing, property) else thing, "__module__", ""))


def results_and_assessments() -> dict[str, object]:
    """What users hold in their hands without importing it."""
    from glasshouse.core.result import Result
    from glasshouse.judgement.verdict.assessment import Assessment

    held = {"Result": Result, "Assessment": Assessment}
    return {f"{name}.{method}": made for name, owner in held.items() for method, made in methods(owner)}


THINGS = {**public_things(), **engine_things(), **results_and_assessments()}


@pytest.mark.parametrize("name", THINGS)
def test_every_parameter_is_explained(name: str) -> None:
    thing = THINGS[name]
    assert sections(inspect.getdoc(thing))[""].strip(), f"{name} has no docstring"
    if not isinstance(thing, property):
        assert unexplained(thing) == [], f"{name} takes parameters its docstring does not explain"


@pytest.mark.parametrize("name", [name for name, thing in THINGS.items() if inspect.isroutine(thing)])
def test_functions_and_methods_say_what_they_return(name: str) -> None:
    thing = THINGS[name]
    if inspect.signature(thing).return_annotation not in ("None", None):  # type: ignore[arg-type]  # a function
        assert {"Returns", "Yields"} & set(sections(inspect.getdoc(thing))), f"{name} does not say what it returns"


# -- examples ----------------------------------------------------------------------------------------------------------


def run_examples(thing: object, name: str) -> int:
    """Runs every example below an object and returns how many there were."""
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    ran = 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(thing, name):
        messages: list[str] = []
        outcome = runner.run(test, out=messages.append, clear_globs=True)
        assert outcome.failed == 0, "".join(messages)
        ran += outcome.attempted
    return ran


def example_modules() -> list[str]:
    """Every module of the rooms whose examples are run."""
    found = ["glasshouse.catalogue"]
    for room in EXAMPLES_OF:
        package = importlib.import_module(f"glasshouse.{room}")
        found += [part.name for part in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return found


@pytest.mark.parametrize("name", example_modules())
def test_examples_run(name: str) -> None:
    package = NEEDS.get(name)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"the examples of {name} need {package}, which is not installed")
    run_examples(importlib.import_module(name), name)


def test_what_users_call_first_has_an_example() -> None:
    shown = ("gh.Pair", "gh.Risk", "gh.Policy", "gh.RUMap.from_scores", "gh.assess", "gh.compare", "gh.scenarios",
             "gh.rapid_cv",
             "gh.check", "gh.explain", "gh.measures", "gh.data.load", "gh.data.simulate_health",
             "gh.data.simulate_case_study", "gh.data.split_before_synthesis", "gh.formal.gaussian",
             "gh.formal.approximate", "gh.formal.lower_bounds", "gh.formal.audit_counts", "gh.synthesis.Cart",
             "gh.synthesis.Domain", "gh.synthesis.sdc", "gh.synthesis.replicated_uniques")  # fmt: skip
    lacking = [name for name in shown if "Examples" not in sections(inspect.getdoc(THINGS[name]))]
    assert lacking == []


# -- measures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(all_measures()))
def test_measures_are_explained(name: str) -> None:
    measure = all_measures()[name]
    text = inspect.getdoc(measure.function)
    titles = sections(text)
    known = explained(text, "Parameters", "Other Parameters")
    assert [option for option in measure.options if option not in known] == []
    for title in ("Parameters", "Returns", "Notes", "References", "Examples"):
        assert title in titles, f"{name} has no section {title}"
    assert run_examples(measure.function, name) > 0


# -- the checks themselves ---------------------------------------------------------------------------------------------


def test_the_checks_find_what_is_missing() -> None:
    def half_told(first: int, second: int = 0, *rest: int, **more: int) -> None:
        """Do something.

        Parameters
        ----------
        first, more : int
            Explained together.
        second : int

        Notes
        -----
        ``rest : int`` stands elsewhere.
        """

    assert unexplained(half_told) == ["second", "rest"]
    assert set(sections(half_told.__doc__)) == {"", "Parameters", "Notes"}
    half_told.__doc__ = "Say what is so.\n\n>>> 1 + 1\n2\n"
    assert run_examples(half_told, "half_told") == 1
    half_told.__doc__ = "Say what is not so.\n\n>>> 1 + 1\n3\n"
    with pytest.raises(AssertionError, match="Expected"):
        run_examples(half_told, "half_told")
