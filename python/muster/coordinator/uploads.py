"""What a session has uploaded."""
from __future__ import annotations

import threading
from typing import Callable

from muster._pickled.uploads import Upload
from muster.coordinator.remote_value import PerWorkerValues


class Uploads:
    """By digest, the per-worker value that brings an upload to each worker, once. Any thread."""

    def __init__(self, build: Callable[[Upload], PerWorkerValues]) -> None:
        self._build = build
        self._lock = threading.Lock()  # protects _values; held while the server is asked
        self._values: dict[str, PerWorkerValues] = {}

    def value(self, upload: Upload) -> PerWorkerValues:
        with self._lock:
            found = self._values.get(upload.digest)
            if found is None:
                found = self._values[upload.digest] = self._build(upload)
            return found
