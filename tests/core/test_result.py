"""A result explains itself, never holds a NaN, and never changes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import NotApplicable
from glasshouse.core.intervals import bootstrap_share, clopper_pearson, difference_of_shares, wald, wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import _registry, measure
from glasshouse.core.plain import number, percent, plain
from glasshouse.core.result import Result
from glasshouse.core.streams import generator, integer_seed


@pytest.fixture
def pair() -> gh.Pair:
    frame = pl.DataFrame({"k": ["a", "a", "b", "c"], "t": ["x", "y", "x", None]})
    return gh.Pair(frame, frame, keys="k", target="t")


def test_excess_is_over_the_baseline() -> None:
    result = Result(value=0.6, baseline=0.2)
    assert result.excess == pytest.approx(0.5)
    assert Result(value=0.6, baseline=1.0).excess is None


def test_no_value_is_a_reason_and_not_a_nan() -> None:
    result = Result(value=float("nan"))
    assert (result.status, result.value) == ("not_applicable", None)
    assert result.reason
    assert json.loads(Result(value=1, details={"a": float("nan"), "b": np.float64(2), "c": np.arange(2)}).to_json())[
        "details"
    ] == {"a": None, "b": 2.0, "c": [0, 1]}


def test_a_result_does_not_change() -> None:
    with pytest.raises(AttributeError, match="does not change"):
        Result(value=1.0).value = 2  # type: ignore[misc]


def test_unknown_attribute_points_to_the_details() -> None:
    with pytest.raises(AttributeError, match=r"result.details\['DiSCO'\]"):
        _ = Result(value=1.0, details={"DiSCO": 1}).DiSCO
    with pytest.raises(AttributeError, match="did you mean 'value'"):
        _ = Result(value=1.0).vlaue


@pytest.mark.parametrize(("value", "verdict"), [(0.01, "pass"), (0.06, "warn"), (0.3, "fail")])
def test_limits_judge(value: float, verdict: str) -> None:
    assert Result(value=value).with_limits(Limit("value", warn=0.05, fail=0.2)).verdict == verdict
    other = Limit("value", warn=0.95, fail=0.8, operator=">=")
    assert Result(value=1 - value).with_limits(other).verdict == verdict
    upper = Limit("upper", warn=0.05, fail=0.2)
    assert Result(value=0.0, interval=(0.0, value)).with_limits(upper).verdict == verdict


def test_by_and_top(pair: gh.Pair) -> None:
    result = gh.disclosure.disco(pair)
    groups = result.by("k")
    assert groups["n"].to_list() == [2, 1, 1]
    assert groups["value"].to_list() == [0.0, 1.0, 1.0]
    assert (groups["n"] * groups["value"]).sum() / 4 == result.value
    assert result.top(2)["row"].to_list() == [2, 3]
    assert all(groups["small"])


def test_missing_group_is_a_group(pair: gh.Pair) -> None:
    assert gh.disclosure.disco(pair).by("t")["t"].to_list() == ["x", "y", None]


def test_printing(pair: gh.Pair) -> None:
    result = gh.disclosure.disco(pair)
    assert str(result).startswith("disco 0.5 [")
    assert "luck alone" in repr(result)
    assert "<table>" in result._repr_html_()
    hostile = Result(value=1.0, sentence="<script>alert(1)</script>")
    assert "<script>" not in hostile._repr_html_()


def test_registry_rejects_a_second_measure_of_the_same_name() -> None:
    with pytest.raises(gh.InputError, match="two measures are called 'disco'"):

        @measure(side="disclosure", family="x", better="lower", cite="nobody")
        def disco(pair: gh.Pair) -> Result:
            """Nothing."""
            return Result(value=1.0)

    assert _registry["disco"].family == "attribution"


def test_a_measure_that_does_not_apply_says_why(pair: gh.Pair) -> None:
    @measure(side="disclosure", family="test", better="lower", cite="nobody", needs=("holdout",))
    def never_runs(pair: gh.Pair) -> Result:
        """Nothing."""
        raise NotApplicable("no")

    try:
        result = never_runs(pair)
        assert result.status == "not_applicable"
        assert "Set 20 to 50 % of the records aside before synthesis" in str(result.reason)
        assert result.verdict is None
    finally:
        del _registry["never_runs"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"sed": 1}, "disco has no option 'sed'"),
        ({"seed": 1}, "disco has no option 'seed'"),  # it draws nothing
        ({"control": 1}, "`control` is called `holdout` here"),
    ],
)
def test_unknown_options_are_refused(pair: gh.Pair, arguments: dict[str, int], sentence: str) -> None:
    with pytest.raises(gh.InputError, match=sentence.replace("(", r"\(")):
        gh.disclosure.disco(pair, **arguments)


def test_missing_roles_are_named(pair: gh.Pair) -> None:
    frame = pair.local("original")
    with pytest.raises(gh.InputError, match="disco needs keys: the columns an attacker may know"):
        gh.disclosure.disco(frame, frame, target="t")
    with pytest.raises(gh.InputError, match="compares two tables"):
        gh.disclosure.disco(frame, keys="k", target="t")


def test_aliases() -> None:
    frame = pl.DataFrame({"k": ["a"], "t": ["x"]})
    assert gh.disclosure.disco(frame, synthetic=frame, key_vars="k", target_var="t").value == 1


def test_catalogue() -> None:
    table = gh.measures()
    assert {"name", "side", "family", "threat", "range", "direction", "needs", "bands", "citation", "cost"} <= set(
        table.columns
    )
    assert "disco" in table["name"].to_list()
    assert "Raab" in gh.explain("disco")
    with pytest.raises(gh.InputError, match="did you mean 'disco'"):
        gh.explain("dicso")
    with pytest.raises(AttributeError, match="did you mean 'attribution'"):
        _ = gh.disclosure.atribution


def test_external_form_leaves_data_values_out(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution(pair, exclude_levels=["x"])
    assert "one_way" in result.to_dict()["details"]
    external = result.to_dict("external")
    assert not {"details", "warnings", "replicates"} & set(external)
    assert external["settings"] == {
        "options": {**result.settings["options"], "exclude_levels": "given, not shown", "exclude_pairs": []}
    }


def test_intervals_against_published_values() -> None:
    """Wilson 1927 as in Newcombe 1998 (81 of 263; 15 of 148); Clopper-Pearson by Beta quantiles."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert clopper_pearson(81, 263) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    assert clopper_pearson(0, 10)[0] == 0 and clopper_pearson(10, 10)[1] == 1
    assert wald(81, 263) == pytest.approx((0.2522, 0.3638), abs=5e-5)
    assert difference_of_shares(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert bootstrap_share(81, 263, random_state=1) == bootstrap_share(81, 263, random_state=1)
    assert wilson(0, 5)[0] == 0 and wilson(5, 5)[1] == 1


def test_streams_are_independent_and_repeatable() -> None:
    assert generator(7, "a").integers(0, 1000, 5).tolist() == generator(7, "a").integers(0, 1000, 5).tolist()
    assert generator(7, "a").integers(0, 1000, 5).tolist() != generator(7, "b").integers(0, 1000, 5).tolist()
    assert integer_seed(7, "x") == integer_seed(7, "x")


def test_plain_numbers() -> None:
    assert percent(0.00001) == "< 0.1 %"
    assert percent(0.99999) == "> 99.9 %"
    assert percent(0.1234) == "12.3 %"
    assert number(1234) == "1,234"
    assert plain({("a", 1): np.float32("inf")}) == {"a | 1": None}


def test_import_is_quick_and_light() -> None:
    """No engine, plotting or machine-learning library is loaded by `import glasshouse`."""
    heavy = ("numba", "sklearn", "scipy", "altair", "pandas", "duckdb", "pyspark", "typer")
    code = f"import sys, glasshouse; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize("p", [0.1567, 0.0499, 0.0299, 0.00199, 0.996, 1.0, 0.105])
def test_a_p_value_is_told_as_one_figure(p: float) -> None:
    """As a share of cases and as a number: both cut off after two digits, so that they never differ."""
    from glasshouse.disclosure.wording import against

    share, number = re.search(r"in ([\d.]+) % of cases \(p = ([\d.]+)\)", against(p)).groups()  # type: ignore[union-attr]
    assert float(share) / 100 == pytest.approx(float(number)) and float(number) <= p
