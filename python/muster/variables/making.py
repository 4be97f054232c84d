"""How a coordinator makes and finds variables, whole or in shards."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from muster._wire.messages import BYTES
from muster.coordinator.objects import SessionObjects
from muster.errors import NotServedError
from muster.variables import arrays
from muster.variables.handle import WHOLE_MAX, RemoteVariable
from muster.variables.partitioners import Partitioner, bounds_of
from muster.variables.sharded import ShardedVariable
from muster.variables.variable import CLASS_NAME, NAME

AnyVariable = Union[RemoteVariable, ShardedVariable]

BOUNDS = "/shards"
"""Behind the name of one in shards: the variable of where these begin, by which others find them."""


def task_of(task: str) -> tuple[str, int]:
    """Raises ValueError."""
    job, _, index = task.rpartition(":")
    if not job or not index.isdigit():
        raise ValueError(f"task: {task!r} is not as 'ps:0'")
    return job, int(index)


def make(objects: SessionObjects, array: Any, name: str, tasks: Sequence[str],
         partitioner: Optional[Partitioner], detached: bool) -> AnyVariable:
    """`array`, or an Initial. Waits until the server has taken it, and until it is there where it has to go in
    pieces. Raises InputError, ValueError, TypeError, UnavailableError."""
    initial = array if isinstance(array, Initial) else _Given(array)
    bounds = bounds_of(partitioner, initial.shape, initial.dtype)
    shards = len(bounds) - 1
    for task in tasks:
        task_of(task)
    if shards == 1:
        return _make_one(objects, initial, 0, bounds[1], name, tasks[0], detached)
    named = [f"{name}/part_{i}" if name else "" for i in range(shards)]
    parts = [_make_one(objects, initial, low, high, part, tasks[i % len(tasks)], detached)
             for i, (low, high, part) in enumerate(zip(bounds, bounds[1:], named))]
    index = None
    if name:  # last: who finds it finds all
        index = _make_one(objects, _Given(arrays.numpy().asarray(bounds, "int64")), 0, len(bounds), name + BOUNDS,
                          tasks[0], detached)
    return ShardedVariable(parts, bounds, initial.shape, initial.dtype, name, index)


class Initial:
    """A variable of `shape` full of "zeros" or "ones", which are made where it is."""

    def __init__(self, shape: Sequence[int], dtype: Any = "float32", initializer: str = "zeros") -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = str(arrays.numpy().dtype(dtype).name)
        self.initializer = initializer

    def arguments(self, low: int, high: int) -> bytes:
        shape = (high - low, *self.shape[1:]) if self.shape else ()
        return arrays.encode([arrays.numpy().asarray(shape, "int64"), self.dtype, self.initializer])

    def rows(self, low: int, high: int) -> Any:
        return None


class _Given(Initial):
    def __init__(self, array: Any) -> None:
        self._array = arrays.numpy().asarray(array)
        super().__init__(self._array.shape, self._array.dtype)

    def arguments(self, low: int, high: int) -> bytes:
        rows = self._array[low:high] if self.shape else self._array
        return arrays.encode([rows]) if rows.nbytes <= WHOLE_MAX else super().arguments(low, high)

    def rows(self, low: int, high: int) -> Any:
        rows = self._array[low:high] if self.shape else self._array
        return rows if rows.nbytes > WHOLE_MAX else None


def _make_one(objects: SessionObjects, initial: Initial, low: int, high: int, name: str, task: str,
              detached: bool) -> RemoteVariable:
    job, index = task_of(task)
    words = {"job": job, "index": index, "name": name, "detached": detached, "concurrency": 1,
             "class_name": CLASS_NAME}
    found = objects.make(words, NAME, initial.arguments(low, high), BYTES)
    shape = (high - low, *initial.shape[1:]) if initial.shape else ()
    made = RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(), shape,
                          initial.dtype, name)
    rows = initial.rows(low, high)
    if rows is not None:
        made.assign_rows(0, rows).fetch()  # an error of a piece is nobody else's to tell
    return made


def find(objects: SessionObjects, name: str) -> AnyVariable:
    """Raises NotServedError: there is none, TypeError: that is no variable."""
    try:
        return _found(objects, name)
    except NotServedError:
        shards = find_shards(objects, name)
        if shards is None:
            raise
        return shards


def find_shards(objects: SessionObjects, name: str) -> Optional[ShardedVariable]:
    try:
        index = _found(objects, name + BOUNDS)
    except NotServedError:
        return None
    bounds = [int(n) for n in index.read().fetch()]
    parts = [_found(objects, f"{name}/part_{i}") for i in range(len(bounds) - 1)]
    shape = (bounds[-1], *parts[0].shape[1:])
    return ShardedVariable(parts, bounds, shape, str(parts[0].dtype.name), name, index)


def _found(objects: SessionObjects, name: str) -> RemoteVariable:
    return handle_of(objects, objects.look_for(name), name)


def handle_of(objects: SessionObjects, found: Any, name: str) -> RemoteVariable:
    """Of an object that was found. Waits for its shape. Raises TypeError, and what its calls raise."""
    if found.class_name != CLASS_NAME:
        raise TypeError(f"{name!r} is a {found.class_name}, no variable: see get_object")
    unknown = RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(), (), "float32",
                             name)
    shape, dtype, _ = unknown._call("info").fetch()
    return RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(),
                          [int(n) for n in shape], dtype, name)
