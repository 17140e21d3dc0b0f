"""RAPID's test, thresholds and attribution print as tables and draw themselves; any group of people can be asked."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import glasshouse as gh
from glasshouse.core.charts import kinds
from glasshouse.disclosure.rapid.key_effects import attribute
from glasshouse.disclosure.rapid.key_tables import Factor, Numbers


@pytest.fixture(scope="module")
def health() -> Any:
    return gh.data.load("health")


@pytest.fixture(scope="module")
def result(health: Any) -> Any:
    return gh.disclosure.rapid(health.pair(), attackers="cart")


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """Every row any part of a picture is drawn from."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        if isinstance(part, dict):
            found.extend(part.get("data", {}).get("values", []) if isinstance(part.get("data"), dict) else [])
            for inner in part.values():
                look(inner)
        elif isinstance(part, list):
            for inner in part:
                look(inner)

    made = chart.to_dict()
    look({k: v for k, v in made.items() if k != "datasets"})
    named = [row for values in made.get("datasets", {}).values() for row in values]
    unique = {json.dumps(row, sort_keys=True): row for row in [*found, *named]}
    return list(unique.values())


def drawn(chart: Any) -> str:
    text = json.dumps(chart.to_dict())
    assert "NaN" not in text and "Infinity" not in text
    return text


# -- tables -----


def test_the_test_prints_a_table(result: Any) -> None:
    test = result.test(99)
    text = repr(test)
    assert text == str(test) and test.sentence in text and "RapidTest(" not in text
    lines = {line.split("  ")[1].strip(): line.split()[-1] for line in text.splitlines() if line.startswith("  ")}
    assert lines["p value"] == "0.01" and lines["permutations"] == "99"
    assert float(lines["RAPID"]) == pytest.approx(result.value, abs=1e-4)
    assert "<table" in test._repr_html_()


def test_the_thresholds_print_a_table(result: Any) -> None:
    found = result.thresholds(n_permutations=49)
    text = repr(found)
    assert found.sentence in text and "RapidThresholds(" not in text
    header = next(line for line in text.splitlines() if "threshold" in line and "chance" in line)
    assert header.split()[:3] == ["threshold", "RAPID", "chance"]
    body = [line for line in text.splitlines() if line.strip()[:2] in ("0.", "0")]
    assert len([line for line in text.splitlines() if line.strip().startswith("0.")]) == found.table.height == len(body)
    assert sum("recommended" in line for line in text.splitlines()) == 1


def test_the_attribution_prints_a_table(result: Any) -> None:
    found = result.attribution(interactions=2)
    text = repr(found)
    assert found.sentence in text and "RapidAttribution(" not in text
    assert "gender" in text and "log odds" in text
    assert "more rows in .effects" in text, "a long table is cut, and says where the rest is"
    assert len(text.splitlines()) < 40


def test_a_label_cannot_command_the_terminal() -> None:
    keys = [Factor("k", ("\x1b[31mred", "b"), np.array([0, 1] * 50))]
    found = attribute(keys, np.arange(100) % 3 == 0, 1)
    assert "\x1b" not in repr(found)


# -- charts -----


def test_every_outcome_draws_itself(result: Any) -> None:
    for outcome in (result.test(49), result.thresholds(n_permutations=49), result.attribution(interactions=3)):
        assert kinds(outcome.name)
        for kind in kinds(outcome.name):
            assert len(drawn(outcome.plot(kind))) > 300
    with pytest.raises(gh.InputError, match="it has: "):
        result.test(19).plot("pie")


def test_the_result_draws_them_too(result: Any) -> None:
    for kind in ("test", "thresholds", "three_way", "figure5"):
        assert kind in kinds("rapid")
        drawn(result.plot(kind))


def test_the_chart_of_the_test_holds_the_null_and_the_observed_share(result: Any) -> None:
    test = result.test(49)
    rows = rows_of(test.plot())
    assert sum(row["relabellings"] for row in rows if "relabellings" in row) == 49
    assert any(row.get("share") == pytest.approx(test.observed) for row in rows)


def test_the_chart_of_the_thresholds_marks_the_recommended_one(result: Any) -> None:
    found = result.thresholds(n_permutations=49)
    marked = [row for row in rows_of(found.plot()) if row.get("mark") == "recommended"]
    assert [row["threshold"] for row in marked] == [found.recommended]


def test_three_way_effects_are_drawn(result: Any) -> None:
    found = result.attribution(interactions=3)
    assert {row["order"] for row in found.rows} == {1, 2, 3}
    effects = [row["effect"] for row in rows_of(found.plot("three_way")) if "effect" in row]
    assert effects and all(effect.count(" × ") == 4 for effect in effects)


def test_groups_by_several_columns_are_drawn(result: Any) -> None:
    labels = [r["label"] for r in rows_of(result.plot("subgroups", column=["education", "gender"])) if "label" in r]
    table = result.by(["education", "gender"])
    assert len(labels) == table.filter(~table["small"]).height and any("low × female" in label for label in labels)


# -- the paper's figure 5 -----


@pytest.fixture(scope="module")
def paper() -> Any:
    """kappa = 10, the three keys of the figure, one data set."""
    original = gh.data.simulate_health(1000, 10, random_state=3)
    released = gh.synthesis.Cart().fit(original).sample(random_state=3)
    found = gh.disclosure.rapid(
        original, released, keys=["gender", "education", "age"], target="disease_status", trees=200
    )
    return found.attribution(3, at={"age": [30, 50, 70]})


def test_figure_5_has_the_papers_panels(paper: Any) -> None:
    """Marginal effects of the three keys; gender x education at age 50, gender x age at one education, education x age
    for one gender; all three at ages 30, 50 and 70."""
    text = drawn(paper.plot("figure5"))
    for title in ("gender", "education", "age", "age 50"):
        assert title in text
    rows = rows_of(paper.plot("figure5"))
    panels = {row["panel"] for row in rows if "logodds" in row}
    assert len([p for p in panels if p.count(" × ") == 0]) == 3
    assert len([p for p in panels if p.count(" × ") == 1]) == 3
    three = [row for row in rows if "facet" in row]
    assert len(three) == 18 and {row["facet"] for row in three} == {"age 30", "age 50", "age 70"}
    grid = {(r["gender"], r["education"], r["age"]): r["logodds"] for r in paper.grid_rows}
    assert {row["logodds"] for row in three} == set(grid.values())


def test_figure_5_points_where_the_paper_does(paper: Any) -> None:
    """Low education: risk rises with age; high education: it falls (medians of the figure -7.2 to 5.1, 4.4 to -0.8)."""
    odds = {(r["gender"], r["education"], r["age"]): r["logodds"] for r in paper.grid_rows}
    for gender in ("female", "male"):
        low = [odds[gender, "low", age] for age in (30, 50, 70)]
        high = [odds[gender, "high", age] for age in (30, 50, 70)]
        assert low[0] < low[1] < low[2] and high[0] > high[2]
    marginal = {(r["variable"], r["level"]): r["logodds"] for r in paper.marginal_rows}
    assert marginal["education", "low"] < marginal["education", "medium"]
    assert ("age", "per 10") in marginal


def test_marginal_log_odds_are_those_of_everybody() -> None:
    """By hand: with main effects only, the mean log odds at a level are the level's own plus the mean of the others."""
    rng = np.random.default_rng(0)
    a, x = rng.integers(0, 2, 400), rng.normal(40, 12, 400)
    flags = rng.random(400) < 1 / (1 + np.exp(-(-1 + 0.8 * a + 0.02 * (x - 40))))
    found = attribute([Factor("a", ("u", "v"), a), Numbers("x", x)], flags, 1)
    b0, b_a, b_x = (found.coefficients[name] for name in ("(Intercept)", "av", "x"))
    marginal = {(r["variable"], r["level"]): r["logodds"] for r in found.marginal_rows}
    assert marginal["a", "u"] == pytest.approx(b0 + b_x * x.mean())
    assert marginal["a", "v"] == pytest.approx(b0 + b_a + b_x * x.mean())
    assert marginal["x", "per 10"] == pytest.approx(10 * b_x)


def test_figure_5_with_two_keys_and_with_many(health: Any) -> None:
    two = gh.disclosure.rapid(health.pair(keys=["age", "education"], holdout=None), attackers="cart")
    assert {r["panel"].count(" × ") for r in rows_of(two.plot("figure5")) if "logodds" in r} == {0, 1}
    many = gh.disclosure.rapid(health.pair(holdout=None), attackers="cart").attribution(2)
    shown = {r["panel"] for r in rows_of(many.plot("figure5", keys=["age", "gender"])) if "logodds" in r}
    assert shown == {"age", "gender", "age × gender"}
    with pytest.raises(gh.InputError, match="one, two or three"):
        many.plot("figure5", keys=["age", "gender", "education", "age"])
    with pytest.raises(gh.InputError, match="did you mean 'gender'"):
        many.plot("figure5", keys=["gendr"])
