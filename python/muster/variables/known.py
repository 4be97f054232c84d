"""The variables, objects and datasets of a coordinator that are included in its checkpoints, and the code that saves
and loads them.
"""
from __future__ import annotations

import collections
import logging
import os
import threading
from typing import Any, Iterator, Union

from muster.errors import ClosureError, UnavailableError
from muster.objects.dataset import DistributedDataset
from muster.objects.handle import RemoteObject
from muster.variables import checkpoint
from muster.variables.checkpoint import Path, Reader, Saved, Writer
from muster.variables.handle import PIECE, WHOLE_MAX, RemoteVariable
from muster.variables.sharded import ShardedVariable

log = logging.getLogger("muster")

WITH_SLOTS = 4
"""Maximum size of a variable with its slots, relative to the size of the variable."""
AHEAD_BYTES = 32 << 20
"""Number of bytes that are requested in advance while earlier data is being written."""
AHEAD = 4
"""Number of pieces of a large shard that are requested in advance."""
DELETED_MAX = 10_000
"""Maximum number of stored names of deleted objects."""
Handle = Union[RemoteVariable, ShardedVariable, RemoteObject, DistributedDataset]
_VARIABLES = (RemoteVariable, ShardedVariable)
"""Handle classes of variables. All other handles have `save_state` and `load_state`."""


class Known:
    """The known handles of a coordinator. Methods can be called on any thread. Only one thread at a time can save or
    load.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()  # held while saving or loading
        self._lock = threading.Lock()  # protects all below
        self._named: dict[str, Handle] = {}
        self._unnamed: dict[int, str] = {}
        self._deleted: collections.OrderedDict[str, None] = collections.OrderedDict()
        """Names of deleted objects."""
        self._restarted = False
        """Whether an object was lost or created again. If True, the current data must not replace saved data."""
        self._continued: set[str] = set()
        """Paths from which this coordinator has restored, or to which it has saved."""

    def add(self, handle: Handle, name: str) -> None:
        with self._lock:
            if not name:
                self._unnamed[_ids(handle)[0]] = repr(handle)
                return
            before = self._named.get(name)
            self._restarted |= name in self._deleted or (before is not None and _ids(before) != _ids(handle))
            self._named[name] = handle._unowned()  # must not keep the session open

    def forget(self, id: int) -> None:
        """Records that an object was deleted."""
        with self._lock:
            self._unnamed.pop(id, None)
            for name in [n for n, h in self._named.items() if id in _ids(h)]:
                del self._named[name]
                self._deleted[name] = None
                if len(self._deleted) > DELETED_MAX:
                    self._deleted.popitem(last=False)

    def _listed(self) -> dict[str, Handle]:
        """Returns the handles that a checkpoint must contain. The caller must hold the lock. Raises ValueError if an
        object or variable has no name.
        """
        if self._unnamed:
            raise ValueError(f"{next(iter(self._unnamed.values()))} has no name; checkpoints find variables by name, "
                             "so create it with name=, or delete it first")
        return dict(self._named)

    def save(self, path: Path, keep: int | None = None) -> int:
        with self._turn:
            with self._lock:
                handles = self._listed()
            return self._save(path, keep, handles)

    def save_unless_restarted(self, path: Path, keep: int | None) -> int | None:
        """Saves a checkpoint. Returns None if the checkpoint would replace saved data that must be restored first."""
        with self._turn:
            try:
                before = checkpoint.numbers(path)
                with self._lock:  # handles that are recreated after this point are not included
                    if self._restarted or (before and os.path.abspath(path) not in self._continued):
                        return None
                    handles = self._listed()
                return self._save(path, keep, handles)
            except UnavailableError:
                with self._lock:
                    self._restarted = True
                raise

    def _save(self, path: Path, keep: int | None, handles: dict[str, Handle]) -> int:
        checkpoint.check_keep(keep)
        out = Writer(path)
        try:
            shards = []
            # Positions of datasets are saved before variables. After a restore, data can therefore
            # be read twice, but no data is skipped.
            for name, handle in sorted(handles.items(), key=lambda one: not isinstance(one[1], DistributedDataset)):
                if not isinstance(handle, _VARIABLES):
                    out.object(name, handle.save_state().fetch())
                    continue
                out.variable(name, handle.shape, str(handle.dtype.name))
                shards += [(name, shard, low) for shard, low in _shards(handle)]
            _save_shards(out, shards)
            number = out.finish()
        except BaseException:
            out.abandon()
            raise
        with self._lock:
            self._continued.add(os.path.abspath(path))
        checkpoint.tidy(path, number, keep)
        return number

    def restore(self, path: Path) -> int | None:
        with self._turn:
            reader, wrong = checkpoint.newest(path)
            for why in wrong:
                log.warning("skipped a checkpoint: %s", why)
            if reader is None:
                if wrong:
                    raise ValueError(f"no checkpoint in {path} is complete: {wrong[0]}")
                with self._lock:
                    self._may_go_on(path, dict(self._named))
                return None
            try:
                with self._lock:
                    handles = self._listed()
                for name, handle in handles.items():
                    _check(reader, name, handle)
                with self._lock:
                    self._restarted = True  # loading can fail halfway
                self._load(reader, handles)
            finally:
                reader.close()
            with self._lock:
                self._may_go_on(path, handles)
            return reader.number

    def _may_go_on(self, path: Path, loaded: dict[str, Handle]) -> None:
        """Allows saving again, unless a handle was recreated while the checkpoint was being loaded. The data of such a
        handle was not loaded. The caller must hold the lock.
        """
        self._restarted = any(name in self._named and _ids(self._named[name]) != _ids(handle)
                              for name, handle in loaded.items())
        for name in [n for n in self._deleted if n not in loaded]:
            del self._deleted[name]
        self._continued.add(os.path.abspath(path))

    def _load(self, reader: Reader, handles: dict[str, Handle]) -> None:
        pending: list[Any] = []
        for name, handle in handles.items():
            if isinstance(handle, DistributedDataset):  # first: the server rejects it while functions are reading
                handle.load_state(reader.object(name)).fetch()
        for name, handle in handles.items():
            if isinstance(handle, DistributedDataset):
                continue
            if not isinstance(handle, _VARIABLES):
                pending.append(handle.load_state(reader.object(name)))
                continue
            for shard, low in _shards(handle):
                _load_shard(reader, name, shard, low)
        for value in pending:
            value.fetch()


def _ids(handle: Handle) -> list[int]:
    return [s._id for s in handle.shards] if isinstance(handle, ShardedVariable) else [handle._id]


def _shards(handle: RemoteVariable | ShardedVariable) -> list[tuple[RemoteVariable, int]]:
    """Returns the shards of a variable, each with its first row."""
    if isinstance(handle, ShardedVariable):
        return list(zip(handle.shards, handle.bounds))
    return [(handle, 0)]


def _check(reader: Reader, name: str, handle: Handle) -> None:
    if not isinstance(handle, _VARIABLES):
        if name not in reader.objects:
            raise ValueError(f"checkpoint {reader.number} has no object {name!r}")
        return
    saved = reader.variables.get(name)
    if saved is None:
        raise ValueError(f"checkpoint {reader.number} has no variable {name!r}")
    if (tuple(saved["shape"]), saved["dtype"]) != (handle.shape, handle.dtype.name):
        raise ValueError(f"the variable {name!r} has {handle.shape} {handle.dtype.name}, but in checkpoint "
                         f"{reader.number} it has {tuple(saved['shape'])} {saved['dtype']}")


def _save_shards(out: Writer, shards: list[tuple[str, RemoteVariable, int]]) -> None:
    """Saves shards. Several shards are requested in advance. Each shard completes its calls in progress before it is
    saved.
    """
    ahead: collections.deque[tuple[str, int, Any, int]] = collections.deque()

    def write_one() -> int:
        name, low, value, size = ahead.popleft()
        _write(out, name, low, value.fetch())
        return size

    asked = 0
    for name, shard, low in shards:
        size = shard._bytes * WITH_SLOTS
        if size > WHOLE_MAX:
            _save_large(out, name, shard, low)
            continue
        while ahead and asked + size > AHEAD_BYTES:
            asked -= write_one()
        ahead.append((name, low, shard._call("save"), size))
        asked += size
    while ahead:
        write_one()


def _save_large(out: Writer, name: str, shard: RemoteVariable, low: int) -> None:
    try:
        number = shard._call("begin_cut").fetch()
    except UnavailableError:
        raise
    except ClosureError:  # a worker in another language cannot make copies; it returns the whole shard
        _write(out, name, low, shard._call("save").fetch())
        return
    ahead: collections.deque[tuple[int, Any]] = collections.deque()
    versions: set[int] = set()

    def write_one() -> None:
        begin, value = ahead.popleft()
        saved = value.fetch()
        versions.add(int(saved[-1]))
        if len(versions) > 1:
            raise ValueError(f"the pieces of {name!r} have different versions: {sorted(versions)}")
        _write(out, name, low + begin, saved)

    try:
        for begin, end in _row_ranges(shard):
            ahead.append((begin, shard._call("cut_rows", number, begin, end)))
            if len(ahead) == AHEAD:
                write_one()
        while ahead:
            write_one()
    finally:
        shard._call("end_cut", number)


def _row_ranges(shard: RemoteVariable) -> Iterator[tuple[int, int]]:
    count = max(1, PIECE // max(1, shard._row_bytes))
    for begin in range(0, shard.shape[0], count):
        yield begin, min(shard.shape[0], begin + count)


def _write(out: Writer, name: str, begin: int, saved: list[Any]) -> None:
    array, *slots, version = saved
    out.rows(name, begin, [("", array), *zip(slots[::2], slots[1::2])], int(version))


def _load_shard(reader: Reader, name: str, shard: RemoteVariable, low: int) -> None:
    if shard._bytes * reader.arrays_of(name) <= WHOLE_MAX:
        saved, version = reader.rows(name, low, low + (shard.shape[0] if shard.shape else 1))
        shard._call("load", *_loaded(saved), version).fetch()
        return
    values = []
    for begin, end in _row_ranges(shard):
        saved, version = reader.rows(name, low + begin, low + end)
        values.append(shard._call("load_rows", begin, *_loaded(saved), version))
    for value in values:
        value.fetch()


def _loaded(saved: list[Saved]) -> list[Any]:
    (_, array), *slots = saved
    return [array, *(part for slot in slots for part in slot)]
