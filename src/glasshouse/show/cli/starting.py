"""glasshouse init: a settings file drafted from the tables, with comments and without any value of a person."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.core.errors import InputError
from glasshouse.show.cli import options as o
from glasshouse.show.cli import settings
from glasshouse.show.cli.asked import with_header
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.terminal import err

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# what neighbours, employers and public registers know of people, by how such columns are called
_KNOWN_TO_OTHERS = re.compile(
    r"(?:^|[^a-z])(?:age|birth|born|sex|gender|region|area|district|county|canton|state|province|municip|city|town|post|zip|nation|"
    r"country|citizen|ethnic|race|language|marital|married|househ|famil|child|educ|school|degree|occup|job|profession|"
    r"industry|sector|employ|work|"
    r"alter|geschlecht|geburt|bundesland|bezirk|kreis|gemeinde|ort|plz|staats|haushalt|bildung|beruf|branche|"
    r"naissance|commune|edad|nacimiento|etat.?civil|estado.?civil|ocupa)",
    re.IGNORECASE,
)


@gathered
def init(
    original: o.Original,
    released: o.Released,
    holdout: Annotated[
        Path | None,
        typer.Option("--holdout", help="Records of the same population never shown to the synthesiser.", metavar="F"),
    ] = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write; - is stdout.", metavar="FILE"),
    ] = Path(settings.NAME),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """A settings file drafted from the tables: edit it, and a run is one word, `glasshouse assess`."""
    from glasshouse.core.writing import write_atomically
    from glasshouse.data.pair import Pair

    if str(output) != "-" and output.exists() and not force:
        raise InputError(f"{output} exists; use --force to replace it")
    tables = [str(path) for path in released]
    held = None if holdout is None else str(holdout)

    def make(said: bool) -> Pair:
        pair = Pair(
            str(original), tables if len(tables) > 1 else tables[0], holdout=held, header=said, encoding=encoding
        )
        pair.require_header()
        return pair

    pair = with_header(make, header)
    folder = Path() if str(output) == "-" else output.parent
    files = {"original": [original], "released": list(released), "holdout": [] if holdout is None else [holdout]}
    placed = {name: [os.path.relpath(path, folder) for path in given] for name, given in files.items()}
    for name in (name for names in placed.values() for name in names):
        if not _is_text(name):
            raise InputError(
                f"the name of {os.fsencode(name).decode(errors='replace')} is not UTF-8, and a settings file holds "
                "nothing else; rename the file, or name it to glasshouse assess each time"
            )
    said = {"header": pair._given["header"] or None, "encoding": encoding}
    text = draft(pair, placed, {name: value for name, value in said.items() if value is not None})
    if str(output) == "-":
        sys.stdout.write(text)
        return 0
    write_atomically(output, text)  # for its owner alone: what columns were read as follows their values
    err(f"wrote {output}; name keys and target in it, then: glasshouse assess")
    return 0


def draft(pair: Pair, files: dict[str, list[str]], reading: dict[str, object]) -> str:
    """The text of a settings file.

    Parameters
    ----------
    pair : Pair
        The tables as they were read.
    files : dict
        Their files, as the settings file will find them.
    reading : dict
        What was said about how to read them.

    Returns
    -------
    str
        TOML that ``glasshouse assess`` takes as it is.
    """
    keys, targets = candidates(pair)
    some = keys[:3]
    together = next(iter(units_of(pair)), "...")
    lines = [
        "# Settings of glasshouse. In this folder `glasshouse assess` takes everything from here; flags win",
        "# over it. Files are found from the folder of this file. It holds names of files and columns, no value.",
        "",
        f"original = {_text(files['original'][0])}",
        f"released = {_texts(files['released']) if len(files['released']) > 1 else _text(files['released'][0])}",
    ]
    if files["holdout"]:
        lines.append(f"holdout = {_text(files['holdout'][0])}")
    else:
        lines += [
            '# holdout = "holdout.csv"   # people the synthesiser never saw, set aside before synthesis. Without them',
            "#                             most threats cannot be judged.",
        ]
    lines += [f"{name} = {json.dumps(value)}" for name, value in reading.items()]
    lines += [
        "",
        "# What an attacker may know about people. Candidates, by how they are called or what they hold:",
        *_listed(keys),
        f"# keys = {_texts(some)}",
        "",
        "# What an attacker wants to learn. Candidates:",
        *_listed(targets),
        f"# target = {_text(targets[0]) if targets else _text('income')}",
        "",
        '# weights = "..."           # column of survey weights',
        f"{f'# cluster = {_text(together)}':<28}# column that names the household or person behind several rows",
        "# exclude = []              # columns to leave out of everything",
        "# key_groups = 20           # numeric keys in groups, where classes of keys are counted",
        "",
        '# policy = "research"       # public, research, secure, or a file (glasshouse policy init)',
        '# measures = "default"      # fast, default, full, or families, threats and measures: ["copying", "rapid"]',
        "# seed = 0",
        'output = ["report.html"]    # the suffix gives the format: .html, .pdf, .json, .md, .xml (JUnit), .txt',
        "",
        "# What the columns were read as. Take the # away and change what is wrong: numeric, integer, categorical,",
        "# ordinal, boolean, datetime, text, identifier (left out unless it has a role).",
        "[schema]",
        *(f"# {_name(c)} = {_text(pair.schema[c].kind)}" for c in pair.schema),
        "",
        *_codes(pair),
        "# Several attackers in one run: a table over what they know, and the verdict of the worst.",
        "# [scenarios]",  # in one line each: a second "keys =" would be taken for the one above
        f"# neighbour = {{ keys = {_texts(some[:2])} }}",
        f"# employer = {{ keys = {_texts(some)} }}",
        "",
        "# [options.rapid]",
        "# trees = 200",
        "",
    ]
    return "\n".join(lines)


def candidates(pair: Pair) -> tuple[list[str], list[str]]:
    """Columns that an attacker may know, and columns that one may want to learn, by what they are called or hold.

    Parameters
    ----------
    pair : Pair
        The tables as they were read.

    Returns
    -------
    tuple of list of str
    """
    units = units_of(pair)
    columns = [c for c in pair.columns if c not in units]  # whoever belongs together is told by cluster
    keys = [c for c in columns if known_to_others(c)]
    rest = [c for c in columns if c not in keys and pair.schema[c].kind != "text"]
    keys = keys or [c for c in rest if pair.schema[c].kind in ("categorical", "ordinal", "boolean", "integer")]
    return keys, [c for c in rest if c not in keys] or list(pair.columns)


def units_of(pair: Pair) -> dict[str, int]:
    """Columns that look as if they named the household or person behind several records."""
    from glasshouse.data.units import named_units

    return named_units(pair._tables.adopted["original"].lazy)


def known_to_others(column: str) -> bool:
    """Whether a column is called as what neighbours, employers and registers know."""
    return _KNOWN_TO_OTHERS.search(column) is not None


def _codes(pair: Pair) -> list[str]:
    """A place for the codes of columns that seem to have some; which ones is for the custodian to say."""
    from glasshouse.data.mistakes import special_codes

    columns = [found.column for found in special_codes(pair) if found.column is not None]
    if not columns:
        return []
    return [
        "# Columns whose numbers seem to hold codes for missing: name the codes, such as [-8, -9].",
        "# [special_codes]",
        *(f"# {_name(column)} = []" for column in columns),
        "",
    ]


def _listed(columns: Sequence[str], width: int = 110) -> list[str]:
    """Columns in comment lines of a readable width."""
    lines = ["#  "]
    for column in columns:
        if len(lines[-1]) + len(_text(column)) > width:
            lines.append("#  ")
        lines[-1] += f" {_text(column)}"
    return lines if columns else ["#   none found"]


def _text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_text(name: str) -> bool:
    """Whether the name of a file can be written as UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(texts: Sequence[str]) -> str:
    return f"[{', '.join(_text(one) for one in texts)}]"


def _name(column: str) -> str:
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else _text(column)
