"""A coordinator's session without a server: the messages that it sends, and its reaction to received messages."""
from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

from conftest import DEADLINE, until
from muster._wire.messages import DRAINED, FAILED, JSON, SessionRequest, SessionResponse
from muster.coordinator.options import CoordinatorOptions
from muster.coordinator.records import Record
from muster.coordinator.requests import Request
from muster.coordinator.session import Session
from muster.errors import FailureKind


class Unserved:
    def __init__(self, **options: Any) -> None:
        self.session = Session(CoordinatorOptions(**options))
        self.connect()

    def connect(self) -> None:
        """Connects another stream, which the server has opened."""
        self._messages: Iterator[bytes] = self.session.messages(self.session.connected())
        self.first = SessionRequest.FromString(next(self._messages))
        opened = SessionResponse()
        opened.opened.session = "job_1"
        opened.opened.generation = 1
        opened.opened.own_errors = True
        self.session.take(opened, [])

    def sent(self) -> Any:
        """Returns the next message."""
        assert self.session._out.waiting, "no message is waiting"
        return SessionRequest.FromString(next(self._messages))

    def schedule(self, own_error: bool = False) -> Record:
        return self.session.put((Request("f", b"[]", JSON),), None, own_error)[0]

    def submit(self) -> Record:
        return self.schedule(True)

    def notice(self, kind: int, generation: int = 1) -> None:
        m = SessionResponse()
        m.notice.add(kind=kind, generation=generation)
        if kind == FAILED:
            m.notice[0].failure.type = "ValueError"
        self.session.take(m, [])

    def ends(self, r: Record, kind: FailureKind = FailureKind.USER) -> None:
        m = SessionResponse(token=[r.token], value=[b""], closure=[r.token])
        m.failure.add(position=0, kind=int(kind))
        self.session.take(m, [b""])


def test_submit_that_waits_for_room_continues_while_an_error_is_pending() -> None:
    made = Unserved(pending_max=1)
    made.schedule()
    made.sent()
    made.notice(FAILED)
    made.notice(DRAINED)
    made.submit()
    waiting = threading.Thread(target=made.submit, daemon=True)
    waiting.start()
    until(lambda: made.session._changed._waiters, "it waits")
    made.sent()
    waiting.join(DEADLINE)
    assert not waiting.is_alive()
    assert made.session._generation.failed, "the error has not been raised yet"


def test_cancel_during_the_drain_of_an_error_cancels_submitted_calls() -> None:
    made = Unserved()
    scheduled, first, second, over = made.schedule(), made.submit(), made.submit(), made.submit()
    for _ in range(2):
        made.sent()
    made.ends(over)
    made.notice(FAILED)
    made.session.cancel()
    said = made.sent()
    assert list(said.cancel_token) == [first.token, second.token] and not said.cancel
    made.session.cancel()
    later = made.submit()
    said = made.sent()
    assert list(said.token) == [later.token]
    assert later.token not in said.cancel_token and scheduled.token not in said.cancel_token
    made.notice(DRAINED)
    made.session.cancel()
    assert made.sent().cancel
    made.session.cancel()
    made.session.begin_close()
    assert not made.sent().cancel_token


def test_cancel_without_a_stream_is_sent_on_the_next_stream() -> None:
    made = Unserved()
    kept, ended, cancelled = made.submit(), made.submit(), made.schedule()
    for _ in range(2):
        made.sent()
    made.session.disconnected()
    made.session.cancel_one(ended)
    made.session.cancel_one(cancelled)
    made.ends(ended)
    made.connect()
    said = [made.first, made.sent()]
    assert [t for m in said for t in m.token] == [kept.token, cancelled.token]
    assert [t for m in said for t in m.cancel_token] == [cancelled.token]


def test_cancel_before_the_first_stream_is_sent_on_it() -> None:
    session = Session(CoordinatorOptions())
    record = session.put((Request("f", b"[]", JSON),), None)[0]
    session.cancel_one(record)
    said = SessionRequest.FromString(next(session.messages(session.connected())))
    assert list(said.cancel_token) == [record.token]


def test_ctrl_c_while_a_call_is_queued_leaves_nothing_to_wait_for() -> None:
    made = Unserved()

    def interrupted(record: Record) -> None:
        raise KeyboardInterrupt

    made.session._out.add = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        made.schedule()
    assert made.session.done()
    made.session.join(0)
    del made.session._out.add  # type: ignore[method-assign]
    after = made.schedule()
    assert list(made.sent().token) == [after.token]
