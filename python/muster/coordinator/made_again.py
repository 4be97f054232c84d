"""Values that were in the memory of a worker alone, and are lost with it: the server has their closures run again for who asks.
"""
from __future__ import annotations

import time
from typing import Any, Callable

from muster._wire import messages
from muster.coordinator.blobs import LostValue

LOST_WITHIN = 30.0
"""Seconds for the server to find that the worker does not come back."""
LOOK_EVERY = 0.25
RUN_AGAIN_WITHIN = 600.0
"""Seconds for the closure to be run again: it may wait for a worker as the first time."""
READY = 1


def decoded(session: Any, record: Any, decode: Callable[[int, Any, Any], Any]) -> Any:
    """The value of a record that has ended. Raises UnavailableError: it is lost, and its closure cannot run again."""
    raw = record.raw
    end = time.monotonic() + LOST_WITHIN
    while True:
        try:
            return decode(record.encoding, raw, session.blobs)
        except LostValue as lost:
            if not record.closure or time.monotonic() > end:
                raise
            answer = session.link.ask("Fetch", messages.FetchRequest(
                closure=record.closure, timeout_ms=int(RUN_AGAIN_WITHIN * 1000)),
                messages.FetchResponse, RUN_AGAIN_WITHIN + 10)
            if answer.state != READY or answer.HasField("failure"):
                raise lost
            if answer.value == raw:  # the server waits for the worker
                time.sleep(LOOK_EVERY)
            else:
                raw = answer.value
                end = time.monotonic() + LOST_WITHIN
