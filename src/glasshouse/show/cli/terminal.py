"""What a person at a terminal sees: coloured marks where there is a terminal, plain text elsewhere, bars on stderr
only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError, closest
from glasshouse.core.words import MARKS, SEVERITY, plural, spoken, visible
from glasshouse.judgement.figures import figure
from glasshouse.show.report.view import first_findings

if TYPE_CHECKING:
    from rich.console import Console

    from glasshouse.judgement.scenarios.scenarios import Scenarios
    from glasshouse.judgement.verdict.assessment import Assessment

FORMATS = ("text", "json", "md", "junit", "html", "pdf")
PAGES = ("html", "pdf")
SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".md": "md",
    ".markdown": "md",
    ".xml": "junit",
    ".txt": "text",
    ".pdf": "pdf",
}
STYLES = {
    "pass": "green",
    "warn": "yellow",
    "fail": "bold red",
    "incomplete": "bold magenta",
    "not_assessed": "magenta",
    "failed": "magenta",
    "not_applicable": "dim",
}


def out(**settings: Any) -> Console:
    """A console that shows what is printed and obeys nothing in it, whatever a column or a file is called."""
    from rich.console import Console
    from rich.text import Text

    class Shown(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            for one in objects:
                if isinstance(one, Text):
                    one.plain = visible(one.plain)
            super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **options)

    return Shown(highlight=False, markup=False, emoji=False, soft_wrap=True, **settings)


def err(text: str, quiet: bool = False) -> None:
    if not quiet:
        print(visible(text), file=sys.stderr)


def check_format(form: str | None, outputs: Sequence[Path] | None = None, prints: bool = False) -> None:
    """Refuse, before anything is computed, a format that is not known, a suffix that belongs to none unless the format
    is named, and a PDF where it cannot be made: the command has no page to print (``prints``), there is no browser, or
    nobody named a file."""
    if form is not None and form not in FORMATS:
        raise InputError(f"--format {form!r} is not known{closest(form, FORMATS)}; choose one of {', '.join(FORMATS)}")
    for path in files_among(outputs) if form is None else ():
        suffix = path.suffix.lower()
        if suffix and suffix not in SUFFIXES:  # text in a file called .docx is taken for a damaged one
            known = ", ".join(SUFFIXES)
            raise InputError(f"{path} would be a {suffix} file, which is not written here; the suffixes are {known}")
    files = [path for path in files_among(outputs) if format_of(path, form) == "pdf"]
    if form != "pdf" and not files:
        return
    if not prints:
        raise InputError("only assess, compare and demo write a PDF; this is written as text or json")
    from glasshouse.show.report.pdf import browser

    browser()
    if not files and sys.stdout.isatty():
        raise InputError("a PDF is no text for a terminal; name a file: -o report.pdf")


def format_of(path: Path, form: str | None) -> str:
    """The format of a file by its suffix, else the one asked for."""
    return SUFFIXES.get(path.suffix.lower(), form or "text")


def render(assessment: Assessment | Scenarios, form: str, audience: str) -> str | bytes:
    """An assessment, or several scenarios, in one of the formats."""
    if form == "pdf":
        return assessment.to_pdf(audience=audience)
    if form == "json":
        return assessment.to_json(audience=audience)
    if form == "md":
        return assessment.to_markdown(audience=audience)
    if form == "junit":
        return assessment.to_junit(audience=audience)
    if form == "html":
        return assessment.to_html(audience=audience)
    return text_of(assessment, audience) + "\n"


def deliver(
    outputs: Sequence[Path] | None,
    form: str | None,
    quiet: bool,
    make: Callable[[str], str | bytes],
    show: Callable[[], None],
    mode: int | None = None,
    pages: Callable[[Path, str], Mapping[Path, str | bytes]] | None = None,
    beside: Mapping[Path, str | bytes] | None = None,
) -> None:
    """Write every file asked for, then stdout: the format asked for, else the text a person reads.

    Everything is rendered before the first file is written, and all files are written or none is, so that nothing of
    this run stands beside something of an earlier one. What cannot be written is kept elsewhere, and said so when
    everything else is done: the work is not lost.
    ``pages`` gives the files of a report of several pages, the one named first; ``beside`` holds files that are no
    report and belong to it: a safer table, the steps to it.
    """
    from glasshouse.core.interrupts import check

    files = files_among(outputs)
    made: dict[Path, str | bytes] = dict(beside or {})
    for path in files:
        kind = format_of(path, form)
        made |= pages(path, kind) if pages is not None and kind in PAGES else {path: make(kind)}
    to_stdout = (
        any(str(path) == "-" for path in outputs or ())
        or not files
        or (form is not None and form not in {format_of(p, form) for p in files})
    )
    printed = make(form or "text") if to_stdout and (form or "text") != "text" else None
    check()
    problem = put_together(made, quiet, mode)
    if problem is None:
        say_what_is_missing([kind for path in files if (kind := format_of(path, form)) in PAGES], quiet)
    if isinstance(printed, bytes):
        sys.stdout.buffer.write(printed)
    elif printed is not None:
        sys.stdout.write(printed)
    elif to_stdout or not quiet:
        show()
    if problem is not None:
        raise InputError(problem)


def say_what_is_missing(kinds: Sequence[str], quiet: bool) -> None:
    """Say once that a page has no charts, and how to get them; every figure is there without."""
    from glasshouse.show.report.drawing import cannot_draw

    if kinds and (missing := cannot_draw()):
        err(f"the page has every figure and no chart of a measure or a map: {missing}", quiet)


def files_among(outputs: Sequence[Path] | None) -> list[Path]:
    """The files among the outputs; ``-`` is stdout."""
    return [path for path in outputs or () if str(path) != "-"]


def put(path: Path, text: str | bytes, quiet: bool, mode: int | None = None, remark: str = "") -> str | None:
    """Write one file and say so; None, or a sentence on why it is not there and where its content is."""
    return put_together({path: text}, quiet, mode, {path: remark})


def put_together(
    contents: Mapping[Path, str | bytes],
    quiet: bool,
    mode: int | None = None,
    remarks: Mapping[Path, str] | None = None,
) -> str | None:
    """Write files of one run and say so; None, or a sentence on why none is there and where their content is."""
    from glasshouse.core.writing import NotWritten, rescue, write_together

    try:
        write_together(contents, mode, lambda path: err(f"wrote {path}{(remarks or {}).get(path, '')}", quiet))
    except NotWritten as problem:
        kept = rescue(contents)
        if len(contents) == 1:
            where = f"the result is kept in {kept[0]}, for you alone" if kept else "there is no room for it elsewhere"
            return f"{problem}; {where}"
        where = f"they are kept in {kept[0].parent}, for you alone" if kept else "there is no room for them elsewhere"
        none = f"none of the {len(contents)} files of this run was written, for they belong together"
        return f"{problem}; {none}; {where}"
    return None


def check_outputs(outputs: Sequence[Path] | None, *inputs: Path | None) -> None:
    """Refuse, before anything is computed, files that could not be written in the end, and those that are read: a
    report in the place of the original is a loss nobody can undo."""
    from glasshouse.core.writing import check_writable

    read = [Path(str(given)) for given in inputs if given is not None]
    files = files_among(outputs)
    for at, path in enumerate(files):
        check_writable(path)
        if any(path.exists() and one.exists() and path.samefile(one) for one in read):
            raise InputError(f"{path} is one of the tables or settings that are read; name another file to write to")
        if os.path.realpath(path) in [os.path.realpath(other) for other in files[:at]]:
            raise InputError(f"{path} is named for two outputs; name another file for one of them")


def text_of(assessment: Assessment | Scenarios, audience: str = "internal") -> str:
    """The assessment as plain text, for files and pipes."""
    console = out(width=100, no_color=True)
    with console.capture() as captured:
        show(assessment, console, audience)
    return captured.get().rstrip("\n")


def show(found: Assessment | Scenarios, console: Console, audience: str = "internal") -> None:
    """The verdict, the four threats, the rules and what to do; of several scenarios the table and what decides."""
    from rich.text import Text

    content = found.content(audience)
    if "scenarios" in content:
        _show_scenarios(content, console)
        return
    verdict, policy = content["verdict"], content["policy"]
    line = Text(f"{MARKS[verdict]} {verdict.upper()}", style=STYLES[verdict])
    console.print(line.append(f"  {content['headline']}", style="default not bold"))
    console.print(f"policy: {policy['name']}{': ' + policy['title'] if policy['title'] else ''}")
    for finding in first_findings(content):
        console.print(Text("before you read on: ", style=STYLES["warn"]).append(finding, style="default not bold"))
    said = _reading(content["data"]["reading"])
    console.print(f"{said}\n" if said else "")
    for name, threat in content["threats"].items():
        head = Text(f"{MARKS[threat['status']]} {name:<11}", style=STYLES[threat["status"]])
        console.print(
            head.append(
                f"{threat['status'].replace('_', ' ')}" + (f" ({threat['worst']})" if threat["worst"] else ""),
                style="default not bold",
            )
        )
        console.print(f"  {threat['sentence']}")
        if threat["comparison"]:
            console.print(f"  decided by: {threat['limit']}; found {threat['comparison']}")
    if content["population"]:
        console.print("\nfacts about the population (what anybody can infer about anybody; no verdict without a limit)")
        for name, fact in content["population"].items():
            console.print(f"  {_fact(content['results'][name])}{'; ' + fact['limit'] if fact['limit'] else ''}")
    if content["outcomes"]:
        console.print("\nrules")
        for o in sorted(content["outcomes"], key=lambda o: -SEVERITY[o["status"]]):
            word = "NONE" if o["status"] == "not_assessed" else o["status"].upper()
            console.print(f"  {word}  {o['measure']}.{o['statistic']}  {o['comparison']}")
    if content["recommendations"]:
        console.print("\nwhat to do")
        for item in content["recommendations"][:4]:
            console.print(f"  - {item['text']}")
    for note in content["notes"]:
        console.print(f"\nnote: {note}")
    failed = [shown for shown in content["results"].values() if shown["judgement"] == "failed"]
    if failed:
        console.print(
            f"\n{len(failed)} {plural(len(failed), 'measure')} failed: {', '.join(shown['name'] for shown in failed)}"
        )
        for shown in failed:
            console.print(f"  {shown['reason']}")


def _show_scenarios(content: dict[str, Any], console: Console) -> None:
    from rich.text import Text

    from glasshouse.show.report.scenarios import text

    console.print(Text(f"{MARKS[content['verdict']]} {content['verdict'].upper()}", style=STYLES[content["verdict"]]))
    first = next(iter(content["scenarios"].values()))
    console.print(
        f"policy: {first['policy']['name']}{': ' + first['policy']['title'] if first['policy']['title'] else ''}"
    )
    said = _reading(first["data"]["reading"])
    console.print(f"{said}\n" if said else "")
    for line in text(content):
        console.print(line)


def _reading(reading: dict[str, Any]) -> str:
    """``read as categories: smoker (two whole numbers); as numbers: region (6 values)``."""
    parts = [
        ("categories", [f"{c} (two whole numbers)" for c in reading["categories"]]),
        ("numbers", [f"{one['column']} ({one['values']} whole numbers)" for one in reading["numbers"]]),
        ("dates", [f"{c} (text)" for c in reading["dates"]]),
    ]
    said = [f"as {kind}: {spoken(columns)}" for kind, columns in parts if columns]
    return f"read {'; '.join(said)}. If that is wrong, say so with --schema" if said else ""


def _fact(shown: dict[str, Any]) -> str:
    """``rapid  31.2 %, without the release 20.1 %, people never in the data 30.8 %``."""

    def said(value: float | None) -> str | None:
        return None if value is None else figure(value, shown["is_share"])

    parts = [shown["shown"] or said(shown["value"]) or "–"]
    for label, key in (("without the release", "baseline"), ("people never in the data", "holdout")):
        told = shown[f"{key}_shown"] or said(shown[key])
        if told is not None:
            parts.append(f"{label} {told}")
    return f"{shown['name']}  {', '.join(parts)}"


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows as aligned text; the last column runs free."""
    widths = {
        c: max(len(c), *(len(str(r.get(c) if r.get(c) is not None else "")) for r in rows)) if rows else len(c)
        for c in columns[:-1]
    }
    lines = ["  ".join([*(f"{c:<{widths[c]}}" for c in columns[:-1]), columns[-1]])]
    for row in rows:
        cells = [str(row.get(c) if row.get(c) is not None else "") for c in columns]
        lines.append(
            "  ".join([*(f"{v:<{widths[c]}}" for v, c in zip(cells[:-1], columns[:-1], strict=True)), cells[-1]])
        )
    return "\n".join(line.rstrip() for line in lines)
