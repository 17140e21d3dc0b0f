"""The schemas of the files people write: made from the parsers, and of one mind with them about good and bad files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.make_file_schemas import DOCS, schemas

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.judgement.policy.policy import PRESETS, preset_text
from glasshouse.show.cli import main, settings
from tests.docs.test_pages import PAGES

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra: test)")


def _policy(text: str, folder: Path) -> object:
    return gh.Policy.parse(text)


def _settings(text: str, folder: Path) -> object:
    (folder / "glasshouse.toml").write_text(text, encoding="utf-8")
    return settings.read(folder / "glasshouse.toml")


def _domain(text: str, folder: Path) -> object:
    (folder / "domain.toml").write_text(text, encoding="utf-8")
    return gh.synthesis.Domain.from_codebook(folder / "domain.toml")


def _recipe(text: str, folder: Path) -> object:
    return gh.protection.Recipe.from_toml(text)


PARSERS: dict[str, Callable[[str, Path], object]] = {
    "policy": _policy, "settings": _settings, "domain": _domain, "recipe": _recipe,
}  # fmt: skip
NAMES = {"policy.toml": "policy", "glasshouse.toml": "settings", "domain.toml": "domain", "steps.toml": "recipe"}


def fits(kind: str, text: str) -> bool:
    """Whether the schema takes the file; dates of TOML are texts there, as they are in JSON."""
    content: Any = json.loads(json.dumps(tomllib.loads(text), default=str))
    schema = json.loads((DOCS / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema).is_valid(content)


def parses(kind: str, text: str, folder: Path) -> bool:
    try:
        PARSERS[kind](text, folder)
    except InputError:
        return False
    return True


def test_the_schemas_are_up_to_date() -> None:
    for file, text in schemas().items():
        assert (DOCS / file).read_text(encoding="utf-8") == text, f"run `make lists`: docs/{file} is out of date"


@pytest.mark.parametrize("file", sorted(DOCS.glob("*.schema.json")), ids=lambda file: file.name)
def test_every_schema_is_one(file: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit(preset: str) -> None:
    assert fits("policy", preset_text(preset))


def test_files_that_commands_write_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    health = gh.data.load("health")
    for name in ("original", "released", "holdout"):
        getattr(health, name).write_csv(f"{name}.csv")
    Path("codes.csv").write_text("name,value,label\nsex,F,female\nsex,M,male\n", encoding="utf-8")
    commands = (
        "init original.csv released.csv --holdout holdout.csv",
        "policy init",
        "domain init codes.csv",
        "domain init --from-data original.csv -o d.toml",
    )
    for words in map(str.split, commands):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert not left.value.code
    for file, kind in {**NAMES, "d.toml": "domain"}.items():
        if file != "steps.toml":
            assert fits(kind, Path(file).read_text(encoding="utf-8")), file


def test_recipes_of_every_operation_fit() -> None:
    step = gh.protection.Step
    recipe = gh.protection.Recipe([
        step("round_numbers", {"columns": ["age"], "base": 5}),
        step("suppress_locally", {"keys": ["age", "sex"], "k": 5}),
        step("redraw_records", {"copies": "exact", "random_state": 1}),
        step("pram", {"columns": ["region"], "random_state": None}),
    ])  # fmt: skip
    assert fits("recipe", recipe.to_toml())
    assert "without" in recipe.to_toml()


def test_files_on_the_pages_fit(tmp_path: Path) -> None:
    found = [(name, NAMES[b.file], b.text) for name, p in PAGES.items() for b in p.blocks if b.file in NAMES]
    assert {kind for _, kind, _ in found} == set(PARSERS)
    for name, kind, text in found:
        assert fits(kind, text), f"{name}: {text[:60]}"
        assert parses(kind, text, tmp_path), f"{name}: {text[:60]}"


BAD = {
    "policy": [
        "format = 2\n[leak]\nfail = 0.01",
        "[leek]\nfail = 0.01",
        "[leak]\nfail = 1.5",
        "[leak]\ntolerance = 2000",
        "[leak]\ndetects = {everything = 0.1}",
        "[leak]\ndetects = 0.0",
        'require = ["identity", "attributes"]',
        "min_count = 2\n[leak]\nfail = 0.01",
        '[run]\nkey = ["age"]\n[leak]\nfail = 0.01',
        "[[rule]]\nlimit = 0.1",
        '[[rule]]\nmeasure = "disco"',
        '[[rule]]\nmeasure = "disco"\nlimit = 0.1\nwarn = 0.05',
        '[[rule]]\nmeasure = "disco"\nlimit = "low"',
        '[[rule]]\nmeasure = "disco"\nlimit = 0.1\noperator = "="',
        '[[rule]]\nmeasure = "disco"\nlimit = 0.1\nlevel = "stop"',
        '[[rule]]\nmeasure = "disco"\nwarn = 0.1\nlevel = "warn"',
        '[[rule]]\nmeasure = "disco"\nlimit = 0.1\nevidence = {q = 0.1}',
        '[population.rapid]\nmeasure = "rapid"\nfail = 0.1',
        "[population]\nrapid = 0.1",
        'others = "ignore"\n[leak]\nfail = 0.01',
    ],
    "settings": [
        'keyz = ["age"]',
        "original = 3",
        "keys = 3",
        "target = 3",
        "seed = 1.5",
        'people = "some"',
        'row_paired = "yes"',
        'schema = "region"',
        '[scenarios.a]\nkey = ["age"]',
        '[scenarios.a]\ntarget = ["a", "b"]',
        "output = 1",
        "[options]\nrapid = 3",
        'releases = ["a.csv"]',
    ],
    "domain": [
        "sex = []",
        "sex = 3",
        '[age]\ntype = "whole"',
        '[age]\ntype = "int"\nlow = 1',
        '[age]\ntype = "int"\nlower = 0\nupper = 9\nbins = 0',
        '[age]\ntype = "category"\ncategories = []',
        '[age]\ntype = "int"\nlower = 0\nupper = 9\nnullable = "yes"',
    ],
    "recipe": [
        "steps = 1",
        '[step]\noperation = "round_numbers"',
        "[[step]]\nbase = 5",
        '[[step]]\noperation = "round_number"',
        '[[step]]\noperation = "round_numbers"\ncolumns = ["age"]\nbasis = 5',
        '[[step]]\noperation = "pseudonymise"\ncolumns = ["name"]\nkey = "secret"',
        '[[step]]\noperation = "round_numbers"\ncolumns = ["age"]\nwithout = "base"',
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in BAD.items() for text in texts])
def test_parser_and_schema_refuse_the_same(kind: str, text: str, tmp_path: Path) -> None:
    assert not parses(kind, text, tmp_path), "the parser takes it"
    assert not fits(kind, text), "the schema takes it"
