"""Clients of jobs and programs over REST."""
from __future__ import annotations

import collections
import sys
import time

import effects
from clients.base import CALL_TIMEOUT, UNAVAILABLE, RestClient, stopping
from recorder import now


class Jobs(RestClient):
    """Submits jobs over REST. An acknowledged job must end, keep its outcome and have the values that it computed."""

    def run(self) -> None:
        open_jobs: collections.deque[tuple[str, list[int]]] = collections.deque()
        while not stopping.requested:
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
        while not stopping.requested:
            status, answer = self.ask("POST", "/api/v1/jobs", body)
            if status in (200, 201):
                self.history.write(kind="job", id=answer["id"], key=key, numbers=numbers, call=begun, ret=now())
                open_jobs.append((answer["id"], numbers))
                return
            if status not in UNAVAILABLE:
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
        if status not in UNAVAILABLE:
            self.history.write(kind="job_missing", id=job, status=status, at=now())
            return True
        return False


class Programs(RestClient):
    """Launches programs. Two attempts of one rank must never run at the same time."""

    def run(self) -> None:
        while not stopping.requested:
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
        while now() < end and not stopping.requested:
            status, answer = self.ask("GET", f"/api/v1/programs/{program}")
            if status == 200 and answer["state"] in ("SUCCEEDED", "FAILED", "CANCELLED"):
                self.history.write(kind="program_ended", id=program, name=name, state=answer["state"], at=now())
                return
            if status == 404:
                self.history.write(kind="program_missing", id=program, name=name, at=now())
                return
            time.sleep(0.1)
