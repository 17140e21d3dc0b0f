"""Hierarchies and the lattice: checks of nestedness, the file form, and the search against going through all nodes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.protection import generalising
from glasshouse.protection.held import held
from glasshouse.protection.hierarchies import automatic
from glasshouse.protection.hierarchy_levels import levels_of

P: Any = gh.protection
H: Any = gh.protection.Hierarchy
LOSSES = ("granularity", "entropy", "discernibility", "class_size", "precision", "height")


# -- hierarchies -------------------------------------------------------------------------------------------------------


def test_a_file_of_values_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("Wien;east;*\nGraz;south;*\n'Linz';north;*\n")
    town = H.load(path)
    assert town.height == 2 and town.rows[2] == ("'Linz'", "north", "*")
    assert H.load(town.save(tmp_path / "again.csv")) == town
    table = pl.DataFrame({"town": ["Graz", None, "Wien"]})
    for level, wanted in enumerate((["Graz", None, "Wien"], ["south", None, "east"], ["*", "*", "*"])):
        made = P.recode_levels(table, {"town": str(path)}, {"town": level})
        assert made.table["town"].to_list() == wanted, "missing is a value of its own below the top"


def test_numbers_and_dates_have_open_ends() -> None:
    age = H.intervals([[20, 40, 60], [40]])
    table = pl.DataFrame({"age": [1, 20, 21, 99, None]})
    assert P.recode_levels(table, {"age": age}, {"age": 1}).table["age"].to_list() == [
        "<=20", "<=20", "(20,40]", ">60", None]  # fmt: skip
    assert P.recode_levels(table, {"age": [[20, 40, 60], [40]]}, {"age": 2}).table["age"].to_list()[:2] == ["<=40"] * 2
    born = pl.DataFrame({"born": [dt.date(1999, 12, 31), dt.date(2000, 2, 29)]})
    for level, wanted in enumerate((["1999-12", "2000-02"], ["1999-Q4", "2000-Q1"], ["1999", "2000"],
                                    ["1990s", "2000s"], ["*", "*"]), start=1):  # fmt: skip
        made = P.recode_levels(born, {"born": H.dates()}, {"born": level})
        assert made.table["born"].to_list() == wanted


def test_mappings_become_levels() -> None:
    made = H.from_mappings({"a": "ab", "b": "ab", "c": "c"}, {"ab": "abc", "c": "abc"})
    assert made.rows == (("a", "ab", "abc"), ("b", "ab", "abc"), ("c", "c", "abc"))
    assert H.from_mappings({"a": "x", "b": "y"}).rows[0] == ("a", "x", "*")


@pytest.mark.parametrize("codes", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]])
@pytest.mark.parametrize("written", [int, float, str])
def test_a_mapping_finds_values_in_whatever_type_they_are_written(codes: list[Any], written: Any) -> None:
    one = {(str(code) if written is str else written(code)): label for code, label in ((1, "a"), (2, "a"), (3, "b"))}
    made = P.recode_levels(pl.DataFrame({"code": codes}), {"code": [one, {"a": 7, "b": 8}]}, {"code": 1})
    assert made.table["code"].to_list() == ["a", "a", "b"]
    again = P.recode_levels(pl.DataFrame({"code": codes}), {"code": [{1: 10, 2: 10, 3: 20}, {10: "x"}]}, {"code": 2})
    assert again.table["code"].to_list() == ["x", "x", "20"]


def test_a_file_that_does_not_fit_is_named_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "town.csv"
    path.write_text("Wien,east\nGraz,south\n")
    with pytest.raises(gh.InputError, match=r"'town'.*town\.csv.*separator=','"):
        P.recode_levels(pl.DataFrame({"town": ["Graz"]}), {"town": str(path)}, {"town": 1})
    assert H.load(path, separator=",").height == 1
    path.write_text("Wien;east\nGraz\n")
    with pytest.raises(gh.InputError, match=r"town\.csv.*as many everywhere"):
        H.load(path)


def test_no_label_of_an_automatic_hierarchy_is_the_value_of_few() -> None:
    rng = np.random.default_rng(1)
    income = np.round(rng.lognormal(10, 0.7, 1501) * (rng.random(1501) > 0.3), 2)
    for values in (income, rng.integers(0, 9999, 700), np.arange(30) / 7):
        made = automatic(pl.Series("x", values))
        assert len(made.breaks) > 1 and all(not 0 < (values == b).sum() < 5 for level in made.breaks for b in level)
    sizes = np.diff(np.r_[0, np.searchsorted(np.sort(values := rng.normal(size=1600)),
                                             automatic(pl.Series("x", values)).breaks[0]), 1600])  # fmt: skip
    assert len(sizes) == 16 and abs(sizes - 100).max() <= 11


def test_automatic_hierarchies_are_nested() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.lognormal(size=300), rng.integers(0, 5, 300), np.r_[np.zeros(290), np.arange(10)], [1.0, 2, 3]):
        made = automatic(pl.Series("x", values))
        levels = levels_of(made, pl.Series("x", values))
        for low, high in zip(levels.codes, levels.codes[1:], strict=False):
            assert len({(a, b) for a, b in zip(low, high, strict=True)}) == len(set(low.tolist()))
        assert len(levels.labels[-1]) == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: H.from_rows([("a", "x"), ("b",)]), "as many everywhere"),
        (lambda: H.from_rows([("a", "x"), ("a", "x")]), "1 value of the hierarchy stands in more than one line"),
        (lambda: H.from_rows([("a", "x", "1"), ("b", "x", "2")]), "not nested: 1 label of level 1 has several"),
        (lambda: H.intervals([[10, 20], [15]]), "not nested"),
        (lambda: H.intervals([[]]), "at least one break"),
        (lambda: H.dates(["year", "month"]), "from fine to coarse"),
        (lambda: H.dates(["week", "month"]), "week alone"),
        (lambda: H(rows=[("a", "x")], spans=["year"]), "rows, breaks or spans"),
        (lambda: H.load("nowhere.csv"), "not found"),
        (lambda: H.from_mappings(), "one mapping per level"),
        (lambda: H.from_mappings({"a": "x"}, {"y": "z"}), "level 2 names none"),
    ],
)
def test_bad_hierarchies_are_answered(make: Any, said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        make()


@pytest.mark.parametrize(
    ("hierarchies", "levels", "said"),
    [
        ({"x": H.from_rows([("1", "a")])}, {"x": 1}, "2 values that its hierarchy does not name"),
        ({"x": [{7: "a", 8: "a"}]}, {"x": 1}, "column 'x' names none of its 3 values"),
        ({"c": H.intervals([[1]])}, {"c": 1}, "holds none"),
        ({"c": H.dates()}, {"c": 1}, "does not hold dates"),
        ({"x": H.intervals([[1]])}, {"x": 3}, "levels 0 to 2"),
        ({"x": H.intervals([[1]])}, {"c": 1}, "has no hierarchy"),
        ({"x": 7}, {"x": 1}, "a Hierarchy, a file"),
    ],
)
def test_hierarchies_that_do_not_fit_are_answered(hierarchies: Any, levels: Any, said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.recode_levels(pl.DataFrame({"x": [1, 2, 3], "c": ["a", "b", "c"]}), hierarchies, levels)


# -- the search against all nodes --------------------------------------------------------------------------------------


def small(seed: int, n: int = 40) -> tuple[pl.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 12, n),
            "town": rng.choice(["a", "b", "c", "d", "e"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "job": rng.choice(["p", "q", None], n, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["u", "v", "w"], n),
        }
    )
    town = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "e"}
    wider = {"ab": "ab", "cd": "cde", "e": "cde"}
    return table, {"age": [[2, 5, 8], [5]], "town": [town, wider], "job": {"spans": []}}


def labels_at(table: pl.DataFrame, hierarchies: dict[str, Any], node: dict[str, int]) -> np.ndarray:
    """Labels of the keys at a node as text, by the operation that a caller has for it."""
    made = held(P.recode_levels(table, hierarchies, node)).frame
    return made.select(pl.col(list(node)).cast(pl.String).fill_null("?")).to_numpy().astype(str)


def loss_of(table: pl.DataFrame, labels: np.ndarray, node: dict[str, int], heights: dict[str, int], loss: str,
            gone: np.ndarray) -> float:  # fmt: skip
    """Definitions spelt out record by record, apart from the code that is tested."""
    n, keys = len(labels), list(node)
    original = table.select(pl.col(keys).cast(pl.String).fill_null("?")).to_numpy().astype(str)
    _, of, size = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    sizes = size[of.ravel()]
    if loss == "discernibility":
        return float(sizes[~gone].sum() + gone.sum() * n) / n**2
    if loss == "class_size":
        kept = len(np.unique(labels[~gone], axis=0)) + bool(gone.any())
        return 1 / kept
    if loss == "height":
        return sum(node.values()) / sum(heights.values())
    total = 0.0
    for j, key in enumerate(keys):
        leaves = {v for v in original[:, j] if v != "?"}
        cells, whole = np.zeros(n), 0.0
        for i in range(n):
            value, label = original[i, j], labels[i, j]
            same = labels[:, j] == label
            top = len(set(labels[:, j])) == 1 and node[key] == heights[key]
            own = (original[:, j] == value).sum()
            if loss == "precision":
                cells[i] = 1 if gone[i] else node[key] / heights[key]
            elif loss == "granularity":
                covered = len({v for v in original[same, j] if v != "?"})
                lost = 1.0 if top or gone[i] else 0.0 if value == "?" else (covered - 1) / (len(leaves) - 1)
                cells[i] = lost
            else:
                cells[i] = np.log2((n if gone[i] else same.sum()) / own)
                whole += np.log2(n / own)
        total += cells.sum() / (whole if loss == "entropy" else n) / len(keys)
    return total


def nodes(heights: dict[str, int]) -> Iterator[dict[str, int]]:
    for levels in product(*(range(h + 1) for h in heights.values())):
        yield dict(zip(heights, levels, strict=True))


HEIGHTS = {"age": 3, "town": 3, "job": 1}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("diverse", [False, True])
def test_no_node_is_better_than_the_one_found(loss: str, diverse: bool) -> None:
    for seed, limit in ((0, 0.0), (2, 0.3)) if diverse else ((0, 0.0), (1, 0.1), (2, 0.3)):
        table, hierarchies = small(seed, n=30)
        diversity = {"ill": 2} if diverse else None
        made = P.generalise(table, list(HEIGHTS), 4, hierarchies=hierarchies, suppression_limit=limit, loss=loss,
                            diversity=diversity)  # fmt: skip
        best, at = np.inf, None
        for node in nodes(HEIGHTS):
            labels = labels_at(table, hierarchies, node)
            _, of, size = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
            gone = size[of.ravel()] < 4
            if diverse:
                ill = table["ill"].to_numpy()
                gone |= np.array([len(set(ill[of.ravel() == c])) < 2 for c in of.ravel()])
            if gone.sum() <= limit * table.height:
                lost = loss_of(table, labels, node, HEIGHTS, loss, gone)
                if lost < best - 1e-9:
                    best, at = lost, node
        assert made.details["loss"] == pytest.approx(best, abs=1e-9), (seed, at, made.details)
        assert made.details["exact"] and made.details["checked"] <= made.details["nodes"] == 32


def test_lowest_valid_nodes_are_not_enough() -> None:
    """With suppression a higher node can lose less than every valid node below it: the search must go on."""
    found = 0
    for seed in range(12):
        table, hierarchies = small(seed)
        given: dict[str, Any] = {"hierarchies": hierarchies, "suppression_limit": 0.3, "loss": "discernibility"}
        chosen = P.generalise(table, list(HEIGHTS), 3, **given).details["levels"]
        for key, level in chosen.items():
            if level:
                labels = labels_at(table, hierarchies, {**chosen, key: level - 1})
                _, of, size = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
                found += int((size[of.ravel()] < 3).sum() <= 0.3 * table.height)
    assert found > 0


def test_a_large_lattice_is_searched_within_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    table, hierarchies = small(5, n=200)
    best = P.generalise(table, list(HEIGHTS), 4, hierarchies=hierarchies)
    monkeypatch.setattr(generalising, "LARGEST", 1)
    all_ = P.generalise(table, list(HEIGHTS), 4, hierarchies=hierarchies)
    assert all_.details["loss"] == pytest.approx(best.details["loss"]) and all_.details["exact"]
    few = P.generalise(table, list(HEIGHTS), 4, hierarchies=hierarchies, steps=3)
    assert not few.details["exact"] and few.details["loss"] >= best.details["loss"] - 1e-12
    assert few.details["checked"] < all_.details["checked"] and any("may be better" in one for one in few.notes)


# -- the release -------------------------------------------------------------------------------------------------------


def test_everybody_is_one_of_k_and_order_does_not_matter() -> None:
    table, hierarchies = small(7, n=300)
    keys = list(HEIGHTS)
    made = P.generalise(table, keys, 5, hierarchies=hierarchies, suppressed="remove")
    assert held(made).frame.group_by(keys).len()["len"].min() >= 5
    assert made.records >= table.height - held(made).n
    order = np.random.default_rng(1).permutation(300)
    whole = P.generalise(table, keys, 5, hierarchies=hierarchies)
    turned = P.generalise(table[order], keys[::-1], 5, hierarchies=hierarchies)
    assert turned.table.equals(whole.table[order])
    assert gh.disclosure.k_anonymity(whole, keys=keys, missing="level").value >= min(
        5, whole.details["suppressed"] or 5
    )


def test_importance_moves_the_loss_elsewhere() -> None:
    table, hierarchies = small(9, n=150)
    plain = P.generalise(table, list(HEIGHTS), 5, hierarchies=hierarchies, suppression_limit=0)
    dear = P.generalise(table, list(HEIGHTS), 5, hierarchies=hierarchies, suppression_limit=0, importance={"age": 20})
    assert dear.details["levels"]["age"] <= plain.details["levels"]["age"]


def test_what_was_done_can_be_done_again_from_a_recipe() -> None:
    table, hierarchies = small(11, n=100)
    given = {"age": H.intervals(hierarchies["age"]), "town": H.from_mappings(*hierarchies["town"])}
    made = P.generalise(table, ["age", "town"], 5, hierarchies=given)
    recipe = P.Recipe.from_toml(P.Recipe([P.Step(made.operation, made.settings)]).to_toml())
    assert P.apply(table, recipe).table.equals(made.table)


def test_adult_with_five_keys(shared: Path) -> None:
    path = shared / "data" / "adult" / "adult_train.csv.gz"
    if not path.is_file():
        pytest.skip("the Adult data are not in the folder `shared`")
    keys = ["age", "marital_status", "race", "sex", "occupation"]
    made = P.generalise(str(path), keys, 5)
    assert made.details["exact"] and made.details["suppressed"] <= 0.02 * held(made).n
    sizes = held(made).frame.group_by(keys).len()["len"]
    assert sizes.min() >= 5 or made.details["suppressed"] < 5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"k": 1}, "k must lie between 2"),
        ({"k": 50}, "k must lie between 2"),
        ({"suppression_limit": 2}, "between 0 and 1"),
        ({"hierarchies": {"ill": [[1]]}}, "no key"),
        ({"importance": {"age": 0}}, "above 0"),
        ({"diversity": {"age": 2}}, "is a key"),
        ({"diversity": {"ill": 9}}, "has 3 different values"),
        ({"loss": "cells"}, "'granularity' or"),
        ({"steps": 0}, "1 or more"),
        ({"hierarchies": {"town": [{c: c + c for c in "abcde"}], "age": H.from_rows([(str(i), str(i)) for i in
          range(12)])}, "k": 20, "suppression_limit": 0}, "no generalisation gives k"),
    ],
)  # fmt: skip
def test_wrong_input_is_answered(wrong: dict[str, Any], said: str) -> None:
    table, _ = small(0)
    with pytest.raises(gh.InputError, match=said):
        P.generalise(table, **{"keys": ["age", "town"], "k": 3, **wrong})


def test_dates_written_as_text_have_the_spans_of_dates() -> None:
    days = [dt.date(1980 + i // 10, 1 + i % 12, 1 + i % 28) for i in range(40)]
    table = pl.DataFrame({"born": days})
    made = gh.protection.generalise(table, ["born"], k=5)
    text = gh.protection.generalise(table.with_columns(pl.col("born").dt.strftime("%Y-%m-%d")), ["born"], k=5)
    assert text.table.equals(made.table) and 1 < made.table["born"].n_unique() < 40


def test_means_stay_numbers_and_dates_with_the_same_classes() -> None:
    """By hand: two classes of three ages, whose means are 22 and 42; the days of two years."""
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 4), *[dt.date(2021, 6, d) for d in (1, 2, 4)]]
    table = pl.DataFrame({"age": [21, 22, 23, 41, 42, 43], "born": days, "sex": list("ffmmmm")})
    given: dict[str, Any] = {"hierarchies": {"age": [[25, 35], [35]], "born": H.dates()}, "suppression_limit": 0}
    labels, means = (P.generalise(table, ["age", "born", "sex"], 3, into=i, **given) for i in ("labels", "means"))
    assert means.table["age"].to_list() == [22, 22, 22, 42, 42, 42]
    assert means.table["born"].to_list() == [dt.date(2020, 1, 2)] * 3 + [dt.date(2021, 6, 2)] * 3
    assert means.table["sex"].to_list() == labels.table["sex"].to_list() == ["*"] * 6
    assert means.details == labels.details
    text = table.with_columns(pl.col("born").dt.strftime("%Y-%m-%d"))
    assert P.generalise(text, ["age", "born", "sex"], 3, into="means", **given).table["born"][0] == "2020-01-02"


def test_means_hold_what_labels_hold_where_values_are_missing() -> None:
    rng = np.random.default_rng(0)
    ages = [None if i % 7 == 0 else int(a) for i, a in enumerate(rng.integers(18, 90, 300))]
    none = pl.Series([None] * 300, dtype=pl.Float64)
    table = pl.DataFrame({"age": ages, "sex": rng.choice(["f", "m"], 300), "none": none})
    for keys in (["age", "sex"], ["age", "sex", "none"]):
        labels, means = (P.generalise(table, keys, 8, into=i, suppression_limit=0) for i in ("labels", "means"))
        assert len(set(zip(labels.table["age"], means.table["age"], strict=True))) == labels.table["age"].n_unique()
        assert means.table.group_by(keys).len()["len"].min() >= 8 and means.table["age"].dtype == pl.Float64
