"""What people vary on the command line: what an attacker knows, which measures run, and how."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show import pace
from glasshouse.show.cli import main, progress
from tests.fakes import fake, four_threats, tables
from tests.show.pages import Page, check_page

EXAMPLE = gh.data.load("health")
KEYS = ["gender", "age"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, table in {"original": EXAMPLE.original, "released": EXAMPLE.released}.items():
        pl.DataFrame(table).head(300).write_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / "original.csv"), str(tmp_path / "released.csv")]


@pytest.fixture
def fakes(only_fakes: Any, tmp_path: Path) -> list[str]:
    four_threats()
    for name, table in zip(("original", "released"), tables(120), strict=True):
        table.write_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / "original.csv"), str(tmp_path / "released.csv")]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


# -- scenarios ---------------------------------------------------------------------------------------------------------


def test_two_sets_of_keys_are_two_scenarios_with_a_table(fakes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("assess", *fakes, "--keys", "sex,age", "--keys", "sex,age,region", "--target", "income") == 0
    out = capsys.readouterr().out
    head, first, second = re.findall(r"^  (scenario .*|sex, age .*|sex, age, region .*)$", out, re.MULTILINE)
    assert head.split() == ["scenario", "verdict", "identity", "attribute", "membership", "copying"]
    assert first.count("● pass") == second.count("● pass") == 5
    assert run("assess", *fakes, "--keys", "sex", "--target", "income", "--target", "region", "--format", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown["scenarios"]) == ["sex → income", "sex → region"]
    both = ["--keys", "sex", "--keys", "age", "--key", "region", "--target", "income"]
    assert run("assess", *fakes, *both, "--format", "json") == 0
    assert [r["keys"] for r in json.loads(capsys.readouterr().out)["table"]] == [["sex", "region"], ["age", "region"]]


@pytest.mark.parametrize("form", ["text", "json", "md", "junit", "html"])
def test_the_worst_scenario_gives_the_exit_code_in_every_format(
    only_fakes: Any, fakes: list[str], capsys: pytest.CaptureFixture[str], form: str
) -> None:
    from glasshouse.core.limits import Limit
    from glasshouse.core.measure import measure
    from glasshouse.core.result import Result

    @measure(side="disclosure", family="fake", threat="identity", better="lower", cite="Nobody", needs=("keys",),
             limit=Limit("value", warn=0.05, fail=0.2))  # fmt: skip
    def by_keys(pair: Any) -> Result:
        """How many keys there are."""
        return Result(value=0.01 if len(pair.keys) == 1 else 0.9, sentence="Keys were counted.")

    given = ["assess", *fakes, "--target", "income", "--format", form]
    assert run(*given, "--keys", "sex") == 0
    assert run(*given, "--keys", "sex,age") == 1
    capsys.readouterr()
    assert run(*given, "--keys", "sex", "--keys", "sex,age") == 1
    out = capsys.readouterr().out
    if form == "junit":
        suites = ET.fromstring(out.encode()).findall("testsuite")
        assert [suite.get("failures") for suite in suites] == ["0", "1"]
    if form == "text":
        assert "✖ FAIL" in out and "Keys were counted." in out


def test_a_page_with_the_table_and_one_for_each_scenario(
    fakes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    paths = [tmp_path / "out" / name for name in ("r.html", "r.json", "r.md", "r.xml", "r.txt")]
    given = [a for path in paths for a in ("-o", str(path))]
    keys = ["--keys", "sex", "--keys", "sex,age"]
    assert run("assess", *fakes, *keys, *given, "--audience", "external", "--mode", "640") == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["r-1.html", "r-2.html", "r.html", "r.json", "r.md", "r.txt", "r.xml"]
    assert all(path.stat().st_mode & 0o777 == 0o640 for path in (tmp_path / "out").iterdir())
    index = Page(paths[0].read_text())
    assert not index.crossed and {"r-1.html", "r-2.html"} <= set(index.addresses)
    check_page((tmp_path / "out" / "r-2.html").read_text())
    assert "External version" in paths[0].read_text() and "original.csv" not in paths[0].read_text()
    assert all(f"wrote {tmp_path / 'out' / name}" in capsys.readouterr().err for name in written[:1])


def test_one_scenario_is_an_assessment_as_before(fakes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("assess", *fakes, "--keys", "sex", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "glasshouse.assessment"


@pytest.mark.parametrize("command", ["measure", "compare", "audit"])
def test_commands_that_look_at_one_scenario_say_so(
    fakes: list[str], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    name = ["identity_measure"] if command == "measure" else []
    more = ["--rho", "1"] if command == "audit" else []
    assert run(command, *name, *fakes, "--keys", "sex", "--keys", "age", *more) == 2
    assert f"glasshouse {command} looks at one scenario" in capsys.readouterr().err


# -- measures, options, groups -----------------------------------------------------------------------------------------


def test_families_and_threats_are_named_on_the_command_line(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run("assess", *files, "--measures", "gdpr,uniques", "--keys", "gender", "--format", "json")
    assert set(json.loads(capsys.readouterr().out)["results"]) == {
        "singling_out",
        "linkability",
        "inference",
        "uniques",
    }
    assert run("assess", *files, "--measures", "copyng,fast") == 2
    assert "did you mean 'copying'" in capsys.readouterr().err


def test_options_of_measures_are_typed(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--keys", "gender,age", "--target", "disease_status", "--format", "json"]
    asked = ["--option", "rapid.trees=7", "--option", "rapid.attackers=cart,rf", "--option", "disco.confidence=0.9",
             "--option", "disco.denominator-limit=none"]  # fmt: skip
    run("assess", *files, *roles, "--measures", "rapid,disco", *asked)
    results = json.loads(capsys.readouterr().out)["results"]
    told = {name: results[name]["settings"]["options"] for name in ("rapid", "disco")}
    assert told["rapid"]["trees"] == 7 and told["rapid"]["attackers"] == ["cart", "rf"]
    assert told["disco"]["confidence"] == 0.9 and told["disco"]["denominator_limit"] is None


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("rapidd.trees=7", "no measure 'rapidd' here; did you mean 'rapid'"),
        ("rapid.tress=7", "rapid has no option 'tress'; did you mean 'trees'"),
        ("rapid.trees=many", "option 'trees' of rapid takes a whole number"),
        ("trees=7", "--option takes measure.name=value"),
        ("rapid.trees", "--option takes measure.name=value"),
        ("disco.confidence=0.9", "not among the measures of this run"),
    ],
)
def test_a_wrong_option_is_named(files: list[str], capsys: pytest.CaptureFixture[str], option: str, said: str) -> None:
    for command in ("assess", "compare"):
        measures = "rapid,hellinger" if "confidence" in option else "rapid,disco,hellinger"
        given = ["--measures", measures, "--keys", "gender", "--target", "disease_status", "--option", option]
        assert run(command, *files, *given) == 2
        out, err = capsys.readouterr()
        assert out == "" and said in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("flags", "wish"),
    [(["5"], 5), (["none"], None), (["auto"], "auto"), (["age=4"], {"age": 4}), (["age=30,60"], {"age": [30, 60]})],
)
def test_key_groups(files: list[str], capsys: pytest.CaptureFixture[str], flags: list[str], wish: Any) -> None:
    roles = ["--keys", "gender,age", "--target", "disease_status", "--format", "json", "--measures", "disco"]
    run("assess", *files, *roles, *(a for flag in flags for a in ("--key-groups", flag)))
    shown = json.loads(capsys.readouterr().out)["results"]["disco"]
    assert shown["settings"]["options"]["key_groups"] == wish
    alone = gh.disclosure.disco(*files, keys=KEYS, target="disease_status", key_groups=wish)
    assert shown["value"] == alone.value


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["agee=4"], "did you mean 'age'"),
        (["gender=4"], "only numeric columns can be grouped"),
        (["5", "age=3"], "one grouping for every numeric key, or one per key"),
        (["many"], "cannot be 'many'"),
    ],
)
def test_key_groups_that_cannot_be(
    files: list[str], capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    given = [a for flag in flags for a in ("--key-groups", flag)]
    assert (
        run("assess", *files, "--keys", "gender,age", "--target", "disease_status", "--measures", "disco", *given) == 2
    )
    assert said in capsys.readouterr().err


def test_schema_and_special_codes_without_a_file(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        "--schema",
        "age=categorical",
        "--special-codes",
        "income=-8,-9",
        "--format",
        "json",
        "--measures",
        "uniques",
    ]
    run("assess", *files, *given, "--keys", "gender")
    columns = {c["name"]: c["kind"] for c in json.loads(capsys.readouterr().out)["data"]["columns"]}
    assert columns["age"] == "categorical"
    assert run("assess", *files, "--special-codes", "income=x") == 2
    assert "--special-codes income=-8,-9" in capsys.readouterr().err
    assert run("assess", *files, "--special-codes", "gender=-8") == 2
    assert "gender" in capsys.readouterr().err


# -- progress ----------------------------------------------------------------------------------------------------------


def test_without_a_terminal_a_line_tells_how_far_it_is(
    only_fakes: Any, fakes: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.05)
    for name in ("slow_one", "slow_two"):
        made = fake(name, "attribute", 0.01)
        inner = made.function

        def function(pair: Any, inner: Any = inner) -> Any:
            time.sleep(0.3)
            return inner(pair)

        function.__name__, function.__doc__ = name, inner.__doc__
        object.__setattr__(made, "function", lambda pair, f=function: f(pair))
        made.function.__name__ = name
    assert run("assess", *fakes, "--keys", "sex") == 0
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if re.fullmatch(r"\d of 6 done, now slow_\w+; \d+ s so far.*", line)]
    assert len(lines) >= 4 and any(re.search(r", about \d+ (s|min) to go$", line) for line in lines)
    for silent in ("--quiet", "--no-progress"):
        assert run("assess", *fakes, "--keys", "sex", silent) == 0
        assert capsys.readouterr().err == ""


def test_the_estimate_weighs_steps_by_what_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: clock[0])
    lines = pace.Pace({"cheap": 1.0, "dear": 9.0})
    assert lines.line() == "reading the tables; 1 s so far"
    lines.step(0, 2, "cheap")
    assert lines.line() == "0 of 2 done, now cheap; 1 s so far, about 10 s to go"
    clock[0] += 4
    lines.step(1, 2, "dear")
    assert lines.line() == "1 of 2 done, now dear; 4 s so far, about 36 s to go"
    plain = pace.Pace({})
    plain.step(0, 4, "A")
    assert plain.line() == "0 of 4 done, now A; 1 s so far"
    clock[0] += 10
    plain.step(2, 4, "B")
    assert plain.line() == "2 of 4 done, now B; 10 s so far, about 10 s to go"


def test_a_first_run_says_that_it_compiles_and_leaves_it_out_of_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: clock[0])  # of the compiler's clock, too
    lines = pace.Pace({})
    lines.step(0, 4, "A")
    pace.compiling.begins()
    clock[0] += 8
    assert lines.line() == "0 of 4 done, now A (compiling, once); 8 s so far"
    pace.compiling.ends()
    clock[0] += 2
    lines.step(2, 4, "B")
    assert lines.line() == "2 of 4 done, now B; 10 s so far, about 2 s to go"


def test_the_bar_says_that_it_compiles(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    monkeypatch.setattr("rich.console.Console", lambda **_: Console(stderr=True, force_terminal=True, width=120))
    for busy in (True, False):
        monkeypatch.setattr(progress.compiling, "now", lambda busy=busy: busy)
        with progress._bar() as step:
            step(0, 4, "dcr")
        said = capsys.readouterr().err
        assert "dcr" in said and ("(compiling, once)" in said) == busy
