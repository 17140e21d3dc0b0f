"""The CART synthesiser: rules of the method on small data, round trips, and any frame library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.synthesis import Cart, load


def _people(n: int = 600, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 80, n)
    sex = rng.choice(["f", "m"], n)
    marital = np.where(age < 20, "single", rng.choice(["single", "married", "widowed"], n))
    income = np.where(rng.random(n) < 0.1, -8, np.round(age * 20 + rng.normal(0, 50, n)))
    return pl.DataFrame(
        {
            "sex": sex,
            "age": age,
            "marital": [None if rng.random() < 0.05 else str(m) for m in marital],
            "income": [None if rng.random() < 0.1 else float(v) for v in income],
            "smoker": rng.random(n) < 0.3,
        }
    )


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return _people()


def test_same_columns_types_and_values(people: pl.DataFrame) -> None:
    made = Cart(special_codes={"income": [-8]}).fit(people).sample(random_state=1)
    assert made.schema == people.schema and made.height == people.height
    for column in people.columns:
        assert set(made[column].drop_nulls()) <= set(people[column].drop_nulls())
    assert 0.05 < made["income"].is_null().mean() < 0.16
    assert 0.05 < (made["income"] == -8).mean() < 0.16
    assert made.filter(pl.col("income") > 0).select(pl.corr("age", "income")).item() > 0.9


def test_same_seed_same_table(people: pl.DataFrame) -> None:
    model = Cart().fit(people)
    assert model.sample(random_state=3).equals(model.sample(random_state=3))
    assert not model.sample(random_state=3).equals(model.sample(random_state=4))
    assert Cart(n_jobs=1).fit(people).sample(random_state=3).equals(model.sample(random_state=3))
    one, two = model.replicates(2, random_state=3)
    assert not one.equals(two)
    assert model.sample(17, random_state=0).height == 17


def test_first_column_is_drawn_and_a_copy_is_looked_up() -> None:
    base = _people(300)
    frame = base.select("age", (pl.col("age") * 12).alias("months"), "sex")
    made = Cart().fit(frame).sample(random_state=0)
    assert (made["months"] == made["age"] * 12).all()
    assert abs(made["age"].mean() - frame["age"].mean()) < 4


def test_a_number_is_predicted_only_where_it_is_a_number() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": rng.integers(0, 2, 400), "y": np.where(rng.random(400) < 0.5, -8.0, 100.0 + rng.normal(0, 1, 400))}
    )
    made = Cart(special_codes={"y": [-8]}).fit(frame).sample(random_state=0)
    ordinary = made.filter(pl.col("y") != -8)["y"]
    assert ordinary.min() > 90
    assert 0.4 < (made["y"] == -8).mean() < 0.6


def test_misclassification_pruning_leaves_a_single_leaf() -> None:
    # 6 % and 40 % minority with the same majority class: the split saves no error, so y does not depend on x
    x = np.repeat([0, 1], 1000)
    y = np.where(np.arange(2000) % 100 < np.where(x == 0, 6, 40), "b", "a")
    frame = pl.DataFrame({"x": x, "y": y})
    made = Cart().fit(frame).sample(20_000, random_state=0)
    shares = made.group_by("x").agg((pl.col("y") == "b").mean()).sort("x")["y"]
    assert abs(shares[0] - 0.23) < 0.02 and abs(shares[1] - 0.23) < 0.02


def test_many_levels_before_a_class_target_are_grouped_by_an_ordering() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(0, 40, 2000)
    frame = pl.DataFrame({"place": [f"p{v:02d}" for v in place], "kind": np.array(["a", "b", "c"])[place % 3]})
    model = Cart().fit(frame)
    assert "principal component" in model.notes[0]
    made = model.sample(random_state=0)
    expected = made["place"].str.slice(1).cast(pl.Int64) % 3
    assert (pl.Series(["a", "b", "c"]).gather(expected) == made["kind"]).mean() > 0.99


def test_order_predictors_and_method(people: pl.DataFrame) -> None:
    made = Cart(visit_sequence=["age", "income"]).fit(people).sample(random_state=0)
    assert made.columns == ["age", "income"]
    free = Cart(predictors={"income": ["sex"]}).fit(people).sample(random_state=0)
    assert abs(free.filter(pl.col("income") > 0).select(pl.corr("age", "income")).item()) < 0.3
    drawn = Cart(method={"income": "sample"}).fit(people).sample(random_state=0)
    assert abs(drawn.filter(pl.col("income") > 0).select(pl.corr("age", "income")).item()) < 0.3


def test_rules(people: pl.DataFrame) -> None:
    model = Cart(rules={"marital": [("age < 20", "single")]}).fit(people)
    made = model.sample(3000, random_state=0)
    young = made.filter(pl.col("age") < 20)
    assert young.height > 0 and (young["marital"] == "single").all()
    forced = (
        Cart(rules={"income": [("age < 30", -8)]}, special_codes={"income": [-8]}).fit(people).sample(random_state=0)
    )
    assert (forced.filter(pl.col("age") < 30)["income"] == -8).all()
    with pytest.raises(InputError, match="rule"):
        Cart(rules={"marital": [("income < 20", "single")]}).fit(people).sample(random_state=0)
    with pytest.raises(InputError, match="never takes"):
        Cart(rules={"marital": [("age < 20", "divorced")]}).fit(people).sample(random_state=0)


def test_proper_synthesis_grows_new_trees(people: pl.DataFrame) -> None:
    model = Cart(proper=True).fit(people)
    assert model.sample(random_state=1).equals(model.sample(random_state=1))
    assert not model.sample(random_state=1).equals(model.sample(random_state=2))


@pytest.mark.parametrize("how", ["density", "rmean", "spline"])
def test_smoothing_moves_numbers_off_the_originals(how: str) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 800), "x": np.round(rng.gamma(2, 100, 800), 2)})
    made = Cart(smoothing={"x": how}).fit(frame).sample(random_state=0)
    copied = made["x"].is_in(frame["x"].to_list()).mean()
    assert copied < 0.7
    assert abs(made["x"].mean() - frame["x"].mean()) < 25
    assert made["x"].min() >= frame["x"].min() - 1
    assert (made["x"] - made["x"].round(2)).abs().max() < 1e-9


@pytest.mark.parametrize(
    "options", [{}, {"proper": True}, {"smoothing": "density"}, {"rules": {"marital": [("age < 20", "single")]}}]
)
def test_save_and_load(people: pl.DataFrame, tmp_path: Path, options: dict) -> None:
    model = Cart(special_codes={"income": [-8]}, **options).fit(people)
    path = model.save(tmp_path / "model.zip")
    again = Cart.load(path)
    assert again.sample(random_state=5).equals(model.sample(random_state=5))
    assert isinstance(load(path), Cart)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"nothing")
    with pytest.raises(InputError, match="no glasshouse synthesiser"):
        load(tmp_path / "x.zip")
    with pytest.raises(InputError, match="not found"):
        load(tmp_path / "y.zip")
    with pytest.raises(InputError, match="not fitted"):
        Cart().save(tmp_path / "z.zip")


def test_pandas_in_pandas_out(people: pl.DataFrame) -> None:
    frame = people.to_pandas()
    frame["marital"] = pd.Categorical(frame["marital"], categories=["married", "single", "widowed", "divorced"])
    frame["sex"] = pd.Categorical(frame["sex"], categories=["m", "f"], ordered=True)
    made = Cart().fit(frame).sample(random_state=0)
    assert isinstance(made, pd.DataFrame)
    assert list(made.dtypes) == list(frame.dtypes)
    lazy = Cart().fit(people.lazy()).sample(random_state=0)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(Cart().fit(people).sample(random_state=0))
    arrow = Cart().fit(people.to_arrow()).sample(random_state=0)
    assert arrow.num_rows == people.height


def test_dates_enums_and_identifiers() -> None:
    rng = np.random.default_rng(0)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2021, 12, 31), eager=True).to_numpy()
    frame = pl.DataFrame(
        {
            "person_id": np.arange(200),
            "day": pl.Series(rng.choice(days, 200)).cast(pl.Date),
            "edu": pl.Series(rng.choice(["low", "high"], 200), dtype=pl.Enum(["low", "high"])),
        }
    )
    with pytest.warns(UserWarning, match="identifiers: 'person_id'"):
        model = Cart().fit(frame)
    made = model.sample(random_state=0)
    assert made.schema == frame.drop("person_id").schema
    assert set(made["day"]) <= set(frame["day"])


def test_tiny_and_constant_tables() -> None:
    one = pl.DataFrame({"a": [1], "b": ["x"], "c": [None]}, schema={"a": pl.Int64, "b": pl.String, "c": pl.Float64})
    made = Cart().fit(one).sample(3, random_state=0)
    assert made["a"].to_list() == [1, 1, 1] and made["c"].null_count() == 3
    flat = pl.DataFrame({"a": [1] * 50, "b": list(range(25)) * 2})
    assert Cart().fit(flat).sample(random_state=0)["a"].n_unique() == 1


def test_bad_input(people: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="not fitted"):
        Cart().sample()
    with pytest.raises(InputError, match="did you mean 'income'"):
        Cart(visit_sequence=["incom"]).fit(people)
    with pytest.raises(InputError, match="choose 'cart' or 'sample'"):
        Cart(method={"income": "ctree"}).fit(people)
    with pytest.raises(InputError, match="not numeric"):
        Cart(special_codes={"sex": [1]}).fit(people)
    with pytest.raises(InputError, match="smoothing"):
        Cart(smoothing="kernel").fit(people)
    with pytest.raises(InputError, match="n must be"):
        Cart().fit(people).sample(0)


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_dates_that_came_as_text_are_given_back_as_they_came(library: str) -> None:
    table = pl.DataFrame({"when": [f"2020-0{1 + i % 9}-1{i % 7}" for i in range(80)], "x": list(range(80))})
    made = Cart().fit(table.to_pandas() if library == "pandas" else table).sample(random_state=0)
    assert set(made["when"]) <= set(table["when"])
