"""A reference table that is made ready where a job wants it: on the processor, on a card, on executors; once each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from glasshouse.core.errors import NotApplicable
from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines import devices
from glasshouse.engines.neighbours.backend import Found, Searchable
from glasshouse.engines.neighbours.encoding import Encoded, Rows

Answer = TypeVar("Answer")


class Ready:
    """A reference table that answers wherever it is asked; every device gives the same answers.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        The rows to be searched.

    Raises
    ------
    NotApplicable
        When there is no row.
    """

    def __init__(self, encoded: Encoded, reference: Rows) -> None:
        if reference.size == 0:
            raise NotApplicable("there is no record to compare with: a table is empty")
        self.encoded = encoded
        self.reference = reference
        self._made: dict[str, Searchable] = {}

    def nearest(self, query: Rows, k: int, self_join: bool) -> Found:
        """The k nearest distinct records of each distinct query; in a self-join one copy of itself is left out.

        Parameters
        ----------
        query : Rows
            Who asks.
        k : int
            How many.
        self_join : bool
            The two sides are the same rows.

        Returns
        -------
        Found
        """
        return self._ask(query, lambda ready: ready.nearest(query, k, self_join))

    def within(self, query: Rows, radius: Floats, self_join: bool) -> Ints:
        """Records within a radius of each distinct query, copies counted, tolerance included.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.
        self_join : bool
            The two sides are the same rows; one copy of itself is left out.

        Returns
        -------
        array of int
        """
        return self._ask(query, lambda ready: ready.within(query, radius, self_join))

    def listed(self, query: Rows, radius: Floats) -> tuple[Ints, Ints]:
        """The distinct rows within a radius of each distinct query.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.

        Returns
        -------
        (offsets, row) : tuple of array of int
            ``row[offsets[q]:offsets[q + 1]]`` for query q, ascending.
        """
        return self._ask(query, lambda ready: ready.listed(query, radius))

    def _ask(self, query: Rows, question: Callable[[Searchable], Answer]) -> Answer:
        name = devices.chosen(query.size * self.reference.size)
        if name == devices.CLUSTER:
            from glasshouse.engines.distributed import neighbours

            session = devices.spark_session()
            return question(self._on(name, lambda: neighbours.Prepared(self.encoded, self.reference, session)))
        if name != devices.PROCESSOR:
            import torch

            from glasshouse.engines.neighbours.gpu import backend

            devices.say(f"distances are searched on {devices.card_name(name)}; device='cpu' keeps to the processor")
            try:
                return question(self._on(name, lambda: backend.Prepared(self.encoded, self.reference, name)))
            except torch.cuda.OutOfMemoryError:
                self._made.pop(name, None)
                devices.say("the card has too little memory left for these records; the processor goes on")
        from glasshouse.engines.neighbours import cpu

        return question(self._on(devices.PROCESSOR, lambda: cpu.prepare(self.encoded, self.reference)))

    def _on(self, name: str, make: Callable[[], Searchable]) -> Searchable:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]
