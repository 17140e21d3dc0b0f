"""Hints in the language of the caller: the house names arguments, the command line names flags."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.calling import PAIR_ARGUMENTS
from glasshouse.core.words import NEEDS
from glasshouse.show.cli import main
from glasshouse.show.cli.app import app
from glasshouse.show.cli.flags import ARGUMENTS, PHRASES, flagged

SOURCE = Path(gh.__file__).parent


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("and pass them as holdout=. A split", "and pass them as --holdout. A split"),
        ("e.g. keys=['age', 'sex']", "e.g. --keys age,sex"),
        ("e.g. target='income'.", "e.g. --target income."),
        ('measures="default" has some', "--measures default has some"),
        ("say schema={'my region': 'categorical'}", "say --schema 'my region'=categorical"),
        ("override with schema={'age': ...}", "override with --schema age=..."),
        ("pass schema={'x': [levels from low to high]} or", "pass --schema ... or"),
        ("say special_codes={'income': [...]}, or", "say --special-codes income=..., or"),
        ("left out with exclude=['a, b']", "left out with --exclude 'a, b'"),
        ("say header=True (where", "say --header (where"),
        ("the release (row_paired=True): row", "the release (--row-paired): row"),
        ('options={"association": {"columns": None}} looks', "--option association.columns=none looks"),
        ("options names 'x'", "--option names 'x'"),
        ("use random_state=3 and n_jobs=2", "use --seed 3 and --jobs 2"),
        ('pass numeric_key_na="median+flag"', "pass --option rapid.numeric_key_na=median+flag"),
        ("use missing='drop'", "use --missing drop"),
        ("gh.measures() lists them", "`glasshouse measures` lists them"),
        ("2 = 1 + 1, x == y, a=b, p=0.01, url?keys=1", "2 = 1 + 1, x == y, a=b, p=0.01, url?--keys 1"),
    ],
)
def test_arguments_become_flags(said: str, told: str) -> None:
    if "numeric_key_na" in said and not any("numeric_key_na" in m.options for m in all_measures().values()):
        pytest.skip("no measure has the option")
    assert flagged(said) == told or "url" in said


def test_an_option_of_the_measure_a_sentence_is_about_is_an_option() -> None:
    assert flagged("use missing='pairwise'", "association") == "use --option association.missing=pairwise"
    assert flagged("use missing='pairwise'", "association", alone=True) == "use --option missing=pairwise"
    assert flagged("use table='original'") == "use --option MEASURE.table=original"
    assert flagged("give weights=", "individual_risk") == "give --weights"


@pytest.mark.parametrize(
    "text",
    ["keys=[", "schema={'a", "keys=" + "[" * 5000, "schema={[]: 1}", "keys='\x00", "target=", "options={'a': 1}",
     "column 'keys=' is not there", "schema={'a': {'b': {}}}", "keys=((", "exclude=]"],
)  # fmt: skip
def test_no_text_breaks_it(text: str) -> None:
    """It stands where errors are told: a column may be called anything."""
    assert isinstance(flagged(text), str)


def _flags_of_the_command_line() -> set[str]:
    import typer

    found = set()
    groups = [typer.main.get_command(app)]
    while groups:
        command = groups.pop()
        groups += list(getattr(command, "commands", {}).values())
        found |= {flag for one in command.params for flag in one.opts}
    return found


def test_every_flag_that_is_named_is_there() -> None:
    there = _flags_of_the_command_line()
    said = [*ARGUMENTS.values(), *(word.strip("`:") for text in PHRASES.values() for word in text.split())]
    assert [flag for flag in said if flag.startswith("--") and flag not in there] == []


def _sentences() -> Iterator[tuple[str, str]]:
    """Every text in the code that is no docstring, what is filled in replaced by a name."""
    apart = ("show", "core/names.py")
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).as_posix()
        if where.startswith(apart):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values}
        docs = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        for one in ast.walk(tree):
            if id(one) in inside | docs:
                continue
            if isinstance(one, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "'x'" for p in one.values]
                yield f"{where}:{one.lineno}", "".join(str(p) for p in parts)
            elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield f"{where}:{one.lineno}", one.value


# texts that are code to be run in Python, or about arguments of functions the command line does not have
PYTHON = ("judgement/overview.py", "judgement/audit.py", "formal/", "synthesis/dp/marginals.py", "data/files/r.py",
          "data/adapters.py", "core/pointing.py")  # fmt: skip


def test_no_sentence_of_the_house_names_an_argument_on_the_command_line() -> None:
    """A new hint that the table of flags does not know fails here."""
    functions = (gh.Pair, gh.assess, gh.scenarios, gh.compare, gh.synthesis.Sequential)
    names = {name for one in functions for name in inspect.signature(one).parameters}
    names |= {*PAIR_ARGUMENTS, *(option for m in all_measures().values() for option in m.options)}
    arguments = "|".join(sorted(names - {"weights_column", "composite", "margins"}))  # not on the command line
    left = []
    for where, text in _sentences():
        if where.startswith(PYTHON) or " " not in text:
            continue
        told = flagged(text)
        if re.search(rf"(?<![\w.\-$])(?<!--option )(?:{arguments})=(?!=)", told) or "gh." in told.replace(
            "gh.Risk", ""
        ):
            left.append((where, told))
    assert left == []


def test_what_a_run_prints_names_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pl.DataFrame(
        {"code": [1, 2, 3] * 20, "sex": ["f", "m", "x"] * 20, "when": ["1/2/2020", "3/4/2021", "x"] * 20}
    )
    table.write_csv(tmp_path / "o.csv")
    files = [str(tmp_path / "o.csv")] * 2
    page, words, data = (str(tmp_path / name) for name in ("r.html", "r.md", "r.json"))
    run("assess", *files, "--measures", "uniques,dcr,disco", "-o", page, "-o", words, "-o", data)
    out = capsys.readouterr().out
    for text in (out, Path(page).read_text(), Path(words).read_text().replace("\\", "")):
        assert "--holdout" in text and "--keys age,sex" in text and "glasshouse split" in text
        assert "holdout=." not in text and "keys=['age" not in text and "keys=[&#39;age" not in text
    assert NEEDS["keys"].partition("e.g. ")[2] in Path(data).read_text(), "data is the same whoever asked for it"
    assert data and Path(data).read_text() == gh.assess(*files, measures=["uniques", "dcr", "disco"]).to_json()
    run("check", *files)
    out = capsys.readouterr().out
    assert "--schema code=categorical" in out and "schema={" not in out and "pass --holdout" in out
    assert run("measure", "disco", *files) == 2
    assert "e.g. --keys age,sex" in capsys.readouterr().err
    assert run("measure", "dcr", *files) == 3
    assert "as --holdout" in capsys.readouterr().out
    assert run("assess", *files, "--keys", "sex", "--exclude", "sex") == 2
    assert "left out by --exclude" in capsys.readouterr().err
    assert run("assess", *files, "--keys", "sex", "--keys", "sex") == 2
    assert "[scenarios.NAME]" in capsys.readouterr().err


def test_split_sets_people_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = pl.DataFrame({"home": [i // 2 for i in range(100)], "sex": ["f", "m"] * 50})
    people.write_csv(tmp_path / "all.csv")
    parts = [str(tmp_path / name) for name in ("train.csv", "held.csv")]
    given = ["split", str(tmp_path / "all.csv"), "-o", parts[0], "--holdout", parts[1]]
    assert run(*given, "--fraction", "0.2", "--cluster", "home") == 0
    train, held = (pl.read_csv(part) for part in parts)
    assert held.height == 20 and train.height == 80 and not set(train["home"]) & set(held["home"])
    assert Path(parts[1]).stat().st_mode & 0o777 == 0o600
    assert run("split", str(tmp_path / "all.csv"), "-o", parts[0], "--holdout", parts[0]) == 2
    assert run(*given[:3], str(tmp_path / "all.csv"), *given[4:]) == 2, "the original is not written over"


def test_split_says_what_a_csv_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """People set aside from an SPSS file: its reasons for missing would otherwise be incomes from here on."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed (extra: files)")
    people = pl.DataFrame({"income": [-8.0, -9.0, *range(1000, 1098)], "edu": [1.0, 2.0] * 50})
    pyreadstat.write_sav(
        people.to_pandas(), str(tmp_path / "survey.sav"), missing_ranges={"income": [-8, -9]},
        variable_value_labels={"edu": {1: "school", 2: "degree"}}, variable_measure={"edu": "ordinal"},
    )  # fmt: skip
    parts = ["-o", str(tmp_path / "train.csv"), "--holdout", str(tmp_path / "held.csv")]
    assert run("split", str(tmp_path / "survey.sav"), *parts) == 0
    told = capsys.readouterr().err
    assert "say --special-codes income=-9,-8\n" in told and "ranked ('edu')" in told
    people.write_csv(tmp_path / "survey.csv")
    assert run("split", str(tmp_path / "survey.csv"), *parts) == 0
    assert "note" not in capsys.readouterr().err


def test_an_advice_names_its_measure_and_not_name() -> None:
    from glasshouse.show.cli.flags import flagged_content

    advice = {"measure": "exact_copies", "text": "Remove the copies (result.records names them)."}
    told = flagged_content({"recommendations": [advice]})["recommendations"][0]["text"]
    assert told == "Remove the copies (glasshouse measure exact_copies --records FILE names them)."


def test_how_many_are_asked_about_is_said_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    for name in ("o", "s", "h"):
        table = pl.DataFrame({"x": rng.normal(size=60).round(2), "c": rng.choice(list("abc"), 60)})
        table.write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("o", "s")]
    asked = [
        "assess",
        *files,
        "--holdout",
        str(tmp_path / "h.csv"),
        "--measures",
        "near_copies,dcr",
        "--format",
        "json",
    ]
    run(*asked, "--people", "20")
    found = json.loads(capsys.readouterr().out)["results"]
    options = {name: found[name]["settings"]["options"] for name in found}
    assert options["near_copies"]["people"] == 20 and options["dcr"]["queries"] == 20
    run(*asked, "--people", "all")
    content = json.loads(capsys.readouterr().out)
    assert content["results"]["near_copies"]["settings"]["options"]["people"] == "all"
    assert "'people': 'all'" in content["run"]["call"], "the call that repeats it says so too"
    assert run(*asked, "--people", "few") == 2
    assert "'people' of assess takes a whole number or 'all'" in capsys.readouterr().err
