"""The list of measures, for people."""

from __future__ import annotations

from dataclasses import replace

import pytest

import glasshouse as gh
from glasshouse import catalogue


def test_an_explanation_tells_what_the_docstring_says_and_no_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(pair: gh.Pair, *, bins: int = 3) -> None:
        """Count something.

        It is counted once.

        Parameters
        ----------
        bins : int, default 3
            How many groups.

        Notes
        -----
        c = sum of d

        Examples
        --------
        >>> 1 + 1
        2
        """

    made = replace(gh.disclosure.disco, function=counted)
    monkeypatch.setattr(catalogue, "all_measures", lambda: {"counted": made})
    text = str(gh.explain("counted"))
    assert text.startswith("counted: Count something.\n\nIt is counted once.\n\nc = sum of d\n\nbins : int, default 3")
    assert "----" not in text and ">>>" not in text and "bins=3" in text


def test_an_unknown_measure_is_met_with_the_closest_name() -> None:
    with pytest.raises(gh.InputError, match="did you mean 'rapid'"):
        gh.explain("rapidd")
