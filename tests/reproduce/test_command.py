"""The command: what it writes, what it says where data are missing, and that it goes on where it stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from reproduce.__main__ import chosen, main
from reproduce.pages import pages
from reproduce.setting import MissingData, OutOfTime, Setting, data_folder
from reproduce.studies import STUDIES

ROOT = Path(__file__).resolve().parents[2]


def test_a_cheap_reproduction_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["rapid-definitions", "risksyn-answers", "--quick", "--out", str(out), "--store", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "rapid-definitions: 8 of 8 figures reproduced" in said
    assert "risksyn-answers: 0 of 13 figures reproduced" in said  # exact, where theirs searches: every one differs
    assert {f.name for f in out.iterdir()} == {"rapid.json", "rapid.md", "risksyn.json", "risksyn.md", "index.md"}
    held = json.loads((out / "rapid.json").read_text(encoding="utf-8"))["Section 3"]
    assert held["run"] == "quick" and {row["status"] for row in held["rows"]} == {"reproduced"}
    page = (out / "rapid.md").read_text(encoding="utf-8")
    assert "| gain of record 2 | 0.625 | 0.625 | – | reproduced |" in page and "Quick run" in page
    assert "differs because risksyn" in (out / "risksyn.md").read_text(encoding="utf-8")
    assert pages(out)["index.md"] == (out / "index.md").read_text(encoding="utf-8")


def test_missing_data_are_named_and_the_rest_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["raab-table-3", "rapid-definitions", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "raab-table-3: left out, because it needs sd2011/sd2011_9_train.csv.gz, which is not ours to hand on" in said
    assert "rapid-definitions: 8 of 8" in said
    assert not (tmp_path / "out" / "raab.json").exists()


def test_where_the_data_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    assert data_folder(tmp_path / "nowhere") is None
    with pytest.raises(MissingData, match="no data folder was found"):
        Setting(data=None).file("adult/adult_train.csv.gz")


def test_draws_are_kept_and_taken_up(tmp_path: Path) -> None:
    made: list[int] = []

    def draw(number: int) -> dict[str, int]:
        made.append(number)
        return {"figure": 10 * number}

    units = [(i,) for i in range(4)]
    with pytest.raises(OutOfTime, match="some: 0 of 4 draws are made"):
        Setting(store=tmp_path, until=0.0).gather("some", units, draw)
    lines = Setting(store=tmp_path).gather("some", units[:3], draw)
    assert [line["figure"] for line in lines] == [0, 10, 20]
    lines = Setting(store=tmp_path).gather("some", units, draw)
    assert [line["figure"] for line in lines] == [0, 10, 20, 30] and made == [0, 1, 2, 3]


def test_an_earlier_figure_stays_where_only_others_are_asked_for(tmp_path: Path) -> None:
    main(["rapid-definitions", "--quick", "--out", str(tmp_path), "--store", str(tmp_path)])
    held = json.loads((tmp_path / "rapid.json").read_text(encoding="utf-8"))
    held["Appendix B"] = {**held["Section 3"], "rows": [], "about": "kept"}
    (tmp_path / "rapid.json").write_text(json.dumps(held), encoding="utf-8")
    main(["rapid-definitions", "--out", str(tmp_path), "--store", str(tmp_path)])
    held = json.loads((tmp_path / "rapid.json").read_text(encoding="utf-8"))
    assert held["Appendix B"]["about"] == "kept" and held["Section 3"]["run"] == "full"


def test_names_are_studies_or_sources() -> None:
    assert chosen([]) == list(STUDIES)
    assert chosen(["risksyn"]) == ["risksyn-guide", "risksyn-answers"]
    with pytest.raises(SystemExit, match="there is no study 'table-9'"):
        chosen(["table-9"])


def test_the_list_is_quick_and_needs_nothing() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "reproduce", "--list"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 0 and found.stdout.count("\n") == len(STUDIES)
