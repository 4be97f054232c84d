"""Calls of objects as their caller has them, by themselves: no server."""
from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

import muster
from muster._wire.messages import BYTES, JSON, Failure, ServerMessage, SessionResponse, WorkerMessage
from muster.objects import calls
from muster.variables import arrays, variable
from muster.worker.functions import FunctionTable
from muster.worker.objects import Objects


class Told(calls.Calls):
    def __init__(self) -> None:
        super().__init__(lambda: None)
        self.told: list[Any] = []

    def lost(self, task: str, error: Any) -> None:
        self.told.append((task, error))


def answer(to: calls.Calls, call: calls.Call, value: bytes = b"", encoding: int = JSON, failure: Any = None) -> None:
    m = SessionResponse().objects
    m.number.append(call.number)
    m.value.append(value)
    m.encoding.append(encoding)
    if failure is not None:
        m.failure.append(failure)
    to.take(m)


@pytest.mark.parametrize("kind", [muster.FailureKind.DEPENDENCY_LOST, muster.FailureKind.STALE_HANDLE])
def test_what_a_server_before_had_is_unavailable_and_told(kind: muster.FailureKind) -> None:
    made = Told()
    of = "ps:0", "the variable 'v'"
    call = made.add(1, "read", b"", b"", of=of)
    answer(made, call, failure=Failure(kind=int(kind), type="muster.ServerRestarted", message="it began anew"))
    with pytest.raises(muster.UnavailableError, match="the variable 'v' on ps:0 is not there .* started anew$") as caught:
        made.value_of(call)
    assert caught.value.dependency == ["ps:0"] and [task for task, _ in made.told] == ["ps:0"]


def test_what_a_method_raises_is_no_loss_of_the_server() -> None:
    made = Told()
    call = made.add(1, "read", b"", b"", of=("ps:0", "it"))
    answer(made, call, failure=Failure(kind=int(muster.FailureKind.USER), type="muster.ServerRestarted", message="mine",
                                       worker="ps:0"))
    with pytest.raises(muster.ClosureError, match="mine"):
        made.value_of(call)
    assert not made.told


def test_two_threads_decode_one_value_at_the_same_time() -> None:
    np = pytest.importorskip("numpy")
    made = calls.Calls(lambda: None)
    call = Meanwhile(made.add(1, "read", b"", b"", plain=True), made)
    call.raw, call.encoding, call.answered = arrays.encode([np.ones(2)]), BYTES, True
    value = made.value_of(call)
    assert value.tolist() == [1, 1] and value is made.value_of(call), "always the same object"


class Meanwhile(calls.Call):
    """While one thread looks how it is to be decoded, another one has it."""

    def __init__(self, call: calls.Call, of: calls.Calls) -> None:
        self._calls: Any = of
        super().__init__(call.number, call.object, call.method, call.args, call.ticket, True, call.of)

    @property
    def plain(self) -> bool:  # type: ignore[override]
        others, self._calls = self._calls, None
        if others is not None and self.answered:
            others.value_of(self)
        return True

    @plain.setter
    def plain(self, value: bool) -> None:
        pass


def test_who_asks_again_and_again_leaves_nothing_behind() -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, "read", b"", b"")
    for _ in range(3):
        with pytest.raises(muster.WaitTimeout):
            made.wait(call, 0.0)
    assert not call.waiters


def test_a_callback_cannot_wait_where_answers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would for ever."""
    monkeypatch.setattr(calls, "CALLS_MAX", 2)
    made = calls.Calls(lambda: None)
    first, second = (made.add(1, "read", b"", b"") for _ in range(2))
    raised: list[str] = []

    def callback() -> None:
        for wait in (lambda: made.wait(second, None), lambda: [made.add(1, "read", b"", b"") for _ in range(4)]):
            try:
                wait()
            except RuntimeError as error:
                raised.append(str(error))

    made.when_answered(first, callback)
    answer(made, first)
    assert len(raised) == 2 and all("callback" in said for said in raised)
    assert len(made._pending) == 4, "some go beyond the limit, so that one call is no matter of luck"
    answer(made, second)
    made.wait(second, None)
    monkeypatch.setattr(calls, "BYTES_MAX", 4)
    monkeypatch.setattr(calls, "CALLS_MAX", 1000)
    third = made.add(1, "read", b"1234", b"")
    made.when_answered(third, lambda: raised.append(str([made.add(1, "read", b"1234", b"") for _ in range(2)])))
    made.when_answered(third, callback)
    answer(made, third)
    assert len(made._pending) == 5 and made._bytes == 8, "and no more"


FULL = Failure(kind=int(muster.FailureKind.USER), type="muster.ResourceExhausted",
               message="too many calls wait, or too much of them")


def test_an_update_for_which_the_server_has_no_room_is_sent_again(monkeypatch: pytest.MonkeyPatch,
                                                                 caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for its answer, and it would be lost."""
    monkeypatch.setattr(calls, "REPEATED_AFTER", (0.01, 0.02))
    woken: queue.SimpleQueue[None] = queue.SimpleQueue()
    made = calls.Calls(lambda: woken.put(None))

    def sent() -> list[tuple[int, str, bytes]]:
        woken.get(timeout=20)
        m = WorkerMessage().object_requests.add()
        made.fill(m)
        return list(zip(m.number, m.method, m.args))

    update = made.add(1, "assign_add", b"delta", b"", plain=True, of=("ps:0", "the variable 'v'"))
    assert sent() == [(1, "assign_add", b"delta")]
    for number in (2, 3):
        answer(made, update, failure=FULL)
        assert not update.answered and made._bytes == 5
        assert sent() == [(number, "assign_add", b"delta")]
    answer(made, update, arrays.encode([]), BYTES)
    assert update.answered and update.error is None and made._bytes == 0
    assert caplog.text.count("there is no room for calls, as assign_add of the variable 'v' on ps:0") == 1


@pytest.mark.parametrize("method, plain, message", [
    ("assign", True, FULL.message), ("add", False, FULL.message), ("assign_add", False, FULL.message),
    ("assign_add", True, "callers have not taken too much, there is no room for the value")])
def test_what_may_not_be_executed_later_or_twice_fails(method: str, plain: bool, message: str) -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, method, b"", b"", plain=plain)
    answer(made, call, failure=Failure(kind=FULL.kind, type=FULL.type, message=message))
    with pytest.raises(muster.ClosureError, match="ResourceExhausted"):
        made.value_of(call)


@pytest.mark.parametrize("message", [FULL.message, "callers have not taken too much, there is no room for the value"])
def test_what_waits_for_room_ends_with_its_session(message: str) -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, "read", b"", b"", plain=True)
    answer(made, call, failure=Failure(kind=FULL.kind, type=FULL.type, message=message))
    made.end("it is closed")
    with pytest.raises(muster.UnavailableError, match="it is closed"):
        made.value_of(call)
    made._repeat()
    assert not made.has_more()


def hosted(sent: queue.SimpleQueue[bytes]) -> Objects:
    """With variable 1, of three zeros."""
    objects = Objects(FunctionTable({}, True), sent.put)
    m = ServerMessage()
    m.objects.build.add(object=1, function=variable.NAME, encoding=BYTES, concurrency=2,
                        args=arrays.encode([arrays.numpy().zeros(3)]))
    objects.take(m.objects)
    return objects


def said(sent: queue.SimpleQueue[bytes]) -> Any:
    return WorkerMessage.FromString(sent.get(timeout=20)).objects


def test_methods_with_an_underscore_are_for_nobody_else() -> None:
    pytest.importorskip("numpy")
    sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    objects = hosted(sent)
    assert list(said(sent).built) == [1]
    for number, method in enumerate(("__init__", "_same", "__setattr__"), 1):
        m = ServerMessage()
        for column, value in (("object", 1), ("caller", 7), ("of_worker", False), ("number", number),
                              ("method", method), ("args", arrays.encode(["_version", None]))):
            getattr(m.objects, column).append(value)
        objects.take(m.objects)
        assert f"no '{method}'" in said(sent).failure[0].message


def test_a_process_that_may_have_no_more_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "muster-object-1":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    hosted(sent)
    failed = said(sent).failed[0]
    assert failed.object == 1 and "can't start new thread" in failed.failure.message
