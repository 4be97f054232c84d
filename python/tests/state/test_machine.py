"""Measurements that a worker takes of its machine, and their form on the server."""
from __future__ import annotations

import os
import pathlib
import resource
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until
from muster.worker import machine

Write = Callable[[str, str], str]


@pytest.fixture
def root(tmp_path: pathlib.Path) -> Write:
    """Creates a /proc and a /sys of the test; returns a function that writes files there."""
    def write(path: str, text: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return str(tmp_path)
    write("proc/stat", "cpu  1 1 1 1\ncpu0 100 0 100 700 100 0 0 0 0 0\n")
    write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n")
    return write


def test_host_without_limits_has_its_own_totals(root: Write) -> None:
    at = root("sys/block/sda/size", "")
    seen = machine.Reader(at, "none").read(1.0)
    assert seen == {"cpus": 1.0, "memory_total_bytes": 1000 << 10, "memory_bytes": 600 << 10}


def test_rates_are_averages_since_the_last_reading(root: Write) -> None:
    root("sys/block/sda/size", "")
    root("proc/diskstats", " 8 0 sda 1 1 10 1 1 1 20\n 8 1 sda1 1 1 9 1 1 1 9\n")
    at = root("proc/net/dev", "x\n    lo: 9 0 0 0 0 0 0 0 9 0\n  eth0:100 0 0 0 0 0 0 0 200 0\n")
    reader = machine.Reader(at, "none")
    reader.read(1.0)
    root("proc/stat", f"cpu0 {100 + os.sysconf('SC_CLK_TCK')} 0 100 900 100 0 0 0 0 0\n")
    root("proc/net/dev", "  eth0: 300 0 0 0 0 0 0 0 600 0\n")
    root("proc/diskstats", " 8 0 sda 1 1 14 1 1 1 28\n")
    seen = reader.read(3.0)
    assert [seen[name] for name in ("cpu", "received", "sent", "read", "written")] == [0.5, 100, 200, 1024, 2048]
    root("proc/net/dev", "  eth1: 1 0 0 0 0 0 0 0 1 0\n")
    assert "received" not in reader.read(5.0), "a network device was removed"


@pytest.mark.parametrize("second", [True, False])
def test_limits_of_control_groups_are_applied(root: Write, second: bool) -> None:
    if second:
        root("proc/self/cgroup", "0::/a/b\n")
        root("sys/fs/cgroup/a/b/memory.max", "max\n")
        root("sys/fs/cgroup/a/memory.max", "409600\n")
        root("sys/fs/cgroup/a/memory.current", "307200\n")
        root("sys/fs/cgroup/a/memory.stat", "inactive_file 102400\n")
        root("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n")
        at = root("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1000000\n")
    else:
        root("proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n")
        root("sys/fs/cgroup/memory/memory.limit_in_bytes", "409600\n")
        root("sys/fs/cgroup/memory/memory.usage_in_bytes", "307200\n")
        root("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 102400\n")
        root("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "50000\n")
        root("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n")
        at = root("sys/fs/cgroup/cpu/docker/x/cpuacct.usage", "1000000000\n")
    reader = machine.Reader(at, "none")
    seen = reader.read(1.0)
    assert seen == {"cpus": 0.5, "memory_total_bytes": 409600, "memory_bytes": 204800}
    if second:
        root("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1250000\n")
    else:
        root("sys/fs/cgroup/cpu/docker/x/cpuacct.usage", "1250000000\n")
    assert reader.read(2.0)["cpu"] == 0.25


def test_largest_memory_users_are_listed_by_process_name(root: Write) -> None:
    root("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 50 kB\n")
    for pid, name, parent, pages in ((os.getpid(), "worker", 1, 10), (900_001, "python (x) y", os.getpid(), 90),
                                     (900_002, "loader", 900_001, 50), (900_003, "loader", 900_001, 5),
                                     (900_004, "another's", 1, 5_000)):
        at = root(f"proc/{pid}/stat", f"{pid} ({name}) S {parent} {'0 ' * 19}{pages} 0\n")
    users = machine.Reader(at, "none").read(1.0)["memory_user"]
    assert [user["name"] for user in users] == ["python (x) y", "loader", "worker"]
    assert users[0]["bytes"] == 90 * os.sysconf("SC_PAGESIZE")


def test_unreadable_machine_has_no_measurements(tmp_path: pathlib.Path) -> None:
    assert machine.Reader(str(tmp_path), "none").read(1.0) == {}


class FakeDriver:
    """Two GPUs, one of which does not report its utilization."""

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, i: Any, one: Any) -> int:
        one._obj.value = i.value + 1
        return 0

    def nvmlDeviceGetName(self, one: Any, name: Any, size: Any) -> int:
        name.value = b"Fake H100"
        return 0

    def nvmlDeviceGetUtilizationRates(self, one: Any, busy: Any) -> int:
        busy._obj.gpu = 75
        return 3 if one.value == 2 else 0

    def nvmlDeviceGetMemoryInfo(self, one: Any, memory: Any) -> int:
        memory._obj.total, memory._obj.used = 80 << 30, 20 << 30
        return 0


def test_gpus_are_measured(root: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_load", lambda library: FakeDriver())
    first, second = machine.Reader(root("x", "")).read(1.0)["gpu"]
    assert first == {"name": "Fake H100", "busy": 0.75, "memory_bytes": 20 << 30, "memory_total_bytes": 80 << 30}
    assert "busy" not in second


def test_reading_takes_little_cpu_time() -> None:
    reader = machine.Reader()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(50):
        reader.read(time.monotonic())
    after = resource.getrusage(resource.RUSAGE_SELF)
    each = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 50
    assert each < 0.001 * machine.EVERY, f"{each * 1e6:.0f} us"


@pytest.mark.parametrize("how", ["--processes", "--threads"])
def test_server_shows_the_measurements_of_a_worker(make_cluster: Callable[..., Cluster], how: str) -> None:
    c = make_cluster()
    c.add(how, "1")
    client = muster.Client(c.server.http)
    one = until(lambda: client.machines(task="worker:0"))[0]
    assert one["kind"] == "worker" and one["fresh"] and one["machine"]["memory_total_bytes"] > 0
    assert one["machine"]["cpu"] >= 0 and one["machine"]["gpus"] == []
    assert client.machines(host="nowhere") == []
