"""Runs that an operator fails: every agent gets the reason, whatever it is doing."""
from __future__ import annotations

import pathlib
import queue
import subprocess
import threading
import time
from typing import Any

import grpc
import pytest

import muster
from agents import Wire, beside, connected, parked, serving
from conftest import DEADLINE, binary, until
from muster._wire.coordination import _KEY, Refusal, _Payloads, refusal
from muster.agent.connection import LEAVE_MARGIN
from muster.agent.heart import Heart
from muster.agent.run import Run
from test_tokens import token

TWO = ["worker:0", "worker:1"]


@pytest.mark.parametrize("delivery", ["", ";error_delivery=heartbeat"], ids=["poll", "heartbeat"])
@pytest.mark.parametrize("code", ["ABORTED", "INTERNAL", "FAILED_PRECONDITION"])
def test_all_agents_get_the_reason_of_a_failed_run(tmp_path: pathlib.Path, code: str, delivery: str) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s" + delivery) as server:
        # Heartbeats alone would report it to the second agent after 10 s.
        with connected(server.grpc, TWO) as both:
            polls, meets = beside(both[1].wait_for_error, DEADLINE), beside(both[0].barrier, "b", DEADLINE)
            gets = beside(both[0].get, "never", DEADLINE)
            until(lambda: len(server.get("/api/v1/clusters/train/tasks")["tasks"][0]["waiting_for"]) == 2)
            muster.CoordinationClient(server.http, cluster="train").fail("the disk is full", code)
            for call in (meets, gets):
                with pytest.raises(muster.AgentError, match="the disk is full"):
                    call.result(DEADLINE)
            if not delivery:
                found = polls.result(DEADLINE)
                assert found is not None and (found.code, found.task) == (code, None)
                assert found.message == "the disk is full"
            assert both[0].state == "failed"


def test_registering_agent_gets_the_failure_and_does_not_retry(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s") as server:
        a = muster.Agent(server.grpc, task="worker:0")
        connecting = beside(a.connect, DEADLINE)
        until(lambda: server.get("/api/v1/clusters/train/tasks")["tasks"][0].get("waiting_for"))
        muster.CoordinationClient(server.http, cluster="train").fail("the wrong data")
        with pytest.raises(muster.AgentError, match="the wrong data"):
            connecting.result(DEADLINE)
        assert a.state == "idle"
        with pytest.raises(muster.WaitTimeout):
            a.connect(0.3)  # another timeout starts another registration
        a.close()


@pytest.mark.parametrize("reports", [True, False])
def test_error_names_the_first_task_of_all_too(tmp_path: pathlib.Path, reports: bool) -> None:
    """The number of the first task is 0, which is omitted on the wire."""
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s;heartbeat_timeout=20s;connection_grace=300ms") as server:
        with connected(server.grpc, TWO) as both:
            both[0].report_error("INTERNAL", "the disk is full") if reports else both[0].close()
            found = both[1].wait_for_error(DEADLINE)
            assert found is not None and (found.task, found.reported) == ("worker:0", reports)
            with pytest.raises(muster.AgentError) as caught:
                both[1].barrier("b", DEADLINE)
            assert caught.value.task == "worker:0"


def test_an_operator_reports_the_error_of_one_task(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s;heartbeat_timeout=20s") as server:
        with connected(server.grpc, TWO) as both:
            client = muster.CoordinationClient(server.http, cluster="train", task="worker:1")
            client.set("k", "v")
            client.report_error("its GPU is gone", "INTERNAL")
            found = both[0].wait_for_error(DEADLINE)
            assert found is not None and (found.task, found.code) == ("worker:1", "INTERNAL")
            assert "its GPU is gone" in client.errors()["worker:1"]["message"]
            with pytest.raises(muster.ServerError, match="its GPU is gone") as refused:
                client.set("k", "w")
            assert refused.value.status == 409
            with pytest.raises(muster.ServerError) as unknown:
                client.report_error("x", task="worker:7")
            assert unknown.value.status == 404
        with pytest.raises(ValueError, match="worker:1"):
            muster.CoordinationClient(server.http, cluster="train").report_error("x")


def test_shutdown_without_an_answer_leaves_the_agent_connected_and_can_be_repeated(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        wire = Wire(server.grpc)
        with connected(wire.address, ["worker:0"]) as (a,):
            wire.answers.clear()
            with pytest.raises(muster.WaitTimeout, match="did not answer within") as caught:
                a.shutdown(0.2 - LEAVE_MARGIN)
            assert not isinstance(caught.value, muster.AgentError) and (a.state, a.error) == ("connected", None)
            wire.answers.set()
            a.shutdown()
            assert a.state == "shut_down"


def test_refusal_by_a_healthy_run_is_raised_at_once(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server, connected(server.grpc, [0]) as (a,):
        begun = time.monotonic()
        for _ in range(20):
            with pytest.raises(muster.CoordinationError) as raised:
                a.barrier("b", DEADLINE, tasks=[9])
            assert not isinstance(raised.value, muster.AgentError)
        assert a.state == "connected" and time.monotonic() - begun < 10


def test_block_whose_run_has_failed_raises_the_error_at_its_end(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        with pytest.raises(muster.AgentError, match="the disk is full"), muster.Agent(server.grpc, task=0) as a:
            muster.CoordinationClient(server.http, cluster="train").fail("the disk is full")
            assert a.wait_for_error(DEADLINE)
        with pytest.raises(KeyError), muster.Agent(server.grpc, task=0) as a:
            a.report_error("UNKNOWN", "x")
            raise KeyError
        assert a.state == "closed"


def test_block_raises_its_own_exception_whatever_its_text(tmp_path: pathlib.Path) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("of a text")

    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s") as server:
        for error in (OSError("no file a\udcff"), Unspeakable()):
            with connected(server.grpc, TWO) as both:
                with pytest.raises(type(error)):
                    both[0].__exit__(type(error), error, None)
                    raise error
                if isinstance(error, OSError):
                    found = both[1].wait_for_error(DEADLINE)
                    assert found is not None and found.message == "OSError: no file a?"


def test_agent_whose_thread_fails_has_failed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: Any, now: float) -> None:
        raise ZeroDivisionError("of a bug")

    with serving(tmp_path, "train:worker=1") as server, connected(server.grpc, [0]) as (a,):
        monkeypatch.setattr(Heart, "_look_at_beat", breaks)
        with pytest.raises(muster.CoordinationError):
            a.barrier("b", DEADLINE, tasks=[9])  # asks the thread for a heartbeat
        error = a.wait_for_error(DEADLINE)
        assert error is not None and "ZeroDivisionError: of a bug" in error.message


def test_agent_that_cannot_start_a_thread_is_not_connected(tmp_path: pathlib.Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    begins = threading.Thread.start

    def refuses(self: threading.Thread) -> None:
        if self.name == "muster-agent":
            raise RuntimeError("can't start new thread")
        begins(self)

    with serving(tmp_path, "train:worker=1") as server:
        a = muster.Agent(server.grpc, task=0)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuses)
            with pytest.raises(RuntimeError, match="can't start"):
                a.connect(DEADLINE)
        assert a.state == "idle"
        a.close()


@pytest.mark.parametrize("said, task, reported", [
    (b"", None, False), (b"\x20\x00", 0, False), (b"\x18\x01", 0, True), (b"\x20\x02", 2, False)],
    ids=["nobody", "task 0, spelled out", "task 0, itself", "task 2"])
def test_refusal_names_the_task_that_it_began_with(said: bytes, task: Any, reported: bool) -> None:
    payloads = _Payloads()
    payloads.payloads[_KEY + "CoordinationServiceError"] = said

    class Call:
        def code(self) -> Any:
            return grpc.StatusCode.UNAVAILABLE

        def details(self) -> str:
            return "m"

        def trailing_metadata(self) -> Any:
            return [("grpc-status-details-bin", payloads.SerializeToString())]

    assert refusal(Call()) == Refusal("UNAVAILABLE", "m", True, task, reported)


def test_uses_of_barriers_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.agent.run.USES_MAX", 2)
    run = Run(0, 1)
    for id, use in (("a", 0), ("b", 4), ("a", 1), ("c", 0)):
        run.note_use(id, use)
    assert [run.next_use(id) for id in "abc"] == [2, 0, 1], "the least recently used barrier is forgotten"


def test_agent_whose_token_is_revoked_reports_it(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1", "--data-dir", str(tmp_path / "data"), "--auth", "on", "--agents-from",
                 "train=") as server:
        made = token(server, tmp_path, "worker")
        with connected(server.grpc, [0], token=made, heartbeat_timeout=0.4) as (a,):
            subprocess.run([binary(), "token", "revoke", made.split(".")[1], "--url", server.http, "--token-file",
                            str(tmp_path / "data" / "admin.token")], check=True, capture_output=True)
            error = a.wait_for_error(DEADLINE)
            assert error is not None and error.code == "UNAUTHENTICATED" and "revoked" in error.message


def test_a_watch_is_stopped_while_it_asks(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server:
        wire = Wire(server.grpc)
        with connected(wire.address, [0], call_timeout=DEADLINE) as (a,):
            asked: queue.Queue[Any] = queue.Queue()
            a.set("f/a", "1")
            watch = a.watch("f", lambda *change: asked.put(change), interval=0.001)
            asked.get(timeout=DEADLINE)
            wire.answers.clear()
            until(lambda: watch._waiter._call is not None)
            begun = time.monotonic()
            watch.stop()
            assert time.monotonic() - begun < DEADLINE / 2
            wire.answers.set()


def test_task_number_is_requested_again_with_each_registration(monkeypatch: pytest.MonkeyPatch,
                                                               tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s") as server:
        a = muster.Agent(server.grpc, task="worker:0")
        said: list[Any] = [(0, Refusal("ABORTED", "between two runs", True)), (0, None), (1, None)]
        monkeypatch.setattr(a._names, "resolve", lambda seconds: said.pop(0))
        other = muster.Agent(server.grpc, task="worker:1")
        connecting = beside(other.connect, DEADLINE)
        with pytest.raises(muster.AbortedError, match="was task 0 and is 1 now"):
            a.connect(DEADLINE)
        connecting.result(DEADLINE)
        other.close()
        assert not said and a.state == "idle"
        a.close()


def test_recoverable_task_rejoins_the_same_run(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s;recoverable=true") as server, connected(server.grpc, TWO) as (a, b):
        meeting = beside(b.barrier, "b", DEADLINE)
        until(lambda: parked(server, 1))
        a.report_error("UNKNOWN", "x")
        a.reset()
        a.connect()
        assert b.state == "connected" and a.service_incarnation == b.service_incarnation
        assert a.barrier("b", DEADLINE) == meeting.result(DEADLINE) == 0, "the other task kept waiting"
        b.set("k", "v")
        assert a.get("k", DEADLINE) == b"v"
