"""Every public call answers a wrong argument with an error of this house, or works.

The calls are found by walking the public names: a new function, method or argument is asked without anybody adding it
here. ``GOOD`` says what a sound call gives for an argument, by its name or by "function.argument".
"""

from __future__ import annotations

import datetime as dt
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.measure import Measure
from tests.fuzz.doors import LIGHTER

CANARY = "Zq7canary"  # a value of a person
JUNK: dict[str, Any] = {
    "None": None,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "NaN": float("nan"),
    "inf": float("inf"),
    "huge": 10**400,
    "empty text": "",
    "text": "no such thing",
    "bytes": b"x",
    "empty list": [],
    "list of None": [None],
    "list of int": [1],
    "list of text": ["sex", "sex"],
    "list of lists": [["sex"]],
    "empty mapping": {},
    "mapping of None": {"sex": None},
    "mapping of objects": {"sex": object()},
    "mapping of lists": {"sex": [1, None]},
    "mapping by number": {1: 2},
    "object": object(),
    "True": True,
    "array": np.array([1, 2]),
    "series": pd.Series(["sex"]),
    "set": {3},
    "complex": complex(1, 2),
    "date": dt.date(2020, 1, 1),
    "function": lambda *given: 1,
}
# asked of the options of measures, of which there are hundreds
SHORT = ("None", "0", "-1", "NaN", "huge", "text", "list of None", "list of lists", "mapping of objects", "array")


@cache
def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["A", "B", "C"], n),
            "illness": rng.choice([CANARY, "flu", "none"], n),
            "pay": rng.lognormal(8, 1, n).round(),
            "age": rng.integers(18, 90, n),
            "weight": rng.integers(1, 9, n),
        }
    )


@cache
def pair() -> gh.Pair:
    roles: dict[str, Any] = {"keys": ["sex", "region"], "target": "illness", "holdout": people(30, 3)}
    return gh.Pair(people(60, 1), people(60, 2), **roles)


@cache
def assessment() -> Any:
    return gh.assess(pair(), measures=["identical", "total_variation"])


@cache
def ru_map() -> gh.RUMap:
    scores: dict[str, Any] = {"risk": {"identical": [0.1, 0.3]}, "utility": {"hellinger": [0.5, 0.9]}}
    return gh.RUMap.from_scores(**scores, releases=["A", "B"])


@cache
def cart() -> Any:
    return gh.synthesis.Cart().fit(people(60, 1))


def good() -> dict[str, Any]:
    """What a sound call gives."""
    table, risk = people(60, 1), gh.Risk.from_rho(0.1)
    return {
        "original": table,
        "released": people(60, 2),
        "data": table,
        "table": "original",
        "columns": ["age", "pay"],
        "column": "sex",
        "keys": ["sex", "region"],
        "target": "illness",
        "path": "no-such-file.toml",
        "name": "disco",
        "policy": None,
        "results": assessment(),
        "known": all_measures(),
        "measure": "disco",
        "text": 'require = ["copying"]',
        "releases": {"A": people(60, 2), "B": people(60, 4)},
        "pair": pair(),
        "synthesiser": gh.synthesis.Cart(),
        "metadata": {"columns": {"sex": {"sdtype": "categorical"}}},
        "sample": table,
        "population": people(60, 2),
        "manipulated": people(60, 2),
        "rows": np.array([0, 1]),
        "i": 0,
        "key": "a key",
        "compute": lambda: 1,
        "content": risk.to_dict(),
        "rho": 0.1,
        "baseline": 0.01,
        "advantage": 0.1,
        "success": 0.1,
        "epsilon": 1.0,
        "delta": 1e-6,
        "prior": 0.5,
        "fpr": 0.1,
        "tpr": 0.3,
        "alphas": 0.1,
        "mu": 0.5,
        "threat": "membership",
        "claim": risk,
        "tp": 5,
        "fp": 2,
        "members": 50,
        "nonmembers": 50,
        "m": 1,
        "n": 5,
        "status": "pass",
        "threshold": 5,
        "risk": risk,
        "domain": gh.synthesis.Domain({"sex": ["f", "m"]}),
        "make": lambda original, n, seed: original,
        "paths": ["no-such-file.csv"],
        "model": cart(),
        "attacks": [gh.formal.AttackCounts("an attack", "membership", 5, 50, 2, 50)],
        "trees": 20,
        "k": 2,
        "compare.measures": ["identical", "total_variation"],
        "assess.measures": ["identical", "total_variation"],
        "compare.risk": None,
        "audit.attacks": ["identical"],
        "load.name": "health",
        "preset.name": "public",
        "audit_scores.members": [0.1, 0.4, 0.9],
        "audit_scores.nonmembers": [0.1, 0.2, 0.3],
        "RUMap.risk": {"identical": [0.1]},
        "RUMap.utility": {"hellinger": [0.1]},
        "RUMap.releases": ["A"],
        "RUMap.scale": "minmax",
        "RUMap.composite": "family",
        "from_scores.risk": {"identical": [0.1, 0.3]},
        "from_scores.utility": {"hellinger": [0.5, 0.9]},
        "from_scores.releases": ["A", "B"],
        "Domain.columns": {"sex": ["f", "m"]},
        "Domain.from_dict.content": gh.synthesis.Domain({"sex": ["f", "m"]}).to_dict(),
        "Policy.from_dict.content": {"require": ["copying"]},
        "plain_frame.columns": {"a": np.array([1, 2])},
        "record_frame.columns": {"a": np.array([1, 2])},
        "simulate_health.n": 20,
        "simulate_case_study.n": 20,
        "stated_epsilon": 1.0,
        "AttackCounts.attack": "an attack",
        "hits": 5,
        "alarms": 2,
        "people": {"sex": "f"},
        "judgement_of.name": "identical",
        **protecting(),
    }


def protecting() -> dict[str, Any]:
    """What sound calls of operations give where it differs."""
    ages = gh.protection.Hierarchy.intervals([[30, 60], [60]])
    step = gh.protection.Step("round_numbers", {"columns": ["age"]})
    return {
        "apply.recipe": gh.protection.Recipe([step]),
        "merge_levels.columns": ["sex"],
        "merge_levels.k": 5,
        "bin_numbers.bins": 3,
        "top_code.top": 1_000_000,
        "coarsen_dates.table": people(60, 1).with_columns(born=dt.date(1980, 1, 1)),
        "coarsen_dates.columns": ["born"],
        "recode_levels.hierarchies": {"age": ages},
        "recode_levels.levels": {"age": 1},
        "pram.columns": ["sex"],
        "corrected_counts.counts": {"f": 10, "m": 20},
        "corrected_counts.matrix": {"f": {"f": 0.9, "m": 0.1}, "m": {"f": 0.1, "m": 0.9}},
        "Hierarchy.rows": [("a", "*")],
        "from_rows.rows": [("a", "*")],
        "intervals.breaks": [[30, 60], [60]],
        "load.path": "no-such-file.toml",
        "from_toml.text": "",
        "Step.operation": "round_numbers",
    }


# Containers of what was computed: nobody but this house makes them, and their fields say nothing that could be wrong.
MADE_HERE = {
    "Operation",
    "Protected",
    "Audit",
    "AuditPoint",
    "Constraint",
    "LowerBounds",
    "Mitigated",
    "ThreatGuide",
    "Guarantee",
    "Synthesiser",
}
ERRORS = {"GlasshouseError", "InputError"}
# Methods of a pair or a result that engines and measures call, not people.
WITHIN = {
    "Pair": {"memo", "plain_frame", "record_frame", "record_values", "special_mask"},
    "Result": {"guarded", "judged_together", "with_limits"},
    "Domain": {"decode", "encode"},
}
PROTOCOL = {"get", "items", "keys", "values", "count", "index"}  # of Python's own mappings and lists


def methods(made: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    kind = made if isinstance(made, type) else type(made)
    hidden = PROTOCOL if not isinstance(made, gh.Pair) else set()
    for base in kind.__mro__:
        hidden = hidden | WITHIN.get(base.__name__, set())
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        bound_to_class = isinstance(member, (classmethod, staticmethod))
        if name.startswith("_") or name in hidden or bound_to_class != isinstance(made, type):
            continue
        if bound_to_class or inspect.isfunction(member):
            yield f"{kind.__name__}.{name}", getattr(made, name)


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public callable, and the methods of what it gives."""
    seen: set[int] = set()
    for room in (gh, gh.data, gh.formal, gh.protection, gh.synthesis):
        for name in room.__all__:
            one = getattr(room, name)
            if inspect.ismodule(one) or not callable(one) or id(one) in seen or name in ERRORS:
                continue
            seen.add(id(one))
            if name not in MADE_HERE:
                yield name, one
            if isinstance(one, type):
                yield from methods(one)
    risk = gh.Risk.from_rho(0.1)
    made: list[Any] = [pair(), assessment(), ru_map(), cart(), risk, gh.formal.approximate(1.0), gh.formal.gaussian(1)]
    made += [gh.Policy.preset("public"), pair().check(), gh.data.load("health"), gh.disclosure.identical(pair())]
    made += [gh.disclosure.rapid(pair(), trees=20), gh.formal.audit_counts(risk, 5, 50, 2, 50)]
    made += [gh.protection.Recipe([gh.protection.Step("round_numbers", {"columns": ["age"]})])]
    made += [gh.protection.Step("round_numbers", {"columns": ["age"]}), gh.protection.Hierarchy.intervals([[30, 60]])]
    made += [gh.synthesis.sdc(people(60, 2)), gh.scenarios(pair(), measures=["identical"])]
    for one in made:
        yield from methods(one)


CALLS = dict(calls())


def sound(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Arguments of a sound call: those it must have, and those that make it quick."""
    known, short, found = good(), name.rpartition(".")[2], {}
    for argument, one in inspect.signature(function).parameters.items():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or argument == "self":
            continue
        for key in (f"{name}.{argument}", f"{short}.{argument}", argument):
            if key in known and (one.default is one.empty or key != argument or argument in ("trees", "n", "k")):
                found[argument] = known[key]
                break
        else:
            assert one.default is not one.empty, f"say in good() what {name} takes as {argument!r}"
    return found


def outcome(call: Callable[[], object]) -> str | None:
    """None for an answer or an error of ours; else what came out instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except gh.GlasshouseError as problem:
            return f"quotes a value: {problem}" if CANARY in str(problem) else None
        except NotImplementedError:
            return None
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}"
    return None


def call(function: Callable[..., Any], given: dict[str, Any]) -> object:
    parameters = inspect.signature(function).parameters
    by_place = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY and n in given]
    return function(*(given[n] for n in by_place), **{n: v for n, v in given.items() if n not in by_place})


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_answered_by_this_house(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function = CALLS[name]
    given = sound(name, function)
    told = outcome(partial(call, function, given))
    assert told is None, f"the sound call: {told}"
    arguments = [
        n
        for n, p in inspect.signature(function).parameters.items()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and not n.startswith("_")
    ]
    wrong = []
    for argument in arguments:
        for spoken, value in JUNK.items():
            told = outcome(partial(call, function, {**given, argument: value}))
            if told is not None:
                wrong.append(f"{argument}={spoken}: {told}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted(all_measures()))
def test_a_wrong_option_of_a_measure_is_answered_by_this_house(name: str) -> None:
    measure: Measure[Any] = all_measures()[name]
    quick = {**LIGHTER.get(name, {}), **({"by": "sex"} if "by" in measure.options else {})}
    wrong = []
    for option in measure.options:
        for spoken in SHORT:
            told = outcome(partial(measure, pair(), **{**quick, option: JUNK[spoken]}))
            if told is not None:
                wrong.append(f"{option}={spoken}: {told}")
    assert not wrong, "\n".join(wrong)


# -- the call itself ---------------------------------------------------------------------------------------------------

WRONG_CALLS: dict[str, Callable[[Any], object]] = {
    "nothing": lambda function: function(),
    "an argument nobody knows": lambda function: function(no_such_argument=1),
    "forty arguments by place": lambda function: function(*range(40)),
    "an argument twice": lambda function: function(1, **{next(iter(inspect.signature(function).parameters), "x"): 1}),
}


@pytest.mark.parametrize("name", [*CALLS, *sorted(all_measures())])
def test_a_wrong_call_is_answered_by_this_house(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function = CALLS[name] if name in CALLS else all_measures()[name]
    told = {spoken: outcome(partial(wrong, function)) for spoken, wrong in WRONG_CALLS.items()}
    assert not {spoken: said for spoken, said in told.items() if said}


def answer(call: Callable[[], object]) -> str:
    with pytest.raises(gh.GlasshouseError) as caught:
        call()
    return str(caught.value)


def test_tables_are_taken_by_their_names() -> None:
    """``original=`` and ``released=`` are the names of the tables at every door."""
    tables: dict[str, Any] = {"original": people(60, 1), "released": people(60, 2)}
    by_place = gh.disclosure.cap(*tables.values(), keys=["sex"], target="illness")
    for names in (tables, {"original": tables["original"], "synthetic": tables["released"]}):
        assert gh.disclosure.cap(**names, keys=["sex"], target="illness").value == by_place.value
        assert "identical" in gh.assess(**names, measures=["identical"]).results
        assert len(gh.scenarios(**names, keys=[["sex"], ["region"]], measures=["identical"])) == 2
        assert len(gh.check(**names)) > 0
    assert gh.disclosure.cap(pair(), keys=["sex"]).value == gh.disclosure.cap(original=pair(), keys=["sex"]).value


def test_names_of_tables_elsewhere_are_pointed_to_at_every_door() -> None:
    there: dict[str, Any] = {"real_data": people(60, 1), "synthetic_data": people(60, 2)}
    doors: list[Any] = [gh.Pair, gh.check, gh.assess, gh.scenarios, gh.disclosure.cap, gh.disclosure.rapid, gh.compare]
    for function in doors:
        said = answer(partial(function, **there))
        assert "`real_data` is called `original` here" in said, function
        assert "`synthetic_data` is called `release" in said, function
    rapid: dict[str, Any] = {"original_data": 1, "synthetic_data": 1, "known_vars": ["sex"], "sensitive_var": "illness"}
    said = answer(partial(gh.disclosure.rapid, **rapid))
    assert "`original_data` is called `original`" in said and "`sensitive_var` is called `target` here" in said


def test_arguments_of_synthpop_are_pointed_to_where_they_are_taken() -> None:
    made: Any = gh.synthesis.Sequential
    assert "`predictor.matrix` is called `predictors` here" in answer(
        partial(gh.synthesis.Cart, **{"predictor.matrix": 1})  # type: ignore[arg-type]
    )
    said = answer(partial(made, **{"cont_na": {"pay": [-9]}, "visit.sequence": ["sex"], "predictor_matrix": [[0]]}))
    assert "`cont_na` is called `special_codes` here" in said and "`visit.sequence` is called `visit_sequence`" in said
    assert "`predictor_matrix` is called `predictors` here" in said
    assert "`seed` is called `random_state` here and is an argument of Sequential.sample" in answer(
        partial(made, seed=1)
    )
    assert "Risk.from_advantage_at_baseline" in answer(partial(gh.Risk.from_advantage, 0.05, baseline=0.001))


def test_too_many_arguments_by_place_are_told_apart() -> None:
    rapid: Any = gh.disclosure.rapid
    said = answer(lambda: rapid(people(60, 1), people(60, 2), ["sex"], "illness"))
    assert said.startswith("rapid takes two tables by place") and "keys=" in said and "target=" in said
    said = answer(lambda: gh.explain("disco", "cap"))  # type: ignore[call-arg]
    assert said == "explain takes 1 argument by place (name), and 2 were given"
    assert answer(gh.rapid_cv).startswith("rapid_cv needs 'original', 'synthesiser', 'keys' and 'target'")


def test_every_misspelt_argument_of_a_call_is_named() -> None:
    tables: tuple[Any, Any] = (people(60, 1), people(60, 2))
    for function in (gh.Pair, gh.assess, gh.disclosure.cap):
        said = answer(partial(function, *tables, kyes=["sex"], tagret="illness"))  # type: ignore[arg-type]
        assert "'kyes' (did you mean 'keys'?)" in said and "'tagret' (did you mean 'target'?)" in said, function
