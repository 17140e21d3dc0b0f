"""A few hundred nasty pairs through every door; ``make fuzz`` runs thousands."""

from __future__ import annotations

import pytest

from glasshouse.catalogue import all_measures
from tests.fuzz.columns import MARKS, NAMES
from tests.fuzz.doors import LIGHTER, Outcome, run_pair
from tests.fuzz.nasty import nasty

PAIRS, PART, PER_PAIR = 300, 30, 5


@pytest.mark.parametrize("first", range(0, PAIRS, PART))
def test_every_outcome_is_a_value_a_reason_or_an_error_of_our_own(first: int) -> None:
    wrong = [line for seed in range(first, first + PART) for line in run_pair(seed, PER_PAIR).wrong]
    assert not wrong, "\n".join(wrong)


# pairs of longer runs that once ended in an exception of somebody else's
ONCE = (
    372, 50365, 50400, 51067, 51458, 51586, 121164, 300203, 300249, 300354, 300386, 300541, 400056, 401695, 401958,
    515056, 600531, 7310730, 7311160, 7311370, 7311530, 7311592, 7311672,
)  # fmt: skip


@pytest.mark.parametrize("seed", ONCE)
def test_pairs_that_once_went_wrong(seed: int) -> None:
    assert not run_pair(seed, 6).wrong


def test_every_measure_has_its_turn_many_times() -> None:
    names = list(all_measures())
    turns = [names[(seed * PER_PAIR + turn) % len(names)] for seed in range(PAIRS) for turn in range(PER_PAIR)]
    assert min(turns.count(name) for name in names) >= 20
    assert set(LIGHTER) <= set(names)


def test_the_same_seed_gives_the_same_pair() -> None:
    for seed in (3, 17):
        one, two = nasty(seed, mild=True), nasty(seed, mild=True)
        assert one.story() == two.story() and not any(mark in name for mark in MARKS for name in NAMES)


def test_the_doors_see_what_must_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that finds nothing proves nothing: a planted failure of each kind is found."""
    import tests.fuzz.doors as doors

    def quoting(pair: object) -> list[str]:
        return ["the value 'QZanna' is odd"]

    def breaking(pair: object) -> list[str]:
        raise ZeroDivisionError("division by 7654")

    for act, said in ((quoting, "a planted value"), (breaking, "ZeroDivisionError")):
        monkeypatch.setattr(doors, "_check", act)
        found = [line for seed in range(6) for line in run_pair(seed, 0).wrong]
        assert any(line.startswith(("check: " + said, "check: a planted")) for line in found) and found
    outcome = Outcome()
    doors._words(outcome, nasty(0), "log", ["born in 1931"])
    assert outcome.wrong
    with pytest.raises(AssertionError, match="control characters"):
        doors._no_escape("a\x9b31mb")
