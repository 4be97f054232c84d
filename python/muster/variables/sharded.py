"""A variable that is split by row into shards. Each shard is on a single task."""
from __future__ import annotations

from typing import Any, Callable, Sequence

from muster.coordinator.remote_value import RemoteValue
from muster.objects import arrays
from muster.objects.handle import ARGUMENT_BYTES_MAX
from muster.variables.handle import ADAM, Ranged, RemoteVariable, check_bytes
from muster.variables.values import JoinedValue

HEAD_BYTES = 1024
"""Upper limit of the bytes of a call before its arrays, including numbers."""


class ShardedVariable(Ranged):
    """The handle of a variable that is split by row into shards. A sharded variable has the methods of a
    `RemoteVariable`.

    Each method calls all affected shards in parallel. A call is atomic within a shard, but not across shards.

    Attributes:
        shards: Handles of the shards.
        bounds: First row of each shard, followed by the number of rows.
    """

    def __init__(self, shards: Sequence[RemoteVariable], bounds: Sequence[int], shape: Sequence[int], dtype: str,
                 name: str, index: RemoteVariable | None = None) -> None:
        self.shards = list(shards)
        self.bounds = [int(n) for n in bounds]
        self._shape = tuple(int(n) for n in shape)
        self._dtype = dtype
        self._name = name
        self._index = index  # others find the shards through the index

    @property
    def tasks(self) -> list[str]:
        """Returns the task of each shard."""
        return [shard.task for shard in self.shards]

    def read(self) -> RemoteValue[Any]:
        """Returns a RemoteValue that contains the whole array."""
        return self._joined([shard.read() for shard in self.shards],
                            lambda parts: arrays.numpy().concatenate(parts))

    def read_rows(self, begin: int, end: int) -> RemoteValue[Any]:
        """Reads a range of rows.

        Args:
            begin: First row.
            end: Row after the last row to read.

        Returns:
            A RemoteValue that contains an array with these rows.
        """
        begin, end = self._checked_range(begin, end)
        parts = []
        for shard, low, high in self._ranges():
            a, b = max(begin, low), min(end, high)
            if a < b or (begin == end and shard is self.shards[0]):
                parts.append(shard.read_rows(a - low, b - low) if a < b else shard.read_rows(0, 0))
        return self._joined(parts, lambda found: arrays.numpy().concatenate(found))

    def assign(self, value: Any) -> RemoteValue[None]:
        """Replaces all values of the variable. See `RemoteVariable.assign`.

        Args:
            value: An array, a list, a number or a RemoteValue.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._each("assign", value, adds=False)

    def assign_rows(self, begin: int, value: Any) -> RemoteValue[None]:
        """Replaces rows, starting at row `begin`.

        Args:
            begin: First row.
            value: The new rows, which replace the same number of existing rows.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        begin, array = self._rows_from(begin, value)
        parts = [(shard, max(begin, low), min(begin + len(array), high), low) for shard, low, high in self._ranges()]
        return self._all([shard.assign_rows(a - low, array[a - begin:b - begin]) for shard, a, b, low in parts if a < b])

    def assign_add(self, delta: Any) -> RemoteValue[None]:
        """Adds `delta` to all values of the variable.

        Args:
            delta: An array, list, number or RemoteValue, as in `assign`.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._each("assign_add", delta)

    def assign_sub(self, delta: Any) -> RemoteValue[None]:
        """Subtracts `delta` from all values of the variable.

        Args:
            delta: An array, list, number or RemoteValue, as in `assign`.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._each("assign_sub", delta)

    def sgd(self, gradient: Any, learning_rate: float, momentum: float | None = None) -> RemoteValue[None]:
        """Performs a step of gradient descent. See `RemoteVariable.sgd`.

        Args:
            gradient: An array of the variable's shape and dtype.
            learning_rate: Learning rate, a finite number.
            momentum: Decay factor of the momentum. None means no momentum.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.

        Raises:
            ValueError: With `momentum`, a shard's part of the step is too large for one call.
        """
        return self._each("sgd", gradient, learning_rate, momentum)

    def adam(self, gradient: Any, learning_rate: float = 0.001, beta1: float = ADAM[0], beta2: float = ADAM[1],
             epsilon: float = ADAM[2]) -> RemoteValue[None]:
        """Performs a step of Adam. See `RemoteVariable.adam`.

        Args:
            gradient: An array of the variable's shape and dtype.
            learning_rate: Learning rate, a finite number.
            beta1: Decay factor of the first moment.
            beta2: Decay factor of the second moment.
            epsilon: Small number for numerical stability.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.

        Raises:
            ValueError: A shard's part of the step is too large for one call.
        """
        return self._each("adam", gradient, learning_rate, beta1, beta2, epsilon)

    def gather(self, indices: Any) -> RemoteValue[Any]:
        """Reads rows by index.

        Args:
            indices: One-dimensional array of row numbers.

        Returns:
            A RemoteValue that contains an array with one row for each index.
        """
        indices = self._indices(indices)
        places = []
        parts = []
        for shard, low, high in self._ranges():
            chosen = (indices >= low) & (indices < high)
            if chosen.any():
                places.append(chosen)
                parts.append(shard.gather(indices[chosen] - low))

        def join(found: list[Any]) -> Any:
            rows = arrays.numpy().empty((len(indices), *self._shape[1:]), self.dtype)
            for chosen, part in zip(places, found):
                rows[chosen] = part
            return rows

        return self._joined(parts, join)

    def scatter_add(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Adds `rows` to the rows at `indices`. If an index is repeated, all its rows are added.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._divided("scatter_add", indices, rows)

    def scatter_sub(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Subtracts `rows` from the rows at `indices`. If an index is repeated, all its rows are subtracted.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._divided("scatter_sub", indices, rows)

    def scatter_update(self, indices: Any, rows: Any) -> RemoteValue[None]:
        """Replaces the rows at `indices`. If an index is repeated, its last row is used.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one row for each index.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._divided("scatter_update", indices, rows, adds=False)

    def sgd_rows(self, indices: Any, rows: Any, learning_rate: float) -> RemoteValue[None]:
        """Performs a step of gradient descent for some rows. Gradients of the same row are summed first.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one gradient row for each index.
            learning_rate: Learning rate, a finite number.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.
        """
        return self._divided("sgd_rows", indices, rows, learning_rate)

    def adam_rows(self, indices: Any, rows: Any, learning_rate: float = 0.001, beta1: float = ADAM[0],
                  beta2: float = ADAM[1], epsilon: float = ADAM[2]) -> RemoteValue[None]:
        """Performs a step of Adam for some rows. The step counts as a step in every shard, so the step counts of all
        shards remain equal.

        Args:
            indices: One-dimensional array of row numbers.
            rows: Array with one gradient row for each index.
            learning_rate: Learning rate, a finite number.
            beta1: Decay factor of the first moment.
            beta2: Decay factor of the second moment.
            epsilon: Small number for numerical stability.

        Returns:
            A RemoteValue. Its value is None, and becomes available when all shards have executed the call.

        Raises:
            ValueError: A shard's part of the step is too large for one call.
        """
        return self._divided("adam_rows", indices, rows, learning_rate, beta1, beta2, epsilon, all_shards=True)

    def delete(self) -> None:
        """Deletes all shards. Unanswered calls fail with CancelledError. Only a coordinator can delete variables.

        Raises:
            TypeError: The handle is used in a function on a worker.
        """
        for one in (*self.shards, *([self._index] if self._index else [])):
            one.delete()

    def _unowned(self) -> ShardedVariable:
        """Returns a handle that does not keep the session open."""
        return ShardedVariable([shard._unowned() for shard in self.shards], self.bounds, self._shape, self._dtype,
                               self._name, self._index and self._index._unowned())

    def _ranges(self) -> list[tuple[RemoteVariable, int, int]]:
        return list(zip(self.shards, self.bounds, self.bounds[1:]))

    def _each(self, method: str, value: Any, *more: Any, adds: bool = True) -> RemoteValue[None]:
        array = self._whole(value, adds)  # raises before any shard has changed
        parts = [array[low:high] if array.ndim else array for _, low, high in self._ranges()]
        if method == "adam" or (method == "sgd" and more[1] is not None):
            self._check_steps_whole(method, self.shards, [(part,) for part in parts])
        return self._all([getattr(shard, method)(part, *more) for shard, part in zip(self.shards, parts)])

    def _check_steps_whole(self, method: str, shards: list[RemoteVariable], parts: list[tuple[Any, ...]]) -> None:
        """Raises ValueError if a shard's part of a step is too large for one call. Called before any shard executes the
        step.
        """
        for shard, part in zip(shards, parts):
            size = HEAD_BYTES + sum(array.nbytes for array in part)
            if size <= ARGUMENT_BYTES_MAX or not shard._takes_large():
                check_bytes(method, size)

    def _divided(self, method: str, indices: Any, rows: Any, *more: Any, all_shards: bool = False,
                 adds: bool = True) -> RemoteValue[None]:
        indices, rows = self._some(indices, rows, adds)
        concerned, parts = [], []
        for shard, low, high in self._ranges():
            chosen = (indices >= low) & (indices < high)
            if all_shards or chosen.any():
                concerned.append(shard)
                parts.append((indices[chosen] - low, rows[chosen]))
        if method == "adam_rows":
            self._check_steps_whole(method, concerned, parts)
        return self._all([getattr(shard, method)(*part, *more) for shard, part in zip(concerned, parts)])

    def _joined(self, parts: list[RemoteValue[Any]], join: Callable[[list[Any]], Any]) -> RemoteValue[Any]:
        return JoinedValue(parts, join, self.shards[0]._owner)

    def _all(self, parts: list[RemoteValue[Any]]) -> RemoteValue[None]:
        return self._joined(parts, lambda values: None)
