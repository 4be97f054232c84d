"""Integrations: executors, joblib, a local cluster, REST, keys and barriers, and JAX and TensorFlow under `muster run`."""
from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import types
from typing import Any

import pytest

import muster
import muster.joblib
from conftest import DEADLINE, Cluster, until
from muster.coordinator.options import CoordinatorOptions


def square(x: int) -> int:
    return x * x


def test_executor_is_a_standard_library_executor(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        futures = [executor.submit(square, i) for i in range(20)]
        assert sorted(f.result(20) for f in concurrent.futures.as_completed(futures)) == sorted(
            i * i for i in range(20))
        assert list(executor.map(square, range(600))) == [i * i for i in range(600)]
        failed = executor.submit(lambda: 1 // 0)
        assert isinstance(failed.exception(20), ZeroDivisionError)
        assert executor.submit(square, 3).result(20) == 9  # an error belongs to its own future only
        with pytest.raises(muster.WaitTimeout):
            next(executor.map(time.sleep, [60], timeout=0.1))
        executor.shutdown(cancel_futures=True, wait=False)
        with pytest.raises(RuntimeError, match="after shutdown"):
            executor.submit(square, 1)


def test_future_of_an_unserved_function_is_logged(cluster: Cluster, caplog: pytest.LogCaptureFixture,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.coordinator.session_waits.LOOK_EVERY", 0.1)

    def too_late() -> None:
        time.sleep(0.5)
        raise TimeoutError("of the function")

    with muster.Executor(cluster.server.grpc) as executor:
        with pytest.raises(TimeoutError, match="of the function"):
            executor.submit(too_late).result()
        future: Any = executor.submit("text.cuont")  # type: ignore[arg-type]
        waiting = threading.Thread(target=lambda: pytest.raises(  # noqa: RUF061  in a lambda
            concurrent.futures.CancelledError, future.result))
        waiting.start()
        until(lambda: "no connected worker provides 'text.cuont'" in caplog.text, "the log says so")
        future.cancel()
        waiting.join(DEADLINE)
        assert not waiting.is_alive()


def test_joblib_runs_on_the_cluster(cluster: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    def who(i: int) -> tuple[int, int]:
        return i, os.getpid()

    with joblib.parallel_config(backend="muster", server=cluster.server.grpc):
        found = joblib.Parallel(n_jobs=-1)(joblib.delayed(who)(i) for i in range(50))
        assert joblib.effective_n_jobs(-1) == 3 and joblib.effective_n_jobs(-2) == 2
        with pytest.raises(ZeroDivisionError):
            joblib.Parallel(n_jobs=2)(joblib.delayed(lambda x: 1 // x)(i) for i in (1, 0))
        results = joblib.Parallel(n_jobs=2, return_as="generator")
        assert list(results(joblib.delayed(square)(i) for i in range(4))) == [0, 1, 4, 9]
        with pytest.raises(multiprocessing.TimeoutError):
            joblib.Parallel(n_jobs=2, timeout=0.2)(joblib.delayed(time.sleep)(60) for _ in "ab")
        with joblib.Parallel(n_jobs=2) as parallel:
            for _ in range(2):
                made = parallel(joblib.delayed(square)(i) for i in range(1000))
                assert made == [i * i for i in range(1000)]
    assert [i for i, _ in found] == list(range(50))
    assert os.getpid() not in {pid for _, pid in found}


def test_joblib_uses_as_many_jobs_as_declared_workers(cluster: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="muster", server=cluster.server.grpc, num_workers=7):
        assert joblib.effective_n_jobs(-1) == 7 and joblib.effective_n_jobs(-2) == 6


def test_grid_search_of_scikit_learn_runs_on_the_cluster(cluster: Cluster) -> None:
    pytest.importorskip("sklearn")
    import joblib
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import SVC

    x, y = load_iris(return_X_y=True)
    grid = {"svc__C": [0.01, 1, 10], "svc__gamma": [0.1, 1]}

    def search(n_jobs: int, elsewhere_than: int) -> Any:
        def scaled(x: Any) -> Any:
            assert os.getpid() != elsewhere_than
            return x / 8

        pipeline = make_pipeline(FunctionTransformer(scaled), SVC())
        return GridSearchCV(pipeline, grid, cv=4, n_jobs=n_jobs, refit=False,
                            error_score="raise").fit(x, y)

    here = search(1, 0)
    with joblib.parallel_config(backend="muster", server=cluster.server.grpc):
        there = search(-1, os.getpid())
    assert there.best_params_ == here.best_params_ and there.best_score_ > 0.95
    assert list(there.cv_results_["mean_test_score"]) == list(here.cv_results_["mean_test_score"])


def test_local_cluster_ends_with_its_block() -> None:
    with muster.LocalCluster(workers=2) as local:
        with local.coordinator() as c:
            assert c.fetch([c.schedule(square, args=(i,)) for i in range(5)]) == [0, 1, 4, 9, 16]
        assert len(local.client().tasks()) == 2
        url = local.url
    with pytest.raises(muster.NoServer):
        muster.Client(url).version()


def test_local_cluster_ends_when_its_program_is_killed() -> None:
    program = ("import muster, os, signal\n"
               "local = muster.LocalCluster(threads=1)\n"
               "print(local.url, flush=True)\n"
               "os.kill(os.getpid(), signal.SIGKILL)\n")
    made = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                          timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    client = muster.Client(made.stdout.strip())

    def gone() -> bool:
        try:
            client.version()
            return False
        except muster.NoServer:
            return True

    until(gone, "the server is gone")


def test_local_cluster_reports_a_missing_program(monkeypatch: Any) -> None:
    monkeypatch.setenv("MUSTER_BINARY", "/nowhere/muster")
    with pytest.raises(FileNotFoundError, match="MUSTER_BINARY: '/nowhere/muster' is not an executable file"):
        muster.LocalCluster(workers=1)
    monkeypatch.delenv("MUSTER_BINARY")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="the muster executable is missing"):
        muster.LocalCluster(workers=1)


@pytest.mark.parametrize("options", [{"workers": 1}, {"threads": 1}])
def test_local_cluster_prints_nothing_without_problems(options: Any, capfd: Any) -> None:
    with muster.LocalCluster(**options) as local:
        assert local.coordinator().submit(pow, 2, 3).fetch() == 8
    assert capfd.readouterr().err == ""


def test_local_cluster_reports_invalid_options_and_modules(capfd: Any) -> None:
    with pytest.raises(muster.MusterError, match="did not start: its options: .*'wrkers'"):
        muster.LocalCluster(wrkers=1)  # type: ignore[call-arg]
    assert "Traceback" not in capfd.readouterr().err
    with pytest.raises(muster.MusterError, match="did not start: its workers have exited"):
        muster.LocalCluster(workers=1, modules=["no_such_module"])
    said = capfd.readouterr().err
    assert "ModuleNotFoundError: No module named 'no_such_module'\n" in said and "Fatal" not in said


def test_jobs_run_over_rest(cluster: Cluster, monkeypatch: Any, caplog: Any) -> None:
    client = muster.Client(cluster.server.http)
    job = client.map("mean", [[[1, 2]], [[3]]], name="two <means>").join(20)
    assert list(job.results()) == [1.5, 3.0]
    assert "2 of 2" in repr(job)
    shown = client.job(job.id)._repr_html_()
    assert "two &lt;means&gt;" in shown and "2 of 2" in shown
    assert "mean of 1" in job.logs()
    told = client.submit("mean", [1, 2], kwargs={"offset": 1}, max_retries=2, priority=3).join(20)
    assert list(told.results()) == [2.5]
    failed = client.submit("fail", "too few")
    with pytest.raises(muster.ClosureError, match="too few"):
        failed.join(20)
    with pytest.raises(muster.ClosureError, match="too few"):
        list(failed.results())
    waiting = client.submit("nobody.has.this")
    with pytest.raises(muster.WaitTimeout, match="did not finish within 0.1 s: no connected worker "
                                                  "provides 'nobody.has.this'"):
        waiting.join(0.1)
    monkeypatch.setattr("muster.rest.client.SAY_AFTER", 0.1)
    with pytest.raises(muster.WaitTimeout):
        waiting.join(0.5)
    (said,) = [r.getMessage() for r in caplog.records if r.name == "muster"]
    assert said.startswith(f"{waiting.id} is waiting: ") and "nobody.has.this" in said
    waiting.cancel()
    until(lambda: waiting.state == "CANCELLED", "it is cancelled")
    assert any(f["name"] == "mean" for f in client.functions())
    assert client.jobs(1) and client.events(limit=1) and client.overview() and client.clusters()


def test_errors_of_rest_are_raised(cluster: Cluster) -> None:
    client = muster.Client(cluster.server.http)
    with pytest.raises(muster.ServerError) as caught:
        client.job("job_ffffffffffffffff")
    assert caught.value.status == 404 and caught.value.code == "NOT_FOUND"
    with pytest.raises(muster.NoServer, match="does not answer: .*; start a server with 'muster serve', or pass"):
        muster.Client("127.0.0.1:1").version()


def test_keys_and_barriers_work_over_rest(make_cluster: Any) -> None:
    server = make_cluster("--cluster", "train:worker=2;register_barrier=false").server
    ours, other = (muster.CoordinationClient(server.http, cluster="train", task=f"worker:{i}")
                   for i in range(2))
    ours.set("a/b c", b"\xff\x00")
    ours.set("a/text", "text")
    assert other.get("a/b c") == b"\xff\x00" and other.try_get("a/none") is None
    assert other.list("a") == {"a/b c": b"\xff\x00", "a/text": b"text"}
    assert not other.set_if_absent("a/text", "other") and other.set_if_absent("a/new", "n")
    with pytest.raises(muster.WaitTimeout):
        ours.get("late", timeout=0.1)
    later = threading.Timer(0.1, other.set, ["late", "now"])
    later.start()
    assert ours.get("late", timeout=20) == b"now"
    with pytest.raises(muster.ServerError):
        ours.delete("a")
    ours.delete("a", recursive=True)
    assert ours.list("a") == {}

    with concurrent.futures.ThreadPoolExecutor() as pool:
        uses = [pool.submit(c.barrier, "meet", 20.0) for c in (ours, other)]
        assert uses[0].result() == uses[1].result()
    with pytest.raises(muster.WaitTimeout, match="worker/task:1"):
        ours.barrier("alone", 0.1)
    with pytest.raises(ValueError, match="without a task"):
        muster.CoordinationClient(server.http, cluster="train").barrier("x", 1)
    with pytest.raises(muster.ServerError, match="has no tasks yet"):
        ours.fail("the storage is gone")
    assert len(ours.tasks()) == 2 and ours.live_tasks() == [] and ours.errors() == {}


def test_jax_gets_the_settings_of_muster_run(monkeypatch: Any) -> None:
    import muster.jax

    asked: dict[str, Any] = {}
    fake = types.SimpleNamespace(
        distributed=types.SimpleNamespace(initialize=lambda **words: asked.update(words)))
    monkeypatch.setitem(sys.modules, "jax", fake)
    for name in ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match="JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES"):
        muster.jax.initialize()
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "10.0.0.1:99")
    monkeypatch.setenv("JAX_NUM_PROCESSES", "4")
    monkeypatch.setenv("JAX_PROCESS_ID", "3")
    muster.jax.initialize(initialization_timeout=7)
    assert asked == {"coordinator_address": "10.0.0.1:99", "num_processes": 4, "process_id": 3,
                     "initialization_timeout": 7}


def test_process_of_muster_run_knows_its_cluster() -> None:
    from conftest import binary

    program = ("import muster.tensorflow, muster.jax\n"
               "c = muster.tensorflow.cluster()\n"
               "print(c.task_type, c.task_index, c.num_workers, c.is_chief, sorted(c.jobs), "
               "muster.jax.settings()['process_id'])\n")
    made = subprocess.run([binary(), "run", "--nproc", "2", "--", sys.executable, "-c", program],
                          stdout=subprocess.PIPE, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert made.returncode == 0
    for said in ("worker 0 2 True ['worker'] 0", "worker 1 2 False ['worker'] 1"):
        assert said in made.stdout
    with pytest.raises(RuntimeError, match="TF_CONFIG: not set"):
        muster.tensorflow.cluster({})
    with pytest.raises(ValueError, match="not a JSON object with a cluster"):
        muster.tensorflow.cluster({"TF_CONFIG": "[]"})


@pytest.mark.parametrize("argv, name", [
    ("/srv/train.py", "train.py"), ("-c", ""), ("", ""), ("/usr/lib/ipykernel_launcher.py", "notebook"),
    ("/lib/package/__main__.py", "package"), ("/tmp/\udcff.py", "?.py")])
def test_session_is_named_after_its_script_unless_it_has_a_name(
        monkeypatch: pytest.MonkeyPatch, argv: str, name: str) -> None:
    monkeypatch.setattr("sys.argv", [argv])
    assert CoordinatorOptions().open().name == name
    assert CoordinatorOptions(name="mine").open().name == "mine"
    monkeypatch.setattr("sys.argv", [])
    assert CoordinatorOptions().open().name == ""
