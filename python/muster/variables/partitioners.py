"""Partitioners, which determine the number of shards of a variable. The rules are the same as in
tf.distribute.experimental.partitioners.

A partitioner is called with a shape and a dtype, and returns the number of parts along each dimension. Only the first
dimension can have more than one part.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from muster.objects.arrays import integer, numpy

Partitioner = Callable[[Sequence[int], Any], Sequence[int]]


class FixedShardsPartitioner:
    """Divides a variable into a fixed number of shards. If the variable has fewer rows, each shard has one row.

    Args:
        num_shards: Number of shards, at least 1.
    """

    def __init__(self, num_shards: int) -> None:
        self._num_shards = _positive("num_shards", num_shards)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        return _parts(shape, axis, max(1, min(self._num_shards, shape[axis])))


class MinSizePartitioner:
    """Divides a variable into shards of a minimum size.

    The number of shards is the size of the variable divided by `min_shard_bytes`, rounded up. The result is limited to
    `max_shards` and to the number of rows.

    Args:
        min_shard_bytes: Intended minimum size of a shard in bytes.
        max_shards: Maximum number of shards.
        bytes_per_string: Accepted for compatibility with TensorFlow. Variables cannot contain strings.
    """

    def __init__(self, min_shard_bytes: int = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16) -> None:
        self._min_shard_bytes = _positive("min_shard_bytes", min_shard_bytes)
        self._max_shards = _positive("max_shards", max_shards)
        _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        wanted = math.ceil(math.prod(shape) * _bytes_of(dtype) / self._min_shard_bytes)
        return _parts(shape, axis, max(1, min(shape[axis], self._max_shards, wanted)))


class MaxSizePartitioner:
    """Divides a variable into as few shards as possible, each of at most `max_shard_bytes`.

    Args:
        max_shard_bytes: Maximum size of a shard in bytes.
        max_shards: Maximum number of shards. This limit takes precedence over `max_shard_bytes`. None means no limit.
        bytes_per_string: Accepted for compatibility with TensorFlow. Variables cannot contain strings.
    """

    def __init__(self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16) -> None:
        self._max_shard_bytes = _positive("max_shard_bytes", max_shard_bytes)
        self._max_shards = None if max_shards is None else _positive("max_shards", max_shards)
        _positive("bytes_per_string", bytes_per_string)

    def __call__(self, shape: Sequence[int], dtype: Any, axis: int = 0) -> list[int]:
        row = math.prod(shape) / max(1, shape[axis]) * _bytes_of(dtype)
        per_shard = max(1, math.floor(self._max_shard_bytes / row)) if row else max(1, shape[axis])
        wanted = max(1, math.ceil(shape[axis] / per_shard))
        return _parts(shape, axis, wanted if self._max_shards is None else min(self._max_shards, wanted))


def _positive(name: str, value: int) -> int:
    if integer(name, value) < 1:
        raise ValueError(f"{name}: {value}, must be positive")
    return value


def _bytes_of(dtype: Any) -> int:
    return int(numpy().dtype(dtype).itemsize)


def _parts(shape: Sequence[int], axis: int, count: int) -> list[int]:
    parts = [1] * len(shape)
    parts[axis] = count
    return parts


def bounds_of(partitioner: Partitioner | None, shape: Sequence[int], dtype: Any) -> list[int]:
    """Returns the first row of each shard, followed by the number of rows. If the rows cannot be divided equally, the
    first shards have one more row. A list of two elements means that the variable is not divided.

    Raises:
        ValueError: The partitioner returned an invalid result.
    """
    if partitioner is None or not shape:
        return [0, shape[0] if shape else 0]
    parts = list(partitioner(tuple(shape), dtype))
    if len(parts) != len(shape) or parts[0] < 1 or any(n != 1 for n in parts[1:]):
        raise ValueError(f"the partitioner returned {parts} for shape {tuple(shape)}; it must return one number for "
                         "each dimension, and only the first can be above 1")
    count = max(1, min(parts[0], shape[0]))
    size, more = divmod(shape[0], count)
    bounds = [0]
    for i in range(count):
        bounds.append(bounds[-1] + size + (i < more))
    return bounds
