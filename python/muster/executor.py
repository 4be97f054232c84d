"""The standard library's interface: a concurrent.futures.Executor whose pool is the cluster."""
from __future__ import annotations

import concurrent.futures
import threading
from typing import (TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence,
                    TypeVar, Union)

from muster import _forks
from muster.coordinator import made_again, session_waits
from muster.coordinator.cluster_coordinator import ClusterCoordinator
from muster.coordinator.futures import Future
from muster.coordinator.remote_value import RemoteValue
from muster.errors import CancelledError, FailureKind, UnavailableError
from muster.worker.context import waiting

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from muster.coordinator.options import CoordinatorWords

    P = ParamSpec("P")

T = TypeVar("T")


class _Future(Future):
    """Pending until its closure has ended, so that it can be cancelled until then."""

    value: Optional[RemoteValue[Any]] = None

    def result(self, timeout: Optional[float] = None) -> Any:
        if timeout is not None or self.value is None:
            return super().result(timeout)
        with waiting():
            while True:
                try:
                    return super().result(session_waits.LOOK_EVERY)
                except concurrent.futures.TimeoutError:
                    if self.done():  # meanwhile, or it is the error of the function
                        return super().result(0)
                    self.value._warn()

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled and self.value is not None:
            self.value.cancel()
        return cancelled


class Executor(concurrent.futures.Executor):
    """``with muster.Executor("127.0.0.1:8476") as executor: executor.submit(f, 1).result()``

    `options` are those of :class:`muster.CoordinatorOptions`. Each future has its own error; a
    future can be cancelled until it is done. Any thread."""

    def __init__(self, server: Optional[Union[str, Sequence[str]]] = None,
                 **options: Unpack[CoordinatorWords]) -> None:
        if not options.setdefault("continue_on_error", True):
            raise ValueError("continue_on_error: each future of an executor has its own error")
        self._coordinator = ClusterCoordinator(server, **options)
        self._lock: Any = threading.Lock()  # protects the following
        self._shut_down = False
        self._futures: set[_Future] = set()
        self._finishing: Optional[threading.Thread] = None
        self._is_forked = False
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        self._is_forked = True
        self._lock = _forks.LostLock("executor")
        for future in list(self._futures):
            future.forked()

    def submit(self, fn: Callable[P, T], /, *args: P.args,
               **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        """A Future of ``fn(*args, **kwargs)``. Waits while the queue is full."""
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
            self._futures.discard(future)
            raise
        value.add_done_callback(lambda: made_again.when_here(value._is_large, lambda: self._ended(future, value)))
        return future

    def _unchanged(self, yes: bool) -> None:
        """Whether large arguments that are passed again are as they were."""
        self._coordinator._session.blobs.unchanged(yes)

    def _ended(self, future: _Future, value: RemoteValue[Any]) -> None:
        self._futures.discard(future)
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = value.fetch()
        except CancelledError as error:
            # One of another kind is the function's: what it has waited for was cancelled.
            future.set_exception(concurrent.futures.CancelledError()
                                 if error.kind is FailureKind.CANCELLED else error)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any],
            timeout: Optional[float] = None, chunksize: Optional[int] = None,
            buffersize: Optional[int] = None) -> Iterator[T]:
        """Returns an iterator over the results in order; see :meth:`muster.ClusterCoordinator.map`.

        Args:
            fn: A callable.
            iterables: The n-th call gets the n-th element of each.
            timeout: Seconds from now after which iterating raises WaitTimeout.
            chunksize: Calls in one closure. None: one for up to 256 elements, more for thousands.
            buffersize: How many closures are submitted ahead of the results that were taken. None: all.

        Raises:
            RuntimeError: the executor was shut down.
            TypeError, ValueError: an argument is wrong, or cannot be pickled.
        """
        with self._lock:
            self._check()
        return self._coordinator.map(fn, *iterables, chunksize=chunksize, timeout=timeout,
                                     buffersize=buffersize)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does nothing in a process that was forked from the executor's."""
        if self._is_forked:
            return
        with self._lock:
            self._shut_down = True
            futures = list(self._futures) if cancel_futures else []
        for future in futures:
            future.cancel()
        with self._lock:
            if self._finishing is None:
                self._finishing = threading.Thread(target=self._finish, name="muster-shutdown",
                                                   daemon=True)
                self._finishing.start()
        if wait:
            with waiting():
                self._finishing.join()

    def _finish(self) -> None:
        try:
            self._coordinator.join()
        except UnavailableError:
            pass  # the futures say so
        self._coordinator.close()

    def _check(self) -> None:
        if self._shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
