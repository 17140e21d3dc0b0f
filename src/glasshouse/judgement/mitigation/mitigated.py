"""Mitigated: the release that came of a search, the steps with their price, the assessments before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.plain import Content, number, plain, to_json
from glasshouse.core.printing import card
from glasshouse.core.result import Frame
from glasshouse.core.words import MARKS, counted, spoken, visible
from glasshouse.core.writing import delivered
from glasshouse.judgement.mitigation.halves import Halves
from glasshouse.protection.operation import Operation
from glasshouse.protection.recipe import Recipe, Step

if TYPE_CHECKING:
    from glasshouse.judgement.mitigation.search import Search
    from glasshouse.judgement.mitigation.states import State
    from glasshouse.judgement.rumap.map import RUMap
    from glasshouse.judgement.verdict.assessment import Assessment

CAME = "as it came"
UNCHANGED = {
    "pass": "The release meets the policy as it came; nothing was changed.",
    "warn": "The release does not fail as it came, so nothing was changed: its warnings ask for a look, not for a "
    "change.",
    "incomplete": "Nothing fails, and not every threat could be assessed, so nothing was changed: what was not "
    "assessed is no reason to change a release, and no reason to publish it.",
}
VERIFIED = "people whom the search never saw say so"
UNVERIFIED = "nothing verifies it"
COUNTED = "its limits are counted on the release itself"
WARNED = (
    "The people who steered the search see no warning in this release, the others do: believe the others, and look at "
    "what warns before the release goes out."
)
TRIED = "The verdict on the release was {before}; after one step ({step}) it is {after}, by the same people."
VOID = (
    "{steps} looked at the original. Whatever was claimed for the release before, no claim of differential privacy "
    "stands for it now."
)

CHOSEN = (
    "A private model made this release, and attacks that look at the original chose it, so the rho of its step is not "
    "the guarantee of the release. Where the guarantee is wanted, apply the recipe once more and publish that table "
    "without choosing again: its noise is new."
)


@dataclass(frozen=True)
class StepTaken:
    """One step of the way, with its price.

    Attributes
    ----------
    name : str
        Its number and title, as on the map.
    operation : Operation
        What was done.
    step : Step
        The same as the recipe has it.
    why : str
        Why it was tried.
    threats : tuple of str
        The threats that failed and that it acts on.
    risk, utility : tuple of float
        On the map before and after; None where nothing could be placed.
    records, cells : int
        Touched.
    voids_dp : bool
        Whether it looked at the original.
    notes : tuple of str
        What the operation itself says.
    """

    name: str
    operation: Operation
    step: Step
    why: str
    threats: tuple[str, ...]
    risk: tuple[float | None, float | None]
    utility: tuple[float | None, float | None]
    records: int
    cells: int
    voids_dp: bool = False
    notes: tuple[str, ...] = ()


@door
@dataclass(frozen=True, eq=False)
class Mitigated:
    """What ``gh.mitigate`` returns.

    Attributes
    ----------
    released : frame
        The release that came of it, in the user's frame library; the one that was given where nothing was changed.
    verdict : Assessment
        Of that release, by people whom the search never saw where there are some (``verified``).
    before : Assessment
        Of the release as it came, by the whole holdout.
    taken : tuple of StepTaken
        The steps.
    recipe : Recipe
        The same, to be saved and applied again.
    notes : tuple of str
        What a reader must know.
    map : RUMap or None
        Every state of the way on one risk-utility map.
    seed : int
        Of the search.
    verified : bool
        Whether the verdict rests on people whom the search never saw.
    tried : int
        Candidates that were tried.
    steered : str or None
        What the people who steered the search say of the release that came of it: "pass", "warn" or "fail"; None where
        nothing was searched.
    """

    released: Frame
    verdict: Assessment
    before: Assessment
    taken: tuple[StepTaken, ...]
    recipe: Recipe
    notes: tuple[str, ...]
    map: RUMap | None = None
    seed: int = 0
    verified: bool = True
    tried: int = 0
    steered: str | None = None
    _contents: dict[str, Content] = field(default_factory=dict, repr=False)

    name, status, reason = "mitigated", "ok", None

    @property
    def met(self) -> bool:
        """Whether the release that came of it meets the policy."""
        return self.verdict.exit_code == 0

    @property
    def exit_code(self) -> int:
        """That of the verdict: 0 policy met, 1 violated, 3 something required was not measured."""
        return self.verdict.exit_code

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return bool(self.taken)

    @property
    def steps(self) -> Frame:
        """One row per step, in the user's own library: operation, why, risk and utility on the map before and after,
        records and cells touched."""
        rows = self.taken
        return self.before.pair.plain_frame(
            {
                "step": list(range(1, len(rows) + 1)),
                "operation": [one.operation.name for one in rows],
                "title": [one.operation.title for one in rows],
                "arguments": [to_json(plain(dict(one.step.arguments))) for one in rows],
                "why": [one.why for one in rows],
                **{
                    f"{side}_{when}": [getattr(one, side)[at] for one in rows]
                    for side in ("risk", "utility")
                    for at, when in enumerate(("before", "after"))
                },
                "records": [one.records for one in rows],
                "cells": [one.cells for one in rows],
            }
        )

    def to_frame(self) -> Frame:
        """The steps as a table: :attr:`steps`.

        Returns
        -------
        frame
            One row per step.
        """
        return self.steps

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw the way on the risk-utility map.

        Parameters
        ----------
        kind : {"trajectory"}, optional
            Every step an arrow with its name.
        **options
            Passed to the chart.

        Returns
        -------
        altair.Chart
            The picture.
        """
        from glasshouse.core.charts import draw

        if self.map is None:
            raise InputError("nothing was changed, or nothing could be placed on the map, so there is no way to draw")
        return draw(self, kind, **options)

    def content(self, audience: str = "internal") -> Content:
        """Everything a reader may see, as plain data with a versioned schema; what every output draws.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom; outside no count of records or cells is told, and figures are those of the map outside.

        Returns
        -------
        dict
            Described in ``docs/content.md``.
        """
        from glasshouse.judgement.mitigation.content import content

        if audience not in self._contents:
            self._contents[audience] = plain(content(self, audience))
        return self._contents[audience]

    def to_dict(self, audience: str = "internal") -> Content:
        """The content.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom.

        Returns
        -------
        dict
            Plain data.
        """
        return self.content(audience)

    def to_json(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """The content as deterministic JSON text.

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
        return delivered(to_json(self.content(audience)) + "\n", path, mode)

    def to_markdown(
        self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None
    ) -> str:
        """The story as Markdown: what failed, what was done, what it cost, what the verdict is now.

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
        return delivered(_story().markdown(self.content(audience)), path, mode)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        audience: str = "internal",
        title: str | None = None,
        mode: int | None = None,
    ) -> str:
        """One self-contained page: the report of the release that came of it, and the way there.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        title : str, optional
            The heading.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            The page.
        """
        return delivered(_story().page(self, audience, title), path, mode)

    def summary(self) -> str:
        """What came of it.

        Returns
        -------
        str
            One or two sentences.
        """
        if self.steered is None and self.taken:  # tried on its own
            return TRIED.format(
                before=self.before.verdict, step=self.taken[0].operation.title, after=self.verdict.verdict
            )
        by = VERIFIED if self.verified else COUNTED if self.before.pair.row_paired else UNVERIFIED
        return said(self.changed, self.met, by, self.before.verdict, self.verdict.verdict, self.taken)

    def __repr__(self) -> str:
        shown = self.content()
        lines = [f"{MARKS[self.verdict.verdict]} {self.verdict.verdict.upper()}  {shown['summary']}"]
        lines += [f"policy: {self.verdict.policy}", ""]
        for one in shown["steps"]:
            lines.append(f"  {one['name']}: {one['why']}")
            lines.append(f"      {price(one)}")
        lines += ["", f"  {self.verdict.summary()}", *(f"  note: {note}" for note in self.notes)]
        return visible("\n".join(lines).rstrip())

    def _repr_html_(self) -> str:
        return card(self)


def _story() -> Any:
    """The room of pages lies to the right of this one."""
    return import_module("glasshouse.show.report.mitigation")


def said(changed: bool, met: bool, by: str, before: str, after: str, taken: Sequence[StepTaken]) -> str:
    """What came of a search, and who says so, in words that hold for every reader."""
    if not changed and before != "fail":
        return UNCHANGED[before]
    if not changed:
        return "No operation that is allowed brings the release nearer to the policy; it is left as it came."
    did = f"{counted(len(taken), 'step')} ({spoken([one.operation.title for one in taken])})"
    if met and after == "warn":
        return (
            f"The release failed; after {did} nothing fails, and a warning asks for a look before it goes out ({by})."
        )
    if met:
        return f"The release failed; after {did} it meets the policy ({after}; {by})."
    if after == "incomplete":
        return f"The release failed; after {did} nothing fails, and not all that the policy requires could be assessed."
    return (
        f"The release failed, and after {did} it does not meet the policy ({after}); it is the nearest that was found."
    )


def price(step: Mapping[str, Any]) -> str:
    """Risk and utility before and after, and what was touched, in words."""
    parts = []
    for side in ("risk", "utility"):
        ends = [_shown(step, f"{side}_{when}") for when in ("before", "after")]
        if all(ends):
            parts.append(f"{side} {ends[0]} to {ends[1]}")
    if step["records"] is not None:
        parts.append(f"{counted(step['cells'], 'cell')} of {counted(step['records'], 'record')} touched")
    return "; ".join(parts)


def _shown(step: Mapping[str, Any], figure: str) -> str | None:
    """A figure of a step as its reader sees it; None where there is none."""
    value = step[figure]
    return step[f"{figure}_shown"] or (None if value is None else number(value, 2))


def notes_of(
    before: Assessment, after: Assessment, halves: Halves | None, search: Search | None, found: State | None = None
) -> tuple[str, ...]:
    """What a reader must know about a search, in plain sentences."""
    if halves is None or search is None or found is None:
        return () if before.verdict == "pass" else (UNCHANGED[before.verdict],)
    tried = f"{counted(search.tried, 'candidate')} {'was' if search.tried == 1 else 'were'} tried"
    notes = [halves.note, f"{tried} on the people who steered." if halves.verified else f"{tried}."]
    void = [t.proposal.operation.title for t in found.taken if t.made.voids_dp]
    if void:
        notes.append(VOID.format(steps=spoken(void).capitalize()))
    if any("rho" in t.proposal.arguments for t in found.taken):
        notes.append(CHOSEN)
    if after.verdict == "warn" and halves.verified and found.passes:
        notes.append(WARNED)
    if after.exit_code != 0:
        notes += shortfalls(after, found, halves.verified)
    notes += [note for t in found.taken for note in t.made.notes]
    notes += [f"{name} could not be tried: {why}" for name, why in search.stopped.items()]
    return tuple(dict.fromkeys(notes))


def shortfalls(after: Assessment, found: State, verified: bool) -> list[str]:
    """Which limits are not met with what is allowed, and how close it came."""
    lines = []
    if verified and after.verdict == "fail" and (found.passes or found.met):
        lines.append(
            "The people who steered the search found nothing to fail in this release, the others did: the search had "
            "learnt to please the first. Take another seed only together with new people never in the data."
        )
    open_for: dict[str, list[str]] = {}  # threats by why they are open: without a holdout it is the same for all
    for threat in after.threats.values():
        if threat.status == "fail":
            lines.append(f"Not met with what is allowed: {threat.name}. {threat.sentence}")
        elif threat.status == "not_assessed" and threat.required:
            open_for.setdefault(threat.sentence.removeprefix("Not assessed: "), []).append(threat.name)
    where = " on the half of the holdout that verifies" if verified else ""
    lines += [f"Not assessed{where}: {spoken(names)}. {why}" for why, names in open_for.items()]
    lines += [f"Not met with what is allowed: {o.limit.text()}; found {o.comparison}"
              for o in after.outcomes.outcomes if o.status == "fail"]  # fmt: skip
    return lines
