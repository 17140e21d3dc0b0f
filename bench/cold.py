"""What a first run takes: seconds of every function that is compiled, with an empty cache.

    python bench/cold.py [demo | rapid]

Each run is a process of its own with a cache folder of its own: once with an empty cache, once more with what it left
there. Seconds are CPU seconds of numba's own compile events; what a function compiles for itself on the way is counted
with the function that asked, and again on its own line. Other work on the machine stretches them all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

RUNS = ("rapid", "demo")
SHOWN = 40  # functions in the table


def rapid() -> None:
    import glasshouse as gh

    gh.disclosure.rapid(gh.data.load("health").pair(), random_state=0)


def demo() -> None:
    from glasshouse.show.cli import main

    with tempfile.TemporaryDirectory() as folder:
        try:
            main(["demo", "--quiet", "--output", f"{folder}/report.html"])
        except SystemExit as done:
            if done.code:
                raise


def child(name: str, told: str) -> None:
    """Run it here, and write what was compiled as JSON."""
    rows: list[tuple[str, float, float, int]] = []  # function, seconds, of them its own, depth
    open_: list[list[float]] = []

    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            open_.append([time.thread_time(), 0.0])

        def on_end(self, event: Any) -> None:
            started, inside = open_.pop()
            took = time.thread_time() - started
            if open_:
                open_[-1][1] += took
            function = event.data["dispatcher"].py_func
            rows.append((f"{function.__module__}.{function.__qualname__}", took, took - inside, len(open_)))

    event.register("numba:compile", Listener())
    wall = time.perf_counter()
    {"rapid": rapid, "demo": demo}[name]()
    figures = {"wall": time.perf_counter() - wall, "cpu": time.process_time(), "rows": rows}
    with open(told, "w", encoding="utf-8") as file:
        json.dump(figures, file)


def measured(name: str, cache: str) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("r", suffix=".json") as told:
        command = [sys.executable, __file__, "--child", name, told.name]
        env = {**os.environ, "NUMBA_CACHE_DIR": cache}
        subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
        found: dict[str, Any] = json.load(told)
        return found


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    for name in sys.argv[1:] or RUNS:
        with tempfile.TemporaryDirectory() as cache:
            first, second = measured(name, cache), measured(name, cache)
        rows = first["rows"]
        total = sum(took for _, took, _, depth in rows if depth == 0)
        print(f"\n{name}: the functions that took longest to compile\n{'seconds':>8} {'own':>6}  function")
        for function, took, own, _ in sorted(rows, key=lambda row: -row[2])[:SHOWN]:
            print(f"{took:8.2f} {own:6.2f}  {function}")
        print(f"{total:8.2f} {'':6}  all {len(rows)} functions")
        for what, found in (("first run", first), ("second run", second)):
            print(f"{what}: {found['cpu']:.1f} CPU s, {found['wall']:.1f} s of wall clock")


if __name__ == "__main__":
    main()
