"""The assessment as Markdown: verdict, threats, rules, measures, what to do, how it was run."""

from __future__ import annotations

import re

from glasshouse.core.plain import Content
from glasshouse.core.words import MARKS, plural, visible
from glasshouse.show.report.view import VERDICT_WORDS, after_word, clip, first_findings, views_of


def render(content: Content) -> str:
    """The content that passed the gate, as Markdown text."""
    policy = content["policy"]
    spoken = f"{policy['name']}: {policy['title']}" if policy["title"] else policy["name"]
    lines = [
        f"# {MARKS[content['verdict']]} {VERDICT_WORDS[content['verdict']]}",
        "",
        plain_text(after_word(content)),
        "",
        f"Policy: {plain_text(spoken)}. {content['covers']}",
        "",
    ]
    first = first_findings(content)
    if first:
        lines += ["Before you read on:", "", *(f"- {plain_text(found)}" for found in first), ""]
    lines += ["| threat | status | measure | what it means |", "|---|---|---|---|"]
    for name, threat in content["threats"].items():
        lines.append(
            f"| {name} | {MARKS[threat['status']]} {threat['status'].replace('_', ' ')} | "
            f"{threat['worst'] or ''} | {plain_text(threat['sentence'])}{_decided(threat)} |"
        )
    if content["population"]:
        lines += ["", "## What anybody can infer about anybody", "", *_population(content)]
    if content["outcomes"]:
        lines += ["", "## Rules", "", "| status | rule | found |", "|---|---|---|"]
        lines += [
            f"| {MARKS[o['status']]} {o['status'].replace('_', ' ')} | {plain_text(o['rule'])} | "
            f"{plain_text(o['comparison'])} |"
            for o in content["outcomes"]
        ]
    if content["recommendations"]:
        lines += ["", "## What to do", "", *(f"- {plain_text(r['text'])}" for r in content["recommendations"])]
    lines += [
        "",
        "## Measures",
        "",
        "| measure | value | interval | baseline | people never in the data | status |",
        "|---|---:|---|---:|---:|---|",
    ]
    for view in views_of(content).values():
        status = f"{MARKS[view.status]} {view.word}" + (" (structure of the file)" if view.role == "structure" else "")
        value = view.value if view.ok else view.reason
        lines.append(
            f"| {view.name} | {plain_text(value)} | {view.interval or ''} | {view.baseline or ''} | "
            f"{view.holdout or ''} | {status} |"
        )
    lines += ["", "## How it was run", "", *_run(content)]
    return visible("\n".join(lines)) + "\n"


def _decided(threat: Content) -> str:
    """The limit that decided and what it saw."""
    if not threat["comparison"]:
        return ""
    return f" Decided by: {plain_text(threat['limit'])}; found {plain_text(threat['comparison'])}."


def _run(content: Content) -> list[str]:
    tables = [
        f"- {t['table']}: {t['records']:,} {plural(t['records'], 'record')}, fingerprint `{t['fingerprint']}`"
        if t["fingerprint"]
        else f"- {t['table']}: about {t['records']:,} records"
        for t in content["data"]["tables"]
    ]
    policy = content["policy"]["fingerprint"]
    tables += [f"- policy: fingerprint `{policy}`"] if policy else []
    versions = ", ".join(f"{k} {v}" for k, v in content["run"]["versions"].items())
    fence = "```" if "```" not in content["run"]["call"] else "~~~~"
    return [
        *tables,
        f"- seed {content['run']['seed']}; {versions}",
        "",
        f"{fence}python",
        clip(content["run"]["call"], 2000),
        fence,
    ]


def _population(content: Content) -> list[str]:
    """Facts about the population, which decide only where the policy has a limit for them."""
    views = views_of(content)
    lines = [
        "| measure | with the release | without it | people never in the data | limit |",
        "|---|---:|---:|---:|---|",
    ]
    for name, shown in content["population"].items():
        view = views[name]
        limit = f"{shown['status'].replace('_', ' ')}: {plain_text(shown['limit'])}" if shown["limit"] else "none"
        lines.append(f"| {name} | {view.value} | {view.baseline or ''} | {view.holdout or ''} | {limit} |")
    return lines


# what Markdown would obey: marks anywhere (a bracket closes nothing where none is open); an underscore only at the edge
# of a word, a tag or an entity only where one starts, and at the beginning of a line what makes it a heading, a
# quotation or a list
_MARKS = re.compile(r"[\\`*~\[|]|<(?=[a-zA-Z/!?])|&(?=#?\w+;)|^(?:>|#(?=#{0,5} )|[+-](?= ))")
_EDGES = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


def plain_text(text: object) -> str:
    """Text that cannot break a table, start a tag or hide a link, and that reads well before it is rendered too."""
    said = re.sub(r"\s+", " ", clip(text, 600)).strip()
    return _EDGES.sub("&#95;", _MARKS.sub(r"\\\g<0>", said))
