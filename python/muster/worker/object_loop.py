"""The event loop of an object whose methods are coroutines. Never imports grpc."""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import Any, Coroutine

from muster.objects import handle
from muster.objects.calls import Calls


class Loop:
    """An event loop on a separate thread, which starts with the first coroutine. Tasks that a method starts keep
    running between calls. Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all below
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False
        self._ended = False
        """Whether the loop has stopped. Used only on the loop's thread."""
        self._futures: set[concurrent.futures.Future[Any]] = set()
        """Futures of unfinished coroutines."""

    def run(self, coroutine: Coroutine[Any, Any, Any], calls: Calls) -> Any:
        """Runs a coroutine, and returns its result or raises its exception. Handles in the coroutine make their calls
        through `calls`.

        Raises:
            RuntimeError: The object was deleted.
        """
        with self._lock:
            if self._stopped:
                coroutine.close()
                raise RuntimeError("the object was deleted")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=(self._loop, calls), daemon=True,
                                 name="muster-object-loop").start()
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return future.result()  # no deadline: the user's method decides when it returns

    def stop(self) -> None:
        """Cancels all running coroutines."""
        with self._lock:
            first, self._stopped = not self._stopped, True
            if first and self._loop is not None:
                self._loop.call_soon_threadsafe(self._cancel_all)

    def _cancel_all(self) -> None:
        assert self._loop is not None
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.create_task(self._end(tasks))

    async def _end(self, tasks: set[asyncio.Task[Any]]) -> None:
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        self._ended = True
        asyncio.get_running_loop().stop()

    def _serve(self, loop: asyncio.AbstractEventLoop, calls: Calls) -> None:
        handle.here.calls = calls
        asyncio.set_event_loop(loop)
        try:
            while not self._ended:
                with contextlib.suppress(SystemExit, KeyboardInterrupt):  # raised in the caller of the method
                    loop.run_forever()
        finally:
            for future in list(self._futures):
                future.cancel()
            loop.close()
