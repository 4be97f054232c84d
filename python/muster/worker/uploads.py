"""Manages the modules that clients have uploaded to a worker, and makes them importable.

An upload is unpacked once for all processes of a worker, into a directory named after the upload's digest. A process
that has the upload as a per-worker value holds a lock on this directory. If there are more than UPLOADS_MAX uploads,
the least recently used unlocked uploads are deleted.

Two sessions may upload different modules with the same name, or a changed version of a module that is installed on the
worker. Therefore each call makes only its own uploads importable and puts the uploaded modules into sys.modules. The
previous modules are saved and restored for the next call that needs them. Concurrent calls with different uploads
interfere with each other in a threaded worker, and in a process where a call waits for values while other calls run. In
both cases, the call that most recently started, or continued after a wait, determines which uploads are importable.
"""
from __future__ import annotations

import atexit
import fcntl
import importlib
import itertools
import os
import shutil
import sys
import tempfile
import threading
import types
import weakref
from typing import Sequence

from muster._pickled.uploads import unpack
from muster.worker.context import Context
from muster.worker.folder import UPLOADS, Folder

DIGEST_DIGITS = 64
"""Length of the directory names of uploads."""
UPLOADS_MAX = 32
"""Number of uploads that a worker keeps on disk. This number is exceeded only while all uploads are in use."""

_lock = threading.RLock()  # protects all below
_folder: str | None = None
_numbers = itertools.count(1)


class Installed:
    """An upload in this process, stored as a per-worker value. There is a single object for each digest, so modules are
    shared.
    """

    def __init__(self, digest: str, place: str, held: int) -> None:
        self._held = held  # a descriptor with a shared lock
        self.number = next(_numbers)
        self.digest = digest
        self.place = place
        self.tops = frozenset(name.partition(".")[0] for name in os.listdir(place))
        self.modules: dict[str, types.ModuleType] = {}
        """Imported modules of the upload while the upload is not active."""

    def __del__(self) -> None:
        os.close(self._held)


_known: weakref.WeakValueDictionary[str, Installed] = weakref.WeakValueDictionary()
_active: tuple[Installed, ...] = ()
_aside: dict[str, types.ModuleType] = {}  # the worker's own modules that active uploads shadow


def use_folder(folder: str) -> None:
    """Sets the directory that the processes of the worker share. Must be called once, before the first upload."""
    global _folder
    _folder = folder


def install(digest: str, data: bytes) -> Installed:
    """Unpacks an upload. Runs on a worker as the builder of a per-worker value.

    Raises ValueError if the digest of `data` is not `digest`. Other sessions find the upload by this digest.
    """
    if len(digest) != DIGEST_DIGITS or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"not a SHA-256 in hexadecimal digits: {digest[:80]!r}")
    with _lock:
        global _folder
        known = _known.get(digest)
        if known is not None:
            return known
        if _folder is None:
            own = Folder(UPLOADS)
            _folder = own.path
            atexit.register(own.remove)
        place = os.path.join(_folder, digest)
        held = os.open(place + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)
        if not os.path.isdir(place):
            unpacked = tempfile.mkdtemp(dir=_folder, prefix="unpack-")
            try:
                unpack(data, digest, unpacked)
            except BaseException:
                shutil.rmtree(unpacked, ignore_errors=True)
                os.close(held)
                raise
            try:
                os.rename(unpacked, place)
            except OSError:  # another process has installed the upload first
                shutil.rmtree(unpacked, ignore_errors=True)
        os.utime(place)
        _make_room(_folder)
        _known[digest] = made = Installed(digest, place, held)
        return made


def _make_room(folder: str) -> None:
    there = [e for e in os.scandir(folder) if e.is_dir() and len(e.name) == DIGEST_DIGITS]
    there.sort(key=lambda e: e.stat().st_mtime)
    for entry in there[:max(0, len(there) - UPLOADS_MAX)]:
        lock = os.open(entry.path + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry.path, ignore_errors=True)
        except BlockingIOError:
            pass  # the upload is in use
        finally:
            os.close(lock)


def activate(wanted: Sequence[Installed]) -> None:
    """Makes only the uploads in `wanted` importable. Called before a call is unpickled."""
    global _active
    if tuple(wanted) == _active:
        return
    with _lock:
        for old in _active:
            old.modules = _take_modules(old.tops)
            if old.place in sys.path:
                sys.path.remove(old.place)
        sys.modules.update(_aside)
        _aside.clear()
        for new in reversed(wanted):
            _aside.update({k: v for k, v in _take_modules(new.tops).items()
                           if k not in _aside})
            sys.path.insert(0, new.place)
        for new in reversed(wanted):
            sys.modules.update(new.modules)
        _active = tuple(wanted)
        importlib.invalidate_caches()


def activate_for(running: Context | None, wanted: Sequence[Installed]) -> None:
    """Makes uploads importable like `activate`, and records the uploads for the closure."""
    if wanted or _active:
        activate(wanted)
    if running is not None:
        running._uploads = wanted


def activate_again(running: Context) -> None:
    """Restores the uploads of a closure that continues after other closures have run with their own uploads."""
    if running._uploads is not None and (running._uploads or _active):
        activate(running._uploads)


def _take_modules(tops: frozenset[str]) -> dict[str, types.ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules)
            if name.partition(".")[0] in tops}
