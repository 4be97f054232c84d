"""Reads small files whose paths users configure: tokens, certificates, upload rules."""
from __future__ import annotations

import collections
import os
import stat
import threading

BYTES_MAX = 1 << 20
PIPES_MAX = 16
_lock = threading.Lock()
_pipes: collections.OrderedDict[tuple[str, int, int], bytes] = collections.OrderedDict()
"""Contents of pipes by path, device and inode, oldest first. Protected by _lock."""


def read_bounded_file(path: str | os.PathLike[str]) -> bytes:
    """Reads a file of at most 1 MiB and returns its bytes. Reading stops at this limit, so an endless device file also
    raises ValueError.

    A pipe, such as ``<(…)`` in a shell, is read once per process. Later calls with the same path return the stored
    bytes.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is larger than 1 MiB.
    """
    of = os.stat(path)
    if not stat.S_ISFIFO(of.st_mode):
        return _read(path)
    key = (os.fsdecode(path), of.st_dev, of.st_ino)
    with _lock:
        if key not in _pipes:
            _pipes[key] = _read(path)
            if len(_pipes) > PIPES_MAX:
                _pipes.popitem(last=False)
        return _pipes[key]


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        content = file.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise ValueError(f"{os.fspath(path)}: is larger than 1 MiB")
    return content
