"""Write the public names of the measure rooms into their stub files, from the registry: ``make stubs``."""

from __future__ import annotations

from pathlib import Path

import glasshouse
from glasshouse.core.rooms import measures_of

ROOMS = ("disclosure", "utility")


def stub(room: str) -> str:
    """The text of a room's ``__init__.pyi``: one line per measure, from where it is declared."""
    package = f"glasshouse.{room}"
    lines = [
        f"from {m.function.__module__.removeprefix(package)} import {name} as {name}"
        for name, m in measures_of(package).items()
    ]
    return "\n".join(sorted(lines, key=str.lower)) + "\n"


if __name__ == "__main__":
    for room in ROOMS:
        path = Path(glasshouse.__file__).parent / room / "__init__.pyi"
        path.write_text(stub(room), encoding="utf-8")
        print(f"wrote {path.relative_to(Path.cwd())}")
