"""The command line.

Data on stdout, all else on stderr; 0 policy met, 1 violated, 2 usage or input error, 3 not measurable, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

USAGE = 2
INTERRUPTED = 130
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


_stopping: list[int] = []  # the interrupt that is being heeded


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code. No traceback unless ``--debug`` is given."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    raise SystemExit(_guarded(arguments, debug))


def _guarded(arguments: list[str], debug: bool) -> int:
    try:
        from glasshouse.core.interrupts import heeded

        _stopping.clear()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        with heeded():
            code = _run(arguments)
            sys.stdout.flush()  # what does not fit on the disk is an error now, not a note after the exit code
            return code
    except KeyboardInterrupt:
        _say("interrupted: what was not finished was not written; every file is whole, an earlier one or the new one")
        # an interrupt that leaves code given as text, as libraries run it, is noted by the interpreter, and python -m
        # then ends by a signal and not by our code; the next such code that ends well takes the note away
        eval("0")
        return INTERRUPTED
    except BrokenPipeError:
        # the reader (head, less) has left; point stdout at nothing so that the interpreter's last flush stays quiet
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as problem:
        if debug:
            raise
        _say(f"error: {_told(problem)}")
        return USAGE


def _told(problem: BaseException) -> str:
    """What went wrong, for a person; what another library says may quote a value, so only its kind is told."""
    from glasshouse.core.errors import GlasshouseError, foreign
    from glasshouse.show.cli.flags import flagged
    from glasshouse.show.cli.settings import blamed

    if isinstance(problem, GlasshouseError):
        return blamed(flagged(str(problem)))
    if isinstance(problem, MemoryError):
        return "not enough memory for this run; use --measures fast, fewer columns, or a larger machine"
    if isinstance(problem, OSError) and problem.errno in _NO_ROOM:
        return f"{os.strerror(problem.errno).lower()}; nothing that stood there before was touched"
    if not foreign(problem):
        raise problem
    return (
        f"glasshouse itself stopped with {type(problem).__name__}; run again with --debug to see where (the trace may "
        "quote data)"
    )


def _run(arguments: list[str]) -> int:
    import typer

    from glasshouse.show.cli.app import app
    from glasshouse.show.cli.settings import remember

    remember(None, ())
    # newer typer carries its own copy of click, so the base class is taken from typer's own errors
    usage_error: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    try:
        code: Any = app(args=arguments or ["--help"], prog_name="glasshouse", standalone_mode=False)
    except usage_error as problem:
        context = getattr(problem, "ctx", None)
        _say(f"error: {problem.format_message()}")
        _say(f"try: {context.command_path if context is not None else 'glasshouse'} --help")
        return USAGE
    except typer.Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:  # some versions of typer turn Ctrl-C into this code themselves
        raise KeyboardInterrupt
    return int(code or 0)


def _interrupt(number: int, frame: Any) -> None:
    """The first interrupt stops the work; those that follow would only stop the stopping."""
    if not _stopping:
        _stopping.append(number)
        raise KeyboardInterrupt


def _say(text: str) -> None:
    from glasshouse.core.words import visible

    print(visible(text), file=sys.stderr)
