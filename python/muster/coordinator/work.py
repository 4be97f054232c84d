"""Callables that the coordinator runs on workers."""
from __future__ import annotations

import itertools
import pickle
import threading
from typing import Any, Callable, Iterator, NamedTuple

from muster._pickled import buffers, calls
from muster._pickled.unpicklers import loads
from muster.worker.context import current


class Chunk:
    """Makes several calls of a function in one closure, for `map`. If a call raises an exception, the remaining calls
    are still made.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__qualname__ = calls.name_of(fn)  # used in the notes of errors

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.fn

    def __call__(self, *arguments: tuple[Any, ...]) -> list[Any] | PartialResults:
        """Returns the results in order. If the chunk has a single call, an exception of the function is raised."""
        fn = self.fn
        if len(arguments) == 1:
            return [fn(*arguments[0])]
        results: list[Any] = []
        failed: list[int] = []
        remaining = iter(arguments)
        while True:
            try:
                results.extend(itertools.starmap(fn, remaining))  # after an error, appended results remain
            except Exception:
                running = current()
                if running is not None and running.cancelled():
                    raise
            if len(results) == len(arguments):
                break
            failed.append(len(results))  # this branch also handles a StopIteration of the function, which ends `extend`
            results.append(None)
        return PartialResults(results, failed) if failed else results


class PartialResults(NamedTuple):
    """The result of a chunk in which some calls have raised exceptions. The client repeats each failed call in a
    separate closure, which reports the error.
    """

    results: list[Any]
    failed: list[int]
    """Positions of the failed calls, whose results are None."""


def identity(value: Any) -> Any:
    return value


class InstallUpload:
    """Installs an upload on a worker. The result is used as a per-worker value, which represents the upload in calls.
    """

    def __init__(self, digest: str, data: bytes) -> None:
        self.upload = (digest, data)

    def __call__(self) -> Any:
        from muster.worker import uploads

        return uploads.install(*self.upload)


class Large:
    """Bytes that are pickled out of band and can therefore be stored as a blob."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return identity, (pickle.PickleBuffer(self._data),)


def install_upload(digest: str, data: Any) -> Any:
    """Installs an upload. The result is used as a per-worker value, which represents the upload in calls."""
    return InstallUpload(digest, bytes(data))()


class WithUploads:
    """A pickled function that builds an object, with its uploads. The arguments of the function cannot contain uploads.
    """

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
    """Installs the uploads of an object and then creates the object."""
    return WithUploads([InstallUpload(digest, bytes(data)) for digest, data in install], function, arguments)()


class MakeDataset:
    """Builds a dataset on a worker. Returns the result of `dataset` if `dataset` is a function, otherwise `dataset`
    itself.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __call__(self) -> Any:
        return self.dataset() if callable(self.dataset) else self.dataset


class IterateDataset:
    """Creates a dataset and returns an iterator over it. The iterator has a lock, because several calls can use the
    iterator at the same time. Such calls run in a threaded worker, or in a process where a call is waiting for values.
    """

    def __init__(self, make: MakeDataset) -> None:
        self.make = make

    def __call__(self) -> Iterator[Any]:
        return OneAtATime(iter(self.make()))


class OneAtATime:
    """An iterator with a lock, which several threads can use at the same time."""

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
