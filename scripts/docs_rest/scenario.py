"""A cluster for examples: each operation of the REST API is requested once, and its answer recorded."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator
from urllib.parse import urlencode

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = "import time\nfor i in range(1000):\n    print('step', i)\n    time.sleep(0.05)\n"

VALIDATE, SET, WAIT, PING = 0, 1, 6, 13
TORCH_MAGIC = 0x3C85F7CE
"""Of the protocol of torch.distributed's TCPStore."""


@dataclass
class Answer:
    """A request and its answer, as they were sent."""

    method: str
    path: str
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 0
    media: str = ""
    text: str = ""

    def json(self) -> Any:
        return json.loads(self.text)


class Server:
    """A server with its workers in a directory, which has to exist. Use it as a context manager."""

    def __init__(self, binary: str, folder: pathlib.Path, *flags: str) -> None:
        self.binary, self.folder = binary, folder
        self.processes: list[subprocess.Popen[bytes]] = []
        ready = folder / "ready.json"
        self.start(
            "serve",
            "--grpc",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--ready-file",
            str(ready),
            "--data-dir",
            str(folder / "data"),
            *flags,
        )
        until(ready.exists)
        addresses = json.loads(ready.read_text())
        self.grpc, self.http = addresses["grpc"], addresses["http"]

    def start(self, *words: str, python: bool = False) -> None:
        command = [sys.executable, "-m", "muster", *words] if python else [self.binary, *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        self.processes.append(subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log))

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def request(self, method: str, path: str, body: str | bytes = "", headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection(self.http, timeout=60)
        try:
            connection.request(method, path, body or None, headers or {})
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            shown = body if isinstance(body, str) else body.decode()
            return Answer(method, path, shown, headers or {}, response.status, response.getheader("Content-Type", ""), text)
        finally:
            connection.close()


def until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Returns the first true result of `condition`. Raises TimeoutError after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.05)
    raise TimeoutError(str(condition))


def torch_string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


class Scenario:
    """Requests every operation of a description and keeps the answers by operation id."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.description = server.request("GET", "/openapi.json").json()
        self.paths = {
            operation["operationId"]: (method.upper(), path)
            for path, item in self.description["paths"].items()
            for method, operation in item.items()
        }
        self.answers: dict[str, Answer] = {}
        self.token: dict[str, str] = {}

    def ask(
        self,
        operation: str,
        /,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        raw: str | None = None,
        headers: dict[str, str] | None = None,
        keep: bool = True,
        **path: Any,
    ) -> Any:
        """Requests the operation and returns the answer: parsed if it is JSON."""
        method, pattern = self.paths[operation]
        url = pattern.format(**path) + ("?" + urlencode(query, safe=":,/") if query else "")
        sent = dict(self.token, **headers or {})
        if body is not None:
            sent["Content-Type"] = "application/json"
        text = raw if raw is not None else json.dumps(body) if body is not None else ""
        answer = self.server.request(method, url, text, sent)
        if answer.status >= 400:
            raise RuntimeError(f"{operation}: {answer.status} {answer.text}")
        if keep:
            self.answers[operation] = answer
        return answer.json() if answer.media.startswith("application/json") and answer.text else answer.text

    def submit(self, closures: list[dict[str, Any]], keep: bool = False, **more: Any) -> Any:
        return self.ask("submitJob", body={**more, "closures": closures}, keep=keep)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The worker starts nothing meanwhile, so that answers do not depend on its speed."""
        task = {"cluster": "default", "job": "worker", "index": 0}
        self.ask("cordonTask", keep=False, **task)
        yield
        self.ask("uncordonTask", keep=False, **task)

    def run(self) -> dict[str, Answer]:
        """Requests all operations."""
        self.server_state()
        self.server.start("worker", "--server", self.server.grpc, "--slots", "2", "--allow-exec", "--allow-programs", "--label", "zone=a")
        self.server.start("worker", "--server", self.server.grpc, "--job", "ps", "--index", "0", "--processes", "1", python=True)
        until(lambda: self.tasks("CONNECTED") == 2)
        self.jobs()
        self.closures()
        self.values()
        self.programs()
        self.objects()
        self.clusters()
        self.stores()
        self.tasks_of_the_cluster()
        self.history()
        self.tokens()
        missing = set(self.paths) - set(self.answers)
        if missing:
            raise RuntimeError(f"operations without an example: {', '.join(sorted(missing))}")
        return self.answers

    def tasks(self, state: str) -> int:
        return len(self.ask("listTasks", cluster="default", query={"state": state}, keep=False)["tasks"])

    def server_state(self) -> None:
        for id in ("livez", "readyz", "healthz", "metrics", "getServerHealth", "getVersion", "getOpenapi", "getOpenapiV1"):
            self.ask(id)

    def jobs(self) -> None:
        body = [{"function": "muster.echo", "args": ["part-0"]}, {"function": "muster.echo", "args": [{"$remote_value": "#0"}]}]
        with self.held():
            job = self.submit(body, name="nightly", keep=True)["id"]
        self.ask("joinJob", id=job, query={"timeout": "30s"})
        for id in ("getJob", "getGraph", "getJobDurations", "getJobTrace", "streamResults"):
            self.ask(id, id=job)
        self.ask("listResults", id=job, query={"limit": 1})
        self.ask("listJobs", query={"state": "SUCCEEDED", "q": "night"})
        self.ask("listWork", query={"kind": "job", "state": "SUCCEEDED"})
        logged = self.submit([{"function": "muster.exec", "args": [["sh", "-c", "echo loaded; echo done"]]}], name="print")["id"]
        self.ask("joinJob", id=logged, query={"timeout": "30s"}, keep=False)
        until(lambda: len(self.ask("listJobLogs", id=logged, query={"tail": 2})["lines"]) == 2)
        closure = self.ask("listClosures", id=logged, keep=False)["closures"][0]["id"]
        self.ask("listClosureLogs", id=closure, query={"after": 0, "wait": "10s"})
        failed = self.submit([{"function": "muster.fail", "args": ["no such file"]}], name="import")["id"]
        self.ask("joinJob", id=failed, query={"timeout": "30s"}, keep=False)
        with self.held():
            self.ask("retryJob", id=failed, body={"name": "import-2"})
        gang = [{"function": "muster.echo", "args": [i], "options": {"gang": "g"}} for i in range(3)]
        waiting = self.submit([*gang, {"function": "muster.echo", "options": {"resources": {"gpu": 1}}}], name="large")["id"]
        self.ask("listGangs")
        self.ask("listWishes")
        self.ask("listQueue")
        self.ask("cancelJob", id=waiting)
        self.ask("deleteJob", id=waiting)

    def closures(self) -> None:
        job = self.ask("submitJob", body={"open": True, "name": "stream"}, keep=False)["id"]
        lines = '{"function": "muster.echo", "args": [1]}\n{"function": "muster.echo", "args": [2]}\n'
        with self.held():
            self.ask("appendClosures", id=job, raw=lines, headers={"Content-Type": "application/x-ndjson"})
            self.ask("sealJob", id=job)
        self.ask("joinJob", id=job, query={"timeout": "30s"}, keep=False)
        first = self.ask("listClosures", id=job, query={"state": "SUCCEEDED", "limit": 1})["closures"][0]["id"]
        self.ask("getClosure", id=first)
        running = self.submit([{"function": "muster.sleep", "args": ["60s"]}], name="sleep")["closures"][0]["id"]
        until(lambda: self.ask("getClosure", id=running, keep=False)["state"] == "RUNNING")
        self.ask("listWorkerClosures", cluster="default", job="worker", index=0)
        self.ask("listClosureStacks", id=running)
        self.ask("listTaskStacks", cluster="default", job="worker", index=0)
        self.ask("cancelClosure", id=running)
        lost = self.submit([{"function": "muster.echo", "options": {"resources": {"gpu": 1}}}], name="gpu")
        self.ask("explainClosure", id=lost["closures"][0]["id"])
        self.ask("cancelJob", id=lost["id"], keep=False)
        self.ask("listFunctions", query={"limit": 2})

    def values(self) -> None:
        done = self.submit([{"function": "muster.echo", "args": [{"loss": 0.25}]}], name="eval")
        value = done["closures"][0]["remote_value"]
        self.ask("fetchValue", id=value, query={"timeout": "30s"})
        self.ask("getRemoteValue", id=value)
        self.ask("previewValue", id=value, query={"bytes": 100})
        self.ask("listRemoteValues", query={"job": done["id"]})
        self.ask("listValueHolders", query={"limit": 2})
        sha = hashlib.sha256(b"hello").hexdigest()
        self.ask("putBlob", sha256=sha, raw="hello", headers={"Content-Type": "application/octet-stream"})
        self.ask("getBlob", sha256=sha)
        self.ask("getBlobs")
        with self.held():
            made = self.ask("createPerWorkerValue", body={"function": "muster.worker_info", "name": "info"})["id"]
        until(lambda: 'READY"' in json.dumps(self.ask("getPerWorkerValue", id=made)).replace("NOT_READY", ""))
        self.ask("listPerWorkerValues")
        self.ask("deletePerWorkerValue", id=made)

    def programs(self) -> None:
        folder = str(self.server.folder)
        (self.server.folder / "train.py").write_text(PROGRAM)
        body = {
            "name": "train",
            "command": ["python3", "-u", "train.py"],
            "working_dir": folder,
            "tasks": {"worker": {"count": 2}},
            "step_pattern": "step (\\d+)",
        }
        program = self.ask("submitProgram", body=body)["id"]
        until(lambda: self.ask("getProgram", id=program)["state"] == "RUNNING")
        ranks = lambda: self.ask("listRanks", id=program, query={"last_lines": "true"})["ranks"]
        until(lambda: all(rank.get("step", 0) > 4 and "last_line" in rank for rank in ranks()))
        self.ask("getProgram", id=program)
        self.ask("listPrograms", query={"q": "train"})
        self.ask("listAttempts", id=program)
        until(lambda: self.ask("getRankLog", id=program, query={"rank": 0, "bytes": 20}).get("next_offset") == 20)
        self.ask("listStacks", id=program)
        time.sleep(2)
        self.ask("getTimeline", id=program, query={"ranks": 2, "buckets": 2})
        self.ask("restartProgram", id=program)
        until(lambda: self.ask("getProgram", id=program, keep=False)["state"] == "RUNNING")
        self.ask("stopProgram", id=program)
        until(lambda: self.ask("getProgram", id=program, keep=False)["state"] not in ("RUNNING", "STOPPING", "QUEUED"))
        self.ask("getAttempt", id=program, attempt=1)
        self.ask("deleteProgram", id=program)
        other = self.ask("submitProgram", body=body, keep=False)["id"]
        self.ask("cancelProgram", id=other)

    def objects(self) -> None:
        import collections

        import muster

        with muster.ClusterCoordinator(self.server.grpc, name="trainer") as c:
            counts = c.create(collections.Counter, ("aab",), task="ps:0", name="counts")
            counts.most_common(1).fetch(30)
            dataset = c.create_distributed_dataset(["a.txt", "b.txt", "c.txt"], epochs=2, name="text")
            self.ask("listObjects", query={"task": "ps:0"})
            self.ask("getObject", id="counts")
            found = self.ask("listDatasets")["datasets"][0]["id"]
            self.ask("getDataset", id=found)
            self.ask("deleteObject", id="counts")
            del dataset

    def clusters(self) -> None:
        import muster

        declared = self.ask("createCluster", body={"name": "train", "jobs": {"worker": 2}, "register_barrier": False})
        agent = muster.Agent(declared["address"], task="worker:0")
        agent.connect()
        self.barriers(agent)
        self.keys()
        self.ask("listTasks", cluster="train", query={"limit": 2})
        self.ask("reportTaskError", cluster="train", job="worker", index=0, body={"message": "its GPU has failed"})
        agent.close()
        agent = muster.Agent(declared["address"], task="worker:0")
        agent.connect()
        time.sleep(0.5)  # until it polls for errors
        self.ask("failCluster", cluster="train", body={"message": "the storage has failed"})
        agent.close()
        self.ask("getCluster", cluster="train")
        self.ask("listClusters", query={"limit": 1})
        until(lambda: self.ask("listRuns", cluster="train")["runs"])
        self.ask("deleteCluster", cluster="train", query={"force": "true"})

    def barriers(self, agent: Any) -> None:
        wait = threading.Thread(
            target=lambda: self.ask("waitAtBarrier", cluster="train", id="epoch-1", query={"task": "worker:1", "timeout": "60s"})
        )
        wait.start()
        until(lambda: self.ask("listBarriers", cluster="train")["barriers"])
        self.ask("getBarrier", cluster="train", id="epoch-1")
        agent.barrier("epoch-1", 30)
        wait.join()
        self.ask("getStragglers", cluster="train")
        stuck = threading.Thread(target=lambda: self.server.request("POST", "/api/v1/clusters/train/barriers/epoch-2/wait?task=worker:1"))
        stuck.start()
        until(lambda: len(self.ask("listBarriers", cluster="train", keep=False)["barriers"]) > 1)
        self.ask("cancelBarrier", cluster="train", id="epoch-2")
        stuck.join()

    def keys(self) -> None:
        self.ask("putKey", cluster="train", key="config/steps", raw="1000", headers={"Content-Type": "application/octet-stream"})
        self.ask("getKey", cluster="train", key="config/steps", query={"timeout": "10s"})
        self.ask("listKeys", cluster="train", query={"prefix": "config/"})
        wait = threading.Thread(
            target=self.server.request, args=("GET", "/api/v1/clusters/train/kv/config/seed?timeout=10s")
        )
        wait.start()
        until(lambda: "seed" in json.dumps(self.ask("listKeyWaits", cluster="train")))
        self.ask("putKey", cluster="train", key="config/seed", raw="7", headers={"Content-Type": "application/octet-stream"}, keep=False)
        wait.join()
        self.ask("deleteKey", cluster="train", key="config", query={"recursive": "true"})

    def stores(self) -> None:
        """A TCPStore with one client: this script, which sets a key and waits for another one, as torch 2.5 does."""
        self.ask("createCluster", body={"name": "torch", "jobs": {"worker": 2}, "torch": 0}, keep=False)
        host, port = self.ask("getTorchStore", cluster="torch", keep=False)["address"].split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(struct.pack("<BIBI", VALIDATE, TORCH_MAGIC, PING, 4711))
            client.recv(4)
            client.sendall(struct.pack("<B", SET) + torch_string("init/") + torch_string("1"))
            client.sendall(struct.pack("<BQ", WAIT, 1) + torch_string("worker1"))
            until(lambda: self.ask("getTorchStore", cluster="torch")["waits"])
            self.ask("listTorchKeys", cluster="torch")
            self.ask("beginTorchAttempt", cluster="torch")

    def tasks_of_the_cluster(self) -> None:
        task = {"cluster": "default", "job": "worker", "index": 0}
        self.ask("getTask", **task)
        self.ask("cordonTask", **task)
        self.ask("uncordonTask", **task)
        self.ask("getTaskHistory", **task)
        self.ask("listMachines", query={"limit": 1})
        self.ask("listHosts", query={"limit": 1})

    def history(self) -> None:
        self.ask("listEvents", query={"limit": 2})
        until(lambda: len(self.ask("getSamples", query={"span": "5m"})["t"]) > 3)
        self.ask("getStream", query={"tasks": "worker:0", "limit": 2})
        self.ask("getStreamTrace", query={"tasks": "worker:0"})
        now = int(time.time() * 1000)
        until(lambda: self.ask("listPastJobs", query={"from_ms": now - 600_000, "limit": 1})["jobs"])
        until(lambda: self.ask("searchLogs", query={"text": "loaded", "limit": 1})["lines"])
        self.ask("getPastStream", query={"from_ms": now - 600_000, "steps": 2})
        self.ask("getOverview")
        self.ask("listAttention")
        self.ask("drainTask", cluster="default", job="worker", index=0)

    def tokens(self) -> None:
        """Asks another server, which requires tokens from the start."""
        folder = self.server.folder / "tokens"
        folder.mkdir()
        before = self.server
        with Server(before.binary, folder, "--auth", "on") as self.server:
            self.token = {"Authorization": f"Bearer {(folder / 'data/admin.token').read_text().strip()}"}
            secret = self.ask("createToken", body={"role": "submitter", "name": "ops", "expires": "30d"})["token"]
            self.ask("getSession")
            self.ask("listTokens")
            other = self.ask("createToken", body={"role": "viewer", "name": "wall"}, keep=False)
            self.ask("rotateToken", id=other["id"])
            self.ask("revokeToken", id=other["id"])
            self.token = {}
            self.ask("signIn", body={"token": secret})
            self.ask("signOut")
        self.server = before
