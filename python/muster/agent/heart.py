"""Heartbeats and the error poll of a run."""
from __future__ import annotations

import logging
import threading
import time
from typing import Any, Callable

from muster._wire.coordination import Refusal, refusal
from muster.agent.errors import AgentError, CoordinationError
from muster.agent.run import Run
from muster.agent.service import Service

BEAT_AGAIN = 1.0
"""Seconds from an unanswered heartbeat to the next heartbeat."""
POLL_FIRST = 1.0
"""Seconds to wait for the error poll after a rejected heartbeat, because the poll returns more details."""
NEVER = float("inf")


class Heart:
    """Sends heartbeats, polls for errors, and reports the error that ends the run. Runs on a separate thread."""

    def __init__(self, run: Run, service: Service, timeout: float, fail: Callable[[Run, Refusal], None],
                 on_error: Callable[[AgentError], None] | None) -> None:
        self._run, self._service, self._timeout = run, service, timeout
        self._every = min(timeout, run.heartbeat_timeout or timeout) / 2
        self._fail, self._on_error = fail, on_error
        self._wake = threading.Event()
        self._lock = threading.Lock()  # protects the fields below
        self._asked: list[Callable[[], None]] = []
        """Callbacks that wait for the next heartbeat."""
        self._asking: list[Callable[[], None]] = []
        """Callbacks that wait for the current heartbeat."""
        self._beat: Any = None
        self._poll: Any = None
        self._heard = time.monotonic()
        self._beat_at = self._heard + self._every
        self._poll_at = self._heard
        self._judged: tuple[float, Refusal] | None = None
        # The poll starts now: the service detects the death of the process when the connection of its poll is closed.
        self._begin(self._heard)
        try:
            threading.Thread(target=self._live, name="muster-agent", daemon=True).start()
        except BaseException:
            self._drop_calls()
            raise

    def wake(self, *_: Any) -> None:
        self._wake.set()

    def beat_now(self, healthy: Callable[[], None]) -> None:
        """Sends a heartbeat immediately, to receive an error that the service has already recorded. Can be called from
        any thread.

        `healthy` is called on the agent's thread when a heartbeat that began after this call has succeeded.
        """
        with self._lock:
            self._asked.append(healthy)
        self._wake.set()

    def _live(self) -> None:
        try:
            self._until_over()
        except CoordinationError:  # the channel was closed
            pass
        except Exception as error:  # without this thread, no heartbeats would be sent
            why = f"the agent's thread failed: {type(error).__name__}: {error}"
            self._fail(self._run, Refusal("INTERNAL", why))
        self._drop_calls()
        if self._run.error is not None and self._on_error is not None:
            try:
                self._on_error(self._run.error.again())
            except Exception:
                logging.getLogger("muster").exception("an agent's on_error callback raised an exception")

    def _drop_calls(self) -> None:
        for call in (self._beat, self._poll):
            if call is not None:
                call.cancel()

    def _until_over(self) -> None:
        while not self._run.over.is_set():
            self._wake.clear()
            now = time.monotonic()
            self._look_at_poll(now)
            self._look_at_beat(now)
            with self._lock:
                if self._asked and self._beat is None and not self._judged:
                    self._beat_at = min(self._beat_at, now)
            if self._judged and self._judged[0] <= now:
                self._fail(self._run, self._judged[1])
            self._begin(now)
            due = [at for at, call in ((self._beat_at, self._beat), (self._poll_at, self._poll)) if call is None]
            due += [self._judged[0]] if self._judged else []
            if not self._run.over.is_set():
                self._wake.wait(None if not due or min(due) == NEVER else max(0.0, min(due) - time.monotonic()))

    def _begin(self, now: float) -> None:
        if self._beat is None and self._beat_at <= now and not self._judged:
            with self._lock:
                self._asking, self._asked = self._asking + self._asked, []
            self._beat = self._start("Heartbeat", min(self._every, 10.0))
        if self._poll is None and self._poll_at <= now:
            self._poll = self._start("PollForError", None)

    def _start(self, name: str, seconds: float | None) -> Any:
        call = self._service.begin(name, self._run.sign(name), seconds)
        call.add_done_callback(self.wake)
        return call

    def _look_at_poll(self, now: float) -> None:
        """Handles the result of the error poll, which has no deadline. Heartbeats detect a broken connection."""
        if self._poll is None or not self._poll.done():
            return
        refused = refusal(self._poll)
        self._poll = None
        # CANCELLED: the task has left, another process polls for the task, or heartbeats report the errors.
        if refused.answered and refused.code == "CANCELLED":
            self._poll_at = NEVER
        elif refused.answered and refused.code != "RESOURCE_EXHAUSTED":
            self._fail(self._run, refused)
        else:
            self._poll_at = now + 0.5

    def _look_at_beat(self, now: float) -> None:
        if self._beat is None or not self._beat.done():
            return
        call, self._beat = self._beat, None
        if call.code().name == "OK":
            self._heard, self._beat_at = now, now + self._every
            with self._lock:
                asking, self._asking = self._asking, []
            for healthy in asking:
                healthy()
            return
        refused = refusal(call)
        if refused.answered:
            self._beat_at = NEVER
            at_once = refused.other_service or self._poll_at == NEVER
            self._judged = (now + (0.0 if at_once else POLL_FIRST), refused)
        elif now - self._heard >= self._timeout:
            self._fail(self._run, Refusal(
                "UNAVAILABLE", f"no answer from {self._service.address} for {self._timeout:g} s: "
                               f"{refused.message}"))
        else:
            self._beat_at = now + min(self._every, BEAT_AGAIN)
