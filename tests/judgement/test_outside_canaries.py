"""Canaries: values that cannot stand in a report by accident, planted wherever a person's value can be, and looked for
in everything that leaves the house."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.show.cli.terminal import text_of
from glasshouse.show.report import comparison
from tests.show.pages import Page, check_page

N = 160
# labels of one, two and more characters, signs, words with marks in them, numbers and dates as text
LABELS = ["ʬ", "Ω", "ʬɸ", "Zq", "qzx", "QZkuru", "Mrs. Qzanary", "***", "¿?", "-98765", "98765.25", "1911-11-09", "q|z"]
NUMBERS = [98765432.1, -87654321.5, 76543.25]
CODES = [98761, 87659, 76541]  # numbers declared to be categories
REDUCED = {"trees": 10, "n_attacks": 30, "n_boot": 20, "n_perm": 3, "permutations": 9, "replicates": 9, "draws": 5}


def planted(seed: int, rng_seed: int, canaries: bool) -> pl.DataFrame:
    """A table in which, if asked for, single people hold what nobody else holds; which ones depends on the seed."""
    rng, chosen = np.random.default_rng(rng_seed), np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": rng.integers(18, 90, N),
        "town": rng.choice(["north", "south", "east"], N).tolist(),
        "code": rng.choice([1, 2, 3], N),
        "born": pl.Series(rng.integers(-3650, 3650, N)).cast(pl.Int32).cast(pl.Date),
        "income": np.round(rng.lognormal(10, 0.4, N), 1),
        "illness": rng.choice(["usual", "common"], N).tolist(),
    }
    table = pl.DataFrame(columns)
    if not canaries:
        return table
    rows = iter(chosen.permutation(N).tolist())
    town, illness = table["town"].to_list(), table["illness"].to_list()
    for label in LABELS:
        town[next(rows)] = label
        for row in (next(rows), next(rows)):
            illness[row] = label
    income, code, born = table["income"].to_list(), table["code"].to_list(), table["born"].to_list()
    for number, whole in zip(NUMBERS, CODES, strict=True):
        income[next(rows)], code[next(rows)] = number, whole
    born[next(rows)], income[next(rows)] = dt.date(1877, 7, 7), None
    held = {"town": town, "illness": illness, "income": income, "code": code, "born": born}
    return table.with_columns(pl.Series(name, values) for name, values in held.items())


ROLES: dict[str, Any] = {"keys": ["age", "town", "code"], "target": "illness", "schema": {"code": "categorical"}}


def release(original: pl.DataFrame, rng_seed: int) -> pl.DataFrame:
    """A release that repeats some of the people, canaries included: what it leaks, the report must not."""
    fresh = planted(0, rng_seed, canaries=False)
    return pl.concat([original.head(N // 2), fresh.head(N // 2)])


def absent(text: str, where: str) -> None:
    """No canary stands in a text, as a word or number of its own."""
    found = [label for label in LABELS if re.search(rf"(?<![\w.*¿-]){re.escape(label)}(?![\w*?])", text)]
    for number in (*NUMBERS, *CODES):
        for spelled in {repr(number), f"{number:g}", f"{number:,}", f"{abs(number):,.0f}", f"{abs(number):.0f}"}:
            found += [spelled] if re.search(rf"(?<![\d.,]){re.escape(spelled)}(?![\d])", text) else []
    found += [word for word in ("1877-07-07", "1877", "QZ", "Canary") if word in text]
    assert not found, f"{where} holds {found}"


def outputs(found: Any) -> Iterator[tuple[str, str]]:
    yield "content", json.dumps(found.content("external"), ensure_ascii=False)
    yield "json", found.to_json(audience="external", timing=True)
    yield "html", check_page(found.to_html(audience="external")).said
    yield "markdown", found.to_markdown(audience="external").replace("\\", "")
    yield "junit", found.to_junit(audience="external")
    yield "terminal", text_of(found, "external")


def settings(name: str) -> dict[str, Any]:
    declared = all_measures()[name].options
    return {option: value for option, value in REDUCED.items() if option in declared}


@pytest.mark.parametrize("seed", [0, 1])
def test_no_canary_leaves_by_any_output(seed: int, tmp_path: Path) -> None:
    """Every measure of the registry in one assessment, with canaries in the data, the file names, the policy and the
    options."""
    original, holdout = planted(seed, 1, canaries=True), planted(seed + 7, 2, canaries=True)
    paths = [tmp_path / f"{name}.parquet" for name in ("Mrs_Canary_original", "QZreleased", "QZholdout")]
    for table, path in zip((original, release(original, 3), holdout), paths, strict=True):
        table.write_parquet(path)
    policy = tmp_path / "QZpolicy.toml"
    policy.write_text(
        'name = "QZname"\ntitle = "QZtitle"\nwhy = "QZwhy"\nothers = "declared"\n[leak]\nwhy = "QZleak"\n'
        '[[rule]]\nmeasure = "attribution"\nlimit = 0.2\nwhy = "QZrule"\noptions = { exclude_levels = ["QZkuru"] }\n',
        encoding="utf-8",
    )
    names = [n for n in all_measures() if n != "rapid" or seed == 0]
    options = {name: settings(name) for name in names if settings(name)}
    options["attribution"] = {**options.get("attribution", {}), "exclude_levels": ["QZkuru", "ʬ"]}
    pair = gh.Pair(*paths[:2], holdout=paths[2], **ROLES)
    found = gh.assess(pair, policy=policy, measures=names, options=options)
    assert sum(j.status != "failed" for j in found.judged) > 50
    for form, text in outputs(found):
        absent(text, form)
    for name, result in found.results.items():
        absent(result.to_json("external"), name)
        for one in result.replicates:
            absent(one.to_json("external"), name)
    inside = found.to_json()
    assert all(word in inside for word in ("QZkuru", "Mrs. Qzanary", "Mrs_Canary", "QZrule")), (
        "so that the test can see"
    )


def test_no_canary_leaves_by_a_comparison() -> None:
    original, holdout = planted(3, 1, canaries=True), planted(9, 2, canaries=True)
    releases = {"first": release(original, 3), "second": planted(0, 4, canaries=False), "copy": original}
    ru = gh.compare(
        original,
        releases,
        holdout=holdout,
        risk=["exact_copies", "near_copies", "disco"],
        utility=["total_variation", "ci_overlap", "missingness"],
        **ROLES,
    )
    shown = ru.content("external")
    absent(json.dumps(shown, ensure_ascii=False), "content")
    absent(ru.to_json("external"), "json")
    absent(Page(comparison.render(ru, "external")).said, "html")
    absent(comparison.markdown(ru, "external").replace("\\", ""), "markdown")
    assert [row["release"] for row in shown["releases"]] == list(releases), "names of releases are told"
    for result in (r for results in ru.results.values() for r in results.values()):
        absent(result.to_json("external"), result.name)


def test_several_releases_and_missing_inputs_leave_no_canary() -> None:
    """Replicate releases, a row-paired release, no keys, no holdout: other branches, the same promise."""
    original = planted(5, 1, canaries=True)
    several = gh.Pair(original, [release(original, 3), release(original, 4)], **ROLES)
    paired = gh.Pair(original, original.with_columns(pl.col("age") + 1), row_paired=True, **ROLES)
    bare = gh.Pair(original, release(original, 3))
    names = ["attribution", "suda", "identical", "regression_fidelity", "missingness", "table_utility", "singling_out"]
    for pair in (several, paired, bare):
        found = gh.assess(pair, measures=names)
        for form, text in outputs(found):
            absent(text, form)
