"""gh.mitigate and what columns are to a pair: weights, names, households, and columns that no measure looks at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.judgement.mitigation.evidence import Bench, Candidate
from glasshouse.judgement.mitigation.findings import Failed, columns_of
from glasshouse.judgement.mitigation.mitigated import shortfalls
from glasshouse.judgement.mitigation.proposals import allowed_of, proposals
from glasshouse.judgement.mitigation.search import Search, _idle
from glasshouse.judgement.mitigation.states import State
from tests.judgement.mitigation.conftest import COPIED, N, planted

NAMED = gh.Policy.from_dict(
    {
        "name": "small",
        "require": ["copying"],
        "leak": {"tolerance": 5},
        "run": {"measures": ["exact_copies", "shared_identifiers"]},
    }
)


def words(seed: int, size: int) -> pl.Series:
    """Names without anything in common."""
    letters = np.random.default_rng(seed).choice(list("abcdefghij"), (size, 8))
    return pl.Series("name", ["".join(one) for one in letters])


@pytest.fixture(scope="module")
def weighted() -> gh.Pair:
    """Copies that have weights, numbers and comments of their own."""
    pair = planted()
    rng = np.random.default_rng(1)
    tables = {
        role: pair.local(role).with_columns(
            w=pl.Series(rng.gamma(3, 30, pair.n(role)).round(2)),
            number=pl.Series(rng.integers(0, 40, pair.n(role))),
            about=words(5 + at, pair.n(role)),
        )
        for at, role in enumerate(pair.tables)
    }
    roles = {"keys": pair.keys, "weights": "w", "exclude": ["number"], "schema": {"about": "identifier"}}
    return gh.Pair(**tables, **roles)


def redrawn(pair: gh.Pair, protect: tuple[str, ...] = ()) -> Any:
    """The first proposal that draws copies anew, carried out."""
    found = proposals(allowed_of(["redraw_records"]), columns_of(pair, protect), Failed(("copying",), ()), pair)
    return found[0].operation(pair._given["released"], original=pair._given["original"], **found[0].arguments)


def test_copies_with_weights_of_their_own_are_copies(weighted: gh.Pair) -> None:
    made = redrawn(weighted)
    assert made.records == COPIED
    assert gh.disclosure.exact_copies(weighted.replace(released=made)).value == 0
    assert made.columns["w"] == COPIED, "the weight is the person's too"
    assert "number" not in made.columns and "about" not in made.columns


@pytest.mark.parametrize("column", ["w", "number", "about"])
def test_what_is_protected_stays_whatever_it_is_to_the_pair(weighted: gh.Pair, column: str) -> None:
    assert redrawn(weighted, (column,)).table[column].equals(weighted._given["released"][column])
    found = proposals(allowed_of(None), columns_of(weighted, (column,)), Failed(("identity",), ()), weighted)
    assert found and not [p for p in found if p.operation.touches == "model"], "models change every column"


def test_models_make_no_numbers_of_households() -> None:
    pair = planted()
    house = [
        pair.local(t).with_columns(house=pl.Series(np.arange(N) // 3 + 1000 * i)) for i, t in enumerate(pair.tables)
    ]
    grouped = gh.Pair(house[0], house[1], holdout=house[2], cluster="house")
    found = proposals(allowed_of(["resynthesise"]), columns_of(grouped, ()), Failed(("identity",), ()), grouped)
    assert [p.arguments["keep"] for p in found] == [["house"]] * 3


def test_reasons_for_missing_are_not_blurred() -> None:
    pair = planted()
    coded = [pair.local(t).with_columns(income=pl.Series(np.where(np.arange(N) % 9, pair.local(t)["income"], -9.0)))
             for t in pair.tables]  # fmt: skip
    given = {"holdout": coded[2], "keys": pair.keys, "special_codes": {"income": -9}}
    pair = gh.Pair(coded[0], coded[1], **given)
    columns = columns_of(pair, ())
    model = proposals(allowed_of(["resynthesise"]), columns, Failed(("identity",), ()), pair)[0]
    made = model.operation(coded[1], original=coded[0], **model.arguments).table["income"]
    least = coded[0]["income"].filter(coded[0]["income"] != -9).min()
    assert (made == -9).any() and (made.filter(made != -9) >= least).all()
    assert "income" not in (*columns.numeric, *columns.categorical, *columns.telling) and "age" in columns.numeric
    assert "income" in columns_of(gh.Pair(coded[0], coded[1], **given | {"special_codes": None}), ()).numeric


def test_names_go_before_anything_else_is_looked_at() -> None:
    """Names that are published hide what else fails, and what takes them away is far from the policy by itself."""
    pair = planted()
    names = words(0, N)
    named = gh.Pair(
        pair.local("original").with_columns(names), pair.local("released").with_columns(names),
        holdout=pair.local("holdout").with_columns(words(1, N)), keys=pair.keys, target="disease_status",
    )  # fmt: skip
    policy = NAMED.validated(all_measures())
    bench = Bench(named, policy, {}, 0, 1, policy.run["measures"])
    columns, allowed = columns_of(named, ()), allowed_of(["drop_identifiers", "redraw_records"])
    tables = named._given["original"], named._given["released"]
    search = Search(bench, *tables, columns, allowed, (), 2, 0, lambda tried, title: None)
    start = bench.judge(Candidate(named))
    asked = bench.against(start)
    assert "shared_identifiers" in [m.name for m in asked]
    first = State(tables[1], Candidate(named), decision=start, shortfall=bench.shortfall(start))
    begin = search.unnamed(first, start, asked)
    assert begin.done == [("drop_identifiers", 0)] and begin.shortfall < first.shortfall and not begin.passes
    assert "shared_identifiers" not in [m.name for m in asked] and "exact_copies" in [m.name for m in asked]
    nobody = Search(bench, *tables, columns_of(named, ("name",)), allowed, (), 2, 0, lambda tried, title: None)
    assert nobody.unnamed(first, start, asked) is first, "what is protected stays"


def test_of_every_threat_the_operation_that_does_most_is_tried_on_top() -> None:
    """Five operations against copies bring the release nearer than the only ones against identity."""

    def state(name: str, cells: int = 100, **parts: float) -> Any:
        return SimpleNamespace(done=[(name, 0)], shortfall=sum(parts.values()), parts=parts, cells=cells)

    begin = state("", copying=3.0, identity=1.0)
    level = [state(f"copies {i}", copying=0.1 * i, identity=1.0) for i in range(5)]
    level += [state("all", copying=2.8, identity=0.2), state("few", copying=2.9, identity=0.2, cells=10)]
    level += [state("nothing", copying=3.0, identity=1.0)]
    assert _idle(level, begin, lambda one: one.parts) == {"copies 4", "all", "nothing"}  # type: ignore[attr-defined]


def test_what_is_open_for_one_reason_is_said_once() -> None:
    def threat(name: str, sentence: str) -> Any:
        return SimpleNamespace(name=name, status="not_assessed", required=True, sentence=f"Not assessed: {sentence}")

    threats = [threat("identity", "No holdout."), threat("attribute", "No target."), threat("copying", "No holdout.")]
    after: Any = SimpleNamespace(
        verdict="incomplete", threats={t.name: t for t in threats}, outcomes=SimpleNamespace(outcomes=[])
    )
    said = shortfalls(after, State(None, None), False)  # type: ignore[arg-type]
    assert said == ["Not assessed: identity and copying. No holdout.", "Not assessed: attribute. No target."]


def test_arguments_of_other_calls_are_answered_with_those_of_this_one() -> None:
    with pytest.raises(TypeError) as stopped:
        gh.mitigate(gh.data.load("health").pair(), measures=["disco"])
    assert "no argument 'measures'; it has" in str(stopped.value)
    assert "'allow'" in str(stopped.value)
