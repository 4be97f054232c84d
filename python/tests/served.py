"""Functions with names, like those in a user's module."""
from __future__ import annotations

import base64
import json
import logging
import os
import signal
import tempfile
import time
from typing import Any

import muster


@muster.function("mean")
def mean(numbers: list[float], offset: float = 0) -> float:
    print("mean of", len(numbers))
    logging.getLogger("served").warning("a warning")
    return sum(numbers) / len(numbers) + offset


@muster.function
def fail(message: str) -> None:
    raise ValueError(message)


@muster.function
def die(how: str = "exit") -> None:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGSEGV)


@muster.function
def progress(seconds: float) -> Any:
    """Reports its start by a file in the folder that a test has named."""
    if folder := os.environ.get("MUSTER_TESTS_BEGUN"):
        os.close(tempfile.mkstemp(dir=folder)[0])
    c = muster.context()
    c.progress(0.25, "a quarter")
    c.log("a line")
    c.wait_cancelled(seconds)
    return c.cancelled()


@muster.function
def deaf(seconds: float) -> None:
    """Ignores cancellation."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except muster.Cancelled:
            pass


@muster.function
def reverse(data: bytes) -> bytes:
    return data[::-1]


@muster.function
def no_json() -> Any:
    return {1, 2}


@muster.function
def echo_json(value: Any) -> Any:
    return value


@muster.function
def from_base64(text: str) -> bytes:
    return base64.b64decode(text)


@muster.function
def from_json(text: str) -> Any:
    return json.loads(text)


@muster.function("Tally")
class Tally:
    """A class with a name: created and called by clients that write JSON."""

    def __init__(self, start: int = 0, step: int = 1) -> None:
        self.count, self.step = start, step

    def add(self, n: int = 1) -> int:
        self.count += n * self.step
        return self.count

    def add_to(self, other: Any, n: int) -> Any:
        return other.add(n).fetch(20)

    def same(self, value: Any) -> Any:
        return value

    def fail(self) -> None:
        raise LookupError("not here")


@muster.function("add_to")
def add_to(tally: Any, n: int) -> Any:
    return tally.add(n).fetch(20)
