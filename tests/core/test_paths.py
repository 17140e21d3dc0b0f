"""Text in the place of a path: a sentence that does not repeat it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.paths import as_told, exists, is_file

TABLE = pl.DataFrame({"age": [31, 44] * 10, "town": ["a", "b"] * 10})
PASTED = "age,town\n31,QZperson\n" * 40  # longer than any name of a file

DOORS: dict[str, Callable[[str], Any]] = {
    "original": lambda text: gh.Pair(text, TABLE),
    "operation": lambda text: gh.protection.round_numbers(text, "age"),
    "recipe": lambda text: gh.protection.apply(TABLE, text),
    "hierarchy": lambda text: gh.protection.generalise(TABLE, "age", 2, hierarchies={"age": text}),
    "secret": lambda text: gh.protection.pseudonymise(TABLE, "town", method="keyed", key_file=text),
    "domain": lambda text: gh.protection.resynthesise_dp(TABLE, original=TABLE, domain=text, rho=1.0),
    "policy": lambda text: gh.assess(TABLE, TABLE, policy=text),
    "mitigate": lambda text: gh.mitigate(TABLE, TABLE, policy=text),
    "releases": lambda text: gh.compare(TABLE, [text, f"{text}2"]),
    "model": gh.synthesis.load,
}


@pytest.mark.parametrize("text", [PASTED, PASTED[:30], "QZperson" * 60])
@pytest.mark.parametrize("door", DOORS)
def test_content_in_the_place_of_a_path_is_refused_and_not_repeated(door: str, text: str) -> None:
    with pytest.raises(gh.GlasshouseError) as refused:
        DOORS[door](text)
    assert "QZ" not in str(refused.value)
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_paths_are_told_as_they_are(tmp_path: Path) -> None:
    assert as_told(tmp_path / "a.csv") == str(tmp_path / "a.csv")
    assert exists(tmp_path) and not is_file(tmp_path) and not exists(tmp_path / ("a" * 300))
    with pytest.raises(gh.InputError, match=r"file not found: nowhere\.csv"):
        gh.Pair("nowhere.csv", TABLE)
