"""Handles of outputs: values of calls, and per-worker values."""
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
    """The members of a session that are used by handles of values. See `muster.coordinator.session`."""

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
    """State of a value. READY means that the call has ended, with a result or an error. ABORTED means that the call's
    worker was lost too often, or that the call's object was lost with its task.
    """

    NOT_READY = "NOT_READY"
    READY = "READY"
    """The call has ended with a result, or with an error of the function."""
    ABORTED = "ABORTED"
    """The worker of the call was lost too often."""


class RemoteValue(Hints, Generic[T]):
    """The output of a call. The call may not have ended yet.

    Values can be arguments of other calls, at any nesting depth. In a coroutine, ``await value`` waits for the value;
    cancelling the awaiting task cancels the call. The server deletes a value when its last handle is garbage-collected.
    A handle keeps its coordinator open.
    """

    __slots__ = ("_owner", "_record", "__weakref__")
    _instead = VALUE
    _shown = "RemoteValue"

    def __init__(self, owner: Owner, record: Record) -> None:
        self._owner = owner
        self._record = record

    def __del__(self) -> None:
        try:
            self._owner.session.drop(self._record)
        except AttributeError:  # the constructor has failed
            pass

    def fetch(self, timeout: float | None = None) -> T:
        """Waits for the value and returns it. Every call of `fetch` returns the same object. `get` is an alias of
        `fetch`.

        Args:
            timeout: Seconds to wait. None means no limit.

        Returns:
            The result of the function.

        Raises:
            ClosureError: The call has failed. The error is also an instance of the exception class that the function
                raised, or of a subclass such as CancelledError, InputError, AbortedError or UnavailableError.
            WaitTimeout: The value is not available within `timeout`. The call continues.
        """
        return self._fetch(timeout, True)

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> T:
        """Returns the value, as `fetch` does. ClosureError.again describes `stops`."""
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
        """Logs why the call is waiting, if no worker can run it or the server is unreachable."""
        self._owner.session._warn([self._record])

    def _reason(self, timeout: float | None) -> str:
        """Returns the reason why the call has not ended, as the end of a sentence, or "" if the reason is unknown."""
        return self._owner.session.reason_of(timeout, [self._record.token])

    def done(self) -> bool:
        """Returns whether the call has ended, with a result or an error. Does not block."""
        if not self._record.ended:
            self._owner.session.check_process()
        return self._record.ended

    @property
    def status(self) -> RemoteValueStatus:
        """Returns the state of the value."""
        self.done()
        return self._status()

    def _status(self) -> RemoteValueStatus:
        record = self._record
        if not record.ended:
            return RemoteValueStatus.NOT_READY
        lost = record.error is not None and record.error.kind is FailureKind.WORKER_LOST
        return RemoteValueStatus.ABORTED if lost else RemoteValueStatus.READY

    def logs(self, timeout: float = 10.0) -> log_lines.Logs:
        """Returns the lines that the call has printed and logged so far, in all its attempts, oldest first.

        The server keeps the newest 5,000 lines of each call. After the session has ended, the server keeps the lines as
        long as the session is listed, by default for one day.

        Args:
            timeout: Seconds to wait for the server.

        Returns:
            A list of `muster.LogLine`. The list's attribute `dropped` is the number of lines that the server has
            dropped.

        Raises:
            UnavailableError: The server does not answer, or has deleted the session.
        """
        return log_lines.of_record(self._owner.session, self._record, timeout)

    def cancel(self) -> None:
        """Cancels only this call, whether it is waiting or running. Only `fetch` of this value then raises
        CancelledError.
        """
        self._owner.session.cancel_one(self._record)

    def add_done_callback(self, f: Callable[[], None]) -> None:
        """Calls `f` when the call has ended. If the call has already ended, runs `f` immediately, otherwise on a thread
        of the library.

        Args:
            f: A function without parameters, which must return quickly. Waiting for a value inside `f` raises
                RuntimeError, because the thread that runs `f` also delivers values. If `f` raises an exception on this
                thread, the exception is logged.
        """
        self._owner.session.when_ended(self._record, f)

    def _forget_callback(self, f: Callable[[], None]) -> None:
        """Removes a callback, unless the callback was already called."""
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
            except RuntimeError:  # the event loop was closed
                pass

        self.add_done_callback(ended)
        try:
            with waiting(), self._noted():
                yield from future
        except asyncio.CancelledError:  # for example by asyncio.wait_for
            self.cancel()
            raise
        if self._is_large:  # so that other coroutines can run while the value is fetched
            return (yield from loop.run_in_executor(None, self._fetch).__await__())
        return self._fetch()

    def future(self) -> concurrent.futures.Future[T]:
        """Returns a ``concurrent.futures.Future`` with the result or the error of this call. The future cannot be
        cancelled; call `cancel` on the RemoteValue instead.
        """
        made = Future(self._noted)
        made.set_running_or_notify_cancel()

        def fetch() -> None:
            try:
                made.set_result(self._fetch())
            except BaseException as error:
                made.set_exception(error)
            made._noted = contextlib.nullcontext  # a reference to `self._noted` would keep this handle alive

        self.add_done_callback(lambda: made_again.when_here(self._is_large, fetch))
        _forks.notify_in_forks(made)
        return made

    def _noted(self) -> ContextManager[Any]:
        """Returns a context manager to use while a thread waits for this value. Subclasses report to the server which
        call is waiting for the value.
        """
        return contextlib.nullcontext()

    @property
    def _is_large(self) -> bool:
        """Returns whether fetching the value can take long, because the call has ended and its output is not in this
        process.
        """
        return values.may_be_name(self._record.raw)

    @property
    def _is_pickled(self) -> bool:
        """Returns whether the value is the output of a pickled function. The bytes of such a value are a pickle or
        JSON.
        """
        return self._owner.session.is_pickled(self._record)

    def __reduce__(self) -> Any:
        return reduce_to_slot(self, "a RemoteValue")

    def __repr__(self) -> str:
        return f"<muster.RemoteValue {self._record.token} {self._status().value}>"


def _unreadable(error: Exception, record: Record) -> Exception:
    """Returns an error of the same class whose message identifies the call whose value cannot be unpickled."""
    call = record.called.name if record.called is not None else "the call"
    text = f"the value of {call} cannot be unpickled here: {type(error).__name__}: {error}"
    if getattr(error, "name", "") == "__dict__":
        text += "; its class has __slots__, which older versions of muster do not pickle: update muster on the workers"
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
    """A value that each worker builds and keeps. The value on a single worker is called a component.

    If the value is passed as an argument, at any nesting depth, the function receives the component of its worker. The
    value is deleted when its handle is garbage-collected and no call needs the value.
    """

    def __init__(self, owner: Owner, built: Built) -> None:
        self._owner = owner
        self.built = built

    def __del__(self) -> None:
        try:
            self._owner.session.drop(self.built)
        except AttributeError:  # the constructor has failed
            pass

    @property
    def handle(self) -> int:
        """Returns the number that identifies the value on the server. The number is displayed as "pw_" and 16
        hexadecimal digits.
        """
        return self.built.handle

    def components(self, timeout: float = 10.0) -> dict[str, RemoteValueStatus]:
        """Returns the state of each component.

        Args:
            timeout: Seconds to wait for the server.

        Returns:
            A dict from task to state, such as ``{"worker:0": RemoteValueStatus.READY}``.

        Raises:
            UnavailableError: The server does not answer, or the session has ended.
        """
        states: dict[str, RemoteValueStatus] = self._owner.session.link.components(self.built, timeout)
        return states

    def __reduce__(self) -> Any:
        return reduce_to_slot(self, "PerWorkerValues", of_workers=True)

    def __repr__(self) -> str:
        return f"<muster.{type(self).__name__} {self.built.name}>"


class PerWorkerDataset(PerWorkerValues):
    """A dataset that each worker builds. Returned by `ClusterCoordinator.create_per_worker_dataset`. Every
    ``iter(dataset)`` creates new iterators, which start at the beginning of the dataset. After the loss of a worker,
    its iterator starts again at the beginning.
    """

    def __init__(self, owner: Owner, built: Built,
                 make_iterator: Callable[[], PerWorkerIterator]) -> None:
        super().__init__(owner, built)
        self._make_iterator = make_iterator

    def __iter__(self) -> PerWorkerIterator:
        return self._make_iterator()

    @property
    def element_spec(self) -> Any:
        """Raises NotImplementedError, because elements can be Python objects of any type. In TensorFlow, `element_spec`
        is the type specification of the elements.
        """
        raise NotImplementedError("element_spec: a per-worker dataset has no element specification")


class PerWorkerIterator(PerWorkerValues):
    """The iterators of a PerWorkerDataset, one on each worker. A function with a PerWorkerIterator as an argument
    receives the iterator of its worker.
    """

    def __next__(self) -> Any:
        raise NotImplementedError("next() of a per-worker iterator: pass the iterator to a scheduled "
                                  "function and call next() there")

    def __iter__(self) -> PerWorkerIterator:
        return self
