"""Take away: reports, figures, settings, policy, the code that repeats it, and what mitigation made.

Everything is made of the content of one audience, as every report is; what is called external holds nothing else.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from glasshouse.core.errors import InputError
from glasshouse.core.measure import PAIR_ARGUMENTS
from glasshouse.core.outside import AUDIENCES
from glasshouse.core.plain import Content
from glasshouse.core.settings import toml_text
from glasshouse.core.writing import write_atomically
from glasshouse.judgement.policy.policy import PRESETS, preset_text
from glasshouse.judgement.run import safely
from glasshouse.show.app.desk import POLICY, TABLES, Desk, Form, Made, alike
from glasshouse.show.app.windows import UPLOAD
from glasshouse.show.cli.mitigating import table_bytes
from glasshouse.show.report import pdf

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment

Maker: TypeAlias = Callable[[], str | bytes]
FIGURES = ("value", "baseline", "holdout", "low", "high", "difference", "excess")
HEAD = """# Settings of glasshouse. Beside the tables it names, `glasshouse assess` gives the same verdict. It holds
# names of files and columns, and of values those that were named: codes for missing, levels, breaks, options.

"""
TWICE = "# Files of the same name are looked for in folders that are called as the tables.\n\n"


def view(desk: Desk, query: Form) -> Content:
    """What can be taken away."""
    can_print, why = safely(pdf.browser)
    return {
        "pdf": can_print is not None,
        "why": why,
        "policy": "policy" in made_of(desk).said,
        "map": desk.compared is not None,
        "other_map": _otherwise(desk, desk.compared),
        "safer": [(name, title, _otherwise(desk, made)) for name, title, made in _ways(desk) if made is not None],
        "tables": sorted(kept_tables(desk)),
        "code": code(desk),
        "settings": settings_text(desk),
    }


def made_of(desk: Desk) -> Made:
    """The run that is taken away: the last one, whatever the settings are by now."""
    if desk.assessed is None:
        raise InputError("nothing was assessed yet")
    return desk.assessed


def _ways(desk: Desk) -> list[tuple[str, str, Made | None]]:
    return [("tried", "after the operation tried", desk.tried), ("found", "after the search", desk.mitigated)]


def _otherwise(desk: Desk, made: Made | None) -> str:
    """What is said of something that was made with other settings than the run it is taken away with."""
    if made is None or alike(made.said, made_of(desk).said):
        return ""
    return "made with other settings than the run"


def file(desk: Desk, name: str, query: Form) -> Content:
    """One file, written into the private folder for the server to send.

    Parameters
    ----------
    desk : Desk
        The window.
    name : str
        What is wanted, such as "report-external.html".
    query : mapping
        Of the address.

    Returns
    -------
    dict
        ``file``: where it lies; ``called``: its name.
    """
    makers = _makers(desk)
    if name not in makers:
        raise InputError("there is no such file to take away")
    content = makers[name]()
    path = desk.folder / "taken" / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    write_atomically(path, content)
    return {"file": str(path), "called": name}


def _makers(desk: Desk) -> dict[str, Maker]:
    """By the name of a file what makes its content; nothing is made before it is wanted."""
    found = desk.assessment
    made: dict[str, Maker] = {name: path.read_bytes for name, path in kept_tables(desk).items()}
    made |= {
        "glasshouse.toml": partial(settings_text, desk),
        "repeat.py": partial(code, desk),
    }
    if (policy := made_of(desk).said.get("policy")) is not None:
        made[POLICY] = partial(policy_text, policy)
    for audience in AUDIENCES:
        made |= {
            f"report-{audience}.html": partial(found.to_html, audience=audience),
            f"report-{audience}.pdf": partial(found.to_pdf, audience=audience),
            f"assessment-{audience}.json": partial(found.to_json, audience=audience),
            f"figures-{audience}.csv": partial(_figures, found, audience),
        }
        if desk.compared is not None:
            made[f"map-{audience}.html"] = partial(desk.compared.found.to_html, audience=audience)
        for name, _, way in _ways(desk):
            if way is not None:
                made[f"mitigation-{name}-{audience}.html"] = partial(way.found.to_html, audience=audience)
    for name, _, way in _ways(desk):
        if way is not None:
            made[f"steps-{name}.toml"] = way.found.recipe.to_toml
            made |= {f"safer-{name}{suffix}": partial(_safer, way, suffix) for suffix in (".csv", ".parquet")}
    return made


def _figures(found: Assessment, audience: str) -> str:
    return figures(found.content(audience))


def _safer(way: Made, suffix: str) -> str | bytes:
    return table_bytes(way.found.released, Path(f"safer{suffix}"), Path(way.said["released"]), way.said.get("encoding"))


def figures(content: Content) -> str:
    """Every figure of a content as CSV, one row per measure; what is told as a bound stands as its text.

    Parameters
    ----------
    content : dict
        What passed the gate for one audience.

    Returns
    -------
    str
    """
    text = io.StringIO()
    names = ("measure", "title", "side", "family", "threat", "status", "judgement", "decides", *FIGURES, "sentence")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for name, shown in content["results"].items():
        low, high = shown["interval"] or (None, None)
        row: dict[str, Any] = {
            **{k: shown[k] for k in names if k in shown},
            "measure": name,
            "value": shown["shown"] or shown["value"],
            "low": low,
            "high": high,
            "sentence": shown["sentence"] or shown["reason"],
        }
        row |= {k: shown[f"{k}_shown"] or shown[k] for k in ("baseline", "holdout")}
        writer.writerow(row)
    return text.getvalue()


# -- what repeats it ---------------------------------------------------------------------------------------------------


def kept_tables(desk: Desk) -> dict[str, Path]:
    """Tables of the run that nobody has as a file: the made-up example, and frames that came from Python.

    Parameters
    ----------
    desk : Desk
        With a verdict.

    Returns
    -------
    dict
        By the name that settings and code give them, where they lie.
    """
    own = [Path(made_of(desk).said[table]) for table in TABLES if table in made_of(desk).said]
    kept = [path for path in own if _is_ours(desk, path) and not path.parent.name.startswith(UPLOAD) and path.exists()]
    return {path.name: path for path in kept}


def _is_ours(desk: Desk, path: Path) -> bool:
    """Whether a file lies in a folder that goes with the window, or with the server."""
    return path.is_relative_to(desk.folder) or path.parent == desk.folder.parent


def _places(desk: Desk) -> dict[str, str]:
    """How the files of the window are called beside the settings file: by their names; those of one name lie in folders
    that are called as the tables."""
    said = made_of(desk).said
    named = {said[table]: table for table in TABLES if table in said}
    named |= {path: f"releases/{name}" for name, path in said.get("releases", {}).items()}
    ours = {path: folder for path, folder in named.items() if _is_ours(desk, Path(path))}
    names = [Path(path).name for path in ours]
    return {
        path: name if names.count(name) == 1 else f"{folder}/{name}"
        for (path, folder), name in zip(ours.items(), names, strict=True)
    }


def portable(desk: Desk) -> Content:
    """The settings of the run with files as they are found beside the settings file: an upload by its name, what was
    named by its path as it was."""
    said, places = dict(made_of(desk).said), _places(desk)
    for table in TABLES:
        if table in said:
            said[table] = places.get(said[table], said[table])
    if "releases" in said:
        said["releases"] = {name: places.get(path, path) for name, path in said["releases"].items()}
    if said.get("policy") not in (None, *PRESETS):
        said["policy"] = POLICY
    return said


def _about_folders(desk: Desk) -> str:
    return TWICE if any("/" in place for place in _places(desk).values()) else ""


def settings_text(desk: Desk) -> str:
    """The settings file of the run."""
    return HEAD + _about_folders(desk) + toml_text({**portable(desk), "output": ["report.html"]})


def policy_text(policy: str) -> str:
    """The policy of the run as a file."""
    return preset_text(policy) if policy in PRESETS else Path(policy).read_text(encoding="utf-8")


def code(desk: Desk) -> str:
    """The Python code that repeats the run."""
    said = portable(desk)
    tables = [f"{said['original']!r}", f"{said['released']!r}"]
    pair = [f"{k}={said[k]!r}" for k in PAIR_ARGUMENTS if k in said and k not in ("original", "released")]
    run = {"policy": said.get("policy"), "measures": said.get("measures"), "random_state": made_of(desk).found.seed,
           "options": said.get("options"), "key_groups": said.get("key_groups")}  # fmt: skip
    asked = ["pair", *(f"{k}={v!r}" for k, v in run.items() if v is not None)]
    return "\n".join(
        [
            *_about_folders(desk).splitlines(),
            "import glasshouse as gh",
            "",
            *_call("pair = gh.Pair", [*tables, *pair]),
            *_call("verdict = gh.assess", asked),
            'verdict.to_html("report.html")',
            "",
        ]
    )


def _call(head: str, arguments: list[str]) -> list[str]:
    return [f"{head}(", *(f"    {one}," for one in arguments), ")"]


ACTS: dict[str, object] = {}
