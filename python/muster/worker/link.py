"""Executes the closures of an attachment in a child process, or on threads of the worker's own process."""
from __future__ import annotations

import pickle
import threading
import time
from typing import Any, Callable, Protocol, Sequence

from muster._pickled.buffers import Data
from muster.worker import output, stacks
from muster.worker.blobs import Ask, answer, question
from muster.worker.children import Child, Children
from muster.worker.functions import FunctionTable
from muster.worker.home import Home
from muster.worker.runner import WORTH_REPORTING, Runner


class StartError(Exception):
    """Raised if a link cannot be started, and a retry would also fail."""


class Link(Protocol):
    names: list[str]
    """Function names, in the order of the functions' numbers."""
    pid: int

    def deliver(self, raw: bytes, message: Any, args: Sequence[Data]) -> None:
        """Delivers a ServerMessage. `raw` is the serialized message, and `message` is the parsed message without
        arguments. Raises OSError if the other side has exited.
        """

    def kill(self) -> bool:
        """Kills the process. Returns False if the link has no process of its own."""

    def close(self) -> None:
        """Closes the link in an orderly way once all closures are answered."""


class ProcessLink:
    """Link to one child process. A thread of the link calls `on_message` with each WorkerMessage of the child, and
    finally `on_gone` with a description of how the child exited.
    """

    def __init__(self, children: Children, start: dict[str, Any],
                 on_message: Callable[[bytes], None], on_gone: Callable[[ProcessLink, str], None],
                 ask: Ask, left: Callable[[int], None]) -> None:
        """`left` is called when the process has exited, and must drop the values that the process owned."""
        self._child: Child = children.start()
        self._on_message = on_message
        self._on_gone = on_gone
        self._ask = ask
        self._left = left
        self.pid = self._child.pid
        self._stacks = stacks.Answering(lambda: stacks.take(self.pid, start["stack_signal"]), self.pid, on_message)
        self._child.frames.send(pickle.dumps(start))
        answer = self._child.frames.receive()
        if answer is None:
            raise StartError(f"its process {self._child.how(2.0)} while it was starting")
        said: dict[str, Any] = pickle.loads(answer)
        if "error" in said:
            raise StartError(said["error"])
        self.names: list[str] = said["names"]
        threading.Thread(target=self._read, name="muster-child", daemon=True).start()

    def _read(self) -> None:
        while True:
            data = self._child.frames.receive()
            if data is None:  # the child has exited; see Child
                break
            asked = question(data)
            if asked:
                threading.Thread(target=self._answer, args=asked, daemon=True).start()
            else:
                self._on_message(data)
        self._left(self.pid)
        how = self._child.how(2.0)
        self._child.kill()  # the child may still be alive, because a function can have closed its socket
        self._on_gone(self, how)

    def _answer(self, what: str, digest: bytes, beside: bytes) -> None:
        """Answers a request on a separate thread, so that messages of the child are not delayed."""
        error: Exception | None = None
        try:
            self._ask(what, digest, beside)
        except Exception as found:
            error = found
        try:
            self._child.frames.send(answer(digest, error))
        except OSError:
            pass  # the child has exited

    def deliver(self, raw: bytes, message: Any, args: Sequence[Data]) -> None:
        if message.read_stack:  # the message has no other content, and the child may not be reading
            return self._stacks.take(message.read_stack)
        self._child.frames.send(raw)

    def kill(self) -> bool:
        self._child.kill()
        return True

    def close(self) -> None:
        self._child.kill()
        self._child.frames.socket.close()


class ThreadLink:
    """Executes closures on threads of this process."""

    def __init__(self, table: FunctionTable, threads: int, pid: int,
                 on_message: Callable[[bytes], None], nested_max: int, home: Home) -> None:
        self.names = table.names
        self.pid = pid
        self._runner = Runner(table, on_message, nested_max, home)
        self._stacks = stacks.Answering(lambda: (stacks.TAKEN, stacks.own(), ""), pid, on_message)
        self._busy = threading.Event()
        self._closed = False
        for i in range(threads):
            threading.Thread(target=self._runner.work, name=f"muster-{i}", daemon=True).start()
        threading.Thread(target=self._tick, name="muster-tick", daemon=True).start()

    def _tick(self) -> None:
        while not self._closed:
            self._busy.wait()  # no deadline: set by closures and by close
            time.sleep(WORTH_REPORTING)
            self._busy.clear()
            if self._runner.busy():  # checked after the clear, so that a new closure is not missed
                self._busy.set()
            output.report_standing()
            self._runner.tick()

    def deliver(self, raw: bytes, message: Any, args: Sequence[Data]) -> None:
        if message.read_stack:
            return self._stacks.take(message.read_stack)
        self._runner.take(message, args)
        if self._runner.busy() and not self._busy.is_set():
            self._busy.set()

    def kill(self) -> bool:
        return False

    def close(self) -> None:
        self._closed = True
        self._runner.finish()
        self._busy.set()
