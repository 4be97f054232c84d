"""Stacks of workers' processes, and the observations kept of finished attempts."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import pytest

import muster
from conftest import DEADLINE, Cluster, Workers, until
from muster.worker import stacks


def _hangs_here(folder: str) -> None:
    pathlib.Path(folder, str(os.getpid())).touch()
    while not pathlib.Path(folder, "on").exists():
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["--processes", "--threads"])
def test_stacks_of_a_worker_are_requested_by_task_or_closure(
        make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path, how: str) -> None:
    c = make_cluster()
    c.add(how, "1")
    client = muster.Client(c.server.http)
    folder = tmp_path / "there"
    folder.mkdir()
    value = c.coordinator().schedule(_hangs_here, args=(str(folder),))
    until(lambda: any(folder.iterdir()))
    told = until(lambda: (found := client.stacks("worker:0"))["closures"] and found)
    assert told["worker"] == "worker:0" and told["state"] == "TAKEN"
    assert "in _hangs_here" in told["stack"] and "0x" not in told["stack"]
    closure = told["closures"][0]["id"]
    assert "in _hangs_here" in client.stacks(closure)["stack"]
    (folder / "on").touch()
    value.fetch(DEADLINE)
    with pytest.raises(muster.MusterError, match="is not running"):
        client.stacks(closure)
    with pytest.raises(muster.MusterError, match="worker:7"):
        client.stacks("worker:7")


def _child(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c",
         f"from muster.worker import stacks\nimport os, signal, sys, time\nstacks.register({stacks.DEFAULT})\n{code}\n"
         "print('up', flush=True)\ntime.sleep(1000)"], stdout=subprocess.PIPE)


def _look(code: str, before: Callable[[int], Any] = lambda pid: None) -> Any:
    with _child(code) as child:
        assert child.stdout and child.stdout.readline()
        before(child.pid)
        try:
            found = stacks.take(child.pid, stacks.DEFAULT)
            assert child.poll() is None, "it was not harmed"
            return found
        finally:
            child.kill()


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    until(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T")


def test_stack_or_the_reason_for_its_absence_is_reported() -> None:
    state, text, word = _look("")
    assert state == stacks.TAKEN and "in <module>" in text and word[0] in "RSD"
    assert _look("", _stop)[0] == stacks.STOPPED
    assert _look("os.closerange(3, 1000)")[0] == stacks.NOT_PYTHON
    assert _look(f"signal.pthread_sigmask(signal.SIG_BLOCK, [{stacks.DEFAULT}])")[0] == stacks.NO_ANSWER
    assert _look("import faulthandler; faulthandler.unregister(%d)" % stacks.DEFAULT)[0] == stacks.NO_ANSWER
    own = "os.closerange(3, 1000); f = os.open('/dev/null', os.O_RDONLY); os.dup2(f, 200)"
    assert _look(own)[0] == stacks.NOT_PYTHON, "the program has a file of its own there"
    assert stacks.take(os.getpid(), 0)[0] == stacks.OFF


def test_stacks_can_be_taken_repeatedly() -> None:
    with _child("") as child:
        assert child.stdout and child.stdout.readline()
        first, second = (stacks.take(child.pid, stacks.DEFAULT) for _ in range(2))
        child.kill()
    assert [first[0], second[0]] == [stacks.TAKEN] * 2
    assert [text.count("<module>") for _, text, _ in (first, second)] == [1, 1], "not the one behind the other"


def test_excess_stack_requests_are_answered_as_busy() -> None:
    go, answers = threading.Event(), []
    asked = stacks.Answering(lambda: go.wait(DEADLINE) and (stacks.TAKEN, "x", ""), 7, answers.append)
    asked.take([1, 2, 3])
    until(lambda: len(answers) == 1)
    go.set()
    until(lambda: len(answers) == 3)
    from muster._wire.messages import WorkerMessage
    found = [WorkerMessage.FromString(a).stack[0] for a in answers]
    assert [a.busy for a in found] == [True, False, False] and found[1].text == "x"


def test_stacks_of_an_attempt_are_kept_with_its_other_observations(
        make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> None:
    c = make_cluster()
    workers = Workers(tmp_path)
    workers.start(c.server)
    code = ("import os, signal, sys, time\nup = sys.argv[1]\n"
            "if os.environ['RANK'] == '0':\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "    open(up, 'w').close()\n    time.sleep(1000)\n"
            "while not os.path.exists(up): time.sleep(0.01)\nsys.exit('oops')")
    try:
        p = muster.launch([sys.executable, "-c", code, str(tmp_path / "up")], tasks=2, grace=0.5,
                          url=c.server.http)
        with pytest.raises(muster.MusterError):
            p.wait(DEADLINE)
        seen = p.attempt(1)
    finally:
        workers.stop()
    assert seen["end"] == "FAILED"
    assert [g["state"] for g in seen["stacks"]] == ["TAKEN"]
    assert "line 6 in <module>" in seen["stacks"][0]["stack"]
    assert [r["task"] for r in seen["ended"]] == ["worker:1", "worker:0"]
    assert seen["ended"][0]["stderr"] == ["oops"]
