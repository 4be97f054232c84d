"""Callables that run on workers for the coordinator."""
from __future__ import annotations

import itertools
import pickle
import threading
from typing import Any, Callable, Iterator, NamedTuple

from muster._pickled import buffers, calls
from muster._pickled.unpicklers import loads
from muster.worker.context import current


class Chunk:
    """Makes several calls of a function in one closure, for `map`. If one raises an exception, the others are still
    made.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__qualname__ = calls.name_of(fn)  # for notes on errors

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.fn

    def __call__(self, *arguments: tuple[Any, ...]) -> list[Any] | PartialResults:
        """Returns the results in order. With a single call it raises the exception of the function."""
        fn = self.fn
        if len(arguments) == 1:
            return [fn(*arguments[0])]
        results: list[Any] = []
        failed: list[int] = []
        remaining = iter(arguments)
        while True:
            try:
                results.extend(itertools.starmap(fn, remaining))  # keeps what it has appended before an error
            except Exception:
                running = current()
                if running is not None and running.cancelled():
                    raise
            if len(results) == len(arguments):
                break
            failed.append(len(results))  # includes a StopIteration of the function, which ends `extend`
            results.append(None)
        return PartialResults(results, failed) if failed else results


class PartialResults(NamedTuple):
    """The result of a chunk in which some calls have raised exceptions. The client repeats these calls, each in its
    own closure, which reports the error.
    """

    results: list[Any]
    failed: list[int]
    """Positions of the failed calls, whose results are None."""


def identity(value: Any) -> Any:
    return value


class InstallUpload:
    """Installs an upload on a worker. As a per-worker value, the result represents the upload in calls."""

    def __init__(self, digest: str, data: bytes) -> None:
        self.upload = (digest, data)

    def __call__(self) -> Any:
        from muster.worker import uploads

        return uploads.install(*self.upload)


class Large:
    """Bytes that are pickled out of band, so that they can be a blob."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return identity, (pickle.PickleBuffer(self._data),)


def install_upload(digest: str, data: Any) -> Any:
    """Installs an upload. As a per-worker value, the result represents the upload in calls."""
    return InstallUpload(digest, bytes(data))()


class WithUploads:
    """A pickled builder with its uploads, because its arguments cannot contain them."""

    def __init__(self, install: list[InstallUpload], function: bytes, arguments: bytes) -> None:
        self.install = install
        self.function = function
        self.arguments = arguments

    def __call__(self) -> Any:
        from muster.worker import uploads

        uploads.activate_for(current(), [install() for install in self.install])
        args, kwargs = buffers.load(self.arguments)
        return loads(self.function)(*args, **kwargs)


def make_with_uploads(install: list[tuple[str, Any]], function: bytes, arguments: bytes) -> Any:
    """Creates an object after installing its uploads."""
    return WithUploads([InstallUpload(digest, bytes(data)) for digest, data in install], function, arguments)()


class MakeDataset:
    """Returns the result of a function, or another object itself."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __call__(self) -> Any:
        return self.dataset() if callable(self.dataset) else self.dataset


class IterateDataset:
    """Returns a new iterator over a new dataset. It has a lock, because several calls can use it at the same time:
    in a threaded worker, and in a process where one call waits for values.
    """

    def __init__(self, make: MakeDataset) -> None:
        self.make = make

    def __call__(self) -> Iterator[Any]:
        return OneAtATime(iter(self.make()))


class OneAtATime:
    """An iterator with a lock. It can be used on any thread."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self._lock = threading.Lock()

    def __iter__(self) -> OneAtATime:
        return self

    def __next__(self) -> Any:
        with self._lock:
            return next(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)
