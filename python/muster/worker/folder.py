"""The folder of a worker's uploads and blobs. It goes with the worker; that of one which was killed goes with the next
worker of this user that starts, which tells by a lock on the folder that nobody has it any more."""
from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile

from muster import _forks

PREFIX = "muster-worker-"


class Folder:
    """Of the process that made it. Raises OSError: there can be none."""

    def __init__(self) -> None:
        _remove_left_ones()
        self.path, self._held = _make()
        _forks.notify_in_forks(self)

    def forked(self) -> None:
        """A fork that outlived the worker would keep the folder."""
        os.close(self._held)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._held)


def _make() -> tuple[str, int]:
    """The path, and a descriptor that has it locked."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX)
        with contextlib.suppress(FileNotFoundError):
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.path.isdir(path):
                return path, held
            os.close(held)  # another worker took it for a left one before it was locked


def _remove_left_ones() -> None:
    with os.scandir(tempfile.gettempdir()) as entries:
        found = [e.path for e in entries if e.name.startswith(PREFIX) and e.is_dir(follow_symlinks=False)]
    for path in found:
        try:
            left = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # another user's, or gone
            continue
        try:
            if os.fstat(left).st_uid == os.geteuid():
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # somebody has it
            pass
        finally:
            os.close(left)
