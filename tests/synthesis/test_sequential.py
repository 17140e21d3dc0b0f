"""Synthesis by column: what each method keeps and what it does not, seeds and frame libraries, and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.synthesis import Cart, Sequential, adapt, load
from tests.synthesis.test_cart import _people

RANKS = ["low", "middle", "high"]
TOLD = {"special_codes": {"income": [-8]}, "schema": {"edu": RANKS}}
METHODS = {
    "sex": "sample",
    "age": "ctree",
    "region": "polyreg",
    "district": "nested.region",
    "edu": "polr",
    "smoker": "logreg",
    "weight": "norm",
    "height": "cart",
    "bmi": "~ weight / (height * height)",
    "income": "normrank",
}


def _survey(n: int = 1500, seed: int = 0) -> pl.DataFrame:
    """A table with a column for every method; its true relations are written here."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    edu = np.searchsorted([0.0, 2.0], 0.05 * (age - 48) + rng.logistic(size=n) + 1)
    weight = np.round(50 + 0.4 * age + rng.normal(0, 5, n), 1)
    height = np.round(rng.normal(1.7, 0.1, n), 2)
    income = np.round(np.exp(6 + 0.6 * edu + 0.01 * age + rng.normal(0, 0.4, n)))
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "region": region,
            "district": [f"{r}{d}" for r, d in zip(region, rng.integers(1, 6, n), strict=True)],
            "edu": pl.Series([RANKS[e] for e in edu], dtype=pl.Enum(RANKS)),
            "smoker": rng.random(n) < 1 / (1 + np.exp(0.08 * (age - 45))),
            "weight": weight,
            "height": height,
            "bmi": weight / (height * height),
            "income": [
                None if gone else (-8.0 if code else v)
                for v, gone, code in zip(income, rng.random(n) < 0.1, rng.random(n) < 0.1, strict=True)
            ],
        }
    )


@pytest.fixture(scope="module")
def survey() -> pl.DataFrame:
    return _survey()


@pytest.fixture(scope="module")
def model(survey: pl.DataFrame) -> Sequential:
    return Sequential(METHODS, **TOLD).fit(survey)


# -- all methods together ----------------------------------------------------------------------------------------------


def test_a_synthpop_user_writes_one_method_per_column(survey: pl.DataFrame, model: Sequential) -> None:
    made = model.sample(random_state=1)
    assert made.schema == survey.schema and made.height == survey.height
    assert (made["district"].str.head(4) == made["region"].cast(pl.String).str.head(4)).all()
    assert (made["bmi"] - made["weight"] / made["height"] ** 2).abs().max() < 1e-9
    assert abs(made["income"].is_null().mean() - 0.1) < 0.03 and abs((made["income"] == -8).mean() - 0.09) < 0.03


def test_same_seed_same_table_whatever_the_threads(survey: pl.DataFrame, model: Sequential) -> None:
    assert model.sample(random_state=3).equals(model.sample(random_state=3))
    assert not model.sample(random_state=3).equals(model.sample(random_state=4))
    alone = Sequential(METHODS, **TOLD, n_jobs=1).fit(survey)
    assert alone.sample(random_state=3).equals(model.sample(random_state=3))
    assert model.sample(17).height == 17


@pytest.mark.parametrize("options", [{}, {"proper": True}, {"smoothing": "density"}])
def test_save_and_load(survey: pl.DataFrame, tmp_path: Path, options: dict) -> None:
    model = Sequential(METHODS, **TOLD, **options).fit(survey)
    again = load(model.save(tmp_path / "model.zip"))
    assert isinstance(again, Sequential) and not isinstance(again, Cart)
    assert (
        pl.DataFrame(again.sample(random_state=5))
        .select(pl.all().exclude("edu"))
        .equals(model.sample(random_state=5).select(pl.all().exclude("edu")))
    )
    assert again.sample(random_state=5)["edu"].to_list() == model.sample(random_state=5)["edu"].to_list()


def test_saved_blocks(survey: pl.DataFrame, tmp_path: Path) -> None:
    for method in ("catall", "ipf"):
        model = Sequential(
            dict.fromkeys(("sex", "region", "smoker"), method), visit_sequence=["sex", "region", "smoker"]
        )
        model.fit(survey).save(tmp_path / "model.zip")
        assert Sequential.load(tmp_path / "model.zip").sample(random_state=2).equals(model.sample(random_state=2))


def test_any_frame_library_in_and_out(survey: pl.DataFrame, model: Sequential) -> None:
    wanted = model.sample(random_state=0)
    frame = survey.to_pandas()
    made = Sequential(METHODS, **TOLD).fit(frame).sample(random_state=0)
    assert isinstance(made, pd.DataFrame) and list(made.dtypes) == list(frame.dtypes)
    assert np.allclose(made["income"], wanted["income"].to_numpy(), equal_nan=True)
    lazy = Sequential(METHODS, **TOLD).fit(survey.lazy()).sample(random_state=0)
    assert isinstance(lazy, pl.LazyFrame) and lazy.collect().equals(wanted)
    arrow = Sequential(METHODS, **TOLD).fit(survey.to_arrow()).sample(random_state=0)
    assert arrow.num_rows == survey.height and arrow.column_names == survey.columns
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra: duckdb)")
    relation = Sequential(METHODS, **TOLD).fit(duckdb.from_arrow(survey.to_arrow())).sample(random_state=0)
    assert relation.pl()["weight"].to_list() == wanted["weight"].to_list()


def test_methods_by_name_where_a_synthesiser_is_asked_for(survey: pl.DataFrame) -> None:
    table = survey.select("sex", "age", "income")
    for name in ("ctree", "parametric"):
        assert adapt(name).fit(table).sample(random_state=2).equals(Sequential(name).fit(table).sample(random_state=2))


def test_cart_for_every_column_is_cart() -> None:
    people = _people(300)
    assert Sequential().fit(people).sample().equals(Cart().fit(people).sample())
    assert Sequential("cart", minbucket=20).fit(people).sample().equals(Cart(minbucket=20).fit(people).sample())


def test_proper_learns_anew_for_each_release(survey: pl.DataFrame) -> None:
    """The slope of a regression varies more between releases when it is learnt anew for each of them."""
    small = survey.select("age", "weight").head(100)

    def slopes(proper: bool) -> float:
        made = Sequential({"weight": "norm"}, proper=proper).fit(small).replicates(40, 4000)
        return float(np.std([np.polyfit(m["age"], m["weight"], 1)[0] for m in made]))

    assert slopes(True) > 2 * slopes(False)


# -- one method after the other ----------------------------------------------------------------------------------------


def test_sample_ignores_the_other_columns(survey: pl.DataFrame) -> None:
    made = Sequential({"weight": "sample"}).fit(survey.select("age", "weight")).sample(random_state=0)
    assert survey.select(pl.corr("age", "weight")).item() > 0.7
    assert abs(made.select(pl.corr("age", "weight")).item()) < 0.1
    assert set(made["weight"]) <= set(survey["weight"])


def test_norm_is_the_regression_and_makes_new_values(survey: pl.DataFrame) -> None:
    made = Sequential({"weight": "norm"}).fit(survey.select("sex", "age", "weight")).sample(30_000, random_state=0)
    slope, intercept = np.polyfit(survey["age"], survey["weight"], 1)
    found = np.polyfit(made["age"], made["weight"], 1)
    assert abs(found[0] - slope) < 0.01 and abs(found[1] - intercept) < 0.6
    spread = np.std(made["weight"].to_numpy() - np.polyval(found, made["age"].to_numpy()))
    assert abs(spread - 5) < 0.3
    assert not set(made["weight"]) <= set(survey["weight"])
    assert (made["weight"] - made["weight"].round(1)).abs().max() < 1e-9, "rounded to the decimals of the data"


def test_norm_without_predictors_is_one_normal_distribution(survey: pl.DataFrame) -> None:
    made = Sequential({"weight": "norm"}).fit(survey.select("weight")).sample(30_000, random_state=0)["weight"]
    assert abs(made.mean() - survey["weight"].mean()) < 0.3 and abs(made.std() - survey["weight"].std()) < 0.3
    assert not set(made) <= set(survey["weight"])


def test_later_columns_read_the_new_numbers(survey: pl.DataFrame) -> None:
    for method in ("cart", "norm", "normrank"):
        made = Sequential({"weight": "norm", "income": method}, visit_sequence=["age", "weight", "bmi", "income"])
        told = survey.with_columns(bmi=pl.col("weight") * 2 + 1, income=pl.col("weight") * 10.0)
        released = made.fit(told).sample(random_state=0)
        assert released.select(pl.corr("weight", "income")).item() > 0.99, method


def test_normrank_keeps_the_distribution_and_the_rank_correlation(survey: pl.DataFrame) -> None:
    table = survey.filter(pl.col("income") > 0).select("edu", "age", "income")
    made = Sequential({"income": "normrank"}).fit(table).sample(30_000, random_state=0)
    assert set(made["income"]) <= set(table["income"])
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    for share in shares:
        assert abs(made["income"].quantile(share) / table["income"].quantile(share) - 1) < 0.06, share
    real, synthetic = (
        t.select(pl.corr("edu_code", "income", method="spearman")).item() for t in map(_coded, (table, made))
    )
    assert abs(real - synthetic) < 0.04


def _coded(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("edu").to_physical().alias("edu_code"))


def test_logreg_gives_the_fitted_probabilities(survey: pl.DataFrame) -> None:
    made = Sequential({"smoker": "logreg"}).fit(survey.select("age", "smoker")).sample(60_000, random_state=0)
    for age in (25, 45, 65):
        share = made.filter((pl.col("age") - age).abs() <= 2)["smoker"].mean()
        assert abs(share - 1 / (1 + np.exp(0.08 * (age - 45)))) < 0.05, age


def test_polyreg_keeps_what_the_predictors_say_about_several_categories() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 3000)
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    y = (rng.random(3000)[:, None] > np.cumsum(shares, axis=1)[x][:, :2]).sum(axis=1)
    table = pl.DataFrame({"x": np.array(["a", "b"])[x], "y": np.array(["u", "v", "w"])[y]})
    made = Sequential({"y": "polyreg"}).fit(table).sample(30_000, random_state=0)
    for frame in (table, made):
        got = (
            frame.group_by("x", "y")
            .len()
            .with_columns(share=pl.col("len") / pl.col("len").sum().over("x"))
            .sort("x", "y")
        )
        assert np.abs(got["share"].to_numpy() - shares.ravel()).max() < 0.03


def test_polr_is_proportional_odds_also_with_missing_ranks(survey: pl.DataFrame) -> None:
    rng = np.random.default_rng(1)
    table = survey.select("age", "edu").with_columns(
        edu=pl.when(pl.Series(rng.random(survey.height) < np.where(survey["age"] > 50, 0.3, 0.02)))
        .then(None)
        .otherwise("edu")
    )
    made = Sequential({"edu": "polr"}, schema={"edu": RANKS}).fit(table).sample(60_000, random_state=0)
    for low, high in ((18, 35), (60, 80)):
        window = pl.col("age").is_between(low, high)
        real, synthetic = (t.filter(window) for t in (survey, made))
        for rank in RANKS:
            assert abs((real["edu"] == rank).mean() - (synthetic["edu"].drop_nulls() == rank).mean()) < 0.05, (
                low,
                rank,
            )
    assert made.filter(pl.col("age") > 60)["edu"].is_null().mean() > 0.2
    assert made.filter(pl.col("age") < 40)["edu"].is_null().mean() < 0.1


def test_ctree_splits_where_there_is_something_and_nowhere_else() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"noise": rng.integers(0, 1000, 2000), "x": rng.integers(0, 10, 2000)})
    frame = frame.with_columns(y=pl.Series(np.where(frame["x"] < 4, 10.0, 0.0) + rng.normal(0, 1, 2000)))
    made = Sequential("ctree").fit(frame)
    step = made._steps["y"]
    # one split suffices; the tree that prunes nothing by tests has hundreds of leaves
    assert 2 <= step.tree.n_leaves <= 4
    assert made._steps["x"].tree is None or made._steps["x"].tree.n_leaves <= 2
    assert Cart().fit(frame)._steps["y"].tree.n_leaves > 100
    released = made.sample(random_state=0)
    assert abs(released.filter(pl.col("x") < 4)["y"].mean() - 10) < 0.3
    assert abs(released.filter(pl.col("x") >= 4)["y"].mean()) < 0.3


def test_nested_draws_the_detail_within_the_coarse_category(survey: pl.DataFrame) -> None:
    both = survey.select("region", "district")
    by_name = Sequential({"district": "nested.region"}).fit(both)
    by_predictor = Sequential({"district": "nested"}, predictors={"district": ["region"]}).fit(both)
    assert by_name.sample(random_state=1).equals(by_predictor.sample(random_state=1))
    made = by_name.sample(30_000, random_state=1)
    assert set(made.rows()) <= set(both.rows())
    real, synthetic = (t["district"].value_counts(normalize=True).sort("district")["proportion"] for t in (both, made))
    assert (real - synthetic).abs().max() < 0.03
    assert by_name.notes == []
    loose = Sequential({"edu": "nested.region"}).fit(survey.select("region", "edu"))
    assert "3 of its values occur in more than one category of 'region'" in loose.notes[0]


def _parity(n: int = 4000) -> pl.DataFrame:
    """Three coins, the third decided by the other two: every pair is independent, the three are not."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, n))
    return pl.DataFrame({"a": a, "b": b, "c": a ^ b, "later": (a ^ b) * 10 + rng.integers(0, 3, n)}).with_columns(
        pl.col("a", "b", "c").cast(pl.String)
    )


def test_catall_keeps_the_whole_cross_table_and_ipf_its_margins() -> None:
    table = _parity()
    block = dict.fromkeys("abc", "catall")
    whole = Sequential(block, prior=0).fit(table).sample(random_state=0)
    assert set(whole.select("a", "b", "c").rows()) == set(table.select("a", "b", "c").rows())
    pairs = Sequential(dict.fromkeys("abc", "ipf")).fit(table).sample(20_000, random_state=0)
    counts = pairs.group_by("a", "b", "c").len()["len"]
    assert len(counts) == 8 and counts.min() > 2200, "two-way margins know nothing of three-way parity"
    kept = Sequential(dict.fromkeys("abc", "ipf"), margins=[("a", "b", "c")], prior=0).fit(table).sample(random_state=0)
    assert set(kept.select("a", "b", "c").rows()) == set(table.select("a", "b", "c").rows())
    for made in (whole, pairs):  # a column after the block is predicted by it
        assert (made["later"] // 10 == made["c"].cast(pl.Int64)).all()


def test_ipf_keeps_the_pairs_it_is_told_to() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 5000)
    b, c = np.where(rng.random(5000) < 0.8, a, rng.integers(0, 3, 5000)), np.where(rng.random(5000) < 0.6, a, 0)
    table = pl.DataFrame({"a": a, "b": b, "c": c}).select(pl.all().cast(pl.String))

    def agreement(margins: object, one: str, other: str) -> float:
        made = Sequential("ipf", margins=margins).fit(table).sample(30_000, random_state=0)
        return (made[one] == made[other]).mean()

    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        assert abs(agreement("twoway", one, other) - (table[one] == table[other]).mean()) < 0.02
    assert abs(agreement([("a", "b")], "a", "b") - (table["a"] == table["b"]).mean()) < 0.02
    independent = sum((table["a"] == v).mean() * (table["c"] == v).mean() for v in "012")
    assert abs(agreement([("a", "b")], "a", "c") - independent) < 0.02


def test_the_prior_of_a_block_is_spread_over_all_cells() -> None:
    table = _parity().select("a", "b", "c")
    for method in ("catall", "ipf"):
        made = Sequential(method, prior=4000, margins=[("a", "b", "c")]).fit(table).sample(40_000, random_state=0)
        odd = (made["c"].cast(pl.Int64) != (made["a"] != made["b"]).cast(pl.Int64)).mean()
        assert abs(odd - 0.25) < 0.01, method  # half the weight is the prior's, and half of that falls on empty cells


def test_parametric_chooses_by_the_kind_of_column(survey: pl.DataFrame) -> None:
    model = Sequential("parametric", schema={"edu": RANKS}).fit(survey.select("sex", "age", "region", "edu", "income"))
    assert list(model._methods.values()) == ["logreg", "normrank", "polyreg", "polr", "normrank"]
    assert abs(model.sample(random_state=0)["income"].is_null().mean() - 0.1) < 0.03


# -- the machinery shared with Cart ------------------------------------------------------------------------------------


def test_computed_columns_serve_later_ones_and_are_checked(survey: pl.DataFrame) -> None:
    told = survey.select("sex", "age", "weight").with_columns(
        group=pl.when(pl.col("age") < 40).then(pl.lit("young")).otherwise(pl.lit("old")), tens=pl.col("age") // 10
    )
    told = told.with_columns(y=pl.col("tens") * 100.0 + (pl.col("group") == "old") * 7)
    formulas = {"group": "~ CASE WHEN age < 40 THEN 'young' ELSE 'old' END", "tens": "~ FLOOR(age / 10)"}
    for synthesiser in (Cart(method=formulas), Sequential({**formulas, "y": "norm", "weight": "norm"})):
        made = synthesiser.fit(told).sample(random_state=0)
        assert made.schema == told.schema
        assert ((made["age"] < 40) == (made["group"] == "young")).all() and (made["tens"] == made["age"] // 10).all()
        assert abs(made.select(pl.corr("tens", "y")).item()) > 0.99
        assert not synthesiser.notes
    wrong = Sequential({"tens": "~ age / 5"}).fit(told)
    assert wrong.notes == ["'tens' is computed, but 1,500 of 1,500 original records hold another value"]
    with pytest.raises(InputError, match="'tens' cannot be computed; use SQL on earlier columns"):
        Sequential({"tens": "~ y / 5"}).fit(told)
    with pytest.raises(InputError, match="'group' gives a value that the column never takes"):
        Sequential({"group": "~ CASE WHEN age < 30 THEN 'child' ELSE 'old' END"}).fit(told).sample()
    with pytest.raises(InputError, match="'tens' is computed, so no rule can force it"):
        Sequential({"tens": "~ age / 10"}, rules={"tens": [("age < 20", 1)]}).fit(told)


def test_computed_columns_can_be_missing() -> None:
    people = _people(400)
    told = people.with_columns(
        double=pl.col("income") * 2, status=pl.when(pl.col("age") > 40).then("marital"), quiet=~pl.col("smoker")
    )
    formulas = {
        "double": "~ income * 2",
        "status": "~ CASE WHEN age > 40 THEN marital ELSE NULL END",
        "quiet": "~ NOT smoker",
    }
    made = Cart(method=formulas).fit(told).sample(random_state=0)
    assert made.schema == told.schema
    assert made["double"].eq_missing(made["income"] * 2).all() and made["double"].null_count() > 0
    assert made.filter(pl.col("age") <= 40)["status"].is_null().all()
    assert (made["quiet"] != made["smoker"]).all()
    with pytest.raises(InputError, match="'quiet' gives missing values, but the original has none there"):
        Cart(method={"quiet": "~ CASE WHEN smoker THEN FALSE END"}).fit(told).sample()


def test_a_nested_number_is_missing_where_it_is_missing_in_its_category() -> None:
    people = _people(500).with_columns(income=pl.when(pl.col("sex") == "f").then("income"))
    made = Sequential({"income": "nested.sex"}).fit(people).sample(random_state=0)
    assert made.filter(pl.col("sex") == "m")["income"].is_null().all()
    assert made.filter(pl.col("sex") == "f")["income"].is_null().mean() < 0.2


def test_rules_hold_for_every_method(survey: pl.DataFrame) -> None:
    rules = {"edu": [("age < 25", "low")], "weight": [("smoker", 60.5)], "income": [("age < 25", -8), ("smoker", None)]}
    table = survey.with_columns(weight=pl.when(pl.col("age") == 18).then(60.5).otherwise("weight"))
    made = Sequential(METHODS | {"weight": "norm"}, rules=rules, **TOLD).fit(table).sample(4000)
    young, smokers = made.filter(pl.col("age") < 25), made.filter(pl.col("smoker"))
    assert (young["edu"] == "low").all() and (young["income"] == -8).all()
    assert (smokers["weight"] == 60.5).all() and smokers.filter(pl.col("age") >= 25)["income"].is_null().all()
    block = Sequential("catall", rules={"c": [("a = '0'", "0")]}).fit(_parity().select("a", "b", "c")).sample(2000)
    assert (block.filter(pl.col("a") == "0")["c"] == "0").all()


def test_smoothing_moves_real_numbers_and_leaves_new_ones(survey: pl.DataFrame) -> None:
    table = survey.select("age", "weight", "income").filter(pl.col("income") > 0)
    plain = Sequential({"weight": "norm", "income": "normrank"}).fit(table).sample(random_state=0)
    smooth = Sequential({"weight": "norm", "income": "normrank"}, smoothing="density").fit(table).sample(random_state=0)
    assert plain["weight"].equals(smooth["weight"])
    assert plain["income"].is_in(table["income"].implode()).all()
    assert smooth["income"].is_in(table["income"].implode()).mean() < 0.7


def test_dates_by_regression_stay_dates() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, 500)
    day = pl.Series(np.datetime64("2020-01-01") + x * 3 + rng.integers(0, 20, 500)).cast(pl.Date)
    table = pl.DataFrame({"x": x, "day": day})
    for method in ("norm", "normrank", "ctree"):
        made = Sequential({"day": method}).fit(table).sample(random_state=0)
        assert made.schema == table.schema
        assert made.select(pl.corr("x", pl.col("day").to_physical())).item() > 0.9, method


def test_tiny_and_constant_tables() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": ["x", "y"] * 3, "b": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "c": ["k"] * 6, "d": [3] * 6})
    for method in ("cart", "ctree", "parametric"):
        assert Sequential(method).fit(table).sample(50).height == 50
    assert Sequential({"b": "norm", "d": "norm"}).fit(table).sample(5)["d"].to_list() == [3] * 5
    separated = pl.DataFrame({"x": np.arange(200.0), "y": np.where(np.arange(200) < 100, "a", "b")})
    model = Sequential({"y": "logreg"}).fit(separated)
    assert "'y': some fitted probabilities are 0 or 1" in model.notes[-1]
    made = model.sample(1000, random_state=rng)
    assert ((made["x"] < 100) == (made["y"] == "a")).mean() > 0.99


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ({"incom": "norm"}, {}, r"method names column 'incom'.*did you mean 'income'"),
        ({"income": "normm"}, {}, r"method of 'income' is 'normm'; choose one of .*did you mean 'norm'"),
        ({"income": ""}, {}, "would release the real column; leave 'income' out"),
        ({"region": "norm"}, {}, "'region' is 'norm', which makes numbers, but 'region' is a category"),
        ({"age": "polyreg"}, {}, "which makes categories, but 'age' is numeric; .*schema="),
        ({"region": "logreg"}, {}, "for two categories, but 'region' has 3.*polyreg"),
        ({"region": "polr"}, {}, "for ranked categories, but 'region' has no order; pass schema="),
        ({"district": "nested"}, {}, "'district' is 'nested'; say within which column"),
        ({"district": "nested.regio"}, {}, "'district' is nested in 'regio', which is not made before it"),
        ({"region": "nested.district"}, {}, "nested in 'district', which is not made before it"),
        ({"district": "nested.age"}, {}, "'district' is nested in 'age', which is numeric"),
        ({"region": "catall"}, {}, "method of 'region' is 'catall': .*start visit_sequence with 'region'"),
        ({"sex": "catall", "region": "ipf"}, {"visit_sequence": ["sex", "region"]}, "method of 'region' is 'ipf'"),
        ({"age": "catall"}, {"visit_sequence": ["age"]}, "which makes categories, but 'age' is numeric"),
        ({"sex": "ipf"}, {"visit_sequence": ["sex"], "margins": [["age"]]}, "margins names 'age', which is no column"),
        ("forest", {}, "method of 'sex' is 'forest'; choose one of"),
        ({"age": None}, {}, "'method' of Sequential takes a text or a mapping of names, not None for 'age'"),
        ({"age": "~ bmi > "}, {}, "'age' cannot be computed; use SQL on earlier columns"),
    ],
)
def test_a_method_that_cannot_make_its_column(
    survey: pl.DataFrame, method: object, options: dict, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Sequential(method, **options).fit(survey)


def test_bad_options(survey: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="mincriterion"):
        Sequential(mincriterion=1.5)
    with pytest.raises(InputError, match="prior"):
        Sequential(prior=-1)
    with pytest.raises(InputError, match="margins='threeway' is unknown"):
        Sequential(margins="threeway")
    with pytest.raises(
        InputError, match="'method' of Sequential takes a text or a mapping of names, not a value of type list"
    ):
        Sequential(["cart", "norm"])
    with pytest.raises(InputError, match="not fitted"):
        Sequential("ctree").sample()
    wide = pl.DataFrame({f"c{j}": [str(i % 20) for i in range(400)] for j in range(6)})
    with pytest.raises(InputError, match="64,000,000 cells, and 'ipf' holds"):
        Sequential("ipf").fit(wide)
