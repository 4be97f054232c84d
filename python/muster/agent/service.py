"""The connection of an agent to the coordination service, and calls that can be cut short. Any thread."""
from __future__ import annotations

import threading
import time
from typing import Any

import grpc

from muster._tls import Tls
from muster._wire import addresses
from muster._wire.coordination import METHODS, Refusal, refusal
from muster._wire.credentials import token_of
from muster.agent.errors import BarrierError, CoordinationError

_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 1000),
            ("grpc.max_reconnect_backoff_ms", 2000)]


SECONDS_MAX = 10 * 365 * 86400.0
"""No wait is longer, as with the service: what is more, or without end, counts as this."""


def wait_time(seconds: float, field: str = "timeout") -> float:
    """Raises ValueError: it is no number of seconds."""
    try:
        given = float(seconds)
    except (TypeError, ValueError):
        given = float("nan")
    if given != given:
        raise ValueError(f"{field}: {seconds!r} is no number of seconds")
    return min(given, SECONDS_MAX)


class Service:
    """Nothing is dialled yet. Raises ValueError: `address` is none, or several."""

    def __init__(self, address: str, tls: Tls, token: str, hint: str = "") -> None:
        (self.address, *more) = addresses.checked(address, "address")
        if more:
            raise ValueError(f"address: {address!r} are several; an agent has one")
        self.hint = hint  # what may be wrong where nobody answers
        self._channel = tls.channel(self.address, _OPTIONS)
        token = token_of(token)
        self._metadata = [("authorization", "Bearer " + token)] if token else []

    def begin(self, name: str, request: Any, seconds: float | None) -> Any:
        """A call as a future, which waits for a connection; None: without end. Raises CoordinationError
        (CANCELLED): it was closed."""
        m = METHODS[name]
        try:
            call = self._channel.unary_unary(m.path, m.request.SerializeToString, m.response.FromString)
            return call.future(request, timeout=seconds, metadata=self._metadata, wait_for_ready=True)
        except ValueError as error:  # of a closed channel
            raise CoordinationError("CANCELLED", "the agent was closed") from error

    def close(self) -> None:
        self._channel.close()

    def error_of(self, refused: Refusal, seconds: float) -> CoordinationError:
        """`seconds`: how long an answer was waited for. The service itself says shortly before what it waits
        for, so without its word it was not reached."""
        if refused.barrier is not None:
            return BarrierError(refused.code, refused.message, *refused.barrier)
        if not refused.answered and refused.code == "DEADLINE_EXCEEDED":
            return CoordinationError(refused.code, f"{self.address} has not answered within {seconds:g} s{self.hint}")
        return CoordinationError(refused.code, refused.message)


class Waiter:
    """Calls of one operation, one after the other, until it is cut short. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the following
        self._call: Any = None
        self._error: CoordinationError | None = None
        self._woken = threading.Event()

    def cut(self, error: CoordinationError) -> None:
        """What waits raises `error`, and so does whatever comes later."""
        with self._lock:
            self._error = self._error or error
            call = self._call
            self._woken.set()
        if call is not None:
            call.cancel()

    def check(self) -> None:
        if self._error is not None:
            raise self._error.again()

    def pause(self, seconds: float) -> None:
        self._woken.wait(seconds)
        with self._lock:
            if self._error is None:
                self._woken.clear()

    def wake(self) -> None:
        """A pause ends early."""
        self._woken.set()

    def perform(self, call: Any) -> tuple[Any, Refusal | None]:
        """Waits for the call: its answer, or why there is none. Raises what it was cut short with."""
        with self._lock:
            self._call = call
        try:
            self.check()
            return call.result(), None
        except (grpc.RpcError, grpc.FutureCancelledError):
            self.check()
            return None, refusal(call)
        finally:
            with self._lock:
                self._call = None
            call.cancel()  # it goes on otherwise, where this thread was interrupted


class Retry:
    """Until when, and how long between two calls."""

    def __init__(self, seconds: float, pause: float) -> None:
        self._end = time.monotonic() + wait_time(seconds)
        self.pause = pause

    def left(self) -> float:
        return max(0.001, self._end - time.monotonic())

    def may_wait(self) -> bool:
        return time.monotonic() + self.pause < self._end

    def wait(self, waiter: Waiter) -> None:
        waiter.pause(self.pause)
        self.pause = min(self.pause * 2, 1.0)
