"""Operations of agents: registration, keys, barriers, tasks."""
from __future__ import annotations

import pathlib
import pickle
import queue
from typing import Any, Iterator

import pytest

import muster
from agents import beside, connected, parked, serving
from conftest import DEADLINE, Server, until
from muster.agent.agent import _reachable
from test_tls import SecureServer
from test_tokens import token

TWO = ["worker:0", "worker:1"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), "train:worker=2;shutdown_timeout=0s") as made:
        yield made


@pytest.fixture
def both(server: Server) -> Iterator[list[muster.Agent]]:
    with connected(server.grpc, TWO) as made:
        yield made
        for a in made:
            if a.state == "connected":
                a.shutdown()  # so that the next test's run begins at once


def of_code(code: str, f: Any, *args: Any, **kwargs: Any) -> Any:
    with pytest.raises(muster.CoordinationError) as raised:
        f(*args, **kwargs)
    assert raised.value.code == code, raised.value
    return raised.value


def test_tasks_register_together_and_meet_at_a_barrier(both: list[muster.Agent]) -> None:
    assert [a.state for a in both] == ["connected"] * 2
    assert both[0].incarnation != both[1].incarnation
    assert both[0].service_incarnation == both[1].service_incarnation != 0
    for use in range(3):
        other = beside(both[1].barrier, "b", DEADLINE)
        assert both[0].barrier("b", DEADLINE) == other.result(DEADLINE) == use


def test_tasks_have_names_and_numbers(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:chief=1,worker=2;shutdown_timeout=0s") as server:
        with connected(server.grpc, [("worker", 1), 0, "worker:0"]) as all:
            assert [a.task for a in all] == ["worker:1", "chief:0", "worker:0"]
            assert [s.task for s in all[1].get_task_states()] == ["chief:0", "worker:0", "worker:1"]
            other = beside(all[0].barrier, "b", DEADLINE, tasks=["worker:1", "chief:0"])
            assert all[1].barrier("b", DEADLINE, tasks=[0, ("worker", 1)]) == other.result(DEADLINE) == 0
            error = of_code("INVALID_ARGUMENT", all[2].barrier, "c", DEADLINE, tasks=["worker:1", 0])
            assert isinstance(error, muster.BarrierError) and (error.barrier, error.use) == ("c", 0)
            of_code("INVALID_ARGUMENT", all[2].barrier, "c", DEADLINE, tasks=["ps:7"])


def test_registration_error_names_tasks_that_did_not_join(server: Server) -> None:
    a = muster.Agent(server.grpc, task="worker:0")
    error = of_code("DEADLINE_EXCEEDED", a.connect, timeout=0.5)
    assert isinstance(error, muster.WaitTimeout) and isinstance(error, TimeoutError)
    assert "task:1" in error.message
    assert a.state == "idle"


def test_unknown_task_is_refused_at_once(server: Server) -> None:
    for task in (7, "ps:0", "worker:2"):
        of_code("INVALID_ARGUMENT", muster.Agent(server.grpc, task=task).connect)


def test_connect_without_a_server_fails_at_its_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    for task in (0, "worker:0"):
        with pytest.raises(muster.WaitTimeout, match="127.0.0.1:1 did not answer within 0.3 s"):
            muster.Agent("127.0.0.1:1", task=task).connect(0.3)
    monkeypatch.setenv("MUSTER_COORDINATOR", "127.0.0.1:1")
    monkeypatch.setenv("MUSTER_TASK_TYPE", "worker")
    monkeypatch.setenv("MUSTER_TASK_INDEX", "1")
    a = muster.Agent()
    assert (a.task, a.address) == ("worker:1", "127.0.0.1:1")
    with pytest.raises(muster.WaitTimeout, match="--declare"):
        a.connect(0.3)


def test_constructor_refuses_invalid_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_TASK_TYPE", raising=False)
    wrong: Any
    for task in ("worker", True, 3.0, ("worker", None), ("worker", 1.0), ("worker",), ("worker", 1, 2), (None, 1), "",
                 "worker: 1", "worker:1_0", "worker:٣"):
        with pytest.raises(ValueError, match="worker:3"):
            muster.Agent("127.0.0.1:1", task=task)  # type: ignore[arg-type]
    for task in (-1, "-3", "worker:-1", ("worker", -1)):
        with pytest.raises(ValueError, match="negative"):
            muster.Agent("127.0.0.1:1", task=task)  # type: ignore[arg-type]
    for task in (2**31, "worker:2147483648"):
        with pytest.raises(ValueError, match="task: .* is more than 2147483647"):
            muster.Agent("127.0.0.1:1", task=task)  # type: ignore[arg-type]
    for wrong, said in [({}, "MUSTER_TASK_TYPE"),
                        ({"task": 0, "incarnation": -1}, "incarnation: -1 is not from 0"),
                        ({"task": 0, "incarnation": 2**64}, "incarnation: 18446744073709551616 is not from 0"),
                        ({"task": 0, "address": "http://h:1"}, "address: .* write the gRPC address as host:port"),
                        ({"task": 0, "address": ""}, "address: none"),
                        ({"task": 0, "cluster": ""}, "cluster: must not be empty"),
                        ({"task": 0, "address": "h:1,h:2"}, "an agent uses only one"),
                        ({"task": 0, "address": "h:1", "cluster": "train"}, "its own address"),
                        ({"task": 0, "call_timeout": 0}, "call_timeout: 0 is not positive"),
                        ({"task": 0, "heartbeat_timeout": float("nan")}, "heartbeat_timeout: nan is not a number")]:
        with pytest.raises(ValueError, match=said):
            muster.Agent(**wrong)


def test_calls_before_connect_are_refused() -> None:
    with pytest.raises(muster.CoordinationError, match="not connected"):
        muster.Agent("127.0.0.1:1", task=0).try_get("k")


def test_service_that_listens_everywhere_is_dialled_at_the_host_of_the_url() -> None:
    for address, url, dialled in [("0.0.0.0:1", "http://h:8477", "h:1"),
                                  ("[::]:1", "https://[fd00::1]:8477", "[fd00::1]:1"),
                                  (":1", "http://h", "h:1"), ("10.0.0.1:1", "http://h:8477", "10.0.0.1:1")]:
        assert _reachable(address, url) == dialled


def test_a_cluster_is_found_by_its_name(server: Server) -> None:
    address = server.post("/api/v1/clusters", {"name": "second", "jobs": {"worker": 1}})["address"]
    assert address != server.grpc
    with muster.Agent(cluster="second", url=server.http, task=0) as a:
        assert a.address == address
        a.set("k", "v")
    with pytest.raises(muster.ServerError, match="NOT_FOUND"):
        muster.Agent(cluster="third", url=server.http, task=0)


def test_keys_can_be_set_read_incremented_listed_and_deleted(both: list[muster.Agent]) -> None:
    a = both[0]
    assert a.try_get("a/b") is None
    a.set("a/b", b"1\0")
    assert a.get("a/b", DEADLINE) == b"1\0"
    a.set("a//b/", "2")
    assert a.get("a/b", DEADLINE) == b"2"
    assert not a.set_if_absent("a/b", "3")
    assert a.set_if_absent("a/c", "3")
    assert (a.increment("n"), a.increment("n", 41)) == (1, 42)
    a.set("word", "x")
    of_code("FAILED_PRECONDITION", a.increment, "word")
    assert a.list("a") == {"a/b": b"2", "a/c": b"3"}
    a.delete("a")
    assert a.list("a") == {}
    for value in (bytearray(b"4"), memoryview(b"4")):
        a.set("like", value)
        assert a.try_get("like") == b"4"
    wrong: Any
    for wrong in (4, None, [52]):
        with pytest.raises(TypeError, match="value: .* is neither bytes nor a string"):
            a.set("like", wrong)


def test_watch_that_is_refused_reports_it_once(both: list[muster.Agent], caplog: pytest.LogCaptureFixture,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    a = both[0]
    a.set("w/a", "1")
    told: queue.Queue[Any] = queue.Queue()
    refusals = [muster.CoordinationError("RESOURCE_EXHAUSTED", "too many")] * 3
    asks = a._at.ask

    def ask(name: str, *args: Any, **fields: Any) -> Any:
        if name == "GetKeyValueDir" and refusals:
            raise refusals.pop()
        return asks(name, *args, **fields)

    monkeypatch.setattr(a._at, "ask", ask)
    watch = a.watch("w", lambda *change: told.put(change), interval=0.001)
    assert told.get(timeout=DEADLINE) == ("w/a", b"1")
    watch.stop()
    assert [r.getMessage() for r in caplog.records] == ["the watch of 'w' cannot receive changes: RESOURCE_EXHAUSTED: "
                                                        "too many"]


def test_watch_reports_existing_keys_and_changes(both: list[muster.Agent]) -> None:
    told: queue.Queue[Any] = queue.Queue()

    def hears(key: str, value: Any) -> None:
        told.put((key, value))
        if value == b"2":
            raise ValueError("of a handler, which ends nothing")

    a = both[0]
    a.set("f/a", "1")
    watch = a.watch("f", hears, interval=0.01)
    assert told.get(timeout=DEADLINE) == ("f/a", b"1")
    a.set("elsewhere", "4")
    a.set("f/a", "2")
    assert told.get(timeout=DEADLINE) == ("f/a", b"2")
    a.set("f/sub/b", "3")
    assert told.get(timeout=DEADLINE) == ("f/sub/b", b"3")
    a.delete("f/a")
    assert told.get(timeout=DEADLINE) == ("f/a", None)
    watch.stop()
    a.set("f/z", "5")
    made: queue.Queue[Any] = queue.Queue()
    ended = a.watch("f", lambda *_: made.get(timeout=DEADLINE).stop())  # the watch ends itself
    made.put(ended)
    until(lambda: not ended._thread.is_alive())
    with pytest.raises(ValueError, match="interval"):
        a.watch("f", hears, interval=0)
    assert told.empty()
    left = a.watch("f", hears, interval=3600)
    told.get(timeout=DEADLINE)
    a.shutdown()
    until(lambda: not left._thread.is_alive(), "it does not sleep on")
    left.stop()
    with pytest.raises(muster.CoordinationError):
        a.watch("f", hears)


def test_get_waits_until_the_key_is_set_or_the_time_is_up(server: Server, both: list[muster.Agent]) -> None:
    waiting = beside(both[1].get, "late", DEADLINE)
    until(lambda: parked(server, 1))
    both[0].set("late", "v")
    assert waiting.result(DEADLINE) == b"v"
    assert "other" in of_code("DEADLINE_EXCEEDED", both[0].get, "other", 0.2).message


def test_wait_accepts_an_infinite_timeout_and_refuses_values_that_are_not_numbers(server: Server, both: list[muster.Agent]) -> None:
    endless = float("inf")
    waiting = [beside(both[1].get, "endless", endless), beside(both[1].barrier, "endless", endless),
               beside(both[1].wait_for_error, endless), beside(both[1].get, "endless", 1e15)]
    until(lambda: parked(server, 1))
    both[0].set("endless", "v")
    assert waiting[0].result(DEADLINE) == waiting[3].result(DEADLINE) == b"v"
    assert both[0].barrier("endless", 1e15) == waiting[1].result(DEADLINE) == 0
    assert not waiting[2].done()
    wrong: Any
    for wrong in (float("nan"), None, "long"):
        for call in (both[0].get, both[0].barrier, both[0].wait_for_tasks):
            with pytest.raises(ValueError, match="timeout: .* is not a number of seconds"):
                call("endless", wrong)
        for call in (both[0].wait_for_error, both[0].shutdown) if wrong is not None else ():
            with pytest.raises(ValueError, match="timeout: .* is not a number of seconds"):
                call(wrong)
    assert both[0].state == "connected"


def test_a_barrier_that_times_out_counts_as_a_use(both: list[muster.Agent]) -> None:
    error = of_code("DEADLINE_EXCEEDED", both[0].barrier, "late", 0.05)
    assert isinstance(error, muster.BarrierError) and isinstance(error, muster.WaitTimeout) and error.use == 0
    assert "task:1" in error.message
    # The other task still counts from 0, and learns the number from the refusal.
    with pytest.raises(muster.BarrierError):
        both[1].barrier("late", DEADLINE)
    other = beside(both[1].barrier, "late", DEADLINE)
    assert both[0].barrier("late", DEADLINE) == other.result(DEADLINE) == 1


def test_a_barrier_is_cancelled_for_all_by_anyone(server: Server, both: list[muster.Agent]) -> None:
    for use in range(2):  # the other task learns of the second use from the refusal
        waiting = beside(both[0].barrier, "cancelled", DEADLINE)
        until(lambda: parked(server, 1))
        both[1].cancel_barrier("cancelled")
        assert of_code("CANCELLED", waiting.result, DEADLINE).use == use
    of_code("FAILED_PRECONDITION", both[1].cancel_barrier, "cancelled")


def test_task_leaves_a_barrier_and_returns(server: Server, both: list[muster.Agent]) -> None:
    assert not both[1].leave_barrier("left")
    other = beside(both[1].barrier, "left", DEADLINE)
    until(lambda: parked(server, 1))
    of_code("FAILED_PRECONDITION", both[1].barrier, "left", DEADLINE)
    assert both[1].leave_barrier("left")
    of_code("CANCELLED", other.result, DEADLINE)
    until(lambda: not parked(server, 1))
    other = beside(both[1].barrier, "left", DEADLINE)
    assert both[0].barrier("left", DEADLINE) == other.result(DEADLINE) == 0


def test_all_tasks_exchange_their_devices(server: Server) -> None:
    with connected(server.grpc, TWO, devices=["tpu:0"]) as both:
        other = beside(both[1].wait_for_all_tasks, ["tpu:1", "tpu:\udcff"], DEADLINE)
        assert both[0].wait_for_all_tasks() == ["tpu:0", "tpu:1", "tpu:\udcff"] == other.result(DEADLINE)
        assert server.get("/api/v1/clusters/train/tasks")["tasks"][0]["device_names"] == ["tpu:0"]
        for a in both:
            a.shutdown()


def test_a_task_among_others_has_a_number_or_a_name(both: list[muster.Agent]) -> None:
    for wrong in (None, 3.0, True, "worker"):
        with pytest.raises(ValueError, match="worker:3"):
            both[0].barrier("b", DEADLINE, tasks=[wrong])  # type: ignore[list-item]
    for none, said in (([], "tasks: the list is empty"), ("0", "tasks: '0' is a single task"),
                       ("worker:0", "is a single task")):
        with pytest.raises(ValueError, match=said):
            both[0].barrier("b", 0.1, tasks=none)
        with pytest.raises(ValueError, match=said):
            both[0].live_tasks(none, timeout=0.1)


def test_tasks_are_listed_and_counted_alive(both: list[muster.Agent]) -> None:
    assert both[0].get_task_states() == [muster.TaskState(a.task, "CONNECTED", a.incarnation) for a in both]
    asking = beside(both[1].live_tasks, timeout=DEADLINE)
    alive = {a.task: a.incarnation for a in both}
    assert both[0].live_tasks(TWO, timeout=DEADLINE) == alive == asking.result(DEADLINE)
    version = both[0].get_task_states().version
    of_code("DEADLINE_EXCEEDED", both[0].wait_for_tasks, version, 0.1)
    waiting = beside(both[0].wait_for_tasks, version, DEADLINE)
    both[1].shutdown()
    assert [s.state for s in waiting.result(DEADLINE)] == ["CONNECTED", "DISCONNECTED"]


def test_agent_sends_its_token(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1", "--data-dir", str(tmp_path / "data"), "--auth", "on",
                 "--agents-from", "train=") as server:
        with muster.Agent(server.grpc, task=0, token=token(server, tmp_path, "worker")) as a:
            a.set("k", "v")
        for wrong in ("", token(server, tmp_path, "viewer")):
            of_code("PERMISSION_DENIED" if wrong else "UNAUTHENTICATED",
                    muster.Agent(server.grpc, task="worker:0", token=wrong).connect, DEADLINE)


def test_agent_shows_its_certificate(tmp_path: pathlib.Path) -> None:
    server = SecureServer(tmp_path, "--cluster", "train:worker=1;agents=tls", "--tls-client-required")
    try:
        with muster.Agent(server.grpc, task="worker:0", **server.who("worker")) as a:
            a.set("k", "v")
    finally:
        server.stop()


def test_errors_have_the_class_of_their_code() -> None:
    for code, kind in [("UNAVAILABLE", muster.UnavailableError), ("ABORTED", muster.AbortedError),
                       ("CANCELLED", muster.CancelledError), ("DEADLINE_EXCEEDED", muster.WaitTimeout),
                       ("DATA_LOSS", muster.MusterError)]:
        for error in (muster.CoordinationError(code, "m"), muster.BarrierError(code, "m", "b", 3),
                      muster.AgentError(code, "m", "worker:1", True)):
            assert isinstance(error, kind)
            again = pickle.loads(pickle.dumps(error))
            assert type(again) is type(error) and str(again) == f"{code}: m" and again.args == error.args
