"""Files and tables that used to end in another library's error, or in a report about the wrong thing."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import GlasshouseError
from glasshouse.data.headers import looks_headerless
from glasshouse.show.cli import main

SECRET = "CNRY"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"k": ["a", "b", "a", "b"], **columns}, strict=False)


NUMBERS = frame(v=[1.5, 2.5, 3.5, 4.5])


@pytest.mark.parametrize(
    ("column", "roles", "said"),
    [
        (pl.Series("v", [2**63 + 5, 1, 2, 3], dtype=pl.UInt64), {}, "beyond 2\\^63"),
        (pl.Series("v", [7 * 10**25, 1, 2, 3], dtype=pl.Int128), {}, "beyond 2\\^63"),
        (pl.Series("v", [[1], [2], [3], None]), {}, "lists or structures"),
        (pl.Series("v", [b"a", b"b", b"c", None]), {}, "lists or structures"),
        (pl.Series("v", [dt.time(1), dt.time(2), None, None]), {}, "times of day"),
        (pl.Series("v", ["a", "b", "c", "c"]), {"special_codes": {"v": [-8]}}, "codes are numbers"),
        (pl.Series("v", [1, 2, 3, 4]), {"special_codes": {"v": ["x"]}}, "must be numbers"),
        (pl.Series("v", ["a", "b", "c", "c"]), {"schema": {"v": ["a", "b", "a"]}}, "more than once"),
        (pl.Series("v", [0.0] * 4), {"weights": "v"}, "zero for everybody"),
        (pl.Series("*", [1, 2, 3, 4]), {}, "pattern"),
        (pl.Series("v", [1, 2, 3, 4]), {"weights": "v", "keys": ["v"]}, "at once"),
    ],
)
def test_what_cannot_be_used_is_named_in_a_sentence(column: pl.Series, roles: dict[str, Any], said: str) -> None:
    table = NUMBERS.select("k").with_columns(column)
    with pytest.raises(gh.InputError, match=said):
        gh.Pair(table, table, **roles)


def test_texts_that_are_no_dates_become_missing_and_are_counted() -> None:
    table = frame(d=[f"{SECRET}-1931-02-03", "1931-02-03", "1931-02-04T10:00:00", None])
    pair = gh.Pair(table, table, schema={"d": "datetime"})
    assert pair.n_missing("d") == 2 and pair.values("d")[1] == -14212.0
    said = [f.message for f in pair.check()]
    assert any("1 distinct text in" in s and "no date that can be told" in s for s in said)
    assert not any(SECRET in s or "1931" in s for s in said)


def test_numbers_beside_text_are_compared_by_label_and_quoted_nowhere() -> None:
    tables = frame(v=[7.654321e300, 2.0, 3.5, None]), frame(v=["x", "2", "3.5", None])
    with pytest.raises(gh.InputError, match="column 'v' is numbers in the original table and text in the released"):
        gh.Pair(*tables)
    pair = gh.Pair(*tables, schema={"v": "categorical"})
    assert pair.schema["v"].storage == "text" and pair.codes("v").n_levels == 4
    assert not any("7.65" in f.message for f in pair.check())


@pytest.mark.parametrize(
    "values",
    [
        [dt.timedelta(days=3), dt.timedelta(0), None, None],
        [decimal.Decimal("1.5"), decimal.Decimal("2.5"), None, None],
        [None] * 4,
    ],
)
def test_unusual_types_give_values_or_reasons(values: list[Any]) -> None:
    table = frame(v=values, w=[1, 2, 3, 4])
    told = {"schema": {"v": "categorical"}}
    for other, roles in ((table, {}), (frame(v=["a", "b", None, "c"], w=[1, 2, 3, 4]), told)):
        found = gh.assess(gh.Pair(table, other, keys=["k"], target="w", **roles), measures="fast")
        assert not [r.reason for r in found.results.values() if "stopped with" in (r.reason or "")]


def test_missing_decimals_are_counted_whether_null_or_nan() -> None:
    table = frame(v=[float("nan"), None, 1.5, 1.5])
    pair = gh.Pair(table, table)
    assert pair.n_missing("v") == 2 and pair.n_distinct("v") == 1


@pytest.mark.parametrize("dtype", ["period", "interval", "complex", "mixed"])
def test_columns_that_only_pandas_has_are_compared_by_label(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    column = {
        "period": lambda: pd.period_range("1931-02", periods=4, freq="M"),
        "interval": lambda: pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3, 4]),
        "complex": lambda: [1j, 2j, 3j, 4j],
        "mixed": lambda: [1, "a", 2.5, None],
    }[dtype]()
    table = pd.DataFrame({"k": list("abab"), "v": column})
    pair = gh.Pair(table, table)
    assert pair.schema["v"].storage == "text" and pair.check() is not None


def test_polars_objects_are_compared_by_label() -> None:
    table = NUMBERS.select("k").with_columns(pl.Series("v", [1, "a", None, "a"], dtype=pl.Object))
    assert gh.Pair(table, table).codes("v").levels == ["1", "a"]


@pytest.mark.parametrize("name", ["o_", "h_", "size", "m0"])
def test_a_column_may_be_called_as_we_call_ours(name: str) -> None:
    table = frame(**{name: [1, 2, 3, 4]})
    assert gh.Pair(table, table, holdout=table).check() is not None


@pytest.mark.parametrize("value", ["x", None, [], object(), float("nan")])
def test_an_option_of_the_wrong_type_is_refused_by_name(value: Any) -> None:
    table = pl.concat([NUMBERS] * 5)
    with pytest.raises(gh.InputError, match="option 'trees' of rapid takes a whole number, not"):
        gh.disclosure.rapid(table, table, keys=["k"], target="v", trees=value)
    with pytest.raises(gh.InputError, match="option 'trees'"):
        gh.assess(table, table, keys=["k"], target="v", measures=["rapid"], options={"rapid": {"trees": value}})


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_damaged_gzip_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = bytearray(gzip.compress(pl.concat([NUMBERS] * 200).write_csv().encode()))
    raw[30] ^= 0xFF
    (tmp_path / "bad.csv.gz").write_bytes(bytes(raw))
    NUMBERS.write_csv(tmp_path / "good.csv")
    assert run("check", str(tmp_path / "bad.csv.gz"), str(tmp_path / "good.csv")) == 2
    assert "cut off or damaged" in capsys.readouterr().err


def test_a_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "bomb.csv.gz"
    pack = zlib.compressobj(9, wbits=31)
    packed.write_bytes(
        b"".join([pack.compress(b"a,b\n"), *(pack.compress(b"1,2\n" * 2**18) for _ in range(8)), pack.flush()])
    )
    good = tmp_path / "good.csv"
    good.write_text("a,b\n1,2\n")
    monkeypatch.setenv("GLASSHOUSE_UNPACKED_LIMIT", "4MiB")
    assert packed.stat().st_size < 2**17 and run("check", str(packed), str(good)) == 2
    said = capsys.readouterr().err
    assert "GLASSHOUSE_UNPACKED_LIMIT" in said and "when unpacked" in said
    monkeypatch.setenv("GLASSHOUSE_UNPACKED_LIMIT", "1GB")
    assert gh.Pair(packed, good).n("original") == 8 * 2**18
    monkeypatch.setenv("GLASSHOUSE_UNPACKED_LIMIT", "much")
    with pytest.raises(gh.InputError, match="must be a size"):
        gh.Pair(packed, good)


def test_a_file_that_does_not_fit_into_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.data import memory

    NUMBERS.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(memory, "free_memory", lambda: 3 * (tmp_path / "t.csv").stat().st_size)
    with pytest.raises(gh.InputError, match="of memory to be read"):
        gh.Pair(tmp_path / "t.csv", NUMBERS)
    monkeypatch.undo()
    assert memory.free_memory() is None or memory.free_memory() > 2**20


def test_a_parquet_file_is_measured_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"a": [0.5 * i for i in range(40_000)]}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setenv("GLASSHOUSE_UNPACKED_LIMIT", "100KB")
    with pytest.raises(gh.InputError, match="when unpacked"):
        gh.Pair(tmp_path / "a.parquet", tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("name", "text"),
    [("deep.json", "[" * 100_000), ("deep.toml", "a = " + "[" * 100_000), ("long.toml", f"a = {'9' * 5000}"),
     ("list.json", "[1]"), ("latin.toml", None)],
)  # fmt: skip
def test_settings_nobody_would_write_are_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None
) -> None:
    path, table = tmp_path / name, tmp_path / "t.csv"
    path.write_bytes("a = 'ü'".encode("latin-1") if text is None else text.encode())
    NUMBERS.write_csv(table)
    assert run("check", str(table), str(table), "--schema", str(path)) == 2
    assert "itself stopped" not in capsys.readouterr().err
    if name.endswith(".toml"):
        assert run("assess", str(table), str(table), "--policy", str(path)) == 2
        assert "itself stopped" not in capsys.readouterr().err
    with pytest.raises(GlasshouseError):
        gh.data.from_sdv(NUMBERS, NUMBERS, str(path))


@pytest.mark.parametrize("value", ["[" * 5000, "9" * 5000])
def test_an_option_nobody_would_write_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    NUMBERS.write_csv(tmp_path / "t.csv")
    table = str(tmp_path / "t.csv")
    assert run("measure", "disco", table, table, "--keys", "k", "--target", "v", "--option", f"bins={value}") == 2
    assert "itself stopped" not in capsys.readouterr().err


def test_a_first_line_that_repeats_itself_and_is_a_record_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{SECRET},{SECRET},3.5\nx,y,4.5\n")
    with pytest.raises(gh.InputError, match="looks like a record") as told:
        gh.Pair(tmp_path / "t.csv", tmp_path / "t.csv")
    assert SECRET not in str(told.value)


# -- headers ---------------------------------------------------------------------------------------------------------

PEOPLE = ["Anna Canary,1931-02-03,HIV,3.5", "Bert Block,1940-05-06,none,4.5", "Cleo Cruz,1950-07-08,HIV,5.5"]


@pytest.fixture
def headerless(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text("\n".join([*PEOPLE, *PEOPLE[1:] * 20]) + "\n")
    return str(path)


def test_a_file_without_a_header_is_a_finding_that_quotes_nobody(headerless: str) -> None:
    pair = gh.Pair(headerless, headerless)
    (found,) = pair.check()
    assert found.code == "no_header" and found.level == "error"
    assert not any(word in repr(pair.check()) for word in ("Anna", "1931", "HIV", "3.5"))
    with pytest.raises(gh.InputError, match="header=True"):
        gh.assess(pair, measures=["uniques"])
    with pytest.raises(gh.InputError, match="header=True"):
        gh.compare(headerless, {"a": headerless}, risk=["uniques"], utility=["hellinger"])
    assert gh.assess(pair.replace(header=True), measures=["identical"]).results["identical"].status == "ok"


@pytest.mark.parametrize("roles", [{"keys": ["name"]}, {"weights": "w"}, {"schema": {"name": "text"}}, {}])
def test_no_error_about_such_a_file_names_its_columns(tmp_path: Path, headerless: str, roles: dict[str, Any]) -> None:
    (tmp_path / "r.csv").write_text("name,born,illness,x\nX,1950-01-01,none,1.5\n")
    with pytest.raises(gh.InputError, match="looks like a record") as told:
        gh.Pair(headerless, tmp_path / "r.csv", **roles)
    assert not any(word in str(told.value) for word in ("Anna", "1931", "HIV"))


@pytest.mark.parametrize("command", [["check"], ["assess", "--measures", "uniques"], ["measure", "uniques"]])
def test_the_command_line_wants_such_a_header_confirmed(
    headerless: str, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    asked = [command[0], *command[1:2], headerless, headerless] if command[0] == "measure" else None
    asked = asked or [command[0], headerless, headerless, *command[1:]]
    assert run(*asked) == 2
    out, err = capsys.readouterr()
    assert "--header" in err and not any(word in out + err for word in ("Anna", "1931", "HIV"))
    assert run(*asked, "--header") != 2 or command[0] == "measure"


def test_a_person_at_the_terminal_is_asked(
    headerless: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    import typer

    answers = iter([False, True])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: next(answers))
    assert run("check", headerless, headerless) == 2
    assert run("check", headerless, headerless) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age,sex,income\n31,f,1.5\n40,m,2.5\n31,f,3.5\n", False),
        ("31,f,1.5\n40,m,2.5\n31,f,3.5\n29,f,0.5\n", True),
        ("0,1,2\n1.5,2,3\n4,5,6\n0,0,0\n", False),  # columns that nobody named
        ("region,2019,2020,2021\nn,5,6,7\ns,7,8,9\n", False),  # years
        ("f,north,low\nm,south,low\nf,north,high\nm,north,low\n", True),
        ("sex,region\nf,north\nm,south\n", False),
        ("yes,other\nyes,1\nno,2\n", False),
        ("id,date\n1,2020-01-01\n2,2020-01-02\n", False),
        ("2020-01-01,2020-01-02\n1.5,2.5\n3.5,4.5\n", False),  # a column of numbers per day
    ],
)
def test_what_looks_like_a_record(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert looks_headerless(pl.read_csv(tmp_path / "t.csv")) is expected


def test_json_stays_the_same_data_and_is_not_obeyed() -> None:
    from glasshouse.core.plain import to_json

    said = to_json({"a\x9b31m": "b\x7f\x1b[2J\u202e"})
    assert json.loads(said) == {"a\x9b31m": "b\x7f\x1b[2J\u202e"} and said.isascii()


@pytest.mark.parametrize("door", ["cart", "sequential", "split", "measure", "command line"])
def test_the_first_person_does_not_become_the_header_of_another_file(tmp_path: Path, door: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "".join(f"Zq7canary {i},{20 + i % 50},{1000 * i + 500}.5,1999-0{1 + i % 9}-11\n" for i in range(60))
    )
    doors: dict[str, Any] = {
        "cart": lambda: gh.synthesis.Cart().fit(str(path)),
        "sequential": lambda: gh.synthesis.Sequential("sample").fit(str(path)),
        "split": lambda: gh.data.split_before_synthesis(str(path)),
        "measure": lambda: gh.disclosure.uniques(str(path), str(path), keys=["a"]),
    }
    if door == "command line":
        with pytest.raises(SystemExit) as stopped:
            main(["synthesise", str(path), "-o", str(tmp_path / "out.csv")])
        assert stopped.value.code == 2 and not (tmp_path / "out.csv").exists()
        return
    with pytest.raises(gh.InputError, match="looks like a record") as told:
        doors[door]()
    assert "canary" not in str(told.value)
