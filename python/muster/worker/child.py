"""The process that executes the closures of an attachment. Never imports grpc.

Closures run on the main thread, and on additional threads while other closures wait. A separate thread reads from the
worker, reports started closures, and interrupts closures that do not stop. The child exits when its worker exits.
"""
from __future__ import annotations

import importlib
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
import traceback
from typing import Any

from muster import _forks
from muster._wire import columns
from muster._wire.messages import ServerMessage
from muster.errors import Cancelled
from muster.worker import context, functions, output, stacks, uploads
from muster.worker.blobs import ANSWER, Asking, Blobs
from muster.worker.descriptors import Ends
from muster.worker.frames import Frames
from muster.worker.runner import WORTH_REPORTING, Runner
from muster.worker.waits import WORTH_TELLING

INTERRUPT_AFTER = 1.0
"""Seconds between a stop request and raising Cancelled in the function."""
INTERRUPT = signal.SIGINT


def main(over: socket.socket, ends: Ends, worker: int) -> None:
    """Runs the child. The first frame lists the functions to serve, and the answer contains the names of these
    functions or an error. `worker` is the worker's pidfd, or -1 if there is none.
    """
    _forks.handle_signal(signal.SIGTERM, _forks.do_nothing)  # the worker decides when the child exits
    signal.siginterrupt(signal.SIGTERM, False)
    _forks.handle_signal(INTERRUPT, _on_interrupt)
    frames = Frames(over)
    first = frames.receive()
    if first is None:
        return
    start: dict[str, Any] = pickle.loads(first)
    stacks.register(start["stack_signal"])
    os.environ.update(start["environment"])
    uploads.use_folder(start["uploads"])
    sys.path[:0] = [p for p in start["path"] if p not in sys.path]
    try:
        table = _table(start)
    except BaseException as error:
        frames.send(pickle.dumps({"error": f"{type(error).__name__}: {error}{_where(error)}"}))
        return
    frames.send(pickle.dumps({"names": table.names}))
    asking = Asking(frames.send)
    table.use_blobs(Blobs(start["blobs"], asking.ask, start["shared"], start["free_bytes_max"]))
    runner = Runner(table, frames.send, start["nested_max"], start["home"])
    runner.serve_objects()
    output.capture(ends)
    threading.Thread(target=_read, args=(frames, runner, asking, worker), name="muster-read", daemon=True).start()
    while True:
        try:
            return runner.work()
        except Cancelled:
            continue  # the exception was raised after the function had returned
        except OSError:
            return


def _table(start: dict[str, Any]) -> functions.FunctionTable:
    for module in start["modules"]:
        importlib.import_module(module)
    for name, f in pickle.loads(start["functions"]).items():
        functions.register(name, f)
    return functions.FunctionTable(functions.registered(), start["pickled"])


def _where(error: BaseException) -> str:
    """Returns the file and line of an imported module that raised `error`. Returns an empty string for a SyntaxError,
    whose message already contains the location.
    """
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if f.filename not in (__file__, importlib.__file__) and not f.filename.startswith("<frozen importlib")]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def _on_interrupt(number: int, frame: Any) -> None:
    """Handles INTERRUPT on the main thread. Ctrl-C in a terminal sends the same signal, but this handler ignores it."""
    running = context.current()
    if running is not None and running.cancelled():
        raise Cancelled(f"closure {running.closure} was asked to stop")


def _read(frames: Frames, runner: Runner, asking: Asking, worker: int) -> None:
    poll = select.poll()
    poll.register(frames.socket, select.POLLIN)
    if worker >= 0:
        poll.register(worker, select.POLLIN)
        _forks.close_descriptor_in_forks(worker)
    main_thread = threading.main_thread().ident or 0
    asked: dict[int, float] = {}
    much = False
    wait = output.idle_wait(frames.socket.fileno(), worker)
    while True:
        try:
            patience = (WORTH_TELLING if runner.untold else WORTH_REPORTING) * 1000
            ready = poll.poll(1 if much else patience) if runner.busy() else wait()
            if any(descriptor == worker for descriptor, _ in ready):  # also POLLHUP after the worker was reaped
                os._exit(0)
            if not ready:
                much = output.drain()
                output.report_standing()
                runner.tick()
                _interrupt(runner, asked, main_thread)
                continue
            data = frames.receive()
            if data is None:
                os._exit(0)
            if data[:len(ANSWER)] == ANSWER:
                asking.answered(data)
                continue
            runner.take(*columns.parse(ServerMessage, data, "args"))
            if runner.untold:
                runner.tick()  # also during a constant stream of messages
        except OSError:
            os._exit(0)


def _interrupt(runner: Runner, asked: dict[int, float], main_thread: int) -> None:
    now, stopping = time.monotonic(), runner.stopping()
    for job in stopping:
        due = asked.setdefault(job.closure, now + INTERRUPT_AFTER)
        if now >= due:
            asked[job.closure] = now + INTERRUPT_AFTER
            if not runner.interrupt(job):
                signal.pthread_kill(main_thread, INTERRUPT)
    for closure in set(asked) - {job.closure for job in stopping}:
        del asked[closure]
