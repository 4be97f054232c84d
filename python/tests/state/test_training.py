"""The example with parameter servers, while workers and parameter servers are lost and replaced."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from typing import Callable

import pytest

from conftest import Cluster, until
from muster.variables import checkpoint

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "python" / "parameter_servers.py"
READ_WITHIN = 180.0
"""Seconds without output after which a program is killed and its output is shown."""
pytestmark = pytest.mark.skipif(not EXAMPLE.is_file(), reason="only beside the examples")


def test_training_continues_while_workers_and_a_parameter_server_are_lost(make_cluster: Callable[..., Cluster],
                                                                          tmp_path: pathlib.Path) -> None:
    for needed in ("numpy", "sklearn"):
        pytest.importorskip(needed)
    cluster = make_cluster()
    for job, count in (("ps", 2), ("worker", 3)):
        for i in range(count):
            cluster.add("--job", job, "--index", str(i), "--processes", "1")
    c = cluster.coordinator()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MUSTER_SERVER": cluster.server.grpc}
    made = subprocess.Popen([sys.executable, str(EXAMPLE), str(tmp_path / "checkpoints")], env=environment,
                            stdout=subprocess.PIPE, text=True)
    assert made.stdout
    deadline = threading.Timer(READ_WITHIN, made.kill)
    deadline.daemon = True
    deadline.start()
    seen: list[str] = []
    rounds = 0
    for line in made.stdout:
        seen.append(line)
        rounds += line.startswith("step ")
        if line.startswith("step ") and rounds == 1:
            cluster.workers[2].kill()  # worker:0, permanently
            cluster.add("--index", "7", "--processes", "1")
        elif line.startswith("step ") and rounds == 3:
            until(lambda: checkpoint.numbers(tmp_path / "checkpoints"), "there is a checkpoint")
            os.kill(c.options(task="ps:1").submit(os.getpid).fetch(20), signal.SIGKILL)
    assert made.wait(20) == 0, seen
    deadline.cancel()
    assert seen[0] == "from the beginning\n"
    assert any(re.match("once more: .*ps:1", line) for line in seen), seen
    assert any(line.startswith("from checkpoint ") for line in seen), seen
    last = re.fullmatch(r"step (\d+): accuracy (\S+)\n", seen[-1])
    assert last and int(last[1]) >= 1000 and float(last[2]) > 0.87, seen
    run_again = subprocess.run([sys.executable, str(EXAMPLE), str(tmp_path / "checkpoints")], env=environment,
                               capture_output=True, text=True, timeout=60)
    assert run_again.returncode == 0 and run_again.stdout.startswith("from checkpoint "), "the training is already complete"
    assert run_again.stdout.count("\n") == 1
