"""Runs that an operator fails: every agent hears the reason, whatever it does."""
from __future__ import annotations

import pathlib
import time

import pytest

import muster
from agents import beside, connected, serving
from conftest import DEADLINE, until

TWO = ["worker:0", "worker:1"]


@pytest.mark.parametrize("delivery", ["", ";error_delivery=heartbeat"], ids=["poll", "heartbeat"])
@pytest.mark.parametrize("code", ["ABORTED", "INTERNAL", "FAILED_PRECONDITION"])
def test_all_hear_why_a_run_was_failed(tmp_path: pathlib.Path, code: str, delivery: str) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s" + delivery) as server:
        # Heartbeats alone would tell the second one after 10 s.
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


def test_who_still_registers_hears_it_and_does_not_try_again(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=2;shutdown_timeout=0s") as server:
        a = muster.Agent(server.grpc, task="worker:0")
        connecting = beside(a.connect, DEADLINE)
        until(lambda: server.get("/api/v1/clusters/train/tasks")["tasks"][0].get("waiting_for"))
        muster.CoordinationClient(server.http, cluster="train").fail("the wrong data")
        with pytest.raises(muster.AgentError, match="the wrong data"):
            connecting.result(DEADLINE)
        assert a.state == "idle"
        with pytest.raises(muster.WaitTimeout):
            a.connect(0.3)  # another time is another registration
        a.close()


def test_a_refusal_of_a_run_that_is_well_is_told_at_once(tmp_path: pathlib.Path) -> None:
    with serving(tmp_path, "train:worker=1") as server, connected(server.grpc, [0]) as (a,):
        begun = time.monotonic()
        for _ in range(20):
            with pytest.raises(muster.CoordinationError) as raised:
                a.barrier("b", DEADLINE, tasks=[9])
            assert not isinstance(raised.value, muster.AgentError)
        assert a.state == "connected" and time.monotonic() - begun < 10
