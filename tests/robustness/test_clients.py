"""Parts of the clients whose correctness no round of the run can show."""
from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent

CLIENT = """
import os, signal, sys
from clients.base import stopping
signal.signal(signal.SIGTERM, stopping.request)
for _ in range(2000):
    stopping.requested = False
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    while not stopping.requested:
        pass
os.close(1)
sys.stdin.read()  # an interpreter that ends no longer handles signals
"""


def test_second_sigterm_within_the_first_one_does_not_hang() -> None:
    """A handler that takes a lock, such as threading.Event.set, deadlocks within a few hundred of these pairs."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent.parent / "python")])}
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=environment) as client:
        assert client.stdin is not None and client.stdout is not None
        source = random.Random(1)
        watchdog = threading.Timer(20.0, client.kill)
        watchdog.start()
        for _ in client.stdout:
            client.send_signal(signal.SIGTERM)
            second = time.perf_counter() + source.uniform(0.0, 1e-4)
            while time.perf_counter() < second:
                pass
            client.send_signal(signal.SIGTERM)
        client.stdin.close()
        watchdog.cancel()
        assert client.wait() == 0
