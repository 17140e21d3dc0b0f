"""A map outside is made of told figures between told ends: no composite, order or word says more than its parts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

N, RARE = 400, 30


def people(seed: int, tag: str) -> pl.DataFrame:
    """The first people have a trade of their own, so that the scale of uniques is short."""
    rng = np.random.default_rng(seed)
    trade = [f"{tag}{i}" for i in range(RARE)] + rng.choice(list("uvwxyz"), N - RARE).tolist()
    return pl.DataFrame(
        {
            "trade": trade,
            "sex": rng.choice(["w", "m"], N),
            "age": rng.integers(20, 80, N),
            "pay": np.exp(rng.normal(8.5, 0.6, N)).round(),
            "ill": rng.choice(["a", "b", "c"], N),
        }
    )


ORIGINAL, HOLDOUT, RELEASED = people(1, "o"), people(2, "h"), people(3, "s")
SCHEMA: Any = {"age": "numeric", "pay": "numeric", "sex": "categorical", "trade": "categorical", "ill": "categorical"}
MEASURES = ["uniques", "exact_copies", "hellinger"]


def compared(k: int, **given: Any) -> gh.RUMap:
    """Release A has the trades of the first k people of the original."""
    own = [pl.Series(c, ORIGINAL[c].to_list()[:k] + RELEASED[c].to_list()[k:]) for c in ("trade", "sex")]
    pair = gh.Pair(ORIGINAL, RELEASED, keys=["trade"], target="ill", holdout=HOLDOUT, schema=SCHEMA)
    releases = {"A": RELEASED.with_columns(own), "B": RELEASED}
    return gh.compare(pair, releases, measures=MEASURES, progress=False, **given)


WAYS: list[dict[str, Any]] = [
    {},
    {"composite": "worst"},
    {"weights": {"uniques": 1, "exact_copies": 0}},
    {"scale": "minmax"},
    {"scale": "minmax", "composite": "mean"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_few_people_move_nothing_however_measures_are_put_together(way: dict[str, Any]) -> None:
    told = {}
    for k in (0, 1, 3, 4):
        ru = compared(k, **way)
        content = ru.content("external")
        assert k == 0 or ru._composites["risk"][0] > ru._composites["risk"][1], "inside it is seen"
        verdicts = ("verdicts", "copy_alarms")
        rows = [{f: v for f, v in r.items() if f != "verdict"} for r in content["releases"]]
        told[k] = json.dumps([{f: v for f, v in content.items() if f not in verdicts} | {"releases": rows}])
    assert len(set(told.values())) == 1


def leaking() -> dict[str, pl.DataFrame]:
    """Releases that hold many people of the original, so that every measure tells a figure."""
    return {name: pl.concat([ORIGINAL[:k], RELEASED[k:]]) for name, k in (("A", 200), ("B", 120))}


@pytest.mark.parametrize("way", [{}, {"composite": "mean"}, {"composite": "worst"}, {"scale": "minmax"}], ids=str)
def test_a_composite_is_made_of_what_is_told(way: dict[str, Any]) -> None:
    """Whoever has the map outside works out its composites from the figures, ends and weights on it."""
    pair = gh.Pair(ORIGINAL, RELEASED, keys=["trade"], target="ill", holdout=HOLDOUT, schema=SCHEMA)
    asked = ["exact_copies", "rare_agreement", "disco", "total_variation", "kolmogorov_smirnov"]
    content = gh.compare(pair, leaking(), measures=asked, progress=False, **way).content("external")
    seen = 0
    for side in ("risk", "utility"):
        own = {n: m for n, m in content["measures"].items() if m["side"] == side}
        weights = content["weights"][side]
        for i, release in enumerate(content["releases"]):
            relative = way.get("scale") == "minmax"
            if any(None in (m["raw"] if relative else m["raw"][i : i + 1]) for m in own.values()):
                continue
            seen += 1
            families: dict[str, list[tuple[float, float]]] = {}
            for name, m in own.items():
                families.setdefault(m["family"], []).append((place(m, i, side), weights[name]))
            means = [sum(p * w for p, w in ps) / sum(w for _, w in ps) for ps in families.values()]
            masses = [sum(w for _, w in ps) for ps in families.values()]
            mean = sum(m * w for m, w in zip(means, masses, strict=True)) / sum(masses)
            worst = max(means) if side == "risk" else min(means)
            assert release[side] == pytest.approx(worst if way.get("composite") == "worst" else mean, abs=0.011)
    assert seen


def place(measure: Any, i: int, side: str) -> float:
    if measure["anchor"] is not None:
        zero, one = measure["anchor"]["zero"], measure["anchor"]["one"]
        return float(np.clip((measure["raw"][i] - zero) / (one - zero), 0, 1))
    low, high = min(measure["raw"]), max(measure["raw"])
    at = 0.5 if low == high else (measure["raw"][i] - low) / (high - low)
    return 1 - at if measure["better"] == ("higher" if side == "risk" else "lower") else at


def test_a_bound_of_a_composite_is_that_of_its_parts() -> None:
    content = compared(2).content("external")
    row = content["releases"][0]
    assert (row["risk"], row["risk_low"], row["risk_high"]) == (0.0, None, None)
    bound = float(row["risk_shown"].removeprefix("< "))
    one = content["measures"]["uniques"]["anchor"]["one"]
    step = 0.02
    weights = content["weights"]["risk"]
    assert bound == pytest.approx(weights["uniques"] * step / one + weights["exact_copies"] * step, abs=0.011)


def test_ends_of_a_scale_do_not_tell_who_is_left_over() -> None:
    """A copy of the release's size exposes everybody, or all but a few where the original is larger by a few."""
    ends = set()
    for less in (0, 1, 4):
        pair = gh.Pair(ORIGINAL, RELEASED, keys=["trade"], target="ill", holdout=HOLDOUT, schema=SCHEMA)
        releases = {"A": RELEASED[: N - less], "B": people(5, "b")[: N - less]}
        found = gh.compare(pair, releases, measures=["exact_copies", "total_variation"]).content("external")
        ends.add(found["measures"]["exact_copies"]["anchor"]["one"])
    assert ends == {1.0}


def test_ends_of_utility_scales_follow_no_range_and_no_label_of_the_original() -> None:
    """Destroyed data are drawn over both, and one person may set them: the told end would be a function of a value."""
    rng = np.random.default_rng(7)

    def table() -> pl.DataFrame:
        return pl.DataFrame({"pay": rng.normal(6000, 1500, 300).round(), "ill": rng.choice(list("abcdef"), 300)})

    own, first, second, strangers = (table() for _ in range(4))
    richer = own.with_columns(pay=pl.Series([90_000.0, *own["pay"].to_list()[1:]]))
    labelled = own.with_columns(ill=pl.Series(["q", "r", "s", *own["ill"].to_list()[3:]]))
    told = [
        gh.compare(
            gh.Pair(one, first, holdout=strangers, keys=["ill"], schema={"pay": "numeric", "ill": "categorical"}),
            {"A": first, "B": second},
            measures=["exact_copies", "kolmogorov_smirnov", "total_variation"],
        ).content("external")
        for one in (own, richer, labelled)
    ]
    ends = [{name: m["anchor"] for name, m in one["measures"].items() if m["side"] == "utility"} for one in told]
    assert {str(anchor) for one in ends for anchor in one.values()} == {str(ends[0]["kolmogorov_smirnov"])}
    assert all(anchor is None or anchor["source"] == "the ends of its range" for anchor in ends[0].values())
    assert not any("uniform" in one.get("ghosts", {}) for one in told)


def test_one_persons_label_brings_no_measure_of_utility_onto_the_map_outside() -> None:
    """Inside, a measure that scores destroyed data like an honest sample is left out, and one label changes that."""

    def table(seed: int, odd: int = 0) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        labels = [*["zz"] * odd, *rng.integers(0, 5, 400 - odd).astype(str).tolist()]
        return pl.DataFrame({"x": rng.normal(size=400).round(1), "c": labels, "s": rng.choice(["w", "m"], 400)})

    def found(odd: int) -> gh.RUMap:
        pair = gh.Pair(table(1, odd), table(2), holdout=table(3), keys=["c"], target="s", schema={"x": "numeric"})
        utility = ["hellinger", "kolmogorov_smirnov", "total_variation", "association"]
        return gh.compare(pair, risk=["near_copies"], utility=utility)

    nobody, one = found(0), found(1)
    assert "hellinger" in nobody.left_out and "hellinger" not in one.left_out, "the example no longer shows it"
    told = [ru.content("external") for ru in (nobody, one)]
    assert list(told[0]["measures"]) == list(told[1]["measures"])
    assert "hellinger" in told[0]["measures"] and told[0]["left_out"] == told[1]["left_out"]
    assert told[0]["weights"] == told[1]["weights"]


def test_one_table_in_the_place_of_several_is_one_candidate() -> None:
    one, other = (gh.compare(ORIGINAL, r, keys=["sex"], measures=MEASURES) for r in (RELEASED, [RELEASED]))
    assert one.releases == other.releases == ["release 1"]
    with pytest.raises(gh.InputError, match="released is a int"):
        gh.compare(ORIGINAL, 5)


def test_a_picture_of_what_is_told_follows_nothing_else() -> None:
    """The front of exact figures is another one than that of told figures, and a line drew it."""
    pair = gh.Pair(ORIGINAL, RELEASED, keys=["trade"], target="ill", holdout=HOLDOUT, schema=SCHEMA)
    ru = gh.compare(pair, leaking(), measures=["exact_copies", "disco", "total_variation"], progress=False)
    content = ru.content("external")
    picture = ru.plot("map", shown=content).to_dict()
    ru.front, ru.kinds, ru.incomplete = ~np.asarray(ru.front), {}, list(ru.releases)
    assert ru.plot("map", shown=content).to_dict() == picture
    assert any("label_x" in row for layer in picture["layer"] for row in layer["data"]["values"])
