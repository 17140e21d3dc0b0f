"""Make the small example tables that ship with the package (src/glasshouse/data/bundled). Run it when the recipe
changes.

The health people are simulated (RAPID paper, appendix A) and released by our own CART synthesiser, which never sees the
holdout.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import glasshouse as gh

FOLDER = Path(__file__).resolve().parent.parent / "src" / "glasshouse" / "data" / "bundled"
SEED = 2026


def main() -> None:
    people = gh.data.simulate_health(1500, kappa=2, random_state=SEED).with_columns(
        pl.col("age").round(0).cast(pl.Int64),
        ((pl.col("income") / 100).round(0) * 100).cast(pl.Int64).alias("income"),
        pl.col("health_score").round(1),
    )
    original, holdout = people[:1000], people[1000:]
    released = gh.synthesis.Cart().fit(original).sample(random_state=SEED)
    for name, table in (("original", original), ("released", released), ("holdout", holdout)):
        table.write_csv(FOLDER / f"health_{name}.csv")
        print(name, table.shape)


if __name__ == "__main__":
    main()
