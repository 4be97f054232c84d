"""Handles: what scheduling a closure returns, and what each worker keeps for itself."""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import enum
import pickle
from typing import Any, Callable, ContextManager, Generator, Generic, Protocol, Sequence, TypeVar

from muster import _forks
from muster._elsewhere import VALUE, Hints
from muster._pickled import buffers, values
from muster._pickled.buffers import Data
from muster._pickled.calls import reduce_to_slot
from muster._wire.messages import JSON
from muster.coordinator import log_lines, made_again
from muster.coordinator.futures import Future
from muster.coordinator.records import PICKLE, PICKLE_IN_JSON, Built, Record
from muster.errors import ClosureError, FailureKind, MusterError
from muster.worker.context import waiting

T = TypeVar("T")


class Session(Protocol):
    """What values use of their session; see `muster.coordinator.session`."""

    link: Any
    is_forked: bool

    def cancel_later(self, record: Record) -> None: ...
    def cancel_one(self, record: Record) -> None: ...
    def cancel_queued(self, records: Sequence[Record], dry_run: bool = False) -> Any: ...
    def check_process(self) -> None: ...
    def drop(self, record: Record | Built) -> None: ...
    def fetched(self, error: ClosureError) -> None: ...
    def forget_callback(self, record: Record, f: Callable[[], None]) -> None: ...
    def is_pickled(self, record: Record) -> bool: ...
    def keep_decoded(self, record: Record, value: Any) -> None: ...
    def reason_of(self, timeout: float | None, numbers: Sequence[int]) -> str: ...
    def wait_for(self, record: Record, timeout: float | None) -> None: ...
    def when_ended(self, record: Record, f: Callable[[], None]) -> None: ...
    def _is_reading(self) -> bool: ...
    def _warn(self, records: Sequence[Record]) -> None: ...


class Owner(Protocol):
    """Keeps a session open; see `muster.coordinator.owner`."""

    @property
    def session(self) -> Session: ...


class RemoteValueStatus(enum.Enum):
    NOT_READY = "NOT_READY"
    READY = "READY"
    """With a value, or with the error of the function."""
    ABORTED = "ABORTED"
    """Its workers were lost too often."""


class RemoteValue(Hints, Generic[T]):
    """The output of a closure, which may not be here yet. An argument of other closures, at any
    depth; ``await value`` works as well, and cancels the closure when it is cancelled itself. Goes at
    the server when the last handle is collected; until then its coordinator lives."""

    __slots__ = ("_owner", "_record", "__weakref__")
    _instead = VALUE
    _shown = "RemoteValue"

    def __init__(self, owner: Owner, record: Record) -> None:
        self._owner = owner
        self._record = record

    def __del__(self) -> None:
        try:
            self._owner.session.drop(self._record)
        except AttributeError:  # it was never made whole
            pass

    def fetch(self, timeout: float | None = None) -> T:
        """Waits for the value and returns it, always the same object. Raises what the function
        raised (see :class:`muster.ClosureError`), CancelledError, InputError, AbortedError,
        UnavailableError, or WaitTimeout after `timeout` seconds."""
        return self._fetch(timeout, True)

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> T:
        """Returns the value as `fetch` does. `stops`: see ClosureError.again."""
        record = self._record
        if not record.ended:
            self._owner.session.wait_for(record, timeout)
        if record.error is not None:
            self._owner.session.fetched(record.error)
            raise record.error.again(stops)
        if record.encoding >= 0:
            session = self._owner.session
            session.check_process()
            try:
                value = made_again.decoded(session, record, _decoded, timeout)
            except MusterError:
                raise
            except (AttributeError, ImportError, LookupError, TypeError, ValueError, pickle.UnpicklingError) as error:
                raise _unreadable(error, record) from error
            session.keep_decoded(record, value)
        return record.value  # type: ignore[no-any-return]

    get = fetch

    def _warn(self) -> None:
        """Says in the log why nothing comes, if that is so."""
        self._owner.session._warn([self._record])

    def _reason(self, timeout: float | None) -> str:
        """Returns why it has not ended, for the end of a sentence; empty where that is not known."""
        return self._owner.session.reason_of(timeout, [self._record.token])

    def done(self) -> bool:
        if not self._record.ended:
            self._owner.session.check_process()
        return self._record.ended

    @property
    def status(self) -> RemoteValueStatus:
        self.done()
        return self._status()

    def _status(self) -> RemoteValueStatus:
        record = self._record
        if not record.ended:
            return RemoteValueStatus.NOT_READY
        lost = record.error is not None and record.error.kind is FailureKind.WORKER_LOST
        return RemoteValueStatus.ABORTED if lost else RemoteValueStatus.READY

    def logs(self, timeout: float = 10.0) -> log_lines.Logs:
        """What it has printed and logged so far, over all its attempts: a list of
        :class:`muster.LogLine` (time, level, text, worker, attempt), oldest first, with `dropped`,
        how many lines are not kept. The server keeps the newest 5,000 of a closure, and after the
        session's end as long as that is listed: a day, unless it was told otherwise. Raises
        UnavailableError: there is no server, or it has forgotten the session."""
        return log_lines.of_record(self._owner.session, self._record, timeout)

    def cancel(self) -> None:
        """This closure alone; no error is raised for it but by its own fetch."""
        self._owner.session.cancel_one(self._record)

    def add_done_callback(self, f: Callable[[], None]) -> None:
        """Calls `f` when it has ended, on a thread of the library, or at once; it must be short, and cannot
        wait for other values, which come by that thread (RuntimeError). What it raises there is logged."""
        self._owner.session.when_ended(self._record, f)

    def _forget_callback(self, f: Callable[[], None]) -> None:
        """Removes one that has not been called, where that is possible."""
        self._owner.session.forget_callback(self._record, f)

    def __await__(self) -> Generator[Any, None, T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def set_result() -> None:
            if not future.done():
                future.set_result(None)

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(set_result)
            except RuntimeError:  # the loop was closed
                pass

        self.add_done_callback(ended)
        try:
            with waiting(), self._noted():
                yield from future
        except asyncio.CancelledError:  # such as by asyncio.wait_for
            self.cancel()
            raise
        if self._is_large:  # others of the loop go on meanwhile
            return (yield from loop.run_in_executor(None, self._fetch).__await__())
        return self._fetch()

    def future(self) -> concurrent.futures.Future[T]:
        """The same as a future of the standard library."""
        made = Future(self._noted)
        made.set_running_or_notify_cancel()

        def fetch() -> None:
            try:
                made.set_result(self._fetch())
            except BaseException as error:
                made.set_exception(error)
            made._noted = contextlib.nullcontext  # which would keep this handle

        self.add_done_callback(lambda: made_again.when_here(self._is_large, fetch))
        _forks.notify_in_forks(made)
        return made

    def _noted(self) -> ContextManager[Any]:
        """Around whatever waits for it: where the server has to know who waits for whom."""
        return contextlib.nullcontext()

    @property
    def _is_large(self) -> bool:
        """It has ended, and its bytes are elsewhere: fetching it may take long."""
        return values.may_be_name(self._record.raw)

    @property
    def _is_pickled(self) -> bool:
        """It comes from a pickled function: what is no JSON of it is a pickle."""
        return self._owner.session.is_pickled(self._record)

    def __reduce__(self) -> Any:
        return reduce_to_slot(self, "a RemoteValue")

    def __repr__(self) -> str:
        return f"<muster.RemoteValue {self._record.token} {self._status().value}>"


def _unreadable(error: Exception, record: Record) -> Exception:
    """Returns an error of the same class that names the call whose value cannot be unpickled."""
    call = record.called.name if record.called is not None else "the call"
    text = f"the value of {call} cannot be unpickled here: {type(error).__name__}: {error}"
    if getattr(error, "name", "") == "__dict__":
        text += "; its class has __slots__, which the process that pickled it has lost: is its version of muster older?"
    for kind in (ModuleNotFoundError, ImportError, AttributeError, TypeError, ValueError):
        if isinstance(error, kind):
            made = kind(text)
            if isinstance(error, ImportError) and isinstance(made, ImportError):
                made.name, made.path = error.name, error.path
            return made
    return pickle.UnpicklingError(text)


def _decoded(encoding: int, raw: Data, blobs: Any) -> Any:
    if encoding == JSON:
        return values.decode_json(raw)
    if encoding == PICKLE_IN_JSON:
        return values.decode(raw, None if blobs is None else blobs.get)
    return buffers.load(raw) if encoding == PICKLE else bytes(raw)


class PerWorkerValues:
    """A value that every worker builds for itself and keeps: one of its components each.

    As an argument, at any depth, it is the component of the worker that runs the closure. Goes when
    it is collected and no closure needs it any more.
    """

    def __init__(self, owner: Owner, built: Built) -> None:
        self._owner = owner
        self.built = built

    def __del__(self) -> None:
        try:
            self._owner.session.drop(self.built)
        except AttributeError:  # it was never made whole
            pass

    @property
    def handle(self) -> int:
        """At the server; "pw_" and 16 hexadecimal digits as text."""
        return self.built.handle

    def components(self, timeout: float = 10.0) -> dict[str, RemoteValueStatus]:
        """What became of it by task, as ``{"worker:0": READY}``. Raises UnavailableError."""
        states: dict[str, RemoteValueStatus] = self._owner.session.link.components(self.built, timeout)
        return states

    def __reduce__(self) -> Any:
        return reduce_to_slot(self, "PerWorkerValues", of_workers=True)

    def __repr__(self) -> str:
        return f"<muster.{type(self).__name__} {self.built.name}>"


class PerWorkerDataset(PerWorkerValues):
    """Of create_per_worker_dataset. `iter` gives iterators as PerWorkerValues, new ones each time,
    which begin at the dataset's beginning; a worker that comes back begins anew."""

    def __init__(self, owner: Owner, built: Built,
                 make_iterator: Callable[[], PerWorkerIterator]) -> None:
        super().__init__(owner, built)
        self._make_iterator = make_iterator

    def __iter__(self) -> PerWorkerIterator:
        return self._make_iterator()

    @property
    def element_spec(self) -> Any:
        """Raises NotImplementedError, as TensorFlow's does: elements are Python objects of any type."""
        raise NotImplementedError("element_spec: a dataset of workers has no specification of its elements")


class PerWorkerIterator(PerWorkerValues):
    """In a closure it is an iterator of the worker that runs it."""

    def __next__(self) -> Any:
        raise NotImplementedError("next() of a per-worker iterator: pass the iterator to a scheduled "
                                  "function and call next() there")

    def __iter__(self) -> PerWorkerIterator:
        return self
