"""Callables that run on workers on behalf of the coordinator."""
from __future__ import annotations

from typing import Any, Callable, Iterator


class Chunk:
    """Several calls of a function in one closure, for map."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, *calls: tuple[Any, ...]) -> list[Any]:
        fn = self.fn
        return [fn(*args) for args in calls]


def identity(value: Any) -> Any:
    return value


class MakeDataset:
    """Of a function, what it returns; of anything else, itself."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __call__(self) -> Any:
        return self.dataset() if callable(self.dataset) else self.dataset


class IterateDataset:
    """A new iterator over a new dataset."""

    def __init__(self, make: MakeDataset) -> None:
        self.make = make

    def __call__(self) -> Iterator[Any]:
        return iter(self.make())
