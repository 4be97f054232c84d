"""Runs joblib calls on the cluster, including the joblib calls of scikit-learn.

Importing this module registers the backend.

Example:
    ```python
    import joblib
    import muster.joblib

    with joblib.parallel_config(backend="muster", server="127.0.0.1:8476"):
        print(joblib.Parallel()(joblib.delayed(pow)(i, 2) for i in range(4)))  # [0, 1, 4, 9]
    ```
"""
from __future__ import annotations

import concurrent.futures
import multiprocessing
import threading
import uuid
from typing import TYPE_CHECKING, Any, Callable, Sequence

import joblib
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from muster._pickled.names import display_name
from muster.coordinator.options import CoordinatorOptions, check_names
from muster.errors import UnavailableError
from muster.executor import Executor
from muster.worker.context import waiting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from muster._pickled.uploads import Uploadable
    from muster.coordinator.options import CoordinatorWords


class MusterBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs the calls of ``joblib.Parallel`` on the cluster.

    `n_jobs=-1` means the number of calls that the connected workers can run at the same time, but at least the option
    `num_workers`. `n_jobs=-2` means one call fewer. If no worker is connected, ``joblib.Parallel`` waits for a worker,
    logs the reason after five seconds, and obeys its argument `timeout`. Short calls are sent in batches. As with
    joblib's own backends, do not change an array while calls that use the array are being submitted.

    Args:
        server: Address "host:port". None has the same meaning as in `muster.ClusterCoordinator`.
        nesting_level: Nesting level of the backend, which joblib sets.
        initializer: Function that is called once in each worker process, before the first call in this process.
        initargs: Arguments of `initializer`.
        upload: Modules that all calls can import. See `ClusterCoordinator.options`.
        **options: Fields of `muster.CoordinatorOptions`.
    """

    supports_retrieve_callback = True
    supports_return_generator = True
    supports_timeout = True
    default_n_jobs = -1

    def __init__(self, server: str | None = None, nesting_level: int | None = None,
                 *, initializer: Callable[..., Any] | None = None,
                 initargs: Sequence[Any] = (), upload: Sequence[Uploadable] = (),
                 **options: Unpack[CoordinatorWords]) -> None:
        super().__init__(nesting_level=nesting_level)
        check_names("joblib's backend 'muster'", options, CoordinatorOptions)
        self._server = server
        self._options: CoordinatorWords = {"name": "joblib", **options}
        self._upload = upload
        self._initializer = Initializer(initializer, initargs) if initializer is not None else None
        self._executor: Executor | None = None
        self._waiting: waiting | None = None

    def start_call(self) -> None:
        """Marks this thread as waiting until `stop_call` is called. joblib polls for results every 10 ms."""
        self.stop_call()
        entered = waiting()
        entered.__enter__()
        self._waiting = entered
        self._pool()._unchanged(True)

    def stop_call(self) -> None:
        left, self._waiting = self._waiting, None
        if left is not None:
            left.__exit__()
        if self._executor is not None:
            self._executor._unchanged(False)

    def _pool(self) -> Executor:
        if self._executor is None:
            self._executor = Executor(self._server, upload=self._upload, **self._options)
        return self._executor

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        workers = self._workers()
        return max(1, workers if n_jobs is None else workers + 1 + n_jobs)

    def _workers(self) -> int:
        """Returns the number of calls that the connected workers can run at the same time, but at least `num_workers`.
        Waits while no worker is connected.

        Raises:
            multiprocessing.TimeoutError: No worker connected within the timeout of ``joblib.Parallel``.
        """
        pool = self._pool()
        try:
            slots = pool._slots() or 0
        except UnavailableError:  # the call below waits for a new connection
            slots = 0
        workers = max(slots, self._options.get("num_workers", 0))
        if workers > 1:
            return workers
        # joblib runs everything in this process if there is a single job. A worker also knows about tasks that have not
        # connected yet.
        timeout = getattr(getattr(self, "parallel", None), "timeout", None)
        future = pool.submit(workers_of_job)
        try:
            return max(workers, future.result(timeout))
        except concurrent.futures.TimeoutError as error:
            raise multiprocessing.TimeoutError(  # as joblib does for its calls
                f"the number of workers for n_jobs is unknown: {error}") from None
        finally:
            future.cancel()

    def configure(self, n_jobs: int = 1, parallel: Any = None, prefer: Any = None, require: Any = None, *,
                  initializer: Callable[..., Any] | None = None, initargs: Sequence[Any] = (), verbose: int = 0,
                  temp_folder: Any = None, max_nbytes: Any = None, mmap_mode: Any = None, context: Any = None,
                  timeout: float | None = None, idle_worker_timeout: float | None = None) -> int:
        """Configures the backend. joblib calls this method with the arguments of ``Parallel``. The arguments after
        `initargs` have no effect, because they apply only to joblib's own processes.
        """
        if initializer is not None:
            self._initializer = Initializer(initializer, initargs)
        self.parallel = parallel
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None
               ) -> Any:
        # `func` is passed as an argument, because workers on this host share arrays in arguments, but not in callables.
        args = (func,) if self._initializer is None else (func, self._initializer)
        future = self._pool()._submit(run, args, {}, batch_name(func) or display_name(func))
        future.get = future.result  # for joblib versions before 1.4
        if callback is not None:
            future.add_done_callback(callback)
        return future

    apply_async = submit

    def retrieve_result_callback(self, out: Any) -> Any:
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        self.terminate(cancel=True)

    def terminate(self, cancel: bool = False) -> None:
        self.reset_batch_stats()
        executor, self._executor = self._executor, None
        if executor is not None and cancel:
            executor._stop()
        elif executor is not None:
            executor.shutdown()


class Initializer:
    """Calls a function once in each worker process, before the first batch in this process."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        self._id = uuid.uuid4().hex
        self._function = function
        self._args = tuple(args)

    def __call__(self) -> None:
        with _initializing:  # all threads of a threaded worker are in one process
            if self._id not in _initialized:
                self._function(*self._args)
                _initialized.add(self._id)


_initializing = threading.Lock()
_initialized: set[str] = set()


def run(batch: Callable[[], Any], initializer: Initializer | None = None) -> Any:
    if initializer is not None:
        initializer()
    return batch()


def batch_name(batch: Any) -> str:
    """Returns the name of the function that a joblib batch calls, or an empty string for other callables."""
    items = getattr(batch, "items", None)
    return display_name(items[0][0]) if isinstance(items, (list, tuple)) and items else ""


def workers_of_job() -> int:
    """Returns `num_workers` of the worker that runs this function."""
    from muster.worker.context import context

    return context().num_workers


joblib.register_parallel_backend("muster", MusterBackend)
