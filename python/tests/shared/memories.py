"""Which memory is held where, as /proc has it."""
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
        except OSError:  # it has ended
            pass
    return found


def below(root: int | None = None) -> set[int]:
    """The process and all that it has started."""
    parents = _parents()
    root = root or os.getpid()
    found: set[int] = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def links_of(pid: int) -> list[tuple[str, str]]:
    """Descriptors of one process, and what each is of. Empty: it has ended."""
    found = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.append((fd, os.readlink(f"/proc/{pid}/fd/{fd}")))
            except OSError:  # it has just been closed
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
    except OSError:  # it has ended
        pass


def memories(root: int | None = None) -> dict[str, int]:
    """Contents that these processes hold or have mapped, and their bytes (0: only mapped). Here without what only waits to
    be collected."""
    gc.collect()
    found: dict[str, int] = {}
    for pid in below(root):
        for name, size in _of(pid):
            found[name] = max(size, found.get(name, 0))
    return found


def own() -> int:
    """Bytes that this very process holds."""
    gc.collect()
    return sum({name: size for name, size in _of(os.getpid()) if size}.values())


def nowhere(names: set[str]) -> bool:
    """No process of this machine has any of them."""
    gc.collect()
    return not any(name in names for pid in _parents() for name, _ in _of(pid))
