"""The container: any frame in, roles decided once, every mismatch said, nothing of the caller's changed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from tests.conftest import converter

N = 60


def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "id": np.arange(N),
            "age": rng.integers(18, 30, N),
            "weight": rng.uniform(1, 3, N),
            "sex": rng.choice(["f", "m"], N),
            "income": rng.lognormal(10, 1, N),
            "edu": rng.choice(["low", "medium", "high"], N),
        }
    )


@pytest.mark.parametrize("engine", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_every_frame_library(engine: str, request: pytest.FixtureRequest) -> None:
    convert = converter(engine, request)
    frame = convert(table())
    pair = gh.Pair(frame, frame, keys=["age", "sex"], target="edu", weights="weight")
    assert pair.n("original") == N
    assert pair.columns == ("age", "sex", "income", "edu")
    assert pair.numeric == ("age", "income")
    assert pair.categorical == ("sex", "edu")
    records = gh.disclosure.disco(pair).records
    assert type(records).__module__.split(".")[0].strip("_") == type(frame).__module__.split(".")[0].strip("_")


def test_the_callers_data_is_never_changed() -> None:
    pd = pytest.importorskip("pandas")
    frame = table().to_pandas()
    frame["edu"] = pd.Categorical(frame["edu"], categories=["low", "medium", "high"], ordered=True)
    frame.index = pd.Index(range(100, 100 + N), name="person")
    before = frame.copy(deep=True)
    result = gh.disclosure.disco(frame, frame, keys=["age", "sex"], target="edu")
    records, top = result.records, result.by("sex")
    pd.testing.assert_frame_equal(frame, before)
    assert list(records.index) == list(frame.index)
    assert list(top.columns) == ["sex", "n", "value", "low", "high", "small"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_files(tmp_path: Any, suffix: str) -> None:
    import gzip

    path = tmp_path / f"table{suffix}"
    if suffix == ".parquet":
        table().write_parquet(path)
    elif suffix == ".arrow":
        table().write_ipc(path)
    elif suffix == ".csv":
        table().write_csv(path)
    else:
        path.write_bytes(gzip.compress(table().write_csv().encode()))
    assert gh.Pair(path, str(path), keys="sex").n("released") == N


def test_wrong_order_and_weight_in_the_middle_do_not_shift_roles() -> None:
    """riskutility's container names the wrong columns here."""
    original = pl.DataFrame({"w": [1.0, 2.0], "age": [1, 2], "sex": ["a", "b"], "inc": [1.5, 2.5], "edu": ["x", "y"]})
    pair = gh.Pair(original, original.select("edu", "inc", "sex", "age", "w"), weights="w")
    assert pair.numeric == ("age", "inc")
    assert pair.categorical == ("sex", "edu")


def test_levels_are_joint_and_ordered_as_declared() -> None:
    pd = pytest.importorskip("pandas")
    original = pd.DataFrame(
        {"e": pd.Categorical(["low", "high", None], categories=["low", "medium", "high"], ordered=True)}
    )
    released = pl.DataFrame({"e": ["medium", "odd"]})
    codes = gh.Pair(original, released).codes("e")
    assert codes.levels == ["low", "medium", "high", "odd"]
    assert codes.of("original").tolist() == [0, 2, -1]
    assert codes.of("released").tolist() == [1, 3]
    assert gh.Pair(original, released).schema["e"].kind == "ordinal"


@pytest.mark.parametrize(
    ("first", "second", "storage", "equal"),
    [
        ([1, 2, 3], [1.0, 2.0, 3.0], "float", True),
        ([1, 2, 3], ["1", "2", "3"], "float", True),
        ([True, False, True], ["True", "false", "TRUE"], "bool", True),
        ([0.0, 1.5, None], [-0.0, 1.5, float("nan")], "float", True),
        ([dt.date(2020, 1, 1)] * 3, ["2020-01-01"] * 3, "time", True),
    ],
)
def test_types_meet(first: list[Any], second: list[Any], storage: str, equal: bool) -> None:
    """Numeric keys of different storage compare by value, text by label, NaN is missing and -0.0 is zero."""
    pair = gh.Pair(pl.DataFrame({"x": first}), pl.DataFrame({"x": second}))
    assert pair.schema["x"].storage == storage
    codes = pair.codes("x")
    assert (codes.of("original").tolist() == codes.of("released").tolist()) is equal


def test_numbers_as_categories_compare_by_label() -> None:
    pd = pytest.importorskip("pandas")
    original = pd.DataFrame({"x": pd.Categorical([1.0, 2.0])})
    codes = gh.Pair(original, pl.DataFrame({"x": [1, 2]}), schema={"x": "categorical"}).codes("x")
    assert codes.of("original").tolist() == codes.of("released").tolist()


def test_schema_overrides_and_says_so() -> None:
    frame = pl.DataFrame({"band": [1, 2, 3] * 20, "s": ["1", "2", "x"] * 20, "e": ["lo", "hi", "mid"] * 20})
    pair = gh.Pair(frame, frame, schema={"band": "categorical", "s": "numeric", "e": ["lo", "mid", "hi"]})
    assert [pair.schema[c].kind for c in ("band", "s", "e")] == ["categorical", "numeric", "ordinal"]
    assert pair.codes("e").levels == ["lo", "mid", "hi"]
    assert np.isnan(pair.values("s")).sum() == 20
    assert any(f.code == "type_mismatch" and f.column == "s" for f in pair.check())


def test_a_pair_never_changes() -> None:
    pair = gh.Pair(table(), table(), keys="sex")
    with pytest.raises(AttributeError, match=r"use pair.replace\(keys=...\)"):
        pair.keys = ("age",)
    changed = pair.replace(target="edu")
    assert (pair.target, changed.target) == (None, "edu")
    assert changed._tables is pair._tables


def test_several_releases() -> None:
    pair = gh.Pair(table(), [table(), table().head(10)], keys=["age", "sex"], target="edu")
    assert pair.m == 2
    result = gh.disclosure.disco(pair)
    assert [r.value for r in result.replicates] == [gh.disclosure.disco(pair.release(i)).value for i in range(2)]
    assert result.value == max(r.value for r in result.replicates)
    assert result.sentence.startswith("Worst of 2 releases")


def test_check_lists_what_is_odd() -> None:
    original = table().with_columns(note=pl.lit("same"), when=pl.lit("2020-01-01"), code=pl.Series(["a ", "b"] * 30))
    released = table().with_columns(note=pl.lit(None, pl.String), extra=1, code=pl.Series(["A", "c"] * 30)).drop("edu")
    found = gh.Pair(original, released, keys=["sex"]).check()
    codes = {(f.code, f.column) for f in found}
    assert {("identifier", "id"), ("constant", "note"), ("unseen_level", "code"), ("missing_share", "note")} <= codes
    assert {"missing_column", "extra_column", "no_holdout"} <= {c for c, _ in codes}
    assert "only by case or blanks" in str(found.about("code"))
    assert found.to_frame().height == len(found)
    assert gh.check(table(), table()).about("id")[0].level == "warning"


def test_check_sees_a_holdout_that_was_seen() -> None:
    original = table()
    overlap = gh.Pair(original, original, holdout=original.head(30)).check()
    assert any(f.code == "holdout_overlap" for f in overlap)


# -- bad input: the sentence the user gets, and no value of a person in it
# ------------------------------------------------

SECRET = "Rosalind-Franklin-1920"


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"name": [SECRET, SECRET + "x"], "t": ["a", "b"], **columns})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"keys": ["nmae"]}, "key 'nmae' is not in the original; did you mean 'name'?"),
        ({"keys": ["name", "name"]}, "key 'name' is named twice"),
        ({"keys": ["name"], "target": "name"}, "target 'name' is also a key"),
        ({"weights": "w"}, "weights column 'w' is not in the original"),
        ({"missing": "guess"}, "missing='guess' is no rule"),
        ({"schema": {"t": "colour"}}, "schema of 't': 'colour' is no kind"),
        ({"schema": {"u": "numeric"}}, "schema names column 'u', which the original does not have"),
        ({"special_codes": {"zzz": [1]}}, "special_codes names 'zzz'"),
        ({"real_data": 1}, "`real_data` is called `original` here"),
        ({"frobnicate": 1}, "a Pair has no argument 'frobnicate'"),
    ],
)
def test_bad_roles(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(gh.InputError) as error:
        gh.Pair(frame(), frame(), **arguments)
    assert sentence in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("original", "released", "sentence"),
    [
        (frame(), frame().drop("t"), "target 't' is in the original but not in the release"),
        (frame(), frame().head(0), "the released table has no record"),
        (frame().head(0), frame(), "the original table has no record"),
        (frame(), pl.DataFrame({"z": [1]}), "no column in common"),
        (frame(), 17, "released is a int, which is no data frame glasshouse knows"),
        (frame(), {"a": [1]}, "released is a list"),
        (frame(), None, "a Pair needs the released table too"),
        (frame(), [], "released is an empty list"),
        (frame(l=[[1], [2]]), frame(l=[[1], [2]]), "column 'l' holds lists or structures"),
    ],
)
def test_bad_tables(original: Any, released: Any, sentence: str) -> None:
    with pytest.raises(gh.InputError) as error:
        gh.Pair(original, released, target="t")
    assert sentence in str(error.value)
    assert SECRET not in str(error.value)


def test_bad_weights_are_counted() -> None:
    broken = frame(w=[None, -1.0])
    with pytest.raises(
        gh.InputError, match="weight column 'w' of the original table has 1 missing and 1 negative values"
    ):
        gh.Pair(broken, broken, weights="w")


def test_labels_need_not_be_text() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1, "a", "x"], [2, "b", "y"]], columns=[0, 1, 2])
    pair = gh.Pair(frame, frame, keys=[1], target=2)
    assert (pair.keys, pair.target) == (("1",), "2")


def test_a_span_of_time_is_a_number_of_days() -> None:
    frame = pl.DataFrame({"stay": [dt.timedelta(days=1), dt.timedelta(hours=12), None]})
    pair = gh.Pair(frame, frame)
    assert pair.values("stay")[:2].tolist() == [1.0, 0.5]
    assert pair.is_numeric("stay")


def test_one_argument_under_two_names_is_refused() -> None:
    with pytest.raises(gh.InputError, match="`key_vars` and `keys` are the same argument"):
        gh.Pair(frame(), frame(), keys=["name"], key_vars=["t"])
    with pytest.raises(gh.InputError, match="`real_data` is called `original` here"):
        gh.Pair(real_data=frame(), synthetic_data=frame())


def test_top_keeps_the_index() -> None:
    pd = pytest.importorskip("pandas")
    people = pd.DataFrame({"k": list("aabc"), "t": list("xyxz")}, index=["p1", "p2", "p3", "p4"])
    assert list(gh.disclosure.disco(people, people, keys="k", target="t").top(2).index) == ["p3", "p4"]


def test_duplicate_columns_are_refused(tmp_path: Any) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(gh.InputError, match="more than one column called 'a'"):
        gh.Pair(pd.DataFrame([[1, 2]], columns=["a", "a"]), frame())
    path = tmp_path / "twice.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(gh.InputError, match="more than one column called 'a'"):
        gh.Pair(path, frame())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("gone.csv", None, "file not found"),
        ("empty.csv", b"", "is empty"),
        ("ragged.csv", b"a,b\n1,2\n" + SECRET.encode() + b",2,3\n", "line 3: 3 fields where the header has 2"),
        ("half.parquet", b"PAR1\x00\x00half", "cut off or damaged"),
        ("liar.parquet", b"a,b\n1,2\n", "is not a Parquet file, whatever its name says"),
        ("liar.csv", b"PAR1\x15\x04binary", "is not a text file"),
        ("odd.csv", "name\nMüller\n".encode("latin-1") + b"\x81\n", "neither UTF-8 nor Latin-1"),
        ("table.xlsx", b"PK", "is not a spreadsheet, whatever its name says"),
        ("table.mdb", b"PK", "glasshouse reads CSV (.csv"),
        ("half.csv.gz", b"\x1f\x8b\x08\x00\x00", "cut off or damaged"),
    ],
)
def test_bad_files(tmp_path: Any, name: str, content: bytes | None, sentence: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(gh.InputError) as error:
        gh.Pair(path, frame())
    assert sentence in str(error.value)
    assert SECRET not in str(error.value)


def test_a_byte_order_mark_and_semicolons_are_understood(tmp_path: Any) -> None:
    path = tmp_path / "bom.csv"
    path.write_bytes("\ufeffname;t\nx;a\ny;b\n".encode())
    assert gh.Pair(path, path, keys="name", target="t").columns == ("name", "t")


def test_odd_column_names_work() -> None:
    names = ["a b", "c[0]", 'd"quote', "e'apos", "ü<b>", "d", "s", "t", "q"]
    data = pl.DataFrame({name: ["x", "y"] for name in names})
    result = gh.disclosure.attribution(data, data, keys=names[:-1], target=names[-1])
    assert result.value == 1


def test_a_cluster_is_in_the_data_or_not() -> None:
    table = pl.DataFrame({"x": [1, 2, 3, 4], "hh": ["a", "a", "b", "c"]})
    with pytest.raises(gh.InputError, match="1 value of the cluster column 'hh' is in both original and holdout"):
        gh.Pair(table[:2], table, holdout=table[1:], cluster="hh")
    assert gh.Pair(table[:2], table, holdout=table[2:], cluster="hh").cluster == "hh"
    with pytest.raises(gh.InputError, match="cluster column 'hh' is not in the holdout"):
        gh.Pair(table[:2], table, holdout=table[2:].drop("hh"), cluster="hh")


def kind_of(values: np.ndarray | list[int], name: str = "number") -> str:
    frame = pl.DataFrame({name: values})
    return gh.Pair(frame, frame).schema[name].kind


@pytest.mark.parametrize("engine_name", ["polars", "pandas", "lazy", "duckdb"])
@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_running_numbers_are_an_identifier_in_any_order_and_engine(
    order: str, engine_name: str, request: pytest.FixtureRequest
) -> None:
    """Before, only while the table was sorted by them, and only in memory."""
    convert = converter(engine_name, request)
    frame = pl.DataFrame({"serial": 3 * np.arange(100) + 17, "pay": np.arange(100) * 997})
    if order == "shuffled":
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    schema = gh.Pair(convert(frame), convert(frame)).schema
    assert schema["serial"].kind == "identifier"
    assert schema["pay"].kind == "integer", "sorted and all different, but nothing says that numbers were handed out"


def test_numbers_that_chance_leaves_different_are_no_identifier() -> None:
    rng = np.random.default_rng(3)
    assert kind_of(np.arange(1, 21)) == "identifier"
    assert kind_of(np.arange(1, 20)) == "integer", "in a small table nearly every column is unique"
    assert kind_of(np.arange(1, 101)[rng.random(100) < 0.6]) == "identifier", "a sample of running numbers"
    assert kind_of(rng.choice(100_000, 200, replace=False)) == "integer"
    assert kind_of(rng.choice(100_000, 200, replace=False), "person_id") == "identifier"
    assert kind_of(np.repeat(np.arange(50), 2)) == "integer", "households share a number"


@pytest.mark.parametrize("engine_name", ["polars", "pandas", "pyarrow", "lazy", "duckdb"])
def test_not_a_number_is_counted_as_missing_everywhere(engine_name: str, request: pytest.FixtureRequest) -> None:
    convert = converter(engine_name, request)
    frame = pl.DataFrame({"x": [0.5, float("nan"), -0.0, 0.0, None, float("nan")]})
    pair = gh.Pair(convert(frame), convert(frame))
    assert (pair.n_missing("x"), pair.n_distinct("x")) == (3, 2)


@pytest.mark.parametrize("kind", ["numeric", "boolean"])
def test_levels_of_what_has_none_are_refused_whatever_the_column_is_declared_as(kind: str) -> None:
    labels = pl.Series("c", ["a", "b"] * 5, dtype=pl.Enum(["a", "b"]))
    for column in (labels, labels.cast(pl.String)):
        with pytest.raises(gh.InputError, match=f"has levels, which a column of kind '{kind}' does not have"):
            gh.Pair(column.to_frame(), column.to_frame(), schema={"c": {"kind": kind, "levels": ["a", "b"]}})
