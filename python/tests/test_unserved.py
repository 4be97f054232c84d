"""A coordinator's session without a server: what it sends, and what it makes of what it is told."""
from __future__ import annotations

import threading
from typing import Any, Iterator

import muster
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
        """Another stream, which the server has opened."""
        self._messages: Iterator[bytes] = self.session.messages(self.session.connected())
        self.first = self.sent()
        opened = SessionResponse()
        opened.opened.session = "job_1"
        opened.opened.generation = 1
        opened.opened.own_errors = True
        self.session.take(opened, [])

    def sent(self) -> Any:
        """The next message. Only where there is something to say."""
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


def test_a_submit_that_waits_for_room_goes_on_while_an_error_is_pending() -> None:
    made = Unserved(pending_max=1)
    made.schedule()
    made.sent()
    made.notice(FAILED)
    made.notice(DRAINED)
    made.submit()
    waiting = threading.Thread(target=made.submit, daemon=True)
    waiting.start()
    until(lambda: getattr(made.session._changed, "_waiters"), "it waits")
    made.sent()
    waiting.join(DEADLINE)
    assert not waiting.is_alive()
    assert made.session._generation.failed, "the error is still to be raised"
