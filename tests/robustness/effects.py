"""Functions and classes that the workload runs on Muster's workers. Each leaves a trace that outlives its process."""
from __future__ import annotations

import fcntl
import json
import os
import time
from typing import Iterable, Iterator


def append(path: str, **record: object) -> None:
    """Appends one line to a file that many processes share. O_APPEND keeps lines whole."""
    line = json.dumps({**record, "pid": os.getpid(), "at": time.monotonic_ns()}).encode() + b"\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def compute(effects: str, call: str, number: int, seconds: float) -> int:
    """Runs one call: sleeps, leaves a trace and returns a value that depends on the argument."""
    append(effects, call=call, event="start")
    time.sleep(seconds)
    append(effects, call=call, event="end")
    return number * 7 + 1


def add(left: int, right: int) -> int:
    return left + right


class Ledger:
    """An object that remembers every call, so that a call that ran twice is visible."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def enter(self, call: str) -> int:
        self.calls.append(call)
        return len(self.calls)

    def all(self) -> list[str]:
        return self.calls


def split(number: int) -> Iterator[int]:
    """Reads a split of a dataset, which has one element."""
    yield number


def consume(effects: str, dataset: str, elements: Iterable[int]) -> int:
    """Works on the elements that the server deals to this call."""
    count = 0
    for element in elements:
        time.sleep(0.01)
        append(effects, dataset=dataset, element=element)
        count += 1
    return count


def rank(effects: str, program: str, seconds: float) -> None:
    """Runs as a rank of a program. The lock shows whether two attempts of one rank ever run at the same time."""
    number, attempt = os.environ["RANK"], os.environ.get("MUSTER_ATTEMPT", "?")
    lock = os.open(f"{effects}.{program}.{number}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except BlockingIOError:
        alone = False
    append(effects, program=program, rank=int(number), attempt=attempt, event="start", alone=alone)
    time.sleep(seconds)
    append(effects, program=program, rank=int(number), attempt=attempt, event="end", alone=alone)


if __name__ == "__main__":
    import sys

    rank(sys.argv[1], sys.argv[2], float(sys.argv[3]))
