"""Text that is not valid Unicode, and bytes that are not text, in all places where a program can pass them."""
from __future__ import annotations

import pathlib
import sys
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until

ODD = "caf\udce9 \ud800"


def echo(value: Any) -> Any:
    return value


def fail() -> None:
    raise ValueError(ODD)


def chatter() -> int:
    print(ODD)
    sys.stdout.buffer.write(b"\xff\xfe raw\n")
    sys.stdout.flush()
    muster.context().progress(0.5, ODD)
    return 1


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value


@pytest.mark.parametrize("options", [
    {"labels": {ODD: "a"}}, {"labels": {"a": ODD}}, {"labels": {"a": 1}}, {"resources": {ODD: 1}},
    {"resources": {"gpu": 1.5}}, {"resources": {"gpu": -1}}, {"task": ODD}, {"name": ODD},
    {"priority": 1 << 40}, {"retries": 1 << 40}, {"delay": float("inf")}])
def test_options_that_no_message_can_carry_are_refused_at_once(cluster: Cluster, options: dict[str, Any]) -> None:
    coordinator = cluster.coordinator()
    with pytest.raises(ValueError):
        coordinator.options(**options).submit(echo, 1)
    assert coordinator.submit(echo, 1).fetch() == 1


@pytest.mark.parametrize("name", [ODD, "", "x" * 257, "a\x00b"])
def test_function_name_that_the_server_refuses_does_not_end_the_session(cluster: Cluster, name: str) -> None:
    coordinator = cluster.coordinator()
    with pytest.raises(ValueError, match="function: "):
        coordinator.submit(name, 1)
    assert coordinator.submit(echo, 1).fetch() == 1


@pytest.mark.parametrize("options", [{"name": ODD}, {"cluster": ODD}, {"token": ODD}, {"queue_capacity": -1}])
def test_options_of_a_coordinator_are_refused_before_it_connects(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        muster.CoordinatorOptions(**options)


def test_invalid_text_in_values_errors_and_output_does_not_end_the_session(cluster: Cluster) -> None:
    coordinator = cluster.coordinator()
    assert coordinator.submit(echo, {ODD: ODD}).fetch() == {ODD: ODD}
    with pytest.raises(ValueError, match=r"caf\? \?"):
        coordinator.submit(fail).fetch()
    assert coordinator.submit(chatter).fetch() == 1
    with pytest.raises(muster.ClosureError, match=r"caf\? \?"):
        coordinator.submit(echo, coordinator.create_per_worker_value(fail)).fetch()
    holder = coordinator.create(Holder, (ODD,), task="worker:0")
    assert holder.get().fetch() == ODD
    with pytest.raises(ValueError, match="method: "):
        getattr(holder, ODD)()
    with pytest.raises(ValueError):
        coordinator.create_per_worker_dataset([1], name=ODD)
    assert coordinator.submit(echo, 1).fetch() == 1


def test_worker_refuses_labels_that_are_not_text() -> None:
    from muster.worker.options import WorkerOptions

    with pytest.raises(ValueError, match="labels: "):
        WorkerOptions(["127.0.0.1:1"], labels={"zone": ODD})


# The hash of a callable is 32 bytes that are not text.
def test_history_of_python_calls_survives_a_restart(make_cluster: Callable[..., Cluster],
                                                    tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "1")
    coordinator = cluster.coordinator()
    coordinator.fetch([coordinator.submit(pow, i, 2) for i in range(300)])
    with pytest.raises(ValueError):
        coordinator.submit(fail).fetch()

    def ended() -> dict[str, int]:
        stream = cluster.server.get("/api/v1/history/stream")
        return {f["name"]: f["ended"] for f in stream["functions"]}

    until(lambda: sum(ended().values()) >= 301, "the calls are in the history")
    before = ended()
    time.sleep(1.5)  # the last records are written within a second
    cluster.close_coordinators()
    cluster.server.kill()
    http = cluster.server.http.removeprefix("http://")
    cluster.server.start(cluster.server.grpc, http)
    assert {name: n for name, n in ended().items() if name in before} == before
    durable = cluster.server.get("/api/v1/overview")["durable"]
    assert (durable["history_dropped"], durable["history_unreadable"]) == (0, 0)
    assert "invalid UTF-8" not in cluster.server.log.read_text()
