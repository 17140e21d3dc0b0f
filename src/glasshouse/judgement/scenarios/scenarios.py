"""What several scenarios of one release say: the assessments, the table over them, the worst, and the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.plain import Content, plain, to_json
from glasshouse.core.printing import card
from glasshouse.core.words import MARKS, THREATS, plural, visible, worst
from glasshouse.core.writing import delivered, kept, write_together
from glasshouse.judgement.verdict.assessment import Assessment

SCHEMA = "glasshouse.scenarios"
SCHEMA_VERSION = 1
_WORST_FIRST = (1, 3, 0)  # violated, not fully measured, met


@door
@dataclass(frozen=True, eq=False)
class Scenarios(Mapping[str, Assessment]):
    """What ``gh.scenarios`` returns: an assessment per scenario, by name.

    Attributes
    ----------
    assessments : dict of str to Assessment
        One per scenario, in the order they were asked.
    """

    assessments: dict[str, Assessment]

    def __getitem__(self, name: str) -> Assessment:
        return self.assessments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.assessments)

    def __len__(self) -> int:
        return len(self.assessments)

    # -- verdict -------------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The verdict of the worst scenario."""
        return worst(found.verdict for found in self.values())

    @property
    def exit_code(self) -> int:
        """The exit code of the worst scenario: 1 before 3 before 0."""
        return min((found.exit_code for found in self.values()), key=_WORST_FIRST.index)

    @property
    def worst(self) -> str:
        """The name of the worst scenario, the first of several."""
        return next(name for name, found in self.items() if found.verdict == self.verdict)

    def raise_for_status(self) -> Scenarios:
        """Return quietly when the policy is met in every scenario; raise for the worst otherwise.

        Returns
        -------
        Scenarios
            These scenarios.
        """
        for found in sorted(self.values(), key=lambda one: _WORST_FIRST.index(one.exit_code)):
            found.raise_for_status()
        return self

    @property
    def headline(self) -> str:
        """The worst scenario in a sentence."""
        same = sum(found.verdict == self.verdict for found in self.values())
        counted = f"{same} of {len(self)} {plural(len(self), 'scenario')}"
        return f"{counted}: {self.verdict}. The worst, {self.worst}: {self[self.worst].headline}"

    # -- plain data ----------------------------------------------------------------------------------------------------

    def content(self, audience: str = "internal") -> Content:
        """Everything a reader may see, built of the contents of the assessments and nothing else.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.

        Returns
        -------
        dict
            Plain data with a versioned schema, described in ``docs/content.md``.
        """
        contents = {name: found.content(audience) for name, found in self.items()}
        return {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "audience": audience,
            "verdict": self.verdict,
            "worst": self.worst,
            "exit_code": self.exit_code,
            "table": [_row(name, shown) for name, shown in contents.items()],
            "scenarios": contents,
        }

    def to_frame(self) -> pl.DataFrame:
        """The table over scenarios.

        Returns
        -------
        polars.DataFrame
            One row per scenario: name, keys, target, verdict, and the status of each threat.
        """
        rows = [_row(name, found.content()) for name, found in self.items()]
        return pl.DataFrame(
            [{**row, "keys": ", ".join(row["keys"]), "target": ", ".join(row["target"])} for row in rows]
        )

    # -- reports -------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """All scenarios as one JSON text, byte-identical for the same inputs and seed.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            The text.
        """
        return delivered(to_json(plain(self.content(audience))) + "\n", path, mode)

    def to_html(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """A page with the table over scenarios; beside it the whole report of every scenario, a page each.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the page; ``report.html`` also writes ``report-1.html``, ``report-2.html``, ... and links to
            them.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the files, such as 0o640. Default: an existing file keeps its own, a new one is for its
            owner alone (600).

        Returns
        -------
        str
            The page with the table.
        """
        if path is None:
            page: str = _drawn().page(self, audience, {})
            return page
        return kept(self._written(self.pages(path, audience=audience), mode), path)

    def to_pdf(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> bytes:
        """The same as PDF, a file each, printed by the Chromium (or Chrome, or Edge) of this machine.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the sheet with the table; ``report.pdf`` also writes ``report-1.pdf``, ``report-2.pdf``, ...
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the files, such as 0o640. Default: an existing file keeps its own, a new one is for its
            owner alone (600).

        Returns
        -------
        bytes
            The sheet with the table.
        """
        if path is None:
            made: bytes = _printed(_drawn().page(self, audience, {}))
            return made
        return kept(self._written(self.pages(path, audience=audience, form="pdf"), mode), path)

    def pages(self, path: str | Path, *, audience: str = "internal", form: str = "html") -> dict[Path, Any]:
        """The files that ``to_html`` and ``to_pdf`` write, the one with the table first.

        Parameters
        ----------
        path : str or Path
            Where the page with the table will be; the others are named after it.
        audience : {"internal", "external"}
            For whom.
        form : {"html", "pdf"}
            What they are written in; a PDF has no links, because it would not find its neighbours elsewhere.

        Returns
        -------
        dict of Path to str or bytes
            By file.
        """
        path = Path(path)
        if not path.name or form not in ("html", "pdf"):
            raise InputError("pages takes the name of a file, and form 'html' or 'pdf'")
        files = {name: path.with_name(f"{path.stem}-{i}{path.suffix}") for i, name in enumerate(self, 1)}
        if form == "pdf":
            sheet = _printed(_drawn().page(self, audience, {}))
            return {path: sheet, **{files[n]: one.to_pdf(audience=audience, title=n) for n, one in self.items()}}
        index = _drawn().page(self, audience, {name: file.name for name, file in files.items()})
        return {path: index, **{files[n]: one.to_html(audience=audience, title=n) for n, one in self.items()}}

    def _written(self, pages: Mapping[Path, Any], mode: int | None) -> Any:
        write_together(pages, mode)
        return next(iter(pages.values()))

    def to_markdown(
        self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None
    ) -> str:
        """The table over scenarios, then the summary of each, as one Markdown text.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            Markdown.
        """
        return delivered(_drawn().markdown(self.content(audience)), path, mode)

    def to_junit(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """JUnit XML for a pipeline: one test suite per scenario.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            XML.
        """
        return delivered(_drawn().junit(self.content(audience)), path, mode)

    def __repr__(self) -> str:
        lines = [f"{MARKS[self.verdict]} {self.verdict.upper()}  {self.headline}", ""]
        return visible("\n".join([*lines, _drawn().table(self.content())]))

    def _repr_html_(self) -> str:
        return card(self)


def _row(name: str, shown: Content) -> Content:
    """One row of the table: of what the gate let through."""
    statuses: Content = {threat: shown["threats"][threat]["status"] for threat in THREATS}
    return {
        "scenario": name,
        "keys": list(shown["data"]["keys"]),
        "target": list(shown["data"]["target"]),
        "verdict": shown["verdict"],
        **statuses,
    }


def _printed(page: str) -> Any:
    return import_module("glasshouse.show.report.pdf").printed(page)


def _drawn() -> Any:
    """The room of pages lies to the right of this one, so it is looked up by name when a page is wanted."""
    return import_module("glasshouse.show.report.scenarios")
