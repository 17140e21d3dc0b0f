"""glasshouse app: the workbench in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.show.cli.terminal import err


def app(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The original, the release and the holdout; or a settings file (.toml). Without any the page asks.",
            metavar="[FILES]...",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", help="Where to listen; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
) -> int:
    """The whole job in a browser, on this machine alone; Ctrl-C ends it and removes what was uploaded."""
    from glasshouse.show.app.start import opened

    bench = opened(_first(files or []), port, browser=not no_browser)
    print(bench.address, flush=True)
    err("The address is for you alone. Ctrl-C ends the workbench and removes what was uploaded.")
    try:
        bench.wait()
    except KeyboardInterrupt:
        err("ended; what was uploaded is removed")
        raise
    return 0


def _first(files: list[Path]) -> dict[str, Any]:
    from glasshouse.core.errors import InputError
    from glasshouse.show.cli import settings

    if len(files) == 1 and files[0].suffix == ".toml":
        return settings.read(files[0])
    if len(files) > 3:
        raise InputError("name at most the original, the release and the holdout")
    for path in files:
        if not path.is_file():
            raise InputError(f"file not found: {path}")
    return dict(zip(("original", "released", "holdout"), (str(path.resolve()) for path in files), strict=False))
