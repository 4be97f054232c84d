"""Reports the steps of a rank and receives stop requests.

The rank's worker creates a file, which the worker and the rank map into memory (client/step_layout.hpp). To report a
step, the rank writes to this memory and makes no system call. The worker reads the file once per second.
"""
from __future__ import annotations

import mmap
import os
import time

_MAGIC = 0x3170657473_6d75
_ORDER, _COUNT, _ENTRIES = 1, 2, 8  # indices of 8-byte words
_RING = 128
_BYTES = 8 * (_ENTRIES + 2 * _RING)
_WAIT = 2**64 - 1
_STEP_MAX = 2**53
AGREEMENT_WAIT = 10.0
"""Seconds to wait for the step at which all ranks stop. The server normally collects the answers of all workers within
milliseconds. A worker that fails during this time must not block the program. A rank that continues after the wait
stops at a later step, if the server requests a stop again.
"""


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
    """Reports that this rank has completed step `n`, and returns whether the rank must stop.

    A step is any unit of repeated work, for example one iteration of a training loop or a simulation. A call takes
    about two microseconds, or a few milliseconds while the ranks agree on the step at which to stop. Outside a program,
    the function has no effect and returns False.

    Args:
        n: Number of the step, from 0 to 2**53. The number must increase with every call.

    Returns:
        True if the rank must save its state and exit. All ranks receive True at the same step. The reason is a user's
        request (`muster programs stop --at-step`), the shutdown of a machine, or the time limit of the program.

    Raises:
        ValueError: `n` is out of range.

    Example:
        ```python
        for n in range(start, 10_000):
            train(n)
            if muster.step(n):
                save(n)
                break
        ```
    """
    global _words, _looked
    words = _words
    if words is None:
        if not 0 <= n <= _STEP_MAX:
            raise ValueError(f"step {n}: must be from 0 to 2**53")
        if _looked:
            return False
        _looked = True
        words = _words = _mapped()
        if words is None:
            return False
    elif not 0 <= n <= _STEP_MAX:
        raise ValueError(f"step {n}: must be from 0 to 2**53")
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
        time.sleep(0.001)  # shared memory cannot wake a waiting thread
        order = words[_ORDER]
    return order != 0 and n >= order - 1
