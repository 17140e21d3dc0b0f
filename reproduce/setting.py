"""How a run goes: quick or full, where the data are, and what was drawn before."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STORE = ROOT / ".reproduce"


class MissingData(Exception):
    """A file of somebody else's data is not here."""


class OutOfTime(Exception):
    """The time for this call is up; what was drawn is kept, and the next call takes it up."""


@dataclass(frozen=True)
class Setting:
    """How a run goes.

    Attributes
    ----------
    quick
        Fewer draws: the same tables with wider errors.
    data
        Folder with ``adult`` and ``sd2011``, where it is here.
    store
        Folder in which draws are kept between calls.
    until
        Clock time (``time.monotonic``) after which no draw is begun.
    """

    quick: bool = False
    data: Path | None = None
    store: Path = STORE
    until: float = float("inf")

    def draws(self, quick: int, full: int) -> int:
        """How many draws a study makes.

        Parameters
        ----------
        quick, full : int
            In a quick and in a full run.

        Returns
        -------
        int
        """
        return quick if self.quick else full

    def file(self, name: str) -> Path:
        """A file of somebody else's data.

        Parameters
        ----------
        name : str
            Its place in the data folder.

        Returns
        -------
        Path

        Raises
        ------
        MissingData
            With what to do, when it is not here.
        """
        if self.data is None or not (self.data / name).is_file():
            where = "no data folder was found" if self.data is None else f"{self.data.name}/{name} is not there"
            raise MissingData(
                f"needs {name}, which is not ours to hand on ({where}); name a folder that holds it with --data or "
                "GLASSHOUSE_DATA"
            )
        return self.data / name

    def gather(
        self, name: str, units: Iterable[Sequence[int]], draw: Callable[..., dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Draws of a simulation, those that the same package made before read from the store.

        Parameters
        ----------
        name : str
            What is drawn; its file in the store.
        units : iterable of sequence of int
            The arguments of every draw.
        draw : function
            Makes one draw from one unit.

        Returns
        -------
        list of dict
            In the order of ``units``, each with its ``unit``.

        Raises
        ------
        OutOfTime
            When the time is up before all are made.
        """
        units = [list(unit) for unit in units]
        file = self.store / f"{name}-{package_fingerprint()}.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        made = {tuple(line["unit"]): line for line in map(json.loads, lines)}
        open_ones = [unit for unit in units if tuple(unit) not in made]
        if open_ones:
            self.store.mkdir(exist_ok=True)
            with file.open("a", encoding="utf-8") as out:
                for done, unit in enumerate(open_ones):
                    if time.monotonic() > self.until:
                        raise OutOfTime(f"{name}: {len(units) - len(open_ones) + done} of {len(units)} draws are made")
                    line = {"unit": unit, **draw(*unit)}
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                    made[tuple(unit)] = line
        return [made[tuple(unit)] for unit in units]


@cache
def package_fingerprint() -> str:
    """Eight digits that change with the source of the package: draws of another version are not taken up.

    Returns
    -------
    str
    """
    import glasshouse

    folder = Path(glasshouse.__file__).parent
    seen = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        seen.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return seen.hexdigest()[:8]


def data_folder(given: Path | None) -> Path | None:
    """Where the data are: as given, GLASSHOUSE_DATA, or the folder `data` of the shared reference data.

    Parameters
    ----------
    given : Path or None
        What the user names.

    Returns
    -------
    Path or None
        None where there is no such folder.
    """
    if given is None and (named := os.environ.get("GLASSHOUSE_DATA")):
        given = Path(named)
    if given is None:
        given = Path(os.environ.get("GLASSHOUSE_SHARED", ROOT.parent / "shared")) / "data"
    return given if given.is_dir() else None
