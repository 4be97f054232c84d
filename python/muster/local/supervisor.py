"""The process beside a program that has a LocalCluster: it runs the server and the workers, and ends
with both when its standard input is closed, which the program's end does in any case.

Argument: a JSON object with binary, server (words for `muster serve`), and worker (options of
muster.Worker). One line comes out when all is ready: the addresses, or an error.
"""
from __future__ import annotations

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from muster.worker.log_lines import LineFormatter
from muster.worker.worker import Worker

START_TIMEOUT = 20.0


def _say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _start_server(asked: dict[str, Any], folder: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [asked["binary"], "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file",
         os.path.join(folder, "ready.json"), "--log-level", "warn", *asked["server"]],
        stdin=subprocess.DEVNULL, stdout=sys.stderr)


def _addresses(folder: str, server: subprocess.Popen[bytes]) -> dict[str, str]:
    ready = pathlib.Path(folder, "ready.json")
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and server.poll() is None:
        if ready.exists() and ready.stat().st_size:
            told: dict[str, str] = json.loads(ready.read_text())
            return told
        time.sleep(0.01)
    raise RuntimeError("the server has not started" if server.poll() is None else
                       f"the server ended with status {server.returncode}")


def main() -> int:
    asked: dict[str, Any] = json.loads(sys.argv[1])
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(LineFormatter())
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the program's terminal; it decides
    with tempfile.TemporaryDirectory() as folder:
        try:
            server = _start_server(asked, folder)
        except OSError as error:
            _say({"error": str(error)})
            return 1
        try:
            addresses = _addresses(folder, server)
            worker = Worker(addresses["grpc"], **asked["worker"])

            def leave() -> None:
                sys.stdin.buffer.read()  # until the program closes it, or ends
                worker.stop()
                worker.stop()

            threading.Thread(target=leave, daemon=True).start()
            _say({"grpc": addresses["grpc"], "http": "http://" + addresses["http"]})
            return worker.run()
        except (RuntimeError, ValueError) as error:
            _say({"error": str(error)})
            return 1
        finally:
            server.terminate()
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()


if __name__ == "__main__":
    sys.exit(main())
