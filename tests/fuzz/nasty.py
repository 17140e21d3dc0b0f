"""Pairs of tables made to break things, one per seed: the same seed gives the same pair on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tests.fuzz.columns import LABELS, MAKERS, NAMES, USUAL, pandas_columns

SIZES = (0, 1, 2, 3, 5, 12, 30, 60)
REFUSED = ("list", "struct", "binary", "time", "int128", "beyond 2^63")
OFTEN_WRONG = ("special_codes", "schema", "exclude")
PATTERNS = ("*", "^.*$")
KINDS = ("numeric", "integer", "categorical", "ordinal", "boolean", "datetime", "text", "identifier")


@dataclass
class Nasty:
    """What a caller might pass: tables, roles, and the makers of the columns for the story of a failure."""

    seed: int
    original: Any
    released: Any
    roles: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)

    def story(self) -> str:
        """Which columns and roles the pair has, without a value."""
        roles = {k: v for k, v in self.roles.items() if k != "holdout"}
        return f"seed {self.seed}: columns {self.plan}, roles {roles}, holdout {'holdout' in self.roles}"


def nasty(seed: int, mild: bool = False) -> Nasty:
    """The pair of one seed; a mild one has nothing that the door is known to refuse, so that measures get to see it."""
    rng = np.random.default_rng([seed, 20_26 + mild])
    makers = [m for m in MAKERS if not (mild and m in REFUSED)]
    tame = rng.random() < 0.6  # most columns of most tables are usual, else no measure would get past the door
    plan: dict[str, str] = {}
    names = [str(v) for v in rng.permutation(NAMES if rng.random() < 0.5 else NAMES[:4])]
    names = [name for name in names if not (mild and name in PATTERNS)]
    for name in names[: int(rng.integers(1, 6))]:
        usual = rng.random() < (0.8 if tame else 0.3)
        plan[name] = str(rng.choice(USUAL if usual else makers))
    sizes = [int(v) for v in rng.choice(SIZES, 3, p=[0.02, 0.06, 0.06, 0.06, 0.1, 0.2, 0.3, 0.2])]
    sizes = [max(size, int(mild)) for size in sizes]
    roles = {
        k: v for k, v in _roles(rng, plan, tame).items() if not (mild and k in ("special_codes", "schema", "exclude"))
    }
    kept = [*(roles.get("keys") or ()), roles.get("target")] if mild else []
    original = _table(rng, plan, sizes[0])
    released = original if rng.random() < 0.06 else _table(rng, _other(rng, plan, tame, makers, kept), sizes[1])
    if roles.get("row_paired") and rng.random() < 0.8:
        released = _table(rng, plan, sizes[0])
    if rng.random() < 0.4:
        roles["holdout"] = _table(rng, _other(rng, plan, tame, makers, kept), sizes[2])
    _add_numbers(rng, roles, mild, original, released)
    library = str(rng.choice(["polars", "pandas", "pyarrow", "lazy", "mixed"], p=[0.6, 0.15, 0.1, 0.1, 0.05]))
    tables = [_as(library, original, rng), _as(library, released, rng)]
    if "holdout" in roles:
        roles["holdout"] = _as(library, roles["holdout"], rng)
    if rng.random() < 0.06:
        tables[1] = [tables[1], _as(library, _table(rng, plan, sizes[2] or 1), rng)]
    return Nasty(seed, tables[0], tables[1], roles, {**plan, "library": library})


def _table(rng: np.random.Generator, plan: dict[str, str], n: int) -> pl.DataFrame:
    frame = pl.DataFrame([MAKERS[maker](rng, n).alias(name) for name, maker in plan.items()])
    if frame.height > 1 and rng.random() < 0.1 and not frame.schema.contains_dtype(pl.Object, recursive=False):
        frame = frame[[0] * frame.height]  # every record the same person
    return frame


def _other(
    rng: np.random.Generator, plan: dict[str, str], tame: bool, makers: list[str], kept: list[Any]
) -> dict[str, str]:
    """The columns of another table: some lost, some new, some of another type."""
    changed = dict(plan)
    free = [name for name in changed if name not in kept]
    if rng.random() < (0.05 if tame else 0.2) and len(free) > 1:
        changed.pop(free[int(rng.integers(0, len(free)))])
    if rng.random() < 0.1:
        changed[str(rng.choice(NAMES[:20]))] = str(rng.choice(makers))
    if rng.random() < (0.1 if tame else 0.35):
        changed[str(rng.choice(list(changed)))] = str(rng.choice(makers))
    return changed


def _roles(rng: np.random.Generator, plan: dict[str, str], tame: bool) -> dict[str, Any]:
    names = [str(v) for v in rng.permutation(list(plan))]
    roles: dict[str, Any] = {}
    if rng.random() < 0.85:
        roles["keys"] = names[: int(rng.integers(1, len(names) + 1))]
        roles["keys"] = roles["keys"][:-1] or roles["keys"]
    if rng.random() < 0.85:
        roles["target"] = names[-1]
        roles["keys"] = [k for k in roles.get("keys", ()) if k != names[-1]] or None
    if rng.random() < 0.08:
        roles["missing"] = str(rng.choice(["level", "drop", "wildcard", "category", "nonsense"]))
    if rng.random() < (0.05 if tame else 0.15):
        roles["special_codes"] = {str(rng.choice(names)): _any(rng, [[-8], [7654.25], "x", [None], [[1]], -8, []])}
    if rng.random() < (0.08 if tame else 0.25):
        roles["schema"] = {str(rng.choice(names)): _wish(rng)}
    if rng.random() < 0.05:
        roles["row_paired"] = True
    if rng.random() < 0.05:
        roles["exclude"] = [str(rng.choice(names))]
    if rng.random() < 0.04:
        roles["keys"] = _any(rng, [["nobody"], [names[0], names[0]], names[0], [0], []])
    return roles


def _wish(rng: np.random.Generator) -> Any:
    return _any(rng, [
        *KINDS, LABELS[:2], [*LABELS[:2], LABELS[0]], [], [None, LABELS[0]], {"kind": "numeric", "levels": LABELS[:2]},
        {"levels": [1, 1]}, {"ordered": True}, {"what": 1}, "nonsense", 3, None, {"kind": 7},
    ])  # fmt: skip


def _add_numbers(rng: np.random.Generator, roles: dict[str, Any], mild: bool, *tables: pl.DataFrame) -> None:
    """Sometimes a weights column and a cluster column, not always sane ones. The tables are changed in place."""
    for role, chance in (("weights", 0.1), ("cluster", 0.1)):
        if rng.random() >= chance:
            continue
        name = str(rng.choice(["wgt", "hh", "size", "o_"]))
        sane = ["whole", "whole"] if role == "weights" else ["names", "running number"]
        maker = str(
            rng.choice(sane if mild else [*sane, "zeros", "special floats", "labels", "nearly missing", "codes"])
        )
        for table in {id(t): t for t in (*tables, *([roles["holdout"]] if "holdout" in roles else []))}.values():
            if name not in table.columns and rng.random() < 0.9:
                table.insert_column(0, MAKERS[maker](rng, table.height).alias(name))
        roles[role] = name


def _any(rng: np.random.Generator, choices: list[Any]) -> Any:
    return choices[int(rng.integers(0, len(choices)))]


def _as(library: str, frame: pl.DataFrame, rng: np.random.Generator) -> Any:
    if library == "lazy":
        return frame.lazy()
    plain = not any(d in (pl.Object, pl.Int128) for d in frame.dtypes)
    if library == "pyarrow" and plain:
        return frame.to_arrow()
    if library == "pandas" or (library == "mixed" and rng.random() < 0.5):
        import pandas as pd

        made = frame.to_pandas() if plain else pd.DataFrame({c: frame[c].to_list() for c in frame.columns})
        if rng.random() < 0.3:
            extra = pandas_columns(rng, len(made))
            chosen = str(rng.choice(list(extra)))
            made[chosen] = extra[chosen].to_numpy() if rng.random() < 0.3 else extra[chosen].array
        return made
    return frame
