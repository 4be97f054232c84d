"""Handles of datasets whose splits the server distributes among functions on workers. Never imports grpc."""
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
"""Header of a request for a split. Contains the closure, the attempt, the epoch, and whether splits are returned whole.
See objects.proto.
"""
_DEALT = struct.Struct("<II")

Read = Callable[[Any], Iterable[Any]]


class _Reading(threading.local):
    """The reading position of a function. Threads can share a handle, for example if functions capture the handle."""
    of: Any = None
    """Closure and attempt that are reading."""
    elements: Iterator[Any] | None = None
    split = 0
    passed: list[int]


class DistributedDataset:
    """A dataset whose splits the server distributes. Created by `ClusterCoordinator.create_distributed_dataset`.

    If you pass a dataset to a function, at any nesting depth, the function receives an iterator. The iterator yields
    splits, or the elements that `read` returns for each split, until the end of the epoch. A split is done when a
    function has read past the end of the split and has succeeded. All other splits are read again as a whole after the
    function returns or fails.
    """

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

    # Used by functions on workers.

    def __iter__(self) -> DistributedDataset:
        context()  # raises here rather than at the first split if no function on a worker is running
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
                    r.elements = None  # not read to its end, so the split is drawn again
                    raise
                r.elements = None
                r.passed.append(r.split)
            split = self._draw(r, running)
            if self._read is None:
                return split
            r.elements = iter(self._read(split))

    def _draw(self, r: _Reading, running: Any) -> Any:
        """Returns the next split. Waits while other functions may still return splits. Raises StopIteration after the
        last split, and ClosureError if the request fails.
        """
        passed, r.passed = r.passed, []
        args = _HEAD.pack(running.closure, running.attempt, self._epoch, self._read is None)
        args += struct.pack(f"<{len(passed)}I", *passed)
        call = self._call("draw", args)
        self._calls.wait(call, None)  # returns when a split is available, or the other functions or the session end
        if call.error is not None:
            raise call.error.again()
        if call.encoding == JSON:
            raise StopIteration
        r.split, _ = _DEALT.unpack_from(call.raw)
        (split,), _ = buffers.load(call.raw[_DEALT.size:])
        return split

    # Used by functions and coordinators.

    def epoch(self, number: int) -> DistributedDataset:
        """Returns the same dataset, limited to one epoch.

        The iterator waits until the epoch begins, and is empty after the end of the epoch. A dataset without an epoch
        number yields the next epoch in a function that starts late.

        Args:
            number: Index of the epoch, from 0.

        Returns:
            A dataset to pass as an argument.

        Raises:
            ValueError: The epoch does not exist.
        """
        if not 0 <= number < self._epochs:
            raise ValueError(f"epoch {number}: must be from 0 to {self._epochs - 1}")
        return DistributedDataset(self._id, self._name, self._epochs, self._read, self._ticket, self._calls,
                                  number, self._owner)

    def progress(self) -> dict[str, int]:
        """Returns the progress of the current epoch.

        Returns:
            A dict with the current `epoch` (from 0; equal to `epochs` at the end), the number of `epochs` and the
            number of `splits`. The members `queued`, `drawn` and `done` count the splits in each state.

        Raises:
            UnavailableError: The session has ended, or a restart of the server has lost the dataset.
        """
        try:
            asked: dict[str, int] = self._ask("progress")
            return asked
        except InputError:  # an older server does not support this method
            told = self._ask("position")
            return {**told, "done": len(told["done"])}

    def position(self) -> dict[str, Any]:
        """Returns the epoch and its finished splits. Pass the result to `go_to`, or to
        ``create_distributed_dataset(..., position=)`` of any coordinator. Splits that functions are still reading are
        not included.

        Returns:
            A dict with the members `epoch` and `done`, a list of the numbers of the finished splits.
        """
        asked = self._ask("position")
        return {"epoch": asked["epoch"], "done": asked["done"]}

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continues reading from a position.

        Args:
            position: A position that the method `position` has returned.

        Raises:
            InputError: Functions that hold splits have not finished.
        """
        self.load_state(position).fetch()

    # Used by checkpoints; the interface is the same as for objects.

    def save_state(self) -> CallValue:
        """Returns a RemoteValue that contains the current position. Called when a checkpoint is saved."""
        return CallValue(self._calls, self._call("position", b""), self._owner)

    def load_state(self, position: Mapping[str, Any]) -> CallValue:
        """Continues reading from a position, without waiting. Called when a checkpoint is restored.

        Args:
            position: A position that the method `position` has returned.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the server has accepted the position.
        """
        done = position["done"]
        args = struct.pack(f"<{1 + len(done)}I", position["epoch"], *done)
        return CallValue(self._calls, self._call("go_to", args), self._owner)

    def _unowned(self) -> DistributedDataset:
        """Returns a handle that does not keep the session open."""
        return DistributedDataset(self._id, self._name, self._epochs, self._read, self._ticket, self._calls)

    def done(self) -> bool:
        """Returns whether all epochs are done. Sends a request to the server."""
        return bool(self.progress()["epoch"] == self._epochs)

    def delete(self) -> None:
        """Deletes the dataset. Functions that are waiting for a split fail with CancelledError. Only the coordinator
        that created the dataset can delete it.

        Raises:
            TypeError: The handle is used in a function on a worker.
        """
        drop = getattr(self._calls, "drop", None)
        if drop is None:
            raise TypeError("a function on a worker cannot delete a dataset; delete it with its coordinator")
        drop(self._id)

    def _ask(self, method: str) -> Any:
        # This wait always ends: the server answers at once, or the session ends.
        return CallValue(self._calls, self._call(method, b""), self._owner).fetch()

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
    """Recreates a handle. Called when a handle is unpickled."""
    calls = calls_of(ticket, f"dataset {name!r}")
    owner = getattr(calls, "owner", lambda: None)()
    return DistributedDataset(id, name, epochs, read, ticket, calls, epoch, owner)
