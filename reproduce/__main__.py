"""`python -m reproduce [studies] [--quick]`: computes, then writes tables, figures and pictures.

python -m reproduce --list
python -m reproduce rapid raab-table-1 --quick
python -m reproduce --data ~/data --seconds 280      # goes on where it stopped
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reproduce.pages import merge, write
from reproduce.setting import ROOT, STORE, MissingData, OutOfTime, Setting, data_folder
from reproduce.studies import STUDIES

OUT = ROOT / "docs" / "reproduction"


def chosen(names: Sequence[str]) -> list[str]:
    """The studies that are meant.

    Parameters
    ----------
    names : sequence of str
        Studies or sources; none means all.

    Returns
    -------
    list of str

    Raises
    ------
    SystemExit
        For a name that is none.
    """
    known = {*STUDIES, *(study.source for study in STUDIES.values())}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no study {unknown[0]!r}; there are: {', '.join(sorted(known))}")
    return [name for name, study in STUDIES.items() if not names or name in names or study.source in names]


def main(given: Sequence[str] | None = None) -> int:
    """Computes what is asked for and writes the pages.

    Parameters
    ----------
    given : sequence of str, optional
        The arguments of the command line.

    Returns
    -------
    int
        0, or 1 where the time was up first.
    """
    parser = argparse.ArgumentParser(
        prog="python -m reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="studies or sources; all of them when none is named")
    parser.add_argument("--quick", action="store_true", help="fewer draws: the same tables with wider errors")
    parser.add_argument("--data", type=Path, help="folder that holds adult/ and sd2011/ (else GLASSHOUSE_DATA)")
    parser.add_argument("--out", type=Path, default=OUT, help="where tables and pictures are written")
    parser.add_argument("--store", type=Path, default=STORE, help="where draws are kept between calls")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no draw after that long")
    parser.add_argument("--list", action="store_true", help="say which studies there are")
    asked = parser.parse_args(given)
    if asked.list:
        for name, study in STUDIES.items():
            print(f"{name:20} {study.source:12} {', '.join(study.items)}")
        return 0
    setting = Setting(asked.quick, data_folder(asked.data), asked.store, time.monotonic() + asked.seconds)
    stopped = False
    for name in chosen(asked.names):
        started, study = time.monotonic(), STUDIES[name]
        try:
            items = study.run(setting)
        except MissingData as missing:
            print(f"{name}: left out, because it {missing}", flush=True)
            continue
        except OutOfTime as out:
            print(f"{name}: {out}; call again to go on", flush=True)
            stopped = True
            continue
        merge(asked.out, study.source, items, asked.quick)
        rows = [row for item in items for row in item.rows]
        same = sum(row.status == "reproduced" for row in rows)
        print(f"{name}: {same} of {len(rows)} figures reproduced ({time.monotonic() - started:.0f} s)", flush=True)
    write(asked.out)
    return 1 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
