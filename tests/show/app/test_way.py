"""From the files to what is taken away: what is shown and taken is what assess says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.app.desk import Desk
from glasshouse.show.app.start import App
from glasshouse.show.cli import settings
from glasshouse.show.cli.asked import Asked
from glasshouse.show.cli.assessing import assessed
from tests.show.bench import Client, odd, words

pytestmark = pytest.mark.xdist_group("workbench server")


SEEN = "records most at risk"


def test_wrong_types_are_found_and_corrected_with_one_click(bench: App, tmp_path: Path) -> None:
    client = Client(bench.address)
    for table, path in zip(("original", "released"), odd(tmp_path), strict=True):
        client.post("files/name", table=table, path=client.upload(path))
    text = client.post("files/read")
    assert "<b>odd</b>" not in text and "&lt;b&gt;odd" in text
    said = words(text)
    assert "looks like an identifier" in said and "They are codes of categories" in said
    assert "treated as numeric" in said and "schema=" not in said and "special_codes=" not in said
    text = client.post("columns/change", fix='["schema", "region", "categorical"]')
    assert "<option selected>categorical</option>" in text and "codes of categories" not in words(text)
    text = client.post("columns/change", fix='["codes", "income", ""]')
    assert 'value="-9"' in text and "10.0 %" in words(text), "codes count as missing"
    assert "card" in words(client.post("columns/change", fix='["exclude", "card", ""]'))
    assert "Suggested" in words(client.post("roles/suggest"))
    assert client.page("roles").count("\u202eturned") == 1, "shown with its signs made visible, sent as it is"
    text = client.post("roles/change", column=["region", "\u202eturned", "sick"], role=["key", "key", "target"])
    assert "What may go out" in words(text)
    assert "no such column" in words(client.post("columns/change", fix='["schema", "gone", "numeric"]'))


def test_households_and_words_for_missing_are_settled_with_one_click(bench: App, tmp_path: Path) -> None:
    client, path = Client(bench.address), tmp_path / "people.csv"
    rows = [f"{i // 2},{'NA' if i % 9 == 0 else i % 60},{'ab'[i % 2]}" for i in range(300)]
    path.write_text("\n".join(["household_id,age,ill", *rows]))
    for table in ("original", "released"):
        client.post("files/name", table=table, path=client.upload(path))
    said = words(client.post("files/read"))
    assert "looks like the household or person" in said and "a word such as NA stands among its numbers" in said
    assert "cluster=" not in said and "schema=" not in said
    said = words(client.post("columns/change", fix='["cluster", "household_id", ""]'))
    assert (
        "Records with the same household_id are one household or person" in said and "looks like the house" not in said
    )
    said = words(client.post("columns/change", fix='["schema", "age", "numeric"]'))
    assert "age is treated as numeric" in said and "11.3 %" in said


def test_no_button_of_the_columns_drops_what_stands_in_the_table(bench: App, tmp_path: Path) -> None:
    client = Client(bench.address)
    for table, path in zip(("original", "released"), odd(tmp_path), strict=True):
        client.post("files/name", table=table, path=client.upload(path))
    text = client.post("files/read")
    buttons = re.findall(r"<button([^>]*)>", text.partition('id="change"')[2])
    assert "name=" not in buttons[0], "Enter in a field presses the first button: it must be no correction"
    table = {"column": ["region", "income"], "kind": ["categorical", ""], "codes": ["", "-8"]}
    text = client.post("columns/change", fix='["codes", "income", ""]', **table)
    assert "Codes for missing in income: -8 and -9." in words(text)
    assert "synthesise anew" in words(client.page("mitigate")), "what can be tried is told, codes and all"
    assert "<option selected>categorical</option>" in text and 'value="-8, -9"' in text
    assert "Who knows what" in words(client.post("columns/change", on="roles", **{**table, "kind": ["integer", ""]}))
    assert "<option selected>integer</option>" in client.page("columns")
    said = words(client.post("columns/change", fix='["schema", "sick", "numeric"]'))
    assert "no value of column 'sick'" in said and "<option selected>numeric</option>" not in client.page("columns")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("broken.parquet", b"PAR1 no", "broken.parquet"),
        ("empty.csv", b"", "empty"),
        ("records.csv", b"1,2\n3,4\n5,6\n", "looks like a record"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_a_sentence(
    bench: App, data: tuple[Path, dict[str, Any]], tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    client = Client(bench.address)
    client.post("files/name", table="original", path=client.upload(tmp_path / name))
    client.post("files/name", table="released", path=data[1]["released"])
    said = words(client.post("files/read"))
    assert "That did not work." in said and says in said and "Traceback" not in said
    assert str(bench._server.windows.folder) not in said, "an upload is called as the person called it"
    assert "Your files" in said and name in said


def test_of_several_files_one_that_cannot_be_taken_keeps_none_from_it(
    bench: App, data: tuple[Path, dict[str, Any]]
) -> None:
    client = Client(bench.address)
    named = [f'"{data[0] / "original.csv"}"', "/nowhere/at/all.csv", str(data[0] / "holdout.csv")]
    text = client.post("files/name", table=["original", "released", "holdout"], path=named, failed="big.csv")
    said = words(text)
    assert "big.csv could not be copied" in said and "file not found" in said
    assert re.findall(r"<bdi>(\w+\.csv)</bdi>", text) == ["original.csv", "holdout.csv"]


def test_what_is_no_table_is_refused_at_once(bench: App, tmp_path: Path) -> None:
    (tmp_path / "letter.docx").write_bytes(b"no table")
    client = Client(bench.address)
    assert "glasshouse reads" in words(client.post("files/name", table="original", path=tmp_path / "letter.docx"))
    assert "file not found" in words(client.post("files/name", table="original", path="/nowhere/at/all.csv"))
    assert "That did not work" in words(client.post("files/nothing"))
    assert "Your files" in words(client.page("verdict")), "a page that is not open yet leads to the one that is"


def test_the_bundled_example_is_one_click(bench: App) -> None:
    client = Client(bench.address)
    assert "1,000 records in the original" in words(client.post("files/example"))
    text = client.page("roles")
    assert text.count('value="key" selected') == 3
    for page in ("policy", "run", "compare"):
        words(client.page(page))


def test_a_policy_is_what_stands_on_the_page(bench: App) -> None:
    client = Client(bench.address)
    client.post("files/example")

    def chosen(text: str) -> list[str]:
        return re.findall(r'type="radio" name="\w+" value="(\w+)" checked', text)

    def shown(text: str) -> dict[str, str]:
        return dict(re.findall(r'name="([a-z_-]+)" value="([^"]*)"', text.partition("Other limits")[2]))

    page = client.page("policy")
    assert chosen(page) == ["nothing", "default"], "what is in force is marked, also when it is no policy"
    # another policy, more measures and one number, said at once; a comma is how half of Europe writes it
    given = {**shown(page), "policy": "public", "measures": "full", "seed": "4", "tolerance": "7,5"}
    text = client.post("policy/limits", **given)
    assert "Public release, changed" in words(text) and "7.5 of 1,000" in words(text)
    assert chosen(text) == ["own", "full"] and shown(text)["detects-copying"] == "0.05"
    # a second change is one of the policy in force, and one typed below is taken by the button above too
    said = words(client.post("policy/choose", policy="own", **{**shown(text), "rapid": "0.4", "detects-identity": ""}))
    assert "Ready to run" in said and "Public release, changed" in said
    text = client.page("policy")
    found = shown(text)
    assert (found["tolerance"], found["rapid"], found["detects-identity"], found["warn"]) == ("7.5", "0.4", "", "0.05")
    text = client.post("policy/limits", policy="own", **{**found, "rapid": "", "min_count": "1", "fail": "0.02"})
    assert "Outside, counts are not told below: a whole number from 3 to 1,000" in words(text)
    assert shown(text)["fail"] == "0.02" and shown(text)["was-fail"] == "0.01", "what was typed is typed once"
    assert "That did not work" not in words(client.post("policy/choose", policy="secure", **found))
    assert chosen(client.page("policy")) == ["secure", "full"]


def test_verdict_figures_and_files_are_those_of_assess(
    done: Client, data: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """From the settings that are taken away, by the command line's own way and by the code that is shown."""
    (tmp_path / "glasshouse.toml").write_text(done.file("glasshouse.toml"))
    asked = Asked(settings.read(tmp_path / "glasshouse.toml"))
    found = assessed(asked, asked.pair(asked.case("assess")), None)
    for audience in ("internal", "external"):
        assert done.file(f"assessment-{audience}.json") == found.to_json(audience=audience)
    assert found.content()["headline"].partition(": ")[2] in words(done.page("verdict")).replace("A leak", "a leak")
    space: dict[str, Any] = {}
    code = done.file("repeat.py").replace('verdict.to_html("report.html")', "")
    exec(code, space)
    assert space["verdict"].to_json() == found.to_json()
    figures = done.file("figures-external.csv")
    value = found.content("external")["results"]["disco"]
    assert str(value["shown"] or value["value"]) in figures
    assert str(found.results["disco"].value) in done.file("figures-internal.csv")
    assert f"{data[0]}" not in done.file("report-external.html")
    assert "preset" in done.file("policy.toml") or "name = " in done.file("policy.toml")


def test_a_threshold_that_moves_is_the_measure_at_that_threshold(
    done: Client, data: tuple[Path, dict[str, Any]]
) -> None:
    pair = gh.Pair(**{k: data[1][k] for k in ("original", "released", "holdout", "keys", "target")})
    at = 0.2
    fresh = gh.disclosure.rapid(pair, trees=20, random_state=3, epsilon=at)
    part = done.page(f"explore?measure=rapid&at={at}&column=sex&part=1")
    assert f"{round(float(fresh.value) * 1000):,} ({100 * float(fresh.value):.1f} %)" in words(part)
    assert "<html" not in part and "sex" in words(part)
    smaller = gh.disclosure.k_anonymity(pair, k=7)
    part = done.page("explore?measure=k_anonymity&at=7&column=sex&part=1")
    assert f"{smaller.details['n_violating_7']:,} (" in words(part)


def test_every_measure_is_cut_by_every_column_and_counts_only_who_can_be_counted(
    data: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    desk = Desk(tmp_path / "desk", lambda done, total, line: None)
    desk.folder.mkdir()
    frames = [pl.read_csv(data[1][t]) for t in ("original", "released")]
    days = pl.date_range(pl.date(1970, 1, 1), pl.date(1972, 9, 26), eager=True)
    for name, frame in zip(("o.parquet", "r.parquet"), frames, strict=True):
        extra = frame.with_columns(when=days.head(len(frame)), pay=pl.int_range(len(frame)) * 1.5)
        extra.write_parquet(tmp_path / name)
    said = {"original": str(tmp_path / "o.parquet"), "released": str(tmp_path / "r.parquet"), "keys": ["sex", "region"]}
    desk.act("files/begin", {"form": {**said, "target": "income", "measures": ["disco", "surprisal"]}})
    desk.act("run/assess", {"form": {}})
    found = desk.assessment.results

    def part(measure: str, column: str) -> str:
        query = {"measure": [measure], "column": [column], "part": [""]}
        return words(str(desk.page("explore", {"query": query})["html"]))

    assert part("disco", "pay").count(" of 250") == 4 and part("disco", "when").count(" of 250") == 4
    assert "1970-01-01" in part("disco", "when"), "a date is told as a date"
    mean = float(found["surprisal"].flags()[0].mean())
    said_of = part("surprisal", "sex")
    assert f"{mean:.4g} mean of surprisal_key over 1,000 records of the released table" in said_of
    assert "%" not in said_of


def test_a_weighted_figure_is_the_one_of_the_measure(data: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk", lambda done, total, line: None)
    desk.folder.mkdir()
    frames = [pl.read_csv(data[1][t]) for t in ("original", "released")]
    for name, frame in zip(("o.parquet", "r.parquet"), frames, strict=True):
        frame.with_columns(weight=1.0 + pl.int_range(len(frame)) % 5).write_parquet(tmp_path / name)
    said = {"original": str(tmp_path / "o.parquet"), "released": str(tmp_path / "r.parquet"), "keys": ["sex", "region"]}
    given = {"target": "income", "weights": "weight", "measures": ["rapid"], "options": {"rapid": {"trees": 10}}}
    desk.act("files/begin", {"form": {**said, **given}})
    desk.act("run/assess", {"form": {}})
    value = float(desk.assessment.results["rapid"].value)
    query = {"measure": ["rapid"], "column": ["sex"], "part": [""]}
    part = words(str(desk.page("explore", {"query": query})["html"]))
    assert f"{100 * value:.1f} % by weight" in part and f"the share among all ({100 * value:.1f} %)" in part


def test_records_are_shown_after_asking_and_once(done: Client) -> None:
    before = words(done.page("explore?measure=rapid"))
    assert SEEN in before and "predicted" not in before
    assert "predicted" in words(done.post("explore/records", measure="rapid", column="sex", at=""))
    assert "predicted" not in words(done.page("explore?measure=rapid"))
    for name in ("report-external.html", "assessment-external.json", "figures-external.csv"):
        assert "predicted" not in done.file(name)


def test_other_keys_other_releases_and_an_operation_side_by_side(
    done: Client, data: tuple[Path, dict[str, Any]]
) -> None:
    said = words(done.post("explore/keys", key=["sex", "region"]))
    assert "as assessed" in said and "sex, region" in said
    assert "has been assessed" in words(done.post("explore/keys", key=list(data[1]["keys"])))
    done.post("compare/add", path=data[0] / "A.csv", name="independent")
    text = done.post("compare/add", path=data[0] / "A.csv")
    assert "release 2 A.csv" in words(text), "its file beside it, on this page alone"
    done.post("compare/remove", name="release 2")
    text = done.post("compare/run")
    assert 'href="#why-1"' in text and "independent" in words(text)
    text = done.post("mitigate/try", choice="1")
    assert "The verdict on the release was fail; after one step (re-draw copies)" in words(text)
    assert 'id="tried"' in text and "<svg" in text
    said = words(done.page("take"))
    assert "The safer release" in said
    table = done.file("safer-tried.csv")
    assert table.count("\n") == 1001 and table.startswith("age_group,")
    assert "redraw_records" in done.file("steps-tried.toml")
    assert "Release" in done.file("map-external.html")
    for policy, old in (("secure", True), ("research", False)):  # what is of settings before says so
        done.post("policy/choose", policy=policy)
        for page in ("verdict", "explore", "compare", "mitigate", "take"):
            assert ("The settings have changed since." in words(done.page(page))) is old, page
    done.post("compare/remove", name="independent")
    assert "compare again" in words(done.page("compare"))
    done.post("policy/choose", policy="secure")
    done.post("run/assess")
    assert words(done.page("take")).count("made with other settings than the run") == 5
    done.post("policy/choose", policy="research")
    done.post("run/assess")
    for name in ("..%2f..%2fsettings.json", "settings.json"):
        status, _, text = done.ask("GET", f"{done.home}/take/{name}")
        assert status == 409 and "no such file" in text and f'href="{done.home}/files"' in text, "no page is a file"


def test_the_search_is_that_of_mitigate(data: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "quick.toml").write_text(
        'name = "quick"\n[run]\nmeasures = ["exact_copies", "total_variation"]\n[leak]\nfail = 0.01\n'
    )
    desk = Desk(tmp_path / "desk", lambda done, total, line: None)
    desk.folder.mkdir()
    desk.act("files/begin", {"form": {**data[1], "policy": str(tmp_path / "quick.toml")}})
    assert desk.act("mitigate/search", {"form": {"steps": ["1"], "protect": ["sex"]}})["go"] == "mitigate#found"
    said = desk.said
    pair = gh.Pair(**{name: said[name] for name in ("original", "released", "holdout", "keys", "target")})
    fixed = gh.mitigate(pair, policy=said["policy"], steps=1, protect=["sex"], random_state=3)
    assert fixed.to_json() == desk.mitigated.found.to_json()
    assert fixed.summary() in words(desk.page("mitigate", {})["html"])
    before = dict(desk.said)
    with pytest.raises(gh.InputError):
        desk.act("roles/change", {"form": {"column": ["sex", "region"], "role": ["target", "target"]}})
    assert desk.said == before


def test_a_policy_of_ones_own_goes_with_the_run_it_was_made_for(
    data: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    desk = Desk(tmp_path / "desk", lambda done, total, line: None)
    desk.folder.mkdir()
    desk.act("files/begin", {"form": {**data[1], "measures": ["disco", "exact_copies"], "options": {}}})
    given = {"policy": ["research"], "fail": ["0.02"], "warn": ["0.1"], "tolerance": ["7"], "min_count": ["4"]}
    desk.act("policy/limits", {"form": given})
    desk.act("run/assess", {"form": {}})
    desk.act("policy/limits", {"form": {**given, "tolerance": ["900"]}})  # the run is still the one before
    for name in ("glasshouse.toml", "policy.toml", "assessment-internal.json"):
        (tmp_path / name).write_bytes(Path(desk.page(f"take/{name}", {})["file"]).read_bytes())
    asked = Asked(settings.read(tmp_path / "glasshouse.toml"))
    found = assessed(asked, asked.pair(asked.case("assess")), None)
    assert found.policy.leak is not None and found.policy.leak.tolerance == 7
    theirs, ours = json.loads((tmp_path / "assessment-internal.json").read_text()), json.loads(found.to_json())
    assert "policy='policy.toml'" in theirs["run"].pop("call") and ours["run"].pop("call")
    assert theirs == ours


def test_what_repeats_it_finds_every_table(bench: App, data: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """Uploads of one name, frames that came from Python and the made-up example are no files beside the settings."""
    for place in ("a", "b", "original", "released"):
        (tmp_path / place).mkdir()
    for place, given in (("a", data[1]["original"]), ("b", data[1]["released"])):
        (tmp_path / place / "data.csv").write_bytes(Path(given).read_bytes())
    client = Client(bench.address)
    (tmp_path / "few.toml").write_text('measures = ["disco", "exact_copies", "total_variation"]\n')
    client.post("files/settings", path=tmp_path / "few.toml")
    for table, place in (("original", "a"), ("released", "b")):
        client.post("files/name", table=table, path=client.upload(tmp_path / place / "data.csv"))
        (tmp_path / table / "data.csv").write_bytes((tmp_path / place / "data.csv").read_bytes())
    client.post("run/assess")
    same_again(client, tmp_path)
    assert "original/data.csv" in client.file("glasshouse.toml")
    client.post("files/example")
    client.post("policy/choose", measures="fast")
    client.post("run/assess")
    tables = re.findall(r'take/(\w+\.arrow)"', client.page("take"))
    assert tables == ["holdout.arrow", "original.arrow", "released.arrow"]
    for name in tables:
        (tmp_path / name).write_bytes(client.ask_bytes(f"{client.home}/take/{name}"))
    named = re.findall(r"'(\w+\.arrow)'", client.file("repeat.py"))
    assert sorted(named) == tables and gh.Pair(tmp_path / named[0], tmp_path / named[1]).n("original") == 1000


def same_again(client: Client, folder: Path) -> None:
    """The code and the settings that are taken away, run in a folder, give what the page gave."""
    said, before = client.file("assessment-external.json"), Path.cwd()
    os.chdir(folder)
    try:
        space: dict[str, Any] = {}
        exec(client.file("repeat.py").replace('verdict.to_html("report.html")', ""), space)
        assert space["verdict"].to_json(audience="external") == said
        Path("glasshouse.toml").write_text(client.file("glasshouse.toml"))
        asked = Asked(settings.read(Path("glasshouse.toml")))
        assert assessed(asked, asked.pair(asked.case("assess")), None).to_json(audience="external") == said
    finally:
        os.chdir(before)
