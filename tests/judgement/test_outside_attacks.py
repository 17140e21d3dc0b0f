"""The attacks on external reports, one by one: each gave somebody away before figures were told by type."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.cli.terminal import text_of
from tests.show.pages import check_page


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {
            "age": age,
            "region": rng.choice(["north", "south", "east", "west"], n),
            "income": np.round(rng.lognormal(10, 0.5, n) + 40 * age, 1),
            "debt": np.round(rng.normal(2000, 900, n), 1),
            "born": pl.Series([f"{1990 - a // 2}-0{1 + a % 9}-11" for a in age.tolist()]).str.to_date(),
            "illness": rng.choice(["ague", "dropsy", "quinsy"], n, p=[0.6, 0.3, 0.1]),
        }
    )


ROLES: dict[str, Any] = {"keys": ["age", "region"], "target": "illness"}


def everything(found: Any) -> dict[str, str]:
    """Every external output of an assessment."""
    return {
        "json": found.to_json(audience="external"),
        "html": check_page(found.to_html(audience="external")).said,
        "md": found.to_markdown(audience="external"),
        "junit": found.to_junit(audience="external"),
        "text": text_of(found, "external"),
    }


def numbers(item: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every number in some content, with its path."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from numbers(value, (*path, str(key)))
    elif isinstance(item, list):
        for i, value in enumerate(item):
            yield from numbers(value, (*path, str(i)))
    elif isinstance(item, (int, float)) and not isinstance(item, bool):
        yield path, float(item)


# -- 1: small cells by division ----------------------------------------------------------------------------------------

SHARES = ("value", "baseline", "holdout", "difference", "share", "strangers", "utility")


def shares(content: Any) -> Iterator[tuple[tuple[str, ...], float]]:
    """The numbers about people: those of results, threats and people, not of limits, levels and settings."""
    for part in ("results", "threats", "people"):
        for path, value in numbers(content[part], (part,)):
            if path[-1] in SHARES:
                yield path, value


def no_small_cell(content: Any, sizes: set[int], least: int = 5) -> None:
    """No share times a size somebody may know is a count under the minimum, nor all but one."""
    for path, value in shares(content):
        for n in sizes:
            for count in (value * n, (1 - value) * n):
                assert not 0.5 < count < least - 0.5, (path, value, n)


def test_small_missing_cells_do_not_come_back() -> None:
    n = 2000
    original, released = people(n, 1), people(n, 2)
    original = original.with_columns(
        income=pl.when(pl.int_range(n) < 2).then(None).otherwise(pl.col("income")),
        illness=pl.when(pl.int_range(n) < 3).then(None).otherwise(pl.col("illness")),
    )
    names = ["missingness", "outliers", "ci_proximity", "total_variation", "kolmogorov_smirnov", "disco", "identical"]
    found = gh.assess(original, released, measures=names, **ROLES)
    no_small_cell(found.content("external"), {n, n - 2, n - 3})
    for form, text in everything(found).items():
        for told in ("0.001", "0.0015", "0.1 %", "0.15 %", "1998", "1,998", "1997", "1,997", "0.999", "0.9985"):
            assert not re.search(rf"(?<![\d.]){re.escape(told)}(?!\d)", text), (form, told)
    columns = {c["name"]: c["missing"]["original"] for c in found.content("external")["data"]["columns"]}
    assert set(columns.values()) == {"< 0.5 %"}, "nobody, two and three people look alike"


def test_the_denominator_is_that_of_the_release() -> None:
    original = people(2000, 1)
    released = pl.concat([original[:2], people(98, 2)])
    found = gh.assess(original, released, measures=["identical", "nndr", "hitting_rate", "exact_copies"], **ROLES)
    shown = found.content("external")
    assert found.results["identical"].value == 0.02 and shown["results"]["identical"]["value"] is None
    no_small_cell(shown, {100, 2000})


def test_all_but_three_are_not_counted_either() -> None:
    original = people(400, 1)
    released = pl.concat([original[:397], people(3, 2)])
    found = gh.assess(original, released, measures=["identical", "exact_copies", "near_copies"], **ROLES)
    shown = found.content("external")
    assert found.results["exact_copies"].value == 397 / 400
    assert shown["results"]["exact_copies"]["shown"] == "> 98.0 %"
    assert not any("397" in text or "99.2" in text for text in everything(found).values())
    no_small_cell(shown, {400})


def test_warnings_sentences_drivers_and_histograms_stay_inside() -> None:
    original, released = people(400, 1), people(400, 2)
    original = original.with_columns(
        illness=pl.when(pl.int_range(400) < 3).then(pl.lit("QZkuru")).otherwise(pl.col("illness"))
    )
    found = gh.assess(original, released, measures=["rapid", "k_anonymity"], options={"rapid": {"trees": 10}}, **ROLES)
    assert any("3 records" in w for w in found.results["rapid"].warnings), "so that there is something to keep"
    shown = found.content("external")
    for result in shown["results"].values():
        assert result["details"] == {} and result["warnings"] == [] and result["replicates"] == []
    assert shown["drivers"] is None and shown["distributions"] == [] and "groups" not in (shown["people"] or ())
    assert not any("3 records" in text or "QZkuru" in text for text in everything(found).values())


# -- 2 and 3: options and names of terms -------------------------------------------------------------------------------


def test_options_are_not_echoed() -> None:
    original, released = (
        people(300, seed).with_columns(
            illness=pl.when(pl.int_range(300) < 1).then(pl.lit("QZkuru")).otherwise(pl.col("illness")),
            region=pl.when(pl.int_range(300) < 9).then(pl.lit("QZkey")).otherwise(pl.col("region")),
        )
        for seed in (1, 2)
    )
    policy = gh.Policy.from_dict(
        {
            "name": "QZname",
            "title": "QZtitle",
            "why": "because of QZwhy",
            "leak": {"why": "QZlevel"},
            "rule": [
                {"measure": "disco", "limit": 0.5, "why": "QZrule"},
                {"measure": "attribution", "limit": 0.5, "options": {"exclude_pairs": [["region", "QZkey", "QZkuru"]]}},
            ],
        }
    )
    options = {"attribution": {"exclude_levels": ["QZkuru"], "denominator_limit": 7}}
    found = gh.assess(original, released, policy=policy, measures=["attribution", "disco"], options=options, **ROLES)
    for form, text in everything(found).items():
        assert "QZ" not in text, form
    shown = found.content("external")
    told = shown["results"]["attribution"]["settings"]["options"]
    assert told["exclude_levels"] == told["exclude_pairs"] == "given, not shown" and told["denominator_limit"] == 7
    assert "{'exclude_levels': 'given, not shown', 'denominator_limit': 7}" in shown["run"]["call"]
    assert "QZkuru" in found.to_json() and "QZrule" in found.to_json(), "inside they are told"


def test_rare_labels_are_no_names_of_terms() -> None:
    original, released = people(400, 1), people(400, 2)
    labels = ["HV", "113", "***", "-98765", "112.5", "ʬ"]

    def ill(table: pl.DataFrame) -> pl.DataFrame:
        rare = pl.Series([labels[i] if i < len(labels) else "usual" for i in np.arange(table.height) % 60])
        return table.with_columns(illness=rare)

    found = gh.assess(ill(original), ill(released), measures=["regression_fidelity", "ci_overlap", "suda"], **ROLES)
    assert any("HV" in term for term in found.results["regression_fidelity"].details["terms"])
    for form, text in everything(found).items():
        for label in labels:
            assert not re.search(rf"(?<![\w.-]){re.escape(label)}(?![\w.*])", text), (form, label)


# -- 4: results by themselves ------------------------------------------------------------------------------------------


def test_a_result_by_itself_passes_the_same_gate() -> None:
    original, released = people(300, 1), people(300, 2)
    for name in ("regression_fidelity", "ci_proximity", "disco", "k_anonymity", "missingness"):
        measure = getattr(gh.utility if hasattr(gh.utility, name) else gh.disclosure, name)
        result = measure(original, released, **ROLES)
        told = gh.assess(original, released, measures=[name], **ROLES).content("external")["results"][name]
        own = result.to_dict("external")
        assert own == json.loads(result.to_json("external"))
        assert {k: told[k] for k in own if k in told and k not in ("settings", "verdict")} == {
            k: own[k] for k in own if k in told and k not in ("settings", "verdict")
        }
        assert "details" not in own and "warnings" not in own
    with pytest.raises(gh.InputError, match="audience"):
        result.to_dict("public")


# -- 5: differencing ---------------------------------------------------------------------------------------------------

PERSONS = {
    "outlier": {"age": 113, "income": 98765432.1, "debt": -87654321.5, "born": "1911-11-09", "illness": "quinsy"},
    "ordinary": {"age": 41, "income": 23456.7, "debt": 2345.6, "born": "1970-06-11", "illness": "ague"},
    "lowest": {"age": 18, "income": 1234.5, "debt": -4321.7, "born": "1981-01-11", "illness": "dropsy"},
}
MEASURES = ["ci_proximity", "ci_overlap", "association", "wasserstein", "kolmogorov_smirnov", "outliers", "missingness"]
MEASURES += ["tail_fidelity", "hellinger", "regression_fidelity", "identical", "exact_copies", "disco", "uniques"]


def joined(person: dict[str, Any], n: int = 300) -> Any:
    base = people(n, 1)
    row = pl.DataFrame([{**person, "region": "west"}]).with_columns(pl.col("born").str.to_date())
    original = pl.concat([base, row.select(base.columns).cast(dict(base.schema))])
    return gh.assess(original, people(n, 2), holdout=people(n // 2, 3), measures=MEASURES, **ROLES)


@pytest.mark.parametrize("who", list(PERSONS))
def test_two_reports_do_not_give_the_person_who_joined(who: str) -> None:
    """The attacker knows everybody else and the exact sizes, and has the reports before and after one person joined.

    Checked: no two figures under one name, and no figure and count in the outputs, solve for one of the person's
    numbers as a sum, a mean or a plain difference (mean * n before and after gave all six of them exactly). Not
    checked, because rounding does not promise it: that somebody who can run every measure again with every guess
    cannot rule guesses out.
    """
    n, person = 300, PERSONS[who]
    before = gh.assess(people(n, 1), people(n, 2), holdout=people(n // 2, 3), measures=MEASURES, **ROLES)
    after = joined(person)
    old = dict(numbers(json.loads(before.to_json(audience="external"))))
    new = dict(numbers(json.loads(after.to_json(audience="external"))))
    days = (pl.Series([person["born"]]).str.to_date() - pl.Series(["1970-01-01"]).str.to_date()).dt.total_days()[0]
    secrets = [person["income"], person["debt"], float(days)] + ([113.0] if who == "outlier" else [])
    for path in old.keys() & new.keys():
        a, b = old[path], new[path]
        for x, y in itertools.product((1, n, n - 1), (1, n + 1, n)):
            for secret in secrets:
                assert abs(b * y - a * x - secret) > 1e-3 * abs(secret) or a == b, (path, a, b, secret)
    for form, text in everything(after).items():
        for secret in (person["income"], person["debt"], person["born"]):
            assert str(secret) not in text and str(secret).replace(".0", "") not in text, form


@pytest.mark.parametrize("who", list(PERSONS))
def test_a_number_of_the_person_who_joined_is_not_known_to_a_percent(who: str) -> None:
    """The strongest attacker there is: knows everybody else, runs the same measures with every guess and compares whole
    reports. One percent more or less of the person's income gives the same report, so that it cannot be solved for."""
    true = joined(PERSONS[who]).content("external")
    for factor in (0.99, 1.01):
        guess = {**PERSONS[who], "income": round(PERSONS[who]["income"] * factor, 1)}
        assert joined(guess).content("external") == true


# -- 6 and 7: fingerprints, files, remarks -----------------------------------------------------------------------------


def test_fingerprints_files_and_remarks(tmp_path: Path) -> None:
    original, released, holdout = people(300, 1), people(300, 2), people(150, 3)
    names = [tmp_path / f"{name}.parquet" for name in ("Mrs_Canary_1911_HIV", "QZrelease", "QZstrangers")]
    for table, path in zip((original, released.cast({"age": pl.String}), holdout), names, strict=True):
        table.write_parquet(path)
    pair = gh.Pair(*names[:2], holdout=names[2], **ROLES)
    assert pair.remarks
    policy = tmp_path / "QZpolicy.toml"
    policy.write_text('[[rule]]\nmeasure = "disco"\nlimit = 0.5\n', encoding="utf-8")
    found = gh.assess(pair, policy=policy, measures=["disco", "identical"])
    inside, outside = (found.content(a)["data"] for a in ("internal", "external"))
    assert outside["remarks"] == {} and outside["findings"] == []
    prints = {t["table"]: t["fingerprint"] for t in inside["tables"]}
    told = {t["table"]: t["fingerprint"] for t in outside["tables"]}
    assert told == {"original": None, "released": prints["released"], "holdout": None}
    assert {t["table"]: t["records"] for t in outside["tables"]} == {"original": 300, "released": 300, "holdout": 150}
    for form, text in everything(found).items():
        assert prints["original"] not in text and prints["holdout"] not in text, form
        assert "Canary" not in text and "QZ" not in text, form


def test_sizes_of_confidential_tables_are_rounded() -> None:
    found = gh.assess(people(317, 1), people(289, 2), holdout=people(158, 3), measures=["disco", "domias"], **ROLES)
    shown = found.content("external")
    sizes = {t["table"]: t["records"] for t in shown["data"]["tables"]}
    assert sizes == {"original": 320, "released": 289, "holdout": 160}
    assert not any(re.search(r"(?<![\d.])(317|158)(?![\d%])", text) for text in everything(found).values())
