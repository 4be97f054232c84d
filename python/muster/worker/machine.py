"""Measures the load of a worker's machine every 5 s: CPU, memory, GPUs, network and disks.

The figures describe the worker's control group if the group's limits are lower than the host's limits. Otherwise, the
figures describe the host. Values that cannot be read are omitted.
"""
from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Any

from muster._control_group import ControlGroup, number_after, read_text

FIRST, EVERY = 1.0, 5.0
"""Seconds until the first measurement, and between measurements."""
GPUS_MAX = 16
USERS_MAX = 3
MEMORY_SHORT = 0.9
"""Fraction of memory in use above which the largest processes are determined."""
PROCESSES_MAX = 32_768
"""Maximum number of processes to examine for the largest processes."""
DRIVER = "libnvidia-ml.so.1"
_VIRTUAL = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
"""Name prefixes of virtual disks, which are based on other disks or on memory."""
_SECTOR = 512


class Watch:
    """Measures on a separate thread, because a measurement may block in the kernel or in a driver."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._newest = b""
        threading.Thread(target=self._watch, name="muster-machine", daemon=True).start()

    def take(self) -> bytes:
        """Returns the newest measurement as a WorkerMessage, or empty bytes if there is no new measurement."""
        newest, self._newest = self._newest, b""
        return newest

    def close(self) -> None:
        """Stops the thread. Does not wait for a measurement that blocks."""
        self._over.set()

    def _watch(self) -> None:
        from muster._wire.messages import WorkerMessage  # child processes do not import it
        reader = Reader()
        reader.read(time.monotonic())
        pause = FIRST
        while not self._over.wait(pause):
            pause = EVERY
            self._newest = WorkerMessage(machine=reader.read(time.monotonic())).SerializeToString()


class Reader:
    """Reads the fields of a Machine message with `read`. Rates are relative to the previous call, so the first call
    returns no rates.

    `root` is a prefix for /proc and /sys, used by tests.
    """

    def __init__(self, root: str = "", driver: str = DRIVER) -> None:
        self._root = root
        self._group = ControlGroup(root)
        self._driver = _load(driver)
        self._disks = {n for n in _names(f"{root}/sys/block") if not n.startswith(_VIRTUAL)}
        self._before: tuple[float, dict[str, float]] = (0.0, {})

    def read(self, now: float) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        totals = {**self._cpu(seen), **self._network(), **self._drives()}
        self._memory(seen)
        then, before = self._before
        for name, total in totals.items():  # a smaller total means that a device was removed
            if now > then and total >= before.get(name, float("inf")):
                seen[name] = (total - before[name]) / (now - then)
        self._before = now, totals
        if self._driver:
            seen["gpu"] = _gpus(self._driver)
        if seen.get("memory_bytes", 0) >= MEMORY_SHORT * seen.get("memory_total_bytes", float("inf")):
            seen["memory_user"] = self._largest()
        return seen

    def _cpu(self, seen: dict[str, Any]) -> dict[str, float]:
        mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        busy, cpus = 0, 0
        for line in read_text(f"{self._root}/proc/stat").splitlines():
            name, *times = line.split()
            number = name[3:]
            if name.startswith("cpu") and number.isdigit() and (mine is None or int(number) in mine):
                cpus += 1
                busy += sum(int(t) for i, t in enumerate(times[:8]) if i not in (3, 4))
        if cpus:
            seen["cpus"] = float(cpus)
        limit = self._group.cpus
        if limit and (not cpus or limit < cpus):
            seen["cpus"] = limit
            used = self._group.cpu_seconds()
            return {} if used is None else {"cpu": used}
        return {"cpu": busy / os.sysconf("SC_CLK_TCK")} if cpus else {}

    def _memory(self, seen: dict[str, Any]) -> None:
        text = read_text(f"{self._root}/proc/meminfo")
        total, left = number_after(text, "MemTotal:"), number_after(text, "MemAvailable:")
        used: int | None = None
        if total is not None:
            total <<= 10
            used = None if left is None else max(total - (left << 10), 0)
        limit = self._group.memory_limit
        if limit and (total is None or limit < total):
            total, used = limit, self._group.memory()
        if total is not None:
            seen["memory_total_bytes"] = total
        if used is not None:
            seen["memory_bytes"] = used

    def _network(self) -> dict[str, float]:
        totals: dict[str, float] = {}
        for line in read_text(f"{self._root}/proc/net/dev").splitlines():
            name, colon, rest = line.partition(":")
            columns = rest.split()
            if colon and name.strip() != "lo" and len(columns) > 8:
                totals["received"] = totals.get("received", 0) + int(columns[0])
                totals["sent"] = totals.get("sent", 0) + int(columns[8])
        return totals

    def _drives(self) -> dict[str, float]:
        totals: dict[str, float] = {}
        for line in read_text(f"{self._root}/proc/diskstats").splitlines() if self._disks else ():
            columns = line.split()
            if len(columns) > 9 and columns[2] in self._disks:
                totals["read"] = totals.get("read", 0) + int(columns[5]) * _SECTOR
                totals["written"] = totals.get("written", 0) + int(columns[9]) * _SECTOR
        return totals

    def _largest(self) -> list[dict[str, Any]]:
        """Returns the processes that use the most memory, among this process and its descendants."""
        page = os.sysconf("SC_PAGESIZE")
        parents: dict[int, int] = {}
        found: dict[int, dict[str, Any]] = {}
        pids = [int(n) for n in _names(f"{self._root}/proc") if n.isdigit()]
        for pid in pids[:PROCESSES_MAX]:
            head, _, rest = read_text(f"{self._root}/proc/{pid}/stat").rpartition(")")
            columns = rest.split()
            if len(columns) > 21:
                parents[pid] = int(columns[1])
                found[pid] = {"pid": pid, "name": head.partition("(")[2],
                              "bytes": int(columns[21]) * page}
        ours = {os.getpid()}
        while True:
            more = {pid for pid, parent in parents.items() if parent in ours} - ours
            if not more:
                break
            ours |= more
        largest = sorted((one for pid, one in found.items() if pid in ours), key=lambda one: -one["bytes"])
        return largest[:USERS_MAX]


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _load(library: str) -> ctypes.CDLL | None:
    """Returns the driver's library, or None if there is no driver and therefore no GPU."""
    try:
        nvml = ctypes.CDLL(library)
        return nvml if nvml.nvmlInit_v2() == 0 else None
    except (OSError, AttributeError):
        return None


class _Busy(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]  # percent


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def _gpus(nvml: ctypes.CDLL) -> list[dict[str, Any]]:
    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return []
    all_of_them: list[dict[str, Any]] = []
    for i in range(min(count.value, GPUS_MAX)):
        one, name, busy, memory = ctypes.c_void_p(), ctypes.create_string_buffer(96), _Busy(), _Memory()
        if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(i), ctypes.byref(one)) != 0:
            continue
        gpu: dict[str, Any] = {}
        if nvml.nvmlDeviceGetName(one, name, ctypes.c_uint(95)) == 0:
            gpu["name"] = name.value.decode("utf-8", "replace")
        if nvml.nvmlDeviceGetUtilizationRates(one, ctypes.byref(busy)) == 0:
            gpu["busy"] = min(busy.gpu, 100) / 100
        if nvml.nvmlDeviceGetMemoryInfo(one, ctypes.byref(memory)) == 0:
            gpu.update(memory_bytes=memory.used, memory_total_bytes=memory.total)
        all_of_them.append(gpu)
    return all_of_them
