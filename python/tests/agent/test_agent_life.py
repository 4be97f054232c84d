"""Behaviour of agents through errors, broken connections, restarts and shutdowns."""
from __future__ import annotations

import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Iterator

import pytest

import muster
from agents import Wire, beside, connected, parked, serving
from conftest import DEADLINE, HERE, Server, until
from muster.agent import connection

TWO = ["worker:0", "worker:1"]
PROGRAM = """
import muster, sys
a = muster.Agent(sys.argv[1], task=int(sys.argv[2]), heartbeat_timeout=2)
a.connect()
a.try_get("k")  # behind the poll, whose end tells of a death
print("connected", flush=True)
"""


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[Server]:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s;heartbeat_timeout=20s;connection_grace=300ms") as made:
        yield made


def program(server: Server, task: int, more: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM + more, server.grpc, str(task)], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": str(HERE.parent)})


def test_agent_with_default_options_adopts_the_heartbeat_timeout_of_its_cluster(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1;heartbeat_timeout=1s") as server, muster.Agent(server.grpc, task="worker:0") as a:
        time.sleep(3)
        assert a.state == "connected", a.error


def test_death_of_one_task_is_reported_to_the_other_by_name(server: Server) -> None:
    told: queue.Queue[muster.AgentError] = queue.Queue()
    other = program(server, 1, "import time; time.sleep(60)")
    with connected(server.grpc, ["worker:0"], on_error=told.put) as (a,):
        assert a.error is None and a.wait_for_error(0.01) is None
        polling, waiting = beside(a.wait_for_error, DEADLINE), beside(a.barrier, "b", DEADLINE)
        getting = beside(a.get, "never", DEADLINE)
        until(lambda: len(server.get("/api/v1/clusters/train/tasks")["tasks"][0]["waiting_for"]) == 2)
        assert other.stdout is not None and other.stdout.readline() == "connected\n"
        other.kill()
        error = told.get(timeout=DEADLINE)
        assert (error.code, error.task, error.reported) == ("UNAVAILABLE", "worker:1", False)
        assert isinstance(error, muster.UnavailableError) and "/job:worker/task:1" in error.message
        for call in (waiting, getting):
            with pytest.raises(muster.AgentError) as raised:
                call.result(DEADLINE)
            assert raised.value.task == "worker:1"
        found = polling.result(DEADLINE)
        assert found is not None and found.task == "worker:1"
        assert a.state == "failed"
        with pytest.raises(muster.AgentError):
            a.try_get("k")
    other.communicate()


def test_death_of_one_task_is_noticed_by_missing_heartbeats(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s;error_delivery=heartbeat;connection_grace=300ms"
                 ) as server:
        other = program(server, 1, "import time; time.sleep(60)")
        with connected(server.grpc, ["worker:0"], heartbeat_timeout=0.5) as (a,):
            assert other.stdout is not None and other.stdout.readline() == "connected\n"
            other.kill()
            error = a.wait_for_error(DEADLINE)
            assert error is not None and error.task == "worker:1" and "were closed" in error.message
    other.communicate()


def test_reported_error_reaches_all_and_a_new_run_begins(server: Server) -> None:
    with connected(server.grpc, TWO) as both:
        other = beside(both[1].barrier, "b", DEADLINE)
        both[0].barrier("b", DEADLINE)
        other.result(DEADLINE)
        before, run = both[1].incarnation, both[1].service_incarnation
        waiting = beside(both[1].barrier, "c", DEADLINE)
        until(lambda: parked(server, 1))
        for code in ("BAD", "CANCELLED", "RESOURCE_EXHAUSTED"):  # agents do not treat RESOURCE_EXHAUSTED as an error
            with pytest.raises(ValueError, match=f"code: '{code}' is not one of"):
                both[0].report_error(code, "x")
        both[0].report_error("DATA_LOSS", "a bad disk")
        with pytest.raises(muster.AgentError, match="a bad disk") as raised:
            waiting.result(DEADLINE)
        assert (raised.value.code, raised.value.task, raised.value.reported) == ("DATA_LOSS", "worker:0", True)
        assert both[0].state == "failed"
        with pytest.raises(muster.AgentError, match="a bad disk"):
            both[0].try_get("k")

        connecting = beside(both[1].connect)
        both[0].connect()
        connecting.result(DEADLINE)
        assert both[1].incarnation != before and both[1].service_incarnation != run
        assert both[1].error is None
        again = beside(both[1].barrier, "b", DEADLINE)
        assert both[0].barrier("b", DEADLINE) == again.result(DEADLINE) == 0


def test_a_task_that_has_failed_is_reset(server: Server) -> None:
    with connected(server.grpc, TWO) as both:
        with pytest.raises(muster.CoordinationError, match="not failed"):
            both[0].reset()
        both[0].report_error("INTERNAL", "x")
        assert both[1].wait_for_error(DEADLINE)
        both[0].reset()
        assert both[0].state == "idle"
        with pytest.raises(muster.CoordinationError, match="not connected"):
            both[0].try_get("k")


@pytest.mark.parametrize("state", ["failed", "shut_down"])
def test_callback_of_the_end_finds_the_agent_in_its_new_state(tmp_path: pathlib.Path, state: str) -> None:
    class Over(threading.Event):
        def set(self) -> None:
            seen.append(a.state)
            super().set()

    seen: list[str] = []
    with serving(tmp_path, "train:worker=1") as server, connected(server.grpc, [0]) as (a,):
        a._at.run.over = Over()  # type: ignore[union-attr]
        a.report_error("UNKNOWN", "x") if state == "failed" else a.shutdown()
        assert seen == [state]


def test_the_handler_of_errors_may_connect_again(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        done = threading.Event()

        def again(error: muster.AgentError) -> None:
            a.connect()
            done.set()
            raise RuntimeError("of a handler")

        with connected(server.grpc, [0], on_error=again) as (a,):
            a.report_error("UNKNOWN", "x")
            assert done.wait(DEADLINE) and a.state == "connected"
            a.set("k", "v")


def test_broken_connection_is_not_an_error(server: Server) -> None:
    wire = Wire(server.grpc)
    with connected(wire.address, TWO) as both:
        meeting, getting = beside(both[0].barrier, "b", DEADLINE), beside(both[0].get, "k", DEADLINE)
        until(lambda: len(server.get("/api/v1/clusters/train/tasks")["tasks"][0]["waiting_for"]) == 2)
        wire.reset()
        both[1].set("k", "v")
        assert getting.result(DEADLINE) == b"v"
        assert both[1].barrier("b", DEADLINE) == meeting.result(DEADLINE) == 0
        assert [a.state for a in both] == ["connected"] * 2


def test_call_that_may_have_been_performed_is_not_repeated(server: Server) -> None:
    wire = Wire(server.grpc)
    with connected(wire.address, TWO) as both:
        key = server.http + "/api/v1/clusters/train/kv/n"
        both[0].set("n", "1")
        wire.answers.clear()
        adding, setting = beside(both[0].increment, "n"), beside(both[1].set, "k", "v")
        until(lambda: urllib.request.urlopen(key, timeout=DEADLINE).read() == b"2", "it is performed")
        wire.reset()
        wire.answers.set()
        with pytest.raises(muster.UnavailableError):
            adding.result(DEADLINE)
        setting.result(DEADLINE)  # setting it twice has the same result
        assert both[1].get("n", DEADLINE) == b"2"
        assert [a.state for a in both] == ["connected"] * 2


def test_wait_without_an_answer_reports_that_there_was_none(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        wire = Wire(server.grpc)
        with connected(wire.address, [0], call_timeout=DEADLINE) as (a,):
            wire.answers.clear()
            begun = time.monotonic()
            for among in (None, ["worker:7"]):
                with pytest.raises(muster.WaitTimeout):
                    a.live_tasks(among, timeout=0.2)
            assert time.monotonic() - begun < DEADLINE / 2, "its own timeout covers all its requests"
            wire.answers.set()
        with connected(wire.address, [0], call_timeout=0.2) as (a,):
            version = a.get_task_states().version
            a.set("k", "v")
            wire.answers.clear()
            for asked in (lambda: a.get("k", 0.2), lambda: a.try_get("k"), lambda: a.wait_for_tasks(version, 0.2),
                          lambda: a.wait_for_all_tasks(timeout=0.2), lambda: a.barrier("b", 0.2, tasks=["worker:7"])):
                with pytest.raises(muster.WaitTimeout, match=f"{wire.address} did not answer within 0.2 s"):
                    asked()
            with pytest.raises(muster.WaitTimeout, match="did not answer"):
                a.report_error("UNKNOWN", "x")
            wire.answers.set()
            a.report_error("UNKNOWN", "x")
            wire.answers.clear()
            with pytest.raises(muster.WaitTimeout, match=f"{wire.address} did not answer within 0.2 s"):
                a.reset()
            wire.answers.set()


def test_silence_for_the_whole_timeout_is_an_error(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        wire = Wire(server.grpc)
        with connected(wire.address, [0], heartbeat_timeout=0.4) as (a,):
            wire.cut()
            error = a.wait_for_error(DEADLINE)
            assert error is not None and (error.code, error.task) == ("UNAVAILABLE", None)
            assert "no answer from" in error.message


def test_agent_connects_before_the_server_starts_and_after_it_restarts(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1;shutdown_timeout=0s") as server:
        server.stop()
        a = muster.Agent(server.grpc, task="worker:0", incarnation=77)
        connecting = beside(a.connect)
        server.start(server.grpc, "127.0.0.1:0")
        connecting.result(DEADLINE)
        assert a.incarnation == 77
        waiting = beside(a.get, "k", DEADLINE)
        until(lambda: parked(server, 1))
        server.kill()
        server.start(server.grpc, "127.0.0.1:0")
        with pytest.raises(muster.AgentError, match="was restarted"):
            waiting.result(DEADLINE)
        a.connect()
        assert a.incarnation != 77
        a.set("k", "v")
        assert a.get("k", DEADLINE) == b"v"
        a.shutdown()
        a.close()


def test_agents_stay_connected_when_a_durable_server_is_killed_and_restarted(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s", "--data-dir", str(tmp_path / "data")) as server:
        with connected(server.grpc, TWO, heartbeat_timeout=2.0) as both:
            both[0].set("k", "v")
            meeting = beside(both[0].barrier, "b", DEADLINE)
            until(lambda: parked(server, 1))
            server.kill()
            server.start(server.grpc, "127.0.0.1:0")
            assert both[1].get("k", DEADLINE) == b"v"
            assert both[1].barrier("b", DEADLINE) == meeting.result(DEADLINE) == 0
            assert both[0].wait_for_error(2.5) is None, "heartbeats continue"


def test_second_process_with_the_same_task_ends_the_first(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server, connected(server.grpc, [0]) as (first,):
        with connected(server.grpc, [0]) as (second,):
            error = first.wait_for_error(DEADLINE)
            assert error is not None and isinstance(error, muster.AbortedError)
            assert "different incarnation" in error.message
            assert second.state == "connected"


def test_all_leave_together_or_get_the_names_of_missing_tasks(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=500ms") as server, connected(server.grpc, TWO) as both:
        leaving = beside(both[1].shutdown)
        both[0].shutdown()
        leaving.result(DEADLINE)
        assert both[0].state == "shut_down"
        both[0].shutdown()
        with pytest.raises(muster.CoordinationError, match="was shut down"):
            both[0].try_get("k")
        connecting = beside(both[1].connect)
        both[0].connect()
        connecting.result(DEADLINE)
        with pytest.raises(muster.AgentError, match="Shutdown barrier has failed"):
            both[0].shutdown()
        with pytest.raises(muster.AgentError, match="Shutdown barrier has failed"):
            both[0].shutdown()


def test_block_leaves_in_order_or_raises_why_it_ended(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2") as server:
        def ends(error: Any) -> None:
            with muster.Agent(server.grpc, task="worker:1") as a:
                a.barrier("b", DEADLINE)
                if error:
                    raise error

        for error in (None, ValueError("the shard is empty")):
            other = beside(ends, error)
            a = muster.Agent(server.grpc, task="worker:0")
            with a if not error else pytest.raises(muster.AgentError, match="ValueError: the shard is empty"):
                if error:
                    a.connect()
                a.barrier("b", DEADLINE)
                if error:
                    a.get("never", DEADLINE)
            assert isinstance(other.exception(DEADLINE), type(error))
            a.close()


def test_program_may_end_without_shutdown(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        ended = program(server, 0, "import threading; threading.Thread(target=a.wait_for_error, args=(60,), "
                                   "daemon=True).start()")
        said, errors = ended.communicate(timeout=DEADLINE)
        assert (said, errors, ended.returncode) == ("connected\n", "", 0)


def test_ctrl_c_ends_a_wait_and_withdraws_the_call(server: Server) -> None:
    waits = program(server, 1, """
try:
    a.barrier("b", 60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    input()
    a.barrier("b", 60)
    a.shutdown()
""")
    with connected(server.grpc, ["worker:0"]) as (a,):
        until(lambda: parked(server, 1))
        waits.send_signal(signal.SIGINT)
        assert waits.stdout is not None
        assert [waits.stdout.readline(), waits.stdout.readline()] == ["connected\n", "interrupted\n"]
        until(lambda: not parked(server, 1), "its call was taken back")
        assert waits.stdin is not None
        waits.stdin.write("\n")
        waits.stdin.flush()
        assert a.barrier("b", DEADLINE) == 0
        a.shutdown()
    said, errors = waits.communicate(timeout=DEADLINE)
    assert (said, errors, waits.returncode) == ("", "", 0)


def test_agent_refuses_calls_in_a_forked_process(server: Server) -> None:
    ran = program(server, 1, """
import os
if os.fork() == 0:
    try:
        a.try_get("k")
    except RuntimeError as error:
        os.write(1, str(error).encode())
    os._exit(0)
os.wait()
""")
    with connected(server.grpc, ["worker:0"]):
        said, errors = ran.communicate(timeout=DEADLINE)
    assert "belongs to the parent process" in said, errors


def test_forked_process_leaves_the_block_without_affecting_the_agent(server: Server) -> None:
    ran = program(server, 1, """
import contextlib, os
with contextlib.ExitStack() as block:
    block.push(a)
    child = os.fork()
    if child == 0:
        a._at._lock.acquire()  # as if another thread had held it
        sys.exit(0)
    print(os.waitpid(child, 0)[1])
    a.set("k", "v")
print("left", a.state)
""")
    with connected(server.grpc, ["worker:0"]):
        said, errors = ran.communicate(timeout=DEADLINE)
    assert said == "connected\n0\nleft closed\n", errors
    assert "Traceback" not in errors


def test_close_ends_a_connect_that_is_under_way() -> None:
    for task in (0, "worker:0"):
        a = muster.Agent("127.0.0.1:1", task=task)
        connecting = beside(a.connect)
        until(lambda: a.state == "connecting")
        a.close()
        with pytest.raises(muster.CancelledError, match="was closed"):
            connecting.result(DEADLINE)
        assert a.state == "closed"


def test_close_ends_waiting_calls_and_threads(server: Server) -> None:
    with connected(server.grpc, TWO) as both:
        waiting = beside(both[0].get, "never", DEADLINE)
        until(lambda: parked(server, 1))
        both[0].close()
        both[0].close()
        both[0].shutdown()
        with pytest.raises(muster.CancelledError, match="was closed"):
            waiting.result(DEADLINE)
        with pytest.raises(muster.CoordinationError, match="was closed"):
            both[0].connect()
    end = time.monotonic() + DEADLINE
    while any(t.name == "muster-agent" for t in threading.enumerate()):
        assert time.monotonic() < end, "its threads have ended"
        time.sleep(0.01)


def test_long_wait_to_connect_is_logged_with_its_reason(server: Server, monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr(connection, "SAY_AFTER", 0.2)
    for address, said in (("127.0.0.1:1", "no server has answered at 127.0.0.1:1 for 0.2 s"),
                          (server.grpc, f"worker:0 is waiting at {server.grpc} for the other tasks")):
        a = muster.Agent(address, task="worker:0")
        connecting = beside(a.connect)
        until(lambda: said in caplog.text, "it says so")
        a.close()
        with pytest.raises(muster.CancelledError):
            connecting.result(DEADLINE)


def test_immediate_connect_logs_nothing(server: Server, monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr(connection, "SAY_AFTER", 0.2)
    with connected(server.grpc, TWO) as both:
        both[0].wait_for_error(0.3)
    assert "is waiting" not in caplog.text and "no server" not in caplog.text
