"""The command line.

Data on stdout, all else on stderr; 0 policy met, 1 violated, 2 usage or input error, 3 not measurable.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

USAGE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code. No traceback unless ``--debug`` is given."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [a for a in arguments if a != "--debug"]
    raise SystemExit(_guarded(arguments, debug))


def _guarded(arguments: list[str], debug: bool) -> int:
    from glasshouse.core.errors import GlasshouseError

    try:
        signal.signal(signal.SIGTERM, _interrupt)
        return _run(arguments)
    except KeyboardInterrupt:
        _say("interrupted: nothing was written, and an earlier report is untouched")
        return USAGE
    except BrokenPipeError:
        # the reader (head, less) has left; point stdout at nothing so that the interpreter's last flush stays quiet
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except GlasshouseError as problem:
        if debug:
            raise
        _say(f"error: {problem}")
        return USAGE
    except MemoryError:
        if debug:
            raise
        _say("error: not enough memory for this run; use --measures fast, fewer columns, or a larger machine")
        return USAGE
    except Exception as problem:
        if debug:
            raise
        _say(
            f"error: glasshouse itself stopped with {type(problem).__name__}; run again with --debug to see "
            "where (the trace may quote data)"
        )
        return USAGE


def _run(arguments: list[str]) -> int:
    import typer

    from glasshouse.show.cli.app import app

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
    raise KeyboardInterrupt


def _say(text: str) -> None:
    print(text, file=sys.stderr)
