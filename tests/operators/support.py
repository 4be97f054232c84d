"""A server, commands and workers as real processes. Each test file gets the program and the project's folder as arguments."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

MUSTER, PROJECT = sys.argv[1], pathlib.Path(sys.argv[2])
DEADLINE = 60.0
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8",
               "TERM": "xterm"}


def until(what, said):
    """Returns the first true result."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {DEADLINE:g} s: {said}")


def run(*words, **options):
    """Runs a command until it ends."""
    options.setdefault("env", ENVIRONMENT)
    return subprocess.run([MUSTER, *words], capture_output=True, text=True, timeout=DEADLINE,
                          **options)


class Server:
    """Runs `muster serve` on ports that the system chooses, or on those of `addresses`."""

    def __init__(self, folder, *words, addresses=("127.0.0.1:0", "127.0.0.1:0"), environment=None):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "serve.log"
        self.words, self.environment = words, {**ENVIRONMENT, **(environment or {})}
        self.workers = []
        self.start(*addresses)

    def start(self, grpc, http):
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [MUSTER, "serve", "--grpc", grpc, "--http", http, "--ready-file", str(ready),
                 *self.words], stderr=log, env=self.environment)
        until(lambda: self.process.poll() is not None or ready.exists(), "the server is ready")
        assert self.process.poll() is None, self.log.read_text()
        told = json.loads(ready.read_text())
        self.grpc, self.http = told["grpc"], told["http"]
        self.url = "http://" + self.http

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=DEADLINE) as answer:
            return answer.read().decode()

    def run(self, *words, **options):
        return run(*words, "--url", self.url, **options)

    def worker(self, *words):
        """Starts a worker, and waits until it is connected."""
        before = self.connected()
        log = (self.folder / f"worker-{len(self.workers)}.log").open("ab")
        self.workers.append(subprocess.Popen([MUSTER, "worker", "--server", self.grpc, *words],
                                             stderr=log, env=ENVIRONMENT))
        log.close()
        until(lambda: self.connected() > before, "the worker is connected")
        return self.workers[-1]

    def connected(self):
        return json.loads(self.get("/api/v1/overview"))["tasks"]["connected"]

    def stop(self):
        for process in [*self.workers, self.process]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in [*self.workers, self.process]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def server(*words, **options):
    with tempfile.TemporaryDirectory() as folder:
        made = Server(folder, *words, **options)
        try:
            yield made
        finally:
            made.stop()


def main():
    unittest.main(argv=sys.argv[:1])
