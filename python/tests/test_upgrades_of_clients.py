"""Replays recorded sessions of older client programs: the client's messages to this version's server, and the server's
messages to this version's clients in C++ and Python. See transcripts/record.py; docs/upgrade.md states which versions work
together."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
from concurrent import futures
from typing import Any, Callable, Iterator

import grpc
import pytest

from conftest import DEADLINE, HERE, binary, until
from muster._wire.messages import SessionRequest, SessionResponse

SERVICE, METHOD = "muster.v1.CoordinatorService", "Session"
TRANSCRIPTS = sorted((HERE / "transcripts" / "sessions").glob("*.json"))
PICKLES = "python:%d.%d" % sys.version_info[:2]


def steps_of(path: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the steps of a transcript, with decoded bytes and the messages that they contain."""
    steps: list[dict[str, Any]] = json.loads(path.read_text())
    for s in steps:
        if "bytes" in s:
            s["bytes"] = base64.b64decode(s["bytes"])
            s["says"] = (SessionRequest if s["from"] == "client" else SessionResponse).FromString(s["bytes"])
    return steps


def printed(steps: list[dict[str, Any]]) -> list[str]:
    return [s["printed"] for s in steps if "printed" in s]


def failures(m: Any) -> dict[int, tuple[int, str, str]]:
    """Returns failures by position. When a cancel arrives, a worker's thread may not have started the call. The worker then uses
    another text for the same failure; this text is replaced, because the client did nothing different."""
    return {f.position: (f.kind, f.type, "cancelled" if f.message == "cancelled before it started" else f.message)
            for f in m.failure}


def here(function: str) -> str:
    """Returns the function for this interpreter. Callables are names of the standard library, which all versions can read."""
    return PICKLES if function.startswith("python:") else function


def test_transcripts_contain_a_cut_an_error_and_the_common_requests() -> None:
    assert {"0.1-coordinator-cpp", "0.1-coordinator-python", "0.1-session-cpp"} <= {p.stem for p in TRANSCRIPTS}
    for path in TRANSCRIPTS:
        steps = steps_of(path)
        asked = [s["says"] for s in steps if s.get("from") == "client"]
        assert any(m.HasField("open") for m in asked) and any(failures(s["says"]) for s in steps
                                                               if s.get("from") == "server")
        resumed = [m.open.resume for m in asked if m.open.resume]
        assert len(resumed) == sum("cut" in s for s in steps) == ("coordinator" in path.stem)
        assert not path.stem.startswith("0.1-") or not any(m.callable for m in asked), "version 0.1 sends no names of callables"


class OldClient:
    """Sends the client's messages of a transcript to a server of this version."""

    def __init__(self, server: str) -> None:
        self._channel = grpc.insecure_channel(server)
        self._call: Any = None
        self._out: queue.Queue[Any] = queue.Queue()
        self._in: queue.Queue[Any] = queue.Queue()
        self._opened: Any = None
        self._session = ""
        self._outcomes: dict[int, Any] = {}
        self._notices: list[tuple[int, int]] = []
        self._built: dict[int, int] = {}  # handles of this run, by handles of the transcript
        self._created: dict[int, Any] = {}
        self._ended = ""

    def _hear(self, what: Callable[[], Any]) -> Any:
        while not (found := what()):
            m = self._in.get(timeout=DEADLINE)
            if isinstance(m, str):
                self._ended = m
                continue
            if m.HasField("opened"):
                self._opened = m.opened
            failed = failures(m)
            encodings = m.encoding or [0] * len(m.token)
            for i, token in enumerate(m.token):
                self._outcomes[token] = (m.value[i], encodings[i], failed.get(i),
                                         bool(m.closure and m.closure[i]))
            self._notices += [(n.kind, n.generation) for n in m.notice]
            self._created.update({p.token: p for p in m.per_worker})
        return found

    def _attach(self) -> None:
        self._out, self._in = queue.Queue(), queue.Queue()
        self._opened, self._ended = None, ""
        self._call = self._channel.stream_stream(f"/{SERVICE}/{METHOD}")(iter(self._out.get, None))

        def read(call: Any, into: queue.Queue[Any]) -> None:
            try:
                for raw in call:
                    into.put(SessionResponse.FromString(raw))
                into.put("OK")
            except grpc.RpcError as error:
                into.put(f"{error.code()} {error.details()}")

        threading.Thread(target=read, args=(self._call, self._in), daemon=True).start()

    def say(self, raw: bytes, m: Any) -> None:
        same = True
        if m.HasField("open"):
            self._attach()
            if m.open.resume:
                m.open.resume, m.open.resume_incarnation = self._session, self._incarnation
                same = False
        for i, function in enumerate(m.function_name):
            same &= here(function) == function
            m.function_name[i] = here(function)
        for there, handle in self._built.items():
            for i, args in enumerate(m.args):
                m.args[i] = args.replace(b"pw_%016x" % there, b"pw_%016x" % handle)
        for i in m.input:
            assert not i.closure, "transcripts have no handles of other clients"
            if i.per_worker:
                i.per_worker, same = self._built[i.per_worker], False
        for i, there in enumerate(m.release_per_worker):
            m.release_per_worker[i], same = self._built[there], False
        self._out.put(raw if same else m.SerializeToString())

    def expect(self, m: Any) -> None:
        """Checks that the server sends at least the content that it sent in the transcript."""
        if m.HasField("opened"):
            opened = self._hear(lambda: self._opened)
            assert opened.session == (self._session or opened.session) and opened.session
            assert opened.generation == m.opened.generation
            assert opened.queue_capacity == m.opened.queue_capacity
            assert opened.session_grace_ms == m.opened.session_grace_ms
            self._session, self._incarnation = opened.session, opened.server_incarnation
        failed = failures(m)
        encodings = m.encoding or [0] * len(m.token)
        for i, token in enumerate(m.token):
            outcome = self._hear(lambda: self._outcomes.get(token))
            if not m.closure:  # no closure has the token, so it can be used again
                del self._outcomes[token]
            assert outcome == (m.value[i], encodings[i], failed.get(i), bool(m.closure and m.closure[i]))
        for n in m.notice:
            self._hear(lambda: (n.kind, n.generation) in self._notices)
        for p in m.per_worker:
            created = self._hear(lambda: self._created.get(p.token))
            assert created.value and not created.HasField("failure")
            self._built[p.value] = created.value

    def cut(self) -> None:
        self._call.cancel()

    def half_close(self) -> None:
        self._out.put(None)

    def expect_end(self) -> None:
        assert self._hear(lambda: self._ended) == "OK"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "data_dir"])
def test_old_client_works_with_this_server(path: pathlib.Path, durable: bool, make_cluster: Any,
                                           tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    monkeypatch.setenv("MUSTER_TESTS_BEGUN", str(begun))
    pauses = 0
    cluster = make_cluster(*(["--data-dir", str(tmp_path / "data")] if durable else []))
    server = cluster.server
    if path.stem.endswith("-python"):
        cluster.add("--processes", "2")
        worker = None
    else:
        worker = subprocess.Popen([binary(), "worker", "--slots", "2", "--server", server.grpc])
    try:
        until(cluster.connected, "a worker is attached")
        client = OldClient(server.grpc)
        for s in steps_of(path):
            if s.get("from") == "client":
                client.say(s["bytes"], s["says"])
            elif s.get("from") == "server":
                client.expect(s["says"])
            elif s.get("printed", "").startswith("PAUSE"):
                pauses += 1
                until(server.running, "it is started")
                # A process of a Python worker may not have started the call, and the cancel would arrive before its start.
                until(lambda: worker or len(list(begun.iterdir())) >= pauses, "it has begun")
            elif "cut" in s:
                client.cut()
            elif s.get("end") == "client":
                client.half_close()
            elif s.get("end") == "server":
                client.expect_end()
    finally:
        if worker:
            worker.kill()
            worker.wait()


class OldServer:
    """Sends the server's messages of a transcript to a client of this version."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._opens: list[Any] = []
        self._streams: list[queue.Queue[Any]] = []
        self._names: list[str] = []
        self._names_then: list[str] = []
        self._closures: dict[int, Any] = {}  # by token
        self._created: dict[int, str] = {}
        self._released: set[int] = set()
        self._cancels = self._closes = self._half_closes = 0
        self._cancels_then = 0
        self._cancelled: set[int] = set()
        self._session = ""
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        handler = grpc.stream_stream_rpc_method_handler(self._attach)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def close(self) -> None:
        self._server.stop(None)

    def _attach(self, asked: Iterator[bytes], context: Any) -> Iterator[bytes]:
        out: queue.Queue[Any] = queue.Queue()

        def read() -> None:
            try:
                for raw in asked:
                    self._take(SessionRequest.FromString(raw), out)
            except Exception:
                return  # the stream was cut
            with self._changed:
                self._half_closes += 1
                self._changed.notify_all()

        threading.Thread(target=read, daemon=True).start()
        for raw in iter(out.get, None):
            if raw == "cut":
                context.abort(grpc.StatusCode.UNAVAILABLE, "cut")
            yield raw

    def _take(self, m: Any, out: queue.Queue[Any]) -> None:
        with self._changed:
            if m.HasField("open"):
                self._opens.append(m.open)
                self._streams.append(out)
                self._names = []
                if m.open.resume:
                    self._released |= set(self._closures) - set(m.open.resume_token)
            self._names.extend(m.function_name)
            self._closures.update(closures_of(m, self._names))
            self._created.update({p.token: p.name for p in m.per_worker})
            self._released.update(m.release_token)
            self._cancelled.update(m.cancel_token)
            self._cancels += m.cancel
            self._closes += m.close
            self._changed.notify_all()

    def _until(self, true: Callable[[], Any], said: str) -> None:
        with self._changed:
            assert self._changed.wait_for(true, DEADLINE), said

    def say(self, raw: bytes) -> None:
        self._streams[-1].put(raw)

    def expect(self, m: Any) -> None:
        """Checks that the client sends at least the content that it sent in the transcript."""
        if m.HasField("open"):
            self._names_then = []
            number = 1 + bool(m.open.resume)
            self._until(lambda: len(self._opens) >= number, "it comes (again)")
            o = self._opens[-1]
            assert (o.resume, o.resume_incarnation) == (m.open.resume, m.open.resume_incarnation)
            assert (o.name, o.hold_values, o.continue_on_error, o.cluster) == (
                m.open.name, m.open.hold_values, m.open.continue_on_error, m.open.cluster)
            assert set(m.open.resume_token) <= set(o.resume_token)
            assert list(o.resume_per_worker) == list(m.open.resume_per_worker)
        self._names_then.extend(m.function_name)
        for token, closure in closures_of(m, self._names_then).items():
            self._until(lambda: self._closures.get(token) == closure, f"{token} comes as {closure}")
        for p in m.per_worker:
            self._until(lambda: self._created.get(p.token) == p.name, f"{p.name} comes")
        for token in m.release_token:
            self._until(lambda: token in self._released, f"{token} is released")
        for token in m.cancel_token:
            self._until(lambda: token in self._cancelled, f"{token} is cancelled")
        if m.cancel:
            self._cancels_then += 1
            self._until(lambda: self._cancels >= self._cancels_then, "it cancels")
        if m.close:
            self._until(lambda: self._closes, "it closes")

    def cut(self) -> None:
        self._streams[-1].put("cut")

    def end(self) -> None:
        self._streams[-1].put(None)

    def expect_half_close(self) -> None:
        self._until(lambda: self._half_closes, "it leaves")


def closures_of(m: Any, names: list[str]) -> dict[int, Any]:
    """Returns closures by token. Of callables only the name is included, not the pickle."""
    inputs: dict[int, list[Any]] = {}
    for i in m.input:
        inputs.setdefault(i.position, []).append((i.token, i.per_worker))
    found = {}
    for i, token in enumerate(m.token):
        function = here(names[m.function[i]])
        options = m.options[m.options_of[i] - 1].SerializeToString() if m.options_of and m.options_of[i] else b""
        found[token] = (function, b"" if function == PICKLES else m.args[i], options, inputs.get(i),
                        m.generation)
    return found


@pytest.fixture
def old_server() -> Iterator[OldServer]:
    server = OldServer()
    yield server
    server.close()


def program_of(path: pathlib.Path, server: str) -> list[str]:
    kind, _, language = path.stem.partition("-")[2].rpartition("-")
    if language == "python":
        return [sys.executable, str(HERE / "transcripts" / "client.py"), server]
    built = str(pathlib.Path(binary()).with_name("transcript_client"))
    if not os.path.exists(built):
        assert os.environ.get("CI") != "true", f"there is no {built}: build transcript_client"
        pytest.skip(f"there is no {built}: build transcript_client")
    return [built, server, kind]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_old_server_works_with_this_client(path: pathlib.Path, old_server: OldServer) -> None:
    steps = steps_of(path)
    client = subprocess.Popen(program_of(path, old_server.address), text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(HERE.parent)})
    assert client.stdin and client.stdout
    said: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert client.stdout
        for line in client.stdout:
            said.put(line.rstrip("\n"))

    threading.Thread(target=read, daemon=True).start()
    try:
        waits = False
        for s in steps:
            if waits and "cut" not in s:
                waits = go_on(client)
            if s.get("from") == "client":
                old_server.expect(s["says"])
            elif s.get("from") == "server":
                old_server.say(s["bytes"])
            elif "printed" in s:
                assert said.get(timeout=DEADLINE) == s["printed"]
                waits = s["printed"].startswith("PAUSE")
            elif "cut" in s:
                old_server.cut()
                waits = go_on(client)
            elif s.get("end") == "client":
                old_server.expect_half_close()
            elif s.get("end") == "server":
                old_server.end()
        assert client.wait(DEADLINE) == 0
    finally:
        client.kill()
        client.wait()


def go_on(client: Any) -> bool:
    client.stdin.write("\n")
    client.stdin.flush()
    return False
