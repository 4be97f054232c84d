"""`submit`: an error belongs to its value alone; and a wait that cannot end reports the reason."""
from __future__ import annotations

import logging
import os
import pathlib
import re
import signal
import threading
import time
from typing import Any, Callable

import pytest

import muster
from closures import add, bad, one, start_one, wait_until_stopped
from conftest import DEADLINE, Cluster, until

MakeCluster = Callable[..., Cluster]


def div(a: float, b: float) -> float:
    return a / b


def notes_of(error: BaseException) -> list[str]:
    """Returns the notes of an error without the worker's note on the call."""
    return [note for note in getattr(error, "__notes__", []) if not note.startswith("called as ")]


def test_arguments_are_passed_to_the_function(cluster: Cluster) -> None:
    c = cluster.coordinator()
    half = c.submit(div, 1, b=2)
    assert half.fetch(DEADLINE) == 0.5
    assert c.submit(add, half, half).fetch(DEADLINE) == 1.0
    assert c.submit("echo_json", {"a": 1}).fetch(DEADLINE) == {"a": 1}
    assert c.options(name="named", priority=2).submit(dict, fn=1, self=2).fetch(DEADLINE) == {
        "fn": 1, "self": 2}


def test_an_error_is_raised_by_its_value_alone(cluster: Cluster) -> None:
    c = cluster.coordinator()
    running = start_one(cluster, c)
    failed = c.submit(div, 1, 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            failed.fetch(DEADLINE)
        assert not notes_of(caught.value)
    assert c.schedule(one).fetch(DEADLINE) == 1
    assert not c.done() and not running.done()
    assert c.failures() == []
    running.cancel()
    c.join(DEADLINE)


def test_error_of_a_scheduled_call_cancels_no_submitted_call(cluster: Cluster) -> None:
    c = cluster.coordinator()
    slow = c.submit(time.sleep, 1.0)
    until(cluster.server.running, "it runs")
    queued = [c.submit(add, i, 1) for i in range(20)]
    failed = c.schedule(bad)
    after = c.schedule(wait_until_stopped)
    with pytest.raises(ValueError):
        failed.fetch(DEADLINE)
    during = c.submit(one)  # does not wait until the failed calls have ended
    assert c.fetch(queued, DEADLINE) == list(range(1, 21))
    assert during.fetch(DEADLINE) == 1
    with pytest.raises(ValueError, match="bad"):
        c.join(DEADLINE)
    with pytest.raises(muster.CancelledError):
        after.fetch(DEADLINE)
    assert slow.fetch(DEADLINE) is None


class Holder:
    def pid(self) -> int:
        return os.getpid()


@pytest.mark.parametrize("what", ["object", "variable"])
def test_lost_object_or_variable_cancels_no_submitted_call(make_cluster: MakeCluster, what: str) -> None:
    made = make_cluster()
    made.add("--processes", "3", "--index", "0")
    c = made.coordinator()
    if what == "object":
        lost: Any = c.create(Holder, task="worker:0")
        pid = lost.pid().fetch(DEADLINE)
    else:
        lost = c.variable(pytest.importorskip("numpy").zeros(3), name="w", task="worker:0")
        pid = c.options(task="worker:0").submit(os.getpid).fetch(DEADLINE)
    running = [c.options(task=f"worker:{i}").submit(time.sleep, 2) for i in (1, 2)]
    queued = c.options(task="worker:1").submit(one)
    until(lambda: made.server.running() >= 2, "they run")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(muster.UnavailableError, match="worker:0"):
        while True:
            (lost.pid() if what == "object" else lost.read()).fetch(DEADLINE)
    assert [r.fetch(DEADLINE) for r in running] == [None, None] and queued.fetch(DEADLINE) == 1
    assert c.submit(one).fetch(DEADLINE) == 1
    with pytest.raises(muster.UnavailableError, match="worker:0 was lost together with its state"):
        c.join(DEADLINE)  # the loss is raised once, as for scheduled calls
    assert c.schedule(one).fetch(DEADLINE) == 1


def test_join_waits_for_submitted_calls(cluster: Cluster) -> None:
    c = cluster.coordinator()
    values = [c.submit(time.sleep, 0.2), c.submit(div, 1, 0)]
    c.join(DEADLINE)
    assert all(value.done() for value in values) and c.done()


def test_join_does_not_count_calls_scheduled_after_it(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--index", "0")
    c = cluster.coordinator()
    slow = c.submit(time.sleep, 1.0)
    until(cluster.server.running, "it runs")
    joined: list[bool] = []
    joining = threading.Thread(target=lambda: joined.append(c.join(DEADLINE) is None and slow.done()))
    joining.start()
    until(lambda: c._session._cuts, "join waits")
    assert c.submit(div, 1, 1).fetch(DEADLINE) == 1
    joining.join(DEADLINE)
    assert joined == [True], "the earlier call has ended"


def test_cancel_ends_calls_submitted_before_it(cluster: Cluster) -> None:
    c = cluster.coordinator()
    values = [c.submit(wait_until_stopped) for _ in range(10)]
    until(cluster.server.running, "they run")
    c.cancel()
    assert c.submit(one).fetch(DEADLINE) == 1
    for value in values:
        with pytest.raises(muster.CancelledError):
            value.fetch(DEADLINE)


def test_cancel_after_an_error_ends_submitted_calls(cluster: Cluster) -> None:
    c = cluster.coordinator()
    c.schedule(time.sleep, args=(1.0,))
    submitted = c.submit(wait_until_stopped)
    until(lambda: cluster.server.running() == 2, "both run")
    with pytest.raises(ValueError):
        c.schedule(bad).fetch(DEADLINE)
    c.cancel()
    with pytest.raises(muster.CancelledError):
        submitted.fetch(DEADLINE)
    with pytest.raises(ValueError):
        c.join(DEADLINE)


def test_error_raised_again_notes_that_fetch_has_raised_it(cluster: Cluster) -> None:
    c = cluster.coordinator()
    failed = c.schedule(bad, args=("first",))
    with pytest.raises(ValueError, match="first"):
        failed.fetch(DEADLINE)
    with pytest.raises(ValueError, match="first") as caught:
        c.join(DEADLINE)
    said = str(caught.value) + "\n".join(getattr(caught.value, "__notes__", []))
    assert "Fetching the value has already raised this error" in said and "submit(" in said
    c.schedule(bad, args=("second",))
    with pytest.raises(ValueError, match="second") as caught:
        c.join(DEADLINE)
    assert not notes_of(caught.value)


def test_submitted_calls_return_after_a_server_restart(make_cluster: MakeCluster, tmp_path: Any) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    with made.coordinator() as c:
        c.submit(one)
        waiting = [c.submit(div, 1, i) for i in (0, 2)]
        scheduled = c.schedule(one)
        until(lambda: made.server.get("/api/v1/overview")["closures"]["queued"] == 4, "all are there")
        grpc, http = made.server.grpc, made.server.http.partition("//")[2]
        made.server.kill()
        made.server.start(grpc, http)
        made.add()
        with pytest.raises(ZeroDivisionError):
            waiting[0].fetch(DEADLINE)
        assert waiting[1].fetch(DEADLINE) == 0.5 and scheduled.fetch(DEADLINE) == 1
        c.join(DEADLINE)


# Waits that cannot end.


def test_wait_reports_a_function_that_no_worker_provides(
        cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.coordinator.session_waits.LOOK_EVERY", 0.1)
    c = cluster.coordinator()
    value = c.submit("text.cuont", 1)
    with pytest.raises(muster.WaitTimeout, match="no connected worker provides 'text.cuont'"):
        value.fetch(timeout=1)
    with pytest.raises(muster.WaitTimeout, match="1 closure did not .* 'text.cuont'"):
        c.join(timeout=1)
    said = [r.getMessage() for r in caplog.records if r.name == "muster"]
    assert len(said) == 1 and "no connected worker provides 'text.cuont'" in said[0]


def test_busy_workers_cause_no_warning(
        cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.coordinator.session_waits.LOOK_EVERY", 0.1)
    c = cluster.coordinator()
    with pytest.raises(muster.WaitTimeout, match="RUNNING on worker:|QUEUED"):
        c.submit(wait_until_stopped).fetch(timeout=1)
    assert [r for r in caplog.records if r.name == "muster"] == []
    c.cancel()


def test_wait_reports_an_unreachable_server(
        make_cluster: MakeCluster, caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.coordinator.session_waits.LOOK_EVERY", 0.1)
    made = make_cluster()
    c = made.coordinator()
    value = c.submit(one)
    c.wait_open()
    made.server.kill()
    with pytest.raises(muster.WaitTimeout, match=r"connection to the server at 127.* has been lost for "
                                                 r"[0-9.]+ s; the client tries to reconnect for 60 s"):
        value.fetch(timeout=2)
    with pytest.raises(muster.WaitTimeout, match="has been lost for"):
        c.join(timeout=0.2)
    said = [r.getMessage() for r in caplog.records if r.name == "muster"]
    assert len(said) == 1 and "has been lost for" in said[0]
    made.close_coordinators()
    c = muster.ClusterCoordinator("127.0.0.1:9", connect_timeout=30)
    with pytest.raises(muster.WaitTimeout, match=r"no server has answered at 127.0.0.1:9 for [0-9.]+ s \(.*refused"):
        c.submit(one).fetch(timeout=2)


def test_closure_that_kills_one_worker_after_another_is_named(
        make_cluster: MakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    made = make_cluster()
    made.add("--processes", "2")
    with made.coordinator(max_worker_failures=0) as c:
        value = c.submit("die")
        until(lambda: any("has lost 3 workers" in r.getMessage() for r in caplog.records), "it is named")
        value.cancel()
    (said,) = {r.getMessage() for r in caplog.records if "has lost" in r.getMessage()}
    assert said.startswith("die (closure cl_") and "from now on, it runs alone on its worker" in said


def test_the_cpp_client_is_tested_with_the_same_cases() -> None:
    cases = pathlib.Path(__file__).parents[3] / "tests/conformance/coordinator/submit_test.cpp"
    if not cases.exists():
        pytest.skip("only beside the tests of the C++ client")
    names = re.findall(r"TEST_F\(submit_conformance, (\w+)\)", cases.read_text())
    assert len(names) >= 6
    assert [name for name in names if f"test_{name}" not in globals()] == []
