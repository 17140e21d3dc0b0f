"""What leaves of a mitigation: no value of a person, no count of copies, of records or of cells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from tests.judgement.mitigation.conftest import COPIED, POLICY, planted
from tests.judgement.test_outside_canaries import ROLES, absent, release
from tests.judgement.test_outside_canaries import planted as with_canaries
from tests.show.pages import check_page

COUNTED = re.compile(r"\d[\d,]* (?:cell|record)s? (?:of|touched)")


def told(fixed: Any) -> Iterator[tuple[str, str]]:
    yield "content", json.dumps(fixed.content("external"), ensure_ascii=False)
    yield "json", fixed.to_json(audience="external")
    yield "html", check_page(fixed.to_html(audience="external")).said
    yield "markdown", fixed.to_markdown(audience="external").replace("\\", "")


@pytest.fixture(scope="module")
def full_of_canaries() -> Any:
    """A release with some people of the original, and canaries among them and among those who were not copied."""
    original, holdout = with_canaries(3, 1, canaries=True), with_canaries(9, 2, canaries=True)
    clean = release(original, 3)
    released = pl.concat([clean[:130], original[:30].cast(dict(clean.schema))])
    pair = gh.Pair(original, released[np.random.default_rng(0).permutation(160).tolist()], holdout=holdout, **ROLES)
    return gh.mitigate(pair, policy=POLICY, allow=["redraw_records"], steps=1, n_jobs=1)


def test_no_canary_leaves(full_of_canaries: Any) -> None:
    assert full_of_canaries.before.verdict == "fail" and full_of_canaries.changed
    for form, text in told(full_of_canaries):
        absent(text, form)


def test_no_count_of_records_or_cells_leaves(fixed: Any, full_of_canaries: Any) -> None:
    for one in (fixed, full_of_canaries):
        content = one.content("external")
        for step in content["steps"]:
            assert step["records"] is None and step["cells"] is None and step["arguments"] is None
        assert content["recipe"] is None and content["tried"] is None
        assert all("candidate" not in note for note in content["notes"])
        for form, text in told(one):
            assert not COUNTED.search(text), form
        counts = {str(step.records) for step in one.taken} | {str(step.cells) for step in one.taken}
        way = json.dumps({k: content[k] for k in ("steps", "notes", "summary", "before")})
        assert not counts & set(re.findall(r"\d+", way)) - {"1", "2"}
    assert any(COUNTED.search(text) for text in (fixed.to_markdown(), repr(fixed))), "so that the test can see"


def test_why_a_column_was_chosen_stays_inside(fixed: Any) -> None:
    for step in fixed.content("external")["steps"]:
        assert re.fullmatch(r"acts on [a-z, ]+, which fails?", step["why"])


def test_one_copy_more_tells_nothing_but_what_the_reports_tell(fixed: Any) -> None:
    """Two releases, one with a person more copied: of the way there the same is told outside."""
    made = [fixed, gh.mitigate(planted(COPIED + 1), policy=POLICY, allow=["redraw_records"], steps=1, n_jobs=1)]
    assert made[0].taken[0].records != made[1].taken[0].records
    ways = []
    for one in made:
        content = one.content("external")
        figures = ("risk", "utility")
        steps = [{k: v for k, v in step.items() if not k.startswith(figures)} for step in content["steps"]]
        ways.append({**{k: content[k] for k in ("summary", "notes", "met", "before")}, "steps": steps})
        for step in content["steps"]:  # on the map figures are those of its own gate: two decimals, or a bound
            for name in (k for k in step if k.startswith(figures) and isinstance(step[k], float)):
                assert round(step[name], 2) == step[name]
    assert ways[0] == ways[1]


def test_an_unknown_audience_is_refused(fixed: Any) -> None:
    with pytest.raises(gh.InputError, match="audience"):
        fixed.content("public")
