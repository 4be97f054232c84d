"""A concurrent.futures.Executor that runs calls on the cluster."""
from __future__ import annotations

import concurrent.futures
import os
import threading
import weakref
from concurrent.futures._base import PENDING, RUNNING
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence, TypeVar

from muster import _forks
from muster.coordinator import made_again, session_waits
from muster.coordinator.cluster_coordinator import ClusterCoordinator
from muster.coordinator.futures import Future
from muster.coordinator.options import CoordinatorOptions, check_names
from muster.coordinator.remote_value import RemoteValue
from muster.errors import FailureKind, UnavailableError
from muster.worker.context import waiting

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from muster._pickled.uploads import Uploadable
    from muster.coordinator.options import CoordinatorWords

    P = ParamSpec("P")

T = TypeVar("T")


class _Future(Future):
    """The future of a call. The future is pending until the server has reported that the call is running. `running` and
    `cancel` send requests to the server.
    """

    value: RemoteValue[Any] | None = None

    def result(self, timeout: float | None = None) -> Any:
        if self.value is None:
            return super().result(timeout)
        if timeout is not None:
            try:
                return super().result(timeout)
            except concurrent.futures.TimeoutError:
                if self.done():  # the function raised the TimeoutError, or the call has just ended
                    return super().result(0)
                raise concurrent.futures.TimeoutError(
                    f"the call did not finish within {timeout:g} s{self.value._reason(timeout)}") from None
        with waiting():
            while True:
                try:
                    return super().result(session_waits.LOOK_EVERY)
                except concurrent.futures.TimeoutError:
                    if self.done():  # the function raised the TimeoutError, or the call has just ended
                        return super().result(0)
                    self.value._warn()

    def running(self) -> bool:
        """Returns whether the call is running, according to the server. Every use of this method sends a request to the
        server.
        """
        if self.value is not None and self._is_pending():
            _cancel_queued([self], dry_run=True)
        return super().running()

    def cancel(self) -> bool:
        """Cancels the call unless the call is running or has ended. Returns whether the call was cancelled.

        The server decides based on the workers' reports. If a worker has just started the call, `cancel` can still
        return True; the function is then interrupted and the future has no result. If `cancel` returns False, the call
        is not interrupted.

        This method waits up to 10 seconds for the server, or 1 second if the server did not answer the last request. To
        cancel many calls with a single request, use `Executor.shutdown` with `cancel_futures`.
        """
        if self.value is not None and self._is_pending() and _cancel_queued([self]):
            return False
        return super().cancel()

    def _is_pending(self) -> bool:
        with self._condition:  # raises an exception in a forked process
            return bool(self._state == PENDING)

    def _begin(self) -> bool:
        """Marks the future as running. Returns whether an outcome can be set. A cancelled future has no outcome."""
        with self._condition:
            return self._state == RUNNING or self.set_running_or_notify_cancel()

    def _set_running(self) -> None:
        with self._condition:
            if self._state == PENDING:
                self._state = RUNNING


def _cancel_queued(futures: Sequence[_Future], dry_run: bool = False) -> set[_Future]:
    """Asks the server to cancel the calls that no worker has started. All calls must belong to the same executor.
    Returns the futures of the calls that were not cancelled.
    """
    by_token = {f.value._record.token: f for f in futures if f.value is not None}
    if not by_token:
        return set()
    session = next(f.value for f in futures if f.value is not None)._owner.session
    found = session.cancel_queued(
        [f.value._record for f in by_token.values() if f.value is not None], dry_run)
    for token in found.started:
        by_token[token]._set_running()
    return {by_token[token] for token in found.left}


class Executor(concurrent.futures.Executor):
    """A `concurrent.futures.Executor` whose calls run on the cluster.

    Calls fail independently, and each future raises the error of its own call. A call can be cancelled until a worker
    has reported the start of the call. The program exits only after its submitted calls have ended. Methods can be
    called from any thread.

    Args:
        server: The address "host:port", or several addresses. None has the same meaning as in
            `muster.ClusterCoordinator`.
        upload: Modules for all calls of this executor. See `ClusterCoordinator.options`.
        **options: Fields of `muster.CoordinatorOptions`.

    Raises:
        TypeError: An option is unknown, or an element of `upload` is neither a module nor a path.
        FileNotFoundError: A path of `upload` does not exist.
        ValueError: An option or the address is invalid, or `continue_on_error` is False.

    Example:
        ```python
        import muster

        with muster.LocalCluster(workers=2) as cluster, muster.Executor(cluster.address) as executor:
            print(executor.submit(pow, 2, 10).result())  # 1024
        ```
    """

    def __init__(self, server: str | Sequence[str] | None = None, *,
                 upload: Sequence[Uploadable] = (), **options: Unpack[CoordinatorWords]) -> None:
        check_names("Executor", options, CoordinatorOptions)
        if not options.setdefault("continue_on_error", True):
            raise ValueError("continue_on_error: must be True, because each future of an executor has its own error")
        self._coordinator = ClusterCoordinator(server, upload=upload, **options)
        self._lock: Any = threading.Lock()  # protects the fields below
        self._shut_down = False
        self._futures: set[_Future] = set()
        self._finishing: threading.Thread | None = None
        self._is_forked = False
        _forks.notify_in_forks(self)
        with _executors_lock:
            _executors.add(self)
        weakref.finalize(self, _finish_collected, self._coordinator).atexit = False

    def forked(self) -> None:
        """Disables the executor in a forked process. Internal."""
        self._is_forked = True
        self._lock = _forks.LostLock("executor")
        for future in list(self._futures):
            future.forked()

    @property
    def _max_workers(self) -> int:
        """Returns the number of calls that the connected workers can run at the same time, at least 1. Dask reads this
        property.
        """
        slots = self._slots()
        return max(1, slots if slots is not None else os.cpu_count() or 1)

    def _slots(self) -> int | None:
        """Returns the number of calls that the connected workers can run at the same time, or None if the server is too
        old to report the number.

        Raises:
            UnavailableError: There is no connection, or the session has ended.
        """
        session = self._coordinator._session
        session.wait_open()
        slots: int | None = session.link.capacity(session.id)
        return slots

    def submit(self, fn: Callable[P, T], /, *args: P.args,
               **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        """Runs ``fn(*args, **kwargs)`` on a worker and returns the future of the call. Blocks while the queue is full.

        Args:
            fn: A callable.
            *args: Positional arguments.
            **kwargs: Keyword arguments.

        Returns:
            A future. Its methods `cancel` and `running` send requests to the server.

        Raises:
            RuntimeError: The executor was shut down.
            TypeError, ValueError: An argument cannot be pickled or is too large.
        """
        future: concurrent.futures.Future[T] = self._submit(fn, args, kwargs)
        return future

    def _submit(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
                name: str = "") -> Any:
        future = _Future()
        with self._lock:
            self._check()
            self._futures.add(future)
        try:
            value = future.value = self._coordinator._submit_for_fetch(fn, args, kwargs, name)
        except BaseException:
            concurrent.futures.Future.cancel(future)
            future._begin()  # `_finish` may be waiting for this
            self._futures.discard(future)
            raise
        value.add_done_callback(lambda: made_again.when_here(value._is_large, lambda: self._ended(future, value)))
        if future.cancelled():  # a shutdown cancelled the future while the queue was full
            value.cancel()
        return future

    def _unchanged(self, yes: bool) -> None:
        """Sets whether the program promises not to change large arguments that are passed again."""
        self._coordinator._session.blobs.unchanged(yes)

    def _ended(self, future: _Future, value: RemoteValue[Any]) -> None:
        try:
            error = value._record.error
            if error is not None and error.kind is FailureKind.CANCELLED:
                # The outcome can arrive before `cancel` has returned, or when the session has ended.
                concurrent.futures.Future.cancel(future)
            if not future._begin():
                return
            try:
                result = value._fetch()
            except BaseException as error:
                # If the function waited for a call that was cancelled, this is an error of the function.
                future.set_exception(concurrent.futures.CancelledError()
                                     if getattr(error, "kind", None) is FailureKind.CANCELLED else error)
            else:
                future.set_result(result)
        finally:
            self._futures.discard(future)

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any],
            timeout: float | None = None, chunksize: int | None = None,
            buffersize: int | None = None) -> Iterator[T]:
        """Returns an iterator over the results in input order. See `muster.ClusterCoordinator.map`.

        Args:
            fn: A callable.
            *iterables: The n-th call receives the n-th element of each iterable.
            timeout: Seconds from the call of `map` after which the iterator raises WaitTimeout. None means no limit.
            chunksize: Number of calls that are sent together as a chunk. None has the same meaning as in
                `muster.ClusterCoordinator.map`.
            buffersize: Number of chunks that are submitted before you read their results. None means all chunks.

        Raises:
            RuntimeError: The executor was shut down.
            TypeError, ValueError: An argument is invalid, or cannot be pickled.
        """
        with self._lock:
            self._check()
        return self._coordinator.map(fn, *iterables, chunksize=chunksize, timeout=timeout,
                                     buffersize=buffersize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shuts down the executor, which then rejects new calls. Submitted calls continue to run. Does nothing in a
        forked process.

        Args:
            wait: Whether to wait until all calls have ended.
            cancel_futures: Whether to cancel the calls that no worker has started.
        """
        if self._is_forked:
            return
        with self._lock:
            self._shut_down = True
            futures = list(self._futures) if cancel_futures else []
        left = _cancel_queued(futures)
        for future in futures:
            if future not in left:
                concurrent.futures.Future.cancel(future)
        self._finish_on_thread()
        if wait:
            assert self._finishing is not None
            with waiting():
                self._finishing.join()

    def _stop(self) -> None:
        """Shuts down the executor immediately, and also cancels running calls."""
        with self._lock:
            self._shut_down = True
            futures = list(self._futures)
        for future in futures:
            concurrent.futures.Future.cancel(future)
            if future.value is not None:
                future.value.cancel()
        self._finish_on_thread()

    def _finish_on_thread(self) -> None:
        with self._lock:
            if self._finishing is None:
                self._finishing = _start(self._finish)

    def _finish(self) -> None:
        _join(self._coordinator)
        concurrent.futures.wait(list(self._futures))  # this wait ends, because all calls have ended
        self._coordinator.close()

    def _check(self) -> None:
        if self._shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if _exiting:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    def __repr__(self) -> str:
        return f"<muster.Executor of {self._coordinator!r}>"


_executors_lock = threading.Lock()
_executors: weakref.WeakSet[Executor] = weakref.WeakSet()
"""All executors of this process. Protected by _executors_lock."""
_threads: set[threading.Thread] = set()
"""Threads that wait for submitted calls."""
_exiting = False


def _join(coordinator: ClusterCoordinator) -> None:
    try:
        coordinator.join()
    except UnavailableError:
        pass  # the futures raise this error
    except RuntimeError:
        if not coordinator._owner.session.over:
            raise


def _start(f: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        try:
            f()
        finally:
            _threads.discard(thread)

    thread = threading.Thread(target=run, name="muster-shutdown", daemon=True)
    _threads.add(thread)
    thread.start()
    return thread


def _finish_collected(coordinator: ClusterCoordinator) -> None:
    """Keeps the coordinator of a garbage-collected executor open until its calls, for example calls of `map`, have
    ended.
    """
    session = coordinator._owner.session
    if not (session.over or session.is_forked) and session._unfinished and not _exiting:
        _start(lambda: _join(coordinator))


def _finish_at_exit() -> None:
    """Waits for the submitted calls of all executors, as the standard library does for its executors."""
    global _exiting
    _exiting = True
    with _executors_lock:
        executors = list(_executors)
    for executor in executors:
        executor.shutdown()
    for thread in list(_threads):
        thread.join()  # no deadline is needed: the thread ends with its calls or its session


def _exited_in_fork() -> None:
    global _executors_lock
    _executors_lock = threading.Lock()  # another thread of the parent may have held the lock
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_exited_in_fork)
threading._register_atexit(_finish_at_exit)  # type: ignore[attr-defined]
