"""What one person decides stays in the house: the kind of a column, whether a figure exists that is not told, which
test stopped, and the order of p values where nothing was found."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError
from glasshouse.core.outside import Gate
from glasshouse.core.result import Result
from glasshouse.core.told import HIDDEN, tell
from glasshouse.core.words import THREATS

N = 200


def coded(seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.integers(1, 3, n),
            "age": rng.integers(20, 80, n),
            "since": [f"19{y}-0{m}-11" for y, m in zip(rng.integers(50, 99, n), rng.integers(1, 9, n), strict=True)],
            "pay": rng.normal(5000, 900, n).round(1),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )


def odd(table: pl.DataFrame, column: str, value: object) -> pl.DataFrame:
    values = table[column].to_list()
    values[-1] = value
    return table.with_columns(pl.Series(column, values, dtype=table[column].dtype))


def towns(prefix: str, seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "zip": [f"{prefix}{k}" for k in rng.integers(100, 160, n)],
            "sex": rng.choice(["w", "m"], n),
            "ill": rng.choice(["a", "b", "c"], n),
            "x": rng.normal(size=n).round(2),
        }
    )


RELEASED = towns("s", 2)
STRANGERS = towns("o", 3).with_columns(
    pl.when(pl.int_range(N) < 30).then(pl.Series(RELEASED[c].to_list()[50:] + [""] * 50)).otherwise(c).alias(c)
    for c in ("zip", "sex")
)


def matched(people: int) -> pl.DataFrame:
    """People who all live elsewhere than in the release, but for the first few."""
    own = towns("o", 1)
    return own.with_columns(
        pl.when(pl.int_range(N) < people).then(RELEASED[c]).otherwise(c).alias(c) for c in ("zip", "sex")
    )


def assessed(original: pl.DataFrame, holdout: pl.DataFrame | None, measures: list[str]) -> Any:
    return gh.assess(
        original, RELEASED, holdout=holdout, keys=["zip", "sex"], target="ill", measures=measures, progress=False
    )


def _of(measure: Any, **fields: Any) -> Result:
    return Result(**fields)._copy(name=measure.name, measure=measure)


# -- kinds -------------------------------------------------------------------------------------------------------------


def test_the_kind_of_a_column_is_not_told_by_who_looks_at_it() -> None:
    original, released = coded(1), coded(2)
    changed = odd(original, "sex", 3)
    assert gh.Pair(original, released).schema["sex"].kind != gh.Pair(changed, released).schema["sex"].kind
    for measure in (gh.utility.kolmogorov_smirnov, gh.utility.hellinger):
        told = [measure(table, released).to_dict("external")["columns"] for table in (original, changed)]
        assert told == [{}, {}]


def test_one_text_among_dates_is_an_error_that_quotes_nobody() -> None:
    with pytest.raises(InputError, match=r"column 'since' is dates in the released table and text") as said:
        gh.Pair(odd(coded(1), "since", "Kalinka 1911"), coded(2))
    assert "Kalinka" not in str(said.value)


def test_advice_names_no_numeric_column() -> None:
    original = coded(1)
    released = pl.concat([original[:80].with_columns(pl.col("pay") + 0.3), coded(2)[80:]])
    said = []
    for table in (original, odd(original, "sex", 3)):
        found = gh.assess(table, released, holdout=coded(3), keys=["age"], target="ill", measures=["hitting_rate"])
        said.append([r["text"] for r in found.content("external")["recommendations"]])
    assert said[0] == said[1] and any("numeric columns" in text for text in said[0])


def test_that_no_column_is_numeric_is_not_told() -> None:
    measure = all_measures()["kolmogorov_smirnov"]
    told = tell(_of(measure, status="not_applicable", needs="numeric", reason="x"), Gate(5))
    assert told.status == HIDDEN and "numeric" not in str(told.reason)


# -- whether a figure exists -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strangers", "measures"), [(True, ["cap", "tcap", "disco"]), (False, ["cap", "tcap", "disco"]), (False, ["tcap"])]
)
def test_nobody_and_few_look_alike_everywhere(strangers: bool, measures: list[str]) -> None:
    """Where a test is the only one of its threat, the status of the threat tells whether it ran; that is a decision."""
    holdout = STRANGERS if strangers else None
    found = [assessed(matched(k), holdout, measures) for k in (0, 1, 4)]
    assert found[0].results["tcap"].value is None and found[1].results["tcap"].value is not None
    assert len({json.dumps(a.content("external")) for a in found}) == 1
    assert len({a.to_markdown(audience="external") for a in found}) == 1
    assert "tcap" in found[0].content("external")["population"]


def test_a_map_of_nobody_and_few_looks_alike() -> None:
    seen = set()
    for k in (0, 1, 4):
        pair = gh.Pair(matched(k), RELEASED, keys=["zip", "sex"], target="ill", holdout=STRANGERS)
        asked = ["tcap", "cap", "disco", "exact_copies", "kolmogorov_smirnov", "hellinger"]
        content = gh.compare(pair, {"A": RELEASED, "B": towns("s", 7)}, measures=asked).content("external")
        assert "tcap" in content["left_out"] and "tcap" not in content["measures"]
        assert sum(content["weights"]["risk"].values()) == pytest.approx(1)
        seen.add(json.dumps(content))
    assert len(seen) == 1


# -- stopped tests, order, constants -----------------------------------------------------------------------------------


def test_which_tests_stopped_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    measures = ["exact_copies", "cap", "uniques", "domias"]
    whole = assessed(matched(0), STRANGERS, measures)

    def stops(*_: object, **__: object) -> Result:
        raise ZeroDivisionError

    monkeypatch.setitem(all_measures()["domias"].__dict__, "function", stops)
    stops.__name__ = "domias"
    stopped = assessed(matched(0), STRANGERS, measures)
    assert stopped.judgement_of("domias").status == "failed"
    assert "could not be run" not in stopped.content("external")["headline"]
    assert stopped.content("external")["counts"] == whole.content("external")["counts"]


def test_where_nothing_was_found_no_order_is_told() -> None:
    found = assessed(matched(0), STRANGERS, ["exact_copies", "cap", "uniques"])
    content = found.content("external")
    statuses = [content["threats"][name]["status"] for name in THREATS]
    assert content["leading"] == THREATS[statuses.index(content["threats"][content["leading"]]["status"])]
    for name, threat in content["threats"].items():
        if threat["status"] == "pass":
            told = [n for n in threat["deciding"] if content["results"][n]["status"] == "ok"]
            assert threat["worst"] == (told[0] if told else None), name


def test_a_constant_is_told_as_it_is() -> None:
    measure = all_measures()["membership_classifier"]
    found = _of(measure, value=0.71, baseline=0.5, of=300, of_holdout=300)
    assert tell(found, Gate(5)).baseline.value == 0.5
    few = _of(measure, value=0.71, baseline=0.5, of=4)
    assert tell(few, Gate(5)).to_dict()["baseline"] is None


@pytest.mark.parametrize("name", [n for n, m in all_measures().items() if m.chance is not None])
def test_a_declared_constant_is_what_the_measure_gives(name: str) -> None:
    measure = all_measures()[name]
    assert measure.run(gh.Pair(coded(1), coded(2), holdout=coded(3))).baseline == measure.chance
