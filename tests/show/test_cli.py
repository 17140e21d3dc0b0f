from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.cli import main
from tests.fakes import fake, four_threats, tables
from tests.show.pages import check_page


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    original, released = tables(120)
    paths = {
        "original": tmp_path / "original.csv",
        "released": tmp_path / "released.csv",
        "holdout": tmp_path / "holdout.parquet",
    }
    original.write_csv(paths["original"])
    released.write_csv(paths["released"])
    tables(60, seed=5)[0].write_parquet(paths["holdout"])
    return {name: str(path) for name, path in paths.items()}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def test_assess_prints_the_verdict_and_leaves_with_its_code(
    only_fakes: Any, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    assert run("assess", files["original"], files["released"], "--keys", "sex,region", "--target", "income") == 0
    out, err = capsys.readouterr()
    assert "PASS" in out and "identity" in out and err == ""


@pytest.mark.parametrize(
    ("statuses", "code"),
    [({}, 0), ({"attribute": "warn"}, 0), ({"attribute": "fail"}, 1), ({"membership": "not_assessed"}, 3)],
)
@pytest.mark.parametrize("form", ["text", "json", "md", "junit", "html"])
def test_the_format_never_changes_the_exit_code(
    only_fakes: Any,
    files: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    statuses: dict[str, str],
    code: int,
    form: str,
) -> None:
    four_threats(**statuses)
    assert run("assess", files["original"], files["released"], "--format", form) == code
    out = capsys.readouterr().out
    if form == "json":
        assert json.loads(out)["schema_version"] == 5
    if form == "junit":
        ET.fromstring(out.encode())
    if form == "html":
        check_page(out)


def test_reports_are_written_and_the_suffix_gives_the_format(
    only_fakes: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    paths = [tmp_path / "out" / name for name in ("r.html", "r.json", "r.md", "r.xml", "r.txt")]
    (tmp_path / "out").mkdir()
    arguments = [a for path in paths for a in ("-o", str(path))]
    assert run("assess", files["original"], files["released"], *arguments) == 0
    out, err = capsys.readouterr()
    assert "PASS" in out and all(f"wrote {path}" in err for path in paths)
    check_page(paths[0].read_text())
    json.loads(paths[1].read_text())
    ET.parse(paths[3])
    assert "PASS" in paths[4].read_text()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(p.name for p in paths)


def test_json_on_stdout_beside_a_page_in_a_file_and_quiet(
    only_fakes: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    page = str(tmp_path / "r.html")
    assert run("assess", files["original"], files["released"], "-o", page, "--format", "json", "--quiet") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "pass" and err == ""
    assert run("assess", files["original"], files["released"], "-o", page, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_keys_may_be_a_list_or_repeated(
    only_fakes: Any, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    run("assess", files["original"], files["released"], "--keys", "sex,region", "--key", "age", "--format", "json")
    assert json.loads(capsys.readouterr().out)["data"]["keys"] == ["sex", "region", "age"]


def test_a_policy_file_gates(
    only_fakes: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats(attribute="warn", membership="not_assessed")
    policy = tmp_path / "policy.toml"
    for limit, code in (("0.9", 0), ("0.01", 1)):
        policy.write_text(f'[run]\nkeys = ["sex"]\n[[rule]]\nmeasure = "attribute_measure"\nlimit = {limit}\n')
        assert run("assess", files["original"], files["released"], "--policy", str(policy)) == code
    assert "FAIL  attribute_measure.value  0.1 > 0.01" in capsys.readouterr().out
    policy.write_text('[[rule]]\nmeasure = "membership_measure"\nlimit = 0.5\n')
    assert run("assess", files["original"], files["released"], "--policy", str(policy)) == 3
    policy.write_text('[[rule]]\nmeasure = "membership_measur"\nlimit = 0.5\n')
    assert run("assess", files["original"], files["released"], "--policy", str(policy)) == 2
    assert "did you mean 'membership_measure'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["assess"], "Missing argument"),
        (["asess"], "No such command"),
        (["assess", "no.csv", "none.csv"], "file not found: no.csv"),
        (["assess", "{original}", "{released}", "--keys", "sexx"], "did you mean 'sex'"),
        (["assess", "{original}", "{released}", "--format", "docx"], "--format 'docx'"),
        (["assess", "{original}", "{released}", "--audience", "all"], "internal or external"),
        (["assess", "{original}", "{released}", "--measures", "fst"], "no measure 'fst'"),
        (["assess", "{original}", "{released}", "--measures", " ,"], "--measures names nothing"),
        (["assess", "{original}"], "name both tables"),
        (["compare", "{original}"], "Missing argument RELEASES"),
        (["assess", "{original}", "{released}", "--policy", "none.toml"], "policy file not found"),
        (["assess", "{original}", "{released}", "-o", "/no/such/folder/r.html"], "cannot write"),
        (["assess", "{original}", "{released}", "--seed", "x"], "--seed"),
        (["measure", "nope", "{original}", "{released}"], "no measure 'nope'"),
        (["explain", "nope"], "no measure 'nope'"),
        (["policy", "check", "nope"], "policy file not found"),
        (["policy", "init", "--preset", "nope", "-o", "-"], "no preset 'nope'"),
        (["policy", "init", "research"], "--preset research"),
        (["calibrate"], "state a risk"),
        (["calibrate", "--success", "0.1"], "needs --baseline"),
        (["calibrate", "--rho", "0.1", "--baseline", "0.01"], "add --success or --advantage"),
        (["calibrate", "--tpr", "0.05"], "--tpr and --fpr go together"),
        (["calibrate", "--advantage", "0.1", "--baseline", "0"], "--advantage without --baseline"),
    ],
)
def test_a_mistake_is_one_clear_sentence_and_code_2(
    only_fakes: Any, files: dict[str, str], capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    four_threats()
    assert run(*(a.format(**files) for a in arguments)) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and "Traceback" not in err and len(err.strip().splitlines()) <= 2


def test_an_unexpected_error_is_told_without_data_and_traced_only_on_request(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: Any, **__: Any) -> None:
        raise RuntimeError("Anna Kowalska")

    monkeypatch.setattr("glasshouse.judgement.verdict.assess.assess", explode)
    assert run("assess", files["original"], files["released"]) == 2
    err = capsys.readouterr().err
    assert "RuntimeError" in err and "--debug" in err and "Kowalska" not in err
    with pytest.raises(RuntimeError):
        main(["--debug", "assess", files["original"], files["released"]])


def test_measure_explain_measures_and_check(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    roles = ["--keys", "sex,region", "--target", "income"]
    assert run("measure", "disco", files["original"], files["released"], *roles, "--format", "json") == 0
    value = json.loads(capsys.readouterr().out)["value"]
    assert (
        value
        == gh.disclosure.disco(files["original"], files["released"], keys=["sex", "region"], target="income").value
    )
    records = tmp_path / "records.csv"
    assert (
        run(
            "measure",
            "disco",
            files["original"],
            files["released"],
            *roles,
            "--records",
            str(records),
            "--option",
            "confidence=0.9",
        )
        == 0
    )
    assert pl.read_csv(records).height == 120
    assert run("measure", "disco", files["original"], files["released"], *roles, "--option", "confidense=0.9") == 2
    assert "did you mean 'confidence'" in capsys.readouterr().err
    assert run("measure", "k_anonymity", files["original"], "--keys", "sex") == 0
    assert run("measure", "dcr", files["original"], files["released"]) == 3
    capsys.readouterr()
    assert run("measures", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)) == gh.measures().height
    assert run("explain", "disco") == 0 and "Raab" in capsys.readouterr().out
    assert run("check", files["original"], files["released"], "--format", "json") == 0
    assert {c["name"] for c in json.loads(capsys.readouterr().out)["columns"]} == {"age", "sex", "region", "income"}


def test_policy_init_and_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "policy.toml"
    assert run("policy", "init") == 0
    told = capsys.readouterr()
    assert told.out == "" and "wrote policy.toml" in told.err and 'name = "public"' in path.read_text()
    assert run("policy", "init") == 2
    assert "--force" in capsys.readouterr().err
    assert run("policy", "init", "p.toml", "--preset", "secure") == 0
    assert 'name = "secure"' in (tmp_path / "p.toml").read_text()
    assert run("policy", "init", "p.toml", "-o", "q.toml") == 2
    capsys.readouterr()
    assert run("policy", "init", "-o", "-") == 0 and capsys.readouterr().out == path.read_text()
    assert run("policy", "init", "-", "--preset", "research") == 0
    assert 'name = "research"' in capsys.readouterr().out
    assert run("policy", "init", "-o", str(path), "--preset", "research", "--force") == 0
    assert 'name = "research"' in path.read_text()
    assert run("policy", "check", str(path)) == 0
    assert "is valid" in capsys.readouterr().out
    path.write_text('[[rule]]\nmeasure = "disco"\nlimit = 0.1\n')
    assert run("policy", "check", str(path)) == 0
    assert "no rule looks at" in capsys.readouterr().err


def test_calibrate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("calibrate", "--advantage", "0.1", "--success", "0.1", "--baseline", "0.01", "--format", "json") == 0
    content = json.loads(capsys.readouterr().out)
    strictest = min(gh.Risk.from_advantage(0.1).rho, gh.Risk.from_success_at_baseline(success=0.1, baseline=0.01).rho)
    assert content["rho"] == pytest.approx(strictest)
    assert [one["binding"] for one in content["stated"]] == [True, False]


def test_calibrate_honours_the_baseline_of_an_advantage(capsys: pytest.CaptureFixture[str]) -> None:
    """An advantage of 0.05 where chance gives 0.001 costs far less noise than one over every baseline."""
    assert run("calibrate", "--advantage", "0.05", "--baseline", "0.001", "--format", "json") == 0
    out, err = capsys.readouterr()
    with pytest.warns(UserWarning, match=r"51\.0x"):
        asked = gh.Risk.from_advantage_at_baseline(0.05, 0.001)
    assert json.loads(out)["rho"] == pytest.approx(asked.rho) == pytest.approx(0.8175, abs=5e-5)
    assert err.startswith("note: ") and "51.0x" in err and "--success" in err and "Risk." not in err
    assert run("calibrate", "--advantage", "0.05", "--baseline", "0.001") == 0
    assert "an attack with baseline 0.1 % gains at most 5 %" in capsys.readouterr().out


def test_calibrate_takes_the_rates_of_a_membership_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("calibrate", "--tpr", "0.05", "--fpr", "0.01", "--rho", "0.5", "--format", "json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["rho"] == pytest.approx(gh.Risk.from_err_rates(tpr=0.05, fpr=0.01).rho)
    assert content["max_tpr"]["0.01"] == pytest.approx(0.05, abs=1e-6)
    assert run("calibrate", "--tpr", "0.05", "--fpr", "0.01", "--rho", "0.5") == 0
    assert "detects at most 5 % of the members (binding); and also rho-zCDP" in capsys.readouterr().out


def test_an_interrupt_leaves_the_last_good_file(
    only_fakes: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake("slow", error=KeyboardInterrupt())  # type: ignore[arg-type]
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "report.html").write_text("the last good report")
    assert run("assess", files["original"], files["released"], "-o", str(folder / "report.html")) == 130
    assert "interrupted" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["report.html"] and (
        folder / "report.html"
    ).read_text() == "the last good report"


def test_an_interrupt_while_writing_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.core.writing import write_atomically

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "report.html", "half")
    assert list(tmp_path.iterdir()) == []


def _process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from glasshouse.show.cli import main; main()", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False, timeout=300
    )


def test_two_runs_and_another_thread_count_give_the_same_bytes(files: dict[str, str]) -> None:
    arguments = [
        "assess",
        files["original"],
        files["released"],
        "--holdout",
        files["holdout"],
        "--keys",
        "sex,region",
        "--target",
        "income",
        "--format",
        "json",
        "--measures",
        "disco,rapid,dcr,identical,singling_out,domias,pmse",
    ]
    first = _process(*arguments, "--jobs", "1", "--no-progress", NUMBA_NUM_THREADS="1")
    second = _process(*arguments, "--jobs", "2", "--no-progress", NUMBA_NUM_THREADS="2")
    assert first.stdout == second.stdout and json.loads(first.stdout)["results"]["rapid"]["status"] == "ok", (
        first.stderr
    )
    assert first.stderr == ""


def test_a_pipe_gets_no_colour_and_no_bar(files: dict[str, str]) -> None:
    done = _process(
        "assess",
        files["original"],
        files["released"],
        "--measures",
        "identical,total_variation",
        FORCE_COLOR="",
        NO_COLOR="1",
    )
    assert "\x1b[" not in done.stdout + done.stderr and done.stderr == ""
    assert _process("--version").stdout.startswith("glasshouse ")


@pytest.mark.study
def test_demo_ends_with_a_verdict_and_a_report(tmp_path: Path) -> None:
    done = _process("demo", "-o", str(tmp_path / "report.html"))
    assert done.returncode == 0 and str(tmp_path / "report.html") in done.stdout
    check_page((tmp_path / "report.html").read_text())


def test_compare_places_releases_on_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = gh.data.load("case_study")
    paths = {name: tmp_path / f"{name}.csv" for name in ("original", "A", "C")}
    example.original.write_csv(paths["original"])
    for name in ("A", "C"):
        example.releases[name].write_csv(paths[name])
    page, words = tmp_path / "map.html", tmp_path / "map.md"
    roles = ["--keys", "age_group,sex,education,region", "--target", "income"]
    done = run(
        "compare",
        str(paths["original"]),
        str(paths["A"]),
        f"near copy={paths['C']}",
        *roles,
        "-o",
        str(page),
        "-o",
        str(words),
    )
    assert done == 0 and "near copy" in capsys.readouterr().out
    assert (
        "<script" not in page.read_text() and "near copy" in page.read_text() and "| near copy |" in words.read_text()
    )
    assert "| FAIL |" in words.read_text() and "copy alarm" in words.read_text()
    assert run("compare", str(paths["original"]), str(paths["A"]), str(paths["A"]), *roles) == 2
    assert "two releases are called" in capsys.readouterr().err
    named = ["--measures", "near_copies,hellinger", "--audience", "external", "--format", "json", "-q"]
    assert run("compare", str(paths["original"]), str(paths["A"]), f"near copy={paths['C']}", *roles, *named) == 0
    assert list(json.loads(capsys.readouterr().out)["verdicts"]) == ["release 1", "near copy"]


def test_compare_takes_what_assess_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = gh.data.load("case_study")
    tables = {"original": example.original, "holdout": example.holdout, "C": example.releases["C"]}
    paths = {name: tmp_path / f"{name}.csv" for name in tables}
    for name, table in tables.items():
        table.with_columns(w=1.0, home=pl.int_range(pl.len()) // 2 + 10_000 * list(tables).index(name)).write_csv(
            paths[name]
        )
    roles = ["--keys", "age_group,sex,education", "--target", "income", "--holdout", str(paths["holdout"])]
    more = ["--policy", "research", "--exclude", "region", "--weights", "w", "--cluster", "home", "--measures"]
    given = [str(paths["original"]), str(paths["C"]), *roles, *more, "near_copies,hellinger", "--format", "json"]
    assert run("compare", *given, "--audience", "external", "-o", "-") == 1, "no release meets the policy"
    shown = json.loads(capsys.readouterr().out)
    assert shown["recommended"] is None and shown["audience"] == "external"
    assert shown["verdicts"] == {"release 1": "fail"}, "a file may be called after a person, and no file name is told"


def test_compare_shows_what_must_be_known_first_as_assess_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release that is the original itself is told before any place on a map."""
    example = gh.data.load("case_study")
    tables = {"original": example.original, "A": example.releases["A"], "same": example.original}
    paths = {name: tmp_path / f"{name}.csv" for name in tables}
    for name, table in tables.items():
        table.write_csv(paths[name])
    roles = ["--keys", "age_group,sex", "--target", "income", "--measures", "near_copies,hellinger"]
    first = [f.message for f in gh.check(paths["original"], paths["same"]) if f.first]
    assert first
    written = [str(tmp_path / name) for name in ("m.html", "m.md", "m.json")]
    outputs = [a for path in written for a in ("-o", path)]
    assert run("compare", *(str(paths[name]) for name in tables), *roles, *outputs) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"before you read on: same: {first[0]}")
    assert json.loads(Path(written[2]).read_text())["findings"][0] == f"same: {first[0]}"
    assert (
        "Before you read on" in Path(written[0]).read_text() and "Before you read on:" in Path(written[1]).read_text()
    )
    assert run("compare", *(str(paths[name]) for name in tables), *roles, "--audience", "external") == 0
    assert "before you read on" not in capsys.readouterr().out
