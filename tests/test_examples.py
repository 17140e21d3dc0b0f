"""The scripts of examples/ run as a reader runs them, and print the figures that the originals publish."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import glasshouse

FOLDER = Path(__file__).resolve().parent.parent / "examples"

# On bundled data: a figure that the original publishes, else the line where its figures stand.
BUNDLED = {
    "synthpop_disclosure": r"release.*UiO.*repU.*Dorig.*DiSCO",
    "riskutility_quickstart": r"^k_anonymity 1 ",  # "unique key combinations", as the vignette finds
    "riskutility_case_study": r"^C: k = 2, mean 1/f 0\.12,",  # the near copy escapes with k = 2
    "rapid_appendix_b": r"^\s+accuracy +0\.599$",
    "risksyn_guide": r"^Risk\(rho=0\.399100:",  # detecting 10 % of members at 1 % false alarms
}


def run(name: str, folder: Path, *files: Path) -> str:
    """What the script prints when it is called from an empty folder, which stays empty."""
    found = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *files],
        cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(glasshouse.__file__).parents[1]), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert not found.stderr, found.stderr
    assert not list(folder.iterdir())
    return found.stdout


def test_every_script_is_tested_and_listed() -> None:
    assert {file.stem for file in FOLDER.glob("*.py")} == set(BUNDLED)
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"**{name}.py**" in listed for name in BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
def test_script_on_bundled_data(name: str, tmp_path: Path) -> None:
    assert re.search(BUNDLED[name], run(name, tmp_path), re.MULTILINE)


def test_synthpop_figures_on_sd2011(shared: Path, tmp_path: Path) -> None:
    """Raab (2024), table 1, first synthesis: UiO 48.38, repU 14.86, Dorig 53.3, DiSCO 9.54 percent."""
    data = shared / "data" / "sd2011"
    out = run(
        "synthpop_disclosure", tmp_path, data / "sd2011_9.csv.gz", *sorted(data.glob("sd2011_9_syn_cart_?.csv.gz"))
    )
    assert re.search(r"^\W+0\W+0\.4838\W+0\.1486\W+0\.533\W+0\.0954\W*$", out, re.MULTILINE)


def test_case_study_figures_on_the_files_of_the_paper(shared: Path, tmp_path: Path) -> None:
    """Two-way propensity ratios 7.26, 1.06 and 0.0011, Hellinger 0.0185, 0.0173 and 0 (synthpop and riskutility)."""
    files = [shared / "golden" / "utility" / f"case_{part}.csv" for part in ("orig", "synA", "synB", "synC")]
    out = run("riskutility_case_study", tmp_path, *files)
    found = re.findall(r"^([ABC]): k = (\d).*Hellinger ([\d.]+), pMSE ratio ([\d.]+)$", out, re.MULTILINE)
    assert found == [("A", "1", "0.0185", "7.26"), ("B", "1", "0.0173", "1.06"), ("C", "2", "0.0000", "0.00")]
