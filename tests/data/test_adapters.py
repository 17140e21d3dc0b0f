"""Pairs from other packages' outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from tests.data import r_files as r

FRAME = pl.DataFrame(
    {"id": [1, 2, 3], "sex": ["f", "m", "f"], "income": [10.0, -8.0, 30.0], "w": [1.0, 2.0, 3.0], "hh": ["x", "x", "y"]}
)


def test_synthpop_carries_special_codes_and_unsynthesised_columns(tmp_path: Any) -> None:
    side = tmp_path / "synds.json"
    side.write_text(
        json.dumps({"cont.na": {"income": [-8, None], "sex": None}, "method": {"sex": "", "income": "cart"}, "m": 2})
    )
    pair = gh.data.from_synthpop(FRAME, [FRAME, FRAME], side, keys="sex")
    assert pair.special_codes == {"income": (-8,)}
    assert pair.m == 2
    assert pair.unsynthesised == ("sex",)
    assert pair.replace(keys=[]).unsynthesised == ("sex",), "a changed copy still knows what was not synthesised"
    assert pair.release(1).unsynthesised == ("sex",) and pair.replace(released=FRAME).unsynthesised == ()
    with pytest.raises(gh.InputError, match="m = 2 syntheses, but 1 were given"):
        gh.data.from_synthpop(FRAME, FRAME, side)
    (tmp_path / "bad.json").write_text("no json")
    with pytest.raises(gh.InputError, match="is not valid JSON"):
        gh.data.from_synthpop(FRAME, FRAME, tmp_path / "bad.json")


def test_sdcmicro_is_row_paired_and_keeps_numeric_keys_apart() -> None:
    pair = gh.data.from_sdcmicro(FRAME, FRAME, keys=["sex"], numeric_keys=["income"], weights="w", household="hh")
    assert pair.row_paired and pair.keys == ("sex",) and pair.numeric_keys == ("income",)
    with pytest.raises(gh.InputError, match="numeric_keys names 'age'"):
        gh.data.from_sdcmicro(FRAME, FRAME, keys=["sex"], numeric_keys=["age"])


def test_sdv_metadata_become_kinds() -> None:
    metadata = {
        "columns": {"id": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}, "income": {"sdtype": "numerical"}},
        "primary_key": "id",
    }
    pair = gh.data.from_sdv(FRAME, FRAME, metadata, keys="sex")
    assert (pair.schema["id"].kind, pair.schema["income"].kind) == ("identifier", "numeric")
    with pytest.raises(gh.InputError, match="describe 2 tables"):
        gh.data.from_sdv(FRAME, FRAME, {"tables": {"a": metadata, "b": metadata}})


def test_simpop_keeps_weights_of_the_sample() -> None:
    pair = gh.data.from_simpop(FRAME, FRAME.drop("w"), weights="w", household="hh", keys="sex")
    assert pair.weight_values("original").tolist() == [1.0, 2.0, 3.0]
    assert pair.weight_values("released") is None


# -- objects of R ------------------------------------------------------------------------------------------------------

N = 40
SEX, EDU = ["f", "m"] * 20, ["low", "high", "high", "low"] * 10
LEVELS = ["low", "medium", "high"]
NULL = r._flags(1) + r._char("\001NULL\001")  # how S4 keeps an empty slot


def income(seed: int) -> list[float]:
    values = [float(1000 + (37 * seed + 13 * i) % 900) for i in range(N)]
    values[0] = -8.0
    return values


def survey(seed: int, *classes: str, **more: bytes) -> bytes:
    columns = {"sex": r.factor(SEX, ["f", "m"]), "edu": r.factor(EDU, LEVELS, ordered=True)}
    return r.frame({**columns, "income": r.numbers(income(seed)), **more}, N, *classes)


def synds(m: int) -> bytes:
    syn = survey(1) if m == 1 else r.named({str(i): survey(i) for i in range(m)})
    methods = r.strings(["", "cart", "norm"], names=r.strings(["sex", "edu", "income"]))
    codes = r.named({"sex": r.integers([None], kind=10), "income": r.numbers([None, -8.0])})
    fields = {
        "call": NULL,
        "m": r.numbers([m]),
        "syn": syn,
        "method": methods,
        "cont.na": codes,
        "seed": r.numbers([1]),
    }
    return r.named(fields, "synds")


@pytest.mark.parametrize("m", [1, 3])
def test_a_synds_object_is_read_directly(tmp_path: Path, m: int) -> None:
    pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    original = r.save_rds(tmp_path / "o.rds", survey(0))
    r.save_rds(tmp_path / "s.rds", synds(m))
    r.save_rdata(tmp_path / "s.RData", {"o": survey(0), "s": synds(m)})
    for name in ("s.rds", "s.RData"):
        pair = gh.data.from_synthpop(original, tmp_path / name, keys=["sex", "edu"])
        assert pair.m == m and pair.special_codes == {"income": (-8.0,)} and pair.unsynthesised == ("sex",)
        assert pair.schema["edu"].kind == "ordinal" and pair.codes("edu").levels == LEVELS
    with pytest.raises(gh.InputError, match=r"holds synds, which is no data frame; gh\.data\.from_synthpop\('s\.rds'"):
        gh.Pair(original, tmp_path / "s.rds")


def test_check_and_assess_say_which_columns_hold_real_values() -> None:
    table = pl.DataFrame({"sex": SEX, "edu": EDU, "income": income(0)})
    other = table.with_columns(income=pl.Series(income(3)))
    described = {"method": {"sex": "", "edu": "", "income": "cart"}}
    pair = gh.data.from_synthpop(table, other, described, keys=["sex"], special_codes={"income": [-8]})
    for one in (pair, pair.replace(keys=["edu"]), pair.replace(exclude=["edu"]), pair.replace(target="income")):
        assert one.unsynthesised == ("sex", "edu")
        assert [f.code for f in one.check() if f.first] == ["unsynthesised"]
    found = gh.assess(pair.replace(keys=["sex"]), measures=["uniques"])
    said = "2 columns were not synthesised"
    assert said in repr(found) and said in found.to_markdown() and said in found.to_html()
    assert said not in found.to_html(audience="external")
    several = gh.data.from_synthpop(table, [other, other], described)
    assert several.stacked().unsynthesised == several.release(1).unsynthesised == ("sex", "edu")
    assert gh.data.from_synthpop(table, other, method={"sex": ""}).unsynthesised == ("sex",)
    assert gh.data.from_synthpop(table, other, method="").unsynthesised == ("sex", "edu", "income")


def test_an_sdcmicro_object_is_read_directly(tmp_path: Path) -> None:
    pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    weights, household = r.numbers([2.0] * N), r.integers([i // 2 for i in range(N)])
    name = r.strings([f"person {i}" for i in range(N)])
    data = survey(0, weight=weights, hh=household, name=name)
    changed = r.frame({"sex": r.factor(["f", None, *SEX[2:]], ["f", "m"]), "edu": r.factor(EDU, LEVELS, True)}, N)
    slots = {
        "origData": data, "keyVars": r.integers([1, 2]), "numVars": r.integers([3]), "pramVars": NULL,
        "weightVar": r.integers([4]), "hhId": r.integers([5]), "sensibleVar": r.integers([6]), "ghostVars": NULL,
        "manipKeyVars": changed, "manipNumVars": r.frame({"income": r.numbers(income(5))}, N),
        "manipPramVars": NULL, "deletedVars": NULL,
    }  # fmt: skip
    path = r.save_rds(tmp_path / "sdc.rds", r.s4("sdcMicroObj", "sdcMicro", slots))
    pair = gh.data.from_sdcmicro(path, schema={"name": "categorical"})
    assert pair.row_paired and pair.keys == ("sex", "edu") and pair.numeric_keys == ("income",)
    assert (pair.weights, pair.cluster, pair.target) == ("weight", "hh", "name")
    assert pair.n_missing("sex", "released") == 1 and pair.schema["edu"].kind == "ordinal"
    assert pair.values("income", "released").tolist() == income(5)
    assert gh.data.from_sdcmicro(path, keys=["sex"], target=None).keys == ("sex",)
    less = {**slots, "deletedVars": r.strings(["name"]), "sensibleVar": NULL}
    gone = r.save_rds(tmp_path / "gone.rds", r.s4("sdcMicroObj", "sdcMicro", less))
    assert not gh.data.from_sdcmicro(gone).has("name", "released")
    with pytest.raises(gh.InputError, match="needs the file after anonymisation"):
        gh.data.from_sdcmicro(FRAME, keys=["sex"])


def test_a_simpop_object_is_read_directly(tmp_path: Path) -> None:
    pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    household = r.integers([i // 2 for i in range(N)])

    def part(seed: int, weight: bytes) -> bytes:
        data = survey(seed, "data.table", hh=household, w=r.numbers([3.0] * N))
        said = {"hhid": r.strings(["hh"]), "weight": weight, "pid": NULL, "strata": NULL}
        return r.s4("dataObj", "simPop", {"data": data, **said})

    slots = {
        "sample": part(0, r.strings(["w"])),
        "pop": part(1, NULL),
        "table": NULL,
        "basicHHvars": r.strings(["sex"]),
    }
    path = r.save_rds(tmp_path / "pop.rds", r.s4("simPopObj", "simPop", slots))
    pair = gh.data.from_simpop(path, keys=["sex"])
    assert (pair.weights, pair.cluster, pair.n("released")) == ("w", "hh", N)
    assert pair.schema["edu"].kind == "ordinal"
    with pytest.raises(gh.InputError, match="holds simPopObj, not an object of class sdcMicroObj"):
        gh.data.from_sdcmicro(path)
