"""Calls that a worker's functions and methods make to objects. Never imports grpc."""
from __future__ import annotations

import threading
from typing import Any, Callable

from muster._pickled.buffers import Data
from muster._wire.messages import WorkerMessage
from muster.objects.call import Call, Kept
from muster.objects.calls import Calls
from muster.objects.large import Memory
from muster.objects.within import Name, within
from muster.worker.blobs import Blobs

Wait = tuple[Call, Name]
"""A call, and the name of the method call that waits for it."""


class WorkerMemory:
    """Shared memory of the values that this process owns. The worker holds the memory."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self.open = blobs.open

    def keep(self, data: Data) -> Kept:
        return Kept(self._blobs.own(data), memoryview(data).nbytes, None)

    def let_go(self, kept: Kept) -> None:
        self._blobs.drop(kept.name)

    def put(self, kept: Kept) -> None:
        self._blobs.put(kept.name)


class ObjectCalls(Calls):
    """Passes calls as serialized WorkerMessages to `send`. A separate thread, which starts with the first call, calls
    `send`.
    """

    def __init__(self, send: Callable[[bytes], None], memory: Callable[[], Memory | None] = lambda: None) -> None:
        self._due = threading.Event()
        super().__init__(self._begin, memory)
        self._send = send
        self._waits: list[Wait] = []  # waits in progress
        self._unsaid: list[Wait] = []
        self._begun = False

    def _begin(self) -> None:
        with self._lock:
            begun, self._begun = self._begun, True
        if not begun:
            threading.Thread(target=self._run, name="muster-object-calls", daemon=True).start()
        self._due.set()

    def _run(self) -> None:
        while True:
            self._due.wait()  # no deadline: woken by calls until the process exits
            self._due.clear()
            while True:
                m = WorkerMessage()
                if not self.fill(m.object_requests.add()):
                    break
                try:
                    self._send(m.SerializeToString())
                except OSError:
                    return

    def _name(self, m: Any, ticket: bytes) -> None:
        m.ticket = ticket

    def _fill_more(self, m: Any) -> bool:
        """Adds waits to the message, after the calls to which the waits refer."""
        if not self._unsaid or self._out:
            return False
        for call, (caller, of_worker, outer) in self._unsaid:
            m.wait.add(number=call.number, within_caller=caller, within_worker=of_worker, within_number=outer)
        self._unsaid.clear()
        return True

    def _again_more(self) -> None:
        self._unsaid = list(self._waits)  # the server may not have received them on the previous stream

    _renumbered = _again_more

    def _has_more(self) -> bool:
        return bool(self._unsaid)

    def begin_wait(self, call: Call) -> Wait | None:
        outer = within.call
        if outer is None:
            return None
        wait = (call, outer)
        with self._lock:
            self._waits.append(wait)
            self._unsaid.append(wait)
        self._tell()
        return wait

    def end_wait(self, wait: Wait | None) -> None:
        if wait is None:
            return
        with self._lock:
            self._waits.remove(wait)
            if wait in self._unsaid:
                self._unsaid.remove(wait)
