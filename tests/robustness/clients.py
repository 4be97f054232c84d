"""Clients of the workload. Each runs in a process of its own until SIGTERM, and writes a history.

    python clients.py KIND --config config.json --history FILE --name NAME --seed N
"""
from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import pathlib
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Callable

import effects
import muster
import numpy as np
from muster.agent.errors import AgentError, BarrierError, CoordinationError
from recorder import Recorder, now

stopping = threading.Event()
CALL_TIMEOUT = 90.0
"""Seconds after which a call without an outcome is recorded as unknown. Longer than every outage that a nemesis makes."""


class Client:
    """Base of the clients."""

    def __init__(self, config: dict[str, Any], history: Recorder, name: str, seed: int) -> None:
        self.config, self.history, self.name = config, history, name
        self.random = random.Random(f"{name} {seed}")
        self.numbers = 0
        self.started = now()

    def next_id(self) -> str:
        """Returns an id that no other process of the round uses, because a killed client starts again."""
        self.numbers += 1
        return f"{self.name}.{self.started}-{self.numbers}"

    def run(self) -> None:
        """Runs operations until `stopping` is set."""
        raise NotImplementedError

    def coordinator(self) -> muster.ClusterCoordinator:
        return muster.ClusterCoordinator(self.config["grpc"], name=self.name)


class Calls(Client):
    """Submits calls and records the outcome that each future gets. Every call must end exactly once with its own value."""

    in_flight_max = 40

    def run(self) -> None:
        with self.coordinator() as c:
            waiting: collections.deque[tuple[str, int, int, Any]] = collections.deque()
            while not stopping.is_set():
                while len(waiting) < self.in_flight_max:
                    waiting.append(self.submit(c))
                self.fetch(*waiting.popleft())
            for call in waiting:
                self.fetch(*call)

    def submit(self, c: muster.ClusterCoordinator) -> tuple[str, int, int, Any]:
        call, number = self.next_id(), self.random.randrange(1000)
        seconds = self.random.choice([0.0, 0.0, 0.001, 0.02, 0.3])
        begun = now()
        if self.random.random() < 0.2:
            left = c.submit(effects.compute, self.config["effects"], call + "-left", number, seconds)
            return call, number * 7 + 1 + 5, begun, c.submit(effects.add, left, 5)
        return call, number * 7 + 1, begun, c.submit(effects.compute, self.config["effects"], call, number, seconds)

    def fetch(self, call: str, expected: int, begun: int, value: Any) -> None:
        record = {"kind": "call", "id": call, "expected": expected, "call": begun}
        try:
            got = value.fetch(CALL_TIMEOUT)
        except muster.MusterError as error:
            # A call that lost three workers fails, because the nemesis kills workers on purpose.
            outcome = "aborted" if isinstance(error, muster.AbortedError) else "unknown" if isinstance(
                error, (muster.WaitTimeout, muster.UnavailableError)) else "error"
            self.history.write(**record, outcome=outcome, error=f"{type(error).__name__}: {error}", ret=now())
        else:
            self.history.write(**record, outcome="ok", value=got, ret=now())


class Objects(Client):
    """Calls methods of an object. A call runs at most once, and an acknowledged call ran exactly once."""

    def run(self) -> None:
        with self.coordinator() as c:
            while not stopping.is_set():
                name = self.next_id()
                try:
                    ledger = c.create(effects.Ledger, task=self.config["object_task"])
                    self.use(name, ledger)
                except muster.MusterError as error:
                    self.history.write(kind="object_lost", object=name, error=f"{type(error).__name__}: {error}")
                    time.sleep(0.2)

    def use(self, name: str, ledger: Any) -> None:
        for batch in range(20):
            begun = now()
            calls = [(f"{name}-{batch}-{n}", None) for n in range(10)]
            values = [(call, ledger.enter(call)) for call, _ in calls]
            for call, value in values:
                try:
                    position = value.fetch(CALL_TIMEOUT)
                except muster.MusterError as error:
                    self.history.write(kind="object_call", object=name, id=call, outcome="unknown", call=begun,
                                       error=f"{type(error).__name__}: {error}", ret=now())
                    raise
                self.history.write(kind="object_call", object=name, id=call, outcome="ok", position=position,
                                   call=begun, ret=now())
            if stopping.is_set():
                break
        self.history.write(kind="object_log", object=name, calls=ledger.all().fetch(CALL_TIMEOUT), ret=now())


class Variables(Client):
    """Adds to a variable. No acknowledged addition is lost, and none counts twice."""

    def run(self) -> None:
        with self.coordinator() as c:
            while not stopping.is_set():
                name = self.next_id()
                record: dict[str, Any] = {"kind": "variable", "variable": name, "acknowledged": 0, "unknown": 0}
                try:
                    self.add(c.variable(np.zeros(4, "int64"), task=self.config["object_task"]), record)
                except muster.MusterError as error:  # the variable is lost with its process
                    self.history.write(**record, error=f"{type(error).__name__}: {error}", ret=now())
                    time.sleep(0.2)

    def add(self, variable: Any, record: dict[str, Any]) -> None:
        for _ in range(200):
            try:
                variable.assign_add(1).fetch(CALL_TIMEOUT)
                record["acknowledged"] += 1
            except muster.WaitTimeout:
                record["unknown"] += 1
            if stopping.is_set():
                break
        record["values"] = variable.read().fetch(CALL_TIMEOUT).tolist()
        self.history.write(**record, ret=now())
        variable.delete()


class Datasets(Client):
    """Has workers read a dataset that the server deals out. Every split is worked on, whatever is lost meanwhile."""

    splits = 50

    def run(self) -> None:
        with self.coordinator() as c:
            while not stopping.is_set():
                name = self.next_id()
                try:
                    self.read(c, name)
                except muster.MusterError as error:  # a server that starts again loses its datasets
                    self.history.write(kind="dataset_lost", dataset=name, error=f"{type(error).__name__}: {error}")
                    time.sleep(0.2)

    def read(self, c: muster.ClusterCoordinator, name: str) -> None:
        dataset = c.create_distributed_dataset(list(range(self.splits)), read=effects.split)
        begun = now()
        while not dataset.done() and not stopping.is_set():
            c.fetch([c.submit(effects.consume, self.config["effects"], name, dataset) for _ in range(2)], CALL_TIMEOUT)
        if dataset.done():
            self.history.write(kind="dataset", dataset=name, splits=self.splits, call=begun, ret=now())
        dataset.delete()


class Jobs(Client):
    """Submits jobs over REST. An acknowledged job must end, keep its outcome and have the values that it computed."""

    def run(self) -> None:
        open_jobs: collections.deque[tuple[str, list[int]]] = collections.deque()
        while not stopping.is_set():
            if len(open_jobs) < 20:
                self.submit(open_jobs)
            job, numbers = open_jobs.popleft() if open_jobs else ("", [])
            if job and not self.look(job, numbers):
                open_jobs.append((job, numbers))
            time.sleep(0.01)

    def submit(self, open_jobs: collections.deque[tuple[str, list[int]]]) -> None:
        numbers = [self.random.randrange(1000) for _ in range(self.random.choice([1, 3, 30]))]
        key = self.next_id()
        body = {"name": key, "idempotency_key": key,
                "closures": [{"function": "muster.echo", "args": [n]} for n in numbers]}
        begun = now()
        while not stopping.is_set():
            status, answer = self.ask("POST", "/api/v1/jobs", body)
            if status in (200, 201):
                self.history.write(kind="job", id=answer["id"], key=key, numbers=numbers, call=begun, ret=now())
                open_jobs.append((answer["id"], numbers))
                return
            if status not in (0, 429, 503, 504, 507):
                self.history.write(kind="job_refused", key=key, status=status, answer=str(answer)[:300])
                return
            time.sleep(0.05)

    def look(self, job: str, numbers: list[int]) -> bool:
        status, answer = self.ask("GET", f"/api/v1/jobs/{job}")
        if status == 200 and answer["state"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
            self.history.write(kind="job_seen", id=job, state=answer["state"], counts=answer["counts"], at=now())
            return self.random.random() < 0.5  # half of the jobs are read again, to see that they stay as they are
        if status == 200:
            return False
        if status not in (0, 503, 504):
            self.history.write(kind="job_missing", id=job, status=status, at=now())
            return True
        return False

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Returns status and body; status 0 if no server answered."""
        data = None if body is None else json.dumps(body).encode()
        for url in self.config["http"]:
            request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
            try:
                with urllib.request.urlopen(request, timeout=15) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                text = error.read().decode(errors="replace")
                if error.code == 503 and len(self.config["http"]) > 1:
                    continue
                return error.code, text
            except OSError:
                continue
        return 0, None


class Agent(Client):
    """One task of a coordination cluster: increments, inserts and barriers over gRPC. A new run of the cluster begins
    without keys, so the names of keys contain the incarnation of the run's service."""

    def run(self) -> None:
        task = f"worker:{self.config['agents'].index(self.name)}"
        while not stopping.is_set():
            try:
                agent = muster.Agent(cluster="agents", url=self.random.choice(self.config["http"]), task=task,
                                     heartbeat_timeout=20.0)
            except muster.MusterError:  # this server is a standby or is not there
                time.sleep(0.1)
                continue
            try:
                agent.connect(timeout=30)
                while not stopping.is_set():
                    self.count(agent)
                    self.insert(agent)
                    if self.numbers % 10 == 0:
                        self.meet(agent)
            except (AgentError, CoordinationError) as error:
                self.history.write(kind="agent_error", error=f"{type(error).__name__}: {error}", at=now())
                time.sleep(0.3)
            finally:
                agent.close()

    def operation(self, op: str, key: str, act: Callable[[], str], **fields: Any) -> None:
        # The record is written before the call, because a killed client cannot write it afterwards. If no record with an
        # outcome follows, the outcome is unknown.
        record = {"client": self.name, "key": key, "op": op, **fields, "call": now()}
        self.history.write(**record, outcome="unknown")
        value = act()
        self.history.write(**record, outcome="ok", value=value, **{"return": now()})

    def count(self, agent: muster.Agent) -> None:
        key = f"counts/{agent.service_incarnation}-{self.random.randrange(4)}-{now() // 5_000_000_000}"
        self.operation("increment", key, lambda: str(agent.increment(key)))
        self.operation("get", key, lambda: (agent.try_get(key) or b"").decode())

    def insert(self, agent: muster.Agent) -> None:
        value = self.next_id()
        key = f"once/{agent.service_incarnation}-{self.numbers % 97}-{now() // 5_000_000_000}"
        self.operation("insert", key, lambda: "inserted" if agent.set_if_absent(key, value) else "exists", arg=value)

    def meet(self, agent: muster.Agent) -> None:
        record = {"kind": "barrier", "agent": self.name, "incarnation": agent.incarnation, "call": now()}
        try:
            use = agent.barrier("meet", timeout=20.0)
        except BarrierError as error:
            self.history.write(**record, outcome="failed", use=error.use, error=str(error), ret=now())
        except (AgentError, CoordinationError) as error:
            self.history.write(**record, outcome="unknown", error=str(error), ret=now())
            raise
        else:
            self.history.write(**record, outcome="ok", use=use, service=agent.service_incarnation, ret=now())


class Programs(Jobs):
    """Launches programs. Two attempts of one rank must never run at the same time."""

    def run(self) -> None:
        while not stopping.is_set():
            key = self.next_id()
            command = [sys.executable, effects.__file__, self.config["effects"], key, "0.5"]
            status, answer = self.ask("POST", "/api/v1/programs", {
                "name": key, "idempotency_key": key, "command": command, "tasks": {"worker": {"count": 2}},
                "max_restarts": 20, "grace": "1s"})
            if status not in (200, 201):
                time.sleep(0.2)
                continue
            self.history.write(kind="program", id=answer["id"], name=key, at=now())
            self.follow(answer["id"], key)

    def follow(self, program: str, name: str) -> None:
        end = now() + int(CALL_TIMEOUT * 1e9)
        while now() < end and not stopping.is_set():
            status, answer = self.ask("GET", f"/api/v1/programs/{program}")
            if status == 200 and answer["state"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
                self.history.write(kind="program_ended", id=program, name=name, state=answer["state"], at=now())
                return
            if status == 404:
                self.history.write(kind="program_missing", id=program, name=name, at=now())
                return
            time.sleep(0.1)


KINDS = {"calls": Calls, "objects": Objects, "variables": Variables, "datasets": Datasets, "jobs": Jobs, "agent": Agent, "programs": Programs}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--config", type=pathlib.Path, required=True)
    parser.add_argument("--history", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seed", type=int, required=True)
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    faulthandler.register(signal.SIGUSR1)  # run.py asks for the stacks of a client that does not end
    config = json.loads(words.config.read_text())
    KINDS[words.kind](config, Recorder(words.history), words.name, words.seed).run()


if __name__ == "__main__":
    main()
