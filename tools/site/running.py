"""Runs the code of a page in one namespace and one empty folder, as a reader would, and keeps what came of it.

Python runs in this process, and so do the commands of glasshouse, through the entry point of the command line. Tests
run every page; the site shows what was kept, and runs a page itself only where nothing was kept for the page and the
source as they are.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tools.site.blocks import Block, Page

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 112
# commands that a page may name beside those of glasshouse; what they say is checked, and they are not run
OTHERS = ("pip", "make", "python", "git", "ssh", "pre-commit", "spark-submit", "cp", "set")


class PageError(AssertionError):
    """A block that does not do what the page says."""


@dataclass(frozen=True)
class Shown:
    """What came of a block.

    Attributes
    ----------
    text : str
        What it printed, and the last value of a Python block.
    picture : str
        A chart as SVG, where the last value was one.
    codes : tuple of int
        Exit codes of the commands.
    ran : bool
        Whether it was run, and not only parsed.
    """

    text: str = ""
    picture: str = ""
    codes: tuple[int, ...] = ()
    ran: bool = True


def run(page: Page) -> list[Shown]:
    """Run every block of a page that is to be run, in order; one entry per block."""
    shown = []
    names: dict[str, Any] = {"__name__": "__main__"}
    with _quiet_place():
        if page.setup:
            exec(compile(page.setup, f"{page.name}, setup", "exec"), names)
        for block in page.blocks:
            shown.append(_run(block, names, f"{page.name}, line {block.line + 1}"))
    return shown


def kept(page: Page, folder: Path) -> list[Shown]:
    """What came of a page: what was kept for it as it is, else run now and kept."""
    file = folder / f"{page.name.replace('/', '-')}.json"
    mark = fingerprint(page)
    if file.is_file() and (found := json.loads(file.read_text(encoding="utf-8")))["mark"] == mark:
        return [Shown(one["text"], one["picture"], tuple(one["codes"]), one["ran"]) for one in found["shown"]]
    return keep(page, folder)


def keep(page: Page, folder: Path) -> list[Shown]:
    """Run a page and keep what came of it."""
    shown = run(page)
    folder.mkdir(parents=True, exist_ok=True)
    content = {"mark": fingerprint(page), "shown": [asdict(one) for one in shown]}
    unfinished = folder / f".{page.name.replace('/', '-')}.{os.getpid()}"
    unfinished.write_text(json.dumps(content), encoding="utf-8")
    unfinished.replace(folder / f"{page.name.replace('/', '-')}.json")
    return shown


def fingerprint(page: Page) -> str:
    """Changes with the code of a page, and with any line of glasshouse or of what runs pages."""
    code = [page.setup, *(f"{b.language} {b.why_not} {b.text}" for b in page.blocks)]
    return hashlib.sha256("\0".join([*code, source_mark()]).encode()).hexdigest()


@cache
def source_mark() -> str:
    """Changes with any line of glasshouse, or of what makes the site."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml"), *Path(__file__).parent.glob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _quiet_place() -> Iterator[None]:
    """An empty folder to work in, a plain terminal of known width, and the signals as they were."""
    before = Path.cwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, plain):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _run(block: Block, names: dict[str, Any], where: str) -> Shown:
    at_hand = not block.needs or _brought(block.needs)
    if block.why_not or not at_hand or block.language not in ("python", "shell"):
        check(block, where)
        if block.file and at_hand and not block.why_not:
            Path(block.file).write_text(block.text, encoding="utf-8")
        return Shown(ran=False)
    return _python(block, names, where) if block.language == "python" else _shell(block, where)


def shared(name: str) -> Path:
    """Where data of others lie that cannot be passed on: GLASSHOUSE_SHARED, or ``shared`` beside the repository."""
    return Path(os.environ.get("GLASSHOUSE_SHARED", ROOT.parent / "shared")) / "data" / name


def _brought(name: str) -> bool:
    """Whether the data are at hand; if so, they lie in the folder of the page from now on."""
    folder = shared(name)
    for file in folder.glob("*.gz") if folder.is_dir() else ():
        if not Path(file.name).exists():
            Path(file.name).symlink_to(file)
    return folder.is_dir()


def _python(block: Block, names: dict[str, Any], where: str) -> Shown:
    tree = ast.parse(block.text, where)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module([one for one in tree.body if one is not last], []), where, "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    except Exception as problem:
        raise PageError(f"{where}: {type(problem).__name__}: {problem}") from problem
    if value is not None and hasattr(value, "to_dict") and type(value).__module__.startswith("altair"):
        return Shown(printed.getvalue(), svg(value))
    return Shown(printed.getvalue() + ("" if value is None else f"{value!r}\n"))


def svg(chart: Any) -> str:
    """A chart as the report draws it."""
    from glasshouse.show.report.drawing import svg_of

    return svg_of(chart)


def _shell(block: Block, where: str) -> Shown:
    """Commands of glasshouse run; what others are called with is checked."""
    from glasshouse.show.cli import main

    out, codes = io.StringIO(), []
    for command in block.commands:
        words = shlex.split(command)
        if words[0] != "glasshouse":
            check_other(words, where)
            continue
        words, target = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
        said, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            try:
                main(words[1:])
            except SystemExit as left:
                codes.append(int(left.code or 0))
        wanted = 2 if f"{command}  # exit code 2" in block.text else None
        if codes[-1] not in (0, 1, 3) and codes[-1] != wanted:
            raise PageError(f"{where}: {command!r} ended with {codes[-1]}: {told.getvalue()[-500:]}")
        if target:
            Path(target).write_text(said.getvalue(), encoding="utf-8")
        else:
            out.write(said.getvalue())
    return Shown(out.getvalue(), codes=tuple(codes))


def check(block: Block, where: str) -> None:
    """What can be said about a block that is not run: that it can be read, and names what there is."""
    try:
        if block.language == "python":
            ast.parse(block.text, where)
        elif block.language == "toml":
            import tomllib

            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            import yaml

            for step in _steps(yaml.safe_load(block.text)):
                _commands_of(step, where)
        elif block.language == "shell":
            for command in block.commands:
                check_other(shlex.split(command), where)
        elif block.language == "r" and not block.why_not:
            raise PageError(f"{where}: no R is asked for; say why it is not run")
        elif block.language not in ("", "text", "r"):
            raise PageError(f"{where}: nothing here can check {block.language!r}; write it as text")
    except PageError:
        raise
    except Exception as problem:
        raise PageError(f"{where}: {type(problem).__name__}: {problem}") from problem


def _steps(content: object) -> Iterator[str]:
    """The commands of a workflow or of hooks, wherever they stand."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key in ("run", "entry") and isinstance(value, str):
                yield value
            else:
                yield from _steps(value)
    elif isinstance(content, list):
        for value in content:
            yield from _steps(value)


def _commands_of(text: str, where: str) -> None:
    for command in Block("shell", text, 0, 0).commands:
        words = shlex.split(command)
        if words and words[0] in ("glasshouse", *OTHERS):
            check_other(words, where)


def check_other(words: list[str], where: str) -> None:
    """That a command that is not run exists: a subcommand and its flags, a target of make, a module, an extra."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if words[0] == "glasshouse":
        known = flags(words[1:])
        unknown = [word for word in words[1:] if word.startswith("-") and word.split("=")[0] not in known]
        if unknown:
            raise PageError(f"{where}: glasshouse {words[1]} does not take {', '.join(unknown)}")
    elif words[0] == "make":
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        lacking = [w for w in words[1:] if "=" not in w and not re.search(rf"^{re.escape(w)}:", text, re.MULTILINE)]
        if lacking:
            raise PageError(f"{where}: the Makefile has no target {lacking[0]!r}")
    elif words[0] == "pip":
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        unknown = {name for found in extras for name in found.split(",")} - _extras()
        if unknown:
            raise PageError(f"{where}: there is no extra {', '.join(sorted(unknown))}")
    elif words[0] == "python" and words[1:2] != ["-m"] and not (ROOT / words[1]).exists():
        raise PageError(f"{where}: there is no file {words[1]!r}")
    elif words[0] not in OTHERS:
        raise PageError(f"{where}: {words[0]!r} is no command that is known here")


@cache
def _extras() -> set[str]:
    import tomllib

    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(content["project"]["optional-dependencies"])


def flags(words: list[str]) -> set[str]:
    """The flags that a command of glasshouse takes."""
    import typer.main

    from glasshouse.show.cli.app import app

    found: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(found, "commands"):
            break
        if word.startswith("-"):
            continue
        if word not in found.commands:
            raise PageError(f"glasshouse has no command {word!r}")
        found = found.commands[word]
    names = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    return names | {"-h", "--help", "--version", "--debug"}
