"""Clients of a ClusterCoordinator: calls, maps, objects, variables and datasets."""
from __future__ import annotations

import collections
import time
from typing import Any

import effects
import muster
from clients.base import CALL_TIMEOUT, Client, stopping
from recorder import now


class Calls(Client):
    """Submits calls and records the outcome that each future gets. Every call must end exactly once with its own value."""

    in_flight_max = 16

    def run(self) -> None:
        self.use_coordinators(self.call)

    def call(self, c: muster.ClusterCoordinator) -> None:
        waiting: collections.deque[tuple[str, int, int, Any]] = collections.deque()
        self.fetch(*self.submit(c))  # if no server opens the session, only this call has no outcome
        try:
            while not stopping.requested:
                while len(waiting) < self.in_flight_max:
                    waiting.append(self.submit(c))
                self.fetch(*waiting.popleft())
        finally:
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
            got = value.fetch(max(1.0, CALL_TIMEOUT - (now() - begun) / 1e9))
        except muster.MusterError as error:
            # A call that lost three workers fails, because the nemesis kills workers on purpose.
            outcomes = {muster.AbortedError: "aborted", muster.UnavailableError: "unknown", muster.WaitTimeout: "stuck"}
            outcome = next((outcome for kind, outcome in outcomes.items() if isinstance(error, kind)), "error")
            self.history.write(**record, outcome=outcome, error=f"{type(error).__name__}: {error}", ret=now())
        else:
            self.history.write(**record, outcome="ok", value=got, ret=now())


class Maps(Client):
    """Iterates over the values of a map, which arrive in order. Writes the same records as the clients of streams."""

    calls = 60

    def run(self) -> None:
        self.use_coordinators(self.map)

    def map(self, c: muster.ClusterCoordinator) -> None:
        while not stopping.requested:
            numbers = [self.random.randrange(1000) for _ in range(self.calls)]
            record: dict[str, Any] = {"kind": "stream", "id": self.next_id(), "expected": [n + 5 for n in numbers],
                                      "call": now()}
            lines: list[list[Any]] = []
            try:
                for value in c.map(effects.add, numbers, [5] * len(numbers), chunksize=4, timeout=CALL_TIMEOUT):
                    lines.append([len(lines), "SUCCEEDED", value])
            except (muster.AbortedError, muster.UnavailableError) as error:
                part = {"from": 0, "lines": lines, "outcome": "broken", "error": f"{type(error).__name__}: {error}"}
                is_over = isinstance(error, muster.UnavailableError)  # the session is lost
                self.history.write(**record, parts=[part], outcome="unknown" if is_over else "failed", ret=now())
                if is_over:
                    raise
            else:
                self.history.write(**record, parts=[{"from": 0, "lines": lines, "outcome": "complete"}], outcome="ok", ret=now())


class Objects(Client):
    """Calls methods of an object. A call runs at most once, and an acknowledged call ran exactly once."""

    def run(self) -> None:
        self.use_coordinators(self.use_objects)

    def use_objects(self, c: muster.ClusterCoordinator) -> None:
        while not stopping.requested:
            name = self.next_id()
            try:
                ledger = c.create(effects.Ledger, task=self.config["object_task"])
                self.use(name, ledger)
            except muster.MusterError as error:
                self.history.write(kind="object_lost", object=name, error=f"{type(error).__name__}: {error}")
                if isinstance(error, muster.UnavailableError):  # the session is lost
                    raise
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
            if stopping.requested:
                break
        self.history.write(kind="object_log", object=name, calls=ledger.all().fetch(CALL_TIMEOUT), ret=now())


class Variables(Client):
    """Adds to a variable. No acknowledged addition is lost, and none counts twice."""

    def run(self) -> None:
        self.use_coordinators(self.use_variables)

    def use_variables(self, c: muster.ClusterCoordinator) -> None:
        import numpy as np  # the other clients start faster without it

        while not stopping.requested:
            name = self.next_id()
            record: dict[str, Any] = {"kind": "variable", "variable": name, "acknowledged": 0, "unknown": 0}
            try:
                self.add(c.variable(np.zeros(4, "int64"), task=self.config["object_task"]), record)
            except muster.MusterError as error:  # the variable is lost with its process
                self.history.write(**record, error=f"{type(error).__name__}: {error}", ret=now())
                if isinstance(error, muster.UnavailableError):  # the session is lost
                    raise
                time.sleep(0.2)

    def add(self, variable: Any, record: dict[str, Any]) -> None:
        for _ in range(200):
            try:
                variable.assign_add(1).fetch(CALL_TIMEOUT)
                record["acknowledged"] += 1
            except muster.WaitTimeout:
                record["unknown"] += 1
            if stopping.requested:
                break
        record["values"] = variable.read().fetch(CALL_TIMEOUT).tolist()
        self.history.write(**record, ret=now())
        variable.delete()


class Datasets(Client):
    """Has workers read a dataset that the server deals out. Every split is worked on, whatever is lost meanwhile."""

    splits = 50

    def run(self) -> None:
        self.use_coordinators(self.use_datasets)

    def use_datasets(self, c: muster.ClusterCoordinator) -> None:
        while not stopping.requested:
            name = self.next_id()
            try:
                self.read(c, name)
            except muster.MusterError as error:  # a server that starts again loses its datasets
                self.history.write(kind="dataset_lost", dataset=name, error=f"{type(error).__name__}: {error}")
                if isinstance(error, muster.UnavailableError):  # the session is lost
                    raise
                time.sleep(0.2)

    def read(self, c: muster.ClusterCoordinator, name: str) -> None:
        dataset = c.create_distributed_dataset(list(range(self.splits)), read=effects.split)
        begun = now()
        while not dataset.done() and not stopping.requested:
            c.fetch([c.submit(effects.consume, self.config["effects"], name, dataset) for _ in range(2)], CALL_TIMEOUT)
        if dataset.done():
            self.history.write(kind="dataset", dataset=name, splits=self.splits, call=begun, ret=now())
        dataset.delete()
