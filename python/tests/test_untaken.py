"""Results of a worker that are not yet on the server's disk."""
from __future__ import annotations

from typing import Any

from muster._wire.messages import BYTES, JSON, ServerMessage, WorkerMessage
from muster.worker import untaken
from muster.worker.held import Held
from muster.worker.untaken import Untaken


def message(*closures: int, value: bytes = b"1") -> Any:
    n = len(closures)
    return WorkerMessage(closure=closures, attempt=[1] * n, value=[value] * n,
                         execution_us=[5] * n)


def sent(kept: Untaken, m: Any) -> None:
    kept.add(len(m.closure), m.SerializeToString())


def acknowledging() -> Untaken:
    kept = Untaken()
    kept.acknowledged = True
    return kept


def test_acknowledged_results_are_forgotten_and_others_are_repeated_in_order() -> None:
    kept = acknowledging()
    for m in (message(1, 2), message(3), message(4)):
        sent(kept, m)
    kept.taken(2)
    assert len(kept) == 2
    again = kept.again()
    assert list(again.closure) == [3, 4]
    assert list(again.value) == [b"1", b"1"]
    assert list(again.execution_us) == [5, 5]
    kept.taken(1)
    assert list(kept.again().closure) == [4], "the count starts again with the hello"


def test_message_is_acknowledged_as_a_whole() -> None:
    kept = acknowledging()
    sent(kept, message(1, 2))
    kept.taken(1)
    assert len(kept) == 2


def test_failures_and_encodings_keep_their_positions() -> None:
    kept = acknowledging()
    sent(kept, message(1))
    second = message(2, 3, value=b"")
    second.encoding.extend([BYTES, JSON])
    second.failure.add(position=1, message="broken")
    sent(kept, second)
    again = kept.again()
    assert list(again.encoding) == [JSON, BYTES, JSON]
    assert [(f.position, f.message) for f in again.failure] == [(2, "broken")]


def test_nothing_is_kept_without_acknowledgements() -> None:
    kept = Untaken()
    sent(kept, message(1))
    assert not kept.again().closure
    assert not kept.full


def test_kept_results_are_limited() -> None:
    kept = acknowledging()
    for n in range(untaken.ANSWERS_MAX):
        assert not kept.full
        sent(kept, message(n))
    assert kept.full
    kept.taken(1)
    assert not kept.full
    sent(kept, message(1, value=b"x" * untaken.BYTES_MAX))
    kept.taken(untaken.ANSWERS_MAX)
    assert len(kept) == 1 and kept.full
    for n in range(4):
        sent(kept, message(10 + n, value=b"x" * untaken.BYTES_MAX))
    assert len(kept.again().closure) == untaken.AGAIN_BYTES_MAX // untaken.BYTES_MAX - 1


def test_result_without_a_stream_is_sent_with_the_next_hello() -> None:
    held = Held()
    held.untaken.acknowledged = True
    held.sent(ServerMessage(closure=[1, 2], attempt=[1, 1], args=[b"[]", b"[]"]))
    held.keep(message(1, 9), offered=False)
    assert list(held.untaken.again().closure) == [1]
    assert list(held.attempts) == [2]


def test_parked_closure_is_void_after_the_stream_broke() -> None:
    held = Held()
    m = ServerMessage(closure=[1], attempt=[1], args=[b"[]"])
    held.sent(m)
    held.never_begun(m)
    assert not held.attempts


def test_result_between_hello_and_welcome_is_sent_on_that_stream() -> None:
    held = Held()
    held.untaken.acknowledged = True
    held.sent(ServerMessage(closure=[1, 2], attempt=[1, 1], args=[b"[]", b"[]"]))
    held.keep(message(1), offered=True)
    assert list(held.untaken.again().closure) == [], "the hello that named the closure is in transit, so no later hello contains the result"
    answers, stopped = held.void({1, 2})
    assert [list(one.closure) for one in answers] == [[1]] and stopped == []
    assert list(held.attempts) == [2]


def test_closure_returned_between_hello_and_welcome_is_returned_on_that_stream() -> None:
    held = Held()
    held.untaken.acknowledged = True
    held.sent(ServerMessage(closure=[1, 2, 3], attempt=[1, 2, 1], args=[b"[]"] * 3))
    held.keep(WorkerMessage(returned_closure=[2, 3, 9], returned_attempt=[2, 1, 1]), offered=True)
    answers, stopped = held.void({1, 2})  # the server has given up the third closure
    assert [(list(m.returned_closure), list(m.returned_attempt)) for m in answers] == [([2], [2])]
    assert stopped == [] and list(held.attempts) == [1]
    held.keep(WorkerMessage(returned_closure=[1], returned_attempt=[1]), offered=False)
    assert not held.attempts and held.void(set()) == ([], []), "no hello has named the closure"
