"""Which step a rank of a program has reached, and when it is to stop.

The rank's worker has made a file that both have mapped (client/step_layout.hpp): a step is some
stores into it and no system call; the worker looks once a second.
"""
from __future__ import annotations

import mmap
import os
import time

_MAGIC = 0x3170657473_6d75
_ORDER, _COUNT, _ENTRIES = 1, 2, 8  # words of 8 bytes
_RING = 128
_BYTES = 8 * (_ENTRIES + 2 * _RING)
_WAIT = 2**64 - 1
_STEP_MAX = 2**53
AGREEMENT_WAIT = 10.0
"""Seconds to wait for the step that all stop at. The server asks all workers and tells all, which takes
some milliseconds. One that goes away meanwhile must not keep a program for ever; who goes on then stops
at a later step if told."""


def _mapped() -> memoryview | None:
    path = os.environ.get("MUSTER_STEPS")
    if not path:
        return None
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            words = memoryview(mmap.mmap(file, _BYTES)).cast("Q")
        finally:
            os.close(file)
    except (OSError, ValueError):
        return None
    return words if words[0] == _MAGIC else None


_words: memoryview | None = None
_looked = False


def step(n: int) -> bool:
    """Says that this rank has done step `n`, and returns whether to stop now.

    Whatever goes on and on may be counted: steps of training, of a simulation. `n` rises. It costs
    some two microseconds. True: save and return; all ranks of the program get it at the same step, when
    somebody has asked for it (`muster programs stop --at-step`), or when a machine or the program's
    time is about to end. While that step is agreed on it waits, some milliseconds.

    Outside a program it returns False and does nothing.
    """
    global _words, _looked
    words = _words
    if words is None:
        if not 0 <= n <= _STEP_MAX:
            raise ValueError(f"step {n}: from 0 to 2**53")
        if _looked:
            return False
        _looked = True
        words = _words = _mapped()
        if words is None:
            return False
    elif not 0 <= n <= _STEP_MAX:
        raise ValueError(f"step {n}: from 0 to 2**53")
    count = words[_COUNT]
    at = _ENTRIES + 2 * (count % _RING)
    words[at] = n
    words[at + 1] = time.monotonic_ns()
    words[_COUNT] = count + 1
    order = words[_ORDER]
    if order == 0:
        return False
    return _is_last(words, n, order)


def _is_last(words: memoryview, n: int, order: int) -> bool:
    until = time.monotonic() + AGREEMENT_WAIT
    while order == _WAIT:
        if time.monotonic() > until:
            return False
        time.sleep(0.001)  # a page tells nobody
        order = words[_ORDER]
    return order != 0 and n >= order - 1
