"""The time limit of a scenario, and the exceptions for scenarios that fail or cannot run."""
import time


class Failure(Exception):
    """The message contains the expected and the observed result."""


class CannotRun(Exception):
    """The message names a requirement of the scenario that this machine lacks."""


class Deadline:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        """Returns the seconds left, at least a small number, so that the wait with this limit reports the time-out."""
        return max(0.01, self._end - time.monotonic())

    def passed(self):
        return time.monotonic() >= self._end


def check(condition, message):
    if not condition:
        raise Failure(message)
