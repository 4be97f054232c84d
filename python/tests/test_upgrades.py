"""Replays recorded messages of older servers and workers to this version's workers and servers. transcripts/record.py
recorded them; docs/upgrade.md states which versions work together."""
from __future__ import annotations

import base64
import json
import pathlib
import queue
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent import futures
from typing import Any, Callable, Iterator

import grpc
import pytest

from conftest import DEADLINE, HERE, Cluster, binary, until
from muster._wire.messages import ServerMessage, WorkerMessage

ATTACH = "/muster.v1.WorkerService/Attach"
TRANSCRIPTS = sorted((HERE / "transcripts").glob("*.json"))


def steps_of(path: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the steps of a transcript, with decoded bytes and the messages that they contain."""
    steps: list[dict[str, Any]] = json.loads(path.read_text())
    for s in steps:
        if "bytes" in s:
            s["bytes"] = base64.b64decode(s["bytes"])
            s["says"] = (WorkerMessage if s["from"] == "worker" else ServerMessage).FromString(s["bytes"])
    return steps


def messages(steps: list[dict[str, Any]], who: str) -> list[Any]:
    return [s["says"] for s in steps if s.get("from") == who]


def test_transcripts_contain_a_held_closure_and_the_first_precede_kept_answers() -> None:
    assert {"0.1-cpp", "0.1-python"} <= {p.stem for p in TRANSCRIPTS}
    for path in TRANSCRIPTS:
        steps = steps_of(path)
        hellos = [m.hello for m in messages(steps, "worker") if m.HasField("hello")]
        assert len(hellos) == 2 and len(hellos[1].held_closure) == 1, "the worker reconnects with the closure that it holds"
        assert not any(h.keeps_answers for h in hellos) or not path.stem.startswith("0.1-")
        welcomes = [m.welcome for m in messages(steps, "server") if m.HasField("welcome")]
        assert list(welcomes[1].kept) == [0]


def essence(result: dict[str, Any]) -> Any:
    failure = result.get("error") or {}
    return (result.get("state"), json.dumps(result.get("value")),
            [failure.get(key) for key in ("kind", "type", "message")])


class OldWorker:
    """Sends the worker's messages of a transcript to a server of this version."""

    def __init__(self, server: str) -> None:
        self._channel = grpc.insecure_channel(server)
        self._call: Any = None
        self._out: queue.Queue[Any] = queue.Queue()
        self._in: queue.Queue[Any] = queue.Queue()
        self._functions: list[str] = []
        self._closures: list[tuple[str, bytes, int, int]] = []  # received, and not yet matched with a step
        self._live: dict[int, tuple[int, int]] = {}  # closure and attempt of this run, by closure of the transcript
        self._stopped: set[int] = set()
        self._welcome: Any = None
        self._drained = False
        self._ended = ""
        self.keeps = False
        self.taken = 0

    def hear(self, until_true: Callable[[], Any]) -> Any:
        while not (found := until_true()):
            m = self._in.get(timeout=DEADLINE)
            if isinstance(m, str):
                self._ended = m
                continue
            if m.HasField("welcome"):
                self._welcome = m.welcome
            for i, closure in enumerate(m.closure):
                self._closures.append((self._functions[m.function[i]], m.args[i], closure, m.attempt[i]))
            self._stopped.update(m.stop_closure)
            self._drained |= m.drain
            self.taken += m.answers_taken
        return found

    def _attach(self) -> None:
        self._out, self._in = queue.Queue(), queue.Queue()
        self._welcome, self._ended = None, ""
        self._call = self._channel.stream_stream(ATTACH)(iter(self._out.get, None))

        def read(call: Any, into: queue.Queue[Any]) -> None:
            try:
                for raw in call:
                    into.put(ServerMessage.FromString(raw))
                into.put("OK")
            except grpc.RpcError as error:
                into.put(f"{error.code()} {error.details()}")

        threading.Thread(target=read, args=(self._call, self._in), daemon=True).start()

    def say(self, raw: bytes, m: Any) -> None:
        if m.HasField("hello"):
            self._functions, self.keeps = list(m.hello.function), m.hello.keeps_answers
            self._attach()
        columns = [(m.closure, m.attempt), (m.started_closure, m.started_attempt),
                   (m.log_closure, m.log_attempt), (m.progress_closure, m.progress_attempt),
                   (m.returned_closure, m.returned_attempt),
                   (m.hello.held_closure, m.hello.held_attempt)]
        named = False
        for closures, attempts in columns:
            for i, closure in enumerate(closures):
                named = True
                closures[i], attempts[i] = self._live[closure]
        self._out.put(m.SerializeToString() if named else raw)

    def expect(self, m: Any) -> None:
        """Checks that the server sends at least the content that it sent in the transcript."""
        if m.HasField("welcome"):
            self.hear(lambda: self._welcome)
            assert list(self._welcome.kept) == list(m.welcome.kept)
            assert self.keeps or not self._welcome.acknowledges, "the old worker keeps no answers"
        for i, closure in enumerate(m.closure):
            wanted = (self._functions[m.function[i]], m.args[i])
            place = self.hear(lambda: [c for c in self._closures if c[:2] == wanted])[0]
            self._closures.remove(place)
            self._live[closure] = place[2:]
        for closure in m.stop_closure:
            self.hear(lambda: self._live[closure][0] in self._stopped)
        if m.drain:
            self.hear(lambda: self._drained)

    def cut(self) -> None:
        self._call.cancel()

    def half_close(self) -> None:
        self._out.put(None)

    def expect_end(self) -> None:
        assert self.hear(lambda: self._ended) == "OK"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "data_dir"])
def test_old_worker_works_with_this_server(path: pathlib.Path, durable: bool, make_cluster: Any,
                                           tmp_path: pathlib.Path) -> None:
    cluster: Cluster = make_cluster(*(["--data-dir", str(tmp_path / "data")] if durable else []))
    server, worker = cluster.server, OldWorker(cluster.server.grpc)
    jobs: list[str] = []
    compared = 0
    for s in steps_of(path):
        if s.get("from") == "worker":
            worker.say(s["bytes"], s["says"])
        elif s.get("from") == "server":
            worker.expect(s["says"])
        elif s.get("do") == "submit":
            jobs.append(server.post("/api/v1/jobs", s["body"])["id"])
        elif s.get("do") == "cancel":
            server.post(f"/api/v1/jobs/{jobs[-1]}/cancel", {})
        elif s.get("do") == "run":
            time.sleep(s["seconds"])  # the server waits for a reconnect for a quarter of its uptime
        elif s.get("do") == "drain":
            server.post("/api/v1/clusters/default/tasks/worker/0/drain", {})
        elif "job" in s:
            url = f"{server.http}/api/v1/jobs/{jobs[s['job']]}/results?wait=true"
            with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
                found = [json.loads(line) for line in answer.read().splitlines()]
            assert list(map(essence, found)) == list(map(essence, s["closures"]))
            compared += len(found)
        elif "cut" in s:
            worker.cut()
        elif s.get("end") == "worker":
            worker.half_close()
        elif s.get("end") == "server":
            worker.expect_end()
    assert compared >= 5
    assert worker.keeps or not worker.taken, "the old worker does not understand acknowledgements"


class OldServer:
    """Sends the server's messages of a transcript to a worker of this version."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._hellos: list[Any] = []
        self._out: queue.Queue[Any] = queue.Queue()
        self._functions: list[str] = []  # by the numbers of the transcript
        self._answers: dict[int, Any] = {}
        self._started: set[int] = set()
        self._told: set[Any] = set()  # lines and progress
        self._half_closed = False
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        handler = grpc.stream_stream_rpc_method_handler(self._attach)
        service, _, method = ATTACH.strip("/").partition("/")
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: handler}),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self) -> None:
        self._server.stop(None)

    def _attach(self, asked: Iterator[bytes], context: Any) -> Iterator[bytes]:
        out: queue.Queue[Any] = queue.Queue()

        def read() -> None:
            try:
                for raw in asked:
                    self._take(WorkerMessage.FromString(raw), out)
            except Exception:
                return  # the stream was cut
            with self._changed:
                self._half_closed = True
                self._changed.notify_all()

        threading.Thread(target=read, daemon=True).start()
        for raw in iter(out.get, None):
            if raw == "cut":
                context.abort(grpc.StatusCode.UNAVAILABLE, "cut")
            yield raw

    def _take(self, m: Any, out: queue.Queue[Any]) -> None:
        with self._changed:
            if m.HasField("hello"):
                self._hellos.append(m.hello)
                self._out = out
            failed = {f.position: f for f in m.failure}
            for i, closure in enumerate(m.closure):
                f = failed.get(i)
                self._answers[closure] = (m.attempt[i], m.value[i],
                                          f and (f.kind, f.type, f.message))
            self._started.update(m.started_closure)
            self._told.update(told(m))
            self._changed.notify_all()

    def _until(self, true: Callable[[], Any], said: str) -> None:
        with self._changed:
            assert self._changed.wait_for(true, DEADLINE), said

    def say(self, raw: bytes, m: Any) -> None:
        theirs = list(self._hellos[-1].function)
        if m.closure and theirs != self._functions:
            for i, number in enumerate(m.function):
                m.function[i] = theirs.index(self._functions[number])
            raw = m.SerializeToString()
        self._out.put(raw)

    def expect(self, m: Any) -> None:
        """Checks that the worker sends at least the content that it sent in the transcript."""
        if m.HasField("hello"):
            before = len(self._hellos)
            again = bool(m.hello.held_closure)
            self._functions = list(m.hello.function)
            self._until(lambda: len(self._hellos) > int(again), "it comes (again)")
            hello = self._hellos[-1]
            assert hello.keeps_answers, "a worker of this version keeps answers"
            held = dict(zip(hello.held_closure, hello.held_attempt))
            then = dict(zip(m.hello.held_closure, m.hello.held_attempt))
            assert held.items() >= then.items(), before
            # An answer that was cut off while it was sent may have arrived without the worker knowing.
            assert held.keys() - then.keys() <= self._answers.keys()
            assert not hello.answers.closure, "without acknowledgements nothing is kept"
        for closure in m.started_closure:
            self._until(lambda: closure in self._started, f"{closure} is started")
        for one in told(m):
            self._until(lambda: one in self._told, f"{one} is reported")
        failed = {f.position: f for f in m.failure}
        for i, closure in enumerate(m.closure):
            self._until(lambda: closure in self._answers, f"{closure} is answered")
            f = failed.get(i)
            assert self._answers[closure] == (m.attempt[i], m.value[i],
                                              f and (f.kind, f.type, f.message))

    def cut(self) -> None:
        self._out.put("cut")

    def end(self) -> None:
        self._out.put(None)

    def expect_half_close(self) -> None:
        self._until(lambda: self._half_closed, "it leaves")


def told(m: Any) -> list[Any]:
    """Returns lines and progress, by closure."""
    return [*zip(m.log_closure, m.log_attempt, m.log_level, m.log_text),
            *zip(m.progress_closure, m.progress_attempt, m.progress_fraction, m.progress_text)]


@pytest.fixture
def old_server() -> Iterator[OldServer]:
    server = OldServer()
    yield server
    server.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_old_server_works_with_this_worker(path: pathlib.Path, old_server: OldServer,
                                           tmp_path: pathlib.Path) -> None:
    words = ([binary(), "worker", "--allow-exec", "--slots", "2"] if path.stem.endswith("-cpp") else
             [sys.executable, "-m", "muster", "worker", "served", "--processes", "1"])
    worker = subprocess.Popen([*words, "--server", old_server.address], cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{HERE}:{HERE.parent}"})
    try:
        for s in steps_of(path):
            if s.get("from") == "worker":
                old_server.expect(s["says"])
            elif s.get("from") == "server":
                old_server.say(s["bytes"], s["says"])
            elif "cut" in s:
                old_server.cut()
            elif s.get("end") == "worker":
                old_server.expect_half_close()
            elif s.get("end") == "server":
                old_server.end()
        assert until(lambda: worker.poll() is not None, "it ends") and worker.returncode == 0
    finally:
        worker.kill()
        worker.wait()
