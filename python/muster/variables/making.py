"""Creates and finds variables, either whole or in shards."""
from __future__ import annotations

import math
from typing import Any, Sequence, Union

from muster._wire.messages import BYTES
from muster.coordinator.objects import SessionObjects
from muster.coordinator.remote_value import RemoteValue
from muster.objects import arrays
from muster.variables.handle import WHOLE_MAX, RemoteVariable
from muster.variables.partitioners import Partitioner, bounds_of
from muster.variables.sharded import ShardedVariable
from muster.variables.variable import CLASS_NAME, NAME, checked_dtype, checked_initializer

AnyVariable = Union[RemoteVariable, ShardedVariable]

ROW_MAX = 7 << 20
"""Maximum size of a row in bytes. A piece consists of whole rows. In a checkpoint, a call also contains the momentum
and Adam slots of its rows.
"""
IN_SHARDS = "muster.ShardedVariable"
"""Class of the index of a sharded variable. The index has the variable's name and stores the first row of each shard.
The index enables clients to find the shards, and prevents other objects from using the name.
"""


def task_of(task: str) -> tuple[str, int]:
    """Returns the job and the index of a task. Raises ValueError if `task` is invalid."""
    job, _, index = task.rpartition(":")
    if not job or not index.isdecimal() or len(index) > 9:
        raise ValueError(f"task: {task!r}, must be a task, such as 'ps:0'")
    return job, int(index)


def make(objects: SessionObjects, array: Any, name: str, tasks: Sequence[str],
         partitioner: Partitioner | None, detached: bool) -> AnyVariable:
    """Creates a variable initialized from `array`, which can be an Initial. Waits until the server has accepted the
    variable, and until all pieces of a large array have arrived. Raises InputError, ValueError, TypeError or
    UnavailableError.
    """
    initial = array if isinstance(array, Initial) else _Given(array)
    row = math.prod(initial.shape[1:]) * arrays.numpy().dtype(initial.dtype).itemsize
    if row > ROW_MAX:
        raise ValueError(f"a row of {initial.shape} {initial.dtype} has {row} bytes, the limit is {ROW_MAX}; use "
                         "more, shorter rows")
    bounds = bounds_of(partitioner, initial.shape, initial.dtype)
    shards = len(bounds) - 1
    for task in tasks:
        task_of(task)
    if shards == 1:
        return _make_one(objects, initial, 0, bounds[1], name, tasks[0], detached)
    named = [f"{name}/part_{i}" if name else "" for i in range(shards)]
    parts: list[RemoteVariable] = []
    index = None
    try:
        for i, (low, high, part) in enumerate(zip(bounds, bounds[1:], named)):
            parts.append(_make_one(objects, initial, low, high, part, tasks[i % len(tasks)], detached))
        if name:  # the index is created last, so that a client that finds it also finds all shards
            index = _make_one(objects, _Given(arrays.numpy().asarray(bounds, "int64")), 0, len(bounds), name,
                              tasks[0], detached, IN_SHARDS)
    except BaseException:
        for made in parts:
            made.delete()
        raise
    return ShardedVariable(parts, bounds, initial.shape, initial.dtype, name, index)


def checked(array: Any, shape: Sequence[int] | None, dtype: Any, initializer: str | None) -> Any:
    """Returns the array, converted to `dtype`. Raises ValueError if `shape` or `initializer` contradicts the array."""
    if initializer is not None:
        raise ValueError("initializer: must not be given with an array; it fills a variable that is created from a "
                         "shape")
    if isinstance(array, RemoteValue):
        array = array.fetch()
    array = arrays.numpy().asarray(array, dtype)
    if shape is not None and tuple(shape) != array.shape:
        raise ValueError(f"shape: {tuple(shape)}, but the array has {array.shape}")
    return array


class Initial:
    """Describes a new variable of `shape`, which the variable's task fills with "zeros" or "ones"."""

    def __init__(self, shape: Sequence[int], dtype: Any = "float32", initializer: str = "zeros") -> None:
        try:
            self.shape = tuple(arrays.integer("shape", n) for n in iter(shape))
        except TypeError as error:
            raise TypeError(f"shape: {shape!r}: {error}") from None
        if min(self.shape, default=0) < 0:
            raise ValueError(f"shape: {self.shape}, must contain only numbers that are at least 0")
        own = arrays.numpy().dtype(dtype)
        checked_dtype(own)
        checked_initializer(initializer)
        self.dtype = str(own.name)
        self.initializer = initializer

    def arguments(self, low: int, high: int) -> bytes:
        shape = (high - low, *self.shape[1:]) if self.shape else ()
        return arrays.encode([arrays.numpy().asarray(shape, "int64"), self.dtype, self.initializer])

    def rows(self, low: int, high: int) -> Any:
        return None


class _Given(Initial):
    def __init__(self, array: Any) -> None:
        array = arrays.numpy().asarray(array)
        super().__init__(array.shape, array.dtype)
        self._array = array.astype(self.dtype, copy=False)  # converted to this machine's byte order

    def arguments(self, low: int, high: int) -> bytes:
        rows = self._array[low:high] if self.shape else self._array
        return arrays.encode([rows]) if rows.nbytes <= WHOLE_MAX else super().arguments(low, high)

    def rows(self, low: int, high: int) -> Any:
        rows = self._array[low:high] if self.shape else self._array
        return rows if rows.nbytes > WHOLE_MAX else None


def _make_one(objects: SessionObjects, initial: Initial, low: int, high: int, name: str, task: str,
              detached: bool, class_name: str = CLASS_NAME) -> RemoteVariable:
    job, index = task_of(task)
    words = {"job": job, "index": index, "name": name, "detached": detached, "concurrency": 1,
             "class_name": class_name}
    found = objects.make(words, NAME, initial.arguments(low, high), BYTES)
    shape = (high - low, *initial.shape[1:]) if initial.shape else ()
    made = RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(), shape,
                          initial.dtype, name)
    rows = initial.rows(low, high)
    if rows is not None:
        try:
            made.assign(rows).fetch()  # otherwise the error of a piece would not be reported
        except BaseException:
            made.delete()
            raise
    return made


def find(objects: SessionObjects, name: str) -> AnyVariable:
    """Returns the variable with the given name. Raises NotServedError if no object has this name, and TypeError if the
    object is not a variable.
    """
    return handle_of(objects, objects.look_for(name), name)


def handle_of(objects: SessionObjects, found: Any, name: str) -> AnyVariable:
    """Returns the variable handle of an object. Waits for the variable's shape. Raises TypeError if the object is not a
    variable, or an exception of its calls.
    """
    if found.class_name == IN_SHARDS:
        index = _one_of(objects, found, name)
        bounds = [int(n) for n in index.read().fetch()]
        named = [f"{name}/part_{i}" for i in range(len(bounds) - 1)]
        parts = [_one_of(objects, objects.look_for(part), part) for part in named]
        shape = (bounds[-1], *parts[0].shape[1:])
        return ShardedVariable(parts, bounds, shape, str(parts[0].dtype.name), name, index)
    if found.class_name != CLASS_NAME:
        raise TypeError(f"{name!r} is a {found.class_name}, not a variable; use get_object")
    return _one_of(objects, found, name)


def _one_of(objects: SessionObjects, found: Any, name: str) -> RemoteVariable:
    unknown = RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(), (), "float32",
                             name)
    shape, dtype, _ = unknown._call("info").fetch()
    return RemoteVariable(found.object, found.task, objects.ticket, objects, objects.owner(),
                          [int(n) for n in shape], dtype, name)
