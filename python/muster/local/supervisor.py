"""The supervisor process of a LocalCluster, which runs the server and the workers.

The supervisor stops the server and the workers and then exits when the program sends a request, closes the supervisor's
standard input, or exits. A forked process can keep the other end of the pipe open, so the supervisor also watches the
program itself.

The argument is a JSON object with the members binary (path of the program `muster`), server (arguments of `muster
serve`), worker (options of muster.Worker) and program (process id of the Python program). When the server and the
workers are ready, the supervisor prints the addresses as a line of JSON. After a failure, the supervisor prints a line
with the error.
"""
from __future__ import annotations

import contextlib
import json
import logging
import os
import pathlib
import select
import subprocess
import sys
import threading
import time
from typing import Any

from muster import _forks
from muster.worker import pidfds
from muster.worker.folder import LOCAL, Folder
from muster.worker.log_lines import LineFormatter
from muster.worker.worker import Worker

START_TIMEOUT = 20.0
LOG = "serve.log"


def _say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _start_server(asked: dict[str, Any], folder: str) -> subprocess.Popen[bytes]:
    # The coordinator raises the errors of calls, so the log is shown only on request or if the server has exited.
    if any(word.startswith("--log-level") for word in asked["server"]):
        log, log_level = sys.stderr.buffer, []
    else:
        log, log_level = open(os.path.join(folder, LOG), "wb"), ["--log-level", "warn"]  # noqa: SIM115  the server uses it
    return subprocess.Popen(
        [asked["binary"], "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ready-file",
         os.path.join(folder, "ready.json"), *log_level, *asked["server"]],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _addresses(folder: str, server: subprocess.Popen[bytes]) -> dict[str, str]:
    ready = pathlib.Path(folder, "ready.json")
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and server.poll() is None:
        if ready.exists() and ready.stat().st_size:
            told: dict[str, str] = json.loads(ready.read_text())
            return told
        time.sleep(0.01)
    raise RuntimeError("the server did not start" if server.poll() is None else
                       f"the server exited with status {server.returncode}{_last_words(folder)}")


def _last_words(folder: str) -> str:
    try:
        with open(os.path.join(folder, LOG), encoding="utf-8", errors="replace") as log:
            return ": " + "".join(log.readlines()[-5:]).strip()
    except OSError:  # there is no log file, because the log was written to the terminal
        return ""


def _worker(server: str, options: dict[str, Any]) -> Worker:
    """Creates a worker. Raises ValueError for unknown or invalid options."""
    try:
        return Worker(server, **options)
    except TypeError as error:
        raise ValueError(f"its options: {error}") from error


def main() -> int:
    asked: dict[str, Any] = json.loads(sys.argv[1])
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(LineFormatter())
    lines.setLevel(logging.WARNING)  # set here, because a threaded worker lowers the level of the root logger
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    poll = select.poll()
    poll.register(_forks.take_standard_input(), select.POLLIN)
    program = pidfds.opened(asked["program"])
    if program >= 0:
        poll.register(program, select.POLLIN)
    own = Folder(LOCAL)
    folder = own.path
    with contextlib.ExitStack() as at_end:
        at_end.callback(own.remove)
        try:
            server = _start_server(asked, folder)
        except OSError as error:
            _say({"error": str(error)})
            return 1
        try:
            addresses = _addresses(folder, server)
            worker = _worker(addresses["grpc"], asked["worker"])

            def leave() -> None:
                poll.poll()  # without a deadline
                worker.stop()
                worker.stop()

            threading.Thread(target=leave, daemon=True).start()
            _say({"grpc": addresses["grpc"], "http": "http://" + addresses["http"]})
            os.dup2(2, 1)  # the program reads only the first line
            status = worker.run()
            if server.poll():
                sys.stderr.write(f"the server exited with status {server.returncode}{_last_words(folder)}\n")
            return status
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
