"""Where distances are searched: what is chosen, what is said about it, and that no figure depends on it."""

from __future__ import annotations

import logging
import sys

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines import devices
from glasshouse.engines.neighbours.gower import gower_space


def made_pair():
    """The same tables each time, with nothing searched yet."""
    rng = np.random.default_rng(4)
    tables = [
        pl.DataFrame(
            {"x": rng.normal(size=n).round(1), "c": rng.binomial(4, 0.2, n).astype(str), "y": rng.normal(size=n)}
        )
        for n in (300, 260, 280)
    ]
    return gh.Pair(tables[0], tables[1], holdout=tables[2])


@pytest.fixture
def pair():
    return made_pair()


@pytest.fixture
def card(monkeypatch):
    """A card that is torch on the processor: everything but the hardware."""
    pytest.importorskip("torch", reason="the card's search is torch's: install glasshouse[torch]")
    from glasshouse.engines.neighbours.gpu import backend

    made = []

    class OnProcessor(backend.Prepared):
        def __init__(self, encoded, reference, device):
            made.append((device, reference.size))
            super().__init__(encoded, reference, "cpu")

    monkeypatch.setattr(backend, "Prepared", OnProcessor)
    monkeypatch.setattr(devices, "_missing", lambda name: None)
    monkeypatch.setattr(devices, "card_name", lambda name: "a card")
    monkeypatch.setattr(devices, "_said", set())
    return made


def test_a_small_job_stays_on_the_processor_and_a_large_one_goes_to_the_card(pair, card, monkeypatch):
    expected = gower_space(pair).nearest("released", "original").distance
    assert not card
    monkeypatch.setattr(devices, "LARGE", 260 * 300)
    other = made_pair()
    found = gower_space(other).nearest("released", "original").distance
    assert card == [("cuda", 300)]
    assert (expected == found).all()


def test_the_processor_asked_for_is_kept_whatever_the_size(pair, card, monkeypatch):
    monkeypatch.setattr(devices, "LARGE", 1)
    with gh.device("cpu"):
        gower_space(pair).nearest("released", "original")
    assert not card


def test_a_whole_assessment_is_the_same_on_both(pair, card):
    there = gh.assess(pair, measures=["copying", "domias"], device="cuda")
    assert card, "nothing was searched on the card"
    seen = len(card)
    fresh = made_pair()
    here = gh.assess(fresh, measures=["copying", "domias"], device="cpu")
    assert len(card) == seen
    assert here.to_json() == there.to_json()


def test_compare_gives_its_assessments_its_own_device(pair, card):
    gh.compare(pair, risk=["dcr"], utility=["hellinger"], device="cuda")
    assert {name for name, _ in card} == {"cuda"}


def test_the_first_use_of_a_card_is_said_once_and_not_in_a_report(pair, card, caplog):
    with caplog.at_level(logging.WARNING, logger="glasshouse"):
        made = gh.assess(pair, measures=["dcr", "nndr"], device="cuda")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["glasshouse: distances are searched on a card; device='cpu' keeps to the processor"]
    assert "a card" not in made.to_json()


def test_a_card_without_room_leaves_the_work_to_the_processor_and_says_so(pair, card, caplog, monkeypatch):
    import torch

    from glasshouse.engines.neighbours.gpu import backend

    def full(self, query, k, self_join):
        raise torch.cuda.OutOfMemoryError("no room")

    monkeypatch.setattr(backend.Prepared, "nearest", full)
    with gh.device("cuda"), caplog.at_level(logging.WARNING, logger="glasshouse"):
        found = gower_space(pair).nearest("released", "original").distance
    assert any("the processor goes on" in record.getMessage() for record in caplog.records)
    other = made_pair()
    assert (found == gower_space(other).nearest("released", "original").distance).all()


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU", ""])
def test_an_unknown_device_is_refused_at_the_door(pair, name):
    with pytest.raises(gh.InputError, match="is not known; use 'cpu'"):
        gh.assess(pair, measures=["dcr"], device=name)


def test_a_card_that_is_not_there_is_refused_with_the_way_out(pair, monkeypatch):
    monkeypatch.setattr(devices, "_missing", lambda name: "torch finds no card")
    with pytest.raises(gh.InputError, match="cannot be used: torch finds no card; leave device out"):
        gh.assess(pair, measures=["dcr"], device="cuda")


def test_a_torch_for_processors_is_not_loaded_to_learn_that_it_finds_no_card(monkeypatch):
    monkeypatch.setattr(devices, "find_spec", lambda name: name)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.9.1+cpu")
    monkeypatch.setitem(sys.modules, "torch", None)  # an import would fail
    assert devices._missing.__wrapped__("cuda") == "torch finds no card"


def test_the_block_ends_with_what_was_asked_before(pair):
    with gh.device("cpu"), gh.device():
        assert devices.chosen(10**12) == "cpu"
    assert devices._asked.get() is None
