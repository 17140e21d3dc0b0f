"""The table of names: whatever people bring from other packages is accepted or pointed to, and the pointers hold."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures, named
from glasshouse.core import names
from glasshouse.core.calling import PAIR_ARGUMENTS
from glasshouse.core.pointing import Pointer, elsewhere, table
from glasshouse.show.cli import main

PACKAGES = {"synthpop", "riskutility", "RAPID", "sdcMicro", "anonymeter", "SDMetrics"}


@pytest.fixture(scope="module")
def pair() -> gh.Pair:
    example = gh.data.load("health")
    original, released = (pl.DataFrame(t).head(150) for t in (example.original, example.released))
    return gh.Pair(original, released, keys=["gender", "education", "age"], target="disease_status")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


# -- what users try ----------------------------------------------------------------------------------------------------


def test_explain_answers_to_the_names_of_other_packages() -> None:
    text = gh.explain("ims")
    assert text.startswith("riskutility's ims is gh.disclosure.identical here") and "\n\nidentical: Share of" in text
    text = gh.explain("dcap")
    assert "riskutility's dcap is gh.disclosure.cap" in text and 'attribution(...).details["DCAP"]' in text
    assert "\ncap: Mean probability" in text
    assert "multi.disclosure is gh.disclosure.attribution_all" in gh.explain("multi_disclosure")
    assert "RAPID's quasi_identifiers is keys here" in gh.explain("quasi_identifiers")
    assert "has no counterpart here" in gh.explain("privacy_score")
    assert gh.explain("k-Anonymity") == gh.explain("k_anonymity") or "k_anonymity: " in gh.explain("k-Anonymity")
    with pytest.raises(gh.InputError, match="did you mean 'propscore'"):
        gh.explain("propscor")


def test_explain_lists_charts_options_and_other_names() -> None:
    text = gh.explain("rapid")
    charts = next(line for line in text.splitlines() if line.strip().startswith("charts"))
    assert "curve(confidence=0.95)" in charts and "importance" in charts and "subgroups(column=None)" in charts
    assert re.search(r"^  options +attackers=\('rf',\)", text, re.MULTILINE)
    assert re.search(r"^  charts +figures$", gh.explain("near_copies"), re.MULTILINE), "every result can be drawn"
    assert re.search(r"^  elsewhere +ims \(riskutility\)", gh.explain("identical"), re.MULTILINE)
    for name in all_measures():
        assert re.search(r"^  charts +\w", gh.explain(name), re.MULTILINE), name


def test_explain_knows_the_functions_too() -> None:
    text = gh.explain("rumap")
    assert text.startswith("riskutility's rumap is gh.compare here") and "\ncompare: Assess candidate" in text
    assert "heatmap, dots, parallel, radial, biplot, blocks" in text and "scale='anchored'" in text
    assert gh.explain("compare").startswith("compare: ") and gh.explain("RUMap").startswith("RUMap: ")


def test_explain_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "ims") == 0
    assert capsys.readouterr().out.startswith("riskutility's ims is gh.disclosure.identical")
    assert run("explain", "ims", "--format", "json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["name"] == "identical" and content["asked"] == "ims" and content["charts"] == "shares"
    assert run("explain", "quasi_identifiers", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["there"] == ["RAPID's quasi_identifiers is keys here"]


@pytest.mark.parametrize(
    ("look", "said"),
    [
        (lambda: gh.rumap, "riskutility's rumap is gh.compare here"),  # type: ignore[attr-defined]
        (lambda: gh.disclosure_report, "is gh.assess here"),  # type: ignore[attr-defined]
        (lambda: gh.disclosure.ims, "is gh.disclosure.identical here"),  # type: ignore[attr-defined]
        (lambda: gh.utility.propscore, 'gh.utility.pmse(model="forest")'),  # type: ignore[attr-defined]
        (lambda: gh.synthesis.syn, "gh.synthesis.Cart"),  # type: ignore[attr-defined]
    ],
)
def test_a_function_of_another_package_is_pointed_to(look: Any, said: str) -> None:
    with pytest.raises(AttributeError) as caught:
        look()
    assert said in str(caught.value)
    assert not hasattr(gh, "rumap")


def test_the_values_of_other_packages_are_accepted(pair: gh.Pair) -> None:
    asked: dict[str, Any] = {"trees": 20, "n_perm": 3, "columns": ["gender", "age"]}
    theirs = gh.utility.pmse(pair, model="rf", **asked)
    ours = gh.utility.pmse(pair, model="forest", **asked)
    assert theirs.value == ours.value and theirs.settings["options"]["model"] == "forest"
    number = pair.replace(target="income")
    theirs = gh.disclosure.rapid(number, target_type="numeric", attackers="lm")
    assert theirs.value == gh.disclosure.rapid(number, target_type="continuous", attackers="lm").value
    assert gh.disclosure.rapid(pair, score="NCE", attackers="cart").settings["options"]["score"] == "nce"
    alone = gh.assess(pair, measures=["pmse"], options={"pmse": {"model": "rf", **asked}})
    assert alone.results["pmse"].value == ours.value


def test_all_arguments_of_another_package_are_named_at_once(pair: gh.Pair) -> None:
    with pytest.raises(gh.InputError) as caught:
        gh.disclosure.rapid(pair, model_type="rf", quasi_identifiers=["age"], cat_tau=0.3)
    assert str(caught.value) == (
        "`model_type` is called `attackers` here; `quasi_identifiers` is called `keys` here; `cat_tau` is called `tau` "
        "here"
    )
    with pytest.raises(gh.InputError, match=r"`keyVars` is called `keys` here.*`weightVar` is called `weights` here"):
        gh.Pair(pair.local("original"), pair.local("released"), keyVars=["age"], weightVar="w")
    with pytest.raises(gh.InputError, match=r"`thresh_1way` is called `one_way` here .*a share"):
        gh.disclosure.attribution(pair, thresh_1way=(50, 90))
    with pytest.raises(gh.InputError, match="`holdout_fraction` has no counterpart here: a holdout split off"):
        gh.disclosure.dcr(pair, holdout_fraction=0.5)
    with pytest.raises(gh.InputError, match="`normalize` is called `scale` here"):
        gh.compare(pair.local("original"), {"A": pair.local("released")}, key_vars=["age"], normalize=False)
    with pytest.raises(gh.InputError, match="`key_vars` and `keys` are the same argument"):
        gh.disclosure.disco(pair, keys=["age"], key_vars=["age"])


def test_did_you_mean_reads_the_table(pair: gh.Pair, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = r"did you mean 'identical' \(riskutility calls it ims\)"
    with pytest.raises(gh.InputError, match=said):
        gh.assess(pair, measures=["ims"])
    with pytest.raises(gh.InputError, match=r"did you mean 'attackers' \(RAPID calls it model_type\)"):
        gh.assess(pair, measures=["rapid"], options={"rapid": {"model_type": "rf"}})
    pl.DataFrame({"a": ["x", "y"]}).write_csv(tmp_path / "t.csv")
    assert run("measure", "ims", str(tmp_path / "t.csv"), str(tmp_path / "t.csv")) == 2
    assert re.search(said, capsys.readouterr().err)


# -- the table itself --------------------------------------------------------------------------------------------------


def test_every_package_is_there() -> None:
    assert {pointer.package for pointer in table()} >= PACKAGES
    assert {pointer.package for pointer in table() if pointer.kind == "function"} == PACKAGES


@pytest.mark.parametrize("pointer", [p for p in table() if p.here.startswith("gh.")], ids=lambda p: p.name)
def test_what_the_table_points_to_exists(pointer: Pointer) -> None:
    """The path leads somewhere, and the options it names are options."""
    path, _, call = pointer.here.partition("(")
    found: Any = gh
    for part in path.removeprefix("gh.").split("."):
        found = getattr(found, part)
    assert named(pointer.name) is not None
    for option in re.findall(r"(\w+)=", call.partition(")")[0]):
        measure = all_measures().get(pointer.target)
        taken = measure.options if measure else inspect.signature(found).parameters
        assert option in taken, option


@pytest.mark.parametrize("row", names.ARGUMENTS, ids=lambda row: row[1])
def test_arguments_point_to_arguments(row: tuple[str, str, str, str, str]) -> None:
    _, there, here, of, why = row
    known = all_measures()
    if of:
        taken = {*known[of].options, *PAIR_ARGUMENTS}
    else:
        taken = {"original", *PAIR_ARGUMENTS, *(option for m in known.values() for option in m.options)}
        taken |= {*inspect.signature(gh.synthesis.Sequential).parameters}
    assert here in taken or (here == "" and why)
    assert there not in taken or of == "", "a name that works needs no pointer"
    assert there not in PAIR_ARGUMENTS


def test_figures_are_among_the_details(pair: gh.Pair) -> None:
    made = {"attribution": gh.disclosure.attribution(pair)}
    made |= {n: getattr(gh.utility, n)(pair, n_perm=2, columns=["gender"]) for n in ("pmse", "specks", "po50")}
    for _, there, here, detail, _ in names.FIGURES:
        assert detail in made[here.rpartition(".")[2]].details, there


def test_values_are_choices_here() -> None:
    for _, measures, option, there, here, _ in names.VALUES:
        for measure in measures:
            choices = all_measures()[measure].choices[option]
            assert here in choices and there not in choices


def test_no_name_is_told_twice() -> None:
    seen = [(p.package, p.kind, p.name, p.of, p.here) for p in table()]
    assert len(seen) == len(set(seen))
    assert elsewhere("nothing of this kind") == []


def test_the_page_of_names_is_up_to_date() -> None:
    """docs/names.md is made from the table; `make docs` writes it."""
    from tools.make_name_list import listing

    page = Path(__file__).resolve().parents[1] / "docs" / "names.md"
    assert page.read_text(encoding="utf-8") == listing(), "run `make docs`: docs/names.md is out of date"


def test_a_far_off_word_is_met_with_no_silly_suggestion() -> None:
    from glasshouse.core.errors import closest

    for word, known in ((".weird", [".rds", ".sav"]), ("colour", ["holdout", "keys"]), ("dUtility", ["utility.tab"])):
        assert closest(word, known) == ""
    for word, meant in (("kyes", "keys"), ("tagret", "target"), ("figur5", "figure5"), ("rapdi", "rapid")):
        assert closest(word, [meant]) == f"; did you mean {meant!r}?"
    with pytest.raises(gh.InputError, match="no measure 'risk_utility_map'; see 'compare'"):
        gh.explain("risk_utility_map")
    with pytest.raises(gh.InputError, match=r"no measure 'dUtility'; gh\.measures"):
        gh.explain("dUtility")
