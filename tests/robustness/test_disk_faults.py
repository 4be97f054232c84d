"""The wall clock of a server under disk_faults.c, and its waits for a time of that clock."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from processes import Disk

SOURCE = pathlib.Path(__file__).with_name("disk_faults.c")

WAITS = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
def wait(clock, seconds):
    condition, mutex, attributes = (ctypes.create_string_buffer(128) for _ in range(3))
    libc.pthread_condattr_init(attributes)
    libc.pthread_condattr_setclock(attributes, clock)
    libc.pthread_cond_init(condition, attributes)
    libc.pthread_mutex_init(mutex, None)
    libc.pthread_mutex_lock(mutex)
    end, begun = time.clock_gettime_ns(clock) + int(seconds * 1e9), time.monotonic()
    libc.pthread_cond_timedwait(condition, mutex, ctypes.byref(Time(*divmod(end, 10**9))))
    return time.monotonic() - begun
print(time.time(), libc.time(None), wait(time.CLOCK_REALTIME, 0.2), wait(time.CLOCK_MONOTONIC, 0.2))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("library") / "disk_faults.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", path, SOURCE, "-ldl"], check=True)
    return path


@pytest.mark.parametrize("seconds", [0, 86_400, -86_400])
def test_clock_is_set_and_waits_keep_their_length(library: pathlib.Path, tmp_path: pathlib.Path, seconds: int) -> None:
    disk = Disk(tmp_path, library)
    disk.set_clock(seconds)
    before = time.time()
    done = subprocess.run([sys.executable, "-c", WAITS], env={**os.environ, **disk.environment}, capture_output=True, text=True,
                          check=True, timeout=50)
    clock, whole, wait, monotonic_wait = map(float, done.stdout.split())
    assert before <= clock - seconds <= time.time() and before - 1 <= whole - seconds <= time.time()
    assert 0.19 < wait < 50 and 0.19 < monotonic_wait < 50  # an uncorrected wait would end at once or in a day
