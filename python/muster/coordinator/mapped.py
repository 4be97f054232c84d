"""The iterator that `map` returns. Several calls can share a closure, but calls fail independently."""
from __future__ import annotations

import collections
import functools
import itertools
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Generator, Iterator, NamedTuple, Optional, Sequence, TypeVar

from muster._pickled import shown
from muster.coordinator.generation import add_note
from muster.coordinator.progress import Bar
from muster.coordinator.remote_value import RemoteValue
from muster.coordinator.work import PartialResults
from muster.errors import ClosureError, FailureKind

if TYPE_CHECKING:
    from muster.coordinator.records import Record
    from muster.coordinator.requests import Request

T = TypeVar("T")
Calls = list[tuple[Any, ...]]
"""The arguments of each call in a closure."""
Part = tuple[Optional[RemoteValue[Any]], int, Any]
"""A closure, the number of its first item, and its request; or None, the number of the first item, and a list of
results.
"""

CHUNKS_AT_ONCE = 256
"""Number of closures that are submitted together."""
_DIVIDED = {FailureKind.USER, FailureKind.INPUT, FailureKind.WORKER_LOST, FailureKind.TIMEOUT}
"""Failures that a single call can cause in a closure with several calls."""
_PARTIAL = PartialResults.__name__.encode()
_SCANNED_MAX = 1 << 20
_KEPT_MAX = 4096
"""Maximum size in bytes of arguments that are kept until the results of their closure are read. Larger arguments are
dropped when the closure has succeeded.
"""


class Mapped(NamedTuple):
    """The arguments of `map`."""

    name: str
    """Name of the function."""
    pack: Callable[[Calls, int], Request]
    """Returns a request for several calls with the current values of their arguments. The number identifies the first
    call. The output of the request is the list of results, or PartialResults.
    """
    submit: Callable[[list[Request]], list[RemoteValue[Any]]]
    arguments_of: Callable[[Request], tuple[Any, ...] | None]
    """Returns the calls of a closure as they were submitted."""
    calls: Iterator[tuple[Any, ...]]
    chunksize: int
    buffersize: int | None
    timeout: float | None
    progress: bool
    show_arguments: bool


class MapIterator(itertools.chain[T]):
    """Iterates over the results of `muster.ClusterCoordinator.map`. Use the iterator on only one thread at a time."""

    # Neither field refers back to the iterator, so that everything is freed with the last reference to the iterator.
    _each: Generator[Iterator[Any], None, None]
    _results: _Results

    def close(self) -> None:
        """Ends the iteration. Cancels the remaining calls if at least one result has been requested."""
        self._each.close()
        collections.deque(self._results.left, maxlen=0)  # consumes the rest of the current results

    def __enter__(self) -> MapIterator[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        r = self._results
        return (f"<muster.MapIterator of {r.of.name}: {r.submitted} calls submitted; iterate over it for the "
                "results, for example with list()>")


def iterate(of: Mapped) -> MapIterator[Any]:
    """Submits the calls and returns the iterator over their results."""
    results = _Results(of)
    each = results.each()
    chain: Any = MapIterator.from_iterable(each)  # iterates without a Python call for each result
    chain._each, chain._results = each, results
    made: MapIterator[Any] = chain
    return made


class _Results:
    def __init__(self, of: Mapped) -> None:
        self.of = of
        self.submitted = 0  # items
        self._end = None if of.timeout is None else time.monotonic() + of.timeout
        self._parts: collections.deque[Part] = collections.deque()
        self.left: Iterator[int] = iter(())
        """Contains an element for each result of the current closure that was not read."""
        if of.buffersize is None:
            while self._submit(CHUNKS_AT_ONCE):
                pass
            self._bar = Bar(of.progress, self.submitted)
        else:
            self._submit(of.buffersize)
            self._bar = Bar(of.progress, None)

    def _submit(self, count: int) -> bool:
        """Submits up to `count` closures. Returns False when the iterables are exhausted."""
        requests: list[Request] = []
        firsts: list[int] = []
        # Each chunk is packed before the next chunk is read, because an iterable can yield the same object each time.
        while len(requests) < count and (chunk := list(itertools.islice(self.of.calls, self.of.chunksize))):
            requests.append(self.of.pack(chunk, self.submitted))
            firsts.append(self.submitted)
            self.submitted += len(chunk)
        if requests:
            self._parts += self._made(requests, firsts)
        return len(requests) == count

    def _made(self, requests: list[Request], firsts: Sequence[int]) -> list[Part]:
        values = self.of.submit(requests)
        for value, request in zip(values, requests):
            if len(request.args) > _KEPT_MAX or request.contents or request.outputs:
                # The callback has no reference to the value, which would keep the coordinator open.
                value.add_done_callback(functools.partial(_drop, value._record, request))
        return list(zip(values, firsts, requests))

    def each(self) -> Generator[Iterator[Any], None, None]:
        """Yields an iterator over the results of each closure. The garbage collector can close this generator on any
        thread, so closing it takes no lock.
        """
        parts = self._parts
        try:
            while parts:
                results = self._take(*parts[0])
                if results is None:
                    continue  # the part was divided
                parts.popleft()
                if self.of.buffersize is not None:
                    self._submit(1)
                self._bar.add(len(results))
                results.reverse()
                self.left = itertools.repeat(-1, len(results))
                # The iterator keeps no reference to a result that it has returned.
                yield map(results.pop, self.left)
        finally:
            self._bar.close()
            for value, _, _ in parts:
                if value is not None and not value._owner.session.is_forked:
                    value._owner.session.cancel_later(value._record)
            parts.clear()

    def _take(self, value: RemoteValue[Any] | None, first: int, of: Any) -> list[Any] | None:
        """Waits for the results of the first part. Returns None if other parts have replaced the first part."""
        if value is None:
            return of  # type: ignore[no-any-return]
        try:
            results = value._fetch(None if self._end is None else max(0.0, self._end - time.monotonic()))
        except ClosureError as error:
            calls = self.of.arguments_of(of) or ()
            if len(calls) > 1 and error.kind in _DIVIDED:
                self._divide(first, calls, [None] * len(calls), range(len(calls)))
                return None
            add_note(error, self._items(first, calls, error))
            raise
        if type(results) is PartialResults:
            self._divide(first, self.of.arguments_of(of) or (), results.results, results.failed)
            return None
        return results  # type: ignore[no-any-return]

    def _divide(self, first: int, calls: Sequence[Any], results: list[Any], failed: Sequence[int]) -> None:
        """Replaces the first part with several parts, which are available results and closures that repeat the failed
        calls.
        """
        parts: list[Part] = []
        begin = 0
        for part in self._made([self.of.pack([calls[i]], first + i) for i in failed], [first + i for i in failed]):
            i = part[1] - first
            parts += [(None, first + begin, results[begin:i]), part]
            begin = i + 1
        parts.append((None, first + begin, results[begin:]))
        self._parts.popleft()
        self._parts.extendleft(reversed(parts))

    def _items(self, first: int, calls: Sequence[Any], error: ClosureError) -> str:
        """Returns a description of the items of a failed closure, for an error note."""
        if len(calls) > 1 or not calls:
            return f"items from {first} of map" if not calls else f"items {first} to {first + len(calls) - 1} of map"
        # The worker has added a note with the arguments; see muster.worker.failures.
        noted = error.kind is FailureKind.USER and sys.version_info >= (3, 11)
        if noted or not self.of.show_arguments:
            return f"item {first} of map"
        return f"item {first} of map, called as {self.of.name}({shown.text(calls[0], {})})"


def _drop(record: Record, request: Request) -> None:
    """Drops the arguments of a closure if all of its calls have succeeded."""
    # The output is not unpickled, because this runs on the receiving thread. A large output can be stored elsewhere.
    raw = record.raw
    if record.error is None and not record.is_large and 0 < len(raw) <= _SCANNED_MAX and _PARTIAL not in bytes(raw):
        request.drop()
