"""Made-up people with the columns that the reference pages speak of, so that their code runs as it stands."""

from __future__ import annotations

import numpy as np
import polars as pl

import glasshouse as gh

KEYS, TARGET = ["age", "sex", "region"], "illness"


def people(seed: int, n: int = 200) -> pl.DataFrame:
    """A table of people; another seed gives other people of the same population."""
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 90, n)
    region = rng.choice(["north", "east", "south", "west"], n)
    height = np.round(rng.normal(1.7, 0.1, n), 2)
    weight = np.round(22 * height**2 + rng.normal(0, 8, n), 1)
    income = np.round(rng.lognormal(9.5, 0.5, n) * (1 + age / 200), -2).astype(int)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "region": region,
            "district": [f"{name} {number}" for name, number in zip(region, rng.integers(1, 3, n), strict=True)],
            "edu": np.where(age < 16, "low", rng.choice(["low", "middle", "high"], n)),
            "job": rng.choice(["office", "trade", "care", "none"], n),
            "occupation": rng.choice(["clerk", "builder", "nurse", "teacher", "other"], n),
            "religion": rng.choice(["a", "b", "c", "d", "e"], n, p=[0.5, 0.3, 0.15, 0.03, 0.02]),
            "smoker": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
            "illness": np.where(rng.uniform(size=n) < age / 150, "yes", "no"),
            "status": rng.choice(["single", "married", "widowed"], n),
            "weight": weight,
            "height": height,
            "bmi": np.round(weight / (height * height), 1),
            "income": np.where(rng.uniform(size=n) < 0.05, -8, income),
            "wealth": np.round(rng.lognormal(11, 1, n), -3).astype(int),
            "rent": np.round(rng.normal(800, 200, n), 0).astype(int),
            "w": np.round(rng.uniform(1, 3, n), 1),
        }
    )


def write(*names: str, n: int = 200) -> None:
    """CSV files of other people each: "original" writes original.csv."""
    for seed, name in enumerate(names):
        people(seed, n).write_csv(f"{name}.csv")


def pair() -> gh.Pair:
    """Three of those tables as a Pair."""
    tables = {name: people(seed) for seed, name in enumerate(("original", "released", "holdout"))}
    return gh.Pair(**tables, keys=KEYS, target=TARGET, special_codes={"income": [-8]}, exclude=["district", "w"])
