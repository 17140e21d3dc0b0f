"""Tests that look for copies: hand examples, planted leaks, clean releases, clusters, bad input."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.plain import p_value
from glasshouse.disclosure.copying.found import with_chance
from glasshouse.disclosure.copying.pooled import exact_scores, near_scores, pooled
from glasshouse.disclosure.wording import against

exact_copies, near_copies = gh.disclosure.exact_copies, gh.disclosure.near_copies
rare_agreement, repeated_records = gh.disclosure.rare_agreement, gh.disclosure.repeated_records
copies_but_one = gh.disclosure.copies_but_one
ALL = (exact_copies, copies_but_one, near_copies, rare_agreement, repeated_records)


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(np.exp(z + rng.normal(size=n)) * 1000, 0),
            "town": rng.choice(list("abcdefgh"), n),
            "score": np.round(z + rng.normal(size=n), 2),
            "ill": np.where(z + rng.normal(size=n) > 1, "yes", "no"),
        }
    )


def with_leak(kind: str, share: float, seed: int, n: int = 500) -> gh.Pair:
    rng = np.random.default_rng(seed)
    original, released, holdout = (people(n, 10 * seed + i) for i in range(3))
    m = round(share * n)
    leaked = original[rng.choice(n, m, replace=False)]
    if kind == "noisy":
        leaked = leaked.with_columns(
            income=pl.col("income") + pl.Series(np.round(rng.normal(size=m) * 5)),
            score=pl.col("score") + pl.Series(rng.normal(size=m) * 0.01),
        )
    elif kind == "cell":
        which = rng.integers(0, leaked.width, m)
        leaked = leaked.with_columns(
            pl.when(pl.Series(which == i)).then(released[c][:m]).otherwise(leaked[c]).alias(c)
            for i, c in enumerate(leaked.columns)
        )
    elif kind == "once":
        leaked = pl.concat([original.sort("income")[-1:]] * m)
    return gh.Pair(original, pl.concat([released[m:], leaked]), holdout=holdout)


def test_by_hand() -> None:
    """Two originals are twins, one is copied, one nearly; the holdout person is far from the release."""
    original = pl.DataFrame({"x": [0.0, 0.0, 1.0, 5.0, 10.0]})
    released = pl.DataFrame({"x": [0.0, 1.0, 5.2]})
    holdout = pl.DataFrame({"x": [8.0, 3.0]})
    pair = gh.Pair(original, released, holdout=holdout)
    found = pooled(pair, None, "level", None)
    assert found.isolation * 10 == pytest.approx([0, 0, 1, 2, 2, 2, 2])
    assert found.reach * 10 == pytest.approx([0, 0, 0, 0.2, 4.8, 2.8, 2.0])
    # the third is alone and copied: one of 7 people has that value, there were 3 chances to meet it, and 3 of 7 people
    # are no further from the next one
    copied = (found.isolation > 0) & (found.reach == 0)
    scores = exact_scores(copied, found.information, found.isolation, found.released, found.isolation)
    assert scores == pytest.approx([0, 0, np.log1p(0.01 * 7 / 3) * (1 + 3 / 7) ** 3, 0, 0, 0, 0])
    assert near_scores(found) == pytest.approx([0, 0, np.sqrt(0.1), 0.8**2 * np.sqrt(0.2), 0, 0, 0])
    result = exact_copies(pair)
    assert (result.value, result.holdout, result.difference) == (0.2, 0.0, 0.2)
    assert result.records["copied"].to_list() == [False, False, True, False, False]
    assert result.records["released_row"].to_list() == [None, None, 1, None, None]
    assert near_copies(pair).value == 0.4
    assert repeated_records(pair).value == 1


@pytest.mark.parametrize(
    ("kind", "share", "seen_by"),
    [
        ("verbatim", 0.03, exact_copies),
        ("verbatim", 0.03, rare_agreement),
        ("noisy", 0.06, near_copies),
        ("cell", 0.03, copies_but_one),
        ("noisy", 0.06, rare_agreement),
        ("once", 0.05, repeated_records),
    ],
)
def test_planted_leaks_are_seen(kind: str, share: float, seen_by: object) -> None:
    fails = sum(seen_by(with_leak(kind, share, seed)).verdict == "fail" for seed in range(1, 6))  # type: ignore[operator]
    assert fails >= 4


@pytest.mark.parametrize("measure", ALL)
def test_other_people_are_no_copies(measure: object) -> None:
    verdicts = [measure(with_leak("verbatim", 0.0, seed)).verdict for seed in range(20, 40)]  # type: ignore[operator]
    assert verdicts.count("fail") <= 1 and verdicts.count("pass") >= 16


def test_a_column_of_noise_does_not_hide_copies() -> None:
    pair = with_leak("verbatim", 0.04, 3)
    rng = np.random.default_rng(0)
    noisy = {t: pair.local(t).with_columns(noise=pl.Series(rng.normal(size=pair.n(t)))) for t in pair.tables}
    blind = gh.Pair(noisy["original"], noisy["released"], holdout=noisy["holdout"])
    assert exact_copies(pair).verdict == "fail" and exact_copies(blind).verdict == "pass"
    assert copies_but_one(blind).verdict == "fail" and copies_but_one(blind).value == copies_but_one(pair).value
    assert copies_but_one(blind.replace(holdout=None)).verdict is None, "no proof without people never in the data"
    assert rare_agreement(blind).verdict == "fail"


def test_without_a_holdout_a_copy_of_distinctive_people_is_called() -> None:
    leaking = with_leak("verbatim", 0.03, 1).replace(holdout=None)
    assert exact_copies(leaking).verdict == "fail"
    assert exact_copies(with_leak("verbatim", 0.0, 1).replace(holdout=None)).verdict is None, (
        "found none, excluded none"
    )
    assert near_copies(leaking).verdict is None and "holdout" in near_copies(leaking).warnings[0]
    assert rare_agreement(leaking).status == "not_applicable" and rare_agreement(leaking).needs == "holdout"


def test_coarse_data_have_no_copies_to_find() -> None:
    rng = np.random.default_rng(2)

    def coarse(n: int) -> pl.DataFrame:
        return pl.DataFrame({c: rng.choice(["a", "b", "c"], n) for c in "xyz"})

    for seed in range(10):
        pair = gh.Pair(coarse(300), coarse(300), holdout=coarse(300))
        for measure in ALL:
            assert measure(pair).verdict != "fail", (measure.name, seed)


def test_households_are_exchanged_whole() -> None:
    """Five records a household, all alike: without clusters a clean release would look like a leak."""

    def households(n: int, seed: int, first: int) -> pl.DataFrame:
        rows = people(n, seed)
        rng = np.random.default_rng(seed)
        wide = pl.concat([rows] * 5)
        own = np.tile(np.arange(first, first + n), 5)
        return wide.with_columns(score=pl.col("score") + pl.Series(rng.normal(size=5 * n) * 1e-3), hh=pl.Series(own))

    verdicts = []
    for seed in range(8):
        tables = [households(80, 100 + 3 * seed + i, 1000 * i) for i in range(3)]
        pair = gh.Pair(tables[0], tables[1], holdout=tables[2], cluster="hh")
        verdicts += [m(pair).verdict for m in (exact_copies, near_copies, rare_agreement)]
    assert verdicts.count("fail") <= 1


def test_the_sample_is_said_aloud_and_bad_options_are_sentences() -> None:
    pair = with_leak("verbatim", 0.04, 5)
    some = rare_agreement(pair, people=300)
    assert "300 of 1,000 real people" in some.warnings[0] and some.details["n_asked"] == 300
    assert some.records["gap"].null_count() > 0
    with pytest.raises(gh.InputError, match="people"):
        rare_agreement(pair, people=1)
    with pytest.raises(gh.InputError, match="column"):
        exact_copies(pair, columns=["nope"])
    infinite = pair.local("original").with_columns(income=pl.lit(float("inf")))
    with pytest.raises(gh.InputError, match="infinite"):
        near_copies(gh.Pair(infinite, pair.local("released"), holdout=pair.local("holdout")))


def test_copied_people_of_several_records_are_seen() -> None:
    """Four rows a person, alike: one's own other rows must not make a copied person look ordinary."""

    def panel(n: int, seed: int, first: int) -> pl.DataFrame:
        rows, rng = people(n, seed), np.random.default_rng(seed)
        wide = pl.concat([rows] * 4)
        return wide.with_columns(
            age=pl.col("age") + pl.Series(rng.integers(0, 2, 4 * n)), pid=pl.Series(np.tile(np.arange(n) + first, 4))
        )

    original, released, holdout = (panel(120, 50 + i, 1000 * i) for i in range(3))
    leaked = original.filter(pl.col("pid") < 5).with_columns(pid=pl.col("pid") + 9000)
    leaking = gh.Pair(original, pl.concat([released[20:], leaked]), holdout=holdout, cluster="pid")
    found = exact_copies(leaking)
    assert found.p_value < 0.05 and found.exposure.people == pytest.approx(5) and found.exposure.members == 120
    clean = gh.Pair(original, released, holdout=holdout, cluster="pid")
    assert min(m(clean).p_value for m in ALL) > 0.01


@pytest.mark.parametrize("measure", ALL)
def test_the_custodian_is_told_which_released_record_copies_whom(measure: object) -> None:
    pair = with_leak("once" if measure is repeated_records else "verbatim", 0.04, 4)
    result = measure(pair)  # type: ignore[operator]
    flagged = result.records.with_row_index("at").filter(pl.col(str(result.flag)) > 0)
    original, released = pair.local("original"), pair.local("released")
    same = [original.row(at) == released.row(row) for at, row in flagged.select("at", "released_row").rows()]
    # 20 people are copied; near_copies also flags some whom a released record comes near by chance
    assert sum(same) >= (1 if measure is repeated_records else 18) and (measure is near_copies or np.mean(same) > 0.7)


def test_exposure_counts_people_who_could_be_seen() -> None:
    found = exact_copies(with_leak("verbatim", 0.04, 6))
    assert found.exposure.share == pytest.approx(found.difference) and found.exposure.reach == 1.0
    assert found.exposure.people == pytest.approx(20, abs=1)
    rng = np.random.default_rng(2)
    coarse = [pl.DataFrame({c: rng.choice(["a", "b", "c", "d"], 60) for c in "xyz"}) for _ in range(3)]
    assert exact_copies(coarse[0], coarse[1], holdout=coarse[2]).exposure.reach < 0.6
    assert copies_but_one(with_leak("cell", 0.06, 2)).exposure.share > 0.05


COMPARED = (
    "exact_copies",
    "copies_but_one",
    "near_copies",
    "rare_agreement",
    "dcr",
    "nndr",
    "hitting_rate",
    "identical",
    "drisk",
)
COMPARED += ("epsilon_identifiability", "domias", "nnaa", "singling_out", "linkability")


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_sentences_agree_with_the_test(share: float) -> None:
    for seed in range(3):
        pair = with_leak("verbatim", share, 60 + seed, n=200)
        for name in COMPARED:
            found = getattr(gh.disclosure, name)(pair)
            assert f" of cases ({p_value(found.p_value)})" in found.sentence, (name, found.sentence)
            assert not re.search("more than chance|no more than|shown|likely", found.sentence), (
                "levels are the policy's"
            )


def test_noise_in_a_category_does_not_hide_copies_either() -> None:
    pair = with_leak("verbatim", 0.04, 3)
    rng = np.random.default_rng(1)
    noisy = {t: pair.local(t).with_columns(noise=pl.Series(rng.choice(list("uvwxyz"), pair.n(t)))) for t in pair.tables}
    assert copies_but_one(noisy["original"], noisy["released"], holdout=noisy["holdout"]).verdict == "fail"


def test_equal_but_for_one_column_by_hand() -> None:
    original = pl.DataFrame({"a": list("pqrs"), "b": list("xyzz"), "c": list("mnoo")})
    holdout = pl.DataFrame({"a": list("tu"), "b": list("vw"), "c": list("kl")})
    released = pl.DataFrame({"a": list("ppt"), "b": list("xgv"), "c": list("mhi")})
    found = copies_but_one(original, released, holdout=holdout)
    # the first is copied whole, the first stranger but for c; z and o fit two people and count for neither
    assert (found.value, found.holdout) == (0.25, 0.5)
    assert found.records["released_row"].to_list() == [0, None, None, None]
    assert copies_but_one(original, released).holdout is None
    with pytest.raises(gh.InputError, match="column"):
        copies_but_one(original, released, columns=["nope"])


def test_five_copies_of_five_hundred_fail_and_a_release_that_piles_up_does_not() -> None:
    """Real people who never equal each other make five equal records surer; people never in the data who are found as
    often take that back."""
    assert exact_copies(with_leak("verbatim", 0.01, 5)).verdict == "fail"
    original, holdout = people(400, 1), people(400, 2)
    # a release that took part of its records from both alike
    alike = pl.concat([original[:20], holdout[:20], people(360, 3)])
    found = exact_copies(gh.Pair(original, alike, holdout=holdout))
    assert found.value == found.holdout and found.verdict == "pass"


@pytest.mark.parametrize(
    ("exchanged", "by_chance", "strangers", "p"),
    [
        (2**-5, 3**-5, False, 2**-5 / 4),  # five copies, nobody else: fails
        (2**-3, 3**-3, False, 3**-3),  # three: warns
        (0.5, 1e-6, True, 0.125),  # as many strangers: chance alone says nothing
        (0.8, 1e-6, False, 1e-5),  # too few strangers to be found
        (0.03, 0.5, False, 0.03),  # real people equal each other: the exchange alone
    ],
)
def test_what_chance_adds_to_the_exchange(exchanged: float, by_chance: float, strangers: bool, p: float) -> None:
    assert with_chance(exchanged, by_chance, strangers) == pytest.approx(p)


def test_a_sentence_does_not_say_more_where_there_are_not_more() -> None:
    assert against(0.01, 0.05, 0.02) == "chance gives as much in 1.0 % of cases (p = 0.01)"
    assert against(0.01, 0.02, 0.05).startswith("not more of them")
    assert against(0.7, 0.02, 0.05) == against(0.7) == "chance gives as much in 70 % of cases (p = 0.7)"
    assert against(1e-9) == "chance gives as much in fewer than 0.01 % of cases (p < 0.0001)"
