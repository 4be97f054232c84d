"""A Python client whose calls the browser tests count. It obeys lines on its standard input: a phase each."""
from __future__ import annotations

import sys
from typing import Any

import muster

SUCCEED, FAIL = 20, 4
LARGE = 3_000_000  # bytes of a value that is stored as a blob


def divide(n: int, by: int) -> float:
    return n / by


def model() -> dict[str, int]:
    return {"weight": 3}


def weigh(of: Any, n: int) -> int:
    return int(of["weight"] * n)


def large() -> bytes:
    return bytes(LARGE)


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def add(self, n: int) -> int:
        self.n += n
        return self.n


def phase(c: muster.ClusterCoordinator) -> list[Any]:
    """Submits calls, waits for them, and returns the values that remain referenced."""
    good = [c.submit(divide, n, 2) for n in range(SUCCEED)]
    bad = [c.submit(divide, n, 0) for n in range(FAIL)]
    for value in good:
        value.fetch(60)
    for value in bad:
        try:
            value.fetch(60)
        except ZeroDivisionError:
            pass
    return good + bad


def main(server: str) -> None:
    with muster.ClusterCoordinator(server, name="numbers.py") as c:
        kept = phase(c)
        print("first", flush=True)
        sys.stdin.readline()
        kept += phase(c)
        built = c.create_per_worker_value(model)
        weighed = [c.submit(weigh, built, n) for n in range(3)]
        kept += weighed
        for value in weighed:
            value.fetch(60)
        blob = c.submit(large)
        kept.append(blob)
        blob.fetch(60)
        counter = c.create(Counter, name="counter")
        for n in range(5):
            counter.add(n).fetch(60)
        print("second", flush=True)
        sys.stdin.readline()


main(sys.argv[1])
