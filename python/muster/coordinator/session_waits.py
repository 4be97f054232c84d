"""Waits of a session for a closure, for all closures or for the server. During a long wait, the session asks the server
for the reason. If no worker provides the function or the server is unreachable, the logger ``muster`` logs one warning.
"""
from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import Callable, Iterator, Sequence

from muster.coordinator.records import Record
from muster.coordinator.session_state import Cut
from muster.coordinator.session_streams import SessionStreams
from muster.errors import WaitTimeout
from muster.worker.context import waiting

log = logging.getLogger("muster")

LOOK_EVERY = 5.0
"""Seconds before a wait asks for the reason, and between two requests."""
ASK_TIMEOUT = 1.0
WORTH_ASKING = 0.5
"""Shortest timeout in seconds for which a failed wait asks the server for the reason."""
ASKED_OF = 8
"""Number of unfinished closures for which a join requests the reason, starting at the first closure."""


class SessionWaits(SessionStreams):
    def cut(self) -> Cut:
        with self._lock:
            made = Cut(self._last_token, self._unfinished)
            self._cuts.append(made)
            return made

    def leave(self, cut: Cut) -> None:
        """Stops waiting for these closures. A `join` that waits for them returns without raising the pending error."""
        with self._lock:
            if cut in self._cuts:
                self._cuts.remove(cut)
                self._changed.notify_all()

    def join(self, timeout: float | None, of: Cut | None = None, stops: bool = True) -> None:
        cut = of or self.cut()
        try:
            def ended(wait: float | None) -> bool:
                with self._lock:
                    return self._changed.wait_for(lambda: self._joined(cut), wait)

            if not self._wait(ended, timeout, lambda: self._first_unfinished(cut)):
                raise WaitTimeout(f"{cut.left} closure{'s' * (cut.left != 1)} did not finish within {timeout:g} s" +
                                  self._reason_of(timeout, self._first_unfinished(cut)))
            with self._lock:
                if cut in self._cuts:
                    self._raise_pending(stops)
        finally:
            self.leave(cut)

    @contextlib.contextmanager
    def quiet(self, timeout: float | None = None) -> Iterator[bool]:
        """Runs the ``with`` block while no scheduled closure is running. In other threads, `schedule` waits until the
        block has finished. Callbacks do not wait, but all callbacks finish before the block starts.

        Yields False if an error has cancelled the closures and has not been raised yet. Raises WaitTimeout if closures
        are still running after `timeout` seconds.
        """
        with self._lock:
            self._held += 1
        try:
            def ended(wait: float | None) -> bool:
                with self._lock:
                    return self._changed.wait_for(self._is_quiet, wait)

            if not self._wait(ended, timeout, self._first_of_all):
                raise WaitTimeout(f"{self._unfinished} closure{'s' * (self._unfinished != 1)} that the checkpoint "
                                  "waits for did not "
                                  f"finish within {timeout:g} s" + self._reason_of(timeout, self._first_of_all()))
            with self._lock:
                good = not self._generation.failed
            yield good
        finally:
            with self._lock:
                self._held -= 1
                self._changed.notify_all()

    def over_within(self, timeout: float, stopped: Callable[[], bool]) -> bool:
        """Waits until the session rejects new closures, or until `notify` is called and `stopped()` is True. Returns
        False after `timeout` seconds.
        """
        with self._lock:
            return self._changed.wait_for(lambda: self.over or stopped(), timeout)

    def notify(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def _is_quiet(self) -> bool:
        if self._ended or not self._generation.settled:
            return self._ended
        return self._generation.failed or (self._unfinished == 0 and self._reading is None)

    def tell(self, error: BaseException) -> None:
        """Makes the next `schedule`, `join` or `done` raise `error`."""
        with self._lock:
            self._told = error

    def untell(self, error: BaseException) -> bool:
        """Withdraws an error that was passed to `tell`, so that the caller can raise the error. Returns False if the
        error has already been raised.
        """
        with self._lock:
            pending = self._told is error
            if pending:
                self._told = None
            return pending

    def _joined(self, cut: Cut) -> bool:
        if self._ended or cut not in self._cuts:
            return True
        return self._generation.settled and (self._generation.failed or cut.left == 0)

    def _first_of_all(self) -> list[Record]:
        return self._first_unfinished(Cut(self._last_token, 0))

    def _first_unfinished(self, cut: Cut) -> list[Record]:
        found: list[Record] = []
        with self._lock:
            for r in self._records.values():
                if not r.ended and r.token <= cut.last_token:
                    found.append(r)
                    if len(found) == ASKED_OF:
                        break
        return found

    def done(self) -> bool:
        with self._lock, waiting():
            # No deadline is needed: running closures are asked to stop, and each one answers or loses its worker.
            self._changed.wait_for(lambda: self._ended or self._generation.settled)
            self._raise_pending()
            return self._unfinished == 0

    def wait_open(self) -> str:
        with self._lock:
            self._changed.wait_for(lambda: self._ended or bool(self._id))  # connect_timeout ends the wait
            if not self._id:
                self._throw_if_over()
            return self._id

    def wait_for(self, record: Record, timeout: float | None) -> None:
        ended = threading.Event()
        self.when_ended(record, ended.set)
        try:
            in_time = self._wait(ended.wait, timeout, lambda: [record])
        finally:
            if not record.ended:  # otherwise repeated waits would add more and more callbacks
                self.forget_callback(record, ended.set)
        if not in_time:
            raise WaitTimeout(f"the closure did not finish within {timeout:g} s" +
                              self._reason_of(timeout, [record]))

    def forget_callback(self, record: Record, f: Callable[[], None]) -> None:
        with self._lock:
            if record.waiters and f in record.waiters:
                record.waiters.remove(f)

    def when_ended(self, record: Record, f: Callable[[], None]) -> None:
        with self._lock:
            if not record.ended:
                if record.waiters is None:
                    record.waiters = []
                record.waiters.append(f)
                return
        f()

    def _wait(self, ended: Callable[[float | None], bool], timeout: float | None,
              of: Callable[[], Sequence[Record]]) -> bool:
        if self._is_reading() and not ended(0.0):
            raise RuntimeError("a callback cannot wait, because its thread delivers the results; wait on a "
                               "thread of your own")
        end = None if timeout is None else time.monotonic() + timeout
        with waiting():
            while True:
                left = LOOK_EVERY if end is None else end - time.monotonic()
                if ended(min(max(left, 0.0), LOOK_EVERY)):
                    return True
                if end is not None and time.monotonic() >= end:
                    return False
                self._warn(of())

    def _warn(self, records: Sequence[Record]) -> None:
        """Logs the reason if the wait cannot complete. Logs only once for each lost connection and each function."""
        away = self._away_since
        if away is not None:
            if time.monotonic() - away >= LOOK_EVERY and away != self._warned_of_break:
                self._warned_of_break = away
                log.warning("%s", self._absence(away))
            return
        records = [r for r in records if r.function not in self._warned_of]
        why, token = self._explained(records) if records else ("", 0)
        for r in records:
            if r.token == token:
                self._warned_of.add(r.function)
                log.warning("no worker can run a closure that this program is waiting for: %s", why)

    def _reason_of(self, timeout: float | None, records: Sequence[Record]) -> str:
        return self.reason_of(timeout, [r.token for r in records])

    def reason_of(self, timeout: float | None, numbers: Sequence[int]) -> str:
        """Returns the reason why a wait has timed out, as the end of a sentence, or "" if the reason is unknown.

        Args:
            timeout: The timeout of the wait.
            numbers: Tokens of closures, or numbers of objects. The reason belongs to the first closure or object that
                no worker can run, otherwise to the first element.
        """
        away = self._away_since
        if away is not None:
            return ": " + self._absence(away)
        if timeout is None or timeout < WORTH_ASKING or not numbers or not self._id:
            return ""
        why, _ = self.link.explain(self._id, list(numbers), ASK_TIMEOUT)
        return ": " + why.rstrip(".") if why else ""

    def _absence(self, since: float) -> str:
        gone, where = time.monotonic() - since, self.link.where
        if not self._id:
            said = self.link.said
            return f"no server has answered at {where} for {gone:.1f} s" + (f" ({said})" if said else "")
        return (f"the connection to the server at {where} has been lost for {gone:.1f} s; the client tries to "
                f"reconnect for {self.grace:g} s")

    def _explained(self, records: Sequence[Record]) -> tuple[str, int]:
        """Returns the server's reason and the token of a closure that no worker can run. The token is 0 if there is no
        such closure.
        """
        found: tuple[str, int] = self.link.explain(self._id, [r.token for r in records], ASK_TIMEOUT)
        return found
