"""Plain Python processes that `muster run` and `muster launch` start: they need neither address nor name."""
from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import pytest

from conftest import HERE, Server, Workers, binary

PROGRAM = """
import os, signal, sys, time, muster

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that there is time to hear who it was
a = muster.Agent()
a.connect(30)
print("here", a.task, [s.state for s in a.get_task_states()], flush=True)
a.barrier("ready", 30)
if a.task == "worker:2":
    a.set("killed", repr(time.time()))
    os.kill(os.getpid(), signal.SIGKILL)
killed = float(a.get("killed", 30))
try:
    a.barrier("never", 60)
except muster.UnavailableError as error:
    print("heard of", error.task, "by", a.task, "quickly" if time.time() - killed < 10 else "late", flush=True)
    sys.exit(0 if "/job:worker/task:2" in error.message else 1)
"""


@pytest.mark.parametrize("verb", [["run", "--declare", "train", "--nproc", "3"], ["launch", "--tasks", "3"]],
                         ids=lambda words: words[0])
def test_other_tasks_are_notified_which_task_was_killed(tmp_path: pathlib.Path, workers: Workers,
                                                        verb: list[str]) -> None:
    server: Any = Server(tmp_path)
    try:
        if verb[0] == "launch":
            workers.start(server)
        ran = subprocess.run([binary(), *verb, "--url", server.http, "--grace", "20s", "--env",
                              f"PYTHONPATH={HERE.parent}", "--", sys.executable, "-c", PROGRAM],
                             capture_output=True, text=True, timeout=90)
        lines = sorted(line.partition(" | ")[2] for line in ran.stdout.splitlines())
        assert lines == ["heard of worker:2 by worker:0 quickly", "heard of worker:2 by worker:1 quickly",
                         *(f"here worker:{i} ['CONNECTED', 'CONNECTED', 'CONNECTED']" for i in range(3))], ran
        assert ran.returncode == 128 + 9
        assert ("rank 2 on worker:" if verb[0] == "launch" else "worker:2") in ran.stderr
    finally:
        workers.stop()
        server.stop()
