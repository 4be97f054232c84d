"""Reads the limits and the usage of the control group of this process."""
from __future__ import annotations

_NO_LIMIT = 1 << 60
"""Control groups v1 report a larger number if there is no limit."""


class ControlGroup:
    """The lowest limits of this process's control group and its parent groups. Supports control groups v1 and v2."""

    def __init__(self, root: str) -> None:
        self.memory_limit: int | None = None
        self.cpus: float | None = None
        self._memory_at = self._cpu_at = ("", False)
        mount = f"{root}/sys/fs/cgroup"
        for line in read_text(f"{root}/proc/self/cgroup").splitlines():
            _, controllers, path = [*line.split(":", 2), "", ""][:3]
            if ".." in path:
                continue
            if not controllers or "memory" in controllers.split(","):
                self._find_memory(mount + ("/memory" if controllers else ""), path, not controllers)
            if not controllers or "cpu" in controllers.split(","):
                self._find_cpu(mount + ("/cpu" if controllers else ""), path, not controllers)

    def _find_memory(self, mount: str, path: str, second: bool) -> None:
        for at in _upwards(mount, path):
            limit = _number(read_text(at + ("/memory.max" if second else "/memory.limit_in_bytes")))
            if limit is not None and limit < min(_NO_LIMIT, self.memory_limit or _NO_LIMIT):
                self.memory_limit, self._memory_at = limit, (at, second)

    def _find_cpu(self, mount: str, path: str, second: bool) -> None:
        for at in _upwards(mount, path):
            if second:
                quota, _, period = read_text(f"{at}/cpu.max").partition(" ")
            else:
                quota, period = read_text(f"{at}/cpu.cfs_quota_us"), read_text(f"{at}/cpu.cfs_period_us")
            share, of = _number(quota), _number(period)
            if share is not None and of and share / of < (self.cpus or float("inf")):
                self.cpus, self._cpu_at = share / of, (at, second)

    def memory(self) -> int | None:
        """Returns the memory usage in bytes, without caches that the kernel can drop immediately."""
        at, second = self._memory_at
        used = _number(read_text(at + ("/memory.current" if second else "/memory.usage_in_bytes")))
        idle = number_after(read_text(f"{at}/memory.stat"), "inactive_file" if second else "total_inactive_file")
        return None if used is None else max(used - (idle or 0), 0)

    def cpu_seconds(self) -> float | None:
        at, second = self._cpu_at
        used = number_after(read_text(f"{at}/cpu.stat"), "usage_usec") if second else _number(read_text(f"{at}/cpuacct.usage"))
        return None if used is None else used / (1e6 if second else 1e9)


def _upwards(mount: str, path: str) -> list[str]:
    """Returns the directories of the group and its parents. If a container sees its group as the root, the path is
    valid only on the host, and only the mount directory exists.
    """
    parts = [part for part in path.split("/") if part]
    return ["/".join([mount, *parts[:n]]) for n in range(len(parts), -1, -1)]


def read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdigit() else None


def number_after(text: str, key: str) -> int | None:
    """Returns the number that follows `key` in the line that begins with `key`."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == key:
            return _number(words[1])
    return None
