"""Partitioners return the results that TensorFlow's documentation gives for its own."""
from __future__ import annotations

from typing import Any

import pytest

from muster import FixedShardsPartitioner, MaxSizePartitioner, MinSizePartitioner
from muster.variables.partitioners import bounds_of

pytest.importorskip("numpy")


@pytest.mark.parametrize("partitioner, shape, parts", [
    (FixedShardsPartitioner(num_shards=2), (10, 3), [2, 1]),
    (FixedShardsPartitioner(4), (3,), [3]),
    (MinSizePartitioner(min_shard_bytes=4, max_shards=2), (6, 1), [2, 1]),
    (MinSizePartitioner(min_shard_bytes=4, max_shards=10), (6, 1), [6, 1]),
    (MinSizePartitioner(max_shards=16), (1024, 1024), [16, 1]),
    (MinSizePartitioner(max_shards=3), (1024, 1024), [3, 1]),
    (MinSizePartitioner(), (1024, 1024), [1, 1]),
    (MinSizePartitioner(max_shards=9), (10, 3), [1, 1]),
    (MaxSizePartitioner(max_shard_bytes=4), (6, 1), [6, 1]),
    (MaxSizePartitioner(max_shard_bytes=4, max_shards=2), (6, 1), [2, 1]),
    (MaxSizePartitioner(max_shard_bytes=1024), (6, 1), [1, 1]),
    (MaxSizePartitioner(max_shard_bytes=1), (3, 2), [3, 1])])
def test_partitioners_compute_the_number_of_shards(partitioner: Any, shape: Any, parts: Any) -> None:
    assert partitioner(shape, "float32") == parts


@pytest.mark.parametrize("rows, shards, sizes", [(13, 5, [3, 3, 3, 2, 2]), (10, 4, [3, 3, 2, 2]), (5, 2, [3, 2]),
                                                 (3, 4, [1, 1, 1]), (6, 1, [6]), (0, 3, [0])])
def test_first_shards_have_one_row_more(rows: int, shards: int, sizes: list[int]) -> None:
    bounds = bounds_of(lambda shape, dtype: [shards, 1], (rows, 2), "float32")
    assert [b - a for a, b in zip(bounds, bounds[1:])] == sizes


@pytest.mark.parametrize("wrong", [[], [0, 1], [1], [2, 2], [1, 0]])
def test_invalid_partitions_are_refused(wrong: list[int]) -> None:
    with pytest.raises(ValueError, match="partitioner returned"):
        bounds_of(lambda shape, dtype: wrong, (4, 4), "float32")


def test_scalar_is_not_divided() -> None:
    assert bounds_of(FixedShardsPartitioner(2), (), "float32") == [0, 0]


@pytest.mark.parametrize("make", [lambda: FixedShardsPartitioner(0), lambda: MinSizePartitioner(0),
                                  lambda: MinSizePartitioner(max_shards=0), lambda: MaxSizePartitioner(0),
                                  lambda: MaxSizePartitioner(1, 0), lambda: MinSizePartitioner(1, 1, 0)])
def test_partitioner_arguments_are_positive(make: Any) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        make()
