"""Large arguments that are kept because values may have to be computed again."""
from __future__ import annotations

import gc
import types
import weakref

import pytest

from muster._shared.store import Full
from muster.coordinator import lineage, shared
from muster.coordinator.lineage import Lineage


class Content:
    pass


def test_arguments_are_kept_until_the_last_value_computed_from_them_is_released() -> None:
    book, a, b = Lineage(), Content(), Content()
    there = [weakref.ref(a), weakref.ref(b)]
    book.ended(1, [a], [])
    book.ended(2, [b, a], [1])
    del a, b
    book.forget(1)
    gc.collect()
    assert all(of() for of in there)
    book.forget(2)
    assert not any(of() for of in there)


def test_arguments_are_released_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(lineage.time, "monotonic", lambda: now)
    book, a, b = Lineage(), Content(), Content()
    book.ended(1, [a], [])
    now = 114.0
    book.ended(2, [b], [1])
    assert book._of[2][1] == (b, a)
    now = 115.0
    book.tick(now)
    assert list(book._of) == [2]
    book.ended(3, [], [1])  # the server has a copy of value 3
    assert list(book._of) == [2]
    book.tick(129.0)
    assert not book._of


def test_contents_kept_for_one_value_are_limited() -> None:
    book, all = Lineage(), [Content() for _ in range(lineage.CONTENTS_MAX + 1)]
    for i, one in enumerate(all):
        book.ended(i, [one], [i - 1])
    assert book._of[lineage.CONTENTS_MAX][1] == tuple(reversed(all[1:]))


def test_oldest_contents_are_given_up_for_others() -> None:
    book, a, b = Lineage(), Content(), Content()
    there = [weakref.ref(a), weakref.ref(b)]
    book.ended(1, [a], [])
    book.ended(2, [b], [])
    del a, b
    assert book.give_up_oldest() and [of() is not None for of in there] == [False, True]
    assert book.give_up_oldest() and there[1]() is None
    assert not book.give_up_oldest()


def test_nothing_is_kept_after_close() -> None:
    book = Lineage()
    book.ended(1, [Content()], [])
    book.close()
    book.ended(2, [Content()], [])
    assert not book._of


class Giver:
    """A store with room for `free` bytes."""

    def __init__(self, free: int) -> None:
        self.free = free

    def reserve(self, size: int) -> None:
        if size > self.free:
            raise Full("no room")


def test_only_as_much_room_is_made_as_is_needed_and_possible() -> None:
    giver, gone = Giver(0), []

    def make_room() -> bool:
        gone.append(1)
        giver.free += 10
        return len(gone) <= 3

    process = types.SimpleNamespace(store=giver, drop_now=lambda: None)
    made = shared.Shared(None, 100, make_room)  # type: ignore[arg-type]  # which connects to nothing here
    assert not made._reserved(process, 101) and not gone  # type: ignore[arg-type]
    assert made._reserved(process, 20) and len(gone) == 2  # type: ignore[arg-type]
    assert not made._reserved(process, 90)  # type: ignore[arg-type]
