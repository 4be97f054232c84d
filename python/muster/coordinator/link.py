"""Opens the streams of a session, one after the other. The link connects, reads, and reconnects after a connection loss
as long as the server keeps the session.
"""
from __future__ import annotations

import os
import random
import threading
import time
import weakref
from typing import Any

import grpc

from muster._pickled import calls
from muster._wire import columns, messages
from muster._wire.credentials import with_token
from muster.coordinator.records import Built
from muster.coordinator.remote_value import RemoteValueStatus
from muster.coordinator.session import Session
from muster.errors import FailureKind, UnavailableError

METHOD = "/muster.v1.CoordinatorService/"
END_LIMIT = 5.0
"""Seconds for an orderly end of the session."""
REPEAT_AFTER = 0.25
"""Seconds between attempts of a call outside the stream."""
ASK_TIMEOUT = 10.0
"""Seconds for a call on the connection of the stream."""
CANCELLED_AT_ONCE = 10_000
"""Maximum number of tokens that the server accepts in a call."""
CHANNEL_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

# Errors of a broken connection or a restarting server. After any other error, a retry would fail as well.
_MAY_PASS = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL,
             grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED}


_links_lock = threading.Lock()
_links: weakref.WeakSet[Link] = weakref.WeakSet()
"""All links of this process. Protected by _links_lock."""


def _renew_lock() -> None:
    global _links_lock
    _links_lock = threading.Lock()  # another thread of the parent may have held the lock


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def end_sessions(server: str, reason: str) -> None:
    """Ends the sessions of this process whose only server is `server`. `server` has exited and will not restart."""
    with _links_lock:
        links = list(_links)
    for link in links:
        if link.servers == [server]:
            link.end(reason)


class Link:
    """Opens the streams of a session on its own thread until the session has ended."""

    def __init__(self, session: Session, servers: list[str]) -> None:
        self._session = session
        self.servers = servers
        self._lock = threading.Lock()  # protects _call and _channel
        self._call: Any = None
        self._channel: Any = None
        self._server = ""  # address of the server of the last stream
        self.said = ""
        """Error of the last attempt to open a stream. Empty if no attempt has failed."""
        self._give_up = threading.Event()
        self._ended_for = ""  # reason why there is no server
        with _links_lock:
            _links.add(self)
        self._given = session.options.connect_timeout
        self._deadline: threading.Timer | None = None
        self._thread = threading.Thread(target=self._run, name="muster-session", daemon=True)
        self._thread.start()

    @property
    def is_forked(self) -> bool:
        """Returns whether this process was forked from the process that opened the session."""
        return self._session.is_forked

    def end(self, reason: str) -> None:
        """Ends the session without contacting its server."""
        self._ended_for = reason
        self._session.stop(reason)
        self._stop()

    def close(self) -> None:
        """Ends the session. Waits until the session has ended, but at most a few seconds."""
        self._session.objects.settle()
        self._session.begin_close()
        opened = self._session.opened
        if opened:
            self._thread.join(END_LIMIT)
        self._stop()
        self._thread.join(END_LIMIT)

    def components(self, built: Built, timeout: float) -> dict[str, RemoteValueStatus]:
        with self._lock:
            channel = self._channel
        if channel is None:
            raise _unavailable("there is no connection to the server")
        ask = channel.unary_unary(METHOD + "GetPerWorkerValue",
                                  messages.GetPerWorkerValueRequest.SerializeToString,
                                  messages.PerWorkerValue.FromString)
        try:
            answer = ask(messages.GetPerWorkerValueRequest(value=built.handle), timeout=timeout)
        except grpc.RpcError as error:
            raise _unavailable(error.details()) from error
        states = list(RemoteValueStatus)
        return {c.task: states[c.state] for c in answer.component}

    def ask(self, method: str, request: Any, response: Any, timeout: float, patience: float = 0.0) -> Any:
        """Makes a call outside the stream. Such a call is also possible after the session has ended.

        Args:
            timeout: Seconds for each attempt.
            patience: Seconds for which the call is repeated while the session is open and no server is reachable.

        Raises:
            UnavailableError: No server could be reached, or the server rejected the call.
        """
        end = time.monotonic() + patience
        while True:
            try:
                return self._ask_once(method, request, response, timeout)
            except grpc.RpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE or time.monotonic() > end or self._session.over:
                    raise _unavailable(error.details() or str(error.code().name)) from error
                time.sleep(REPEAT_AFTER)

    def _ask_once(self, method: str, request: Any, response: Any, timeout: float) -> Any:
        with self._lock:
            servers = [self._server, *self.servers] if self._server else self.servers
        options = self._session.options
        for server in servers:
            channel = with_token(options.tls.channel(server, CHANNEL_OPTIONS), options.token)
            try:
                call = channel.unary_unary(METHOD + method, type(request).SerializeToString,
                                           response.FromString)
                return call(request, timeout=timeout)
            except grpc.RpcError as error:
                failed = error
            finally:
                channel.close()
            if failed.code() is not grpc.StatusCode.UNAVAILABLE:
                break
        raise failed

    def cancel_queued(self, session: str, tokens: list[int], dry_run: bool, timeout: float
                      ) -> tuple[set[int], set[int]] | None:
        """Cancels closures that no worker has started. With `dry_run`, only asks the server which closures would be
        cancelled. `timeout` is the time limit in seconds for each message.

        Returns:
            Two sets of tokens. The first set contains closures that are running or have ended without being cancelled.
            The second set contains closures that the server does not know; with `dry_run`, also cancelled closures.
            Returns None if the server is too old for this method.

        Raises:
            UnavailableError: There is no connection, or the server rejected the call.
        """
        started: set[int] = set()
        unknown: set[int] = set()
        for i in range(0, len(tokens), CANCELLED_AT_ONCE):
            part = tokens[i:i + CANCELLED_AT_ONCE]
            request = messages.CancelQueuedRequest(session=session, token=part, dry_run=dry_run)
            answer = self._ask_on_stream("CancelQueued", request, messages.CancelQueuedResponse, timeout)
            if answer is None:
                return None
            started.update(answer.started)
            unknown.update(answer.unknown)
        return started, unknown

    def capacity(self, session: str) -> int | None:
        """Returns the number of Python calls that can run at the same time, or None if the server is too old to report
        the number.

        Raises:
            UnavailableError: There is no connection, or the server rejected the call.
        """
        request = messages.GetCapacityRequest(session=session, function=calls.FUNCTION)
        answer = self._ask_on_stream("GetCapacity", request, messages.GetCapacityResponse)
        return None if answer is None else int(answer.slots)

    def _ask_on_stream(self, method: str, request: Any, response: Any, timeout: float = ASK_TIMEOUT) -> Any:
        """Makes a call on the connection of the stream. Returns None if the server does not support the method."""
        with self._lock:
            channel = self._channel
        if channel is None:
            raise _unavailable("there is no connection to the server")
        ask = channel.unary_unary(METHOD + method, type(request).SerializeToString, response.FromString)
        try:
            return ask(request, timeout=timeout)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return None
            raise _unavailable(error.details() or str(error.code().name)) from error
        except ValueError as error:  # the channel is being closed
            raise _unavailable(str(error)) from error

    @property
    def where(self) -> str:
        return ",".join(self.servers)

    def explain(self, session: str, tokens: list[int], timeout: float) -> tuple[str, int]:
        """Returns the reason why closures have not ended, and a token. If no worker can run some closure, returns the
        reason and the token of that closure. Otherwise returns the reason of the first closure, and 0. Returns ("", 0)
        if the server does not answer.
        """
        with self._lock:
            channel = self._channel
        if channel is None:
            return "", 0
        ask = channel.unary_unary(METHOD + "Explain", messages.ExplainRequest.SerializeToString,
                                  messages.ExplainResponse.FromString)
        try:
            said = ask(messages.ExplainRequest(session=session, token=tokens), timeout=timeout)
        except (grpc.RpcError, ValueError):  # the server is too old, or the channel is being closed
            return "", 0
        return said.why, said.token if said.no_worker else 0

    def _run(self) -> None:
        reason = "the session's own thread failed"  # used to end all waits if the thread raises an exception
        try:
            reason = self._until_over()
        finally:
            self._cancel_deadline()
            self._session.ended(reason)
            self._session.blobs.close()

    def _until_over(self) -> str:
        """Serves one stream after the other. Returns the reason why no further stream is opened."""
        self._give_up_in(self._session.options.connect_timeout)
        pause = 0.05
        tried = in_vain = 0
        while True:
            error = self._serve_one_stream(self.servers[tried % len(self.servers)])
            reason = self._final_reason(error)
            if reason is not None:
                return reason
            in_vain = 0 if self._was_open else in_vain + 1
            if self._was_open:
                pause = 0.05
                self._give_up_in(self._session.grace)
            tried += 1
            if in_vain % len(self.servers) == 0:  # pauses after trying all servers: any may be the new leader
                self._give_up.wait(pause * random.uniform(0.5, 1.0))
                pause = min(pause * 2, 2.0)
            if self._give_up.is_set() or self._session.closing:
                return self._final_reason(error) or ""

    def _serve_one_stream(self, server: str) -> Any:
        self._was_open = False
        options = self._session.options
        channel = with_token(options.tls.channel(server, CHANNEL_OPTIONS), options.token)
        number = self._session.connected()
        call = channel.stream_stream(METHOD + "Session", None, None)(
            self._session.messages(number))
        with self._lock:
            self._call, self._channel = call, channel
        if self._give_up.is_set():
            call.cancel()
        try:
            for raw in call:
                m, values = columns.parse(messages.SessionResponse, raw, "value")
                if m.HasField("opened"):
                    self._was_open = True
                    self._server = server
                    self._session.blobs.look()
                    self._cancel_deadline()
                self._session.take(m, values)
            return None
        except grpc.RpcError as error:
            self.said = error.details() or ""
            return error
        finally:
            with self._lock:
                self._call = self._channel = None
            self._session.disconnected()
            channel.close()

    def _final_reason(self, error: Any) -> str | None:
        """Returns the reason why no further stream is opened, or None if the link tries again."""
        if self._ended_for:
            return self._ended_for
        if self._give_up.is_set() and not self._session.closing:
            where = self.where
            if self._session.opened:
                return (f"the connection to {where} was lost for {self._given:g} s, longer than the session's grace "
                        "period")
            said = f": {error.details()}" if error is not None and error.details() else ""
            return f"no answer from {where} within {self._given:g} s{said}"
        if error is None or self._session.closing:
            return ""
        if error.code() in _MAY_PASS:
            return None
        return error.details() or str(error.code().name)

    def _give_up_in(self, seconds: float) -> None:
        self._cancel_deadline()
        self._given = seconds
        self._deadline = threading.Timer(seconds, self._stop)
        self._deadline.daemon = True
        self._deadline.start()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _stop(self) -> None:
        self._give_up.set()
        with self._lock:
            if self._call is not None:
                self._call.cancel()


def _unavailable(reason: str) -> UnavailableError:
    return UnavailableError(FailureKind.DEPENDENCY_LOST, "muster.ClusterCoordinator", reason)
