"""glasshouse policy init and glasshouse policy check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.show.cli.terminal import err, out

policy_app = typer.Typer(help="Write a policy, or check one without data.", no_args_is_help=True, rich_markup_mode=None)


@policy_app.command("init")
def init(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="File to write; - is stdout.  [default: policy.toml]", metavar="[FILE]", show_default=False
        ),
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help="What to start from: public, research or secure.")] = "public",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The same as FILE; - is stdout.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """A commented policy to start from, written to a file."""
    from glasshouse.core.errors import InputError
    from glasshouse.core.writing import SHARED, write_atomically
    from glasshouse.judgement.policy.policy import PRESETS, Policy, preset_text

    if preset == "riskutility":
        raise InputError(
            "riskutility is a rule for comparison, not a policy to start from; choose public, research or secure"
        )
    Policy.preset(preset)
    if file is not None and output is not None:
        raise InputError("name the file once: as FILE or with -o")
    path = file or output or Path("policy.toml")
    if str(path) in PRESETS:
        raise InputError(f"{path} is a preset, not a file: glasshouse policy init --preset {path}")
    text = preset_text(preset)
    if str(path) == "-":
        sys.stdout.write(text)
        return 0
    if path.exists() and not force:
        raise InputError(f"{path} exists; use --force to replace it")
    write_atomically(path, text, None if path.exists() else SHARED)  # a policy holds nothing of anybody
    err(f"wrote {path} (preset {preset}); edit it, then: glasshouse policy check {path}")
    return 0


@policy_app.command("check")
def check(
    policy: Annotated[str, typer.Argument(help="A policy file, or the name of a preset.", show_default=False)],
) -> int:
    """Validate a policy against the measures there are, without any data."""
    from glasshouse.catalogue import all_measures
    from glasshouse.core.words import THREATS, plural
    from glasshouse.judgement.policy.policy import Policy

    found = Policy.of(policy).validated(all_measures())
    console = out()
    console.print(
        f"policy {found} is valid: {len(found.limits)} {plural(len(found.limits), 'limit')} on single figures"
    )
    if found.leak is not None:
        console.print(f"  {found.leak.text()}")
    for rule in found.limits:
        about = "  (population)" if rule in found.population else ""
        console.print(f"  {rule.text()}{about}" + ("" if rule.required else "  (not required)"))
    named = {all_measures()[rule.measure].threat for rule in found.rules}
    uncovered = [threat for threat in THREATS if threat not in named]
    if found.others == "inform" and found.leak is None and uncovered:
        err(
            f"note: no rule looks at {', '.join(uncovered)}; a verdict on the release will say that this was "
            "not assessed"
        )
    return 0
