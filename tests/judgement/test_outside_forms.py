"""Canaries and differences in every form of everything that is told outside: assessments, scenarios, maps, results."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from tests.judgement.forms import printing, told
from tests.judgement.test_outside_attacks import PERSONS, people
from tests.judgement.test_outside_attacks import ROLES as PEOPLE
from tests.judgement.test_outside_canaries import ROLES, absent, planted, release
from tests.show.pages import Page

__all__ = ["printing"]
MEASURES = ["attribution", "disco", "suda", "identical", "exact_copies", "regression_fidelity", "missingness"]
MEASURES += ["total_variation", "wasserstein", "domias"]
PAGES = ("html", "pdf", "first sheet", "picture")


def seen(form: str, text: str) -> str:
    """What a reader may find in a form: of a page its text and whatever its attributes say, but not how it is drawn."""
    said = re.findall(r'(?:aria-label|title|alt|content|href)="([^"]*)"', text)
    return " ".join([Page(text).said, *said]) if form in PAGES else text


@pytest.mark.usefixtures("printing")
@pytest.mark.parametrize("kind", ["assess", "scenarios", "compare"])
def test_no_canary_stands_in_any_form(kind: str) -> None:
    original, holdout = planted(3, 1, canaries=True), planted(9, 2, canaries=True)
    pair = gh.Pair(original, release(original, 3), holdout=holdout, **ROLES)
    if kind == "assess":
        found: Any = gh.assess(pair, measures=MEASURES, n_jobs=1)
    elif kind == "scenarios":
        found = gh.scenarios(pair, keys={"few": ["age"], "all": ["age", "town", "code"]}, measures=MEASURES, n_jobs=1)
    else:
        releases = {"first": release(original, 3), "copy": original}
        found = gh.compare(pair, releases, measures=["exact_copies", "disco", "total_variation"], progress=False)
    forms = dict(told(found))
    assert {"content", "json", "md", "html", "pdf", "text"} <= set(forms)
    for form, text in forms.items():
        absent(seen(form, text), form)


def measured(person: dict[str, Any]) -> dict[str, Any]:
    """What is told of 300 people and one more: an assessment, its results, scenarios and a map."""
    row = pl.DataFrame([{**person, "region": "west"}]).with_columns(pl.col("born").str.to_date())
    base = people(300, 1)
    original = pl.concat([base, row.select(base.columns).cast(dict(base.schema))])
    pair = gh.Pair(original, people(300, 2), holdout=people(150, 3), **PEOPLE)
    found = gh.assess(pair, measures=MEASURES, n_jobs=1)
    keys = {"one": ["age"], "two": ["age", "region"]}
    copied = pl.concat([base[:100], people(300, 2)[100:]])
    return {
        "assess": found,
        "scenarios": gh.scenarios(pair, keys=keys, measures=["disco", "uniques", "wasserstein"], n_jobs=1),
        "compare": gh.compare(pair, {"A": copied, "B": people(300, 2)},
                              measures=["exact_copies", "disco", "wasserstein", "total_variation"], progress=False),
        **found.results,
    }  # fmt: skip


@pytest.mark.usefixtures("printing")
@pytest.mark.parametrize("who", ["outlier", "ordinary"])
def test_no_form_differs_by_a_percent_of_what_somebody_earns(who: str) -> None:
    """Whoever has every form of every report and knows everybody else cannot tell one income from the next."""
    income = float(PERSONS[who]["income"])  # type: ignore[arg-type]
    one, other = (measured({**PERSONS[who], "income": round(income * factor, 1)}) for factor in (1.0, 1.01))
    for kind, found in one.items():
        assert dict(told(found)) == dict(told(other[kind])), kind
        for form, text in told(found):
            assert f"{income:g}" not in seen(form, text) and str(income) not in text, (kind, form)
