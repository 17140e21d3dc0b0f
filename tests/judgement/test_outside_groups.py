"""Groups of numbers tell no end and no quantile of the original: whoever has the release could try every value until
the figures of a report come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

SCHEMA: Any = {"gain": "numeric", "age": "integer", "sex": "categorical", "ill": "categorical"}
ALONE = ["weap", "mutual_information", "surprisal", "max_leakage", "positive_disclosure", "k_anonymity", "t_closeness"]


def people(seed: int, mean: float = 45, n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "gain": np.where(rng.random(n) < 0.85, 0.0, rng.exponential(3000, n).round(-2)),
            "age": rng.normal(mean, 12, n).round().astype(int).clip(18, 90),
            "sex": rng.choice(["w", "m"], n),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )


RELEASED, HOLDOUT = people(2), people(3)


def told(original: pl.DataFrame, measures: list[str], keys: list[str], target: str, **given: Any) -> dict[str, Any]:
    pair = gh.Pair(original, RELEASED, holdout=HOLDOUT, keys=keys, target=target, schema=SCHEMA)
    content = gh.assess(pair, measures=measures, **given).content("external")["results"]
    return {
        name: (found["value"], found["shown"], found["baseline"], found["holdout"]) for name, found in content.items()
    }


@pytest.mark.parametrize("groups", ["default", 2, 3, 5])
def test_the_largest_value_of_a_person_moves_no_told_figure(groups: Any) -> None:
    measures = [*ALONE, "cap", "disco", "tcap", "attribution", "uniques"]
    found = []
    for largest in (20_000.0, 60_000.0, 1e6):
        gain = pl.Series("gain", [largest, *people(1)["gain"].to_list()[1:]])
        one = people(1).with_columns(gain)
        found.append(told(one, measures, ["gain", "sex"], "ill", key_groups=groups))
        found[-1] |= {f"target {k}": v for k, v in told(one, measures[7:11], ["age", "sex"], "gain").items()}
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("groups", ["default", 2, 3, 10])
def test_figures_about_the_release_alone_do_not_follow_the_original(groups: Any) -> None:
    """Its quantiles would be among those whose figures come out."""
    found = [told(people(1, mean), ALONE, ["age", "sex"], "ill", key_groups=groups) for mean in (40, 50, 60)]
    assert found[0] == found[1] == found[2]


def test_the_judgement_of_utility_with_few_people_is_not_told_by_a_result_alone() -> None:
    """As the report of an assessment has it."""
    rng = np.random.default_rng(0)
    small = pl.DataFrame({"sex": ["w"] * 8, "x": rng.normal(size=8)})
    released = pl.DataFrame({"sex": ["w"] * 100 + ["m"] * 100, "x": rng.normal(size=200)})
    found = gh.utility.hellinger(gh.Pair(small, released, schema={"x": "numeric", "sex": "categorical"}))
    assert found.verdict is not None and found.verdict != "pass", "the example no longer shows it"
    assert found.to_dict("external")["verdict"] is None
