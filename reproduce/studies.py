"""All studies: what each is called, which source it belongs to, and in which order a source's page shows them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from reproduce.row import Item
from reproduce.setting import Setting


class Study(NamedTuple):
    """One computation that makes one or more items."""

    source: str
    module: str
    function: str
    items: tuple[str, ...]

    def run(self, setting: Setting) -> list[Item]:
        """The items.

        Parameters
        ----------
        setting : Setting
            How the run goes.

        Returns
        -------
        list of Item
        """
        compute: Callable[[Setting], list[Item]] = getattr(import_module(f"reproduce.{self.module}"), self.function)
        return compute(setting)


STUDIES = {
    "rapid-definitions": Study("rapid", "rapid_worked", "section_3", ("Section 3",)),
    "rapid-adult": Study("rapid", "rapid_adult", "table_2_and_figure_3", ("Table 2", "Figure 3")),
    "rapid-simulations": Study("rapid", "rapid_simulated", "figures_4a_and_4b", ("Figure 4a", "Figure 4b")),
    "rapid-keys": Study("rapid", "rapid_simulated", "figure_5", ("Figure 5",)),
    "rapid-appendix": Study("rapid", "rapid_worked", "appendix_b", ("Appendix B", "Cross-validation")),
    "raab-table-1": Study("raab", "raab_sd2011", "table_1", ("Table 1",)),
    "raab-figures": Study("raab", "raab_sd2011", "figures_1_and_2", ("Figure 1", "Figure 2")),
    "raab-table-2": Study("raab", "raab_adult", "table_2", ("Table 2",)),
    "raab-table-3": Study("raab", "raab_sd2011", "table_3", ("Table 3",)),
    "riskutility-running": Study("riskutility", "riskutility", "running", ("Running example", "Cross-family table")),
    "riskutility-case": Study("riskutility", "riskutility", "case", ("Case study",)),
    "riskutility-utility": Study("riskutility", "riskutility", "utility", ("Case study, utility",)),
    "risksyn-guide": Study("risksyn", "risksyn", "guide", ("Guide",)),
    "risksyn-answers": Study("risksyn", "risksyn", "answers", ("Answers",)),
}
