"""A variable in shards of rows, each on a task."""
from __future__ import annotations

from typing import Any, Callable, Sequence

from muster.coordinator.remote_value import RemoteValue
from muster.objects import arrays
from muster.objects.handle import ARGUMENT_BYTES_MAX
from muster.variables.handle import ADAM, Ranged, RemoteVariable, check_bytes
from muster.variables.values import JoinedValue

HEAD_BYTES = 1024
"""Of a call, at most: what is before its arrays, and numbers."""


class ShardedVariable(Ranged):
    """As a :class:`RemoteVariable`, in shards: each call goes to all that it concerns at once, and is atomic
    in each of them, not over all. `shards` are handles of the parts, `bounds` where they begin."""

    def __init__(self, shards: Sequence[RemoteVariable], bounds: Sequence[int], shape: Sequence[int], dtype: str,
                 name: str, index: RemoteVariable | None = None) -> None:
        self.shards = list(shards)
        self.bounds = [int(n) for n in bounds]
        self._shape = tuple(int(n) for n in shape)
        self._dtype = dtype
        self._name = name
        self._index = index  # by which others find them

    @property
    def tasks(self) -> list[str]:
        return [shard.task for shard in self.shards]

    def read(self) -> RemoteValue[Any]:
        return self._joined([shard.read() for shard in self.shards],
                            lambda parts: arrays.numpy().concatenate(parts))

    def read_rows(self, begin: int, end: int) -> RemoteValue[Any]:
        begin, end = self._checked_range(begin, end)
        parts = []
        for shard, low, high in self._ranges():
            a, b = max(begin, low), min(end, high)
            if a < b or (begin == end and shard is self.shards[0]):
                parts.append(shard.read_rows(a - low, b - low) if a < b else shard.read_rows(0, 0))
        return self._joined(parts, lambda found: arrays.numpy().concatenate(found))

    def assign(self, value: Any) -> RemoteValue[None]:
        return self._each("assign", value, adds=False)

    def assign_rows(self, begin: int, value: Any) -> RemoteValue[None]:
        begin, array = self._rows_from(begin, value)
        parts = [(shard, max(begin, low), min(begin + len(array), high), low) for shard, low, high in self._ranges()]
        return self._all([shard.assign_rows(a - low, array[a - begin:b - begin]) for shard, a, b, low in parts if a < b])

    def assign_add(self, delta: Any) -> RemoteValue[None]:
        return self._each("assign_add", delta)

    def assign_sub(self, delta: Any) -> RemoteValue[None]:
        return self._each("assign_sub", delta)

    def sgd(self, gradient: Any, learning_rate: float, momentum: float | None = None) -> RemoteValue[None]:
        return self._each("sgd", gradient, learning_rate, momentum)

    def adam(self, gradient: Any, learning_rate: float = 0.001, beta1: float = ADAM[0], beta2: float = ADAM[1],
             epsilon: float = ADAM[2]) -> RemoteValue[None]:
        return self._each("adam", gradient, learning_rate, beta1, beta2, epsilon)

    def gather(self, indices: Any) -> RemoteValue[Any]:
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
        return self._divided("scatter_add", indices, rows)

    def scatter_sub(self, indices: Any, rows: Any) -> RemoteValue[None]:
        return self._divided("scatter_sub", indices, rows)

    def scatter_update(self, indices: Any, rows: Any) -> RemoteValue[None]:
        return self._divided("scatter_update", indices, rows, adds=False)

    def sgd_rows(self, indices: Any, rows: Any, learning_rate: float) -> RemoteValue[None]:
        return self._divided("sgd_rows", indices, rows, learning_rate)

    def adam_rows(self, indices: Any, rows: Any, learning_rate: float = 0.001, beta1: float = ADAM[0],
                  beta2: float = ADAM[1], epsilon: float = ADAM[2]) -> RemoteValue[None]:
        """A step of all shards, also of those that no row is of: their counts of steps stay equal."""
        return self._divided("adam_rows", indices, rows, learning_rate, beta1, beta2, epsilon, all_shards=True)

    def delete(self) -> None:
        for one in (*self.shards, *([self._index] if self._index else [])):
            one.delete()

    # How.

    def _unowned(self) -> ShardedVariable:
        """See RemoteObject."""
        return ShardedVariable([shard._unowned() for shard in self.shards], self.bounds, self._shape, self._dtype,
                               self._name, self._index and self._index._unowned())

    def _ranges(self) -> list[tuple[RemoteVariable, int, int]]:
        return list(zip(self.shards, self.bounds, self.bounds[1:]))

    def _each(self, method: str, value: Any, *more: Any, adds: bool = True) -> RemoteValue[None]:
        array = self._whole(value, adds)  # before the first shard is touched: some would have it, others not
        parts = [array[low:high] if array.ndim else array for _, low, high in self._ranges()]
        if method == "adam" or (method == "sgd" and more[1] is not None):
            self._check_steps_whole(method, self.shards, [(part,) for part in parts])
        return self._all([getattr(shard, method)(part, *more) for shard, part in zip(self.shards, parts)])

    def _check_steps_whole(self, method: str, shards: list[RemoteVariable], parts: list[tuple[Any, ...]]) -> None:
        """A shard's step cannot go in pieces. Raises ValueError before another one has made it."""
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
