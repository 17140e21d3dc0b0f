"""The data of the riskutility paper's listings, drawn as R draws them: no file is needed."""

from __future__ import annotations

import numpy as np
import polars as pl

from reproduce.r_random import RRandom

RUNNING_KEYS = ("age", "sex", "education", "region")
CASE_KEYS = ("age_group", "sex", "education", "region")
SCHOOLING = ("Primary", "Secondary", "Tertiary")
REGIONS = ("R1", "R2", "R3", "R4")
QUARTERS = (0.25, 0.50, 0.25)
AGE_GROUPS = ("20-29", "30-39", "40-49", "50-59", "60-69")


def running_example(n: int = 500) -> dict[str, pl.DataFrame]:
    """500 people, a release of independent draws, and a near copy.

    Parameters
    ----------
    n : int
        Records.

    Returns
    -------
    dict of str to polars.DataFrame
        ``original``, ``released``, ``near_copy``, ``training`` and ``holdout`` (70 and 30 percent of the original).
    """
    r = RRandom(42)

    def drawn() -> pl.DataFrame:
        return pl.DataFrame(
            {
                "age": r.sample(range(18, 86), n, replace=True),
                "sex": r.sample(("M", "F"), n, replace=True),
                "education": r.sample(SCHOOLING, n, replace=True, prob=(0.3, 0.5, 0.2)),
                "region": r.sample([f"R{i}" for i in range(1, 6)], n, replace=True),
                "income": np.rint(np.exp(r.normal(n, float(np.log(40_000)), 0.5))).astype(np.int64),
            }
        )

    original, released = drawn(), drawn()
    r.set_seed(123)
    chosen = r.sample(range(n), int(0.7 * n))
    r.set_seed(99)
    moved = pl.Series(r.sample((-1, 0, 1), n, replace=True))
    near = original.with_columns(
        age=pl.col("age") + moved, income=pl.col("income") + pl.Series(np.rint(r.normal(n, 0, 500)).astype(np.int64))
    )
    rest = sorted(set(range(n)) - set(chosen))
    return {
        "original": original,
        "released": released,
        "near_copy": near,
        "training": original[chosen],
        "holdout": original[rest],
    }


def survey(r: RRandom, n: int) -> pl.DataFrame:
    """People whose income depends on age and education."""
    ages, sexes = r.sample(AGE_GROUPS, n, replace=True), r.sample(("M", "F"), n, replace=True)
    schooling, where = r.sample(SCHOOLING, n, replace=True, prob=QUARTERS), r.sample(REGIONS, n, replace=True)
    older = dict(zip(AGE_GROUPS, (0, 0.15, 0.3, 0.4, 0.35), strict=True))
    taught = dict(zip(SCHOOLING, (0, 0.3, 0.7), strict=True))
    effect = np.array([older[a] + taught[s] for a, s in zip(ages, schooling, strict=True)])
    income = np.rint(np.exp(10 + effect + r.normal(n, 0, 0.4))).astype(np.int64)
    return pl.DataFrame({"age_group": ages, "sex": sexes, "education": schooling, "region": where, "income": income})


def case_study(n: int = 1000) -> dict[str, pl.DataFrame]:
    """The income survey and its three releases.

    Parameters
    ----------
    n : int
        Records.

    Returns
    -------
    dict of str to polars.DataFrame
        ``original``, ``A`` (independent columns), ``B`` (bootstrap with noise) and ``C`` (near copy); and, not in the
        paper, ``holdout``: as many people again by the same listing (seed 789), whom no release has seen.
    """
    r = RRandom(123)
    original = survey(r, n)
    income = original["income"]

    def noisy(frame: pl.DataFrame, spread: float) -> pl.DataFrame:
        return frame.with_columns(
            income=pl.Series(np.rint(frame["income"].to_numpy() * np.exp(r.normal(n, 0, spread))).astype(np.int64))
        )

    r.set_seed(456)
    independent = pl.DataFrame(
        {
            "age_group": r.sample(AGE_GROUPS, n, replace=True),
            "sex": r.sample(("M", "F"), n, replace=True),
            "education": r.sample(SCHOOLING, n, replace=True, prob=QUARTERS),
            "region": r.sample(REGIONS, n, replace=True),
            "income": r.sample(income.to_list(), n, replace=True),
        }
    )
    bootstrap = noisy(original[r.sample(range(n), n, replace=True)], 0.15)
    redrawn = r.sample(range(n), round(0.2 * n))
    groups = bootstrap["age_group"].to_list()
    for place, group in zip(redrawn, r.sample(AGE_GROUPS, len(redrawn), replace=True), strict=True):
        groups[place] = group
    return {
        "original": original,
        "A": independent,
        "B": bootstrap.with_columns(age_group=pl.Series(groups)),
        "C": noisy(original, 0.03),
        "holdout": survey(RRandom(789), n),
    }
