"""The event loop of an object whose methods are coroutines. Never imports grpc."""
from __future__ import annotations

import asyncio
import threading
from typing import Any, Coroutine, Optional

from muster.objects import handle
from muster.objects.calls import Calls


class Loop:
    """An event loop on a thread of its own, which is started by the first coroutine. Tasks that a method starts continue
    between calls. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the following
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._stopped = False

    def run(self, coroutine: Coroutine[Any, Any, Any], calls: Calls) -> Any:
        """Returns the result of a coroutine, or raises its error. Handles in the coroutine call by `calls`.

        Raises:
            RuntimeError: the object was deleted.
        """
        with self._lock:
            if self._stopped:
                coroutine.close()
                raise RuntimeError("the object was deleted")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=(self._loop, calls), daemon=True,
                                 name="muster-object-loop").start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()  # no deadline: it is a call of the user

    def stop(self) -> None:
        """Cancels what runs."""
        with self._lock:
            self._stopped = True
            if self._loop is not None:
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
        asyncio.get_running_loop().stop()

    def _serve(self, loop: asyncio.AbstractEventLoop, calls: Calls) -> None:
        handle.here.calls = calls
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
