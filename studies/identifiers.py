"""How often are invented names taken for real ones, and how few real ones are seen?

    python -m studies.identifiers [--seeds 300] [--n 300]

Every run has people, as many strangers and a release as large, each with an identifier of one kind. In a clean release
all identifiers are invented as those of people came about; in a leaking one a few are replaced by those of members.
Printed is a table in Markdown: shares of runs that warn or fail, and that fail, with and without a holdout.
"""

from __future__ import annotations

import argparse
import string
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

import glasshouse as gh
from glasshouse.judgement.policy.leak import LeakLevels

Rng = np.random.Generator
SHARED = (0, 1, 2, 3, 5, 8)


def _names(pool: int) -> Callable[[int, Rng], list[str]]:
    """First and last names, common ones far more often than rare ones."""

    def draw(size: int, rng: Rng) -> list[str]:
        chances = 1 / np.arange(1, pool + 1)
        first, last = (rng.choice(pool, size, p=chances / chances.sum()) for _ in range(2))
        return [f"given{a} family{b}" for a, b in zip(first, last, strict=True)]

    return draw


def _codes(length: int) -> Callable[[int, Rng], list[str]]:
    """Codes of random letters, each given out once."""
    letters = np.array(list(string.ascii_uppercase))

    def draw(size: int, rng: Rng) -> list[str]:
        made = dict.fromkeys("".join(row) for row in letters[rng.integers(0, 26, (2 * size, length))])
        return list(made)[:size]

    return draw


def _numbers(most: int) -> Callable[[int, Rng], list[int]]:
    """Random numbers, each given out once."""
    return lambda size, rng: rng.choice(most, size, replace=False).tolist()


def _mails(size: int, rng: Rng) -> list[str]:
    """Addresses made of names, each given out once: the second of a name gets a number."""
    made: dict[str, None] = {}
    for name in _names(300)(size, rng):
        address, more = name.replace(" ", "."), 2
        while address in made:
            address, more = f"{name.replace(' ', '.')}{more}", more + 1
        made[address] = None
    return list(made)


def _births(size: int, rng: Rng) -> list[int]:
    """Birth date and a running number of the day, each given out once."""
    days = rng.integers(0, 60 * 365, 3 * size)
    made = dict.fromkeys((19_000_000 + days * 10 + rng.integers(1, 6, 3 * size)).tolist())
    return list(made)[:size]


KINDS: dict[str, Callable[[int, Rng], list[object]]] = {
    "names, many": _names(3000),
    "names, few": _names(300),
    "e-mail addresses": _mails,
    "birth date and number": _births,
    "codes of three letters": _codes(3),
    "codes of four letters": _codes(4),
    "codes of eight letters": _codes(8),
    "numbers below 10,000": _numbers(10_000),
    "numbers of nine digits": _numbers(10**9),
}  # type: ignore[assignment]


def _tables(kind: str, n: int, shared: int, rng: Rng) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    draw = KINDS[kind]
    people, made = draw(2 * n, rng), draw(n, rng)
    people = [people[i] for i in rng.permutation(2 * n)]  # whoever came first is not in one table
    made[:shared] = people[:shared]
    parts = people[:n], made, people[n:]
    own, released, strangers = (pl.DataFrame({"id": part, "x": rng.normal(size=n)}) for part in parts)
    return own, released, strangers


def statuses(kind: str, n: int, shared: int, seed: int) -> tuple[str, str]:
    """What the measure says with a holdout and without one."""
    rng = np.random.default_rng([seed, shared, sorted(KINDS).index(kind)])
    own, released, strangers = _tables(kind, n, shared, rng)
    schema = {"id": "identifier"}
    levels = LeakLevels()
    p = gh.disclosure.shared_identifiers(own, released, holdout=strangers, schema=schema).p_value
    tested = "pass" if p is None or p >= levels.warn else "warn" if p >= levels.fail else "fail"
    return tested, str(gh.disclosure.shared_identifiers(own, released, schema=schema).verdict)


def table(seeds: int, n: int) -> Iterator[str]:
    """The rows of the table."""
    yield f"| identifiers of {n:,} people | real ones released | holdout: seen | FAIL | no holdout: seen | FAIL |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for kind in KINDS:
        for shared in SHARED:
            found = [statuses(kind, n, shared, seed) for seed in range(seeds)]
            rates = [
                _rate(float(np.mean([said[at] in which for said in found])), seeds)
                for at in (0, 1)
                for which in (("warn", "fail"), ("fail",))
            ]
            yield f"| {kind} | {shared} | {' | '.join(rates)} |"


def _rate(share: float, runs: int) -> str:
    return f"{100 * share:.0f}±{100 * np.sqrt(max(share * (1 - share), 0.25 / runs) / runs):.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--n", type=int, default=300)
    asked = parser.parse_args()
    for line in table(asked.seeds, asked.n):
        print(line, flush=True)


if __name__ == "__main__":
    main()
