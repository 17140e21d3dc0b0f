"""Every way into the house, and what may come out of it: a value, a reason or an error of our own, in words that hold
no value of a person.
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import math
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.errors import GlasshouseError
from tests.fuzz.columns import MARKS, TEXT_MARK
from tests.fuzz.nasty import Nasty, nasty
from tests.fuzz.safer import by_recipe, generalised, mitigated

STRANGE: tuple[Any, ...] = (
    None, -1, 0, 1, 2, 0.5, 1.5, float("nan"), float("inf"), "x", "", [], ["nobody"], {}, {"nobody": 1}, True, (0, 0),
    [1], object(),
)  # fmt: skip
LIGHTER = {"linkability": {"n_attacks": 20}, "singling_out": {"n_attacks": 20}}


@dataclass
class Outcome:
    """What came of one pair: how often each kind of answer, and what must not have come."""

    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self, kind: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1


def run_pair(seed: int, per_pair: int = 4) -> Outcome:
    """One pair through the doors of its turn; every measure has its turn within a few pairs."""
    outcome = Outcome()
    if not _try(nasty(seed), outcome, per_pair):
        _try(nasty(seed, mild=True), outcome, per_pair)
    return outcome


def _try(given: Nasty, outcome: Outcome, per_pair: int) -> bool:
    """Whether the pair got past the first door."""
    seed, rng = given.seed, np.random.default_rng([given.seed, 7])
    with _listening(outcome, given):
        pair = _through(outcome, given, "Pair", lambda: gh.Pair(given.original, given.released, **given.roles))
        if pair is None:
            return False
        _through(outcome, given, "check", lambda: _check(pair))
        names = list(all_measures())
        for turn in range(per_pair):
            name = names[(seed * per_pair + turn) % len(names)]
            options = _options(rng, name, pair)
            _through(outcome, given, f"{name}({options})", lambda n=name, o=options: _measure(n, pair, o))  # type: ignore[misc]
        if seed % 6 == 0:
            _through(
                outcome, given, "assess", lambda: _assess(pair, [names[(seed + i) % len(names)] for i in range(4)])
            )
        if seed % 25 == 1:
            _through(outcome, given, "compare", lambda: _compare(given, pair))
        for turn in range(2):
            name, arguments = _operation(rng, seed * 2 + turn, pair)
            _through(outcome, given, f"{name}({arguments})", lambda n=name, a=arguments: _protect(given, n, a))  # type: ignore[misc]
        name, arguments = _operation(rng, seed * 2 + 5, pair)
        _through(outcome, given, f"recipe({name}, {arguments})", lambda: by_recipe(given, name, arguments))
        if seed % 3 == 2:
            _through(outcome, given, "hierarchy", lambda: generalised(given, pair, rng))
        if seed % 40 == 11:
            _through(outcome, given, "mitigate", lambda: _outside(mitigated(pair)))
        if seed % 6 == 3:
            _through(outcome, given, "command line", lambda: _command_line(given, names[seed % len(names)], seed))
    return True


def _options(rng: np.random.Generator, name: str, pair: Any) -> dict[str, Any]:
    options = dict(LIGHTER.get(name, {}))
    known = [o for o in all_measures()[name].options if o not in ("n_jobs", "random_state")]
    if known and rng.random() < 0.2:
        chosen = str(rng.choice(known))
        strange = [*STRANGE, list(pair.columns), pair.columns[:1]]
        options[chosen] = strange[int(rng.integers(0, len(strange)))]
    return options


def _operation(rng: np.random.Generator, turn: int, pair: Any) -> tuple[str, dict[str, Any]]:
    """The operation whose turn it is, with arguments as somebody might give them; some of them strange."""
    every = gh.protection.operations()
    name = list(every)[turn % len(every)]
    numbers = [c for c in pair.columns if pair.is_numeric(c)]
    others = [c for c in pair.columns if c not in numbers]
    fitting = {"numeric": numbers, "date": numbers, "categorical": others, "any": list(pair.columns)}
    arguments: dict[str, Any] = {}
    for option, default in every[name].options.items():
        if option in ("columns", "keys", "column"):
            columns = fitting[every[name].needs[0]] or list(pair.columns)
            arguments[option] = columns[:1] if rng.random() < 0.5 else columns[:3]
        elif option == "k":
            arguments[option] = 2
        elif default is inspect.Parameter.empty and option != "original":
            arguments[option] = 10 if option == "base" else STRANGE[int(rng.integers(0, len(STRANGE)))]
        elif rng.random() < 0.1 and option not in ("random_state", "n_jobs", "original"):
            arguments[option] = STRANGE[int(rng.integers(0, len(STRANGE)))]
    return name, arguments


def _protect(given: Nasty, name: str, arguments: dict[str, Any]) -> list[str]:
    """An operation on the release; what comes back is a table that the house reads again."""
    table = given.released[0] if isinstance(given.released, list) else given.released
    made = gh.protection.operations()[name]
    more = {"original": given.original} if "original" in made.options else {}
    found = made(table, **arguments, **more)
    _no_escape(repr(found))
    gh.Pair(found.table, found, keys=None)
    return [found.sentence, *found.notes]


def _check(pair: Any) -> list[str]:
    return [f.message for f in pair.check()]


def _measure(name: str, pair: Any, options: dict[str, Any]) -> list[str]:
    """Whatever a caller looks at, and the words in it that are messages."""
    result = all_measures()[name].run(pair, **options)
    figures = [result.value, result.baseline, result.excess, result.holdout, *(result.interval or ())]
    if any(f is not None and not math.isfinite(f) for f in figures):
        raise AssertionError(f"a figure of {name} is not finite: {figures}")
    if result.value is None and not result.reason:
        raise AssertionError(f"{name} has neither a value nor a reason")
    for text in (result.summary(), str(result), result.to_json(), repr(pair), repr(pair.check())):
        _no_escape(text)
    result._repr_html_()
    if result.status == "ok" and result.records is not None and len(pair.columns):
        result.by(pair.columns[0]), result.top(3)
    return [result.reason or "", *result.warnings]


def _assess(pair: Any, names: list[str]) -> list[str]:
    found = gh.assess(pair, measures=names)
    stopped = [r.reason for r in found.results.values() if "stopped with" in (r.reason or "")]
    if stopped:
        raise AssertionError(f"assess: {stopped[0]}")
    for audience in ("internal", "external"):
        found.to_html(audience=audience), found.to_json(audience=audience)
        for text in (found.to_markdown(audience=audience), found.to_junit(audience=audience)):
            _no_escape(text)
    _outside([found.to_json(audience="external"), found.to_markdown(audience="external")])
    return [*(r.reason or "" for r in found.results.values()), *found.notes]


def _outside(told: list[str]) -> list[str]:
    """What readers outside see holds no text of a person; digits stand in figures by accident."""
    for text in told:
        _no_escape(text)
        if TEXT_MARK in text:
            at = text.index(TEXT_MARK)
            raise AssertionError(f"a planted text stands in what is told outside, after {text[max(at - 40, 0) : at]!r}")
    return []


def _compare(given: Nasty, pair: Any) -> list[str]:
    released = given.released if not isinstance(given.released, list) else given.released[0]
    ru = gh.compare(
        given.original, {"A": released, "B": given.original}, risk=["uniques", "identical"], utility=["hellinger"],
        **given.roles,
    )  # fmt: skip
    _outside([ru.to_json("external"), json.dumps(ru.content("external"))])
    return list(ru.left_out.values()) if isinstance(ru.left_out, dict) else []


def _command_line(given: Nasty, name: str, seed: int) -> list[str]:
    """The same tables as files, asked in a terminal's words."""
    tables = {"o.csv": given.original, "r.csv": given.released, "h.csv": given.roles.get("holdout")}
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for file, table in tables.items():
            made = _csv(table)
            if made is not None:
                paths[file] = str(Path(folder, file))
                Path(paths[file]).write_text(made, encoding="utf-8", newline="\n")
        if not {"o.csv", "r.csv"} <= set(paths):
            return []
        roles = [part for key in given.roles.get("keys") or () for part in ("--key", str(key))]
        roles += ["--target", str(given.roles["target"])] if given.roles.get("target") else []
        roles += ["--holdout", paths["h.csv"]] if "h.csv" in paths else []
        roles += ["--header"] if seed % 4 else []
        first = ["check"] if seed % 2 else ["measure", name]
        said = [_run([*first, paths["o.csv"], paths["r.csv"], *roles])]
        said.append(_run(["assess", paths["o.csv"], paths["r.csv"], *roles, "--measures", "uniques,identical", "-q"]))
        return said


def _csv(table: Any) -> str | None:
    frame = table.collect() if isinstance(table, pl.LazyFrame) else table
    if not isinstance(frame, pl.DataFrame) or any(
        d.is_nested() or d in (pl.Object, pl.Binary, pl.Int128, pl.Duration) for d in frame.dtypes
    ):
        return None
    return frame.write_csv()


def _run(arguments: list[str]) -> str:
    from glasshouse.show.cli import main

    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main(arguments)
    except SystemExit as left:
        code = left.code
    if code not in (0, 1, 2, 3) or "glasshouse itself" in err.getvalue():
        raise AssertionError(f"{arguments[0]} left with {code}: {err.getvalue()}")
    _no_escape(out.getvalue())
    _no_escape(err.getvalue())
    return err.getvalue()


def _no_escape(text: str) -> None:
    found = [c for c in text if (ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160]
    if found:
        raise AssertionError(f"control characters reach the reader: {sorted(set(found))!r}")


def _through(outcome: Outcome, given: Nasty, door: str, act: Callable[[], Any]) -> Any:
    """What came through a door; its words are looked at, and what must not come is written down."""
    try:
        answer = act()
    except GlasshouseError as problem:
        outcome.count(f"error ({door})" if door in ("Pair", "check", "assess", "compare") else "error (measure)")
        _words(outcome, given, door, [str(problem), *_chained(problem)])
        if "\x1b" in str(problem):
            outcome.wrong.append(f"{door}: an escape sequence stands in an error [{given.story()}]")
        return None
    except AssertionError as wrong:
        outcome.wrong.append(f"{door}: {wrong} [{given.story()}]")
        return None
    except BaseException as foreign:
        if isinstance(foreign, (KeyboardInterrupt, TimeoutError)) or type(foreign).__name__ == "TookTooLong":
            raise
        place = [f for f in traceback.extract_tb(foreign.__traceback__) if "glasshouse" in f.filename]
        where = f"{place[-1].filename.split('glasshouse/')[-1]}:{place[-1].lineno}" if place else "?"
        outcome.wrong.append(f"{door}: {type(foreign).__name__} at {where} [{given.story()}]")
        outcome.count("foreign exception")
        return None
    outcome.count("reason" if isinstance(answer, list) and answer and answer[0] and "(" in door else "answer")
    if isinstance(answer, list):
        _words(outcome, given, door, answer)
    return answer


def _chained(problem: BaseException) -> list[str]:
    """What a traceback would print beside the message."""
    beside = problem.__cause__ if problem.__suppress_context__ else problem.__cause__ or problem.__context__
    return [] if beside is None else [str(beside), *_chained(beside)]


def _words(outcome: Outcome, given: Nasty, door: str, said: list[str]) -> None:
    for text in said:
        shown = text
        for name in given.plan:  # a name may be quoted, whatever it looks like
            shown = shown.replace(name, "") if name.strip() else shown
        told = [mark for mark in MARKS if mark in shown]
        if told:
            outcome.wrong.append(f"{door}: a planted value ({told[0]}...) stands in a message [{given.story()}]")


@contextmanager
def _listening(outcome: Outcome, given: Nasty) -> Iterator[None]:
    """Warnings and log records are messages too."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    stream = io.StringIO()
    real, sys.stderr = sys.stderr, stream
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        sys.stderr = real
        logging.getLogger().removeHandler(handler)
    _words(outcome, given, "warnings", [str(w.message) for w in caught])
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning) and "/glasshouse/" in warning.filename:
            where = f"{warning.filename.split('/glasshouse/')[-1]}:{warning.lineno}"
            told = f"RuntimeWarning at {where} [{given.story()}]"
            outcome.wrong += [told] if told not in outcome.wrong else []
    _words(outcome, given, "log", [record.getMessage() for record in records])
    _words(outcome, given, "stderr", [stream.getvalue()])
