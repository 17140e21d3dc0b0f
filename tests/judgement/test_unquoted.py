"""Values in the place of names are not repeated: what a list holds is said by its length and type, not by its content.
A single text, or a name that is close to a known one, may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import names_wanted

CANARY, N = "ZZcanary", 40
RNG = np.random.default_rng(0)
TABLE = pl.DataFrame(
    {
        "name": [f"{CANARY}{i}" for i in range(N)],
        "age": RNG.integers(20, 80, N),
        "income": [987654.25 + i for i in range(N)],
        "ill": RNG.choice(["a", "b"], N),
    }
)
RELEASED = TABLE.with_columns(name=pl.Series([f"s{i}" for i in range(N)]))
PAIR = gh.Pair(TABLE, RELEASED, keys=["age"], target="ill")

GIVEN: dict[str, Callable[[], Any]] = {
    "list": lambda: TABLE["name"].to_list(),
    "short list": lambda: TABLE["name"].to_list()[:2],
    "tuple": lambda: tuple(TABLE["name"].to_list()),
    "set": lambda: set(TABLE["name"]),
    "array": lambda: TABLE["name"].to_numpy(),
    "series": lambda: TABLE["name"],
    "pandas": lambda: TABLE.to_pandas()["name"],
    "numbers": lambda: TABLE["income"].to_list(),
    "one number": lambda: 987654.25,
    "record": lambda: TABLE.row(0),
}
QUICK: dict[str, Any] = {"measures": ["disco"], "progress": False}
ASKED: dict[str, Callable[[Any], Any]] = {
    "keys": lambda v: gh.Pair(TABLE, RELEASED, keys=v, target="ill"),
    "target": lambda v: gh.Pair(TABLE, RELEASED, keys=["age"], target=v),
    "exclude": lambda v: gh.Pair(TABLE, RELEASED, exclude=v),
    "released": lambda v: gh.Pair(TABLE, v),
    "replaced keys": lambda v: PAIR.replace(keys=v),
    "scenario keys": lambda v: gh.scenarios(PAIR, keys=v, **QUICK),
    "scenario target": lambda v: gh.scenarios(PAIR, target=v, **QUICK),
    "measures": lambda v: gh.assess(PAIR, measures=v, progress=False),
    "scenario measures": lambda v: gh.scenarios(PAIR, measures=v, progress=False),
    "compared measures": lambda v: gh.compare(PAIR, {"A": RELEASED}, measures=v, progress=False),
    "compared risk": lambda v: gh.compare(PAIR, {"A": RELEASED}, risk=v, progress=False),
    "compared releases": lambda v: gh.compare(PAIR, v, **QUICK),
    "attackers": lambda v: gh.disclosure.rapid(PAIR, attackers=v, trees=5),
    "audit": lambda v: gh.audit(PAIR, attacks=v),
    "protected": lambda v: gh.mitigate(PAIR, protect=v),
    "allowed": lambda v: gh.mitigate(PAIR, allow=v),
    "swapped": lambda v: gh.protection.swap_ranks(TABLE, v),
    "keys to suppress": lambda v: gh.protection.suppress_locally(TABLE, v),
    "operation": lambda v: gh.protection.Step(v, {}),
}


@pytest.mark.parametrize("what", list(ASKED))
@pytest.mark.parametrize("form", list(GIVEN))
def test_values_in_the_place_of_names_are_not_repeated(what: str, form: str) -> None:
    with pytest.raises(gh.GlasshouseError) as caught:
        ASKED[what](GIVEN[form]())
    assert CANARY not in str(caught.value) and "987654" not in str(caught.value)


def test_names_are_repeated_where_they_help() -> None:
    with pytest.raises(gh.InputError, match="key 'postcode' is not in the original"):
        gh.Pair(TABLE, RELEASED, keys=["age", "postcode"])
    with pytest.raises(gh.InputError, match="key 'postcode' is not in the original"):
        gh.Pair(TABLE, RELEASED, keys="postcode")
    with pytest.raises(gh.InputError, match="'agee' is not in the original; did you mean 'age'"):
        gh.Pair(TABLE, RELEASED, keys=["agee", "incom"])
    with pytest.raises(gh.InputError, match="there is no measure 'discoo'; did you mean 'disco'"):
        gh.assess(PAIR, measures=["discoo", "cap"])
    with pytest.raises(gh.InputError, match=r"file not found: nowhere\.csv"):
        gh.Pair(TABLE, ["nowhere.csv", "elsewhere.csv"])


def test_what_is_said_instead() -> None:
    with pytest.raises(
        gh.InputError, match=r"keys takes names, and 2 of 2 given \('str'\) cannot be one.*'age', 'sex'"
    ):
        names_wanted("keys", ["Miller", "Smith"], ["age", "sex"])
    with pytest.raises(gh.InputError, match=r"1 of 1 given \('float'\)"):
        names_wanted("keys", [3.5], ["age", "sex"])
    names_wanted("keys", ["age", "Miller"], ["age", "sex"])
    names_wanted("keys", ["1", "0"], ["0", "1"])
    names_wanted("keys", [], [])


LEVEL = f"{CANARY}0"
LEVELS_ASKED: dict[str, Callable[[], Any]] = {
    "mapping of mappings": lambda: gh.protection.merge_levels(TABLE, "name", {LEVEL: {LEVEL: 1}}),  # type: ignore[dict-item]
    "mapping into a level": lambda: gh.protection.merge_levels(TABLE, "name", {f"{CANARY}1": LEVEL}),
    "matrix of texts": lambda: gh.protection.pram(TABLE, "ill", {LEVEL: "a"}),  # type: ignore[dict-item]
    "matrix to a level": lambda: gh.protection.pram(
        TABLE, "age", {str(age): {LEVEL: 1.0} for age in TABLE["age"].unique()}
    ),
    "level twice in a recipe": lambda: gh.protection.Recipe.from_toml(
        f'[[step]]\noperation = "merge_levels"\ncolumns = ["name"]\nmapping = {{{LEVEL} = "x", {LEVEL} = "y"}}'
    ),
    "table twice in a recipe": lambda: gh.protection.Recipe.from_toml(f"[step.{LEVEL}]\nx = 1\n[step.{LEVEL}]\n"),
    "hierarchy that is not nested": lambda: gh.protection.Hierarchy(
        rows=[[LEVEL, "a", "z"], [f"{CANARY}1", "a", LEVEL]]
    ),
    "hierarchy without a level": lambda: gh.protection.recode_levels(
        TABLE, "ill", {"ill": gh.protection.Hierarchy(rows=[[LEVEL, "x"]])}, {"ill": 1}
    ),
}


@pytest.mark.parametrize("what", list(LEVELS_ASKED))
def test_levels_that_somebody_wrote_down_are_not_repeated(what: str) -> None:
    with pytest.raises(gh.GlasshouseError) as said:
        LEVELS_ASKED[what]()
    assert CANARY not in str(said.value) and said.value.__suppress_context__ is (said.value.__context__ is not None)


def test_levels_that_do_not_occur_are_counted() -> None:
    made = gh.protection.merge_levels(TABLE, "ill", {LEVEL: "x"})
    assert "1 level of the mapping does not occur" in made.notes[0] and CANARY not in " ".join(made.notes)
