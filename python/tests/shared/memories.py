"""Shared memory held by processes, as /proc shows it."""
from __future__ import annotations

import gc
import os
import pathlib
import re
from typing import Iterator

_NAME = re.compile(r"/memfd:muster-([0-9a-f]{64})")


def _parents() -> dict[int, int]:
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            found[int(pid)] = int(stat.rpartition(")")[2].split()[1])
        except OSError:  # the process has ended
            pass
    return found


def below(root: int | None = None) -> set[int]:
    """Returns the process and all its descendants."""
    parents = _parents()
    root = root or os.getpid()
    found: set[int] = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def links_of(pid: int) -> list[tuple[str, str]]:
    """Returns the descriptors of a process with their targets; an empty list if the process has ended."""
    found = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.append((fd, os.readlink(f"/proc/{pid}/fd/{fd}")))
            except OSError:  # the descriptor was just closed
                pass
    except OSError:
        pass
    return found


def _of(pid: int) -> Iterator[tuple[str, int]]:
    for fd, link in links_of(pid):
        if name := _NAME.match(link):
            try:
                yield name[1], os.stat(f"/proc/{pid}/fd/{fd}").st_size
            except OSError:
                pass
    try:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            if name := _NAME.search(line):
                yield name[1], 0
    except OSError:  # the process has ended
        pass


def memories(root: int | None = None) -> dict[str, int]:
    """Returns the contents that these processes hold or have mapped, with their bytes (0 if only mapped). Collects garbage in
    this process first."""
    gc.collect()
    found: dict[str, int] = {}
    for pid in below(root):
        for name, size in _of(pid):
            found[name] = max(size, found.get(name, 0))
    return found


def own() -> int:
    """Returns the bytes that this process holds."""
    gc.collect()
    return sum({name: size for name, size in _of(os.getpid()) if size}.values())


def nowhere(names: set[str]) -> bool:
    """Returns whether no process of this machine has any of the contents."""
    gc.collect()
    return not any(name in names for pid in _parents() for name, _ in _of(pid))
