"""Histories: one JSON object a line, with times of CLOCK_MONOTONIC, which all processes of a machine share."""
from __future__ import annotations

import json
import pathlib
import threading
import time
from typing import Any, Iterator


def now() -> int:
    """Returns CLOCK_MONOTONIC in nanoseconds."""
    return time.monotonic_ns()


class Recorder:
    """Appends records to a file. Each record is written at once, so a killed client loses none that it returned from."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._mutex = threading.Lock()

    def write(self, **record: Any) -> None:
        line = json.dumps(record).encode() + b"\n"
        with self._mutex:
            self._file.write(line)


def read(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Yields the records of a file. The last line of a killed client may be cut off and is skipped."""
    if not path.exists():
        return
    data = path.read_bytes()
    for line in data.splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)
