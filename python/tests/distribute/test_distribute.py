"""The distribute coordinator: its inputs, its servers, and processes that are tasks."""
from __future__ import annotations

import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import pytest

import muster
from conftest import DEADLINE, HERE, Server as MusterServer, binary, until
from muster import distribute
from recorded import TWO, InGraph, Server, Servers, context, independent, never, on_a_thread, run


def test_coordinator_refuses_to_run_inside_a_worker_function() -> None:
    with pytest.raises(RuntimeError, match=r"in a worker function \[local\]"):
        run(lambda s: muster.run_distribute_coordinator(never))
    assert muster.get_current_worker_context() is None


def test_running_server_of_the_strategy_is_joined_and_none_is_created() -> None:
    class Running(InGraph):
        def running_server(self) -> Server:
            return running

    running, made = Server(distribute.ServerConfig({}, "worker", 0)), Servers()
    independent(never, "worker", 1, TWO, strategy=Running(), servers=made)
    independent(never, "ps", 0, {**TWO, "ps": ["p:1"]}, strategy=Running(), servers=made)
    assert (running.joins, made.all) == (2, {})


@pytest.mark.parametrize("kind, index, said", [("cake", 0, "cake"), ("client", 0, "client"), ("worker", 2, "worker"),
                                               ("ps", 0, "ps"), ("worker", -1, "0 or greater"), (None, None, "None")])
def test_invalid_task_is_reported_before_a_server_starts(kind: Any, index: Any, said: str) -> None:
    made = Servers()
    with pytest.raises(ValueError, match=said):
        independent(never, kind, index, TWO, servers=made)
    assert made.all == {}


@pytest.mark.parametrize("cluster, said", [
    ({"cake": ["a:1"]}, "'cake' is not allowed"), ({"chief": ["a:1", "b:1"]}, "at most one"),
    ({"worker": "a:1"}, "not a list"), ({"worker": {"x": "a:1"}}, "not a list"), ("a:1", "not an object")])
def test_invalid_cluster_is_reported(cluster: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run(never, cluster)


def test_local_evaluation_needs_no_strategy() -> None:
    seen: list[Any] = []
    assert run(lambda s: seen.append(s), eval_fn=lambda s: seen.append(s)) is None
    assert isinstance(seen[0], distribute.Strategy) and seen[1] is None


def test_worker_function_without_a_chief_or_worker_is_an_error() -> None:
    with pytest.raises(ValueError, match="chief or a worker"):
        run(never, {"ps": ["p:1"]}, InGraph())


def test_tf_config_is_used_unless_a_cluster_is_given() -> None:
    config = {"cluster": {"worker": ["t:1", "t:2"]}, "rpc_layer": "cake", "environment": "here",
              "task": {"type": "worker", "index": "1"}}
    made = Servers()
    master = lambda s: context().master_target
    assert independent(master, None, None, tf_config=config, servers=made) == "cake://t:2"
    assert made.all["worker:1"].config.environment == "here"
    assert made.all["worker:1"].config.target == "cake://t:2"
    assert independent(master, "worker", 0, TWO, tf_config=config) == "cake://a:1", "the RPC layer is taken from TF_CONFIG"


def test_missing_task_index_is_an_error() -> None:
    config = {"cluster": {"worker": ["t:1"]}, "task": {"type": "worker"}}
    with pytest.raises(ValueError, match="task.index"):
        independent(never, None, None, tf_config=config)
    assert independent(lambda s: 1, None, 0, tf_config=config) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"task": 3}', '{"task": {"type": "worker", "index": "x"}}',
                                  '{"cluster": {"worker": 3}}', '{"cluster": {"worker": [1]}}',
                                  '{"cluster": {"worker": {"-1": "a:1"}}}', '{"task": {"type": "worker", "index": 1.5}}',
                                  '{"task": {"type": "worker", "index": true}}',
                                  '{"task": {"type": "worker", "index": Infinity}}',
                                  '{"task": {"type": "worker", "index": -1}}', '{"task": {"type": 3, "index": 1}}',
                                  '{"task": {"type": "worker", "index": "1_0"}}',
                                  '{"rpc_layer": 3}', '{"environment": ["google"]}'])
def test_invalid_tf_config_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="TF_CONFIG"):
        run(never, tf_config=text)


def test_resolver_of_the_strategy_is_asked_last() -> None:
    class Resolver:
        task_type, task_id, rpc_layer, environment = "worker", 1, "", ""

        def cluster_spec(self) -> Any:
            return TWO

    class Resolved(distribute.Strategy):
        def resolver(self) -> Any:
            return Resolver()

    assert independent(lambda s: context().master_target, None, None, strategy=Resolved()) == "grpc://b:1"


def test_thread_has_one_server_and_the_same_call_returns_it_again() -> None:
    made = Servers()

    def go(index: int) -> None:
        muster.run_distribute_coordinator(lambda s: None, mode="independent_worker", cluster_spec=TWO,
                                          task_type="worker", task_id=index, environment={}, servers=made)

    def all() -> None:
        go(0)
        go(0)
        assert made.all["worker:0"].starts == 1
        with pytest.raises(ValueError, match="already runs the server for worker:0"):
            go(1)
        distribute.end_standard_server_of_this_thread()
        assert made.all["worker:0"].stops == 1
        go(1)
        assert len(made.all) == 2

    on_a_thread(all)


def test_server_task_without_a_muster_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_COORDINATOR", raising=False)
    with pytest.raises(ValueError, match="MUSTER_COORDINATOR"):
        independent(never, "ps", 0, {**TWO, "ps": ["p:1"]})
    assert independent(lambda s: 1, "worker", 0, TWO) == 1, "a task that runs the function needs no server"
    with pytest.raises(ValueError, match="MUSTER_COORDINATOR"):
        independent(never, "worker", 0, TWO, servers=distribute.worker_servers())


def test_server_whose_task_is_not_in_the_cluster_is_refused() -> None:
    config = {"cluster": TWO, "task": {"type": "evaluator", "index": 0}}
    with pytest.raises(ValueError, match="evaluator:0 has no address"):
        distribute.run_standard_server(servers=distribute.worker_servers("127.0.0.1:1"),
                                       environment={"TF_CONFIG": json.dumps(config)})


def test_task_id_is_required_if_the_job_has_several_tasks() -> None:
    with pytest.raises(ValueError, match="task id is missing, and job 'worker' has 2 tasks"):
        independent(never, "worker", None, TWO)
    config = {"cluster": TWO, "task": {"type": "worker"}}
    with pytest.raises(ValueError, match="task id is missing"):
        distribute.run_standard_server(servers=Servers(), environment={"TF_CONFIG": json.dumps(config)})
    assert independent(lambda s: 1, "worker", None, {"worker": ["a:1"]}) == 1


def test_server_of_another_process_is_waited_for_in_the_google_environment() -> None:
    made: list[distribute.StandardServer] = []

    def servers(c: distribute.ServerConfig) -> distribute.StandardServer:
        made.append(distribute.worker_servers("127.0.0.1:1")(c))
        threading.Timer(0.1, made[0].stop).start()
        return made[0]

    config = {"cluster": {"worker": ["w:1"], "ps": ["p:1"]}, "task": {"type": "ps", "index": 0}, "environment": "google"}
    assert independent(never, None, None, tf_config=config, servers=servers) is None
    assert len(made) == 1


def test_cluster_can_be_lists_sparse_indexes_or_a_tensorflow_spec() -> None:
    class ClusterSpec:
        def as_dict(self) -> Any:
            return {"worker": {3: "a:1", 1: "b:1"}}

    def f(strategy: Any) -> Any:
        return context().cluster_spec, context().master_target

    for spec in (ClusterSpec(), {"worker": {"3": "a:1", "1": "b:1"}}):
        assert independent(f, "worker", 3, spec) == ({"worker": {1: "b:1", 3: "a:1"}}, "grpc://a:1")


@pytest.mark.parametrize("config, said", [
    ({}, '"cluster" is missing'), ({"cluster": TWO}, '"task" is missing'),
    ({"cluster": TWO, "task": {"index": 0}}, 'has no member "type"'),
    ({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}}, "must have chief or worker"),
    ({"cluster": TWO, "task": {"type": "ps"}}, "not a job of the cluster")])
def test_standard_server_reports_missing_parts_of_tf_config(config: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        distribute.run_standard_server(servers=Servers(), environment={"TF_CONFIG": json.dumps(config)})


def test_standard_server_is_configured_by_tf_config() -> None:
    made = Servers()
    config = {"cluster": {"chief": ["a:1"], "ps": ["b:1"], "evaluator": ["e:1"]}, "task": {"type": "ps"},
              "environment": "here"}
    on_a_thread(lambda: distribute.run_standard_server({"k": 1}, servers=made,
                                                       environment={"TF_CONFIG": json.dumps(config)}))
    (server,) = made.all.values()
    assert server.starts == 1 and "evaluator" not in server.config.cluster
    assert server.config.session_config == {"k": 1, "collective_group_leader": "/job:chief/replica:0/task:0"}
    assert (server.config.target, server.config.environment) == ("grpc://b:1", "here")


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="cake"):
        run(never, TWO, mode="cake")


def test_log_describes_the_run_and_a_barrier_that_waits_for_no_task(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "muster.distribute")

    def f(strategy: Any) -> None:
        context().wait_for_other_workers()
        context().wait_for_other_workers()

    independent(f, "worker", 0, TWO)
    lines = [r.getMessage() for r in caplog.records]
    assert lines[0] == ('distribute coordinator: mode independent_worker, cluster {"worker": {"0": "a:1", "1": "b:1"}}, '
                        "task worker:0, rpc layer grpc, environment none")
    assert lines[1].startswith("wait_for_other_workers() does not wait: [cluster_spec: ")
    assert len(lines) == 2
    caplog.clear()
    independent(lambda s: None, "worker", 0, {"worker": [f"host-{i}:1" for i in range(200)], "ps": ["p:1"]})
    assert "cluster 201 tasks in 2 jobs, task worker:0" in caplog.records[0].getMessage(), "log lines are limited in length"


PROGRAM = """
import os, sys, muster

def train(strategy):
    c = muster.get_current_worker_context()
    a.increment("sum", c.task_id + 1)
    c.wait_for_other_workers()
    print(c.task_type, c.task_id, c.is_chief, c.num_workers, a.increment("sum", 0), flush=True)
    c.wait_for_other_workers()
    return c.task_id

with muster.Agent() as a:
    print("returned", muster.run_distribute_coordinator(train, mode="independent_worker", agent=a), flush=True)
"""


def test_independent_workers_synchronise_through_their_agents(tmp_path: pathlib.Path) -> None:
    server = MusterServer(tmp_path)
    try:
        ran = subprocess.run([binary(), "run", "--url", server.http, "--declare", "train", "--nproc", "3", "--no-prefix",
                              "--env", f"PYTHONPATH={HERE.parent}", "--", sys.executable, "-c", PROGRAM],
                             capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        assert sorted(ran.stdout.splitlines()) == [
            "returned 0", "returned 1", "returned 2",
            "worker 0 True 3 6", "worker 1 False 3 6", "worker 2 False 3 6"]
    finally:
        server.stop()


def test_agent_of_another_task_is_refused_before_a_server_starts() -> None:
    made = Servers()
    with pytest.raises(ValueError, match="agent: its task is worker:1, but this process is worker:0"):
        independent(never, "worker", 0, TWO, agent=muster.Agent("127.0.0.1:1", task="worker:1"), servers=made)
    assert made.all == {}


def test_independent_worker_is_asked_to_stop_when_its_agent_gets_an_error(tmp_path: pathlib.Path) -> None:
    server = MusterServer(tmp_path, "--cluster", "train:worker=1")
    agent = muster.Agent(server.grpc, task=0, connect_timeout=DEADLINE)

    def f(strategy: Any) -> bool:
        assert not context().stop_requested
        muster.CoordinationClient(server.http, cluster="train").fail("no cake")
        until(lambda: context().stop_requested)
        return True

    try:
        agent.connect()
        assert independent(f, "worker", 0, {"worker": ["a:1"]}, agent=agent)
    finally:
        agent.close()
        server.stop()


def test_standard_server_is_a_worker(tmp_path: pathlib.Path) -> None:
    server = MusterServer(tmp_path)
    code = ("import muster\nmuster.run_distribute_coordinator(print, mode='independent_worker', "
            "servers=muster.distribute.worker_servers(threads=1))")
    config = {"cluster": {"worker": ["a:1"], "ps": ["p:1"]}, "task": {"type": "ps", "index": 0}}
    process = subprocess.Popen([sys.executable, "-c", code], env={
        **os.environ, "PYTHONPATH": str(HERE.parent), "MUSTER_COORDINATOR": server.grpc, "TF_CONFIG": json.dumps(config)})
    try:
        (task,) = until(lambda: [t for t in server.tasks() if t["state"] == "CONNECTED"])
        assert (task["job"], task["index"], task["labels"]["address"]) == ("ps", 0, "p:1")
        with muster.ClusterCoordinator(server.grpc) as c:
            assert c.options(task="ps:0").schedule(sum, args=([1, 2],)).fetch(DEADLINE) == 3
    finally:
        process.kill()
        process.wait()
        server.stop()
