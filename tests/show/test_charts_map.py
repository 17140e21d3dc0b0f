"""The picture of the map: labels that neither overlap nor cover points, verdicts in colour, shape and text."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import glasshouse as gh
from glasshouse.show.charts.labels import LETTER, LINE, POINT, Box, place
from glasshouse.show.report.drawing import map_of, svg_of


def boxes(points: list[tuple[float, float]], texts: list[str], size: float) -> list[Box]:
    made = []
    for label, text in zip(place(points, texts, size, size), texts, strict=True):
        if label.at is not None:
            (x, y), wide = label.at, LETTER * len(text)
            made.append(Box(x - wide / 2, y - LINE / 2, x + wide / 2, y + LINE / 2))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_labels_do_not_overlap_nor_cover_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = [(float(x), float(y)) for x, y in rng.uniform(100, 160, (12, 2))]
    texts = [f"release {i}" for i in range(12)]
    placed = boxes(points, texts, 280)
    assert len(placed) == 12
    assert not any(a.meets(b) for a, b in itertools.combinations(placed, 2))
    dots = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    assert not any(a.meets(b) for a in placed for b in dots)
    assert all(b.left >= 0 and b.top >= 0 and b.right <= 280 and b.bottom <= 280 for b in placed)
    turned = place(points[::-1], texts[::-1], 280, 280)[::-1]
    assert turned == place(points, texts, 280, 280), "the order of the releases does not matter"


def test_a_label_without_room_is_left_to_the_table() -> None:
    crowd = place([(5.0, 5.0)] * 30, ["a name too long for this picture"] * 30, 60, 60)
    assert all(label.at is None for label in crowd)


@pytest.fixture(scope="module")
def ru() -> gh.RUMap:
    example = gh.data.load("case_study")
    return gh.compare(example.pair(), example.releases, risk=["near_copies"], utility=["hellinger", "association"])


def drawn(ru: gh.RUMap) -> list[dict[str, Any]]:
    return [row for layer in ru.plot("map").to_dict()["layer"] for row in layer["data"]["values"]]


def test_a_release_that_fails_is_drawn_as_such(ru: gh.RUMap) -> None:
    rows = {row["release"]: row for row in drawn(ru) if "release" in row}
    assert ru.verdicts["C"] == "fail" and rows["C"]["mark"] == "fail" and "FAIL" in rows["C"]["label"]
    assert "copy" in rows["C"]["label"]
    assert {rows[r]["mark"] for r in ru.releases} == set(ru.verdicts.values())
    page = map_of(ru)
    assert [row["verdict"] for row in page["rows"]] == [v.upper() for v in ru.verdicts.values()]
    assert page["words"][0].startswith(("Recommended", "No recommendation"))


def test_the_map_fits_a_phone(ru: gh.RUMap) -> None:
    width = int(re.search(r'width="(\d+)"', svg_of(ru.plot("map"))).group(1))  # type: ignore[union-attr]
    assert width <= 340
    sizes = [float(s) for s in re.findall(r'font-size="([\d.]+)px"', svg_of(ru.plot("map")))]
    assert sizes and min(sizes) >= 10


def test_outside_the_picture_is_no_finer_than_the_figures() -> None:
    example = gh.data.load("case_study")
    ru = gh.compare(
        example.pair(), example.releases, risk=["exact_copies"], utility=["total_variation", "contingency_fidelity"]
    )
    shown = ru.content("external")
    rows = [row for layer in ru.plot("map", shown=shown).to_dict()["layer"] for row in layer["data"]["values"]]
    places = {(row["release"], row["risk"], row["utility"]) for row in rows if row.get("mark")}
    assert places == {(row["release"], row["risk"], row["utility"]) for row in shown["releases"]}
    exact = {risk for risk in ru.scores["risk"].to_list() if risk != round(risk, 3)}
    assert exact and not exact & {row[key] for row in rows for key in ("risk", "risk_low", "risk_high") if key in row}


def test_figures_from_elsewhere_keep_their_own_marks() -> None:
    found = gh.RUMap.from_scores(risk={"a": [0.1, 0.2, None]}, utility={"b": [0.9, 0.5, 0.4]}, releases=["x", "y", "z"])
    marks = {row["release"]: row["mark"] for row in drawn(found) if row.get("mark")}
    assert marks == {"x": "on the front", "y": "dominated"}
    assert found.verdicts == {} and found.recommended == "x"
