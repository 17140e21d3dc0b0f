"""Simulated people: the stated constants show in the draws."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh


def shares(frame: pl.DataFrame, column: str) -> dict[str, float]:
    counts = frame[column].value_counts()
    return dict(zip(counts[column].to_list(), (counts["count"] / frame.height).to_list(), strict=True))


def test_without_dependence_everything_is_independent() -> None:
    people = gh.data.simulate_health(60_000, kappa=0, random_state=1)
    weights = np.exp([0, -1.5, -1.3])
    for label, share in zip(("healthy", "diabetic", "hypertensive"), weights / weights.sum(), strict=True):
        assert shares(people, "disease_status")[label] == pytest.approx(share, abs=0.008)
    assert shares(people, "gender")["male"] == pytest.approx(0.5, abs=0.01)
    assert shares(people, "education")["low"] == pytest.approx(0.382, abs=0.01)  # Phi(-0.3)
    assert shares(people, "education")["high"] == pytest.approx(0.242, abs=0.01)  # 1 - Phi(0.7)
    numbers = np.column_stack(
        [people["age"], np.log(people["income"]), people["health_score"], people["education"].to_physical()]
    )
    assert np.abs(np.corrcoef(numbers.T) - np.eye(4)).max() < 0.02
    assert np.log(people["income"]).mean() == pytest.approx(10, abs=0.02) and np.log(
        people["income"]
    ).std() == pytest.approx(1, abs=0.02)


def test_dependence_as_stated() -> None:
    kappa = 4.0
    people = gh.data.simulate_health(60_000, kappa=kappa, random_state=2)
    assert people["age"].min() >= 18 and people["age"].max() <= 85
    older, education = (people["age"].to_numpy() - 45) / 12, people["education"].to_physical().to_numpy().astype(float)
    log_income = np.log(people["income"].to_numpy())
    richer = (log_income - log_income.mean()) / log_income.std()
    # the multinomial logit of the disease must come back with the coefficients it was drawn with
    from sklearn.linear_model import LogisticRegression

    fit = LogisticRegression(C=1e6, max_iter=2000).fit(
        np.column_stack([older, richer, education]), people["disease_status"].to_physical().to_numpy()
    )
    coefficients, intercepts = fit.coef_ - fit.coef_[0], fit.intercept_ - fit.intercept_[0]
    np.testing.assert_allclose(coefficients[1], kappa * np.array([0.8, -0.3, -0.2]), atol=0.2)
    np.testing.assert_allclose(coefficients[2], kappa * np.array([1.0, -0.2, -0.1]), atol=0.2)
    np.testing.assert_allclose(intercepts[1:], [-1.5, -1.3], atol=0.15)
    # age on the latent scale: corr(education, age) < 0, corr(health, age) < 0
    assert np.corrcoef(education, older)[0, 1] < -0.2 and np.corrcoef(people["health_score"], older)[0, 1] < -0.2


def test_age_by_the_people_drawn() -> None:
    """The coefficients come back for age and log income standardised by the people drawn, whatever age spreads by."""
    from sklearn.linear_model import LogisticRegression

    people = gh.data.simulate_health(60_000, kappa=4, random_state=2, moments="both", age_spread=15)
    age, education = people["age"].to_numpy(), people["education"].to_physical().to_numpy().astype(float)
    assert 13.5 < age.std() < 14.5, "cut at 18 and 85"
    older, richer = ((v - v.mean()) / v.std() for v in (age, np.log(people["income"].to_numpy())))
    fit = LogisticRegression(C=1e6, max_iter=2000).fit(
        np.column_stack([older, richer, education]), people["disease_status"].to_physical().to_numpy()
    )
    np.testing.assert_allclose((fit.intercept_ - fit.intercept_[0])[1:], [-1.5, -1.3], atol=0.15)
    np.testing.assert_allclose((fit.coef_ - fit.coef_[0])[1], 4 * np.array([0.8, -0.3, -0.2]), atol=0.2)
    assert not people["age"].equals(gh.data.simulate_health(60_000, kappa=4, random_state=2)["age"])
    with pytest.raises(gh.InputError, match="moments='nominal' is unknown"):
        gh.data.simulate_health(10, moments="nominal")
    for spread in (0, -1):
        with pytest.raises(gh.InputError, match="age_spread must be above zero"):
            gh.data.simulate_health(10, age_spread=spread)


def test_seed_and_columns() -> None:
    one, two, other = (gh.data.simulate_health(50, 1, random_state=s) for s in (3, 3, 4))
    assert one.equals(two) and not one.equals(other)
    assert one.columns == ["gender", "age", "education", "income", "health_score", "disease_status"]
    assert one["education"].dtype == pl.Enum(["low", "medium", "high"])
    assert gh.data.simulate_health(1, 100, random_state=0).height == 1


def test_the_same_call_gives_the_same_people_and_none_draws() -> None:
    assert gh.data.simulate_health(20).equals(gh.data.simulate_health(20))
    assert gh.data.simulate_case_study(20)["B"].equals(gh.data.simulate_case_study(20)["B"])
    assert not gh.data.simulate_health(20, random_state=None).equals(gh.data.simulate_health(20, random_state=None))


def test_bad_arguments() -> None:
    with pytest.raises(gh.InputError, match="n must"):
        gh.data.simulate_health(0)
    with pytest.raises(gh.InputError, match="kappa"):
        gh.data.simulate_health(10, kappa=-1)
    with pytest.raises(gh.InputError, match="n must"):
        gh.data.simulate_case_study(1)


def test_case_study_releases_are_what_they_claim() -> None:
    tables = gh.data.simulate_case_study(2000, random_state=1)
    original, a, b, c = (tables[name] for name in ("original", "A", "B", "C"))
    keys = ["age_group", "sex", "education", "region"]
    assert original.columns == [*keys, "income"] and tables["holdout"].height == 1000

    def spread(frame: pl.DataFrame) -> float:
        means = frame.group_by("education").agg(pl.col("income").mean())["income"]
        return float(means.max() / means.min())

    assert spread(a) < 1.15 < 1.9 < spread(original), "A: no relation survives"
    assert spread(b) == pytest.approx(spread(original), rel=0.15)
    assert c.select(keys).equals(original.select(keys)), "C: a near copy"
    change = c["income"] / original["income"] - 1
    assert change.std() == pytest.approx(0.03, abs=0.003) and (change != 0).mean() > 0.99
