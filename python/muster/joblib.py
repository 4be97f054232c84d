"""joblib on the cluster, and with it scikit-learn::

    import muster.joblib
    with joblib.parallel_config(backend="muster", server="127.0.0.1:8476"):
        GridSearchCV(…).fit(x, y)

Importing this registers the backend.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import joblib
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

from muster._pickled.names import display_name
from muster.executor import Executor
from muster.worker.context import waiting


class MusterBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """`n_jobs=-1` is as many as the job of the workers has, whoever is connected: the number that is declared
    (``num_workers=``, or of the cluster), else the highest index and one. -2 is one less. Short calls go several
    to a closure. As with joblib's own processes, an array that several calls have is not to be changed while they are
    handed out."""

    supports_retrieve_callback = True
    supports_return_generator = True
    supports_timeout = True
    default_n_jobs = -1

    def __init__(self, server: Optional[str] = None, **options: Any) -> None:
        super().__init__(**{k: options.pop(k) for k in ("nesting_level",) if k in options})
        self._server = server
        self._options = options
        self._executor: Optional[Executor] = None
        self._waiting: Optional[waiting] = None

    def start_call(self) -> None:
        """joblib asks every 10 ms whether results are there, from here to `stop_call`."""
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
            self._executor = Executor(self._server, name="joblib", **self._options)
        return self._executor

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        workers: int = self._pool().submit(workers_of_job).result()
        return max(1, workers if n_jobs is None else workers + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        self.parallel = parallel
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None
               ) -> Any:
        # As an argument, whose arrays workers of this host share: a callable is sent by itself.
        future = self._pool()._submit(run, (func,), {}, batch_name(func) or display_name(func))
        future.get = future.result  # as joblib before 1.4 has it
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
        if executor is not None:
            executor.shutdown(wait=not cancel, cancel_futures=cancel)


def run(batch: Callable[[], Any]) -> Any:
    return batch()


def batch_name(batch: Any) -> str:
    """What the calls of a joblib batch call; empty: it is none."""
    items = getattr(batch, "items", None)
    return display_name(items[0][0]) if isinstance(items, (list, tuple)) and items else ""


def workers_of_job() -> int:
    """Of the worker that it runs on."""
    from muster.worker.context import context

    return context().num_workers


joblib.register_parallel_backend("muster", MusterBackend)
