"""What a command was asked: flags over the settings file, as the arguments of the Python functions."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from glasshouse.core.errors import InputError, closest
from glasshouse.show.cli import options as o
from glasshouse.show.cli import settings
from glasshouse.show.cli.terminal import check_format, check_outputs, err, format_of

if TYPE_CHECKING:
    from glasshouse.core.measure import AnyMeasure
    from glasshouse.data.pair import Pair
    from glasshouse.judgement.policy.policy import Policy

T = TypeVar("T")
_PAIR = ("holdout", "weights", "cluster", "schema", "special_codes", "exclude", "missing", "row_paired", "encoding")
_REPORT = ("output", "format")


@dataclass(frozen=True)
class Asked:
    """One run as it was asked: ``said`` has the names of a settings file, with the flags in."""

    said: Mapping[str, Any]
    quiet: bool = False
    no_progress: bool = False
    scenario: tuple[str, ...] = ()
    flagged: frozenset[str] = frozenset()  # measures whose options the command line names
    _policies: list[Any] = field(default_factory=list, repr=False)

    # -- files ---------------------------------------------------------------------------------------------------------

    @property
    def original(self) -> str:
        return str(self.said["original"])

    @property
    def released(self) -> list[str]:
        given = self.said.get("released", self.original)  # a measure of one file looks at that one
        return [given] if isinstance(given, str) else list(given)

    @property
    def output(self) -> list[Path]:
        given = self.said.get("output", [])
        return [Path(one) for one in ([given] if isinstance(given, str) else given)]

    @property
    def format(self) -> str | None:
        return self.said.get("format")

    def only_text_or_json(self, what: str, instead: str = "") -> None:
        """Refuse the formats of a report, asked for by name or by the suffix of a file."""
        for form in (self.format, *(format_of(path, self.format) for path in self.output)):
            if form in ("junit", "html", "md"):
                raise InputError(f"{what} is written as text or json, not {form}{instead}")

    @property
    def audience(self) -> str:
        return str(self.said.get("audience", "internal"))

    def only_internal(self) -> None:
        """Say that what this command writes is for internal eyes, where the settings file asks for something else."""
        if self.audience != "internal":
            err("for internal use only: audience of the settings file is that of assess and compare", self.quiet)

    @property
    def mode(self) -> int | None:
        return o.permissions(self.said.get("mode"))

    def check(self, *read: str, prints: bool = False) -> None:
        """Refuse, before anything is computed, a format, an audience or a file that cannot be."""
        from glasshouse.judgement.content import AUDIENCES

        check_outputs(self.output, *self.read(*read))
        check_format(self.format, self.output, prints)
        if self.audience not in AUDIENCES:
            raise InputError(f"--audience {self.audience!r} is not known; it is internal or external")
        _ = self.mode

    def read(self, *tables: str) -> list[Path]:
        """The files this run reads, the holdout and the policy among them: none of them may be written over."""
        more = [self.said[name] for name in ("holdout", "policy") if isinstance(self.said.get(name), (str, Path))]
        return [Path(one) for one in (self.original, *tables, *more)]

    # -- what is run ---------------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy | None:
        from glasshouse.judgement.policy.policy import Policy

        if not self._policies:
            self._policies.append(None if "policy" not in self.said else Policy.of(self.said["policy"]))
        chosen: Policy | None = self._policies[0]
        return chosen

    @property
    def measures(self) -> Any:
        """A word or a list of words; None where nothing was said."""
        given = self.said.get("measures")
        return given[0] if isinstance(given, list) and len(given) == 1 else given

    @property
    def seed(self) -> int:
        suggested = {} if self.policy is None else self.policy.run
        return int(self.said.get("seed", suggested.get("seed", 0)))

    def running(self, measures: Iterable[AnyMeasure]) -> dict[str, Any]:
        """Arguments that assess, scenarios and compare share; ``measures`` are those that will be run.

        A settings file serves several runs, so its options of measures that are not among these are left out. A flag
        is about this run, so one that does nothing is an error.
        """
        from glasshouse.catalogue import all_measures

        run = {one.name for one in measures}
        known = all_measures()
        options: Mapping[str, Any] = self.said.get("options", {})
        for name in options:
            if name not in known:
                raise InputError(f"{settings.WHAT}: [options.{name}] is about no measure{closest(name, known)}")
        return {
            "policy": self.policy,
            "random_state": self.seed,
            "n_jobs": self.said.get("jobs"),
            "device": self.said.get("device"),
            "people": self.said.get("people"),
            "options": {name: given for name, given in options.items() if name in run or name in self.flagged},
            "key_groups": self.said.get("key_groups", "default"),
        }

    # -- roles ---------------------------------------------------------------------------------------------------------

    @property
    def pair_arguments(self) -> dict[str, Any]:
        """What a Pair takes besides tables, keys and target."""
        return {name: self.said[name] for name in _PAIR if name in self.said}

    @property
    def cases(self) -> Mapping[str, Any] | list[list[str]] | None:
        """Scenarios by name, or sets of keys; None where nothing was said."""
        named: Mapping[str, Any] = self.said.get("scenarios", {})
        for name in self.scenario:
            if name not in named:
                there = closest(name, named) if named else "; the settings file has none"
                raise InputError(f"--scenario {name!r} is not in the settings file{there}")
        if named:
            common = {"keys": keys[0]} if (keys := self._sets) is not None and len(keys) == 1 else {}
            return {name: {**common, **named[name]} for name in self.scenario or named}
        return self._sets

    @property
    def _sets(self) -> list[list[str]] | None:
        keys = self.said.get("keys")
        if keys is None or (isinstance(keys, list) and not keys):
            return None
        return [[keys]] if isinstance(keys, str) else [keys] if isinstance(keys[0], str) else keys

    @property
    def targets(self) -> list[str] | None:
        given = self.said.get("target")
        return [given] if isinstance(given, str) else given

    @property
    def several(self) -> bool:
        """Whether there is more than one scenario, or one that has a name."""
        cases = self.cases
        return isinstance(cases, Mapping) or len(cases or ()) > 1 or len(self.targets or ()) > 1

    def case(self, command: str) -> dict[str, Any]:
        """Keys, target and grouping, for a command that looks at one scenario."""
        cases = self.cases
        sets = [{"keys": one} for one in self._sets or ()]
        # of a file with scenarios and keys of its own, the keys are meant unless a scenario is chosen
        named = list(cases.values()) if isinstance(cases, Mapping) and (self.scenario or not sets) else sets
        targets = [{"target": one} for one in self.targets or ()]
        found: dict[str, Any] = {**(targets[0] if targets else {}), **(named[0] if named else {})}
        if len(named) > 1 or (len(targets) > 1 and found["target"] == targets[0]["target"]):
            raise InputError(
                f"glasshouse {command} looks at one scenario: name --keys once and --target once, or choose with "
                "--scenario; glasshouse assess takes several"
            )
        return found

    def pair(self, case: Mapping[str, Any]) -> Pair:
        """The pair with the roles of one scenario; the policy's settings fill what nobody said."""
        from glasshouse.data.pair import Pair

        given = {**{k: v for k, v in case.items() if k in ("keys", "target")}, **self.pair_arguments}
        suggested = {} if self.policy is None else self.policy.run
        wanted = {k: v for k, v in suggested.items() if k not in ("measures", "seed")}
        paths: Any = self.released[0] if len(self.released) == 1 else self.released

        def make(header: bool) -> Pair:
            made = Pair(self.original, paths, **{**wanted, **given, "header": header})
            made.require_header()
            return made

        return with_header(make, bool(self.said.get("header")))


def settle(
    files: o.Files | None,
    chosen: o.Settings,
    roles: o.Roles | None = None,
    running: o.Running | None = None,
    reporting: o.Reporting | None = None,
    *,
    needs: tuple[str, ...] = ("original", "released"),
    single: bool = False,
    reports: bool = True,
) -> Asked:
    """Flags over the settings file.

    Parameters
    ----------
    files, chosen, roles, running, reporting
        The groups of options a command has.
    needs : tuple of str
        The tables the command cannot do without.
    single : bool, default False
        Whether ORIGINAL alone is enough.
    reports : bool, default True
        Whether the command makes the report that the file says how and where to write; what another one makes would
        be written over it.

    Returns
    -------
    Asked
    """
    flags = _flags(files, roles, running, reporting)
    if "original" in flags and "released" not in flags and not single and "released" in needs:
        raise InputError("name both tables, ORIGINAL and RELEASED, or neither where a settings file names them")
    path, said, note = settings.found_for(chosen.settings, None if files is None else files.original)
    quiet = reporting is not None and reporting.quiet
    logging.getLogger("glasshouse").setLevel(logging.ERROR if quiet else logging.NOTSET)
    if note:
        err(note, quiet)
    if not reports:
        said = {k: v for k, v in said.items() if k not in _REPORT}
    if "keys" in flags:
        said = {k: v for k, v in said.items() if k != "scenarios"}
    elif "target" in flags and "scenarios" in said:
        cases = {name: {k: v for k, v in case.items() if k != "target"} for name, case in said["scenarios"].items()}
        said = {**said, "scenarios": cases}
    if single and "original" in flags and "released" not in flags:
        said = {k: v for k, v in said.items() if k != "released"}
    tables: dict[str, Any] = {
        k: {**said[k], **flags[k]} for k in ("schema", "special_codes") if k in said and k in flags
    }
    merged: dict[str, Any] = {**said, **flags, **tables}
    settings.remember(path, [name for name in said if name not in flags])
    if "options" in said and "options" in flags:
        every = {**said["options"], **flags["options"]}
        merged["options"] = {m: {**said["options"].get(m, {}), **flags["options"].get(m, {})} for m in every}
    for name in needs:
        if name not in merged:
            raise InputError(
                f"Missing argument {name.upper()}: name it, or write it into {path or settings.NAME} (glasshouse init)"
            )
    return Asked(
        merged,
        quiet,
        reporting is not None and reporting.no_progress,
        tuple(chosen.scenario or ()),
        frozenset(flags.get("options", {})),
    )


def _flags(
    files: o.Files | None, roles: o.Roles | None, running: o.Running | None, reporting: o.Reporting | None
) -> dict[str, Any]:
    """What the command line says, by the names of a settings file; those given only."""
    given: dict[str, Any] = {}
    if files is not None:
        given |= {"original": files.original and str(files.original)}
        given |= {"released": [str(path) for path in files.released or ()] or None}
    if roles is not None:
        given |= {
            "keys": o.key_sets(roles.keys, roles.key),
            "target": roles.target or None,
            "holdout": roles.holdout and str(roles.holdout),
            "schema": o.schema_of(roles.schema),
            "special_codes": o.special_codes_of(roles.special_codes),
            "exclude": o.listing(roles.exclude),
            "row_paired": roles.row_paired or None,
            "header": roles.header or None,
        }
        given |= {name: getattr(roles, name) for name in ("weights", "cluster", "missing", "encoding")}
    if running is not None:
        if running.measures is not None and o.listing(running.measures) is None:
            raise InputError("--measures names nothing; `glasshouse measures` lists what there is")
        given |= {
            "policy": running.policy,
            "measures": o.listing(running.measures),
            "options": o.measure_options(running.option) or None,
            "seed": running.seed,
            "jobs": running.jobs,
            "device": running.device,
            "people": o.people_of(running.people),
        }
    if reporting is not None:
        given |= {"output": [str(path) for path in reporting.output or ()] or None}
        given |= {name: getattr(reporting, name) for name in ("format", "audience", "mode")}
    found = {name: value for name, value in given.items() if value is not None}
    if running is not None and running.key_groups:  # none is a grouping too
        found["key_groups"] = o.key_groups_of(running.key_groups)
    return found


def with_header(make: Callable[[bool], T], said: bool) -> T:
    """What ``make(header)`` gives; a person at a terminal is asked when a first line looks like a record.

    The question quotes nothing of the line: it may be somebody's. Elsewhere the error says how to confirm.
    """
    from glasshouse.data.headers import NoHeader

    try:
        return make(said)
    except NoHeader:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        asked = "The first line of a file looks like a record. Does it hold column names?"
        if not typer.confirm(asked, default=False, err=True):
            raise
        return make(True)
