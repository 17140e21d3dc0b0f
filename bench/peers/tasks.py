"""What is asked of both sides: a row per question, with the words for where the questions differ."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data" / "adult"
ADULT = {"original": "adult_train", "released": "adult_syn_cart_1", "holdout": "adult_holdout"}
ROLES: dict[str, dict[str, Any]] = {
    "adult": {"keys": ["age", "sex", "race", "marital_status"], "target": "income"},
    "simulated": {"keys": ["age", "sex", "region"], "target": "ill"},
}
NUMBER = {"adult": "hours_per_week", "simulated": "income"}  # what a tree of numbers predicts
SIZES, QUICK_SIZES = (1_000, 2_000, 4_000, 8_000), (500, 2_000)
ATTACKS, QUICK_ATTACKS = 500, 100
RHOS = [0.05, 0.1, 0.2, 0.5, 1.0]
NEAREST = {"dcr": "dcr", "nndr": "nndr", "eps_risk": "epsilon_identifiability", "nnaa": "nnaa"}


@dataclass(frozen=True)
class Row:
    """One line of the table: what is asked of a peer, what of us, and in what the questions differ."""

    name: str
    words: str
    peer: str
    theirs: str
    ours: str
    differs: str
    their_options: Callable[[dict[str, Any]], dict[str, Any]]
    our_options: Callable[[dict[str, Any]], dict[str, Any]]
    largest: int = 10**9
    both_warm: bool = False  # both sides are warmed up on all records, with another seed


def _measures(names: list[str], given: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    return {"names": names, "given": given, "keys": asked["keys"], "target": asked["target"]}


def _attack(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"n_attacks": asked["n_attacks"]}
    if name == "linkability":
        options["columns"] = asked["sides"]
    return _measures([name], {name: options}, asked)


def _trees(extras: bool, asked: dict[str, Any]) -> dict[str, Any]:
    limits = {"minsplit": 15, "minbucket": 5, "cp": 1e-8, "maxdepth": 30, "extras": extras}
    return {"target": asked["target"], "number": asked["number"], **limits}


def _forest(asked: dict[str, Any]) -> dict[str, Any]:
    return {"target": asked["target"], "trees": 500, "seed": asked["seed"]}


def _same(asked: dict[str, Any]) -> dict[str, Any]:
    return asked


ROWS = (
    Row("singling_out", "singling out, 3 columns", "anonymeter", "singling_out", "measures",
        "as many attacks; where they find fewer, each side reports those it found",
        _same, partial(_attack, "singling_out")),
    Row("linkability", "linkability", "anonymeter", "linkability", "measures",
        "as many attacks on the same two halves of the columns; ours shares ties",
        _same, partial(_attack, "linkability")),
    Row("inference", "inference of one column from the rest", "anonymeter", "inference", "measures",
        "as many attacks", _same, partial(_attack, "inference")),
    Row("overfitting", "closest record, members against holdout", "sdmetrics", "overfitting", "measures",
        "theirs: a score; ours (`dcr`): a figure with a holdout's, an interval and a p-value",
        _same, partial(_measures, ["dcr"], {}), 4_000),
    Row("new_rows", "rows of the release that are in the original", "sdmetrics", "new_rows", "measures",
        "theirs lets numbers differ by 1 %; ours (`identical`) asks for equality and for the same of the holdout",
        _same, partial(_measures, ["identical"], {})),
    Row("quality", "quality report / utility set", "sdmetrics", "quality", "quality",
        "theirs: margins and pairs; ours: every measure of the default set, each with the band of a perfect release",
        _same, _same),
    Row("nearest", "`dcr`, `nndr`, `eps_risk`, `nnaa`", "syntheval", "metrics", "measures",
        "ours with intervals and a holdout's figure for each; `nnaa` without their resampling",
        lambda asked: {**asked, "names": list(NEAREST)}, partial(_measures, list(NEAREST.values()), {}), 4_000),
    Row("hit_rate", "hitting rate", "syntheval", "metrics", "measures",
        "the box is a thirtieth of the range for both",
        lambda asked: {**asked, "names": ["hit_rate"]},
        partial(_measures, ["hitting_rate"], {"hitting_rate": {"box": 1 / 30}}), 4_000),
    Row("mia", "membership by a classifier", "syntheval", "metrics", "measures",
        "theirs: five boosted models; ours: forests dealt to members and strangers, with a p-value",
        lambda asked: {**asked, "names": ["mia"]}, partial(_measures, ["membership_classifier"], {})),
    Row("fast", "fast preset / utility set", "syntheval", "fast", "quality",
        "theirs: eight metrics, two of them on privacy; ours: the default utility set", _same, _same, 2_000),
    Row("levels", "k-anonymity, l-diversity, t-closeness", "pycanon", "levels", "measures",
        "the same levels; ours also says who the records are",
        _same, partial(_measures, ["k_anonymity", "l_diversity", "t_closeness"], {})),
    Row("forest", "RAPID's forest, 500 trees, fit and predict", "ranger", "forest", "forest",
        "the same forest, one thread", _forest, _forest, both_warm=True),
    Row("trees", "two trees with small leaves, fit and predict", "rpart", "trees", "trees",
        "the same trees; theirs without cross-validation and surrogate splits",
        partial(_trees, False), partial(_trees, False), both_warm=True),
    Row("trees_extras", "the same two trees by rpart's defaults", "rpart", "trees", "trees",
        "theirs with ten-fold cross-validation and five surrogate splits, which ours has not",
        partial(_trees, True), partial(_trees, True), both_warm=True),
    Row("synthesis", "a release by trees, all columns", "synthpop", "synthesis", "synthesis",
        "theirs grows surrogate splits and cross-validates, ours does not", _same, _same, both_warm=True),
    Row("advantage", "advantage under zCDP, 5 values of rho", "riskcal", "advantage", "advantage",
        "no table", lambda asked: {"rhos": RHOS}, lambda asked: {"rhos": RHOS}, 0),
)  # fmt: skip


def source() -> str:
    """Adult and a synthesis of it where they are, else people simulated by our own code."""
    return "adult" if all((SHARED / f"{name}.csv.gz").is_file() for name in ADULT.values()) else "simulated"


def written(data: str, n: int, folder: Path) -> dict[str, str]:
    """CSV files of an original, a release and a holdout of ``n`` records each; nobody has a missing value."""
    if data == "adult":
        found = {role: pl.read_csv(SHARED / f"{name}.csv.gz").drop_nulls().head(n) for role, name in ADULT.items()}
    else:
        from studies.cases import Case

        world = Case("weak", "clean", 0, n).build()
        assert world.holdout is not None
        found = {"original": world.original, "released": world.released, "holdout": world.holdout}
    return files(found, folder / f"{data}-{n}")


def files(tables: dict[str, pl.DataFrame], folder: Path) -> dict[str, str]:
    """Tables as CSV, which every environment can read."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {role: folder / f"{role}.csv" for role in tables}
    for role, table in tables.items():
        table.write_csv(paths[role])
    return {role: str(path) for role, path in paths.items()}


def halves(columns: list[str], target: str) -> list[list[str]]:
    """What an attacker knows from two sources: the columns but the target, dealt in turn."""
    rest = [c for c in columns if c != target]
    return [rest[::2], rest[1::2]]


def jobs(row: Row, data: str, n: int, paths: dict[str, str], n_attacks: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The job of the peer and ours."""
    asked: dict[str, Any] = {**ROLES[data], "number": NUMBER[data], "n_attacks": n_attacks, "seed": 0}
    if not row.largest:
        paths = {}
    else:
        asked["sides"] = halves(pl.read_csv(paths["original"], n_rows=5).columns, asked["target"])
    warm = {"warm": n if row.both_warm else 200, "warm_options": {} if paths else {"rhos": RHOS[:1]}}
    if row.both_warm:
        warm["warm_options"] = {"seed": asked["seed"] + 1}
    theirs = {"question": row.theirs, "options": row.their_options(asked), "tables": paths, **warm}
    if row.peer == "anonymeter":
        # a small table holds few people to single out, and the search would go on for all its ten million attempts
        theirs = {**theirs, "warm_options": {"n_attacks": 5, "max_attempts": 2_000}}
    ours = {"question": row.ours, "options": row.our_options(asked), "tables": paths, **warm}
    # compiled code is loaded before the clock starts, and larger tables go other ways here than small ones
    return theirs, {**ours, "warm": n} if paths else ours
