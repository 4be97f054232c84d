"""Large results that are kept until their callers have them: no server."""
from __future__ import annotations

import itertools
from typing import Iterator

import pytest

from conftest import until
from muster.objects.within import Name, within
from muster.worker import shelf
from muster.worker.shelf import Shelf


class Blobs:
    """The contents that a process owns; at most `room` at a time."""

    shared = True

    def __init__(self) -> None:
        self.room = 3
        self.there: dict[bytes, bytes] = {}
        self._numbers = itertools.count(1)

    def own(self, data: bytes) -> bytes:
        if len(self.there) >= self.room:
            raise OSError("no room")
        name = bytes([next(self._numbers)]) * 32
        self.there[name] = bytes(data)
        return name

    def drop(self, name: bytes) -> None:
        del self.there[name]


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture
def made(blobs: Blobs) -> Iterator[Shelf]:
    yield Shelf(lambda: blobs)  # type: ignore[arg-type,return-value]
    within.call = None


def call(number: int, caller: int = 1) -> Name:
    within.call = (caller, False, number)
    return within.call


def test_result_is_kept_until_its_caller_has_it(made: Shelf, blobs: Blobs) -> None:
    first = call(1)
    made.take(b"a")
    made.take(b"b")
    second = call(2)
    made.take(b"c")
    made.taken([second])
    assert sorted(blobs.there.values()) == [b"a", b"b"]
    made.taken([first, first, (9, True, 9)])
    assert not blobs.there and not made._calls and not made._contents


def test_shown_content_is_kept_for_others_until_it_is_hidden(made: Shelf, blobs: Blobs) -> None:
    one = call(1)
    name = made.take(b"a")
    made.show([name])
    made.taken([one])
    two = call(2)
    assert made.again([name]) and blobs.there
    made.hide([name])
    assert blobs.there  # the second caller has not taken it yet
    made.taken([two])
    assert not blobs.there and not made.again([name])
    made.hide([name])


def test_failed_call_keeps_no_results(made: Shelf, blobs: Blobs) -> None:
    call(1)
    made.take(b"a")
    made.undo()
    assert not blobs.there


def test_contents_that_are_only_shown_are_dropped_if_room_is_needed(made: Shelf, blobs: Blobs) -> None:
    shown = [made.take(bytes([n])) for n in range(2) if call(n + 1)]
    made.show(shown)
    made.taken([(1, False, 1), (1, False, 2)])
    call(3)
    made.take(b"x")
    made.take(b"y")
    assert sorted(blobs.there.values()) == [b"x", b"y"] and not made.again(shown[:1])
    made.take(b"z")
    with pytest.raises(OSError, match="no room"):  # callers still wait for these results
        made.take(b"!")


@pytest.mark.parametrize("limit, shows", [("WAITED_FOR", False), ("SHOWN_FOR", True)])
def test_results_that_are_never_taken_are_dropped(made: Shelf, blobs: Blobs, monkeypatch: pytest.MonkeyPatch, limit: str,
                                                  shows: bool) -> None:
    monkeypatch.setattr(shelf, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(shelf, limit, 0.05)
    one = call(1)
    name = made.take(b"a")
    if shows:
        made.show([name])
        made.taken([one])
    until(lambda: not blobs.there)
    until(lambda: not made._watched)  # the thread has ended as well
    call(2)
    made.take(b"b")
    assert made._watched


def test_results_are_refused_without_shared_memory() -> None:
    made = Shelf(lambda: None)
    assert not made.there()
    with pytest.raises(OSError, match="stores no values"):
        made.take(b"a")
