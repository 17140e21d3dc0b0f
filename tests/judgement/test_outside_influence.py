"""How far one person moves what is told: by a step at most, however far out they are and however many released records
resemble them; whether anybody is there at all is not told by a status, a level or a sentence either."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.told import HIDDEN

N = 600
QUICK = {"n_attacks": 60, "trees": 10, "replicates": 5, "n_perm": 3, "permutations": 9, "draws": 5}
FIGURES = (
    "value",
    "shown",
    "baseline",
    "holdout",
    "interval",
    "difference",
    "exposure",
    "utility",
    "columns",
    "excess",
)
TOLD = [n for n, m in all_measures().items() if m.table == "pair" and m.influence != "free" and m.tier != "full"]


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 12, n).round()
    return pl.DataFrame(
        {
            "age": age,
            "income": np.round(np.exp(rng.normal(10, 0.6, n)) + 200 * age),
            "rent": np.round(np.exp(rng.normal(7, 0.4, n))),
            "town": rng.choice(list("abcdef"), n),
            "ill": rng.choice(["no", "yes", "maybe"], n, p=[0.6, 0.3, 0.1]),
        }
    )


ORIGINAL, RELEASED, HOLDOUT = (people(N, seed) for seed in (1, 2, 3))
# a release that copies some, and is wrong about the rest, so that no figure stands at an end of its range
LEAKING = pl.concat([ORIGINAL[:60], RELEASED[60:].with_columns(income=pl.col("income").shuffle(1) * 1.2)])


def told(name: str, original: pl.DataFrame, released: pl.DataFrame, target: str = "ill") -> Any:
    measure = all_measures()[name]
    options = {k: v for k, v in QUICK.items() if k in measure.options}
    pair = gh.Pair(original, released, holdout=HOLDOUT, keys=["age", "town"], target=target)
    content = measure.run(pair, **options).to_dict("external")
    return json.dumps({k: content[k] for k in FIGURES})


@pytest.mark.parametrize("name", TOLD)
def test_how_far_out_somebody_is_is_not_told(name: str) -> None:
    """One person at 8, 100, 10,000 and a million standard deviations: figures may step once, and follow nobody."""
    seen = set()
    for z in (8, 100, 1e4, 1e6):
        far = ORIGINAL[:1].with_columns(income=pl.lit(round(2e4 + 1.5e4 * z) * 1.0), rent=pl.lit(1200 + 500.0 * z))
        seen.add(told(name, pl.concat([ORIGINAL[1:], far]), LEAKING))
    assert len(seen) <= 2


@pytest.mark.parametrize("name", TOLD)
def test_one_person_behind_many_released_records_is_one_person(name: str) -> None:
    """Three released records stand there 15, 60 and 120 times; which of them is a real person's is not told."""
    often = [pl.concat([RELEASED[i : i + 1]] * k) for i, k in ((590, 15), (591, 60), (592, 120))]
    released = pl.concat([RELEASED[: N - 195], *often])
    seen = {told(name, pl.concat([ORIGINAL[1:], RELEASED[i : i + 1]]), released) for i in (590, 591, 592)}
    assert len(seen) <= 2


@pytest.mark.parametrize("name", ["identical", "repeated_records", "nndr", "hitting_rate", "regression_fidelity"])
def test_what_one_person_moves_far_is_not_told(name: str) -> None:
    measure = getattr(gh.disclosure, name, None) or getattr(gh.utility, name)
    found = measure(ORIGINAL, LEAKING, holdout=HOLDOUT, keys=["age", "town"], target="income")
    content = found.to_dict("external")
    assert found.value is not None and content["value"] is None and content["status"] == HIDDEN
    assert content["exposure"] is None and content["interval"] is None and content["p_value"] is None


@pytest.mark.parametrize("holdout", [60, 600])
def test_levels_tell_no_more_than_the_verdict(holdout: int) -> None:
    """0 to 4 copied people whose verdict is the same look the same, whatever the p value."""
    seen: dict[str, set[str]] = {}
    for k in range(5):
        original = pl.concat([ORIGINAL[: N - k], RELEASED[:k]])
        found = gh.assess(
            original,
            RELEASED,
            holdout=HOLDOUT[:holdout],
            keys=["town"],
            target="ill",
            measures=["exact_copies", "uniques"],
        )
        content = found.content("external")
        seen.setdefault(str({n: t.status for n, t in found.threats.items()}), set()).add(
            json.dumps([content["threats"], content["results"], content["headline"], content["p_value"]])
        )
    assert all(len(texts) == 1 for texts in seen.values()), {k: len(v) for k, v in seen.items()}


def test_how_few_can_be_exposed_is_not_told() -> None:
    """All records are shared by many but those of k people."""
    common = pl.DataFrame({"a": ["x", "y"] * 200, "b": ["u", "u", "v", "v"] * 100})

    def sentences(k: int) -> list[str]:
        odd = pl.DataFrame({"a": [f"only {i}" for i in range(k)], "b": ["u"] * k}, schema=common.schema)
        found = gh.assess(
            pl.concat([common[k:], odd]), common, holdout=common, keys=["b"], target="a", measures=["exact_copies"]
        )
        return [t["sentence"] for t in found.content("external")["threats"].values()]

    assert sentences(0) == sentences(1) == sentences(2) == sentences(4)


def test_nobody_to_ask_and_one_person_to_ask_look_alike() -> None:
    """tcap has nobody to ask where no key combination of the release has a single answer."""

    def result(matching: int) -> Any:
        released = pl.DataFrame({"k": ["a", "a"] * 50 + ["b"] * 2, "t": ["y", "n"] * 50 + ["y"] * 2})
        original = pl.DataFrame({"k": ["a"] * (100 - matching) + ["b"] * matching, "t": ["y", "n"] * 50})
        found = gh.assess(original, released, keys=["k"], target="t", measures=["tcap"])
        content = found.content("external")
        return content["results"]["tcap"], content["counts"]

    assert result(0) == result(1) == result(4)


def test_the_threshold_of_the_policy_holds_for_single_results() -> None:
    policy = gh.Policy.from_dict({"name": "strict", "min_count": 20, "leak": {}})
    released = pl.concat([ORIGINAL[:40], RELEASED[40:]])
    found = gh.assess(ORIGINAL, released, holdout=HOLDOUT, measures=["exact_copies"], policy=policy)
    own, inside = (
        found.results["exact_copies"].to_dict("external"),
        found.content("external")["results"]["exact_copies"],
    )
    assert (own["value"], own["shown"]) == (inside["value"], inside["shown"])
    unjudged = found.measured["exact_copies"].to_dict("external")
    assert (own["value"], own["shown"]) == (unjudged["value"], unjudged["shown"])
    again = found.under(None).results["exact_copies"].to_dict("external")
    assert again["value"] != own["value"], "the steps of another policy"


def test_the_fingerprint_of_a_release_is_its_own() -> None:
    whole = [t.with_columns(pl.col("age").cast(pl.Int64)) for t in (ORIGINAL, RELEASED)]
    odd = ORIGINAL.with_columns(age=pl.when(pl.int_range(N) < 1).then(45.5).otherwise("age"))
    prints = {gh.Pair(original, whole[1]).fingerprint("released") for original in (whole[0], ORIGINAL, odd)}
    assert len(prints) == 1


def test_a_fingerprint_is_the_same_in_every_library_and_for_every_type_of_time() -> None:
    from datetime import date, timedelta

    days = [date(2020, 1, 1) + timedelta(days=i) for i in range(30)]
    table = pl.DataFrame(
        {
            "day": days,
            "moment": pl.Series(days).cast(pl.Datetime("ns")),
            "stay": [timedelta(hours=i) for i in range(30)],
            "yes": [i % 3 == 0 for i in range(30)],
            "town": pl.Series([f"t{i % 4}" for i in range(30)]).cast(pl.Categorical),
        }
    )
    same = (table, table.to_pandas(), table.to_arrow())
    assert len({gh.Pair(t, t).fingerprint("released") for t in same}) == 1
    later = table.with_columns(pl.col("stay") + timedelta(hours=1))
    assert gh.Pair(later, later).fingerprint("released") != gh.Pair(table, table).fingerprint("released")


def test_kinds_and_small_tables_are_not_told() -> None:
    found = gh.assess(ORIGINAL[:40], RELEASED, holdout=HOLDOUT[:4], keys=["town"], measures=["exact_copies"])
    data = found.content("external")["data"]
    assert [t["records"] for t in data["tables"]] == [40, N, 10]
    assert {c["kind"] for c in data["columns"]} == {""} and {c["role"] for c in data["columns"]} == {"", "key"}
