"""It stops when told, and loses nothing: interrupts, permissions, links, full disks."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core import writing
from glasshouse.core.interrupts import heeded
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.show import cli
from glasshouse.show.cli import main
from tests.fakes import fake

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and permissions")
TABLE = pl.DataFrame({"sex": ["f", "m"] * 20, "region": ["n", "n", "s", "s"] * 10, "income": ["lo", "hi"] * 20})


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    TABLE.write_csv(tmp_path / "o.csv")
    return str(tmp_path / "o.csv"), str(tmp_path / "o.csv")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- interrupts ------------------------------------------------------------------------------------------------

# a loop that numba compiles, as every hot loop of the house is: where several arrays are returned, Ctrl-C comes out of
# it as SystemError
SPINNING = """
import os, sys, threading, time, numba, signal, numpy as np
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.catalogue import all_measures
all_measures()

@numba.njit(nogil={nogil})
def spin(n, x):
    s = np.zeros(4)
    for i in range(n):
        s[i % 4] += (x * i) % 3.0
    return s, s.copy()

spin(10, 1.0)

@measure(side="disclosure", family="fake", better="lower", cite="", threat="copying", tier="fast")
def spinning(pair, *, n_jobs: int | None = None):
    "Spins."
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    if n_jobs == 2:
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: spin(200_000_000, 1.0), range(2)))
    else:
        spin(300_000_000, 1.0)
    return Result(value=0.0)
"""


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@posix
@pytest.mark.parametrize("command", ["assess", "compare"])
def test_ctrl_c_in_compiled_code_ends_the_command_with_130(
    tmp_path: Path, files: tuple[str, str], command: str
) -> None:
    report = tmp_path / "out" / "report.html"
    report.parent.mkdir()
    report.write_text("the last good report")
    asked = {
        "assess": ["assess", *files, "--measures", "spinning", "-o", str(report)],
        "compare": ["compare", *files, "--measures", "spinning,hellinger", "-o", str(report)],
    }[command]
    script = SPINNING.format(nogil=False) + "from glasshouse.show.cli import main\nmain(sys.argv[1:])\n"
    found = _python(script, *asked)
    assert found.returncode == 130, found.stderr
    assert "interrupted" in found.stderr and "Traceback" not in found.stderr and found.stdout == ""
    assert report.read_text() == "the last good report" and [p.name for p in report.parent.iterdir()] == ["report.html"]


@posix
@pytest.mark.parametrize("command", ["assess", "split"])
def test_ctrl_c_between_files_that_belong_together_waits_for_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Half of a split beside half of an earlier one would put the same person on both sides."""
    TABLE.write_csv(tmp_path / "o.csv")
    made = (
        [tmp_path / name for name in ("a.csv", "b.csv")]
        if command == "split"
        else [tmp_path / name for name in ("a.json", "b.md", "c.html")]
    )
    for path in made:
        path.write_text("of an earlier run")
    replace, told = os.replace, []

    def first(*arguments: Any) -> None:
        replace(*arguments)
        if not told:
            told.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(writing.os, "replace", first)
    table = str(tmp_path / "o.csv")
    asked = {
        "split": ["split", table, "-o", str(made[0]), "--holdout", str(made[1])],
        "assess": ["assess", table, table, "--measures", "identical", *(x for path in made for x in ("-o", str(path)))],
    }[command]
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert run(*asked) == 130 and told
    finally:  # a command line that was interrupted hears no second one
        cli._stopping.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
    assert not any("of an earlier run" in path.read_text() for path in made)
    said = capsys.readouterr().err
    assert said.count("wrote ") == len(made) and "interrupted" in said and "untouched" not in said


# Ctrl-C at the moment somebody imports a library, once
IMPORTING = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {library!r}:
            sys.meta_path.remove(self)
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from glasshouse.show.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("library", ["numpy", "polars", "typer"])
def test_ctrl_c_while_libraries_are_imported_ends_the_command_with_130(files: tuple[str, str], library: str) -> None:
    found = _python(IMPORTING.format(library=library), "check", *files)
    assert found.returncode == 130 and "Traceback" not in found.stderr, found.stderr
    assert found.stderr.startswith("interrupted") and len(found.stderr.splitlines()) == 1 and found.stdout == ""


@posix
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_ctrl_c_in_code_that_a_library_runs_as_text_ends_with_130(
    tmp_path: Path, files: tuple[str, str], number: str
) -> None:
    """``python -m glasshouse`` would end by a signal, which a pipeline sees as another code."""
    text = f"import os, signal, time; os.kill(os.getpid(), signal.{number}); time.sleep(5)"
    script = SPINNING.format(nogil=False).replace("    timer.start()\n", f"    exec({text!r})\n")
    script += "from glasshouse.show.cli import main\nmain(sys.argv[1:])\n"
    (tmp_path / "spun.py").write_text(script)
    asked = [sys.executable, "-m", "spun", "assess", *files, "--measures", "spinning"]
    found = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 130 and found.stderr.startswith("interrupted"), (found.returncode, found.stderr)


@posix
def test_an_impatient_second_ctrl_c_changes_nothing(files: tuple[str, str]) -> None:
    again = "[threading.Timer(0.3 + 0.03 * i, os.kill, (os.getpid(), signal.SIGINT)).start() for i in (1, 2, 3)]\n"
    script = SPINNING.format(nogil=False).replace("    timer.start()\n", f"    timer.start()\n    {again}")
    found = _python(
        script + "from glasshouse.show.cli import main\nmain(sys.argv[1:])\n",
        "assess",
        *files,
        "--measures",
        "spinning",
    )
    assert found.returncode == 130 and "Traceback" not in found.stderr, found.stderr


@posix
@pytest.mark.parametrize("how", ["assess", "alone", "threads"])
def test_ctrl_c_in_compiled_code_reaches_the_caller_in_python(how: str) -> None:
    act = {
        "assess": "gh.assess(pair, measures=['spinning'])",
        "alone": "spinning(pair)",
        "threads": "gh.assess(pair, measures=['spinning'], n_jobs=2)",
    }[how]
    script = SPINNING.format(nogil=how == "threads") + (
        "import glasshouse as gh, polars as pl\n"
        "t = pl.DataFrame({'a': ['x', 'y'] * 10, 'b': [1, 2] * 10})\npair = gh.Pair(t, t)\n"
        f"try:\n    {act}\nexcept KeyboardInterrupt:\n    print('stopped')\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    found = _python(script)
    assert found.stdout == "stopped\n" and found.returncode == 0, found.stderr


@posix
def test_an_interrupt_that_foreign_code_swallows_still_stops_the_run(only_fakes: Any) -> None:
    @measure(side="disclosure", family="fake", better="lower", cite="", threat="copying")
    def swallowing(pair: Any) -> Result:
        """Catches everything, as some libraries do."""
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(5)
        return Result(value=0.0)

    before = signal.getsignal(signal.SIGINT)  # Spark, where it ran before, has one of its own
    with pytest.raises(KeyboardInterrupt):
        gh.assess(gh.Pair(TABLE, TABLE), measures=["swallowing"])
    assert signal.getsignal(signal.SIGINT) is before


@posix
def test_a_program_that_handles_ctrl_c_itself_goes_on() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with heeded():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


# -- files -----------------------------------------------------------------------------------------------------


@posix
def test_files_are_private_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    found = gh.assess(gh.Pair(TABLE, TABLE, keys=["sex"], target="income"), measures=["disco"])
    new, old, given = tmp_path / "new.json", tmp_path / "old.json", tmp_path / "given.json"
    for mode in (0o600, 0o640, 0o664):
        old.write_text("")
        old.chmod(mode)
        found.to_json(old)
        assert _mode(old) == mode
    found.to_json(new)
    found.to_json(given, mode=0o644)
    assert _mode(new) == 0o600 and _mode(given) == 0o644
    model = gh.synthesis.Cart().fit(TABLE).save(tmp_path / "model.zip")
    assert _mode(model) == 0o600


@posix
def test_records_and_reports_of_the_command_line_are_private(tmp_path: Path, files: tuple[str, str]) -> None:
    report, records, open_ = tmp_path / "r.json", tmp_path / "records.csv", tmp_path / "open.json"
    asked = ("measure", "disco", *files, "--keys", "sex", "--target", "income", "--quiet")
    assert run(*asked, "--records", str(records), "-o", str(report)) == 0
    assert run(*asked, "-o", str(open_), "--mode", "644") == 0
    assert (_mode(report), _mode(records), _mode(open_)) == (0o600, 0o600, 0o644)
    assert run(*asked, "-o", str(open_), "--mode", "999") == 2


@posix
def test_the_temporary_file_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: seen.append(stat.S_IMODE(os.fstat(handle).st_mode)))
    before = os.umask(0)
    try:
        writing.write_atomically(tmp_path / "a.html", "all of it", mode=0o666)
    finally:
        os.umask(before)
    assert seen == [0o600]


@posix
def test_a_link_is_followed_and_its_target_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "real" / "report.html", tmp_path / "link.html"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    writing.write_atomically(link, "new")
    assert link.is_symlink() and target.read_text() == "new" and _mode(target) == 0o640
    dangling = tmp_path / "dangling.html"
    dangling.symlink_to(tmp_path / "real" / "later.html")
    writing.write_atomically(dangling, "new")
    assert dangling.is_symlink() and (tmp_path / "real" / "later.html").read_text() == "new"
    assert sorted(p.name for p in target.parent.iterdir()) == ["later.html", "report.html"]


@posix
def test_a_full_disk_keeps_the_old_file_and_the_result(
    tmp_path: Path, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full, room = tmp_path / "full", tmp_path / "room"
    full.mkdir(), room.mkdir()
    report = full / "r.json"
    report.write_text("the last good report")
    monkeypatch.setattr(writing.tempfile, "gettempdir", lambda: str(room))
    real = os.fsync

    def fsync(handle: int) -> None:
        if str(full) in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", fsync)
    asked = ("measure", "disco", *files, "--keys", "sex", "--target", "income")
    assert run(*asked, "-o", str(report)) == 2
    out, err = capsys.readouterr()
    assert "no space left on device" in err and "an earlier file is untouched" in err and "itself stopped" not in err
    assert report.read_text() == "the last good report" and [p.name for p in full.iterdir()] == ["r.json"]
    (kept,) = room.glob("glasshouse-*/r.json")
    assert str(kept) in err and "disco" in kept.read_text() and "disco" in out
    assert _mode(kept) == 0o600 and _mode(kept.parent) == 0o700


@posix
@pytest.mark.parametrize("command", ["assess", "split"])
def test_files_of_one_run_are_all_written_or_none_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A disk that is full for the last one leaves none beside those of an earlier run, and keeps all of them."""
    out, room = tmp_path / "out", tmp_path / "room"
    out.mkdir(), room.mkdir()
    TABLE.write_csv(tmp_path / "o.csv")
    table, made = str(tmp_path / "o.csv"), [out / name for name in ("a.csv", "b.csv")]
    asked = ["split", table, "-o", str(made[0]), "--holdout", str(made[1])]
    if command == "assess":
        made = [out / name for name in ("a.json", "b.md", "c.html")]
        asked = ["assess", table, table, "--measures", "identical", *(x for path in made for x in ("-o", str(path)))]
    for path in made:
        path.write_text("of an earlier run")
    monkeypatch.setattr(writing.tempfile, "gettempdir", lambda: str(room))
    told: list[int] = []

    def fsync(handle: int) -> None:
        told.append(handle)
        if len(told) == len(made):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    assert run(*asked) == 2
    said = capsys.readouterr().err
    assert [path.read_text() for path in sorted(out.iterdir())] == ["of an earlier run"] * len(made)
    assert f"cannot write {made[-1]}: no space left" in said and "was written, for they belong together" in said
    (folder,) = room.iterdir()
    assert str(folder) in said and [path.name for path in sorted(folder.iterdir())] == [path.name for path in made]
    assert _mode(folder) == 0o700 and {_mode(path) for path in folder.iterdir()} == {0o600}


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    only_fakes: Any, tmp_path: Path, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    fake("slow", error=AssertionError("the work was done"))  # type: ignore[arg-type]
    assert run("assess", *files, "--measures", "slow", "-o", str(tmp_path / "nowhere" / "r.html")) == 2
    assert run("assess", *files, "--measures", "slow", "-o", str(tmp_path)) == 2
    (tmp_path / "loop.html").symlink_to(tmp_path / "loop.html")
    assert run("assess", *files, "--measures", "slow", "-o", str(tmp_path / "loop.html")) == 2
    assert run("assess", *files, "--measures", "slow", "-o", str(tmp_path / f"{'a' * 300}.html")) == 2
    said = capsys.readouterr().err
    assert "does not exist" in said and "is a folder" in said and "slow" not in said
    assert "it is a link to itself" in said and "file name too long" in said and "glasshouse itself" not in said
    assert (tmp_path / "loop.html").is_symlink()


@posix
def test_a_device_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(fifo.read_text()))
    reader.start()
    writing.write_atomically(fifo, "all of it")
    reader.join(10)
    assert heard == ["all of it"] and stat.S_ISFIFO(fifo.stat().st_mode)


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork here")
@pytest.mark.parametrize(("how", "said"), [("fork", "forked after glasshouse"), ("spawn", "0.0")])
def test_a_forked_process_is_told_and_does_not_wait_for_ever(tmp_path: Path, how: str, said: str) -> None:
    script = tmp_path / "many.py"
    script.write_text(
        "import multiprocessing, glasshouse as gh, polars as pl\n"
        "t = pl.DataFrame({'a': ['x', 'y'] * 50, 'b': [1.5, 2.5] * 50})\n"
        "def work(i):\n"
        "    try:\n        return str(gh.disclosure.uniques(t, t, keys=['a']).value)\n"
        "    except gh.core.errors.GlasshouseError as problem:\n        return str(problem)\n"
        "if __name__ == '__main__':\n    work(0)\n"
        f"    with multiprocessing.get_context('{how}').Pool(1) as pool:\n"
        "        print(pool.map_async(work, [1]).get(timeout=60)[0])\n"
    )
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert said in found.stdout, found.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    "act",
    [
        "pair.replace(keys=['b']).check()",
        "found.to_json('external')",
        "found.to_html()",
        "found.results['exact_copies'].records",
        "gh.data.load('health')",
    ],
)
def test_whatever_is_asked_in_a_forked_process_is_answered(act: str) -> None:
    script = (
        "import os, glasshouse as gh, polars as pl\n"
        "t = pl.DataFrame({'a': ['x', 'y'] * 50, 'b': [1.5, 2.5] * 50})\n"
        "pair = gh.Pair(t, t, keys=['a'])\nfound = gh.assess(pair, measures=['exact_copies'])\n"
        "child = os.fork()\nif not child:\n    import signal\n    signal.alarm(60)\n"
        f"    try:\n        {act}\n    except gh.core.errors.GlasshouseError as problem:\n        print(problem)\n"
        "    os._exit(0)\nos.waitpid(child, 0)\n"
    )
    found = subprocess.run(
        [sys.executable, "-u", "-c", script], capture_output=True, text=True, timeout=100, check=False
    )
    assert "forked after glasshouse" in found.stdout, found.stderr


# -- what a terminal obeys -------------------------------------------------------------------------------------------

ESCAPES = ("v\x1b[2Jx", "t\x1b]0;pwn\x07", "c\x9b31m", "r\u202eevil")


def test_no_name_is_obeyed_by_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = TABLE.rename({"sex": ESCAPES[0], "region": ESCAPES[1]}).with_columns(
        pl.Series(ESCAPES[2], [1.5, 2.5] * 20), pl.Series(ESCAPES[3], ["a\x1b[31m", "b"] * 20)
    )
    original = tmp_path / "o\x1b[2J.csv"
    table.write_csv(original)
    policy = tmp_path / "p.toml"
    policy.write_text('title = "\\u001b]0;pwn"\n[[rules]]\nmeasure = "uniques"\nmax = 0.5\n')
    roles = ["--key", ESCAPES[0], "--target", ESCAPES[1]]
    two = [str(original), str(original)]
    asked = [
        ["check", *two, *roles],
        ["check", *two, "--key", "nobody"],
        ["measure", "disco", *two, *roles],
        ["measure", "disco", *two, *roles, "--format", "json"],
        ["policy", "check", str(policy)],
        ["check", str(tmp_path / "no\x1b[2J.csv"), str(original)],
    ]
    asked += [
        ["assess", *two, *roles, "--measures", "disco,uniques", "--format", f] for f in ("text", "json", "md", "junit")
    ]
    asked += [
        ["compare", *two[:1], f"a\x1b[2J={original}", *roles, "--measures", "uniques,hellinger", "--format", "md"]
    ]
    for arguments in asked:
        run(*arguments)
        said = "".join(capsys.readouterr())
        assert said and not any(mark in said for mark in ("\x1b", "\x07", "\x9b", "\u202e")), arguments


def test_a_name_that_no_picture_can_hold_does_not_end_the_process(tmp_path: Path) -> None:
    script = (
        "import glasshouse as gh, polars as pl\n"
        "names = ['v\\x1b[2Jx', 'n\\x00ul', 'u\\uffff']\n"
        "t = pl.DataFrame({n: ['a\\x1b', 'b', 'c', 'c'] * 20 for n in names} | {'x': [1.5, 2.5, 3.5, 4.5] * 20})\n"
        "found = gh.assess(t, t, keys=names[:2], target=names[2], measures='fast')\n"
        "print('<svg' in found.to_html(), '\\x1b' in found.to_html())\n"
    )
    found = _python(script)
    assert found.returncode == 0 and found.stdout.split() == ["True", "False"], found.stderr[-600:]


def test_nothing_printed_in_python_is_obeyed_either() -> None:
    table = TABLE.rename({"sex": ESCAPES[0], "region": ESCAPES[1], "income": ESCAPES[3]})
    pair = gh.Pair(table, table, keys=[ESCAPES[0]], target=ESCAPES[1])
    found = gh.assess(pair, measures=["disco", "uniques"])
    result = found.results["disco"]
    said = [
        repr(pair),
        repr(pair.check()),
        repr(result),
        str(result),
        result.summary(),
        repr(found),
        found.to_markdown(),
    ]
    with pytest.raises(gh.InputError) as told:
        gh.Pair(table, table, keys=["nobody"])
    assert not any(mark in text for text in [*said, str(told.value)] for mark in ("\x1b", "\x07", "\u202e"))
