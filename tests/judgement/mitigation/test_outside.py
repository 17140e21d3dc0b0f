"""What leaves of a mitigation: no value of a person, no count of copies, of records or of cells."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from tests.judgement.forms import printing, told
from tests.judgement.mitigation.conftest import COPIED, POLICY, planted
from tests.judgement.test_outside_canaries import ROLES, absent, release
from tests.judgement.test_outside_canaries import planted as with_canaries
from tests.judgement.test_outside_forms import seen

__all__ = ["printing"]

HEARD: list[str] = []  # names of progress
COUNTED = re.compile(r"\d[\d,]* (?:cell|record)s? (?:of|touched)")


pytestmark = pytest.mark.usefixtures("printing")


@pytest.fixture(scope="module")
def full_of_canaries() -> Any:
    """A release with some people of the original, and canaries among them and among those who were not copied."""
    original, holdout = with_canaries(3, 1, canaries=True), with_canaries(9, 2, canaries=True)
    clean = release(original, 3)
    released = pl.concat([clean[:130], original[:30].cast(dict(clean.schema))])
    pair = gh.Pair(original, released[np.random.default_rng(0).permutation(160).tolist()], holdout=holdout, **ROLES)
    return gh.mitigate(pair, policy=POLICY, allow=["redraw_records"], steps=1, n_jobs=1,
                       progress=lambda done, total, name: HEARD.append(name))  # fmt: skip


def test_no_canary_leaves(full_of_canaries: Any) -> None:
    assert full_of_canaries.before.verdict == "fail" and full_of_canaries.changed
    forms = dict(told(full_of_canaries))
    assert {"content", "json", "md", "html", "pdf", "text", "chart", "picture"} <= set(forms)
    for form, text in forms.items():
        absent(seen(form, text), form)
    for result in full_of_canaries.verdict.results.values():
        absent(result.to_json("external"), result.name)


def test_no_count_of_records_or_cells_leaves(fixed: Any, full_of_canaries: Any) -> None:
    for one in (fixed, full_of_canaries):
        content = one.content("external")
        for step in content["steps"]:
            assert step["records"] is None and step["cells"] is None and step["arguments"] is None
        assert content["recipe"] is None and content["tried"] is None
        assert all("candidate" not in note for note in content["notes"])
        for form, text in told(one):
            assert not COUNTED.search(seen(form, text)), form
        counts = {str(step.records) for step in one.taken} | {str(step.cells) for step in one.taken}
        way = json.dumps({k: content[k] for k in ("steps", "notes", "summary", "before")})
        assert not counts & set(re.findall(r"\d+", way)) - {"1", "2"}
    assert any(COUNTED.search(text) for text in (fixed.to_markdown(), repr(fixed))), "so that the test can see"


def test_why_a_column_was_chosen_stays_inside(fixed: Any) -> None:
    for step in fixed.content("external")["steps"]:
        assert re.fullmatch(r"acts on [a-z, ]+, which fails?", step["why"])


def again(pair: gh.Pair) -> Any:
    return gh.mitigate(pair, policy=POLICY, allow=["redraw_records"], steps=1, n_jobs=1)


def test_one_copy_or_one_person_more_tells_nothing(fixed: Any, pair: gh.Pair) -> None:
    """A person more among those copied, and a person more in the original, who earns what nobody does: in no form does
    anything differ but the fingerprint of the released file, which whoever has the file computes."""
    person = pair.local("original")[:1].with_columns(pl.lit(98_765_432.25).alias("income"))
    joined = pair.replace(original=pl.concat([pair.local("original"), person]))
    others = [again(planted(COPIED + 1)), again(joined)]
    assert fixed.taken[0].records != others[0].taken[0].records
    assert all(other.content() != fixed.content() for other in others), "inside it is seen"
    known = public(fixed)
    for other in others:
        assert public(other) == known


def public(fixed: Any) -> dict[str, str]:
    """Every form, without the fingerprint of the released file."""
    own = {t["table"]: t["fingerprint"] for t in fixed.content("external")["verdict"]["data"]["tables"]}
    assert own["original"] is None and own["holdout"] is None
    return {form: text.replace(own["released"], "") for form, text in told(fixed)}


def test_what_is_told_on_the_way_names_operations_only(full_of_canaries: Any) -> None:
    """Progress is seen beside an external report: which candidate it is, and what is tried."""
    titles = "|".join(one.title for one in gh.protection.operations().values())
    assert full_of_canaries.changed and len(HEARD) > 4
    assert all(re.fullmatch(rf"candidate \d+: ({titles})|the [a-z ]+|", name) for name in HEARD), HEARD


def test_an_unknown_audience_is_refused(fixed: Any) -> None:
    with pytest.raises(gh.InputError, match="audience"):
        fixed.content("public")
