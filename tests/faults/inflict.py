"""Faults that are injected inside a rank. `at_start` injects faults before the first step. `before_step` injects faults at a
step of the rank VICTIM. The file `struck` in the shared folder contains the time of the fault. Faults from outside begin when
this file exists (see faults.py)."""
from __future__ import annotations

import ctypes
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from train import Ranks

VICTIM, AT = 2, 12
BUSY = 0.004
"""Seconds of CPU in a step of the fault slow-cpu."""


def strike_once(folder: pathlib.Path) -> bool:
    """Records the time of the fault. Returns True only for the first call in a run, across all ranks and attempts."""
    try:
        with (folder / "struck").open("x") as file:
            file.write(str(time.time()))
    except FileExistsError:
        return False
    return True


def at_start(fault: str, folder: pathlib.Path, attempt: int) -> None:
    """Injects faults before the ranks are connected."""
    is_victim = int(os.environ["RANK"]) == VICTIM
    if fault == "wrong-rank-count" and os.environ["WORLD_SIZE"] != "4":
        strike_once(folder)
        sys.exit(f"the model is divided into 4 parts, but there are {os.environ['WORLD_SIZE']} ranks")
    if fault == "broken-environment" and is_victim:
        strike_once(folder)
        import package_that_is_not_installed  # noqa: F401
    if fault == "port-in-use" and is_victim:
        strike_once(folder)
        socket.create_server(("127.0.0.1", int((folder / "port").read_text())))
    if fault == "dns-failure" and is_victim and attempt == 1:
        strike_once(folder)
        os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"  # the hosts have no route to a name server
        socket.getaddrinfo("data.faults.invalid", 80)


def before_step(fault: str, folder: pathlib.Path, step: int, ranks: Ranks) -> None:
    """Injects the fault at its step. Must be called only in the rank VICTIM."""
    if step < AT or not strike_once(folder):
        return
    act = ACTS.get(fault)
    if act:
        act(folder)
    elif fault == "collective-deadlock":
        ranks.deadlock()


def work(fault: str, seconds: float) -> None:
    """Does the work of a step: sleeps, or uses the CPU for slow-cpu."""
    if fault != "slow-cpu":
        time.sleep(seconds)
        return
    begun = time.process_time()
    while time.process_time() - begun < BUSY:
        pass


def exit_with_1(folder: pathlib.Path) -> None:
    sys.stderr.write("the batch is empty\n")
    sys.stderr.flush()
    os._exit(1)


def raise_exception(folder: pathlib.Path) -> None:
    raise ValueError("the loss is not finite")


def kill(number: int) -> None:
    if number == signal.SIGTERM:
        signal.signal(number, signal.SIG_DFL)  # JAX handles SIGTERM
    os.kill(os.getpid(), number)
    time.sleep(10)


def segfault(folder: pathlib.Path) -> None:
    ctypes.string_at(0)


def use_too_much_memory(folder: pathlib.Path) -> None:
    """Allocates more memory than the cgroup of the host has (see faults.py)."""
    pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
    kept = []
    while True:
        kept.append(bytearray(b"x" * (16 << 20)))


def loop_in_python(folder: pathlib.Path) -> None:
    while True:
        pass


def loop_in_c(folder: pathlib.Path) -> None:
    re.match(r"(a+)+$", "a" * 64 + "b")  # holds the GIL


def lock_twice(folder: pathlib.Path) -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def read_without_writer(folder: pathlib.Path) -> None:
    os.mkfifo(folder / "batches")
    (folder / "batches").read_bytes()


def leave_early(folder: pathlib.Path) -> None:
    os._exit(0)


def fill_checkpoints(folder: pathlib.Path) -> None:
    """Fills the disk of the checkpoints, so that the next checkpoint fails in rank 0."""
    try:
        with (folder / "checkpoints" / "other-data").open("wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
    except OSError:
        pass


def damage_checkpoint(folder: pathlib.Path) -> None:
    newest = max((folder / "checkpoints").glob("checkpoint-*"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    kill(signal.SIGKILL)


ACTS = {
    "exit-1": exit_with_1,
    "exception": raise_exception,
    "sigkill": lambda _: kill(signal.SIGKILL),
    "sigterm": lambda _: kill(signal.SIGTERM),
    "abort": lambda _: os.abort(),
    "segfault": segfault,
    "out-of-memory": use_too_much_memory,
    "sigstop": lambda _: kill(signal.SIGSTOP),
    "loop-in-python": loop_in_python,
    "loop-in-c": loop_in_c,
    "lock-deadlock": lock_twice,
    "no-input": read_without_writer,
    "leaves-barrier": leave_early,
    "disk-full": fill_checkpoints,
    "damaged-checkpoint": damage_checkpoint,
}
