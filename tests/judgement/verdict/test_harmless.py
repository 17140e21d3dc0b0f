"""What must not be said: a harmless release does not fail, an untested threat does not pass, a cut is never silent."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.judgement.wide import MOST_COLUMNS
from tests.fakes import fake, four_threats, tables


def _independent(rng: np.random.Generator, n: int = 400) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": rng.integers(0, 50, n),
            "region": rng.choice(["x", "y", "z"], n),
            "size": rng.normal(size=n),
            "dis": rng.choice(["u", "v", "w"], n),
        }
    )


def test_independent_tables_do_not_fail_a_preset() -> None:
    rng = np.random.default_rng(1)
    original, released, holdout = (_independent(rng) for _ in range(3))
    pair = gh.Pair(original, released, keys=["age", "region"], target="dis", holdout=holdout)
    attacks = ["singling_out", "linkability", "inference", "disco", "tcap", "identical", "exact_copies", "domias"]
    found = gh.assess(pair, policy="research", measures=attacks)
    assert found.verdict == "pass" and found.exit_code == 0 and found.recommendations == ()
    assert {t.status for t in found.threats.values()} == {"pass"}
    assert all(t.detection_limit is not None and t.detection_limit < 0.3 for t in found.threats.values())
    assert set(found.population) <= {"disco", "tcap", "inference"}


def test_without_a_holdout_the_threat_says_so() -> None:
    rng = np.random.default_rng(1)
    policy = gh.Policy.from_dict(
        {"rule": [{"measure": "singling_out", "statistic": "difference_upper", "limit": 0.1, "required": False}]}
    )
    pair = gh.Pair(_independent(rng), _independent(rng), keys=["age", "region"])
    found = gh.assess(pair, policy=policy, measures=["singling_out"], options={"singling_out": {"n_attacks": 50}})
    assert found.threats["identity"].status == "not_assessed"
    assert "No holdout was supplied" in found.threats["identity"].sentence
    assert "no figure" not in str(found.threats["identity"].missing)


def test_fast_decides_and_without_a_holdout_nothing_passes() -> None:
    original, released = tables(400)
    holdout, _ = tables(400, 1)
    chosen = {"keys": ["sex", "region"], "target": "income", "measures": "fast"}
    assert gh.assess(original, released, holdout=holdout, **chosen).verdict == "pass"
    alone = gh.assess(original, released, **chosen)
    assert {t.status for t in alone.threats.values()} == {"not_assessed"} and alone.verdict == "incomplete"
    assert all("No holdout was supplied" in t.sentence for t in alone.threats.values())
    copied = gh.assess(original, original, **chosen)
    assert copied.verdict in ("fail", "incomplete") and copied.threats["copying"].status != "pass"


@pytest.mark.parametrize("content", ["same", None])
def test_a_target_with_nothing_to_learn_never_passes(only_fakes: object, content: str | None) -> None:
    four_threats()
    original, released = tables()
    original = original.with_columns(income=pl.lit(content, pl.String))
    found = gh.assess(original, released, keys=["sex"], target="income")
    assert found.threats["attribute"].status == "not_assessed" and found.verdict == "incomplete"
    assert (
        "nothing to learn" in found.threats["attribute"].sentence and "same'" not in found.threats["attribute"].sentence
    )
    assert gh.assess(original, released, target=["income", "region"]).threats["attribute"].status == "pass"
    fake("loud", value=0.5)
    assert gh.assess(original, released, target="income").threats["attribute"].status == "fail"


def test_measures_that_do_not_apply_leave_the_threat_open(only_fakes: object) -> None:
    fake("first", missing="the target has one level")
    fake("second", missing="the target cannot be predicted")
    threat = gh.assess(*tables()).threats["attribute"]
    assert threat.status == "not_assessed"
    assert "first: the target has one level. second: the target cannot be predicted." in threat.sentence


def test_a_wide_table_is_cut_for_pairs_of_columns_and_says_so(only_fakes: object) -> None:
    def association(pair: gh.Pair, *, columns: list[str] | None = None) -> Result:
        """A fake."""
        return Result(value=float(len(columns or pair.columns)), sentence="s")

    measure(side="utility", family="x", better="higher", cite="x", range=(0, None), wide="columns")(association)
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({f"c{j}": rng.choice(["a", "b"], 20) for j in range(MOST_COLUMNS + 10)})
    last = f"c{MOST_COLUMNS + 9}"
    cut = gh.assess(wide, wide, keys=[last])
    used = cut.to_dict()["results"]["association"]["settings"]["options"]["columns"]
    assert cut.results["association"].value == len(used) == MOST_COLUMNS and last in used
    assert "association" in cut.notes[0] and f"{MOST_COLUMNS} columns only" in cut.to_dict("external")["notes"][0]
    assert cut.notes[0] in cut.to_dict()["notes"]
    whole = gh.assess(wide, wide, options={"association": {"columns": None}})
    assert whole.results["association"].value == MOST_COLUMNS + 10 and whole.notes == ()
    narrow = wide.select(wide.columns[:MOST_COLUMNS])
    assert gh.assess(narrow, narrow).notes == ()


def test_propensity_measures_share_their_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.utility.propensity import scores as propensity_scores

    fits = []
    real = propensity_scores._told
    monkeypatch.setattr(propensity_scores, "_told", lambda *a: fits.append(1) or real(*a))
    gh.assess(*tables(), measures=["specks", "po50", "u_statistic"])
    assert len(fits) == 1


def test_the_json_says_how_to_get_it_again() -> None:
    pair = gh.Pair(*tables(), keys=["sex"], target="income")
    first, second = (gh.assess(pair, measures=["disco", "identical"], random_state=7) for _ in range(2))
    content = first.to_dict()
    assert first.to_json() == second.to_json() and "timing" not in content
    assert content["run"]["seed"] == 7 and content["run"]["versions"]["glasshouse"]
    assert [bool(t["fingerprint"]) for t in content["data"]["tables"]] == [True, True]
