"""The uploads of a session."""
from __future__ import annotations

import threading
from typing import Callable, Sequence

from muster._pickled import calls
from muster._pickled.buffers import Data
from muster._pickled.uploads import Upload
from muster.coordinator.blobs import AnyContent, Blobs
from muster.coordinator.remote_value import PerWorkerValues
from muster.coordinator.requests import SERVER_WAIT
from muster.coordinator.work import Large


class Uploads:
    """Creates one per-worker value for each upload digest. The per-worker value installs the upload once on each
    worker. Methods can be called from any thread.
    """

    def __init__(self, build: Callable[[Upload], PerWorkerValues]) -> None:
        self._build = build
        self._lock = threading.Lock()  # protects _values; it is also held while waiting for the server
        self._values: dict[str, PerWorkerValues] = {}
        self._named: dict[bytes, AnyContent] = {}
        """Blobs of uploads for objects. The blobs are needed when the object's task connects."""

    def value(self, upload: Upload) -> PerWorkerValues:
        with self._lock:
            found = self._values.get(upload.digest)
            if found is None:
                found = self._values[upload.digest] = self._build(upload)
            return found

    def along(self, uploads: Sequence[Upload], function: bytes, arguments: bytes,
              blobs: Blobs | None) -> list[Data]:
        """Returns the arguments of `work.make_with_uploads`. With `blobs`, large uploads are sent once and stored on
        the server until the session ends. If `blobs` is None, the uploads are part of the arguments.
        """
        naming = blobs.naming() if blobs is not None and blobs.limit(SERVER_WAIT) else None
        install = [(u.digest, Large(u.data)) for u in uploads]
        data, _ = calls.dump_arguments((install, function, arguments), {}, None if naming is None else naming.take)
        if naming is not None:
            with self._lock:
                self._named.update((content.digest, content) for content in naming.contents)
        return data
