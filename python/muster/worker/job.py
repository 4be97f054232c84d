"""A closure in the process that executes it."""
from __future__ import annotations

import threading

from muster._pickled.buffers import Data
from muster.worker.functions import NOTHING


class Job:
    """A closure that this process has received."""

    __slots__ = ("closure", "attempt", "function", "args", "encoding", "beside", "builds", "stop",
                 "began", "reported", "waits", "told", "num_workers", "thread")

    def __init__(self, closure: int, attempt: int, function: int, args: Data,
                 encoding: int) -> None:
        self.closure = closure
        self.attempt = attempt
        self.function = function
        self.args = args
        self.encoding = encoding
        self.beside = NOTHING
        self.builds = 0
        self.num_workers = 0
        self.stop = threading.Event()
        self.began = 0.0
        self.reported = False
        self.waits = 0
        self.told = False
        self.thread = 0
        """Additional thread that executes the function, or 0 for the runner's own threads."""
