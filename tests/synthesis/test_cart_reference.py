"""Trees and releases of Cart beside those of synthpop 1.9-3 on the same data: docs/synthesis.md tells what is compared.

A figure of five releases is compared with what our own releases scatter by. "The mean of our five lies between the
smallest and the largest of their five" is no test: the same synthesiser compared with itself fails it for one figure
in seven, which the last test shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from glasshouse.synthesis import Cart, Sequential
from glasshouse.synthesis.steps import Donors

ADULT_KEYS = ["age", "sex", "occupation", "race"]
SD2011_KEYS = ["sex", "age", "region", "placesize"]


def figures(original: pl.DataFrame, released: pl.DataFrame, keys: list[str], targets: list[str]) -> dict[str, float]:
    """Replicated uniques, keys found, and per target the share revealed unanimously and correctly, in percent."""
    real, synthetic = (f.with_columns(pl.all().cast(pl.String).fill_null("NA")) for f in (original, released))
    cells = (
        real.group_by(keys)
        .agg(pl.len().alias("d"))
        .join(synthetic.group_by(keys).agg(pl.len().alias("s")), on=keys, how="left")
    )
    found = {
        "repU": cells.filter((pl.col("d") == 1) & (pl.col("s") == 1)).height,
        "iS": cells.filter(pl.col("s").is_not_null())["d"].sum(),
    }
    for target in targets:
        said = synthetic.group_by(keys).agg(pl.col(target).n_unique().alias("u"), pl.col(target).first().alias("v"))
        right = real.join(said.filter(pl.col("u") == 1), on=keys).filter(pl.col(target) == pl.col("v"))
        found[target] = right.height
    return {name: 100 * count / real.height for name, count in found.items()}


@dataclass
class Case:
    """A data set, five reference releases of it, and how they were made."""

    original: pl.DataFrame
    reference: list[pl.DataFrame]
    keys: list[str]
    options: dict

    @property
    def targets(self) -> list[str]:
        return [c for c in self.original.columns if c not in self.keys]

    def table(self, releases: list[pl.DataFrame]) -> np.ndarray:
        """Figures [release, figure]."""
        return np.array([list(figures(self.original, r, self.keys, self.targets).values()) for r in releases])


def _case(shared: Path, data: str) -> Case:
    name, table, keys, options = {
        "sd2011": ("sd2011_9", "sd2011_9", SD2011_KEYS, {"special_codes": {"income": [-8]}}),
        "adult": ("adult", "adult_train", ADULT_KEYS, {}),
    }[data]
    folder = shared / "data" / data
    reference = [pl.read_csv(folder / f"{name}_syn_cart_{i}.csv.gz") for i in range(1, 6)]
    return Case(pl.read_csv(folder / f"{table}.csv.gz"), reference, keys, options)


def _codes(model: Cart, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """A release in the codes of a fitted model (no column of Adult has a number that can be missing)."""
    found = {}
    for name, variable in model._variables.items():
        column = frame[variable.column]
        if variable.number:
            found[name] = np.searchsorted(variable.levels, column.to_numpy())
        else:
            found[name] = np.array([variable.levels.index(v) for v in column.to_list()])
    return found


def _strangers(model: Cart, codes: dict[str, np.ndarray]) -> tuple[float, float]:
    """How a release contradicts the trees of a model.

    First, share of values that the record's leaf does not hold: the trees would have to be finer than those that made
    it. Second, chi-square per degree of freedom of value by predictor inside leaves, mean over trees: above 1 they
    would have to be coarser.
    """
    impossible, values, dependence = 0, 0, []
    for name, step in model._steps.items():
        if not isinstance(step, Donors) or step.tree is None:
            continue
        levels, y = model._variables[name].n_levels, codes[name]
        leaf = step.tree.leaves(np.column_stack([codes[p] for p in step.predictors]))
        held = np.zeros((step.tree.n_leaves, levels), np.bool_)
        held[np.repeat(np.arange(step.tree.n_leaves), step.sizes), step.donors] = True
        impossible, values = impossible + int((~held[leaf, y]).sum()), values + len(y)
        chi, degrees = 0.0, 0
        for predictor in step.predictors:
            x = leaf * model._variables[predictor].n_levels + codes[predictor]
            _, x = np.unique(x, return_inverse=True)
            _, z = np.unique(leaf * levels + y, return_inverse=True)
            cell, count = np.unique(x * (z.max() + 1) + z, return_counts=True)
            n_x, n_z, n_leaf = np.bincount(x), np.bincount(z), np.bincount(leaf, minlength=step.tree.n_leaves)
            leaf_of_z = np.zeros(len(n_z), np.int64)
            leaf_of_z[z] = leaf
            expected = n_x[cell // (z.max() + 1)] * n_z[cell % (z.max() + 1)] / n_leaf[leaf_of_z[cell % (z.max() + 1)]]
            leaf_of_x = np.zeros(len(n_x), np.int64)
            leaf_of_x[x] = leaf
            rows, columns = np.bincount(leaf_of_x), np.bincount(leaf_of_z, minlength=leaf_of_x.max() + 1)
            chi += float((count**2 / expected).sum() - len(y))
            degrees += int((np.maximum(rows - 1, 0) * np.maximum(columns[: len(rows)] - 1, 0)).sum())
        dependence.append(chi / max(1, degrees))
    return impossible / values, float(np.mean(dependence))


@pytest.mark.study
def test_the_trees_on_adult_are_those_of_the_reference(shared: Path) -> None:
    """Finer trees (smaller leaves) could not have made these releases, coarser ones would leave structure in leaves."""
    case = _case(shared, "adult")
    reference = pl.concat(case.reference)
    ours = Cart().fit(case.original)
    impossible, dependence = _strangers(ours, _codes(ours, reference))
    own = _strangers(ours, _codes(ours, pl.concat(ours.replicates(5))))
    assert own[0] == 0 and abs(own[1] - 1) < 0.03
    assert impossible < 0.0003 and abs(dependence - own[1]) < 0.06
    finer, coarser = Cart(minbucket=4).fit(case.original), Cart(minbucket=6).fit(case.original)
    assert _strangers(finer, _codes(finer, reference))[0] > 10 * impossible
    assert _strangers(coarser, _codes(coarser, reference))[1] > dependence + 0.1


@pytest.mark.study
@pytest.mark.parametrize("data", ["sd2011", "adult"])
def test_releases_disclose_as_much_as_the_reference(shared: Path, data: str) -> None:
    case = _case(shared, data)
    model = Cart(**case.options).fit(case.original)
    reference, own = case.table(case.reference), case.table([model.sample(random_state=s) for s in range(60)])
    away = reference.mean(axis=0) - own.mean(axis=0)
    error = np.sqrt(own.var(axis=0, ddof=1) * (1 / 5 + 1 / 60))
    assert (np.abs(away) < 4 * error).all(), dict(zip(("repU", "iS", *case.targets), away / error, strict=True))
    # all figures together: Hotelling's statistic, with the scatter of our own releases
    q = away @ np.linalg.solve(np.cov(own.T) * (1 / 5 + 1 / 60), away)
    p = len(away)
    assert stats.f.sf(q * (60 - p) / (p * 59), p, 60 - p) > 0.005


@pytest.mark.study
def test_where_an_unseen_level_goes_moves_no_figure(shared: Path) -> None:
    """rpart asks surrogate splits there; we take the larger child. The smaller one instead changes nothing to see."""
    case = _case(shared, "adult")
    model = Cart().fit(case.original)
    usual = case.table([model.sample(random_state=s) for s in range(40)])
    for name, step in model._steps.items():
        if isinstance(step, Donors) and step.tree is not None:
            turned = step.tree.nodes[
                :, [1, 0, 2, 3, 4, 5]
            ]  # sizes change sign, so that the larger child is the smaller
            model._steps[name] = replace(step, tree=replace(step.tree, nodes=turned))
    other = case.table([model.sample(random_state=s) for s in range(40)])
    assert not (usual == other).all(), "the two ways differ for some records"
    error = np.sqrt((usual.var(axis=0, ddof=1) + other.var(axis=0, ddof=1)) / 40)
    assert (np.abs(usual.mean(axis=0) - other.mean(axis=0)) < 4 * error).all()


@pytest.mark.study
def test_a_synthesiser_compared_with_itself_lies_outside_of_its_own_range(shared: Path) -> None:
    """Mean of five releases against the range of five others of the same model: one figure in seven is outside."""
    case = _case(shared, "adult")
    model = Cart().fit(case.original)
    own = case.table([model.sample(random_state=s) for s in range(100)])
    rng = np.random.default_rng(0)
    outside = []
    for _ in range(2000):
        ten = own[rng.permutation(100)[:10]]
        mean, low, high = ten[:5].mean(axis=0), ten[5:].min(axis=0), ten[5:].max(axis=0)
        outside.append(int(((mean < low) | (mean > high)).sum()))
    assert 1.2 < np.mean(outside) < 1.9 and 0.35 < np.mean(np.array(outside) >= 2) < 0.58


@pytest.mark.study
def test_conditional_trees_disclose_as_much_as_the_published_ones(shared: Path) -> None:
    """Adult, all 48,842 people, income missing in the test part; DiSCO in percent by synthpop's "ctree".

    Two runs in R on the same data (the paper's table 2 and ours of its recipe, other seeds); capital gain and loss of 0
    are special codes there. Our mean has to lie within their spread, widened by a tenth.
    """
    train, test = (pl.read_csv(shared / "data" / "adult" / f"adult_{part}.csv.gz") for part in ("train", "holdout"))
    test = test.select(train.columns).with_columns(income=pl.lit(None, dtype=pl.String))
    original = pl.concat([train, test])
    published = {
        "capital_gain": (18.83, 19.65),
        "capital_loss": (26.35, 26.70),
        "education_num": (0.94, 1.00),
        "income": (2.10, 2.23),
        "marital_status": (5.18, 5.98),
        "native_country": (13.15, 13.85),
        "relationship": (2.66, 2.94),
        "workclass": (11.71, 12.37),
    }
    order = [c for c in original.columns if c not in ("native_country", "education_num")]
    order += ["native_country", "education_num"]
    model = Sequential(
        "ctree",
        visit_sequence=order,
        special_codes={"capital_gain": [0], "capital_loss": [0]},
        schema={"education_num": "categorical"},
    ).fit(original)
    own = [figures(original, model.sample(random_state=s), ADULT_KEYS, list(published)) for s in range(5)]
    for target, (low, high) in published.items():
        assert 0.9 * low < np.mean([o[target] for o in own]) < 1.1 * high, target
