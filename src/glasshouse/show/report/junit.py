"""JUnit XML for pipelines: one test case per rule, and one per threat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from glasshouse.core.plain import Content
from glasshouse.core.words import visible
from glasshouse.show.report.view import clip


def render(content: Content) -> str:
    """The content that passed the gate, as JUnit XML."""
    return together({"": content})


def together(contents: Mapping[str, Content]) -> str:
    """Several contents as one JUnit XML: a test suite each, called by the policy and the name."""
    suites = {name: _cases(content) for name, content in contents.items()}
    counted = {name: _counts(cases) for name, cases in suites.items()}
    body = "\n".join(
        f"<testsuite name={quoteattr(_clean(_title(contents[name], name)))} {counted[name]}>\n"
        + "\n".join(cases)
        + "\n</testsuite>"
        for name, cases in suites.items()
    )
    whole = _counts([case for cases in suites.values() for case in cases])
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="glasshouse" {whole}>\n{body}\n</testsuites>\n'


def _title(content: Content, name: str) -> str:
    return f"glasshouse policy {content['policy']['name']}" + (f": {name}" if name else "")


def _counts(cases: Sequence[str]) -> str:
    failures, errors = (sum(tag in case for case in cases) for tag in ("<failure", "<error"))
    return f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'


def _cases(content: Content) -> list[str]:
    policy = content["policy"]
    cases = [_case("rule", o["rule"], o["status"], o["comparison"], o["why"]) for o in content["outcomes"]]
    # a policy that names no threats is judged by its rules alone; an open threat is then skipped, not an error
    must = not policy["explicit"] or policy["require"] is not None or policy["leak"] is not None
    for name, t in content["threats"].items():
        waived = t["status"] == "not_assessed" and not (must and t["required"])
        status = "skipped" if waived or t["status"] == "not_applicable" else t["status"]
        cases.append(_case("threat", name, status, t["sentence"], t["worst"] or ""))
    return cases


def _case(kind: str, name: str, status: str, message: str, more: str) -> str:
    head = f'  <testcase classname="glasshouse.{kind}" name={quoteattr(_clean(name))}'
    if status == "fail":
        return (
            f'{head}>\n    <failure type="violated" '
            f"message={quoteattr(_clean(message))}>{escape(_clean(more))}</failure>\n  </testcase>"
        )
    if status == "not_assessed":
        # not measured is neither passed nor failed: an error in the words of this format
        return (
            f'{head}>\n    <error type="not_assessed" '
            f"message={quoteattr(_clean(message))}>{escape(_clean(more))}</error>\n  </testcase>"
        )
    if status == "skipped":
        return f"{head}>\n    <skipped message={quoteattr(_clean(message))} />\n  </testcase>"
    if status == "warn":
        return f"{head}>\n    <system-out>{escape(_clean('warning: ' + message))}</system-out>\n  </testcase>"
    return f"{head} />"


def _clean(text: str) -> str:
    """Text without the characters that XML forbids or a terminal obeys."""
    return re.sub(r"[\ufffe\uffff]", " ", visible(clip(str(text), 900)))
