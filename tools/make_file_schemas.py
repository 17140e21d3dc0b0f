"""Write docs/*.schema.json of the files people write (policy, settings, domain, recipe) from the code that reads them.

Every list of names here is the one that the parser refuses by, so that a schema cannot drift: an editor that knows the
schema completes what glasshouse takes and marks what it would refuse. Three other schemas (assessment, map, scenarios)
are of what glasshouse writes, and are kept by hand with the code that makes it.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, TypeAlias

from glasshouse.core.limits import OPERATORS, STATISTICS
from glasshouse.core.outside import LEAST_THRESHOLD
from glasshouse.core.words import THREATS
from glasshouse.judgement.policy import leak, parsing, policy
from glasshouse.protection.operation import SECRETS, operations
from glasshouse.protection.recipe import WITHOUT
from glasshouse.show.cli import settings
from glasshouse.synthesis.dp import columns

Schema: TypeAlias = dict[str, Any]
DOCS = Path(__file__).resolve().parents[1] / "docs"
# a name that is added keeps the version of a schema; one that goes or changes its meaning raises it
VERSIONS = {"policy": policy.FORMAT, "settings": 1, "domain": 1, "recipe": 1}

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
TRUTH: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
TEXT_OR_TEXTS: Schema = {"anyOf": [TEXT, TEXTS]}
LEVEL: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
SHARE: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
TABLE: Schema = {"type": "object"}


def closed(properties: dict[str, Schema], known: tuple[str, ...], required: tuple[str, ...] = ()) -> Schema:
    """A table that takes these names and no others; they are the names the parser knows."""
    if set(properties) != set(known):
        raise KeyError(f"the parser knows {sorted(set(known) ^ set(properties))} otherwise than the schema")
    ordered = {name: properties[name] for name in known}
    return {"type": "object", "properties": ordered, "required": list(required), "additionalProperties": False}


def headed(name: str, description: str, body: Schema) -> Schema:
    """A schema with its name and version."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{name}.schema.json",
        "title": f"glasshouse.{name}",
        "description": description,
        "version": VERSIONS[name],
        **body,
    }


def rule() -> Schema:
    """One limit on one figure."""
    evidence = closed(
        {
            "p": {"anyOf": [LEVEL, {"type": "array", "items": LEVEL, "minItems": 2, "maxItems": 2}]},
            "above_chance": TRUTH,
            "above_strangers": TRUTH,
            "least": {"type": "number", "minimum": 1},
        },
        parsing._EVIDENCE,
    )
    body = closed(
        {
            "measure": TEXT,
            "statistic": {"type": "string", "examples": list(STATISTICS)},
            "operator": {"enum": list(OPERATORS)},
            "limit": NUMBER,
            "level": {"enum": ["warn", "fail"]},
            "warn": NUMBER,
            "fail": NUMBER,
            "evidence": evidence,
            "why": {},
            "options": TABLE,
            "required": TRUTH,
        },
        parsing._RULE,
        ("measure",),
    )
    either = [{"required": ["limit"], "not": {"anyOf": [{"required": ["warn"]}, {"required": ["fail"]}]}},
              {"anyOf": [{"required": ["warn"]}, {"required": ["fail"]}],
               "not": {"anyOf": [{"required": ["limit"]}, {"required": ["level"]}]}}]  # fmt: skip
    return {**body, "oneOf": either}


def policy_schema() -> Schema:
    """What a policy file may hold."""
    detects = {"anyOf": [SHARE, closed(dict.fromkeys(THREATS, SHARE), tuple(THREATS))]}
    leaks = closed(
        {**dict.fromkeys(leak._LEVELS, LEVEL), "tolerance": {"type": "number", "minimum": 0, "maximum": 1000},
         "detects": detects, "why": {}},
        leak._KEYS,
    )  # fmt: skip
    one = rule()
    without = {
        **one,
        "properties": {name: part for name, part in one["properties"].items() if name != "measure"},
        "required": [],
    }
    body = closed(
        {
            "format": {"const": policy.FORMAT},
            "name": {},
            "title": {},
            "why": {},
            "require": {"type": "array", "items": {"enum": list(THREATS)}},
            "others": {"enum": ["declared", "inform"]},
            "verdict_rule": {"enum": ["threats", "riskutility"]},
            "min_count": {"type": "integer", "minimum": LEAST_THRESHOLD},
            "run": closed({name: {} for name in policy._RUN}, policy._RUN),
            "leak": leaks,
            "population": {"type": "object", "additionalProperties": without},
            "rule": {"type": "array", "items": one},
        },
        policy._TOP,
    )
    return headed("policy", "A policy: which limits a release must keep; described in docs/formats/policy.md.", body)


# what each test of a settings file means as a schema; a new test without a line here is an error
TESTS: dict[Any, Schema] = {
    settings._text: TEXT,
    settings._texts: TEXT_OR_TEXTS,
    settings._sets: {"anyOf": [TEXT, {"type": "array", "items": {"anyOf": [TEXT, TEXTS]}}]},
    settings._table: TABLE,
    settings._tables: {"type": "object", "additionalProperties": TABLE},
    settings._whole: {"type": "integer"},
    settings._whole_or_all: {"anyOf": [{"type": "integer"}, {"const": "all"}]},
    settings._truth: TRUTH,
    settings._any: {},
}


def settings_schema() -> Schema:
    """What glasshouse.toml may hold."""
    properties = {name: {**TESTS[fits], "description": words} for name, (words, fits) in settings.KNOWN.items()}
    case = closed({"keys": TEXT_OR_TEXTS, "target": TEXT, "key_groups": {}}, settings.CASE)
    properties["scenarios"] = {**properties["scenarios"], "additionalProperties": case}
    body = closed(properties, tuple(settings.KNOWN))
    return headed("settings", "glasshouse.toml: what a run is about; described in docs/formats/settings.md.", body)


def domain_schema() -> Schema:
    """What a domain, as JSON or TOML, may hold."""
    bound = {"anyOf": [NUMBER, TEXT]}
    described = closed(
        {
            "type": {"enum": list(columns.TYPES)},
            "categories": {"type": "array", "minItems": 1},
            "other": {},
            "lower": bound,
            "upper": bound,
            "bins": {"type": "integer", "minimum": 1},
            "edges": {"type": "array", "items": bound},
            "cuts": {"type": "array", "items": bound},
            "precision": {"type": "integer"},
            "nullable": TRUTH,
        },
        columns.ENTRIES,
    )
    column = {"anyOf": [{"type": "array", "minItems": 1}, described]}
    many = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/column"}}
    noted = {"type": "object", "properties": {"columns": many, "provenance": {}}, "required": ["columns"],
             "additionalProperties": False}  # fmt: skip
    body = {"anyOf": [noted, many], "$defs": {"column": column}}
    return headed("domain", "A domain: which values are possible; described in docs/formats/domain.md.", body)


def recipe_schema() -> Schema:
    """What a recipe may hold: each operation with the arguments that it takes."""
    steps = []
    for name, one in operations().items():
        taken = [option for option in one.options if option != "original" and option not in SECRETS]
        properties: dict[str, Schema] = {"operation": {"const": name}, **{option: {} for option in taken}}
        properties[WITHOUT] = TEXTS
        required = [o for o in taken if one.options[o] is inspect.Parameter.empty]
        steps.append(
            {
                "type": "object",
                "description": one.summary,
                "properties": properties,
                "required": ["operation", *required],
                "additionalProperties": False,
            }
        )
    body = {
        "type": "object",
        "properties": {"step": {"type": "array", "items": {"oneOf": steps}}},
        "additionalProperties": False,
    }
    return headed("recipe", "A recipe: operations in order; described in docs/formats/recipe.md.", body)


def schemas() -> dict[str, str]:
    """The text of every schema, by file name."""
    made = {"policy": policy_schema(), "settings": settings_schema(), "domain": domain_schema(),
            "recipe": recipe_schema()}  # fmt: skip
    return {f"{name}.schema.json": json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in made.items()}


if __name__ == "__main__":
    for file, text in schemas().items():
        (DOCS / file).write_text(text, encoding="utf-8")
        print(f"wrote docs/{file}")
