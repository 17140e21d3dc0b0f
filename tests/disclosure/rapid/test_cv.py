"""Cross-validated RAPID: folds, baselines, intervals, and synthesisers compared on the same folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.rapid.folds import deal_folds


def independent(training: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({c: training[c].gather(rng.permutation(training.height)) for c in training.columns})


def copy(training: Any, seed: int) -> Any:
    return training


class Bootstrap:
    """The fit/sample interface."""

    def __init__(self) -> None:
        self.fitted = 0

    def fit(self, training: pl.DataFrame) -> None:
        self.fitted += 1
        self.training = training

    def sample(self, n: int | None = None, random_state: int = 0) -> pl.DataFrame:
        return self.training[
            np.random.default_rng(random_state).integers(0, self.training.height, n or self.training.height)
        ]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return gh.data.load("appendix_b").original


ROLES: dict[str, Any] = {
    "keys": ["age", "education", "gender"],
    "target": "disease_status",
    "attacker": "cart",
    "random_state": 1,
}


def test_folds_are_dealt_within_classes(people: pl.DataFrame) -> None:
    classes = people["disease_status"].cast(pl.Categorical).to_physical().to_numpy()
    folds = deal_folds(classes, 1000, 5, np.random.default_rng(0))
    assert np.bincount(folds).tolist() == [201, 201, 200, 199, 199], "the sizes of the paper's example"
    for label in np.unique(classes):
        sizes = np.bincount(folds[classes == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert np.bincount(deal_folds(None, 103, 5, np.random.default_rng(0))).tolist() == [21, 21, 21, 20, 20]
    with pytest.raises(gh.InputError, match="too small"):
        deal_folds(np.arange(4), 4, 3, np.random.default_rng(0))


def test_mean_over_folds_with_t_interval(people: pl.DataFrame) -> None:
    from scipy.stats import t

    found = gh.rapid_cv(people, copy, **ROLES)
    rows = found.to_frame()
    values = rows["rapid"].to_numpy()
    assert found.value == pytest.approx(values.mean()) and found.details["sd"] == pytest.approx(values.std(ddof=1))
    half = t.ppf(0.975, 4) * values.std(ddof=1) / np.sqrt(5)
    assert found.interval == pytest.approx((values.mean() - half, values.mean() + half))
    normal = gh.rapid_cv(people, copy, interval="normal", **ROLES)
    assert normal.interval[1] - normal.value == pytest.approx(1.959964 * values.std(ddof=1) / np.sqrt(5), rel=1e-6)
    assert rows["n"].sum() == 1000 and "Folds share training data" in found.sentence
    assert gh.rapid_cv(people, copy, **ROLES).value == found.value, "same seed, same folds"


def test_baseline_of_the_full_data_or_of_the_fold(people: pl.DataFrame) -> None:
    roles = {**ROLES, "attacker": "logit", "stratify": False, "tau": 0.1, "k": 20}
    full = gh.rapid_cv(people, copy, **roles)
    fold = gh.rapid_cv(people, copy, baseline="fold", **roles)
    assert full.to_frame()["accuracy"].to_list() == fold.to_frame()["accuracy"].to_list()
    assert full.value != fold.value


def test_synthesisers_are_compared_on_the_same_folds(people: pl.DataFrame) -> None:
    maker = Bootstrap()
    found = gh.rapid_cv(people, {"copy": copy, "independent": independent, "bootstrap": maker}, **ROLES)
    assert maker.fitted == 0, "the object given is never changed"
    table = {row["synthesiser"]: row for row in found.comparison}
    assert found.details["safest"] == "independent" and table["copy"]["rapid"] > table["independent"]["rapid"]
    low, high = table["copy"]["difference_low"], table["copy"]["difference_high"]
    assert low < table["copy"]["difference"] < high
    assert found.by_synthesiser["copy"].value == gh.rapid_cv(people, copy, **ROLES).value
    assert found.plot().to_dict()


def test_numbers_and_frame_libraries(people: pl.DataFrame) -> None:
    seen = []

    def spy(training: Any, seed: int) -> Any:
        seen.append((type(training).__module__.split(".")[0], seed))
        return training

    found = gh.rapid_cv(
        people.to_pandas(), spy, keys=["education", "gender"], target="age", attacker="lm", k=3, random_state=7
    )
    assert found.details["mean_mae"] > 0 and {s[0] for s in seen} == {"pandas"}
    assert len({s[1] for s in seen}) == 3, "another seed in every fold"


def test_bad_arguments_are_sentences(people: pl.DataFrame) -> None:
    with pytest.raises(gh.InputError, match="k must lie"):
        gh.rapid_cv(people, copy, k=1, **ROLES)
    with pytest.raises(gh.InputError, match="function of"):
        gh.rapid_cv(people, 3, **ROLES)
    with pytest.raises(gh.InputError, match="baseline"):
        gh.rapid_cv(people, copy, baseline="none", **ROLES)
    with pytest.raises(gh.InputError, match="interval"):
        gh.rapid_cv(people, copy, interval="none", **ROLES)
    with pytest.raises(gh.InputError, match="no synthesiser"):
        gh.rapid_cv(people, {}, **ROLES)
