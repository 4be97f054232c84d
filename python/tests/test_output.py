"""Output and logs of functions: printed by the client while they run, and available on request, also afterwards."""
from __future__ import annotations

import collections
import gc
import io
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, Callable

import pytest

import muster
from conftest import DEADLINE, Cluster, binary, until
from muster._wire.messages import SessionResponse, WorkerMessage
from muster.coordinator import log_lines
from muster.worker.context import Context
from muster.worker.reports import Reports

MakeCluster = Callable[..., Cluster]


def texts(value: Any, level: str) -> list[str]:
    return [line.text for line in value.logs() if line.level == level]


def speaks(count: int, text: str = "line") -> int:
    for i in range(count):
        print(text, i)
    return count


def warns() -> None:
    import logging

    logging.getLogger("my").warning("take care")
    print("to stderr", file=sys.stderr)


def test_lines_are_printed_where_the_client_runs(cluster: Cluster, capfd: Any) -> None:
    c = cluster.coordinator(log_to_driver=True)
    assert c.schedule(speaks, args=(2,)).fetch(20) == 2
    out, err = capfd.readouterr()
    assert [line.partition(" worker:")[0] for line in out.splitlines()] == ["(test_output.speaks"] * 2
    assert [line.partition(") ")[2] for line in out.splitlines()] == ["line 0", "line 1"]
    c.schedule(warns).fetch(20)
    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(line.partition(") ")[2] for line in err.splitlines()) == ["to stderr",
                                                                           "warning: take care"]


def test_lines_are_printed_while_the_function_runs(cluster: Cluster, capfd: Any,
                                                   tmp_path: pathlib.Path) -> None:
    def waits(file: str) -> None:
        print("I wait")
        while not os.path.exists(file):
            time.sleep(0.01)

    c = cluster.coordinator(log_to_driver=True)
    value = c.schedule(waits, args=(str(tmp_path / "go"),))
    until(lambda: "I wait" in capfd.readouterr().out, "it is printed")
    assert not value.done() and texts(value, "stdout") == ["I wait"]
    (tmp_path / "go").touch()
    value.fetch(20)


def prints_of_a_program(words: str, server: str, **environment: str) -> tuple[str, str]:
    """Returns stdout and stderr of a program that has pipes for both."""
    code = f"import muster, sys\ndef says():\n    print('said')\n    print('warned', file=sys.stderr)\n{words}"
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run([sys.executable, "-c", code, server], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": path, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


WAYS_TO_CALL = {
    "coordinator": "with muster.ClusterCoordinator(sys.argv[1]) as c: c.submit(says).fetch(20)",
    "executor": "with muster.Executor(sys.argv[1]) as e: e.submit(says).result(20)",
    "joblib": "import joblib, muster.joblib\nwith joblib.parallel_config(backend='muster', server=sys.argv[1]):\n"
              "    joblib.Parallel(n_jobs=2)([joblib.delayed(says)()])",
    "local cluster": "with muster.LocalCluster(workers=1) as l, l.coordinator() as c: c.submit(says).fetch(20)",
}


@pytest.mark.parametrize("way", WAYS_TO_CALL)
def test_lines_are_printed_into_pipes(cluster: Cluster, way: str) -> None:
    if way == "joblib":
        pytest.importorskip("joblib")
    out, err = prints_of_a_program(WAYS_TO_CALL[way], cluster.server.grpc)
    assert [line.partition(") ")[2] for line in out.splitlines()] == ["said"]
    assert "warned" in [line.partition(") ")[2] for line in err.splitlines()]


def test_lines_are_not_printed_if_printing_is_switched_off(cluster: Cluster, capfd: Any) -> None:
    assert prints_of_a_program(WAYS_TO_CALL["coordinator"], cluster.server.grpc, MUSTER_LOG_TO_DRIVER="0")[0] == ""
    cluster.coordinator(log_to_driver=False).schedule(speaks, args=(1,)).fetch(20)
    assert capfd.readouterr() == ("", "")


def test_unfinished_lines_are_overwritten_on_a_terminal(monkeypatch: Any) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def line(text: str, closure: int = 1, level: int = 4) -> Any:
        return SessionResponse().log.add(text=text, level=level, closure=closure, function="f", worker="worker:0")

    begun, replaced = "\x1b[?7l(f worker:0) 1/2\x1b[?7h\r", "\x1b[K(f worker:0) 2/2\n(f worker:0) end\n"
    for stream, expected in ((Terminal(), begun + replaced),
                             (io.StringIO(), "(f worker:0) 1/2\n(f worker:0) 2/2\n(f worker:0) end\n")):
        monkeypatch.setattr(sys, "stdout", stream)
        log_lines._print([line("1/2\r")], 0)
        log_lines._print([line("2/2"), line("end")], 0)
        assert stream.getvalue() == expected
    shared = Terminal()
    monkeypatch.setattr(sys, "stdout", shared)
    monkeypatch.setattr(sys, "stderr", shared)
    log_lines._print([line("1/2\r"), line("1/2\r", 2), line("2/2")], 0)
    assert shared.getvalue() == begun + "\n" + begun + "\n(f worker:0) 2/2\n"
    shared.truncate(0), shared.seek(0)
    log_lines._print([line("1/2\r"), line("2/2", level=5)], 1)
    assert shared.getvalue() == begun + "\n(muster) … 1 line dropped\n(f worker:0) 2/2\n"


def test_excess_output_is_limited_and_counted_and_delays_no_call(make_cluster: MakeCluster, capfd: Any
                                                                 ) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "2", "--index", "0")
    count = 1_000_000
    c = cluster.coordinator(log_to_driver=True)
    other = cluster.coordinator()
    flood = c.options(task="worker:0").schedule(speaks, args=(count,))
    until(cluster.server.running, "it runs")
    took = []
    while not flood.done():
        began = time.monotonic()
        other.options(task="worker:1").schedule(abs, args=(-1,)).fetch(20)
        c.options(task="worker:1").schedule(abs, args=(-1,)).fetch(20)
        took.append(time.monotonic() - began)
    assert flood.fetch(60) == count and sorted(took)[len(took) // 2] < 0.2
    kept = flood.logs()
    assert 0 < len(kept) <= 5_000 and kept[-1].text == f"line {count - 1}"
    c.close()
    out, err = capfd.readouterr()
    said = [int(line.split()[2]) for line in err.splitlines() if line.startswith("(muster) …")]
    by_worker = [int(line.split()[-3]) for line in err.splitlines()
                 if line.endswith("dropped") and not line.startswith("(muster)")]
    printed = out.count("\n")
    assert printed + sum(by_worker) <= count
    assert printed + sum(said) >= 1000 and sum(said) > 0
    with urllib.request.urlopen(cluster.server.http + "/metrics", timeout=10) as answer:
        (taken,) = re.findall(rb"^muster_log_bytes (\d+)", answer.read(), re.MULTILINE)
    assert 0 < int(taken) < 2 << 20


def test_lines_of_an_ended_session_are_kept(cluster: Cluster) -> None:
    with cluster.coordinator(name="gone") as c:
        value = c.schedule(speaks, args=(3, "stays"))
        value.fetch(20)
        job = c.wait_open()
    assert [(line.level, line.text, line.attempt) for line in value.logs()] == [
        ("stdout", f"stays {i}", 1) for i in range(3)]
    assert value.logs()[0].worker.startswith("worker:") and value.logs().dropped == 0
    assert abs(value.logs()[0].time.timestamp() - time.time()) < 60
    session = cluster.server.get(f"/api/v1/jobs/{job}")
    assert (session["state"], session["name"]) == ("SUCCEEDED", "gone")


def test_many_lines_are_fetched_in_pages(cluster: Cluster) -> None:
    value = cluster.coordinator().schedule(speaks, args=(2_500,))
    assert value.fetch(20) == 2_500
    assert [line.text for line in value.logs()] == [f"line {i}" for i in range(2_500)]


def test_closure_that_has_not_run_has_no_lines(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.options(task="nobody").schedule(speaks, args=(1,))
    assert value.logs() == []
    c.wait_open()
    assert value.logs() == []
    value.cancel()


def test_logs_without_a_server_are_unavailable(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    value = c.schedule(speaks, args=(1,))
    value.fetch(20)
    cluster.server.kill()
    with pytest.raises(muster.UnavailableError):
        value.logs(5)


class Stuck(io.TextIOBase):
    """A terminal that accepts no output until `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.text = ""

    def write(self, text: str) -> int:
        self.go.wait(60)
        self.text += text
        return len(text)


def test_blocked_terminal_delays_no_value(cluster: Cluster, monkeypatch: Any) -> None:
    stuck = Stuck()
    monkeypatch.setattr(sys, "stdout", stuck)
    monkeypatch.setattr(log_lines, "WAITING_MAX", 100)
    c = cluster.coordinator(log_to_driver=True)
    for _ in range(5):
        assert c.schedule(speaks, args=(200,)).fetch(20) == 200
    printer: Any = c._session._printer
    assert len(printer._waiting) <= 100 and printer._dropped > 0
    stuck.go.set()
    until(lambda: "speaks" in stuck.text, "it is printed")


def verb(cluster: Cluster, *words: str) -> str:
    made = subprocess.run([binary(), *words, "--url", cluster.server.http], capture_output=True, text=True,
                          timeout=30)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_ended_program_can_be_queried(make_cluster: MakeCluster, tmp_path: pathlib.Path
                                      ) -> None:
    cluster = make_cluster("--sessions-kept", "2")
    cluster.add("--processes", "1")
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import muster

def fails():
    print("about to fail")
    raise ValueError("no such thing")

c = muster.ClusterCoordinator(sys.argv[1], name="my program", continue_on_error=True, log_to_driver=False)
value = c.schedule(fails)
try:
    value.fetch(20)
except ValueError:
    print(c.wait_open())
c.close()
""")

    def run() -> str:
        made = subprocess.run([sys.executable, str(program), cluster.server.grpc], capture_output=True,
                              text=True, timeout=60, check=True,
                              env={**os.environ, "PYTHONPATH": str(pathlib.Path(muster.__file__).parents[1])})
        assert "about to fail" not in made.stderr + made.stdout
        return made.stdout.strip()

    first, second = run(), run()
    for job in (first, second):
        assert verb(cluster, "logs", job) == "about to fail\n"
        assert "no such thing" in verb(cluster, "explain", job)
    (closure,) = cluster.server.get(f"/api/v1/jobs/{first}/closures")["closures"]
    assert verb(cluster, "logs", closure["id"]) == "about to fail\n"
    assert "no such thing" in verb(cluster, "explain", closure["id"])
    row = next(line for line in verb(cluster, "jobs").splitlines() if line.startswith(first))
    assert "my program" in row and "FAILED" in row and "kept for" not in row
    assert verb(cluster, "logs", first, "--follow") == "about to fail\n"
    third = run()
    assert first not in verb(cluster, "jobs") and third in verb(cluster, "jobs")
    made = subprocess.run([binary(), "logs", first, "--url", cluster.server.http], capture_output=True, text=True,
                          timeout=30)
    assert made.returncode == 1 and "has ended and was removed" in made.stderr


def test_restart_forgets_ended_sessions(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "1")
    with cluster.coordinator() as c:
        value = c.schedule(speaks, args=(1,))
        value.fetch(20)
    assert len(value.logs()) == 1
    grpc, http = cluster.server.grpc, cluster.server.http.partition("//")[2]
    cluster.server.stop()
    cluster.server.start(grpc, http)
    with pytest.raises(muster.UnavailableError, match="has ended and was removed"):
        value.logs()
    assert cluster.server.get("/api/v1/jobs")["jobs"] == []


# Finalizers that print: the garbage collector runs them during any allocation.


class Loud:
    def __init__(self, say: Callable[[], None]) -> None:
        self.itself = self  # so that only the collector can free it
        self.say = say

    def __del__(self) -> None:
        self.say()


def with_loud_garbage(say: Callable[[], None], meanwhile: Callable[[], None], times: int) -> None:
    before = gc.get_threshold()
    try:
        for i in range(times):
            Loud(say)
            gc.set_threshold(1 + i % 30)  # the number of allocations until the next collection
            meanwhile()
    finally:
        gc.set_threshold(*before)
        gc.collect()


def test_finalizer_can_print_while_lines_are_collected() -> None:
    reports = Reports()
    context = Context(1, 1, "worker", 0, 1, "", threading.Event(), reports)
    message = WorkerMessage()

    def say() -> None:
        reports.log(context, 4, "last words")
        reports.progress(context, 0.5, "half")

    def speaks() -> None:
        reports.log(context, 4, "one\ntwo")
        reports.drain(message, time.monotonic(), True)

    thread = threading.Thread(target=with_loud_garbage, args=(say, speaks, 500), daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the thread is in a deadlock"
    reports.drain(message, time.monotonic(), True)
    assert not reports.waiting and reports._bytes == 0
    assert collections.Counter(message.log_text) == {"last words": 500, "one": 500, "two": 500}


def test_finalizer_can_print_in_a_closure(cluster: Cluster) -> None:
    def writes() -> None:
        os.write(1, b"a line\n")
        sys.stdout.write("one\n")  # print() writes the text and the newline separately, and other output may come between them

    def says() -> None:
        sys.stdout.write("last words\n")

    def speaks() -> None:
        with_loud_garbage(says, writes, 500)

    value = cluster.coordinator().schedule(speaks)
    value.fetch(20)
    assert collections.Counter(texts(value, "stdout")) == {"last words": 500, "a line": 500, "one": 500}


def reconfigures() -> tuple[Any, ...]:
    out = sys.stdout
    assert isinstance(out, io.TextIOWrapper)
    out.reconfigure(line_buffering=True, errors="replace")
    print("é reconfigured")
    found = (out.encoding, out.errors, out.line_buffering, out.isatty(), out.newlines, out.closed, out.writable(), out.mode)
    out.reconfigure(write_through=False, line_buffering=False)
    out.write("held back")
    return found


def wraps() -> str:
    with io.TextIOWrapper(sys.stdout.buffer, encoding="latin-1", errors="replace", newline="\r\n") as wrapper:
        wrapper.write("wrapped\n")
    print("after the wrapper was closed")
    sys.stderr.buffer.write(b"bytes\n")
    print("\udc80 lone", file=sys.stderr)
    os.write(sys.stdout.fileno(), b"by descriptor\n")
    return str("x".encode(sys.stderr.encoding, sys.stderr.errors))


def test_streams_are_complete(stream_worker: Cluster) -> None:
    c = stream_worker.coordinator(log_to_driver=False)
    value = c.submit(reconfigures)
    assert value.fetch(20) == ("utf-8", "replace", True, False, None, False, True, "w")
    assert texts(value, "stdout") == ["é reconfigured", "held back"]
    value = c.submit(wraps)
    assert value.fetch(20) == "b'x'"
    assert texts(value, "stdout")[:2] == ["wrapped", "after the wrapper was closed"]
    assert texts(value, "stderr") == ["bytes", "\\udc80 lone"]


@pytest.fixture(params=["--processes", "--threads"])
def stream_worker(request: Any, make_cluster: MakeCluster) -> Cluster:
    cluster = make_cluster()
    cluster.add(request.param, "1")
    return cluster


def draws(file: str, by_subprocess: bool) -> None:
    """Prints a line, then 6,000 redraws of a progress bar; pauses half way until the file exists."""
    if by_subprocess:
        code = f"import sys; sys.path[:0] = {sys.path!r}; import test_output; test_output.draws({file!r}, False)"
        return subprocess.run([sys.executable, "-c", code], check=True) and None
    print("first", flush=True)
    for i in range(6001):
        sys.stdout.write(f"\r{i}/6000")
        sys.stdout.flush()
        while i == 3000 and not os.path.exists(file):
            time.sleep(0.01)
    print("\nlast")
    sys.stdout.write("no newline")


@pytest.mark.parametrize("by_subprocess", [False, True], ids=["function", "subprocess"])
def test_progress_bar_is_one_line_that_is_updated(cluster: Cluster, tmp_path: pathlib.Path, by_subprocess: bool) -> None:
    go = tmp_path / "go"
    value = cluster.coordinator(log_to_driver=False).submit(draws, str(go), by_subprocess)
    until(lambda: texts(value, "stdout") == ["first", "3000/6000"], "the bar is shown while the function runs")
    go.touch()
    value.fetch(20)
    assert texts(value, "stdout") == ["first", "6000/6000", "last", "no newline"]


def test_text_without_a_newline_is_shown_and_completed(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    def asks(file: str) -> None:
        print("step 1 ... ", end="", flush=True)
        while not os.path.exists(file):
            time.sleep(0.01)
        print("done")

    value = cluster.coordinator(log_to_driver=False).submit(asks, str(tmp_path / "go"))
    until(lambda: texts(value, "stdout") == ["step 1 ... "], "it is shown")
    (tmp_path / "go").touch()
    value.fetch(20)
    assert texts(value, "stdout") == ["step 1 ... done"]
