"""Temporary directories of Muster's processes.

A directory is removed when its owner exits. If the owner was killed, the next worker, local cluster or C++ worker that
this user starts removes the directory. A running owner holds a lock, which protects its directory.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile

from muster import _forks

WORKER, LOCAL, UPLOADS = "muster-worker-", "muster-local-", "muster-upload-"
"""Prefixes of directory names. The owner locks the directory itself. Older versions do not lock muster-uploads-*."""
PROGRAMS = "muster-programs-"
"""Prefix of the names of C++ workers' directories. The owner locks the file `lock` in the directory."""


class Folder:
    """Temporary directory of the current process. The constructor raises OSError if the directory cannot be created."""

    def __init__(self, prefix: str = WORKER) -> None:
        remove_left_ones()
        self.path, self._held = _make(prefix)
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        """Closes the lock in a forked process. Otherwise, a forked process that outlives the worker would keep the
        directory locked.
        """
        os.close(self._held)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)


def _make(prefix: str) -> tuple[str, int]:
    """Creates a temporary directory. Returns the directory's path and the descriptor that holds the lock."""
    while True:
        path = tempfile.mkdtemp(prefix=prefix)
        with contextlib.suppress(FileNotFoundError):
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.path.isdir(path):
                return path, held
            os.close(held)  # another worker removed the folder before it was locked


def remove_left_ones() -> None:
    """Removes this user's directories whose owners were killed."""
    with os.scandir(tempfile.gettempdir()) as entries:
        found = [e.path for e in entries if e.name.startswith((WORKER, LOCAL, UPLOADS, PROGRAMS)) and e.is_dir(follow_symlinks=False)]
    for path in found:
        of_programs = os.path.basename(path).startswith(PROGRAMS)
        try:
            left = (os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_NOFOLLOW) if of_programs else
                    os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        except OSError:  # the folder belongs to another user, was deleted, or its lock file is being created
            continue
        try:
            if os.stat(path, follow_symlinks=False).st_uid == os.geteuid():
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # the owner is alive
            pass
        finally:
            os.close(left)
