"""A worker process, which executes the calls that clients schedule."""
from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Sequence

from muster import _forks
from muster._pickled import picklers
from muster._shared import memory
from muster.worker import functions, machine
from muster.worker.attachment import Attachment, Group
from muster.worker.blob_cache import BlobCache
from muster.worker.blobs import Blobs, asking_beside
from muster.worker.children import Children
from muster.worker.folder import Folder
from muster.worker.gpus import visible as visible_gpus
from muster.worker.home import Home
from muster.worker.link import Link, ProcessLink, ThreadLink
from muster.worker.options import WorkerOptions
from muster.worker.output import capture

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from muster.worker.options import WorkerWords

BEAT_EVERY = 0.1
"""Seconds between two checks of heartbeats and limits."""


class Worker:
    """Connects to a server and executes calls until it is stopped.

    A worker provides the functions that ``@muster.function`` has registered in `modules` and the functions added with
    `function`. Unless ``pickled=False``, the worker also executes any callable that a client with the same Python
    version schedules. Anyone who can reach the server can then run code on this machine.

    Args:
        servers: gRPC addresses ``"host:port"``, as a list or separated by commas.
        processes: Number of child processes, each of which is a task with a single slot. A function that crashes
            terminates only its own process, and the replacement process has the same index.
            ``muster.context().num_workers`` is at least this number from the first task on. None means 1, unless
            `threads` is given.
        threads: Number of slots of a single task in this process. Set either `threads` or `processes`.
        modules: Modules to import for their functions. With `processes`, the child processes import the modules.
        pickled: Whether to execute pickled callables.
        gpus: GPUs to divide among the child processes, as values for CUDA_VISIBLE_DEVICES. Each child process offers
            the number of its GPUs as the resource ``gpu``, which calls can request. None means the GPUs in this
            process's CUDA_VISIBLE_DEVICES. If this variable is not set, None means all GPUs that are found.
        **options: Options of `muster.WorkerOptions`.

    Raises:
        ValueError: An option is invalid.

    Example:
        ```python
        worker = muster.Worker("127.0.0.1:8476", processes=4)
        worker.function("mean", lambda numbers: sum(numbers) / len(numbers))
        worker.run()
        ```
    """

    def __init__(self, servers: str | Sequence[str] = "127.0.0.1:8476", *,
                 processes: int | None = None, threads: int | None = None,
                 modules: Sequence[str] = (), pickled: bool = True,
                 gpus: Sequence[int | str] | None = None,
                 **options: Unpack[WorkerWords]) -> None:
        if processes is not None and threads is not None:
            raise ValueError("processes, threads: pass only one of the two")
        self._processes = 0 if threads is not None else processes if processes else 1
        if self._processes < 0 or (threads is not None and threads < 1) or processes == 0:
            raise ValueError("processes, threads: must be at least 1")
        if isinstance(servers, str):
            servers = [s for s in servers.split(",") if s]
        self._options = WorkerOptions(list(servers), slots=threads or 1, **options)
        self._modules = list(modules)
        self._pickled = pickled
        self._gpus = visible_gpus() if gpus is None else [str(g) for g in gpus]
        self._uploads = ""  # folder of the uploads; set while the worker runs
        self._blobs: BlobCache | None = None  # set while the worker runs
        self._functions: dict[str, Callable[..., Any]] = {}
        self._children = Children()
        self._attachments: list[Attachment] = []
        self._stops = 0
        self._is_forked = False  # whether this process was forked from the process that runs the worker
        self._stop = threading.Event()

    def function(self, name: str, f: Callable[..., Any]) -> None:
        """Adds a function with JSON arguments; see `muster.function`. Must be called before `run`.

        Args:
            name: Name of the function.
            f: The function.

        Raises:
            ValueError: The name is already registered.
            RuntimeError: This process was forked from the running worker.
        """
        self._check_process()
        if name in self._functions:
            raise ValueError(f"a function named {name!r} already exists")
        self._functions[name] = f

    def run(self) -> int:
        """Executes calls until `stop` is called, the server drains the worker, or the server rejects it permanently.

        Returns:
            0 after an orderly shutdown, otherwise 1. The logger ``muster.worker`` reports the reason.

        Raises:
            RuntimeError: This process was forked from the running worker.
        """
        self._check_process()
        _forks.notify_in_forks(self)
        folder = Folder()
        self._uploads = folder.path
        blobs = os.path.join(self._uploads, "blobs")
        os.mkdir(blobs)
        o = self._options
        self._blobs = BlobCache(blobs, o.blob_bytes_max, o.servers, o.tls,
                                o.token, memory.bytes_max(o.shm_bytes_max), memory.is_reused(),
                                (o.transfer_listen, o.transfer_advertise))
        make = self._thread_link() if not self._processes else self._process_link
        group = Group(self._processes) if self._processes else None
        self._attachments = [Attachment(i, self._options_of(i), make, self._blobs.use_server, group)
                             for i in range(self._processes or 1)]
        runs = [threading.Thread(target=a.run, name=f"muster-attach-{i}", daemon=True)
                for i, a in enumerate(self._attachments)]
        watch = machine.Watch()
        try:
            for thread in runs:
                thread.start()
            told = 0
            while any(thread.is_alive() for thread in runs):
                self._stop.wait(BEAT_EVERY)
                if self._stops > told:
                    told = self._stops
                    self._stop.clear()
                    for a in self._attachments:
                        a.leave(at_once=told > 1)
                now = time.monotonic()
                self._blobs.tick(now)
                seen = watch.take()
                for a in self._attachments:
                    a.beat(now, seen)
            if self._stops < 2:
                self._blobs.leave()
        finally:
            watch.close()
            self._children.close()
            self._blobs.close()
            folder.remove()
        return 1 if any(a.final for a in self._attachments) else 0

    def forked(self) -> None:
        """Marks this object as a copy in a forked process. Muster calls this method after a fork."""
        self._is_forked = True

    def _check_process(self) -> None:
        if self._is_forked:
            raise _forks.of_parent("worker")

    def stop(self) -> None:
        """Asks `run` to finish the current calls and return. A second call of `stop` aborts the current calls.

        Can be called on any thread and in signal handlers.

        Raises:
            RuntimeError: This process was forked from the running worker.
        """
        self._check_process()
        self._stops += 1
        self._stop.set()

    def stop_on_signals(self) -> None:
        """Makes SIGTERM and SIGINT call `stop`. Must be called on the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            _forks.handle_signal(number, lambda *_: self.stop())

    def _options_of(self, i: int) -> WorkerOptions:
        gpus = self._gpus_of(i)
        if not gpus or "gpu" in self._options.resources:
            return self._options
        return dataclasses.replace(self._options,
                                   resources={**self._options.resources, "gpu": len(gpus)})

    def _gpus_of(self, i: int) -> list[str]:
        """Returns the GPUs for the process of attachment `i`."""
        return self._gpus if not self._processes else self._gpus[i::self._processes]

    def _home(self) -> Home:
        o = self._options
        ca, cert, key = (path and os.path.abspath(path) for path in (o.ca, o.cert, o.key))  # functions may chdir
        return Home(tuple(o.servers), o.cluster, o.token, ca, cert, key)

    def _free_bytes_max(self) -> int:
        """Returns the maximum size of unused memory that each process may keep. In total, the processes may keep a
        quarter of the shared memory limit.
        """
        assert self._blobs
        return self._blobs.free_bytes_max // max(1, self._processes)

    def _process_link(self, attachment: Attachment, on_message: Callable[[bytes], None]) -> Link:
        number = self._attachments.index(attachment)
        assert self._blobs
        environment = {}
        if self._gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self._gpus_of(number))
        start = {"modules": self._modules, "functions": picklers.dumps(self._functions),
                 "pickled": self._pickled, "nested_max": self._options.nested_max,
                 "stack_signal": self._options.stack_signal,
                 "environment": environment, "uploads": self._uploads, "blobs": self._blobs.folder,
                 "home": self._home(), "shared": self._blobs.shm_bytes_max > 0, "free_bytes_max": self._free_bytes_max(),
                 "path": [os.path.abspath(p) for p in sys.path if os.path.isdir(p or ".")]}
        return ProcessLink(self._children, start, on_message, attachment.child_gone,
                           self._blobs.ask, self._blobs.left)

    def _thread_link(self) -> Callable[[Attachment, Callable[[bytes], None]], Link]:
        import importlib

        for module in self._modules:
            importlib.import_module(module)
        served = {**functions.registered(), **self._functions}
        table = functions.FunctionTable(served, self._pickled)
        assert self._blobs
        table.use_blobs(Blobs(self._blobs.folder, asking_beside(self._blobs.ask), self._blobs.shm_bytes_max > 0,
                              self._free_bytes_max()))
        capture()

        def make(attachment: Attachment, on_message: Callable[[bytes], None]) -> Link:
            return ThreadLink(table, self._options.slots, os.getpid(), on_message,
                              self._options.nested_max, self._home())

        return make
