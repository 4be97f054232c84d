"""Records the messages between a server and a worker of one version: once for each release, with the program and package
of that release.

  record.py MUSTER SOURCE_OF_THE_PACKAGE NAME [cpp|python|sessions]    writes NAME-cpp.json, NAME-python.json and
                                                                      sessions/NAME-*.json

`sessions` also needs transcript_client beside MUSTER: tests/client/transcript_client.cpp built with the library of that
release. A proxy between both sides records every message as bytes; see scenario.py for the format.
"""
from __future__ import annotations

import base64
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from typing import Any, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path.insert(0, sys.argv[2])

import grpc

from conftest import Server, until
from muster._wire.messages import WorkerMessage
from transcripts import scenario

HERE = pathlib.Path(__file__).parent
MUSTER, PACKAGE, NAME = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
KINDS = sys.argv[4:] or ["cpp", "python", "sessions"]
os.environ["MUSTER_BINARY"] = MUSTER
ATTACH = "/muster.v1.WorkerService/Attach"
SESSION = "/muster.v1.CoordinatorService/Session"


class Proxy:
    """A proxy for one method, which `who` calls."""

    def __init__(self, server: str, asks: str = ATTACH, who: str = "worker") -> None:
        self._asks, self._who = asks, who
        self.steps: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.streams = 0
        self._channel = grpc.insecure_channel(server)
        self._call: Any = None
        self._over = threading.Event()  # set when the newest stream was cut, or ended by the server
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        handler = grpc.stream_stream_rpc_method_handler(self._attach)
        service, _, method = asks.strip("/").partition("/")
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: handler}),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def say(self, step: dict[str, Any]) -> None:
        with self.lock:
            self.steps.append(step)

    def _message(self, who: str, raw: bytes) -> None:
        if raw:  # heartbeats contain nothing to record
            self.say({"from": who, "bytes": base64.b64encode(raw).decode()})

    def _attach(self, asked: Iterator[bytes], context: Any) -> Iterator[bytes]:
        forward: queue.Queue[Any] = queue.Queue()
        self._over = over = threading.Event()

        def read() -> None:
            try:
                for raw in asked:
                    self._message(self._who, raw)
                    forward.put(raw)
                if not over.is_set():
                    self.say({"end": self._who})
            except Exception:
                pass  # the stream was cut
            forward.put(None)

        threading.Thread(target=read, daemon=True).start()
        self._call = call = self._channel.stream_stream(self._asks)(iter(forward.get, None))
        self.streams += 1
        try:
            for raw in call:
                self._message("server", raw)
                yield raw
            over.set()
            self.say({"end": "server"})
        except grpc.RpcError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "cut")

    def cut(self) -> None:
        self._over.set()
        self.say({"cut": True})
        self._call.cancel()

    def started(self, since: int) -> bool:
        with self.lock:
            steps = self.steps[since:]
        return any(s.get("from") == "worker" and
                   WorkerMessage.FromString(base64.b64decode(s["bytes"])).started_closure
                   for s in steps)


def outcome(server: Server, job: str) -> list[Any]:
    import urllib.request
    with urllib.request.urlopen(f"{server.http}/api/v1/jobs/{job}/results?wait=true", timeout=60) as a:
        return [json.loads(line) for line in a.read().splitlines()]


def record(kind: str, steps: list[dict[str, Any]], words: list[str], folder: pathlib.Path) -> None:
    server = Server(folder)
    proxy = Proxy(server.grpc)
    # Tracebacks contain the location of the package's sources.
    shutil.copytree(pathlib.Path(PACKAGE) / "muster", folder / "muster")
    shutil.copy(HERE.parent / "served.py", folder)
    worker = subprocess.Popen([*words, "--server", f"127.0.0.1:{proxy.port}"], cwd=folder,
                              env={**os.environ, "PYTHONPATH": str(folder)})
    until(lambda: server.tasks() and server.tasks()[0]["state"] == "CONNECTED", "it is attached")
    jobs: list[str] = []
    began = 0
    for step in steps:
        what = step["do"]
        if what in ("submit", "cancel", "run", "drain"):
            proxy.say(step)
        if what == "submit":
            began = len(proxy.steps)
            jobs.append(server.post("/api/v1/jobs", step["body"])["id"])
        elif what == "result":
            proxy.say({"job": len(jobs) - 1, "closures": outcome(server, jobs[-1])})
        elif what == "started":
            until(lambda: proxy.started(began), "it is started")
        elif what == "cancel":
            server.post(f"/api/v1/jobs/{jobs[-1]}/cancel", {})
        elif what == "run":
            time.sleep(step["seconds"])
        elif what == "cut":
            proxy.cut()
        elif what == "drain":
            server.post("/api/v1/clusters/default/tasks/worker/0/drain", {})
            worker.wait(20)
    server.stop()
    write(f"{NAME}-{kind}.json", proxy.steps)


def write(name: str, steps: list[dict[str, Any]]) -> None:
    (HERE / name).write_text("[\n" + ",\n".join(json.dumps(s) for s in steps) + "\n]\n")


def record_session(name: str, client: list[str], worker: list[str], folder: pathlib.Path) -> None:
    server = Server(folder)
    proxy = Proxy(server.grpc, SESSION, "client")
    shutil.copytree(pathlib.Path(PACKAGE) / "muster", folder / "muster")
    shutil.copy(HERE.parent / "served.py", folder)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    works = subprocess.Popen([*worker, "--server", server.grpc], cwd=folder, env=environment)
    until(lambda: any(t["state"] == "CONNECTED" for t in server.tasks()), "the worker is attached")
    program = subprocess.Popen([*client[:2], f"127.0.0.1:{proxy.port}", *client[2:]], cwd=folder,
                               env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin and program.stdout
    for line in program.stdout:
        if line.startswith("PAUSE"):
            until(server.running, "it is started")
        proxy.say({"printed": line.rstrip("\n")})
        if line.startswith("PAUSE"):
            if line.split()[1] == "cut":
                proxy.cut()
            program.stdin.write("\n")
            program.stdin.flush()
    assert program.wait(20) == 0
    works.terminate()
    works.wait(20)
    server.stop()
    write(f"sessions/{name}.json", proxy.steps)


if __name__ == "__main__":
    workers = {"cpp": [MUSTER, "worker", "--allow-exec", "--slots", "2"],
               "python": [sys.executable, "-m", "muster", "worker", "served", "--processes", "1"]}
    sessions = {"coordinator-cpp": "cpp", "session-cpp": "cpp", "coordinator-python": "python"}
    for name, kind in sessions.items() if "sessions" in KINDS else ():
        client = ([sys.executable, str(HERE / "client.py")] if kind == "python" else
                  ["env", str(pathlib.Path(MUSTER).with_name("transcript_client")), name.partition("-")[0]])
        with tempfile.TemporaryDirectory() as folder:
            record_session(f"{NAME}-{name}", client, workers[kind], pathlib.Path(folder))
    for kind in [k for k in KINDS if k != "sessions"]:
        with tempfile.TemporaryDirectory() as folder:
            record(kind, getattr(scenario, kind.upper()), workers[kind], pathlib.Path(folder))
