"""What counts as reproduced, on rows where the answer is plain."""

from __future__ import annotations

import numpy as np
import pytest
from reproduce.row import ERRORS, Item, Row, mean, median, printed


def row(published: float | str, ours: float | str, **more: object) -> Row:
    return Row("Table 1", "a figure", published, ours, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("published", "ours", "precision", "status"),
    [
        (5.53, 5.525, 0.005, "reproduced"),  # a half is rounded either way
        (5.52, 5.525, 0.005, "reproduced"),
        (5.52, 5.5251, 0.005, "differs"),
        (3459, 3459, 0, "reproduced"),
        (4475, 4476, 0, "differs"),
    ],
)
def test_without_chance_the_printed_digits_decide(published: float, ours: float, precision: float, status: str) -> None:
    assert row(published, ours, precision=precision).status == status


def test_errors_of_both_sides_widen_the_rule() -> None:
    apart = 1.0
    assert row(0.0, apart, their_error=0.2, our_error=0.2).status == "differs"
    assert row(0.0, apart, their_error=0.3, our_error=0.2).status == "reproduced"  # 3 sqrt(0.09 + 0.04) = 1.08
    assert row(0.0, apart, their_error=apart / ERRORS).status == "reproduced"
    assert row(0.0, apart, precision=0.1, their_error=(apart - 0.11) / ERRORS).status == "differs"


def test_a_difference_says_why_or_that_nobody_knows() -> None:
    assert row(1.0, 2.0).told == "differs, and no reason was found yet"
    assert row(1.0, 2.0, why="it was another table").told == "differs because it was another table"
    assert row(1.0, 1.0, why="it was another table").told == "reproduced"


def test_a_reason_with_a_figure_is_checked() -> None:
    good = row(3.21, 3.945, precision=0.005, why="of older shares", explained=3.2068, digits=2)
    assert good.checked and good.told == "differs because of older shares (3.21 so)"
    bad = row(3.21, 3.945, precision=0.005, why="of older shares", explained=3.3)
    assert bad.checked is False and "no longer holds" in bad.told
    assert row(3.21, 3.945, why="somebody said so").checked is None
    assert row(3.21, 3.945, why="somebody said so", confirmed=False).told.startswith("differs, and the reason")


def test_statements_hold_or_not() -> None:
    assert row("A is safer than B", "A 0.1, B 0.2", holds=True).status == "reproduced"
    assert row("A is safer than B", "A 0.3, B 0.2", holds=False).status == "differs"


def test_mean_and_its_error() -> None:
    figures = np.random.default_rng(0).normal(5, 2, 10_000)
    found = mean(figures)
    assert found.value == pytest.approx(5, abs=0.1) and found.spread == pytest.approx(2, rel=0.05)
    assert found.error == pytest.approx(0.02, rel=0.05) and found.beside(100) == pytest.approx(0.2, rel=0.05)


def test_error_of_a_median_is_that_of_simulated_medians() -> None:
    rng = np.random.default_rng(1)
    figures = rng.normal(0, 1, 5_000)
    medians = np.median(rng.normal(0, 1, (4_000, 50)), axis=1)
    assert median(figures).beside(50) == pytest.approx(medians.std(), rel=0.15)


def test_a_median_between_two_heaps_is_unsure() -> None:
    figures = [*np.linspace(-8, -7, 52), *np.linspace(0, 1, 48)]
    found = median(figures)
    assert found.value < -6.9 and found.value + ERRORS * found.beside(50) > 0, "50 others may fall on the other side"


@pytest.mark.parametrize(
    ("text", "value", "precision", "digits"),
    [("7.26", 7.26, 0.005, 2), ("3.7e-7", 3.7e-7, 5e-9, 8), ("155", 155, 0.5, 0), ("0.0000", 0.0, 5e-5, 4)],
)
def test_printed_figures(text: str, value: float, precision: float, digits: int) -> None:
    assert printed(text) == (value, pytest.approx(precision), digits)


def test_rows_stand_under_their_item() -> None:
    with pytest.raises(ValueError, match="rows of Table 1 stand under Table 2"):
        Item("Table 2", "", [row(1, 1)])
