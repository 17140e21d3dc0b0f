"""What the columns are, what a check finds, and the corrections: a kind, codes for missing, what is left out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content, percent
from glasshouse.core.words import spoken as spoken_list
from glasshouse.data.findings import spoken
from glasshouse.data.mistakes import likely_codes
from glasshouse.data.schema import GIVEN
from glasshouse.show.app.desk import Desk, Form
from glasshouse.show.report.view import clip

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

KINDS = ("numeric", "integer", "categorical", "ordinal", "boolean", "datetime", "text", "identifier")
MOST = 2000  # columns that a page lists
# by finding: what one click can correct, as the button says it and as settings
FIXES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "numeric_text": (("Read it as numbers", "schema", "numeric"),),
    "fractions_as_text": (("Read it as numbers", "schema", "numeric"),),
    "type_mismatch": (("They are numbers", "schema", "numeric"), ("They are labels", "schema", "categorical")),
    "few_integers": (("They are codes of categories", "schema", "categorical"),),
    "two_codes": (("They are numbers", "schema", "numeric"),),
    "iso_dates": (("Keep the labels", "schema", "categorical"),),
    "date_text": (("Read it as dates", "schema", "datetime"),),
    "identifier": (("Leave it out", "exclude", ""), ("It identifies nobody: use it", "schema", "categorical")),
    "free_text": (("Leave it out", "exclude", ""),),
    "special_code": (("They are codes for missing", "codes", ""), ("They are numbers", "schema", "numeric")),
    "units": (("Those who share a value belong together", "cluster", ""), ("Leave it out", "exclude", "")),
    "all_missing": (("Leave it out", "exclude", ""),),
    "constant": (("Leave it out", "exclude", ""),),
    "no_header": (("The first line holds names", "header", ""),),
}
# what a message says to whoever writes code; here a button does it
_IN_CODE = re.compile(r"; [^;.]*\b(?:schema|exclude|special_codes|header|holdout|cluster)=[^;.]*(?:\.{3}[^;.]*)?")
MOST_FIXES = 40  # findings of one kind that are shown with their buttons


def view(desk: Desk, query: Form) -> Content:
    """Tables, findings with what corrects them, and every column."""
    pair = desk.pair
    given: Mapping[str, Any] = desk.said.get("schema", {})
    names = [t for t in pair.tables if t in ("original", "released", "holdout")]
    rows = []
    for name, spec in list(pair.schema.items())[:MOST]:
        missing = {t: _missing(pair, name, t) / max(pair.n(t), 1) for t in names if pair.has(name, t)}
        rows.append(
            {
                "name": name,
                "label": clip(spec.label, 120),
                "kind": spec.kind,
                "reason": "as you said" if spec.reason == GIVEN else clip(spec.reason, 90),
                "given": given.get(name) if isinstance(given.get(name), str) else None,
                "listed": not isinstance(given.get(name, ""), str),
                "missing": ", ".join(f"{spoken(t)} {percent(share)}" for t, share in missing.items() if share) or "–",
                "codes": ", ".join(f"{code:g}" for code in pair.special_codes.get(name, ())),
                "coded": spec.storage in ("int", "float"),
            }
        )
    return {
        "tables": [(spoken(t), pair.n(t)) for t in names],
        "findings": _findings(desk),
        "rows": rows,
        "more": max(len(pair.schema) - MOST, 0),
        "kinds": KINDS,
        "left_out": list(desk.said.get("exclude", [])),
        "used": len(pair.columns),
    }


def _missing(pair: Pair, column: str, table: str) -> int:
    """Records without a value, those with a code for missing among them."""
    codes = pair.special_codes.get(column, ())
    by_code = int(np.isin(pair.values(column, table), codes).sum()) if codes else 0
    return pair.n_missing(column, table) + by_code


def _findings(desk: Desk) -> list[Content]:
    pair, shown, counts = desk.pair, [], dict[str, int]()
    for found in pair.check():
        counts[found.code] = counts.get(found.code, 0) + 1
        if counts[found.code] > MOST_FIXES:
            continue
        fixes = [
            (words, json.dumps([what, found.column, value]))
            for words, what, value in FIXES.get(found.code, ())
            if found.column is not None or what == "header"
        ]
        message = clip(_IN_CODE.sub("", found.message), 500)
        shown.append({"level": found.level, "first": found.first, "message": message, "fixes": fixes})
    more = [(code, n - MOST_FIXES) for code, n in counts.items() if n > MOST_FIXES]
    return [*shown, *({"level": "note", "first": False, "message": f"{n} more like this ({code})", "fixes": []}
                      for code, n in more)]  # fmt: skip


# -- acts --------------------------------------------------------------------------------------------------------------


def change(desk: Desk, form: Form) -> Content:
    """Take over what the table of columns says, and then the one correction whose button was pressed."""
    fix = json.loads(form["fix"][0]) if "fix" in form else None
    codes = likely_codes(desk.pair) if fix is not None and fix[0] == "codes" else {}
    known, before, empty = desk.pair.schema, desk.said, _empty(desk)
    if "column" in form:
        _table(desk, form)
    said = ""
    if fix is not None:
        what, column, value = fix
        said = _fix(desk, str(what), column, str(value), known, codes)
    elif "again" in form:
        desk.say(exclude=[c for c in desk.said.get("exclude", []) if c != form["again"][0]])
        said = f"{form['again'][0]} is used again."
    with desk.telling():
        desk.pair.check()
        if emptied := sorted(_empty(desk) - empty):
            column, table = emptied[0]
            raise InputError(f"no value of column {column!r} in the {spoken(table)} table can be read like that")
    return {"go": "roles" if "on" in form else "columns", "said": said or ("Changed." if desk.said != before else "")}


def _fix(desk: Desk, what: str, column: Any, value: str, known: Iterable[str], codes: Mapping[str, Any]) -> str:
    """One correction; a sentence about it."""
    if what == "header":
        desk.say(header=True)
        return "The first line is read as names."
    if what == "cluster":
        desk.say(cluster=column)
        return f"Records with the same {column} are one household or person."
    if column not in known:
        raise InputError("there is no such column any more")
    if what == "schema" and value in KINDS:
        desk.say(schema={**desk.said.get("schema", {}), column: value})
        return f"{column} is treated as {value}."
    if what == "codes":
        given = desk.said.get("special_codes", {})
        found = [*given.get(column, []), *(plain_number(code) for code in codes.get(column, []))]
        desk.say(special_codes={**given, column: list(dict.fromkeys(found))})
        return f"Codes for missing in {column}: {spoken_list(map(str, dict.fromkeys(found)))}."
    leave_out(desk, [column])
    return f"{column} is left out."


def _empty(desk: Desk) -> set[tuple[str, str]]:
    """Columns without any value, with the table."""
    pair = desk.pair
    return {(c, t) for t in pair.tables for c in pair.schema if pair.has(c, t) and pair.n_missing(c, t) == pair.n(t)}


def _table(desk: Desk, form: Form) -> None:
    columns = form.get("column", [])
    schema, codes = dict(desk.said.get("schema", {})), dict(desk.said.get("special_codes", {}))
    for column, kind, said in zip(columns, form.get("kind", []), form.get("codes", []), strict=True):
        if kind in KINDS:
            schema[column] = kind
        elif kind == "" and isinstance(schema.get(column), str):
            del schema[column]
        found = [plain_number(_number(part, column)) for part in said.replace(";", ",").split(",") if part.strip()]
        codes[column] = found
    desk.say(schema=schema, special_codes={k: v for k, v in codes.items() if v})
    leave_out(desk, form.get("exclude", []))


def leave_out(desk: Desk, columns: list[str]) -> None:
    """Leave columns out of everything, also of the roles.

    Parameters
    ----------
    desk : Desk
        The window.
    columns : list of str
        Their names.
    """
    out = {*columns}
    keys = [c for c in desk.said.get("keys", []) if c not in out]
    desk.say(
        exclude=[*dict.fromkeys([*desk.said.get("exclude", []), *columns])],
        keys=keys,
        **{role: None for role in ("target", "weights", "cluster") if desk.said.get(role) in out},
        schema={k: v for k, v in desk.said.get("schema", {}).items() if k not in out},
        special_codes={k: v for k, v in desk.said.get("special_codes", {}).items() if k not in out},
    )


def _number(text: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise InputError(f"codes for missing of column {column!r} are numbers with commas between them")
    return value


def plain_number(value: float) -> float | int:
    """A whole number without a fraction."""
    return int(value) if value == int(value) else value


ACTS = {"change": change}
