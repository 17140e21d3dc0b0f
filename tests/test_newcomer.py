"""The newcomer's exercise of CONTRIBUTING.md: a measure is one file, and the whole house knows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOY = '''
"""A toy: how often the release repeats the most frequent value of the target."""

from glasshouse.core.intervals import wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result


@measure(
    side="disclosure",
    family="toys",
    threat="attribute",
    title="Toy of the mode",
    better="lower",
    needs=("target",),
    limit=Limit("excess", warn=0.1, fail=0.9),
    tier="fast",
    on_map=True,
    advice="Take the toy ({title}: {value}) away from {target}.",
    cite="Nobody (2026)",
    attacker="nothing",
)
def toy_of_the_mode(pair, *, confidence=0.95):
    """Share of original records whose target is the most frequent one of the release."""
    codes = pair.codes(pair.require_target())
    released, original = codes.of("released"), codes.of("original")
    mode = max(set(released.tolist()), key=released.tolist().count)
    hits = original == mode
    return Result(
        float(hits.mean()),
        baseline=0.0,
        interval=wilson(int(hits.sum()), len(hits), confidence),
        sentence=f"{percent(hits.mean())} of people have the toy value.",
        records=lambda: {"at_risk": hits},
        flag="at_risk",
    )
'''

USE = """
import sys
import glasshouse as gh
import glasshouse.disclosure

glasshouse.disclosure.__path__.append(sys.argv[1])  # as if the file lay beside the others

pair = gh.data.load("health").pair()
result = gh.disclosure.toy_of_the_mode(pair)
assert result.verdict == "warn", result
assert "toy_of_the_mode" in gh.measures()["name"].to_list()
assert "Nobody (2026)" in gh.explain("toy_of_the_mode")
found = gh.assess(pair, measures="fast")
assert found.results["toy_of_the_mode"].value == result.value
assert "toy_of_the_mode" in found.threats["attribute"].deciding
page = found.to_html()
assert "Toy of the mode" in page and "of people have the toy value" in page
assert any("Take the toy (Toy of the mode" in r.text for r in found.recommendations)
assert found.to_junit() and found.to_markdown() and found.to_json(audience="external")
ru = gh.compare(pair.local("original"), {"A": pair.local("released")}, keys=list(pair.keys), target=pair.target,
                measures=["toy_of_the_mode", "hellinger"], scale="minmax")
assert ru.risk_measures == ["toy_of_the_mode"]
policy = gh.Policy.from_dict({"rule": [{"measure": "toy_of_the_mode", "limit": 0.01}]})
assert gh.assess(pair, policy=policy, measures="named").exit_code == 1
assert result.plot() is not None
print("one file")
"""


def test_a_new_measure_is_one_file(tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "toys.py").write_text(TOY, encoding="utf-8")
    script = tmp_path / "use.py"
    script.write_text(USE, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script), str(room)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.strip() == "one file", done.stderr[-2000:]


def test_the_stubs_name_every_measure() -> None:
    """Editors and type checkers read the stubs; `make stubs` writes them."""
    from tools.make_stubs import ROOMS, stub

    import glasshouse

    for room in ROOMS:
        path = Path(glasshouse.__file__).parent / room / "__init__.pyi"
        assert path.read_text(encoding="utf-8") == stub(room), f"run `make stubs`: {path.name} of {room} is out of date"


def test_the_table_of_what_runs_where_is_up_to_date() -> None:
    """The table of docs/scale.md is what every measure does on tables in DuckDB; `make docs` writes it."""
    pytest.importorskip("duckdb", reason="DuckDB is not installed (extra: duckdb)")
    from tools.make_scale_list import listing, page

    text = (Path(__file__).resolve().parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")
    assert text == page(text, listing()), "run `make docs`: the table of docs/scale.md is out of date"


def test_the_list_of_measures_is_up_to_date() -> None:
    """docs/measures.md is made from the declarations; `make docs` writes it."""
    from tools.make_measure_list import listing

    page = Path(__file__).resolve().parents[1] / "docs" / "measures.md"
    assert page.read_text(encoding="utf-8") == listing(), "run `make docs`: docs/measures.md is out of date"
