"""The one time limit of a scenario, and how a scenario says that it failed or cannot run."""
import time


class Failure(Exception):
    """What was expected and what came instead."""


class CannotRun(Exception):
    """What the scenario needs and this machine lacks."""


class Deadline:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        """Seconds, at least a little: the wait that is given it reports the time-out."""
        return max(0.01, self._end - time.monotonic())

    def passed(self):
        return time.monotonic() >= self._end


def check(condition, message):
    if not condition:
        raise Failure(message)
