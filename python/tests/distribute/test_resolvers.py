"""muster.resolver returns the answers of `muster resolve` in the form of TensorFlow's resolvers."""
from __future__ import annotations

import copy
import http.server
import json
import pathlib
import threading
from typing import Any, Iterator

import pytest

import muster
from recorded import context, independent

SPEC = '{"worker":["a:1","b:1"],"ps":["c:1"]}'
NODE = {"state": "READY", "health": "HEALTHY", "acceleratorType": "v3-16",
        "networkEndpoints": [{"ipAddress": f"10.0.0.{i}", "port": 8470} for i in (1, 2)]}
TPU = "tpu:name=n;project=p;zone=z"


class Google:
    """Answers like the Cloud TPU API, and records each request."""

    def __init__(self) -> None:
        self.node: Any = NODE
        self.asked: list[tuple[str, str]] = []
        google = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                google.asked.append((self.path, self.headers.get("Authorization", "")))
                body = json.dumps(google.node).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.text = f"{TPU};api_url=http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def google() -> Iterator[Google]:
    made = Google()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Service:
    """Has the methods that a resolver calls on the result of googleapiclient.discovery.build("tpu", "v1")."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.names = answer, []  # type: ignore[var-annotated]

    def projects(self) -> Service:
        return self

    locations = nodes = projects

    def get(self, name: str) -> Service:
        self.names.append(name)
        return self

    def execute(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_resolvers_have_the_members_of_tensorflow() -> None:
    config = {"cluster": json.loads(SPEC), "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"}
    r = muster.resolver("tf-config", environment={"TF_CONFIG": json.dumps(config)})
    assert r.cluster_spec() == {"ps": {0: "c:1"}, "worker": {0: "a:1", 1: "b:1"}}
    assert (r.task_type, r.task_id, r.rpc_layer, r.environment) == ("worker", 1, "grpc", "")
    assert (r.master(), r.get_master(), r.get_job_name()) == ("grpc://b:1", "grpc://b:1", "worker")
    assert (r.master("ps", 0), r.master("ps", 0, "x"), r.master(rpc_layer="")) == ("grpc://c:1", "x://c:1", "b:1")
    assert copy.deepcopy(r) is r
    r.task_type, r.task_id, r.rpc_layer = "ps", 0, "http"
    assert (r.task_type, r.task_id, r.rpc_layer, r.master()) == ("ps", 0, "http", "http://c:1")
    r.rpc_layer = None
    assert (r.rpc_layer, r.master(), r.master(rpc_layer="grpc")) == ("", "c:1", "grpc://c:1")


def test_each_call_reads_the_source_again(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "cluster.json"
    r = muster.resolver(f"file:{file}")
    with pytest.raises(muster.ResolverError, match="No such file or directory"):
        r.cluster_spec()
    file.write_text('{"worker": ["a:1"]}')
    assert r.cluster_spec() == {"worker": {0: "a:1"}}
    file.write_text('{"worker": ["b:1"]}')
    assert r.cluster_spec() == {"worker": {0: "b:1"}}


def test_environment_can_be_given() -> None:
    config = {"TF_CONFIG": json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "rpc_layer": "grpc",
                                       "task": {"type": "worker", "index": 0}}),
              "MUSTER_MASTER": "true", "MUSTER_COORDINATOR": "x:1", "MUSTER_RESOLVE_WATCH": "true"}
    r = muster.resolver("tf-config", environment=config)
    assert (r.cluster_spec(), r.master()) == ({"worker": {0: "a:1", 1: "b:1"}}, "grpc://a:1")
    slurm = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "n[1-2]",
             "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "CUDA_VISIBLE_DEVICES": "0,1"}
    r = muster.resolver("slurm", environment=slurm)
    assert (r.task_id, r.cluster_spec()) == (1, {"worker": {0: "n1:8888", 1: "n2:8888"}})


@pytest.mark.parametrize("text, said", [
    ("consul", "unknown resolver kind 'consul'"), ("simple:{]", "simple: "),
    ("tpu:name=a.b", "write addresses as grpc://"), ("tpu:nam=a", "tpu: unknown key 'nam'"),
    ("gce:group=g;time_limit=2h", "time_limit: '2h' is not a time from 1s to 1h")])
def test_invalid_text_is_a_value_error(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        muster.resolver(text).cluster_spec()
    assert "muster" not in str(caught.value) and "\n" not in str(caught.value)


def test_tpu_resolver_returns_hosts_health_and_accelerators(google: Google) -> None:
    r = muster.resolver(google.text, credentials="secret")
    assert r.cluster_spec() == {"worker": {0: "10.0.0.1:8470", 1: "10.0.0.2:8470"}}
    assert (r.master(), r.num_accelerators()) == ("grpc://10.0.0.1:8470", {"TPU": 8})
    assert r.health()["health"] == "HEALTHY"
    assert {a for _, a in google.asked} == {"Bearer secret"}
    google.node = {**NODE, "state": "PREEMPTED"}
    with pytest.raises(muster.ResolverError, match='TPU "n" is not yet ready; state: "PREEMPTED"') as caught:
        r.cluster_spec()
    assert not caught.value.unreachable and isinstance(caught.value, RuntimeError)
    health = r.health()
    assert (health["state"], health["recoverable"]) == ("PREEMPTED", False)
    google.node = {}
    with pytest.raises(muster.ResolverError, match="No TPUs with the specified names exist"):
        r.master()
    with pytest.raises(muster.ResolverError) as caught:
        muster.resolver(f"{TPU};api_url=http://127.0.0.1:1;time_limit=1s", credentials="secret").cluster_spec()
    assert caught.value.unreachable


def test_credentials_are_a_token_a_callable_or_an_object(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    class Auth2Client:
        def get_access_token(self) -> Any:
            return type("Info", (), {"access_token": "old"})

    class GoogleAuth:
        token, valid = "new", True

        def refresh(self, request: Any) -> None:
            raise AssertionError("its token is valid")

    commands: list[Any] = []
    import subprocess
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **more: (commands.append(command), run(command, **more))[1])
    tokens = iter(["first", "second"])
    for credentials in (lambda: next(tokens), Auth2Client(), GoogleAuth()):
        r = muster.resolver(google.text, credentials=credentials)
        r.cluster_spec()
        if callable(credentials):
            r.cluster_spec()
    assert [a for _, a in google.asked] == ["Bearer first", "Bearer second", "Bearer old", "Bearer new"]
    words = " ".join(word for command in commands for word in command)
    assert not any(secret in words for secret in ("first", "second", "old", "new", google.text)), "others can read arguments"
    with pytest.raises(TypeError, match="credentials: int is neither a token, nor a callable"):
        muster.resolver(google.text, credentials=3).cluster_spec()
    with pytest.raises(ValueError, match="simple: unknown key 'token_file'"):
        muster.resolver(f"simple:{SPEC}", credentials="t").cluster_spec()


def test_service_object_is_used_instead_of_the_api() -> None:
    service = Service(NODE)
    r = muster.resolver(TPU, service=service, credentials="unused")
    assert r.cluster_spec() == {"worker": {0: "10.0.0.1:8470", 1: "10.0.0.2:8470"}}
    assert service.names == ["projects/p/locations/z/nodes/n"]
    assert r.num_accelerators() == {"TPU": 8}
    with pytest.raises(muster.ResolverError, match="the service has failed: quota") as caught:
        muster.resolver(TPU, service=Service(OSError("quota"))).cluster_spec()
    assert isinstance(caught.value.__cause__, OSError)


def test_devices_that_the_program_lists_are_counted() -> None:
    names = [f"/job:worker/replica:0/task:{task}/device:TPU:{core}" for task in (0, 1) for core in range(4)]
    r = muster.resolver("tpu:name=grpc://10.0.0.1,10.0.0.2", list_devices=lambda: names)
    assert r.num_accelerators() == {"TPU": 4}
    r = muster.resolver("tpu:name=grpc://10.0.0.1,10.0.0.2", list_devices=lambda: names[1:])
    with pytest.raises(ValueError, match="different numbers of TPU cores"):
        r.num_accelerators()
    gpus = [f"/job:worker/replica:0/task:{task}/device:GPU:{i}" for task, i in ((0, 0), (1, 0), (1, 1))]
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    r = muster.resolver("tf-config", list_devices=lambda: gpus, environment={"TF_CONFIG": json.dumps(config)})
    assert (r.num_accelerators(), r.num_accelerators("worker", 1)) == ({"GPU": 1}, {"GPU": 2})


def test_coordinator_without_an_address_is_started_once() -> None:
    started: list[str] = []

    def start(address: str) -> int:
        started.append(address)
        return 4321

    r = muster.resolver("tpu:name=grpc://127.0.0.1:8470;coordinator_name=main", start_coordinator=start)
    for _ in range(2):
        assert r.cluster_spec() == {"main": {0: "127.0.0.1:4321"}, "worker": {0: "127.0.0.1:8470"}}
    assert started == ["127.0.0.1"]


def test_run_distribute_coordinator_uses_the_resolver_of_a_strategy() -> None:
    class Resolved(muster.distribute.Strategy):
        def resolver(self) -> Any:
            return muster.resolver(f"simple:{SPEC};task_type=worker;task_id=1")

    assert independent(lambda s: (context().master_target, context().task_id), None, None,
                       strategy=Resolved()) == ("grpc://b:1", 1)
