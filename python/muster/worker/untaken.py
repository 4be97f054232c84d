"""Answers that were sent but not yet stored by the server. Used only if the server acknowledges answers."""
from __future__ import annotations

from collections import deque
from typing import Any

from muster._wire.messages import JSON, Answers, WorkerMessage

ANSWERS_MAX = 1024
BYTES_MAX = 16 << 20
"""Limits for unacknowledged answers. At these limits, closures are not started until answers are acknowledged. Answers
of the child may exceed the limits.
"""
AGAIN_MAX = 4096
AGAIN_BYTES_MAX = 48 << 20
"""Limits for the answers that a hello repeats. The closures of all other answers are executed again."""


class Untaken:
    """Sent messages with unacknowledged answers, oldest first. The caller must hold the attachment's lock."""

    def __init__(self) -> None:
        self.acknowledged = False
        """Whether the server that sent the last welcome acknowledges answers."""
        self._sent: deque[tuple[int, int, bytes]] = deque()  # last answer's number, answer count, message
        self._answers = 0
        self._bytes = 0
        self._last = 0  # number of the newest answer on this stream

    def __len__(self) -> int:
        return self._answers

    @property
    def full(self) -> bool:
        return self._answers >= ANSWERS_MAX or self._bytes >= BYTES_MAX

    def add(self, answers: int, data: bytes) -> None:
        """Records a message that is being sent or is waiting for the next stream. `answers` is the number of answers in
        the message.
        """
        self._last += answers
        if self.acknowledged and answers:
            self._sent.append((self._last, answers, data))
            self._answers += answers
            self._bytes += len(data)

    def taken(self, count: int) -> None:
        """Records that the server has stored the first `count` answers of the stream."""
        while self._sent and self._sent[0][0] <= count:
            _, answers, data = self._sent.popleft()
            self._answers -= answers
            self._bytes -= len(data)

    def clear(self) -> None:
        self._sent.clear()
        self._answers = self._bytes = 0

    def again(self) -> Any:
        """Returns the unacknowledged answers for the next hello, numbered from 1."""
        again, kept = Answers(), list(self._sent)
        self.clear()
        self._last = 0
        for _, answers, data in kept:
            if len(again.closure) + answers > AGAIN_MAX or self._bytes + len(data) > AGAIN_BYTES_MAX:
                break
            _append(again, WorkerMessage.FromString(data))
            self.add(answers, data)
        return again


def _append(to: Any, m: Any) -> None:
    for f in m.failure:
        to.failure.add().CopyFrom(f)
        to.failure[-1].position += len(to.closure)
    to.encoding.extend(m.encoding or [JSON] * len(m.closure))
    to.execution_us.extend(m.execution_us or [0] * len(m.closure))
    to.closure.extend(m.closure)
    to.attempt.extend(m.attempt)
    to.value.extend(m.value)
