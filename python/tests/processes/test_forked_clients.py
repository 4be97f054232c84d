"""Coordinators and other objects with threads in a forked process: each call raises at once, and the session of the parent
continues."""
from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import pickle
import select
import signal
import subprocess
import sys
import threading
from typing import Any, Callable

import grpc
import pytest

import muster
from closures import one, wait_until_stopped
from conftest import Cluster, state_and_parent, until

MakeCluster = Callable[..., Cluster]


def in_fork(f: Callable[[], Any], seconds: float = 10) -> Any:
    """Returns the result of `f` in a forked process, or "Error: text" for an exception. gRPC's own fork hooks sometimes abort
    such a process before it runs `f`; the fork is repeated then."""
    return _in_fork(f, seconds) or _in_fork(f, seconds) or _in_fork(f, seconds)


def _in_fork(f: Callable[[], Any], seconds: float) -> Any:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            try:
                said = f()
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(writing, pickle.dumps(said))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        assert select.select([reading], [], [], seconds)[0], "the forked process hangs"
        said = os.read(reading, 1 << 20)
        return pickle.loads(said) if said else None
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def refused(what: str) -> str:
    return (f"RuntimeError: this {what} belongs to the parent process and cannot be used after a fork; create a new "
            f"{what} in this process")


class Counter:
    def add(self) -> int:
        return 1


def test_each_call_of_a_coordinator_raises_in_a_fork(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.submit(one).fetch(10) == 1
    value, built = c.submit(wait_until_stopped), c.create_per_worker_value(one)
    large = c.submit(bytes, 2 << 20)
    until(large.done, "it has ended")
    future = value.future()
    counter = c.create(Counter, task="worker:0")
    call = counter.add()
    assert call.fetch(10) == 1
    variable = None
    try:
        variable = c.variable([1.0], name="forked", task="worker:0")
    except ImportError:
        pass
    uses: dict[str, Callable[[], Any]] = {
        "submit": lambda: c.submit(one), "schedule": lambda: c.schedule(one),
        "schedule_many": lambda: c.schedule_many(one, [()]), "map": lambda: list(c.map(abs, [1])), "put": lambda: c.put(1),
        "options": lambda: c.options(retries=1).submit(one), "join": lambda: c.join(5), "done": lambda: c.done(),
        "fetch": lambda: c.fetch([value], 5), "cancel": c.cancel, "failures": c.failures, "wait_open": c.wait_open,
        "create_per_worker_value": lambda: c.create_per_worker_value(one),
        "create_per_worker_dataset": lambda: c.create_per_worker_dataset([1]),
        "create_distributed_dataset": lambda: c.create_distributed_dataset([1]),
        "create": lambda: c.create(Counter, task="worker:0"), "get_object": lambda: c.get_object("none"),
        "as_completed": lambda: list(muster.as_completed([value])),
        "value.fetch": lambda: value.fetch(5), "large.fetch": large.fetch, "value.done": value.done,
        "value.status": lambda: value.status,
        "value.cancel": value.cancel, "value.logs": value.logs, "value.future": value.future,
        "value.add_done_callback": lambda: value.add_done_callback(lambda: None),
        "components": built.components, "method": lambda: counter.add(), "delete": counter.delete,
    }
    if variable is not None:
        uses["variable.read"] = lambda: variable.read()
    for name, use in uses.items():
        assert (name, in_fork(use)) == (name, refused("coordinator"))
    for name, use in {"result": lambda: future.result(), "wait": lambda: concurrent.futures.wait([future]),
                      "as_completed": lambda: list(concurrent.futures.as_completed([future]))}.items():
        assert (name, in_fork(use)) == (name, refused("future"))
    assert "NOT_READY" in in_fork(lambda: repr(value))
    assert in_fork(lambda: call.fetch(1)) == 1, "what was fetched before the fork stays readable"
    value.cancel()
    assert c.submit(one).fetch(10) == 1, "the session of the program continues"


def test_calls_raise_in_a_fork_before_the_server_has_answered() -> None:
    c = muster.ClusterCoordinator("127.0.0.1:9", connect_timeout=60)
    assert in_fork(lambda: c.submit(one)) == refused("coordinator")
    assert in_fork(lambda: c.create(Counter, task="ps:0")) == refused("coordinator")
    c.close()


def test_fork_that_leaves_the_block_does_not_end_the_session(cluster: Cluster) -> None:
    def leave() -> str:
        global _held
        with c:
            pass
        c.close()
        del _held
        return "left"

    global _held
    c = cluster.coordinator()
    _held = c.submit(one)
    assert in_fork(leave) == "left"
    assert c.submit(one).fetch(10) == 1


_held: Any = None


def test_program_ends_after_its_fork_exits(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    """The fork ends by sys.exit, so its objects are collected and their finalizers run. A fork that gRPC's own hooks abort is
    repeated."""
    program = f"""
import os, signal, sys, muster
with muster.ClusterCoordinator({cluster.server.grpc!r}) as c, muster.Executor({cluster.server.grpc!r}) as e:
    value = c.submit(abs, -1)
    for attempt in range(3):
        if os.fork() == 0:
            sys.exit(3)
        status = os.waitstatus_to_exitcode(os.wait()[1])
        if status != -signal.SIGABRT:
            break
    print(status, value.fetch(10), e.submit(abs, -2).result(10))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.stdout == "3 1 2\n", ended.stderr


@pytest.mark.skipif(tuple(map(int, grpc.__version__.split(".")[:2])) < (1, 60), reason="grpcio itself hangs in forks")
def test_coordinator_created_in_the_fork_works(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.submit(one).fetch(10) == 1

    def another() -> Any:
        with muster.ClusterCoordinator(cluster.server.grpc, log_to_driver=False) as own:
            return own.submit(one).fetch(10)

    assert in_fork(another, 20) == 1


def test_executor_raises_in_a_fork(cluster: Cluster) -> None:
    with muster.Executor(cluster.server.grpc) as executor:
        assert executor.submit(one).result(10) == 1
        future = executor.submit(wait_until_stopped)
        for use in (lambda: executor.submit(one), lambda: executor.map(abs, [1]), lambda: future.result(),
                    lambda: future.exception(5), lambda: future.cancel(), lambda: future.done(),
                    lambda: concurrent.futures.wait([future])):
            assert in_fork(use) in (refused("executor"), refused("future"))
        assert in_fork(lambda: executor.shutdown()) is None
        future.value.cancel()
        assert executor.submit(one).result(10) == 1


def test_worker_raises_in_a_fork(cluster: Cluster) -> None:
    worker = muster.Worker(cluster.server.grpc, threads=1, job="forked")
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        until(lambda: any(t["job"] == "forked" for t in cluster.server.tasks()), "it is attached")
        for use in (worker.run, worker.stop, lambda: worker.function("f", one)):
            assert in_fork(use) == refused("worker")
    finally:
        worker.stop()
        running.join()


def test_functions_that_call_objects_in_a_fork_get_an_error(cluster: Cluster) -> None:
    c = cluster.coordinator()
    counter = c.create(Counter, task="worker:0")

    def calls(counter: Any) -> tuple[int, Any]:
        before = counter.add().fetch(10)
        return before, in_fork(lambda: counter.add().fetch(5))

    assert c.submit(calls, counter).fetch(30) == (1, refused("handle"))


def test_local_cluster_outlives_a_fork_and_ends_with_its_program(tmp_path: pathlib.Path) -> None:
    """This holds even while a process that C code forked has all pipes of the cluster."""
    mark = tmp_path / "pids"
    program = f"""
import ctypes, json, os, pathlib, sys, time, muster
cluster = muster.LocalCluster(workers=1)
if os.fork() == 0:
    cluster.close()
    sys.exit(0)
os.wait()
value = cluster.coordinator().submit(abs, -1).fetch(10)
fork = ctypes.CDLL(None).fork()
if fork:
    pathlib.Path({str(mark)!r}).write_text(json.dumps([fork, cluster._process.pid, value]) + chr(10))
if fork and sys.argv[1] == "close":
    began = time.monotonic()
    cluster.close()
    print(time.monotonic() - began, flush=True)
time.sleep(60)
"""
    for how in ("close", "die"):
        mark.unlink(missing_ok=True)
        running = subprocess.Popen([sys.executable, "-c", program, how], stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        until(lambda: mark.exists() and mark.read_text().endswith("\n"), "it has forked")
        fork, supervisor, value = json.loads(mark.read_text())
        try:
            assert value == 1
            if how == "die":
                running.kill()
            until(lambda: state_and_parent(supervisor)[0] in "XZ", f"the cluster ends: {how}")
            if how == "close":
                assert running.stdout and float(running.stdout.readline()) < 8
        finally:
            os.kill(fork, signal.SIGKILL)
            running.kill()
            running.wait()
