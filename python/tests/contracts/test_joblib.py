"""The arguments of joblib's backend."""
from __future__ import annotations

import concurrent.futures
import multiprocessing
import pathlib
import sys
from typing import Any

import cloudpickle
import joblib
import pytest

import muster
import muster.joblib
from conftest import Cluster, until
from muster.coordinator import session_waits


def prepare(factor: int) -> None:
    assert "factor" not in muster.__dict__, "the initializer ran twice in a process"
    muster.__dict__["factor"] = factor


def scaled(x: int) -> int:
    import muster as here

    factor: int = here.__dict__["factor"]
    return x * factor


@pytest.fixture
def address(make_cluster: Any) -> str:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    made: Cluster = make_cluster()
    made.add("--processes", "2")
    return made.server.grpc


def test_initializer_is_called_once_in_each_process(address: str) -> None:
    with joblib.parallel_config(backend="muster", server=address, initializer=prepare, initargs=(3,)):
        for _ in range(2):
            assert joblib.Parallel(n_jobs=2, batch_size=1)(joblib.delayed(scaled)(i) for i in range(20)) == [
                3 * i for i in range(20)]


def test_initializer_of_parallel_is_called(address: str) -> None:
    with joblib.parallel_config(backend="muster", server=address):
        assert joblib.Parallel(n_jobs=2, initializer=prepare, initargs=(5,))(
            joblib.delayed(scaled)(i) for i in range(4)) == [0, 5, 10, 15]


def test_initializer_error_is_raised(address: str) -> None:
    with joblib.parallel_config(backend="muster", server=address, initializer=divmod, initargs=(1, 0)):
        with pytest.raises(ZeroDivisionError):
            joblib.Parallel(n_jobs=2)(joblib.delayed(scaled)(i) for i in range(4))


def test_unknown_options_name_the_backend(address: str) -> None:
    with pytest.raises(TypeError, match="joblib's backend 'muster': unknown option 'numworkers'; use "
                                        "num_workers"):
        with joblib.parallel_config(backend="muster", server=address, numworkers=3):
            pass


def test_running_calls_end_when_another_call_fails(address: str, tmp_path: pathlib.Path) -> None:
    cancelled = tmp_path / "cancelled"

    def fails(i: int) -> None:
        if i == 1:
            raise KeyError(i)
        if muster.context().wait_cancelled(60):
            cancelled.touch()

    with joblib.parallel_config(backend="muster", server=address), pytest.raises(KeyError):
        joblib.Parallel(n_jobs=2, batch_size=1)(joblib.delayed(fails)(i) for i in range(2))
    until(cancelled.exists, "the other call is cancelled")


def test_all_jobs_are_counted_without_a_call(address: str) -> None:
    with joblib.parallel_config(backend="muster", server=address), joblib.Parallel(n_jobs=-1) as parallel:
        made = parallel._backend._pool()._coordinator._session
        assert parallel._effective_n_jobs() == 2
        assert made._last_token == 0


def test_threads_of_a_worker_count_as_jobs(make_cluster: Any) -> None:
    made: Cluster = make_cluster()
    made.add("--threads", "3")
    with joblib.parallel_config(backend="muster", server=made.server.grpc):
        assert joblib.effective_n_jobs(-1) == 3 and joblib.effective_n_jobs(-2) == 2


def test_timeout_applies_while_no_worker_is_connected(make_cluster: Any) -> None:
    made: Cluster = make_cluster()
    with joblib.parallel_config(backend="muster", server=made.server.grpc):
        with pytest.raises(multiprocessing.TimeoutError, match="within 1 s: .*no worker is connected"):
            joblib.Parallel(n_jobs=-1, timeout=1)(joblib.delayed(abs)(i) for i in range(4))


def test_reason_is_logged_while_no_worker_is_connected(make_cluster: Any, caplog: pytest.LogCaptureFixture,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_waits, "LOOK_EVERY", 0.2)
    made: Cluster = make_cluster()
    with joblib.parallel_config(backend="muster", server=made.server.grpc), concurrent.futures.ThreadPoolExecutor() as threads:
        backend, _ = joblib.parallel.get_active_backend()
        counted = threads.submit(backend.effective_n_jobs, -1)
        try:
            until(lambda: "no worker can run a closure" in caplog.text, "the reason is logged")
            made.add("--processes", "2")
            assert counted.result(20) == 2
        finally:
            backend.abort_everything()
