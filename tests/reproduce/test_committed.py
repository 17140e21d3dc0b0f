"""The committed tables: complete, by the rule, a reason wherever a figure differs, and the pages made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from reproduce.__main__ import OUT
from reproduce.pages import NAMES, missing, pages, read, rows_of
from reproduce.published import SOURCES, source
from reproduce.row import Row
from reproduce.studies import STUDIES

# numbers of a heading that say how a figure was made or where it stands, not what was found
GIVEN = {
    "draws", "precision", "precision_R", "n", "tau", "kappa", "age", "baseline", "probabilities", "true", "predicted",
}  # fmt: skip
ITEMS = [(study.source, name) for study in STUDIES.values() for name in study.items]


def numbers(value: Any) -> Iterator[float]:
    """Every number in a heading, however deep."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in GIVEN:
                yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, (int, float)):
        yield float(value)


@pytest.fixture(scope="module")
def committed() -> dict[tuple[str, str], list[Row]]:
    return {(s, name): rows_of(held) for s in SOURCES for name, held in read(OUT, s).items()}


def test_every_table_and_figure_has_its_study_and_what_is_open_is_said() -> None:
    open_ones = missing({s: read(OUT, s) for s in SOURCES})
    text = (OUT / "index.md").read_text(encoding="utf-8")
    assert all(f"{NAMES[s]}, {name}" in text for s, name in open_ones)
    headings = [(s, name) for s in SOURCES for name, held in source(s).items() if isinstance(held, Mapping)]
    assert sorted(headings) == sorted(ITEMS)


@pytest.mark.parametrize(("of", "name"), ITEMS)
def test_every_published_number_has_its_row(of: str, name: str, committed: dict[tuple[str, str], list[Row]]) -> None:
    assert (of, name) in committed, "the committed pages hold every table and figure"
    shown = [float(row.published) for row in committed[of, name] if not isinstance(row.published, str)]
    missing = [x for x in numbers(source(of)[name]) if not any(x == y for y in shown)]
    assert not missing
    words = [row.published for row in committed[of, name] if isinstance(row.published, str)]
    said = [v for k, v in source(of)[name].items() if isinstance(v, str) and k not in ("about", "trtr")]
    assert set(said) == set(words)


@pytest.mark.parametrize(("of", "name"), ITEMS)
def test_statuses_are_those_of_the_rule(of: str, name: str) -> None:
    held = read(OUT, of).get(name)
    assert held is not None, "the committed pages hold every table and figure"
    for row, written in zip(rows_of(held), held["rows"], strict=True):
        assert row.status == written["status"], row.what
        assert isinstance(row.published, str) or abs(float(row.ours)) < float("inf"), row.what


def test_every_difference_has_a_reason_that_bore_out(committed: dict[tuple[str, str], list[Row]]) -> None:
    for rows in committed.values():
        for row in rows:
            if row.status == "differs":
                assert row.why and row.checked is not False, f"{row.item}, {row.what}: {row.told}"


def test_the_pages_are_made_from_the_figures() -> None:
    for name, text in pages(OUT).items():
        assert (OUT / name).read_text(encoding="utf-8") == text, f"{name} is not what `python -m reproduce` writes"


def test_every_picture_is_there() -> None:
    for of in SOURCES:
        for held in read(OUT, of).values():
            for chart in held["charts"]:
                picture = (OUT / f"{chart}.svg").read_text(encoding="utf-8")
                assert picture.startswith("<svg") and len(picture) < 200_000


def test_three_standard_errors_are_not_too_wide() -> None:
    """Were the errors overstated, random figures would agree better than chance allows: z would scatter less than 1."""
    z = [
        (float(row.ours) - float(row.published)) / ((row.their_error or 0) ** 2 + (row.our_error or 0) ** 2) ** 0.5
        for row in rows_of(read(OUT, "rapid")["Figure 4a"])
        if row.their_error and not row.what.startswith("text")
    ]
    assert len(z) > 25 and 0.6 < (sum(x * x for x in z) / len(z)) ** 0.5 < 1.6
