"""The clients' own modules on a worker: where they lie, and whose are imported.

An upload is unpacked once for all processes of a worker, below one folder, under its digest. A
process that has it as a per-worker value holds a lock on it; beyond UPLOADS_MAX the ones that were
not used for longest and that nobody holds go.

Two sessions may bring different modules of one name, or an edited one of what the worker has
installed. So a call makes its uploads the ones that ``import`` finds, and their modules those of
sys.modules; what was there before is set aside and comes back with the next call that wants it. Calls of
different uploads that run at one time get in each other's way: in a worker of threads, and in a process where
one waits for values while others run. There the uploads are those of the call that has begun, or gone on after
a wait, last.
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
"""Of the names of their folders; others are not uploads."""
UPLOADS_MAX = 32
"""Uploads of a worker on its disk; more only while they are all in use."""

_lock = threading.RLock()  # protects all below
_folder: str | None = None
_numbers = itertools.count(1)


class Installed:
    """An upload in this process; the value of the per-worker value that brought it. Others of the
    same digest are the same object, so that their modules are."""

    def __init__(self, digest: str, place: str, held: int) -> None:
        self._held = held  # a descriptor with a shared lock
        self.number = next(_numbers)
        self.digest = digest
        self.place = place
        self.tops = frozenset(name.partition(".")[0] for name in os.listdir(place))
        self.modules: dict[str, types.ModuleType] = {}
        """Its imported ones, while it is not active."""

    def __del__(self) -> None:
        os.close(self._held)


_known: weakref.WeakValueDictionary[str, Installed] = weakref.WeakValueDictionary()
_active: tuple[Installed, ...] = ()
_aside: dict[str, types.ModuleType] = {}  # the worker's own modules, shadowed by what is active


def use_folder(folder: str) -> None:
    """Once, before the first upload: the folder that the worker's processes share."""
    global _folder
    _folder = folder


def install(digest: str, data: bytes) -> Installed:
    """Runs on a worker, as the builder of a per-worker value. Raises ValueError: the data have another
    digest; others find what is installed by it."""
    if len(digest) != DIGEST_DIGITS or set(digest) - set("0123456789abcdef"):
        raise ValueError(f"no SHA-256 in hexadecimal digits: {digest[:80]!r}")
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
            except OSError:  # another process was faster
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
            pass  # in use
        finally:
            os.close(lock)


def activate(wanted: Sequence[Installed]) -> None:
    """Before a call is unpickled: its uploads, and only these, are found by ``import``."""
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
    """As `activate`, for a closure; see there."""
    if wanted or _active:
        activate(wanted)
    if running is not None:
        running._uploads = wanted


def activate_again(running: Context) -> None:
    """Of a closure that goes on while others, with uploads of their own, have run beside it."""
    if running._uploads is not None and (running._uploads or _active):
        activate(running._uploads)


def _take_modules(tops: frozenset[str]) -> dict[str, types.ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules)
            if name.partition(".")[0] in tops}
