"""Callables that run on workers on behalf of the coordinator."""
from __future__ import annotations

import pickle
import threading
from typing import Any, Callable, Iterator

from muster._pickled import buffers
from muster._pickled.unpicklers import loads


class Chunk:
    """Several calls of a function in one closure, for map."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, *calls: tuple[Any, ...]) -> list[Any]:
        fn = self.fn
        return [fn(*args) for args in calls]


def identity(value: Any) -> Any:
    return value


class InstallUpload:
    """What it returns, as a per-worker value, stands for the upload in calls."""

    def __init__(self, digest: str, data: bytes) -> None:
        self.upload = (digest, data)

    def __call__(self) -> Any:
        from muster.worker import uploads

        return uploads.install(*self.upload)


class Large:
    """Bytes that are pickled beside the pickle, so that they can be a blob."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce_ex__(self, protocol: Any) -> Any:
        return identity, (pickle.PickleBuffer(self._data),)


def install_upload(digest: str, data: Any) -> Any:
    """What it returns, as a per-worker value, stands for the upload in calls."""
    return InstallUpload(digest, bytes(data))()


class WithUploads:
    """A builder, pickled, whose modules come along: it has no arguments that could bring them."""

    def __init__(self, install: list[InstallUpload], function: bytes, arguments: bytes) -> None:
        self.install = install
        self.function = function
        self.arguments = arguments

    def __call__(self) -> Any:
        from muster.worker import uploads
        from muster.worker.context import current

        uploads.activate_for(current(), [install() for install in self.install])
        args, kwargs = buffers.load(self.arguments)
        return loads(self.function)(*args, **kwargs)


def make_with_uploads(install: list[tuple[str, Any]], function: bytes, arguments: bytes) -> Any:
    """An object whose modules come along."""
    return WithUploads([InstallUpload(digest, bytes(data)) for digest, data in install], function, arguments)()


class MakeDataset:
    """Of a function, what it returns; of anything else, itself."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __call__(self) -> Any:
        return self.dataset() if callable(self.dataset) else self.dataset


class IterateDataset:
    """A new iterator over a new dataset. Several closures may ask it for its next element at once, in a worker
    of threads, and in a child where one waits for values; few iterators can bear that."""

    def __init__(self, make: MakeDataset) -> None:
        self.make = make

    def __call__(self) -> Iterator[Any]:
        return OneAtATime(iter(self.make()))


class OneAtATime:
    """An iterator with a lock. Any thread."""

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
