"""Wheel and sdist: built, installed into empty environments, and the core run there without any extra.

Takes a minute and needs the package index, so it is run by ``make package``, which .ci/run calls.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.package, pytest.mark.xdist_group("package")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
UNREACHABLE = ("Temporary failure in name resolution", "Failed to establish a new connection", "Network is unreachable",
               "ProxyError", "ConnectTimeoutError")  # fmt: skip
BESIDES_CODE = (
    "py.typed",
    "__init__.pyi",
    "data/bundled/health_original.csv",
    "show/report/templates/page.html.j2",
    "show/report/templates/style.css",
    "show/app/templates/frame.html.j2",
    "show/app/assets/app.css",
)


def python(folder: Path, *arguments: str | Path) -> str:
    """What a command of a Python of ours prints; without the settings of the one that runs the tests."""
    mine = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    ran = subprocess.run(
        [str(folder / "bin" / "python"), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=mine,
        timeout=600,
    )
    if any(sign in ran.stderr for sign in UNREACHABLE):
        pytest.skip("the package index cannot be reached, from which an empty environment is filled")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def pip(folder: Path, *arguments: str | Path) -> str:
    return python(folder, "-m", "pip", "--disable-pip-version-check", *arguments)


def empty(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = empty(tmp_path_factory.mktemp("builder"))
    pip(folder, "install", "--quiet", *PROJECT["build-system"]["requires"])
    return folder


@pytest.fixture(scope="module")
def sdist(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources as they are handed on."""
    made = tmp_path_factory.mktemp("sdist")
    script = f"import os; os.chdir({str(ROOT)!r}); import hatchling.build as b; print(b.build_sdist({str(made)!r}))"
    return made / python(builder, "-c", script).splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(builder: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, so that nothing it needs can be missing there."""
    made = tmp_path_factory.mktemp("wheel")
    pip(builder, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", made, sdist)
    return next(made.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with the wheel and what it asks for, and nothing else."""
    folder = empty(tmp_path_factory.mktemp("core"))
    pip(folder, "install", "--quiet", wheel)
    yield folder
    shutil.rmtree(folder)  # 700 MB


def test_the_wheel_has_everything_but_the_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        written = next(n for n in names if n.endswith(".dist-info/METADATA"))
        told = archive.read(written).decode("utf-8")
    ours = ROOT / "src"
    sources = {str(p.relative_to(ours)) for p in (ours / "glasshouse").rglob("*.py*") if p.suffix in (".py", ".pyi")}
    assert sources <= names
    assert {f"glasshouse/{name}" for name in BESIDES_CODE} <= names
    assert {n.split("/")[0] for n in names} == {"glasshouse", written.split("/")[0]}
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert "Author: The glasshouse developers" in told
    assert f"Requires-Python: {PROJECT['project']['requires-python']}" in told


def test_the_sdist_has_what_a_packager_needs_and_nothing_private(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "tests/conftest.py"} <= names
    assert not [n for n in names if n.startswith((".venv", ".git/", "shared", "report.html"))]


def test_the_core_alone_holds_together(installed: Path) -> None:
    assert "No broken requirements" in pip(installed, "check")
    version = PROJECT["tool"]["hatch"]["version"]["path"]
    assert python(installed, "-m", "glasshouse", "--version").split()[-1] in (ROOT / version).read_text("utf-8")
    there = {one["name"].lower() for one in json.loads(pip(installed, "list", "--format", "json"))}
    assert not there & {"pyarrow", "pandas", "altair", "vl-convert-python", "duckdb"}
    assert len(there) < 32, "what a new dependency brings is worth a look: make size"


def test_the_core_alone_assesses_compares_mitigates_and_says_what_it_lacks(installed: Path) -> None:
    told = json.loads(python(installed, "-I", ROOT / "tests" / "core_alone.py"))
    for kind in ("csv", "parquet", "arrow"):
        assert told[kind] == pytest.approx(told["values"], rel=1e-12)
    assert 'class="dot"' in told["html"]
    assert told["sample"][0] == 50
    for name, (kind, sentence) in told["stops"].items():
        assert kind == "MissingExtra", f"{name}: {sentence}"
        assert 'pip install "glasshouse[' in sentence


def test_the_command_is_there(installed: Path) -> None:
    command = installed / "bin" / "glasshouse"
    ran = subprocess.run([str(command), "measures"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "disco" in ran.stdout
