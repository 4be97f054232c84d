"""Connection of an agent to the coordination service, with calls that can be interrupted. Thread-safe."""
from __future__ import annotations

import threading
import time
from typing import Any

import grpc

from muster._tls import Tls
from muster._token import token_of
from muster._wire import addresses
from muster._wire.coordination import METHODS, Refusal, refusal
from muster.agent.errors import BarrierError, CoordinationError

_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 1000),
            ("grpc.max_reconnect_backoff_ms", 2000)]


SECONDS_MAX = 10 * 365 * 86400.0
"""Maximum wait in seconds. The service has the same limit. Longer and infinite waits are shortened to this limit."""


def wait_time(seconds: float, field: str = "timeout") -> float:
    """Returns `seconds` as a float of at most SECONDS_MAX. Raises ValueError if `seconds` is not a valid number."""
    try:
        given = float(seconds)
    except (TypeError, ValueError):
        given = float("nan")
    if given != given:
        raise ValueError(f"{field}: {seconds!r} is not a number of seconds")
    return min(given, SECONDS_MAX)


class Service:
    """The connection to the service, which is opened for the first call. Raises ValueError unless `address` is a single
    address.
    """

    def __init__(self, address: str, tls: Tls, token: str, hint: str = "") -> None:
        (self.address, *more) = addresses.checked(address, "address")
        if more:
            raise ValueError(f"address: {address!r} contains several addresses; an agent uses only one")
        self.hint = hint  # added to the error message if the service does not answer
        self._channel = tls.channel(self.address, _OPTIONS)
        token = token_of(token)
        self._metadata = [("authorization", "Bearer " + token)] if token else []

    def begin(self, name: str, request: Any, seconds: float | None) -> Any:
        """Starts a call and returns its future. The call waits for a connection.

        `seconds` is the time limit of the call, or None. Raises CoordinationError (CANCELLED) if the connection was
        closed.
        """
        m = METHODS[name]
        try:
            call = self._channel.unary_unary(m.path, m.request.SerializeToString, m.response.FromString)
            return call.future(request, timeout=seconds, metadata=self._metadata, wait_for_ready=True)
        except ValueError as error:  # the channel is closed
            raise CoordinationError("CANCELLED", "the agent was closed") from error

    def close(self) -> None:
        self._channel.close()

    def error_of(self, refused: Refusal, seconds: float) -> CoordinationError:
        """Returns the exception for a refusal of the service. `seconds` is the time limit of the call.

        The service answers shortly before the time limit, so a call without an answer has not reached the service.
        """
        if refused.barrier is not None:
            return BarrierError(refused.code, refused.message, *refused.barrier)
        if not refused.answered and refused.code == "DEADLINE_EXCEEDED":
            return CoordinationError(refused.code, f"{self.address} did not answer within {seconds:g} s{self.hint}")
        return CoordinationError(refused.code, refused.message)


class Waiter:
    """Makes the calls of an operation, one after the other, until the operation is interrupted. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the fields below
        self._call: Any = None
        self._error: CoordinationError | None = None
        self._woken = threading.Event()

    def cut(self, error: CoordinationError) -> None:
        """Interrupts the current call with `error`. Later calls also raise this error."""
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
        """Ends a pause early."""
        self._woken.set()

    def perform(self, call: Any) -> tuple[Any, Refusal | None]:
        """Waits for a call. Returns its answer or the refusal of the service. Raises the error that was passed to
        cut().
        """
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
            call.cancel()  # otherwise the call of an interrupted thread would continue


class Retry:
    """The deadline of an operation, and the pause between its attempts."""

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
