"""Handles of variables. Values that are too large for a single call are split by row and sent in pieces."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterator, Sequence

from muster.coordinator.remote_value import RemoteValue
from muster.objects import arrays, large
from muster.objects.call import Of
from muster.objects.calls import Calls
from muster.objects.handle import ARGUMENT_BYTES_MAX, CallValue, RemoteObject, calls_of
from muster.variables.values import JoinedValue, OrPieces, Request, in_window
from muster.variables.variable import CLASS_NAME, ONLY_ASSIGNED, STEPPED, converted

WHOLE_MAX = 24 << 20
"""Maximum size in bytes of data in a single call. The limit of arguments and results is 32 MiB."""
PIECE = 2 << 20

ADAM = (0.9, 0.999, 1e-7)
"""Defaults of beta1, beta2 and epsilon, as in Keras."""


def given(value: Any, dtype: Any) -> Any:
    """Returns an argument as an array. Waits for the value of a RemoteValue, and converts numbers and lists to the
    variable's dtype.

    Raises:
        TypeError, ValueError: The conversion would change the numbers.
    """
    if isinstance(value, RemoteValue):
        value = value.fetch()
    np = arrays.numpy()
    array = np.asarray(value)
    if not isinstance(value, (bool, int, float, list, tuple)):
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    own = np.dtype(dtype)
    if array.size and array.dtype.kind not in ("biu" if own.kind in "biu" else "biuf"):
        raise TypeError(f"dtype: the variable has {dtype}, the argument has {array.dtype}")
    return converted(array, own)


def number(field: str, value: Any, low: float = -math.inf, below: float = math.inf) -> float:
    """Converts `value` to a finite float and checks that `low` <= `value` < `below`. Raises TypeError or ValueError."""
    if isinstance(value, RemoteValue):
        value = value.fetch()
    array = arrays.numpy().asarray(value)
    if array.ndim or array.dtype.kind not in "iuf":
        raise TypeError(f"{field}: {value!r} is not a number")
    made = float(array)
    if not (math.isfinite(made) and low <= made < below):
        limits = f", at least {low:g}" * (low > -math.inf) + f" and less than {below:g}" * (below < math.inf)
        raise ValueError(f"{field}: {value}, must be finite{limits}")
    return made


def adam_numbers(learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any) -> tuple[float, ...]:
    return (number("learning_rate", learning_rate), number("beta1", beta1, 0, 1), number("beta2", beta2, 0, 1),
            number("epsilon", epsilon, 0))


def check_bytes(method: str, size: int) -> None:
    """Raises ValueError if the arguments are too large for a single call."""
    if size > ARGUMENT_BYTES_MAX:
        raise ValueError(f"{method}: the arguments have {size} bytes, the limit is {ARGUMENT_BYTES_MAX}; use a "
                         "partitioner to divide the variable among tasks")


class Ranged:
    """Base class of the handles of whole and sharded variables. `_dtype` is numpy's name for the dtype."""

    __slots__ = ()
    _shape: tuple[int, ...]
    _dtype: str
    _name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the shape of the whole variable."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """Returns the variable's numpy dtype."""
        return arrays.numpy().dtype(self._dtype)

    @property
    def name(self) -> str:
        """Returns the name by which other programs find the variable, or "" if the variable has no name."""
        return self._name

    @property
    def _row_bytes(self) -> int:
        size = int(self.dtype.itemsize)
        for n in self._shape[1:]:
            size *= n
        return size

    @property
    def _indexed_bytes(self) -> int:
        """Returns the size of a row and its index in bytes."""
        return self._row_bytes + 8

    @property
    def _bytes(self) -> int:
        return self._row_bytes * self._shape[0] if self._shape else self._row_bytes

    # Arguments are checked before a call is sent, because callers often do not wait for the result
    # of an update.

    def _whole(self, value: Any, adds: bool = True) -> Any:
        """Returns `value` as an array of the variable's shape and dtype, or as a scalar. Raises ValueError or TypeError
        if the conversion is not possible.
        """
        array = given(value, self._dtype)
        if array.ndim and array.shape != self._shape:
            raise ValueError(f"shape: the variable has {self._shape}, the argument has {array.shape}")
        return self._typed(array, adds)

    def _some(self, indices: Any, rows: Any, adds: bool = True) -> tuple[Any, Any]:
        """Returns an array of indices, and an array with one row for each index. Raises ValueError, TypeError or
        IndexError if an argument is invalid.
        """
        indices, rows = self._indices(indices), given(rows, self._dtype)
        wanted = (len(indices), *self._shape[1:])
        if rows.shape != wanted:
            raise ValueError(f"shape: the rows have {wanted}, the argument has {rows.shape}")
        return indices, self._typed(rows, adds)

    def _rows_from(self, begin: Any, value: Any) -> tuple[int, Any]:
        """Returns `begin`, and an array of the rows that start at `begin`. Raises ValueError, TypeError or IndexError
        if an argument is invalid.
        """
        begin, array = arrays.integer("begin", begin), self._typed(given(value, self._dtype), adds=False)
        if not array.ndim or array.shape[1:] != self._shape[1:]:
            raise ValueError(f"shape: rows have {self._shape[1:]}, the argument has {array.shape}")
        self._checked_range(begin, begin + len(array))
        return begin, array

    def _typed(self, array: Any, adds: bool) -> Any:
        if adds and self._dtype in ONLY_ASSIGNED:
            raise TypeError(f"variables of dtype {self._dtype} can only be assigned, read and gathered")
        if array.dtype == self.dtype:
            return array
        if array.ndim or not arrays.numpy().can_cast(array.dtype, self.dtype, "same_kind"):
            raise TypeError(f"dtype: the variable has {self._dtype}, the argument has {array.dtype}")
        return converted(array, self.dtype)

    def _check_steps(self) -> None:
        if self._dtype not in STEPPED:
            raise TypeError(f"variables of dtype {self._dtype} cannot be updated by optimizers: their steps would be "
                            "truncated")

    def _indices(self, value: Any) -> Any:
        if isinstance(value, RemoteValue):
            value = value.fetch()
        np = arrays.numpy()
        indices = np.asarray(value)
        if indices.shape == (0,):
            indices = indices.astype("int64")
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise TypeError(f"indices: must be integers in one dimension, not {indices.dtype} of {indices.shape}")
        size = self._size()
        wrong = indices[(indices < 0) | (indices >= size)]
        if wrong.size:
            raise IndexError(f"index {int(wrong[0])}: the number of rows is {size}")
        return indices.astype("int64")

    def _size(self) -> int:
        if not self._shape:
            raise ValueError("a scalar variable has no rows")
        return self._shape[0]

    def _checked_range(self, begin: Any, end: Any) -> tuple[int, int]:
        begin, end = arrays.integer("begin", begin), arrays.integer("end", end)
        if not 0 <= begin <= end <= self._size():
            raise IndexError(f"rows {begin} to {end}: the number of rows is {self._size()}")
        return begin, end

    def __repr__(self) -> str:
        return f"<muster.{type(self).__name__} {self._name!r} of {self._shape} {self._dtype}>"


class RemoteVariable(Ranged, RemoteObject):
    """The handle of a variable on a task. The variable is an array that many functions read and update.

    Each method sends a call to the task and returns a RemoteValue immediately. A handle can be an argument of functions
    and methods, at any nesting depth. Each call is atomic. Without shared memory, data of more than 24 MiB is split by
    row and sent in pieces; then only each piece is atomic.

    Methods raise ValueError, TypeError or IndexError if an argument has the wrong shape, dtype or index.
    """

    __slots__ = ("_shape", "_dtype", "_name")

    def __init__(self, id: int, task: str, ticket: bytes, calls: Calls, owner: Any, shape: Sequence[int],
                 dtype: str, name: str) -> None:
        RemoteObject.__init__(self, id, task, CLASS_NAME, ticket, calls, owner)
        self._shape = tuple(int(n) for n in shape)
        self._dtype = dtype
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a variable has no attribute {name!r}")

    @property
    def task(self) -> str:
        """Returns the name of the task, for example "ps:0"."""
        return self._task

    def read(self) -> RemoteValue[Any]:
        """Returns a RemoteValue that contains the whole array."""
        return self._whole_call("read", gives=self._bytes) or self._read_pieces(0, self._shape[0])

    def read_rows(self, begin: int, end: int) -> RemoteValue[Any]:
        """Reads a range of rows.

        Args:
            begin: First row.
            end: Row after the last row to read.

        Returns:
            A RemoteValue that contains an array with these rows.
        """
        begin, end = self._checked_range(begin, end)
        return (self._whole_call("read_rows", begin, end, gives=(end - begin) * self._row_bytes) or
                self._read_pieces(begin, end))

    def _read_pieces(self, begin: int, end: int) -> RemoteValue[Any]:
        ranges = list(self._pieces(begin, end))
        return self._in_window([("read_rows", arrays.encode(r)) for r in ranges],
                               lambda parts: arrays.numpy().concatenate(parts))

    def assign(self, value: Any) -> RemoteValue[None]:
        """Replaces all values of the variable.

        Args:
            value: An array of the variable's shape and dtype, a list, a number for all elements, or a RemoteValue of
                such a value.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        array = self._whole(value, adds=False)
        return (self._whole_call("assign", array) or
                self._in_pieces(lambda a, b: ("assign_rows", a, array[a:b])))

    def assign_rows(self, begin: int, value: Any) -> RemoteValue[None]:
        """Replaces rows, starting at row `begin`.

        Args:
            begin: First row.
            value: The new rows, which replace the same number of existing rows.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        begin, array = self._rows_from(begin, value)
        return self._whole_call("assign_rows", begin, array) or self._all(
            [self._call("assign_rows", a, array[a - begin:b - begin])
             for a, b in self._pieces(begin, begin + len(array))])

    def assign_add(self, delta: Any) -> RemoteValue[None]:
        """Adds `delta` to all values of the variable.

        Args:
            delta: An array, list, number or RemoteValue, as in `assign`.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        return self._update("assign_add", "scatter_add", delta)

    def assign_sub(self, delta: Any) -> RemoteValue[None]:
        """Subtracts `delta` from all values of the variable.

        Args:
            delta: An array, list, number or RemoteValue, as in `assign`.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        return self._update("assign_sub", "scatter_sub", delta)

    def gather(self, indices: Any) -> RemoteValue[Any]:
        """Reads rows by index.

        Args:
            indices: One-dimensional array of row numbers. Row numbers can be repeated.

        Returns:
            A RemoteValue that contains an array with one row for each index.
        """
        indices = self._indices(indices)
        made = self._whole_call("gather", indices, gives=len(indices) * self._indexed_bytes if len(indices) > 1 else 0)
        return made or self._gather_pieces(indices)

    def _gather_pieces(self, indices: Any) -> RemoteValue[Any]:
        count = max(1, PIECE // self._indexed_bytes)
        return self._in_window([("gather", arrays.encode([indices[a:a + count]]))
                                for a in range(0, len(indices), count)],
                               lambda parts: arrays.numpy().concatenate(parts))

    def scatter_add(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Adds `rows` to the rows at `indices`. If an index is repeated, all its rows are added.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        return self._scatter("scatter_add", indices, rows)

    def scatter_sub(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Subtracts `rows` from the rows at `indices`. If an index is repeated, all its rows are subtracted.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        return self._scatter("scatter_sub", indices, rows)

    def scatter_update(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Replaces the rows at `indices`. If an index is repeated, its last row is used.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        return self._scatter("scatter_update", indices, rows, adds=False)

    def sgd(self, gradient: Any, learning_rate: float, momentum: float | None = None) -> RemoteValue[None]:
        """Performs a step of gradient descent on the task.

        Args:
            gradient: An array of the variable's shape and dtype. The dtype must be float32 or float64.
            learning_rate: Learning rate, a finite number.
            momentum: Decay factor of the momentum. The momentum is stored with the variable. None means no momentum.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        self._check_steps()
        rate = number("learning_rate", learning_rate)
        if momentum is not None:
            return self._step("sgd", gradient, rate, number("momentum", momentum))
        return self._update("sgd", "sgd_rows", gradient, rate)

    def adam(self, gradient: Any, learning_rate: float = 0.001, beta1: float = ADAM[0], beta2: float = ADAM[1],
             epsilon: float = ADAM[2]) -> RemoteValue[None]:
        """Performs a step of Adam on the task. The moments are stored with the variable.

        Args:
            gradient: An array of the variable's shape and dtype. The dtype must be float32 or float64.
            learning_rate: Learning rate, a finite number.
            beta1: Decay factor of the first moment, at least 0 and below 1.
            beta2: Decay factor of the second moment, at least 0 and below 1.
            epsilon: Small number for numerical stability, at least 0.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        self._check_steps()
        return self._step("adam", gradient, *adam_numbers(learning_rate, beta1, beta2, epsilon))

    def sgd_rows(self, indices: Any, rows: Any, learning_rate: float) -> RemoteValue[None]:
        """Performs a step of gradient descent for some rows, for example rows of embeddings. Gradients of the same row
        are summed first.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one gradient row for each index.
            learning_rate: Learning rate, a finite number.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        self._check_steps()
        return self._scatter("sgd_rows", indices, rows, number("learning_rate", learning_rate))

    def adam_rows(self, indices: Any, rows: Any, learning_rate: float = 0.001, beta1: float = ADAM[0],
                  beta2: float = ADAM[1], epsilon: float = ADAM[2]) -> RemoteValue[None]:
        """Performs a step of Adam for some rows. Gradients of the same row are summed first. The moments of all other
        rows are unchanged.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one gradient row for each index.
            learning_rate: Learning rate, a finite number.
            beta1: Decay factor of the first moment, at least 0 and below 1.
            beta2: Decay factor of the second moment, at least 0 and below 1.
            epsilon: Small number for numerical stability, at least 0.

        Returns:
            A RemoteValue. Its value is None, and becomes available when the task has executed the call.
        """
        self._check_steps()
        more = (*self._some(indices, rows), *adam_numbers(learning_rate, beta1, beta2, epsilon))
        return self._whole_call("adam_rows", *more) or self._call("adam_rows", *more)

    def _unowned(self) -> RemoteVariable:
        return RemoteVariable(self._id, self._task, self._ticket, self._calls, None, self._shape, self._dtype,
                              self._name)

    def _whole_call(self, method: str, *args: Any, gives: int = 0) -> RemoteValue[Any] | None:
        """Sends a single call and returns its RemoteValue. Returns None if the call would be too large. `gives` is the
        size of the result in bytes.
        """
        size = max(gives, sum(getattr(arg, "nbytes", 0) for arg in args))
        if size > large.MIN:
            made = self._large_call(method, *args)
            if made is not None and gives > WHOLE_MAX:
                return OrPieces(made, lambda: self._pieces_of(method, *args))
            if made is not None:
                return made
        return self._call(method, *args) if size <= WHOLE_MAX else None

    def _large_call(self, method: str, *args: Any) -> CallValue | None:
        """Sends a call whose arguments and result remain in shared memory. Returns its RemoteValue, or None if such a
        call is not possible.
        """
        keeping = self._calls.large.keeping(self._id, self._ticket, self._of())
        if keeping is None:
            return None
        try:
            data = arrays.encode(args, keeping.take, large.MIN)
        except large.NotKept:
            keeping.undo()
            return None
        call = self._calls.add(self._id, method, data, self._ticket, plain=True, of=self._of(), kept=keeping.kept)
        return CallValue(self._calls, call, self._owner)

    def _pieces_of(self, method: str, *args: Any) -> RemoteValue[Any]:
        """Repeats a read in pieces, because there was not enough memory for the whole result."""
        if method == "gather":
            return self._gather_pieces(*args)
        return self._read_pieces(*args) if args else self._read_pieces(0, self._shape[0])

    def _takes_large(self) -> bool:
        """Returns whether calls can be larger than 32 MiB."""
        return self._calls.large.keeping(self._id, self._ticket, self._of()) is not None

    def _call(self, method: str, *args: Any) -> RemoteValue[Any]:
        data = arrays.encode(args)
        check_bytes(method, len(data))
        call = self._calls.add(self._id, method, data, self._ticket, plain=True, of=self._of())
        return CallValue(self._calls, call, self._owner)

    def _update(self, method: str, of_rows: str, value: Any, *more: Any) -> RemoteValue[None]:
        array = self._whole(value)
        arange = arrays.numpy().arange
        return self._whole_call(method, array, *more) or self._in_pieces(
            lambda a, b: (of_rows, arange(a, b), array[a:b], *more))

    def _step(self, method: str, gradient: Any, *more: Any) -> RemoteValue[None]:
        """Sends a step of an optimizer. The step cannot be split, because each piece would count as a step."""
        array = self._whole(gradient)
        return self._whole_call(method, array, *more) or self._call(method, array, *more)

    def _scatter(self, method: str, indices: Any, rows: Any, *more: Any, adds: bool = True
                 ) -> RemoteValue[None]:
        indices, rows = self._some(indices, rows, adds)
        count = max(1, PIECE // self._indexed_bytes)
        return self._whole_call(method, indices, rows, *more) or self._all(
            [self._call(method, indices[a:a + count], rows[a:a + count], *more)
             for a in range(0, len(indices), count)])

    def _in_pieces(self, call: Callable[[int, int], tuple[Any, ...]]) -> RemoteValue[None]:
        return self._all([self._call(*call(a, b)) for a, b in self._pieces(0, self._shape[0])])

    def _pieces(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        count = max(1, PIECE // max(1, self._row_bytes))
        for a in range(begin, end, count):
            yield a, min(end, a + count)

    def _all(self, parts: list[RemoteValue[Any]]) -> RemoteValue[None]:
        return JoinedValue(parts, lambda values: None, self._owner)

    def _in_window(self, requests: list[Request], join: Callable[[list[Any]], Any]) -> RemoteValue[Any]:
        return in_window(self._calls, self._id, self._ticket, self._owner, self._of(), requests, join)

    def _of(self) -> Of:
        return self._task, f"the variable {self._name!r}" if self._name else "a variable"

    def __reduce__(self) -> Any:
        return restored, (self._id, self._task, self._ticket, self._shape, self._dtype, self._name)

    __repr__ = Ranged.__repr__


def restored(id: int, task: str, ticket: bytes, shape: Sequence[int], dtype: str, name: str) -> RemoteVariable:
    """Recreates a handle. Called when a handle is unpickled."""
    calls = calls_of(ticket, f"the variable {name!r} on {task}")
    return RemoteVariable(id, task, ticket, calls, getattr(calls, "owner", lambda: None)(), shape, dtype, name)
