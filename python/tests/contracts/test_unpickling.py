"""Pickles of large values, and classes that several threads unpickle at the same time."""
from __future__ import annotations

import pickle
import threading
import tracemalloc
import weakref
from typing import Any

import pytest
from cloudpickle import cloudpickle

import muster
from conftest import DEADLINE
from muster._pickled import picklers, unpicklers


def test_large_pickle_is_not_copied_while_it_is_read() -> None:
    value = [b"x" * (8 << 20), muster.FailureKind.USER]
    data = bytearray(picklers.dumps(value))
    tracemalloc.start()
    try:
        assert unpicklers.loads(memoryview(data)) == value
        assert tracemalloc.get_traced_memory()[1] < 9 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 100, 64 << 10, 200 << 10])
def test_pickles_of_every_size_are_read(size: int) -> None:
    value = {"text": "é" * size, "kind": muster.FailureKind.INPUT, "many": list(range(size // 100)), "data": b"x" * size}
    data = picklers.dumps(value)
    for each in (data, bytearray(data), memoryview(data), memoryview(bytearray(data))):
        assert unpicklers.loads(each) == value
    with pytest.raises((EOFError, pickle.UnpicklingError)):
        unpicklers.loads(memoryview(bytearray(data))[:len(data) - 1])


def test_reader_reads_lines() -> None:
    reader = unpicklers._Reader(bytearray(b"a" * 1000 + b"\nrest"))
    assert reader.readline() == b"a" * 1000 + b"\n" and reader.readline() == b"rest" and reader.read() == b""


def test_class_that_another_thread_is_creating_has_its_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        def answer(self) -> int:
            return 42

    data = picklers.dumps(Own())
    made, go = threading.Event(), threading.Event()

    class Slow(weakref.WeakSet):  # type: ignore[type-arg]
        def add(self, item: Any) -> None:
            if not made.is_set():  # other threads can already find the class, but it is not in the set
                made.set()
                assert go.wait(DEADLINE)
            super().add(item)

    monkeypatch.setattr(unpicklers, "_remade", Slow())
    for table in (cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS, cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID):
        table.clear()  # as in another process
    first: list[Any] = []
    thread = threading.Thread(target=lambda: first.append(unpicklers.loads(data)))
    thread.start()
    assert made.wait(DEADLINE)
    try:
        assert unpicklers.loads(data).answer() == 42
    finally:
        go.set()
        thread.join(DEADLINE)
    assert first[0].answer() == 42


def test_copies_of_local_classes_keep_their_qualified_names() -> None:
    class Plain:
        pass

    class WithSlots:
        __slots__ = ("value",)

    for kind in (Plain, WithSlots):
        data = picklers.dumps(kind)
        for table in (cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS, cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID):
            table.clear()  # as in another process
        copy = unpicklers.loads(data)
        assert copy is not kind and copy.__qualname__ == kind.__qualname__
