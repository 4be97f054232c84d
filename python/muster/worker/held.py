"""Closures that an attachment has received but not yet answered. The caller must hold the attachment's lock."""
from __future__ import annotations

import time
from typing import Any

from muster._wire.messages import JSON, WorkerMessage
from muster.worker.untaken import Untaken


class Held:
    """Received closures by number, and answers that could not be sent on any stream. The total number of closures and
    answers is at most the task's credits.
    """

    def __init__(self) -> None:
        self.attempts: dict[int, int] = {}
        self.per_worker: set[int] = set()
        """Handles of the values that the child keeps."""
        self.waiting: set[int] = set()
        """Closures that are waiting for values of other closures and have released their slots."""
        self.untaken = Untaken()
        self._builds: dict[int, int] = {}
        self._stops: dict[int, float] = {}
        self._kept: dict[int, Any] = {}

    def sent(self, m: Any) -> None:
        """Records a ServerMessage that is sent to the child."""
        if m.closure:
            self.attempts.update(zip(m.closure, m.attempt))
            for p in m.per_worker:
                if p.builds:
                    self._builds[m.closure[p.position]] = p.builds
        if m.stop_closure:
            now = time.monotonic()
            for closure in m.stop_closure:
                if closure in self.attempts:
                    self._stops.setdefault(closure, now)
        self.per_worker.difference_update(m.drop_per_worker)

    def waits(self, m: Any) -> None:
        """Records the waits that are reported in a WorkerMessage."""
        for closure, begins in zip(m.wait_closure, m.waits):
            if begins and closure in self.attempts:
                self.waiting.add(closure)
            else:
                self.waiting.discard(closure)

    def waits_since(self, before: set[int]) -> Any:
        """Returns a WorkerMessage with the waits that have started or ended since `before`."""
        changed = [(c, self.attempts[c], c in self.waiting) for c in self.attempts
                   if (c in self.waiting) != (c in before)]
        return WorkerMessage(wait_closure=[c for c, _, _ in changed],
                             wait_attempt=[a for _, a, _ in changed],
                             waits=[w for _, _, w in changed])

    def wanted(self, m: Any) -> bool:
        """Returns whether this worker still has all closures that a WorkerMessage answers.

        Closures that were dropped when a stream broke do not count, because the worker may have received them again as
        other attempts.
        """
        attempts = self.attempts
        for closure, attempt in zip(m.closure, m.attempt):
            if attempts.get(closure) != attempt:
                return False
        return all(attempts.get(closure) == attempt
                   for closure, attempt in zip(m.returned_closure, m.returned_attempt))

    def only_wanted(self, m: Any) -> Any:
        """Returns a copy of the message without the answers to closures that this worker no longer has."""
        failures = {f.position: f for f in m.failure}
        kept = type(m)()
        kept.CopyFrom(m)
        for column in ("closure", "attempt", "value", "encoding", "failure", "execution_us",
                       "returned_closure", "returned_attempt"):
            kept.ClearField(column)
        for i, (closure, attempt) in enumerate(zip(m.closure, m.attempt)):
            if self.attempts.get(closure) == attempt:
                if i in failures:
                    kept.failure.add().CopyFrom(failures[i])
                    kept.failure[-1].position = len(kept.closure)
                kept.closure.append(closure)
                kept.attempt.append(attempt)
                kept.value.append(m.value[i])
                kept.execution_us.append(m.execution_us[i])
                kept.encoding.append(m.encoding[i] if m.encoding else JSON)
        for closure, attempt in zip(m.returned_closure, m.returned_attempt):
            if self.attempts.get(closure) == attempt:
                kept.returned_closure.append(closure)
                kept.returned_attempt.append(attempt)
        return kept

    def answered(self, m: Any, data: bytes) -> None:
        """Records a WorkerMessage that is sent to the server. `data` is the serialized message."""
        self.untaken.add(len(m.closure), data)
        failed = {f.position for f in m.failure} if self._builds else ()
        for i, closure in enumerate(m.closure):
            self._forget(closure)
            if self._builds and closure in self._builds:
                handle = self._builds.pop(closure)
                if i not in failed:
                    self.per_worker.add(handle)
        for closure in m.returned_closure:
            self._forget(closure)

    def _forget(self, closure: int) -> None:
        self.attempts.pop(closure, None)
        if self.waiting:
            self.waiting.discard(closure)
        if self._stops:
            self._stops.pop(closure, None)

    def suspect(self) -> tuple[int, int] | None:
        """Returns the closure that was executing when the process died, and the closure's attempt. This is the oldest
        closure that was not waiting. The server applies the same rule.
        """
        return next(((closure, attempt) for closure, attempt in self.attempts.items()
                     if closure not in self.waiting), None)

    def never_begun(self, m: Any) -> None:
        """Removes closures of a ServerMessage that was not sent to the child before the stream broke."""
        for closure in m.closure:
            self._builds.pop(closure, None)
            self._forget(closure)

    def keep(self, m: Any, offered: bool) -> None:
        """Stores the answers in a message while there is no stream. All other messages are dropped.

        `offered` is true if a hello has already listed the received closures. The answers are then sent after the
        server's welcome instead of in a later hello.
        """
        if self.untaken.acknowledged and not offered:
            wanted = self.only_wanted(m)
            answers = WorkerMessage(
                closure=wanted.closure, attempt=wanted.attempt, value=wanted.value,
                encoding=wanted.encoding, failure=wanted.failure,
                execution_us=wanted.execution_us)
            self.answered(wanted, answers.SerializeToString())
            return
        failures = {f.position: f for f in m.failure}
        for i, closure in enumerate(m.closure):
            if self.attempts.get(closure) != m.attempt[i]:
                continue
            one = WorkerMessage(closure=[closure], attempt=[m.attempt[i]], value=[m.value[i]],
                                execution_us=[m.execution_us[i]],
                                encoding=[m.encoding[i] if m.encoding else JSON])
            if i in failures:
                one.failure.add().CopyFrom(failures[i])
                one.failure[0].position = 0
            self._kept[closure] = one
        for closure, attempt in zip(m.returned_closure, m.returned_attempt):
            if self.attempts.get(closure) != attempt:
                continue
            if offered:  # the server may still expect an answer from this worker
                self._kept[closure] = WorkerMessage(returned_closure=[closure], returned_attempt=[attempt])
            else:
                self._forget(closure)

    def void(self, wanted: set[int]) -> tuple[list[Any], list[tuple[int, int]]]:
        """Keeps only the `wanted` closures, which the server still expects from this worker.

        Returns the stored messages with answers and returned closures, and the closures to stop, with their attempts.
        """
        answers = [one for closure, one in self._kept.items() if closure in wanted]
        stop = [(closure, attempt) for closure, attempt in self.attempts.items()
                if closure not in wanted and closure not in self._kept]
        for closure, _ in stop:
            self._forget(closure)
        for closure in list(self._kept):
            self._forget(closure)
        self._kept.clear()
        return answers, stop

    def overdue(self, grace: float) -> int | None:
        """Returns a closure that was asked to stop more than `grace` seconds ago, or None."""
        if not self._stops:
            return None
        before = time.monotonic() - grace
        return next((closure for closure, at in self._stops.items() if at < before), None)
