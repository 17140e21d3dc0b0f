"""Commands that take their options in groups: a group is a dataclass, and every command that has it takes all of it.

typer reads one parameter per option. Written out, a dozen options stood in six signatures and six calls, and no two
lists agreed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def gathered(command: Callable[..., int]) -> Callable[..., int]:
    """A command with groups among its parameters, as typer wants it: one parameter per option, in the order given.

    Parameters
    ----------
    command : callable
        Its parameters are groups (dataclasses whose fields are annotated as typer options) or options.

    Returns
    -------
    callable
        The same command; it makes the groups of what the command line gives.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind):
            groups[name] = kind
            inner = get_type_hints(kind, include_extras=True)
            parameters += [
                inspect.Parameter(
                    one.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if one.default is MISSING else one.default,
                    annotation=inner[one.name],
                )
                for one in fields(kind)
            ]
        else:
            parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(command)
    def run(**given: Any) -> int:
        made = {
            name: kind(**{one.name: given.pop(one.name) for one in fields(kind)})  # type: ignore[arg-type]
            for name, kind in groups.items()
        }
        return command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
