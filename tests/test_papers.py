"""The papers of the house say the same: versions, names, lower bounds, and what workflows, hooks and forms call."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import glasshouse as gh
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BOUND = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9][0-9.]*)$")
# the run on the oldest versions leaves these extras out: each follows a package of its own pace
LEFT_OUT = {"gbm", "dp", "mbi", "spark", "torch", "browser", "lint", "docs"}


def loaded(path: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: make test installs it")
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def numbers(version: str) -> tuple[int, ...]:
    """1.4.0 and 1.4 are the same."""
    found = [int(part) for part in version.split(".")]
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def lower_bounds() -> dict[str, str]:
    extras = [needs for name, needs in PROJECT["optional-dependencies"].items() if name not in LEFT_OUT]
    every = [need for needs in (PROJECT["dependencies"], *extras) for need in needs]
    return {found[1]: found[2] for need in every if (found := BOUND.match(need))}


def test_the_version_is_the_same_everywhere() -> None:
    cited = loaded("CITATION.cff")
    assert cited["version"] == gh.__version__
    heading = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heading is not None
    assert heading.groups() == (gh.__version__, cited["date-released"])
    assert len(numbers(gh.__version__)) <= 3 and gh.__version__.count(".") == 2


def test_the_citation_has_what_its_format_asks_for() -> None:
    cited = loaded("CITATION.cff")
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert cited["type"] == "software"
    assert cited["license"] == PROJECT["license"]
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in PROJECT["authors"]]


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    lines = (ROOT / "constraints" / "oldest.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    bounds = lower_bounds()
    assert set(pinned) == set(bounds)
    assert {name: numbers(v) for name, v in pinned.items()} == {name: numbers(v) for name, v in bounds.items()}


def test_the_workflow_runs_what_everybody_runs() -> None:
    jobs = loaded(".github/workflows/ci.yml")["jobs"]
    assert {step.get("run") for job in jobs.values() for step in job["steps"] if "run" in step} == {".ci/run"}
    assert jobs["newest"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert next(s["with"]["python-version"] for s in jobs["oldest"]["steps"] if "with" in s) == least
    asked = next(step["env"] for step in jobs["oldest"]["steps"] if "env" in step)
    assert (ROOT / asked["PIP_CONSTRAINT"].rpartition("}}/")[2].strip()).is_file()
    assert set(asked["EXTRAS"].split(",")) <= set(PROJECT["optional-dependencies"]) - LEFT_OUT
    assert "${EXTRAS:-" in (ROOT / ".ci" / "run").read_text("utf-8"), "the workflow's extras would be ignored"


def test_hooks_call_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    from glasshouse.show.cli import main

    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for repo in loaded(".pre-commit-config.yaml")["repos"]:
        for hook in repo["hooks"]:
            words = shlex.split(hook["entry"])
            assert words[1] in targets if words[0] == "make" else words[0].startswith(".venv/bin/")
    for hook in loaded(".pre-commit-hooks.yaml"):
        words = shlex.split(hook["entry"])
        assert words[0] == "glasshouse"
        with pytest.raises(SystemExit) as stopped:
            main([*words[1:], "--help"])
        assert stopped.value.code in (0, None)
        helped = capsys.readouterr().out
        assert all(flag in helped for flag in words[2:])
        for name in ("glasshouse.toml", "folder/glasshouse.toml", "released.csv", "a/b.parquet"):
            assert re.search(hook["files"], name)
        assert not re.search(hook["files"], "README.md")


@pytest.mark.parametrize("form", sorted(p.name for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_issue_forms_ask_for_no_confidential_data(form: str) -> None:
    asked = loaded(f".github/ISSUE_TEMPLATE/{form}")
    assert {"name", "description", "body"} <= set(asked)
    assert "Never paste confidential data" in asked["body"][0]["attributes"]["value"]
    ids = [part["id"] for part in asked["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids))
    boxes = next(part for part in asked["body"] if part["type"] == "checkboxes")
    assert all(option["required"] for option in boxes["attributes"]["options"])


def test_the_pictures_of_the_readme_are_there_and_small() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = [path for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text) if "://" not in path]
    assert {"docs/pictures/report.png", "docs/pictures/map.svg"} <= set(shown)
    for path in shown:
        assert (ROOT / path).stat().st_size < 200_000, path


def test_links_of_the_papers_lead_somewhere() -> None:
    for paper in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / paper).read_text("utf-8")):
            if "://" not in target:
                assert (ROOT / Path(target)).exists(), f"{paper}: {target}"


def test_every_extra_stands_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for extra in set(PROJECT["optional-dependencies"]) - {"test", "lint", "browser", "app", "docs"}:
        assert re.search(rf"[`\[,]{extra}[`\],]", text), f"the README does not say what the extra {extra} is for"
