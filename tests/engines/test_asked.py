"""Of very many people a stated sample is asked about; what each of them is told does not depend on who else is asked,
and whom they are compared with is never thinned."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.disclosure.gdpr import linkability
from glasshouse.disclosure.membership import classifier
from glasshouse.engines import asked as asking
from glasshouse.engines.asked import everybody, number_asked, people_asked
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.others import nearest_others
from glasshouse.engines.neighbours.search import Space

SAMPLED = {
    "near_copies": "people",
    "epsilon_identifiability": "people",
    "domias": "people",
    "membership_classifier": "people",
    "rare_agreement": "people",
    "exact_copies": "people",
    "dcr": "queries",
    "nndr": "queries",
    "hitting_rate": "queries",
    "linkability": "n_attacks",
    "inference": "n_attacks",
}


def people(seed: int, n: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "home": pl.Series(np.arange(n) // 2) + 10_000 * seed,
            "age": rng.integers(18, 90, n),
            "pay": rng.gamma(2, 900, n).round(-1),
            "sex": rng.choice(["w", "m"], n),
            "job": rng.choice(list("abcdefgh"), n),
        }
    )


def made(leak: int = 0, cluster: str | None = None, n: int = 600) -> gh.Pair:
    original, released, holdout = people(1, n), people(2, n), people(3, n // 2)
    released = pl.concat([original.head(leak), released.tail(n - leak)])
    exclude = [] if cluster else ["home"]
    return gh.Pair(
        original, released, holdout=holdout, keys=["age", "sex"], target="job", cluster=cluster, exclude=exclude
    )


def few(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """So few count as very many people."""
    for name in ("MOST", "SAMPLE"):
        monkeypatch.setattr(asking, name, number)
    for measure in (linkability, classifier):
        monkeypatch.setattr(measure, "LOOKED_UP" if measure is linkability else "MOST", number)


def test_everybody_up_to_the_limit_and_a_sample_above() -> None:
    assert number_asked(None, asking.MOST) is None
    assert number_asked(None, asking.MOST + 1) == asking.SAMPLE < asking.MOST
    assert number_asked(None, asking.MOST + 1, sample=10**9) == asking.MOST + 1
    assert number_asked("all", 10**9) is None
    assert number_asked(50, 40) is None
    for wrong in (0, -3, "everyone"):
        with pytest.raises(gh.InputError, match="people must be a positive number, or 'all'"):
            number_asked(wrong, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("cluster", [None, "home"])
@pytest.mark.parametrize("missing", ["level", "ignore", "match", "mismatch"])
def test_what_somebody_is_told_does_not_depend_on_who_else_is_asked(cluster: str | None, missing: str) -> None:
    pair = made(40, cluster)
    space = gower_space(pair, missing=missing)
    some = people_asked(pair, 90, 0)
    whole, part = (nearest_others(space, pair, 2, None, who) for who in (everybody(pair), some))
    for table in ("original", "holdout"):
        np.testing.assert_array_equal(some.of(table, whole[table]), part[table])


def test_the_same_people_are_asked_whatever_the_order_of_the_rows() -> None:
    pair = made()
    turned = pair.replace(original=people(1, 600).reverse(), holdout=people(3, 300).reverse())
    first, second = (people_asked(p, 100, 0) for p in (pair, turned))
    for table, seed, n in (("original", 1, 600), ("holdout", 3, 300)):
        table_ = people(seed, n).drop("home")
        drawn = [t[who.rows[table]].sort(pl.all()) for t, who in ((table_, first), (table_.reverse(), second))]
        assert drawn[0].equals(drawn[1])


def test_measures_ask_about_the_same_people_and_share_their_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 100)
    pair, asked = made(), list[tuple[int, int]]()
    search = Space.search

    def heard(space: Space, query: Any, reference: Any, *given: Any, **more: Any) -> Any:
        asked.append((query.n, reference.n))
        return search(space, query, reference, *given, **more)

    monkeypatch.setattr(Space, "search", heard)
    gh.disclosure.domias(pair)
    gh.disclosure.near_copies(pair)
    alone = list(asked)
    gh.disclosure.exact_copies(pair)
    assert all(n < 100 for n, _ in asked[len(alone) :]), "only who is copied and was not asked about is looked up"
    gh.disclosure.epsilon_identifiability(pair)  # on scales of its own
    assert len(asked) > len(alone)


@pytest.mark.parametrize("missing", ["level", "ignore"])
def test_almost_equal_records_are_counted_alike_with_and_without_the_nearest(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = people(1, 600)
    near = original.with_columns(pl.col("pay") + np.tile([0.0, 10.0, 20.0, 500.0], 150))
    pair = made().replace(original=original, released=near)
    nearest = gh.disclosure.identical(pair, missing=missing, near=0.002).details
    few(monkeypatch, 100)
    bounded = gh.disclosure.identical(pair, missing=missing, near=0.002).details
    assert bounded == nearest and bounded["n_near_copies"] > 0


@pytest.mark.parametrize(("name", "option"), SAMPLED.items())
def test_a_sample_of_everybody_gives_the_figures_of_everybody(name: str, option: str) -> None:
    measure = all_measures()[name]
    one, other = (measure(made(60), **{option: wish}) for wish in (None, 10_000))
    assert (one.value, one.p_value, one.holdout) == (other.value, other.p_value, other.holdout)
    assert not [said for said in one.warnings if "drawn at random" in said]


@pytest.mark.parametrize("cluster", [None, "home"])
@pytest.mark.parametrize(("name", "option"), SAMPLED.items())
def test_a_sample_is_said_and_says_about_what_everybody_says(
    name: str, option: str, cluster: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, pair = all_measures()[name], made(120, cluster)
    everybody_ = measure(pair, **{option: "all"})
    few(monkeypatch, 250)
    given: dict[str, Any] = {"people": 400} if name == "rare_agreement" else {}  # it has a rule of its own
    some = measure(pair, **given)
    assert [said for said in some.warnings if "drawn at random" in said and "'all'" in said]
    assert some.p_value is not None and some.p_value < 0.01 and everybody_.p_value < 0.01
    assert abs(some.value - everybody_.value) < 0.1
    if some.interval is not None and everybody_.interval is not None and name != "exact_copies":
        assert np.diff(some.interval) > np.diff(everybody_.interval), "fewer people, a wider interval"
    if name not in ("dcr", "nndr", "hitting_rate"):  # those ask about released records
        assert len(some.records) == 600


def test_exact_copies_are_looked_for_of_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gh.disclosure.exact_copies(made(12))
    few(monkeypatch, 50)
    some = gh.disclosure.exact_copies(made(12))
    assert (some.value, some.interval, some.holdout) == (whole.value, whole.interval, whole.holdout)
    assert some.p_value is not None and some.p_value < 0.05


@pytest.mark.parametrize("name", ["near_copies", "domias", "epsilon_identifiability", "exact_copies"])
def test_a_clean_release_stays_clean_when_a_sample_is_asked_about(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 150)
    found = []
    for seed in range(12):
        tables = [people(10 * seed + i + 4, n) for i, n in enumerate((400, 400, 200))]
        pair = gh.Pair(tables[0], tables[1], holdout=tables[2], exclude=["home"])
        found.append(all_measures()[name](pair, random_state=seed).p_value)
    assert np.mean(np.asarray(found) < 0.05) <= 0.25


def test_one_word_for_a_whole_assessment(monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, 100)
    pair = made()
    names = ["near_copies", "dcr", "linkability"]
    some, everyone = gh.assess(pair, measures=names), gh.assess(pair, measures=names, people="all")
    for name in names:
        assert [said for said in some.results[name].warnings if "drawn at random" in said]
        assert not [said for said in everyone.results[name].warnings if "drawn at random" in said]
    named = gh.assess(pair, measures=names, people="all", options={"dcr": {"queries": 60}})
    assert named.results["dcr"].settings["options"]["queries"] == 60, "what is said about one measure wins"


@pytest.mark.parametrize(("name", "option"), SAMPLED.items())
def test_hardly_anybody_asked_about_is_an_answer_or_a_sentence(name: str, option: str) -> None:
    for few in (1, 2, 3):
        try:
            found = all_measures()[name](made(), **{option: few})
        except gh.InputError as refused:
            assert "people must be" in str(refused)
        else:
            assert found.status == "ok" or "raise people=" in str(found.reason), found.reason
