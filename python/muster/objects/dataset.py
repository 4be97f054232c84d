"""Handles of datasets that the server deals out, split by split, to functions on workers. Never imports grpc."""
from __future__ import annotations

import struct
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping

from muster._pickled import buffers
from muster._wire.messages import JSON
from muster.errors import InputError
from muster.objects.call import Call
from muster.objects.calls import Calls
from muster.objects.handle import CallValue, calls_of
from muster.worker.context import context

ANY_EPOCH = 0xffffffff
_HEAD = struct.Struct("<QIII")
"""Of a draw: closure, attempt, epoch, whether splits are whole; see objects.proto."""
_DEALT = struct.Struct("<II")

Read = Callable[[Any], Iterable[Any]]


class _Reading(threading.local):
    """How far a function has read. A handle may be everybody's, as one that functions capture."""
    of: Any = None
    """Closure and attempt."""
    elements: Iterator[Any] | None = None
    split = 0
    passed: list[int]


class DistributedDataset:
    """Of :meth:`create_distributed_dataset`. An argument of functions, at any depth: there it is an iterator of
    splits, or of the elements that `read` makes of them, until the epoch ends. A split is done when the function
    that drew past its end has succeeded; else it is dealt out again, whole."""

    def __init__(self, id: int, name: str, epochs: int, read: Read | None, ticket: bytes, calls: Calls,
                 epoch: int = ANY_EPOCH, owner: Any = None) -> None:
        self._id = id
        self._name = name
        self._epochs = epochs
        self._read = read
        self._ticket = ticket
        self._calls = calls
        self._epoch = epoch
        self._owner = owner
        self._reading = _Reading()

    # Of functions on workers.

    def __iter__(self) -> DistributedDataset:
        context()  # else, an error here and not at the first split
        return self

    def __next__(self) -> Any:
        r, running = self._reading, context()
        if r.of != (running.closure, running.attempt):
            r.of, r.elements, r.passed = (running.closure, running.attempt), None, []
        while True:
            if r.elements is not None:
                try:
                    for element in r.elements:
                        return element
                except BaseException:
                    r.elements = None  # not past its end: it is dealt out again
                    raise
                r.elements = None
                r.passed.append(r.split)
            split = self._draw(r, running)
            if self._read is None:
                return split
            r.elements = iter(self._read(split))

    def _draw(self, r: _Reading, running: Any) -> Any:
        """Waits while others may give back what they have. Raises StopIteration, ClosureError."""
        passed, r.passed = r.passed, []
        args = _HEAD.pack(running.closure, running.attempt, self._epoch, self._read is None)
        args += struct.pack(f"<{len(passed)}I", *passed)
        call = self._call("draw", args)
        self._calls.wait(call, None)  # ends: the others' functions end, or the session does
        if call.error is not None:
            raise call.error.again()
        if call.encoding == JSON:
            raise StopIteration
        r.split, _ = _DEALT.unpack_from(call.raw)
        (split,), _ = buffers.load(call.raw[_DEALT.size:])
        return split

    # Of both.

    def epoch(self, number: int) -> DistributedDataset:
        """The same, of this epoch alone, from 0: it waits for it to begin, and is empty when it is over. To
        do something between epochs: else a function that comes late reads the next one."""
        if not 0 <= number < self._epochs:
            raise ValueError(f"epoch {number}: there are {self._epochs}, from 0")
        return DistributedDataset(self._id, self._name, self._epochs, self._read, self._ticket, self._calls,
                                  number, self._owner)

    def progress(self) -> dict[str, int]:
        """`epoch`, that goes on, of `epochs` (as many: all are done), and how many of its `splits` are `queued`,
        `drawn` and `done`. Raises UnavailableError: the server has started anew."""
        try:
            asked: dict[str, int] = self._ask("progress")
            return asked
        except InputError:  # a server that knows no such method
            told = self._ask("position")
            return {**told, "done": len(told["done"])}

    def position(self) -> dict[str, Any]:
        """How far it is, for ``create_distributed_dataset(…, position=)``, also of another coordinator: the
        epoch and what is done of it. What functions have drawn now is not."""
        asked = self._ask("position")
        return {"epoch": asked["epoch"], "done": asked["done"]}

    def go_to(self, position: Mapping[str, Any]) -> None:
        """It goes on from there. Raises InputError: functions have drawn splits and have not ended."""
        self.load_state(position).fetch()

    # Of checkpoints, as objects have them.

    def save_state(self) -> CallValue:
        return CallValue(self._calls, self._call("position", b""), self._owner)

    def load_state(self, position: Mapping[str, Any]) -> CallValue:
        done = position["done"]
        args = struct.pack(f"<{1 + len(done)}I", position["epoch"], *done)
        return CallValue(self._calls, self._call("go_to", args), self._owner)

    def _unowned(self) -> DistributedDataset:
        """The same, which does not keep the session open."""
        return DistributedDataset(self._id, self._name, self._epochs, self._read, self._ticket, self._calls)

    def done(self) -> bool:
        """All epochs are done."""
        return bool(self.progress()["epoch"] == self._epochs)

    def delete(self) -> None:
        """Of the coordinator that has made it: functions that wait for a split fail (CancelledError)."""
        drop = getattr(self._calls, "drop", None)
        if drop is None:
            raise TypeError("functions on workers draw from datasets, coordinators delete them")
        drop(self._id)

    def _ask(self, method: str) -> Any:
        return CallValue(self._calls, self._call(method, b""), self._owner).fetch()  # ends: the server answers at once, or the session ends

    def _call(self, method: str, args: bytes) -> Call:
        return self._calls.add(self._id, method, args, self._ticket, of=self._of())

    def _of(self) -> tuple[str, str]:
        return "", f"dataset {self._name!r}" if self._name else "a dataset"

    def __reduce__(self) -> Any:
        return restored, (self._id, self._name, self._epochs, self._read, self._ticket, self._epoch)

    def __repr__(self) -> str:
        return f"<muster.DistributedDataset ds_{self._id:016x} {self._name}>".replace(" >", ">")


def restored(id: int, name: str, epochs: int, read: Read | None, ticket: bytes,
             epoch: int) -> DistributedDataset:
    """Called while a handle is unpickled."""
    calls = calls_of(ticket, f"dataset {name!r}")
    owner = getattr(calls, "owner", lambda: None)()
    return DistributedDataset(id, name, epochs, read, ticket, calls, epoch, owner)
