"""Objects and functions of the tests of large calls."""
from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import muster

MB = 1 << 20


class Keeper:
    def __init__(self, number: int) -> None:
        self.value: Any = number
        self.count = 0

    def keep(self, value: Any) -> Any:
        self.value = value
        return value

    def kept(self) -> Any:
        self.count += 1
        return self.value

    def calls(self) -> int:
        return self.count

    def wait(self, path: str) -> None:
        """Waits until the file exists."""
        while path and not os.path.exists(path):
            time.sleep(0.01)


def read_some(v: Any) -> float:
    return float(v.read().fetch()[0, 0])


def read_and_add(v: Any, mb: int) -> None:
    assert v.read().fetch().shape == (mb, MB // 8)
    v.assign_add(np.ones((mb, MB // 8)))


def add_many(v: Any, mb: int, times: int) -> None:
    one = np.ones((mb, MB // 8))
    for _ in range(times):
        value = v.assign_add(one)
    value.fetch()


def held_up(keeper: Any, path: str, mb: int) -> None:
    keeper.wait(path)
    keeper.keep(np.full((mb, MB // 8), 5.0))


def held_up_and_stays(keeper: Any, path: str, mb: int, said: str) -> None:
    if muster.context().attempt > 1:
        return
    held_up(keeper, path, mb)
    with open(said, "w"):
        pass
    time.sleep(60)
