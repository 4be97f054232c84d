"""Properties of the wire format and of a session, with inputs that Hypothesis chooses. A failed example is printed with the
steps that repeat it. MUSTER_EXAMPLES multiplies the number of examples."""
from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Union

import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule, run_state_machine_as_test

import muster
from closures import add
from conftest import DEADLINE, Cluster
from muster._wire import columns, messages
from proxies import Proxy

MANY = int(os.environ.get("MUSTER_EXAMPLES", "1"))
WIRE = settings(max_examples=300 * MANY, deadline=None, derandomize=MANY == 1)

large = st.integers(0, 3).map(lambda n: bytes([n]) * (columns.LARGE + n))
values = st.lists(st.one_of(st.binary(max_size=40), large), max_size=5)


def blob_piece(value: bytes, size: int) -> bytes:
    return columns.serialize(messages.BlobPiece(size=size), "data", value)


@WIRE
@given(value=st.one_of(st.binary(max_size=40), large), size=st.integers(0, 2**63))
def test_a_written_message_is_read_as_by_protobuf(value: bytes, size: int) -> None:
    raw = blob_piece(value, size)
    expected = messages.BlobPiece.FromString(raw)
    message, data = columns.parse(messages.BlobPiece, raw, "data")
    assert message.size == expected.size == size
    assert (data if isinstance(data, bytes) else b"".join(data)) == expected.data == value


@WIRE
@given(texts=values, end=st.binary(max_size=12))
def test_repeated_values_are_read_as_by_protobuf(texts: list[bytes], end: bytes) -> None:
    """The bytes behind the values are arbitrary: unknown fields, or damage that both must notice."""
    raw = messages.SessionResponse(value=texts).SerializeToString() + end
    try:
        expected = messages.SessionResponse.FromString(raw)
    except DecodeError:
        if len(raw) >= columns.LARGE:
            with pytest.raises((DecodeError, ValueError)):
                columns.parse(messages.SessionResponse, raw, "value")
        return
    try:
        _, data = columns.parse(messages.SessionResponse, raw, "value")
    except ValueError:  # groups, which no version of Muster writes
        return
    assert [bytes(part) for part in data] == list(expected.value)


@WIRE
@given(start=large, cut=st.integers(1, 60), more=st.binary(max_size=60))
def test_a_truncated_message_is_a_value_error(start: bytes, cut: int, more: bytes) -> None:
    raw = (blob_piece(start, 7) + more)[:-cut]
    try:
        columns.parse(messages.BlobPiece, raw, "data")
    except (DecodeError, ValueError):
        pass


def failing(text: str) -> Callable[[], None]:
    """Returns a function that workers need not import."""
    def fail() -> None:
        raise ValueError(text)
    return fail


Result = Union[int, bytes, ValueError]
Call = tuple[muster.RemoteValue, Result]


class Session(RuleBasedStateMachine):
    """Calls whose results a model predicts, on a connection that breaks at any time."""

    cluster: Cluster
    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.proxy = Proxy(self.cluster.server.grpc)
        self.coordinator = muster.ClusterCoordinator(self.proxy.address)
        self.cancelled: set[int] = set()
        self.open: list[Call] = []

    def submitted(self, value: muster.RemoteValue, result: Result) -> Call:
        self.open.append((value, result))
        return value, result

    @rule(target=calls, number=st.integers(-2**70, 2**70))
    def submit(self, number: int) -> Call:
        return self.submitted(self.coordinator.submit(int, number), number)

    @rule(target=calls, size=st.integers(0, 400_000))
    def submit_large(self, size: int) -> Call:
        return self.submitted(self.coordinator.submit(bytes, size), bytes(size))

    @rule(text=st.text(max_size=20))
    def submit_failing(self, text: str) -> None:
        self.submitted(self.coordinator.submit(failing(text)), ValueError(text))

    @rule(target=calls, one=calls, other=calls)
    def submit_sum(self, one: Call, other: Call) -> Any:
        if isinstance(one[1], bytes) != isinstance(other[1], bytes) or {id(one[0]), id(other[0])} & self.cancelled:
            return multiple()
        return self.submitted(self.coordinator.submit(add, one[0], other[0]), one[1] + other[1])  # type: ignore[operator]

    @rule(call=calls)
    def fetch(self, call: Call) -> None:
        self.check(*call)

    @rule(call=consumes(calls))
    def drop(self, call: Call) -> None:
        self.open = [one for one in self.open if one[0] is not call[0]]

    @rule(call=consumes(calls))
    def cancel(self, call: Call) -> None:
        """Calls that take its value may fail with it."""
        self.cancelled.add(id(call[0]))
        call[0].cancel()
        self.check(*call)

    @rule()
    def break_the_connection(self) -> None:
        self.proxy.reset()

    def check(self, value: muster.RemoteValue, expected: Result) -> None:
        try:
            result: Any = value.fetch(DEADLINE)
        except (muster.CancelledError, muster.InputError):
            assert self.cancelled, "no call was cancelled"
            return
        except ValueError as error:
            result = error
        if isinstance(expected, ValueError):
            assert isinstance(result, ValueError) and result.args == expected.args
        else:
            assert result == expected

    def teardown(self) -> None:
        try:
            for call in self.open:
                self.check(*call)
        finally:
            self.coordinator.close()
            self.proxy.close()


@pytest.fixture
def session_machine(cluster: Cluster) -> Iterator[type[Session]]:
    class Machine(Session):
        pass

    Machine.cluster = cluster
    yield Machine


def test_each_call_has_the_result_of_the_model(session_machine: type[Session]) -> None:
    run_state_machine_as_test(session_machine, settings=settings(
        max_examples=15 * MANY, stateful_step_count=25, deadline=None, derandomize=MANY == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]))
