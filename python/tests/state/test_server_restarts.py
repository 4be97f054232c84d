"""A server with --data-dir that is killed and restarted: a program with the documented loop continues, and all its errors
are UnavailableErrors, whether workers or the program reconnect first."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Callable

import pytest

from conftest import HERE, Cluster, until

pytest.importorskip("numpy")

RESTARTS = int(os.environ.get("MUSTER_TESTS_RESTARTS", "3"))
"""Number of restarts; scripts/nightly sets 50."""


def rounds(folder: pathlib.Path) -> int:
    try:
        return int((folder / "rounds").read_text() or 0)
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("what", ["variable", "dataset"])
def test_documented_loop_survives_server_restarts(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path,
                                                  what: str) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    grpc, http = cluster.server.grpc, cluster.server.http.partition("//")[2]
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    cluster.add("--index", "0", "--processes", "2")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE / "state"), str(HERE.parent)))}
    with (tmp_path / "program.log").open("wb") as log:
        program = subprocess.Popen([sys.executable, str(HERE / "state" / "restarted_program.py"), what, grpc,
                                    str(tmp_path)], env=environment, stdout=log, stderr=log)

    def goes_on(from_round: int) -> None:
        def more() -> bool:
            assert program.poll() is None, (tmp_path / "program.log").read_text()[-3000:]
            return rounds(tmp_path) > from_round

        until(more, f"{what}: a round after {from_round}")

    try:
        goes_on(0)
        for i in range(RESTARTS):
            cluster.server.kill()
            late = i % 3 == 1
            if late:  # the workers reconnect before the session of the program
                program.send_signal(signal.SIGSTOP)
            cluster.server.start(grpc, http)
            if late:
                cluster.wait_connected(3)
                time.sleep(0.5)
                program.send_signal(signal.SIGCONT)
            before = rounds(tmp_path)
            goes_on(before + 1)
        (tmp_path / "end").touch()
        assert program.wait(20) == 0, (tmp_path / "program.log").read_text()[-3000:]
    finally:
        program.kill()
        program.wait()
    losses = (tmp_path / "losses").read_text().splitlines()
    assert losses and all("UNAVAILABLE" in line or "server" in line for line in losses), losses
