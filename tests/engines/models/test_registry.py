"""Attackers register themselves: what the registry knows about each, and one added without touching another file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.engines import models
from glasshouse.engines.models import registry
from glasshouse.engines.models.registry import attacker, attacker_named, attackers, spoken

TOY = '''
"""An attacker who learns how often each class occurs, and trusts it a little more than it should."""

import numpy as np

from glasshouse.engines.models.registry import attacker


class Toy:
    notes = ("the toy was here",)

    def __init__(self, shares, keys):
        self.shares, self.keys = shares, keys

    def predict(self, table):
        return np.tile(self.shares, (table.n, 1))

    def importance(self):
        return np.ones(self.keys)


@attacker("toy", spoken="a toy", targets=("classes",))
def toy(training, *, sharpness=2.0):
    shares = np.bincount(training.y, minlength=training.n_classes) ** sharpness
    return Toy(shares / shares.sum(), len(training.table.names))
'''


@pytest.fixture
def toy_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new file in the package of models, as far as Python can tell."""
    (tmp_path / "toybox.py").write_text(TOY)
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    yield
    registry._registry.pop("toy", None)
    sys.modules.pop("glasshouse.engines.models.toybox", None)


@pytest.fixture
def pair() -> gh.Pair:
    rng = np.random.default_rng(0)

    def table() -> pd.DataFrame:
        key = rng.integers(0, 3, 120)
        return pd.DataFrame({"key": key.astype(str), "other": rng.integers(0, 2, 120).astype(str),
                             "target": np.where(rng.random(120) < 0.7, "often", "rarely")})  # fmt: skip

    return gh.Pair(table(), table(), keys=["key", "other"], target="target")


def test_a_new_file_is_a_new_attacker(toy_module: None, pair: gh.Pair) -> None:
    result = gh.disclosure.rapid(pair, attackers=("toy",), random_state=0)
    assert result.status == "ok" and "a toy" in result.sentence
    assert "the toy was here" in result.warnings
    sharper = gh.disclosure.rapid(pair, attackers=("toy",), attacker_options={"toy": {"sharpness": 50.0}})
    assert sharper.value >= result.value
    with pytest.raises(gh.InputError, match="no option 'sharpnes'; did you mean 'sharpness'"):
        gh.disclosure.rapid(pair, attackers=("toy",), attacker_options={"toy": {"sharpnes": 1}})


def test_unknown_names_are_told_with_the_nearest_known_one(toy_module: None, pair: gh.Pair) -> None:
    with pytest.raises(gh.InputError, match="unknown attacker 'toi'; did you mean 'toy'"):
        gh.disclosure.rapid(pair, attackers=("toi",))
    with pytest.raises(gh.InputError, match="names or estimators, not a value of type tuple that holds int"):
        gh.disclosure.rapid(pair, attackers=(3,))


def test_what_the_attackers_declare() -> None:
    known = attackers()
    assert set(known) >= {"rf", "cart", "gbm", "logit", "l1", "lm", "marginal", "rf_sklearn"}
    assert {name for name, one in known.items() if one.needs_seed} == {"rf", "l1", "rf_sklearn"}
    assert known["lm"].targets == {"numbers"} and known["logit"].targets == known["l1"].targets == {"classes"}
    assert known["rf"].options["trees"] == 500 and known["cart"].options["cp"] == 0.01
    assert known["gbm"].any_option and not known["lm"].options
    assert spoken("rf") == "a random forest" and spoken("RidgeClassifier") == "the model RidgeClassifier"
    with pytest.raises(gh.InputError, match=r"predicts numbers, but the target is categorical; use one of .*'logit'"):
        attacker_named("lm").check_target("classes")


def test_two_files_cannot_take_one_name() -> None:
    with pytest.raises(gh.InputError, match="'rf' is registered by"):
        attackers()
        attacker("rf", spoken="another forest")(lambda training: None)
