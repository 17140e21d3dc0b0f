"""What an installation takes on the disk, package by package, and who asks for each.

    make size                                     # a fresh environment with the core, and one with charts
    python tools/install_size.py FOLDER/bin/python   # an environment that is there already

Sizes are those of the files a package owns, in blocks as ``du`` counts them, compiled Python included; pip and
setuptools, which every environment has, are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
OF_EVERY_ENVIRONMENT = {"pip", "setuptools"}
LOOK = r"""
import json, re
from importlib.metadata import distributions

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

found = {}
for one in distributions():
    size = compiled = 0
    for file in one.files or ():
        try:
            taken = one.locate_file(file).stat().st_blocks * 512
        except OSError:
            continue
        size += taken
        compiled += taken if str(file).endswith(".pyc") else 0
    asks = [plain(re.split(r"[ ;<>=!\[(~]", need)[0]) for need in one.requires or () if "extra ==" not in need]
    found[plain(one.metadata["Name"])] = {"version": one.version, "size": size, "compiled": compiled, "asks": asks}
print(json.dumps(found))
"""


def installed(python: Path) -> dict[str, dict]:
    """By package its version, its bytes, those of compiled Python among them, and what it asks for."""
    told = subprocess.run([str(python), "-c", LOOK], capture_output=True, text=True, check=True)
    return {name: one for name, one in json.loads(told.stdout).items() if name not in OF_EVERY_ENVIRONMENT}


def fresh(folder: Path, extras: str) -> Path:
    """A new environment with glasshouse in it, from this folder."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wanted = f"{ROOT}[{extras}]" if extras else str(ROOT)
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wanted]
    subprocess.run(install, check=True)
    return python


def table(found: dict[str, dict]) -> str:
    """A table in Markdown, the largest first; what takes less than 1 MB is one row."""
    asked = {name: sorted(n for n, one in found.items() if name in one["asks"]) for name in found}
    lines = ["| package | version | MB | of it compiled Python | asked for by |", "| --- | --- | ---: | ---: | --- |"]
    small = {name: one for name, one in found.items() if one["size"] < 2**20}
    for name, one in sorted(found.items(), key=lambda item: -item[1]["size"]):
        if name not in small:
            sizes = f"{one['size'] / 2**20:.0f} | {one['compiled'] / 2**20:.0f}"
            lines.append(f"| {name} | {one['version']} | {sizes} | {', '.join(asked[name])} |")
    rest = sum(one["size"] for one in small.values()) / 2**20
    lines.append(f"| {len(small)} more, each below 1 MB | | {rest:.0f} | | |")
    whole, compiled = (sum(one[key] for one in found.values()) / 2**20 for key in ("size", "compiled"))
    lines.append(f"| **{len(found)} packages** | | **{whole:.0f}** | {compiled:.0f} | |")
    return "\n".join(lines)


def main() -> None:
    if len(sys.argv) > 1:
        print(table(installed(Path(sys.argv[1]))))
        return
    for extras, title in (("", "pip install ."), ("charts", 'pip install ".[charts]"')):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{title}\n\n{table(installed(fresh(Path(folder) / 'fresh', extras)))}\n", flush=True)


if __name__ == "__main__":
    main()
