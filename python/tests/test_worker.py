"""Workers: functions with names, reports, and the ends of workers and closures."""
from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, until
from muster._wire.messages import ServerMessage, WorkerMessage
from muster.worker import command, gpus
from muster.worker.attachment import SAID_MAX, Attachment
from muster.worker.functions import FunctionTable
from muster.worker.held import Held
from muster.worker.home import Home
from muster.worker.link import ThreadLink
from muster.worker.options import WorkerOptions
from muster.worker.untaken import Untaken
from proxies import Proxy

MakeCluster = Callable[..., Cluster]


@pytest.mark.parametrize("words", [["--slots", "4"], ["--slots=4"], ["--slots"]], ids=" ".join)
def test_slots_are_refused_with_a_hint(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2
    assert "--slots: only 'muster worker' has this flag; use '--processes N'" in capsys.readouterr().err
    assert "--slots" not in command.parser().format_help()


def test_function_with_a_name_takes_and_returns_json(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.schedule("mean", args=([1, 2, 6],)).fetch() == 3
    assert c.schedule("mean", args=([1, 2, 6],), kwargs={"offset": 0.5}).fetch() == 3.5


def test_result_that_is_not_json_is_an_error(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    with pytest.raises(TypeError, match="no_json returned a value that is not JSON"):
        c.schedule("no_json").fetch()


def test_printed_and_logged_text_becomes_lines_of_the_closure(cluster: Cluster) -> None:
    c = cluster.coordinator()
    session = c.wait_open()

    def talk() -> None:
        import logging
        import sys

        print("printed")
        print("without an end", end="")
        sys.stderr.write("to stderr\n")
        logging.info("logged %d", 5)

    kept = c.schedule(talk)
    kept.fetch()
    text = until(lambda: logs_of(cluster, session), "the lines are there")
    for line in ("printed", "without an end", "to stderr", "logged 5"):
        assert line in text


def test_log_lines_have_the_form_of_the_server(make_cluster: MakeCluster) -> None:
    import re

    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    assert worker.stop() == 0
    lines = worker.text().splitlines() + cluster.server.log.read_text().splitlines()
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (info |warning|error) \S"
    assert [line for line in lines if not re.match(form, line)] == []
    assert any("worker:0" in line for line in lines), lines


def logs_of(cluster: Cluster, job: str) -> str:
    with urllib.request.urlopen(f"{cluster.server.http}/api/v1/jobs/{job}/logs", timeout=10) as a:
        return str(a.read().decode())


def test_progress_is_shown_while_a_closure_runs(cluster: Cluster) -> None:
    server = cluster.server
    job = server.post("/api/v1/jobs", {"closures": [{"function": "progress", "args": [30]}]})
    until(lambda: "a quarter" in str(server.get(f"/api/v1/jobs/{job['id']}/closures")),
          "the progress is shown")
    server.post(f"/api/v1/jobs/{job['id']}/cancel", {})
    until(lambda: server.get(f"/api/v1/jobs/{job['id']}")["state"] == "CANCELLED",
          "it is cancelled")


def test_failure_has_class_message_traceback_and_worker(cluster: Cluster) -> None:
    c = cluster.coordinator()
    with pytest.raises(ValueError, match="too few") as caught:
        c.schedule("fail", args=("too few",)).fetch()
    error: Any = caught.value
    assert isinstance(error, muster.ClosureError)
    assert error.kind is muster.FailureKind.USER and error.type == "ValueError"
    assert error.worker.startswith("worker:") and error.attempt == 1
    assert "served.py" in error.remote_traceback and "runner.py" not in error.remote_traceback


def test_death_of_a_process_counts_as_a_loss_and_it_is_replaced(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    c = cluster.coordinator(continue_on_error=True, max_worker_failures=3)
    with pytest.raises(muster.AbortedError, match="3 workers were lost"):
        c.schedule("die", args=("signal",)).fetch(20)
    assert "was killed by SIGSEGV" in worker.text()
    assert c.schedule("mean", args=([4],)).fetch(20) == 4


@pytest.mark.parametrize("number, named", [(9, "SIGKILL, perhaps out of memory"), (11, "SIGSEGV")])
def test_last_failure_names_the_signal(make_cluster: MakeCluster, number: int, named: str
                                       ) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2")
    c = cluster.coordinator(continue_on_error=True, max_worker_failures=3)
    session = c.wait_open()

    def die(number: int, of: object) -> None:
        import os
        import signal

        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    value = c.schedule(die, args=(number, c.schedule(int)))
    behind = [c.schedule(int) for _ in range(20)]
    with pytest.raises(muster.AbortedError, match=rf"3 workers.*its process \d+ was killed by {named}"
                       ) as caught:
        value.fetch(20)
    assert caught.value.kind is muster.FailureKind.WORKER_LOST and caught.value.attempt >= 3
    assert value.status is muster.RemoteValueStatus.ABORTED
    assert c.fetch(behind, 20) == [0] * 20
    until(lambda: logs_of(cluster, session).count(named) >= 3, "the attempts say it")


def test_session_can_allow_more_losses(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def die_often() -> int:
        import os

        if muster.context().attempt < 5:
            os._exit(7)
        return muster.context().attempt

    assert cluster.coordinator(max_worker_failures=0).schedule(die_often).fetch(20) == 5
    with pytest.raises(muster.AbortedError, match="2 workers.*exited with status 7"):
        cluster.coordinator(max_worker_failures=2).schedule(die_often).fetch(20)


def test_closure_that_loses_its_process_once_runs_again(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def die_once() -> int:
        import os

        if muster.context().attempt == 1:
            os._exit(7)
        return muster.context().attempt

    assert cluster.coordinator().schedule(die_once).fetch(20) == 2


def test_cancelled_function_is_interrupted(cluster: Cluster) -> None:
    c = cluster.coordinator()
    running = c.schedule(time.sleep, args=(60,))
    until(cluster.server.running, "it runs")
    began = time.monotonic()
    running.cancel()
    with pytest.raises(muster.CancelledError):
        running.fetch(20)
    assert time.monotonic() - began < 10


def test_closure_that_ignores_cancellation_is_killed_and_others_are_not_blamed(make_cluster: MakeCluster
                                                                       ) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1", "--stop-grace", "500ms")
    c = cluster.coordinator()
    running = c.schedule("deaf", args=(60,))
    behind = c.schedule("mean", args=([1],))
    until(cluster.server.running, "it runs")
    running.cancel()
    with pytest.raises(muster.CancelledError, match="did not stop within 0.5 s"):
        running.fetch(20)
    assert behind.fetch(20) == 1
    assert "killed: it did not stop" in worker.text()


def test_sigterm_lets_running_closures_finish(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "2")
    c = cluster.coordinator()
    values = [c.schedule(time.sleep, args=(0.5,)) for _ in range(2)]
    until(lambda: cluster.server.running() == 2, "both run")
    assert worker.stop() == 0
    assert c.fetch(values, 5) == [None, None]


def test_worker_reconnects_after_a_server_restart(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2")
    server = cluster.server
    grpc, http = server.grpc, server.http.partition("//")[2]
    server.kill()
    server.start(grpc, http)
    cluster.wait_connected(2)
    assert cluster.coordinator().schedule("mean", args=([4],)).fetch(20) == 4


def test_threads_share_a_process(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "4")
    c = cluster.coordinator()

    def who() -> tuple[int, str]:
        import os
        import threading

        time.sleep(0.2)
        print("a line of a thread")
        return os.getpid(), threading.current_thread().name

    began = time.monotonic()
    found = c.fetch([c.schedule(who) for _ in range(4)])
    assert len({pid for pid, _ in found}) == 1 and len({name for _, name in found}) == 4
    assert time.monotonic() - began < 0.7


def test_module_that_cannot_be_imported_is_reported(cluster: Cluster) -> None:
    made = subprocess.run([sys.executable, "-m", "muster", "worker", "no_such_module", "--server",
                           cluster.server.grpc, "--processes", "1"], capture_output=True, text=True,
                          timeout=30)
    assert made.returncode == 1
    assert "ModuleNotFoundError: No module named 'no_such_module'" in made.stderr


def test_exception_in_a_module_is_reported_with_its_line(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    (tmp_path / "raises.py").write_text("a = 1\nb = a / 0\n")
    made = subprocess.run([sys.executable, "-m", "muster", "worker", "raises", "--server",
                           cluster.server.grpc, "--processes", "1"], capture_output=True, text=True,
                          timeout=30, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert made.returncode == 1
    assert f"ZeroDivisionError: division by zero ({tmp_path}/raises.py, line 2)" in made.stderr


@pytest.mark.parametrize("words, said", [
    (["--processes", "0"], "processes, threads: must be at least 1"),
    (["--nope"], "unrecognized arguments: --nope"),
    (["--ca", "/nowhere/ca.pem"], "ca: [Errno 2] No such file or directory: '/nowhere/ca.pem'"),
    (["--token-file", "/nowhere/token"], "--token-file /nowhere/token: No such file or directory"),
    (["--token-file", "/dev/null"], "--token-file /dev/null: its first line is empty"),
])
def test_wrong_arguments_are_reported_in_one_line(words: list[str], said: str) -> None:
    made = subprocess.run([sys.executable, "-m", "muster", "worker", *words],
                          capture_output=True, text=True, timeout=30)
    assert made.returncode == 2
    assert made.stderr == f"python -m muster worker: {said} (see 'python -m muster worker --help')\n"


def test_unreachable_server_is_logged_once(caplog: Any, monkeypatch: Any) -> None:
    tries = 0
    ended = Attachment._ended

    def counted(self: Attachment, error: Any, server: str) -> None:
        nonlocal tries
        ended(self, error, server)
        tries += 1

    monkeypatch.setattr(Attachment, "_ended", counted)
    options = WorkerOptions(["127.0.0.1:1"], backoff_min=0.01, backoff_max=0.02)
    attachment = Attachment(0, options, lambda _, on_message: ThreadLink(
        FunctionTable({}, True), 1, os.getpid(), on_message, 64, Home(())))
    running = threading.Thread(target=attachment.run)
    running.start()
    until(lambda: tries > 3, "it has tried again")
    attachment.leave()
    running.join(20)
    (said,) = [r.getMessage() for r in caplog.records if r.name == "muster.worker"]
    assert said.startswith("worker:0: no connection to 127.0.0.1:1: ") and said.endswith("until the server answers")
    attachment._said.clear()
    for i in range(SAID_MAX + 1):
        attachment._say(f"reason {i}")
    told = [r.getMessage() for r in caplog.records if "reason" in r.getMessage()]
    assert told == [f"worker:0: reason {i}" for i in range(SAID_MAX)]


def test_addresses_are_split_at_commas() -> None:
    assert WorkerOptions(["127.0.0.1:1,127.0.0.1:2", "[::1]:3"]).servers == ["127.0.0.1:1", "127.0.0.1:2", "[::1]:3"]


def test_worker_pauses_once_for_all_addresses(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    options = WorkerOptions(["127.0.0.1:1", "127.0.0.1:2", cluster.server.grpc], backoff_min=600.0, backoff_max=600.0)
    attachment = Attachment(0, options, lambda _, on_message: ThreadLink(
        FunctionTable({}, True), 1, os.getpid(), on_message, 64, Home(())))
    running = threading.Thread(target=attachment.run, daemon=True)
    running.start()
    until(lambda: attachment._welcomed, "it is attached")
    attachment.leave()
    running.join(20)


def test_closures_that_waited_for_acknowledgements_run_after_the_stream_broke(make_cluster: MakeCluster,
                                                                              monkeypatch: Any) -> None:
    cluster = make_cluster()
    proxy = Proxy(cluster.server.grpc)
    is_full = True
    monkeypatch.setattr(Untaken, "full", property(lambda _: is_full))
    attachment = Attachment(0, WorkerOptions([proxy.address], backoff_min=0.01), lambda _, on_message: ThreadLink(
        FunctionTable({"seven": lambda: 7}, True), 1, os.getpid(), on_message, 64, Home(())))
    running = threading.Thread(target=attachment.run, daemon=True)
    running.start()
    try:
        value = cluster.coordinator().submit("seven")
        until(lambda: any(message.closure for _, message, _ in list(attachment._parked)), "the closure waits")
        is_full = False
        proxy.reset()
        assert value.fetch(20) == 7
    finally:
        attachment.leave()
        running.join(20)
        proxy.close()


def test_worker_reads_several_addresses_from_the_environment(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = subprocess.Popen(
        [sys.executable, "-m", "muster", "worker", "--processes", "1"], stderr=subprocess.DEVNULL,
        env={**os.environ, "MUSTER_SERVER": f"127.0.0.1:1,{cluster.server.grpc}"})
    try:
        cluster.wait_connected(1)
    finally:
        worker.terminate()
        assert worker.wait(30) == 0


def test_resources_and_gpus_are_shared_out(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--gpus", "4,5")
    c = cluster.coordinator().options(resources={"gpu": 1})

    def visible() -> str:
        import os

        time.sleep(0.3)
        return os.environ["CUDA_VISIBLE_DEVICES"]

    assert sorted(v.fetch(20) for v in [c.schedule(visible), c.schedule(visible)]) == ["4", "5"]


def fake_nvidia_smi(folder: pathlib.Path, monkeypatch: Any, text: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_gpus_are_found_with_nvidia_smi(make_cluster: MakeCluster, tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, "[ $1 = -L ] && for i in 0 1 2; do "
                    "echo \"GPU $i: NVIDIA A100 (UUID: GPU-$i)\"; done")
    cluster = make_cluster()
    cluster.add("--processes", "4", "--index", "0")
    c = cluster.coordinator()
    values = [c.options(task=f"worker:{i}").schedule(os.getenv, args=("CUDA_VISIBLE_DEVICES",))
              for i in range(4)]
    assert c.fetch(values, 20) == ["0", "1", "2", ""]
    with_one = c.options(resources={"gpu": 1}).schedule(os.getenv, args=("CUDA_VISIBLE_DEVICES",))
    assert with_one.fetch(20) in ("0", "1", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    other = make_cluster()
    other.add("--processes", "1")
    assert other.server.tasks()[0].get("resources", {}) == {}


def test_gpus_are_found_by_driver_and_environment(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    fake_nvidia_smi(tmp_path, monkeypatch, "echo 'driver not loaded'; exit 9")
    monkeypatch.setattr(gpus, "DRIVER", str(tmp_path / "none"))
    assert gpus.visible() == []
    (tmp_path / "none" / "0000:01:00.0").mkdir(parents=True)
    monkeypatch.setattr(gpus.os.path, "exists", lambda path: path == "/dev/nvidia0")
    assert gpus.visible() == ["0"]
    for named, found in (("", []), ("-1", []), ("2, 5", ["2", "5"]), ("GPU-a,-1,3", ["GPU-a"])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
        assert gpus.visible() == found


@contextlib.contextmanager
def own_worker(cluster: Cluster, **options: Any) -> Iterator[muster.Worker]:
    """Runs a worker of the job "own" in this process."""
    worker = muster.Worker(cluster.server.grpc, job="own", **options)
    worker.function("twice", lambda x: 2 * x)
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(worker.run()))
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(20)
    assert ended == [0]


def test_worker_object_serves_its_own_functions(cluster: Cluster) -> None:
    with own_worker(cluster, threads=1):
        assert cluster.coordinator().schedule("twice", args=(21,)).fetch(20) == 42


def test_running_closure_continues_after_a_broken_connection(cluster: Cluster) -> None:
    def slow() -> int:
        time.sleep(3)
        return muster.context().attempt

    with own_worker(cluster, processes=1) as worker:
        value = cluster.coordinator().options(task="own").schedule(slow)
        until(cluster.server.running, "it runs")
        time.sleep(2)  # the server waits for a quarter of the time that it has run
        worker._attachments[0]._call.cancel()
        assert value.fetch(20) == 1


def test_unwanted_answers_are_omitted() -> None:
    held = Held()
    held.sent(ServerMessage(closure=[1, 2], attempt=[1, 4]))
    said = WorkerMessage(closure=[1, 2, 3], attempt=[1, 3, 1], value=[b"a", b"", b"c"],
                         execution_us=[1, 2, 3], returned_closure=[2], returned_attempt=[3],
                         log_closure=[1], log_text=["kept"])
    said.failure.add(position=1)
    assert not held.wanted(said)
    left = held.only_wanted(said)
    assert (list(left.closure), list(left.value), len(left.failure)) == ([1], [b"a"], 0)
    assert not left.returned_closure and list(left.log_text) == ["kept"]
    held.answered(left, left.SerializeToString())
    assert held.attempts == {2: 4}
    assert not held.wanted(WorkerMessage(closure=[2], attempt=[3], value=[b""], execution_us=[1])), "an older attempt"


def test_cancelled_queued_closure_does_not_run() -> None:
    go_on, done = threading.Event(), threading.Event()
    ran: list[int] = []

    def said(data: bytes) -> None:
        if 3 in WorkerMessage.FromString(data).closure:
            done.set()

    link = ThreadLink(FunctionTable({"waits": lambda n: go_on.wait(20), "runs": ran.append}, False), 1, 1, said, 0, Home(()))
    try:
        for closure, function in (1, 0), (2, 1), (3, 1):
            link.deliver(b"", ServerMessage(closure=[closure], attempt=[1], function=[function], args=[b"[%d]" % closure]),
                         [b"[%d]" % closure])
        link.deliver(b"", ServerMessage(stop_closure=[2], stop_attempt=[1]), [])
        go_on.set()
        assert done.wait(20)
        assert ran == [3]
    finally:
        go_on.set()
        link.close()


def test_thread_that_monitors_closures_notices_each_new_closure() -> None:
    told: list[int] = []
    go_on = threading.Event()
    link = ThreadLink(FunctionTable({"waits": go_on.wait}, False), 1, 1,
                      lambda data: told.extend(WorkerMessage.FromString(data).started_closure), 0, Home(()))
    comes = ServerMessage(closure=[1], attempt=[1], function=[0], args=[b"[20]"])

    class JustBefore(threading.Event):
        """Delivers a closure just before the event is cleared."""

        def clear(self) -> None:
            link._busy = was
            link.deliver(b"", comes, [b"[20]"])
            was.clear()

    was, link._busy = link._busy, JustBefore()
    link._busy.set()
    was.set()  # wakes the monitoring thread, which waits for this event
    try:
        until(lambda: told == [1], "the worker reports that it runs")
    finally:
        go_on.set()
        link.close()
