"""What one window knows: the settings of a ``glasshouse.toml`` in the making, the tables, and what came of the runs.

Everything a person says on a page is an entry of those settings, and everything that runs is run as the command line
runs it from such a file. So a verdict here is the verdict of ``glasshouse assess``, and the file to take away repeats
it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.core.words import visible
from glasshouse.core.writing import write_atomically
from glasshouse.judgement.policy.policy import Policy
from glasshouse.show.app.layout import STEPS, page_of
from glasshouse.show.app.windows import UPLOAD
from glasshouse.show.cli.asked import Asked
from glasshouse.show.pace import Pace

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.judgement.verdict.assessment import Assessment

Told = Callable[[int, int, str], None]
Form = Mapping[str, list[str]]
TABLES = ("original", "released", "holdout")
ROLES = ("keys", "target", "weights", "cluster", "row_paired", "missing")
READ = ("original", "released", "holdout", "schema", "special_codes", "exclude", "header", "encoding")
EVERY = 0.4  # seconds between two words about how far a run is
KEPT = "settings.json"
POLICY = "policy.toml"  # what a policy made here is called when it is taken away


@dataclass(frozen=True)
class Made:
    """What came of a run, and the settings it was run with."""

    said: Content
    found: Any


@dataclass
class Desk:
    """The state of one window.

    Parameters
    ----------
    folder : Path
        Its private folder.
    told : callable
        Called with words about how far a run is: done, total, and the line.
    """

    folder: Path
    told: Told
    said: Content = field(default_factory=dict)
    assessed: Made | None = None
    scenarios: Made | None = None
    compared: Made | None = None
    mitigated: Made | None = None
    tried: Made | None = None
    choice: int = 0  # the operation that was tried
    drawn: tuple[Assessment, Content] | None = None  # the parts of the report of a verdict
    refused: dict[str, Form] = field(default_factory=dict)  # by page a form that could not be taken over
    shown_records: str | None = None  # the measure whose records were asked for, until they were shown
    _pair: tuple[str, Pair] | None = None

    def __post_init__(self) -> None:
        kept = self.folder / KEPT
        if kept.exists():  # the process before this one was ended
            self.said = json.loads(kept.read_text(encoding="utf-8"))

    # -- what the server asks ------------------------------------------------------------------------------------------

    def page(self, name: str, given: Content) -> Content:
        """A page as HTML, or a file to take away.

        Parameters
        ----------
        name : str
            One of :data:`glasshouse.show.app.layout.STEPS`, or "take/" and the name of a file.
        given : dict
            ``query``: what the address asks for; ``notice``: what came of the last act; ``number``: how many
            pages the window has shown.

        Returns
        -------
        dict
        """
        query: Form = given.get("query", {})
        if name.startswith("take/"):
            return _of("take").file(self, name.removeprefix("take/"), query)
        if name not in STEPS:
            raise InputError("there is no such page")
        closed = page_of(name).closed(self)
        if closed:
            return {"go": closed}
        shown = _of(name).view(self, query)
        said = {**(given.get("notice") or {}), "number": given.get("number", 0)}
        return {"html": page_of(name).render(self, shown, said, part="part" in query)}

    def act(self, name: str, given: Content) -> Content:
        """Do what a form asks for.

        Parameters
        ----------
        name : str
            The page and the act, "columns/change".
        given : dict
            ``form``: its fields.

        Returns
        -------
        dict
            ``go``: the page that follows; ``said``: a sentence about what was done.
        """
        page, _, act = name.partition("/")
        known: Mapping[str, Callable[[Desk, Any], Content]] = {} if page not in STEPS else _of(page).ACTS
        if act not in known:
            raise InputError("there is nothing of that name to be done")
        before = self.said
        try:
            done = known[act](self, given.get("form", {}))
        except BaseException:  # also a cancel: what was said stays as it was before
            self.said, self.refused = before, {page: given.get("form", {})}
            raise
        self.refused = {}
        write_atomically(self.folder / KEPT, json.dumps(self.said))
        return done

    def outside(self, said: str) -> str:
        """A sentence in which files of the private folder are called by their names alone.

        Parameters
        ----------
        said : str
            The sentence.

        Returns
        -------
        str
        """
        inside = rf"{re.escape(str(self.folder.resolve()))}[/\\](?:{UPLOAD}[^/\\]*[/\\])?"
        return re.sub(inside, "", said)

    # -- settings ------------------------------------------------------------------------------------------------------

    def say(self, **changes: Any) -> None:
        """Change settings; None takes one away.

        Parameters
        ----------
        **changes
            By the names of a settings file.
        """
        self.said = {k: v for k, v in {**self.said, **changes}.items() if v is not None and v not in ([], {}, "")}

    @property
    def asked(self) -> Asked:
        """The settings, as the command line reads them."""
        return self.asked_of(self.said)

    def asked_of(self, said: Content) -> Asked:
        """Settings, as the command line reads them; a policy of this window is called as the file to take away."""
        path = said.get("policy")
        if path is None or not Path(path).is_relative_to(self.folder):
            return Asked(said, quiet=True)
        return Asked(said, quiet=True, _policies=[replace(Policy.load(path), source=POLICY)])

    @property
    def ready(self) -> bool:
        """Whether both tables are named."""
        return "original" in self.said and "released" in self.said

    @property
    def pair(self) -> Pair:
        """The pair of the settings; tables are read anew only when they are other ones, or to be read otherwise."""
        if not self.ready:
            raise InputError("name the original and the release first")
        tables = json.dumps({name: self.said.get(name) for name in READ}, sort_keys=True)
        asked = self.asked
        if self._pair is None or self._pair[0] != tables:
            self._pair = None  # the old tables go before the new ones come
            self._pair = tables, asked.pair(asked.case("assess"))
            return self._pair[1]
        given = {**asked.case("assess"), **{k: v for k, v in asked.pair_arguments.items() if k in ROLES}}
        roles = {"keys": None, "target": None, "weights": None, "cluster": None, "missing": None, "row_paired": False}
        wanted = {**roles, **{k: v for k, v in given.items() if k in ROLES}}
        if any(self._pair[1]._given[name] != value for name, value in wanted.items()):
            self._pair = tables, self._pair[1].replace(**wanted)
        return self._pair[1]

    @property
    def read(self) -> bool:
        """Whether the tables have been read."""
        return self._pair is not None

    @property
    def assessment(self) -> Assessment:
        """The verdict that was reached."""
        if self.assessed is None:
            raise InputError("nothing was assessed yet")
        found: Assessment = self.assessed.found
        return found

    def stale(self, page: str) -> bool:
        """Whether what a page shows was made with other settings than those of now.

        Parameters
        ----------
        page : str
            Its name.

        Returns
        -------
        bool
        """
        own = {"compare": [self.compared], "mitigate": [self.tried, self.mitigated]}
        shown = own.get(page, [self.assessed])
        whole = page == "compare"  # the others look at one release
        return any(made is not None and not alike(made.said, self.said, releases=whole) for made in shown)

    # -- runs ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def telling(self, costs: Mapping[str, float] | None = None) -> Iterator[Told]:
        """A function for ``progress=``; while it is in use, words about how far the run is are sent.

        Parameters
        ----------
        costs : mapping of str to float, optional
            Rough seconds by step.

        Yields
        ------
        callable
        """
        pace, over = Pace(costs or {}), threading.Event()

        def speak() -> None:
            while not over.wait(EVERY):
                self.told(pace.done, pace.total, visible(_titled(pace.line(), pace.name)))

        threading.Thread(target=speak, name="glasshouse tells", daemon=True).start()
        try:
            yield pace.step
        finally:
            over.set()


def _titled(line: str, step: str) -> str:
    """A line about a run in which a measure is called by its title."""
    name = step.partition(" (")[0]
    measure = all_measures().get(name)
    return line if measure is None else line.replace(f"now {name}", f"now {measure.title}", 1)


def alike(some: Content, others: Content, releases: bool = False) -> bool:
    """Whether two runs were asked for the same; other releases to compare with count where they are shown.

    Parameters
    ----------
    some, others : dict
        Settings.
    releases : bool, default False
        Whether the releases to compare with count.

    Returns
    -------
    bool
    """
    left_out = () if releases else ("releases",)
    return all(some.get(name) == others.get(name) for name in {*some, *others}.difference(left_out))


def _of(page: str) -> Any:
    """The module of a page, imported when it is first looked at."""
    return import_module(f"glasshouse.show.app.pages.{page}")
