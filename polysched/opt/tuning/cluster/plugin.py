"""Marks each worker, those that join later, too, with its kind of machine, which work asks for as a resource.

Imported where Dask distributed is known to be there.
"""

from __future__ import annotations

from contextlib import suppress

from distributed import Worker, WorkerPlugin

from polysched.errors import PolyschedError
from polysched.opt.tuning.cluster.station import advertised


class Marked(WorkerPlugin):
    """Of a worker that can measure; one that cannot is left as it is, and gets no work of ours."""

    async def setup(self, worker: Worker) -> None:
        with suppress(PolyschedError):
            await worker.set_resources(**{advertised().kind: 1})
