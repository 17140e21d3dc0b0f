"""One virtual environment per peer, kept in .bench/, so that no two packages argue about a version; R as it is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".bench"
INSTALL_SECONDS = 900


class Absent(Exception):
    """A peer cannot be asked here; the message says why."""


@dataclass(frozen=True)
class Peer:
    """A package, the version it is measured in, and the script that asks it (in ``workers``).

    ``index``: it comes from the package index in the version stated; a package of R is taken as it is here.
    """

    name: str
    package: str
    version: str
    title: str
    index: bool = True

    @property
    def worker(self) -> Path:
        return HERE / "workers" / f"of_{self.name}.{'py' if self.index else 'R'}"


PEERS = {
    peer.name: peer
    for peer in (
        Peer("anonymeter", "anonymeter", "1.1.0", "anonymeter"),
        Peer("sdmetrics", "sdmetrics", "0.32.0", "SDMetrics"),
        Peer("syntheval", "syntheval", "1.7.3", "SynthEval"),
        Peer("pycanon", "pycanon", "1.3.6", "pyCANON"),
        Peer("riskcal", "riskcal", "1.5.1", "riskcal"),
        *(Peer(name, name, "", f"{name} (R)", index=False) for name in ("ranger", "rpart", "synthpop")),
    )
}
OURS = Peer("glasshouse", "glasshouse", "", "glasshouse")


def held(interpreter: Path, package: str) -> str | None:
    """The version of ``package`` an interpreter (of Python, or Rscript) has, or None."""
    if interpreter.name == "Rscript":
        asked = ["--vanilla", "-e", f"cat(as.character(packageVersion({package!r})))"]
    else:
        asked = ["-c", f"import importlib.metadata as m; print(m.version({package!r}))"]
    done = subprocess.run([str(interpreter), *asked], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def interpreter(peer: Peer, install: bool = True, folder: Path = FOLDER) -> Path:
    """The interpreter that can import a peer, made on first use. ``Absent`` says why there is none."""
    if not peer.index:
        rscript = shutil.which("Rscript")
        if rscript is None:
            raise Absent(f"{peer.title}: not measured, there is no R here.")
        if held(Path(rscript), peer.package) is None:
            raise Absent(f"{peer.title}: not measured, the R here does not have it.")
        return Path(rscript)
    python = folder / peer.name / "bin" / "python"
    if python.exists() and held(python, peer.package) == peer.version:
        return python
    if not install:
        raise Absent(f"{peer.title} {peer.version}: not installed in {folder.name}/{peer.name}.")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{peer.package}=={peer.version}"
    steps = (
        [sys.executable, "-m", "venv", str(folder / peer.name)],
        [str(python), "-m", "pip", "install", "--quiet", "--no-compile", wanted],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Absent(f"{peer.title} {peer.version}: not installed after {INSTALL_SECONDS // 60} minutes.") from None
        if done.returncode:
            told = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Absent(f"{peer.title} {peer.version}: could not be installed ({told}).")
    return python


def machine() -> str:
    """Processor, cores and load, in words."""
    import os
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        chip = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        chip = platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return json.dumps({"chip": chip, "cores": cores, "python": platform.python_version(), "load": os.getloadavg()[1]})
