"""Calls of objects on the caller's side, without a server."""
from __future__ import annotations

import asyncio
import pathlib
import queue
import re
import threading
from typing import Any

import pytest

import muster
from conftest import until
from muster._wire.messages import BYTES, JSON, Failure, ServerMessage, SessionResponse, WorkerMessage
from muster.coordinator.objects import SessionObjects
from muster.objects import arrays, calls, large, reasons, taken
from muster.objects.call import Kept
from muster.objects.handle import CallValue
from muster.variables import variable
from muster.worker.functions import FunctionTable
from muster.worker.object_calls import ObjectCalls, within
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


def test_object_lost_in_a_server_restart_is_unavailable_and_reported() -> None:
    made = Told()
    of = "ps:0", "the variable 'v'"
    call = made.add(1, "read", b"", b"", of=of)
    answer(made, call, failure=Failure(kind=int(muster.FailureKind.DEPENDENCY_LOST), reason=reasons.SERVER_RESTARTED))
    with pytest.raises(muster.UnavailableError, match="the variable 'v' on ps:0 no longer exists, because .* restarted$") as caught:
        made.value_of(call)
    assert caught.value.dependency == ["ps:0"] and [task for task, _ in made.told] == ["ps:0"]


@pytest.mark.parametrize("failure", [
    Failure(kind=int(muster.FailureKind.USER), type="muster.ServerRestarted", message="mine", worker="ps:0"),
    Failure(kind=int(muster.FailureKind.STALE_HANDLE), message="mine, it was deleted", reason=4)])
def test_method_errors_and_deletions_are_not_losses_of_the_server(failure: Any) -> None:
    made = Told()
    call = made.add(1, "read", b"", b"", of=("ps:0", "it"))
    answer(made, call, failure=failure)
    with pytest.raises(muster.ClosureError, match="mine"):
        made.value_of(call)
    assert not made.told


def test_reasons_equal_those_of_the_protocol() -> None:
    enum = Failure.DESCRIPTOR.fields_by_name["reason"].enum_type
    for name in ("NO_ROOM_FOR_CALL", "NO_ROOM_FOR_VALUE", "SERVER_RESTARTED"):
        assert getattr(reasons, name) == enum.values_by_name[name].number


def test_server_messages_for_people_are_not_parsed() -> None:
    """Kind, type and reason of a failure are data; the message is only passed on."""
    words = re.compile(r"(message|error|str\(\w+\))\.(startswith|endswith|find|index)\(|\bin \w*\.message\b|\.message ==|"
                       r"re\.(match|search|fullmatch)\([^)]*message|\.details\(\)\s*(==|in\b)")
    for path in sorted(pathlib.Path(muster.__file__).parent.rglob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not words.search(line), f"{path.name}:{number}: {line.strip()}"


def sent_by(made: calls.Calls) -> Any:
    m = WorkerMessage().object_requests.add()
    made.fill(m)
    return m


def test_acknowledgements_are_repeated_until_the_server_has_received_them() -> None:
    """Otherwise the server keeps these answers as long as their caller exists."""
    made = calls.Calls(lambda: None)
    first, second = made.add(1, "f", b"", b""), made.add(1, "f", b"", b"")
    assert list(sent_by(made).number) == [1, 2]
    answer(made, first)
    assert list(sent_by(made).taken) == [1]
    answer(made, second)  # the server sent it before it received the acknowledgement of 1
    assert made.again(), "there is something to send"
    assert list(sent_by(made).taken) == [1, 2], "sent again on the new stream, because the message may be lost"
    third = made.add(1, "f", b"", b"")
    assert not sent_by(made).taken, "once per stream"
    answer(made, third)  # the server sent it after it had received the acknowledgement
    made.again()
    assert list(sent_by(made).taken) == [3]
    fourth = made.add(1, "f", b"", b"")
    sent_by(made)
    made.again()
    assert list(sent_by(made).taken) == [3]
    answer(made, fourth)  # the server may have sent it before it received this stream's acknowledgement
    made.again()
    assert list(sent_by(made).taken) == [3, 4]


def test_session_repeats_acknowledgements_with_its_ticket() -> None:
    made = SessionObjects(lambda: None, lambda task, error: None, lambda: False)
    call = made.add(1, "f", b"", made.ticket)
    first = sent_by(made)
    assert list(first.number) == [1] and first.ticket == made.ticket
    answer(made, call)
    assert list(sent_by(made).taken) == [1]
    assert made.again()
    again = sent_by(made)
    assert list(again.taken) == [1] and again.ticket == made.ticket and not again.number


def test_unconfirmed_acknowledgements_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "UNHEARD_MAX", 3)
    made = taken.Taken()
    for number in range(1, 6):
        made.add(number, 0)
        made.say([], 100)
    made.again()
    said: list[int] = []
    made.say(said, 100)
    assert said == [3, 4, 5]


def test_many_acknowledgements_are_split_into_several_messages() -> None:
    """The server refuses a message with more than 16,384 numbers, and disconnects the worker."""
    made = taken.Taken()
    for number in range(1, 10_001):
        made.add(number, 0)
    sizes, said = [], []
    while made:
        now: list[int] = []
        made.say(now, 20_000)
        sizes.append(len(now))
        said += now
    assert said == list(range(1, 10_001)) and max(sizes) == taken.PER_MESSAGE


def test_waits_are_reported_again_on_a_new_stream() -> None:
    """Otherwise a deadlock could remain undetected after a broken stream."""
    made = ObjectCalls(lambda data: None)
    made._begin = lambda: None  # type: ignore[method-assign]  # this test is its thread
    made._wake = lambda: None
    call = made.add(1, "f", b"", b"")
    within.call = (7, False, 3)
    try:
        wait = made.begin_wait(call)
        for _ in range(2):
            m = sent_by(made)
            if not m.wait:
                m = sent_by(made)  # the calls were sent first
            assert [(w.number, w.within_caller, w.within_number) for w in m.wait] == [(1, 7, 3)]
            assert not sent_by(made).wait, "once per stream"
            made.again()
        made.end_wait(wait)
        sent_by(made)
        assert not sent_by(made).wait and not made._waits
    finally:
        within.call = None


@pytest.mark.parametrize("how", ["await", "future", "async_fetch"])
def test_each_way_of_waiting_in_a_method_is_reported(how: str) -> None:
    made = ObjectCalls(lambda data: None)
    made._wake = lambda: None
    call = made.add(1, "f", b"", b"")
    value: Any = CallValue(made, call, None)
    noted: list[int] = []
    begin = made.begin_wait

    def note(of: calls.Call) -> Any:
        noted.append(of.number)
        threading.Timer(0.01, answer, (made, call, b"5")).start()
        return begin(of)

    made.begin_wait = note  # type: ignore[method-assign]

    async def run() -> Any:
        if how == "async_fetch":
            fetch: Any = muster.ClusterCoordinator.async_fetch
            return (await fetch(None, [value]))[0]
        return await value

    within.call = (7, False, 3)
    try:
        assert (value.future().result(20) if how == "future" else asyncio.run(run())) == 5
    finally:
        within.call = None
    assert noted and set(noted) == {1} and not made._waits


def test_two_threads_can_decode_one_value_at_the_same_time() -> None:
    np = pytest.importorskip("numpy")
    made = calls.Calls(lambda: None)
    call = Meanwhile(made.add(1, "read", b"", b"", plain=True), made)
    call.raw, call.encoding, call.answered = arrays.encode([np.ones(2)]), BYTES, True
    value = made.value_of(call)
    assert value.tolist() == [1, 1] and value is made.value_of(call), "all threads get the same object"


class Meanwhile(calls.Call):
    """A call that another thread decodes while this thread starts to decode it."""

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


def test_repeated_waits_leave_no_waiters_behind() -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, "read", b"", b"")
    for _ in range(3):
        with pytest.raises(muster.WaitTimeout):
            made.wait(call, 0.0)
    assert not call.waiters


def test_callback_cannot_wait_on_the_thread_that_reads_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait forever."""
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
    assert len(made._pending) == 4, "a callback may exceed the limit by some calls, so that one call always succeeds"
    answer(made, second)
    made.wait(second, None)
    monkeypatch.setattr(calls, "BYTES_MAX", 4)
    monkeypatch.setattr(calls, "CALLS_MAX", 1000)
    third = made.add(1, "read", b"1234", b"")
    made.when_answered(third, lambda: raised.append(str([made.add(1, "read", b"1234", b"") for _ in range(2)])))
    made.when_answered(third, callback)
    answer(made, third)
    assert len(made._pending) == 5 and made._bytes == 8, "further calls are refused"


FULL = Failure(kind=int(muster.FailureKind.USER), type="muster.ResourceExhausted", message="in other words",
               reason=reasons.NO_ROOM_FOR_CALL)


def test_update_refused_for_lack_of_room_is_sent_again(monkeypatch: pytest.MonkeyPatch,
                                                                 caplog: pytest.LogCaptureFixture) -> None:
    """No caller waits for the answer of an update, so it would be lost."""
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
    assert caplog.text.count("calls such as assign_add of the variable 'v' on ps:0 cannot be buffered") == 1


@pytest.mark.parametrize("method, plain, reason", [
    ("assign", True, FULL.reason), ("add", False, FULL.reason), ("assign_add", False, FULL.reason),
    ("assign_add", True, reasons.NO_ROOM_FOR_VALUE)])
def test_call_that_must_not_run_later_or_twice_fails_for_lack_of_room(method: str, plain: bool, reason: int) -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, method, b"", b"", plain=plain)
    answer(made, call, failure=Failure(kind=FULL.kind, type=FULL.type, reason=reason))
    with pytest.raises(muster.ClosureError, match="ResourceExhausted"):
        made.value_of(call)


@pytest.mark.parametrize("reason", sorted(reasons.NO_ROOM))
def test_call_that_waits_for_room_ends_with_its_session(reason: int) -> None:
    made = calls.Calls(lambda: None)
    call = made.add(1, "read", b"", b"", plain=True)
    answer(made, call, failure=Failure(kind=FULL.kind, type=FULL.type, reason=reason))
    made.end("it is closed")
    with pytest.raises(muster.UnavailableError, match="it is closed"):
        made.value_of(call)
    made._repeat()
    assert not made.has_more()


def hosted(sent: queue.SimpleQueue[bytes]) -> Objects:
    """Returns objects with variable 1, of three zeros."""
    objects = Objects(FunctionTable({}, True), sent.put)
    m = ServerMessage()
    m.objects.build.add(object=1, function=variable.NAME, encoding=BYTES, concurrency=2,
                        args=arrays.encode([arrays.numpy().zeros(3)]))
    objects.take(m.objects)
    return objects


def said(sent: queue.SimpleQueue[bytes]) -> Any:
    return WorkerMessage.FromString(sent.get(timeout=20)).objects


def test_methods_with_an_underscore_cannot_be_called_remotely() -> None:
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
        assert f"'{method}' cannot be called" in said(sent).failure[0].message


def test_failure_to_start_a_thread_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
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


class Memory:
    """The memory of a process; `there` lists the contents that it keeps."""

    def __init__(self) -> None:
        self.there: list[bytes] = []
        self.put_names: list[bytes] = []

    def keep(self, data: Any) -> Kept:
        self.there.append(bytes([len(self.there) + 1]) * 32)
        return Kept(self.there[-1], len(data), None)

    def let_go(self, kept: Kept) -> None:
        self.there.remove(kept.name)

    def put(self, kept: Kept) -> None:
        self.put_names.append(kept.name)

    def open(self, name: bytes) -> memoryview:
        raise OSError("it is not there")


def large_calls(memory: Memory, knows: bool = True) -> calls.Calls:
    """Returns calls for which it is known whether object 1 accepts large values (`knows`)."""
    made = calls.Calls(lambda: None, lambda: memory)
    asked = made.large.ask(1, b"", ("ps:0", "it"))
    assert asked is not None and asked.method == large.METHOD
    answer(made, asked, b"1", failure=None if knows else Failure(kind=int(muster.FailureKind.USER), message="no method"))
    return made


def test_arguments_are_kept_until_the_call_is_answered() -> None:
    memory = Memory()
    made = large_calls(memory)
    keeping = made.large.keeping(1, b"", ("ps:0", "it"))
    assert keeping is not None
    keeping.take(b"12345")
    call = made.add(1, "m", b"", b"", kept=keeping.kept)
    assert memory.there and made._kept_bytes == 5
    answer(made, call, b"null")
    assert not memory.there and made._kept_bytes == 0
    keeping = made.large.keeping(1, b"", ("ps:0", "it"))
    assert keeping is not None
    keeping.take(b"12345")
    made.add(1, "m", b"", b"", kept=keeping.kept)
    made.end("over")
    assert not memory.there


def test_object_that_does_not_accept_large_values_gets_its_arguments_in_the_call() -> None:
    made = large_calls(Memory(), knows=False)
    assert made.large.keeping(1, b"", ("ps:0", "it")) is None
    assert len(made._pending) == 0  # the object was asked once


def test_arguments_are_sent_in_the_call_if_the_object_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ASK_WITHIN", 0.01)
    made = calls.Calls(lambda: None, lambda: Memory())
    assert made.large.keeping(1, b"", ("ps:0", "it")) is None
    asked, = made._pending.values()
    answer(made, asked, b"1")
    assert made.large.keeping(1, b"", ("ps:0", "it")) is not None


def test_callers_wait_while_too_many_bytes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "BYTES_MAX", 10)
    made = large_calls(Memory())
    first = made.add(1, "m", b"", b"", kept=[Kept(b"1" * 32, 100, None)])  # a single call may exceed the limit
    waiting = threading.Thread(target=made.add, args=(1, "m", b"", b""), kwargs={"kept": [Kept(b"2" * 32, 1, None)]})
    monkeypatch.setattr(made.large, "let_go", lambda kept: None)
    waiting.start()
    made.add(1, "m", b"", b"")  # calls without kept arguments continue
    assert waiting.is_alive() and len(made._pending) == 2
    answer(made, first, b"null")
    waiting.join(20)
    assert not waiting.is_alive()


def test_unanswered_arguments_are_uploaded_before_their_caller_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "SETTLE_WITHIN", 0.01)
    memory = Memory()
    made = large_calls(memory)
    made.settle()
    made.add(1, "m", b"", b"", kept=[memory.keep(b"1")])
    made.settle()
    assert memory.put_names == memory.there


def test_update_with_a_lost_argument_is_sent_again() -> None:
    memory = Memory()
    made = large_calls(memory)
    failure = Failure(kind=int(muster.FailureKind.INPUT), type=reasons.ARGUMENT_GONE, message="gone")
    for method, tries in (("assign_add", large.TRIES), ("assign", 0)):
        call = made.add(1, method, b"", b"", plain=True, kept=[memory.keep(b"12345")])
        for _ in range(tries):
            before = call.number
            answer(made, call, failure=failure)
            assert call.number > before and not call.answered and memory.there
        answer(made, call, failure=failure)
        assert call.answered and not memory.there and made._kept_bytes == 0
        with pytest.raises(muster.InputError, match="gone"):
            made.value_of(call)


def test_known_objects_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ASKED_MAX", 2)
    made = calls.Calls(lambda: None, lambda: Memory())
    for object in range(5):
        made.large.ask(object, b"", ("ps:0", "it"))
    assert list(made.large._asked) == [3, 4]


def test_read_with_lost_memory_is_repeated_a_limited_number_of_times() -> None:
    made = large_calls(Memory())
    call = made.add(1, "read", b"", b"", plain=True, of=("ps:0", "it"))
    numbers = []
    named = arrays.encode([arrays.numpy().zeros(3)], lambda data: b"n" * 32)
    for _ in range(large.TRIES + 1):
        numbers.append(call.number)
        answer(made, call, named, BYTES)
        until(lambda: call.number not in numbers or any(c.method == large.METHOD for c in made._pending.values()))
    assert len(set(numbers)) == large.TRIES + 1 and not call.answered
    asked, = (c for c in made._pending.values() if c.method == large.METHOD)
    answer(made, asked, b"1")
    until(lambda: call.answered)
    with pytest.raises(muster.UnavailableError, match="ps:0"):
        made.value_of(call)
