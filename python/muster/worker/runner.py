"""Executes closures: receives messages from the server and sends messages to it.

A runner is used either in a child process, whose main thread executes closures, or in the worker's own process with
several threads. The reading thread calls `take` and `tick`; each executing thread calls `work`. The runner calls `send`
with serialized WorkerMessages on any of these threads, but never concurrently.
"""
from __future__ import annotations

import collections
import ctypes
import dataclasses
import threading
import time
from typing import Any, Callable, Sequence

from muster import _forks
from muster._pickled.buffers import Data
from muster._wire import columns
from muster._wire.messages import BYTES, JSON, WorkerMessage
from muster.errors import Cancelled, DependencyLost, FailureKind, UnavailableError
from muster.objects import handle
from muster.worker import context as contexts, output, uploads
from muster.worker.failures import is_a, message_of, packed, tasks_of, traceback_of, type_name_of
from muster.worker.functions import Beside, FunctionTable, Kept, Output, Refused
from muster.worker.home import Home, set_process_home
from muster.worker.job import Job
from muster.worker.objects import Objects
from muster.worker.reports import Reports
from muster.worker.waits import Waits

RESULT_BYTES_MAX = 32 << 20
TEXT_MAX = 64 << 10
WORTH_REPORTING = 0.02
"""Seconds of execution after which the start of a closure is reported to the server."""
ANSWERS_WAIT = 0.001
"""Maximum seconds that an answer waits to be sent together with other answers."""


class Runner:
    """Executes closures; see the module docstring. `work` returns after `finish` has been called."""

    def __init__(self, table: FunctionTable, send: Callable[[bytes], None],
                 nested_max: int = 0, home: Home | None = None) -> None:
        self._table = table
        self.home = home
        self._send = send
        self._objects = Objects(table, send)
        self._reports = Reports()
        self._kept = Kept()
        self._identity: tuple[str, int, str] = ("", 0, "")
        self._workers = 0
        self._out_lock = threading.Lock()  # protects _out and _answers_since; held while sending
        self._out: Any = WorkerMessage()
        self._answers_since = 0.0
        self._changed = threading.Condition()  # protects all below
        self._queue: collections.deque[Job] = collections.deque()
        # Jobs by closure and attempt. Executing threads remove answered closures without the lock,
        # so the dictionary is copied before iteration.
        self._held: dict[tuple[int, int], Job] = {}
        self._finishing = False
        self._interrupting = threading.Lock()  # held while an additional thread is interrupted
        self._generation = _forks.generation
        self._waits = Waits(nested_max, self._changed, self._work_beside)

    # The reading thread.

    def take(self, message: Any, args: Sequence[Data]) -> None:
        """Handles a ServerMessage and its arguments."""
        if message.HasField("welcome"):
            w = message.welcome
            self._identity = (w.job, w.index, w.server_version)
            self._waits.granted = w.nested_max
            if self.home is not None:
                self.home = dataclasses.replace(self.home, incarnation=w.server_incarnation)
                set_process_home(self.home)
        if message.HasField("objects"):
            self._objects.take(message.objects)
        if message.HasField("object_answers"):
            self._objects.calls.take(message.object_answers)
        if message.workers:
            self._workers = message.workers
        if message.closure:
            self._take_closures(message, args)
        for closure, attempt in zip(message.stop_closure, message.stop_attempt):
            self._stop(closure, attempt)
        if message.recall_closure:
            self._give_back(message)
        for value in message.drop_per_worker:
            self._kept.drop(value)

    def _take_closures(self, m: Any, args: Sequence[Data]) -> None:
        jobs = list(map(Job, m.closure, m.attempt, m.function, args,
                        m.encoding or [JSON] * len(m.closure)))
        for per_worker in m.per_worker:
            job = jobs[per_worker.position]
            job.builds = per_worker.builds
            if job.encoding == BYTES and per_worker.uses:
                job.beside = Beside(uses=per_worker.uses)
        for job, declared in zip(jobs, m.num_workers):
            job.num_workers = declared
        for inputs in m.inputs:
            job = jobs[inputs.position]
            job.beside = job.beside._replace(inputs=list(zip(inputs.value, inputs.form)))
        with self._changed:
            for job in jobs:
                self._held[job.closure, job.attempt] = job
            self._queue.extend(jobs)
            self._changed.notify(len(jobs) + self._waits.threads)  # some of the woken threads may not take a closure

    def _stop(self, closure: int, attempt: int) -> None:
        with self._changed:
            job = self._held.get((closure, attempt))
            if job is None:
                return
            job.stop.set()
            if not self._forget_queued(job):
                return
        self._answer_failure(job, FailureKind.CANCELLED, "", "cancelled before it started", "", 0)
        self.flush()

    def _give_back(self, m: Any) -> None:
        with self._changed:
            back = [job for closure, attempt in zip(m.recall_closure, m.recall_attempt)
                    if (job := self._held.get((closure, attempt))) and self._forget_queued(job)]
        if back:
            with self._out_lock:
                self._out.returned_closure.extend(job.closure for job in back)
                self._out.returned_attempt.extend(job.attempt for job in back)
            self.flush()

    def _forget_queued(self, job: Job) -> bool:
        """Removes a closure from the queue. Returns False if the closure has started. REQUIRES: _changed is held."""
        try:
            self._queue.remove(job)
        except ValueError:
            return False
        del self._held[job.closure, job.attempt]
        return True

    def busy(self) -> bool:
        return bool(self._held)

    @property
    def untold(self) -> bool:
        """True if the start or the end of a wait may still have to be reported to the server."""
        return self._waits.untold

    def stopping(self) -> list[Job]:
        """Returns the closures that are still running after a stop request."""
        with self._changed:
            return [job for job in list(self._held.values()) if job.began and job.stop.is_set()]

    def interrupt(self, job: Job) -> bool:
        """Raises Cancelled in the function as soon as the function executes Python code. Returns False if no additional
        thread runs the closure.
        """
        with self._interrupting:  # a thread whose function has returned waits for this lock
            thread = job.thread
            if thread:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread),
                                                           ctypes.py_object(Cancelled))
            return thread != 0

    def _out_of_reach(self) -> None:
        """Called by an additional thread after its function has returned. A pending Cancelled is raised in this method;
        afterwards, Cancelled is no longer raised.
        """
        with self._interrupting:
            pass  # waits for an interrupt() in progress
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

    def tick(self) -> None:
        """Reports started closures and sends pending reports. Called about every 20 ms while closures are running."""
        now = time.monotonic()
        if self._waits.untold:
            self._tell_waits(now)
        with self._changed:
            begun = [job for job in list(self._held.values())
                     if job.began and not job.reported and now - job.began >= WORTH_REPORTING]
        with self._out_lock:
            for job in begun:
                self._report(job, now)
            self._reports.drain(self._out, now, False)
        self.flush()

    def _tell_waits(self, now: float) -> None:
        with self._changed, self._out_lock:  # in this order
            for job in self._waits.tell(now):
                if not job.reported:
                    self._report(job, now)
                self._say_wait(job)

    def _report(self, job: Job, now: float) -> None:
        """Adds to the next message that a closure has started. REQUIRES: _out_lock is held."""
        job.reported = True
        self._out.started_closure.append(job.closure)
        self._out.started_attempt.append(job.attempt)
        self._out.started_for_us.append(int((now - job.began) * 1e6))

    def _say_wait(self, job: Job) -> None:
        """Adds to the next message whether a closure is waiting. REQUIRES: _out_lock is held."""
        self._out.wait_closure.append(job.closure)
        self._out.wait_attempt.append(job.attempt)
        self._out.waits.append(job.told)

    def serve_objects(self) -> None:
        """Allows all threads of this process, including threads that functions start, to call objects. Must be used
        only in a process with a single worker.
        """
        handle.serve(self._objects.calls)

    def finish(self) -> None:
        """Makes each executing thread return after its current closure."""
        with self._changed:
            self._finishing = True
            self._queue.clear()
            self._changed.notify_all()

    # Executing threads.

    def work(self) -> None:
        while True:
            job = self._next()
            if job is None:
                return
            self._run(job)

    def _next(self) -> Job | None:
        try:
            with self._changed:
                if self._waits.over > 0:
                    raise IndexError
                job = self._queue.popleft()
        except IndexError:
            self.flush()
            with self._changed:
                while not self._queue or self._waits.keeps_back():
                    if self._finishing:
                        return None
                    with self._waits.standing_back():
                        self._changed.wait()  # no deadline: woken by closures and finish()
                job = self._queue.popleft()
        job.began = time.monotonic()
        return job

    def _work_beside(self) -> None:
        """Runs an additional thread, which executes closures in the slots of waiting closures."""
        while True:
            with self._changed:
                while not self._queue or self._waits.over >= 0:
                    if self._finishing:
                        return
                    self._changed.wait()  # no deadline: woken by closures and finish()
                job = self._queue.popleft()
                self._waits.over += 1
            job.began = time.monotonic()
            try:
                self._run(job, threading.get_ident())
                self.flush()
            finally:
                with self._changed:
                    self._waits.over -= 1
                    self._changed.notify_all()

    # Called by functions that wait for a value; see muster.worker.context.

    def begin_wait(self, running: contexts.Context) -> None:
        with self._changed:
            self._waits.begin(running._held, self._task())

    def end_wait(self, running: contexts.Context) -> None:
        job = running._held
        with self._changed:
            if self._waits.end(job):
                with self._out_lock:
                    self._say_wait(job)
        uploads.activate_again(running)

    def _task(self) -> str:
        return f"{self._identity[0]}:{self._identity[1]}"

    def _run(self, job: Job, beside: int = 0) -> None:
        """Executes a closure. `beside` is the id of this thread if it is an additional thread, otherwise 0."""
        entered = contexts.Context(job.closure, job.attempt, self._identity[0], self._identity[1],
                                   job.num_workers or self._workers, self._identity[2], job.stop,
                                   self._reports, self, job)
        try:
            try:
                if job.attempt > 1:
                    self.flush()  # the closure may kill this process, so other answers are sent first
                contexts.enter(entered)
                output.begin_lines(entered)
                made, encoding = self._call(job, entered, beside)
            finally:
                if beside:
                    try:
                        self._out_of_reach()
                    except Cancelled:
                        pass  # the exception was raised after the function had returned
                contexts.enter(None)
                if job.waits:
                    with self._changed:
                        self._waits.forget(job)
                output.end_lines(entered)
        except BaseException as error:
            contexts.enter(None)  # an interrupt may have prevented the call above
            self._fail(job, error)
        else:
            self._answer(job, made, encoding)
        for other in output.running():  # restores the uploads of the closure that continues
            uploads.activate_again(other)

    def _call(self, job: Job, entered: contexts.Context, beside: int) -> Output:
        handle.here.calls = self._objects.calls
        try:
            job.thread = beside
            try:
                try:
                    value = self._table.call(job.function, job.args, job.encoding, self._kept, job.beside)
                except BaseException as error:
                    if _forks.generation != self._generation:
                        _forks.leave(error)
                    raise
                if _forks.generation != self._generation:
                    _forks.leave()  # a process that the function has forked would also send an answer
                self._objects.calls.settle()  # object calls of the closure are then executed even if this process exits
            finally:
                uploads.activate_again(entered)  # the closure's result or exception may refer to their modules
            if job.builds:
                self._kept.keep(job.builds, value)
                return b"null", JSON
            made, encoding = self._table.output(job.function, value, job.args, job.encoding)
            if len(made) > RESULT_BYTES_MAX:
                raise Refused(f"the result has {len(made)} bytes, the limit is "
                              f"{RESULT_BYTES_MAX}", "muster.ResultTooLarge", FailureKind.USER)
            return made, encoding
        finally:
            job.thread = 0

    def _fail(self, job: Job, error: Any) -> None:
        kind, type_name, message = FailureKind.USER, type_name_of(error), message_of(error)
        trace, exception = "", b""
        dependency: tuple[str, ...] = ()
        if is_a(error, Refused):
            kind, type_name = error.kind, error.type
        else:
            trace = traceback_of(error)
            if self._table.is_pickled(job.function) and not job.builds:
                exception = packed(error)
            if is_a(error, UnavailableError) and error.dependency:
                kind, dependency = FailureKind.DEPENDENCY_LOST, tuple(error.dependency)
            elif is_a(error, DependencyLost):
                kind, dependency = FailureKind.DEPENDENCY_LOST, tasks_of(error)
            elif job.stop.is_set() or is_a(error, Cancelled):
                kind = FailureKind.CANCELLED
        if job.builds:
            self._kept.keep_error(job.builds, f"{type_name}: {message}")
        self._answer_failure(job, kind, type_name, message, trace, _us(job), dependency, exception)

    def _answer(self, job: Job, value: bytes, encoding: int) -> None:
        with self._out_lock:
            out = self._out
            self._add_answer(out, job, value, encoding, _us(job))

    def _add_answer(self, out: Any, job: Job, value: bytes, encoding: int, us: int) -> None:
        """Adds an answer to the next message. REQUIRES: _out_lock is held."""
        now = time.monotonic()
        self._held.pop((job.closure, job.attempt), None)
        self._reports.drain(out, now, True)
        position = len(out.closure)
        out.closure.append(job.closure)
        out.attempt.append(job.attempt)
        out.execution_us.append(us)
        if encoding == BYTES or out.encoding:
            out.encoding.extend([JSON] * (position - len(out.encoding)))
            out.encoding.append(encoding)
        if len(value) >= columns.LARGE:
            self._flush(value)
            return
        out.value.append(value)
        if position == 0:
            self._answers_since = now
        elif now - self._answers_since > ANSWERS_WAIT or len(value) > 65536:
            self._flush()

    def _answer_failure(self, job: Job, kind: FailureKind, type: str, message: str, trace: str,
                        us: int, dependency: tuple[str, ...] = (), exception: bytes = b"") -> None:
        with self._out_lock:
            f = self._out.failure.add(position=len(self._out.closure), kind=int(kind),
                                      type=_text(type), message=_text(message),
                                      traceback=_text(trace), exception=exception)
            f.dependency.extend(map(_text, dependency))
            self._add_answer(self._out, job, b"", JSON, us)

    def flush(self) -> None:
        """Sends the pending message."""
        with self._out_lock:
            self._flush()

    def _flush(self, last: bytes | None = None) -> None:
        """Sends the pending message. `last` is the value of the last answer if this value is large. REQUIRES: _out_lock
        is held.
        """
        if self._out.ByteSize() == 0:
            return
        out, self._out = self._out, WorkerMessage()
        self._send(out.SerializeToString() if last is None else columns.serialize(out, "value", last))


def _us(job: Job) -> int:
    return int((time.monotonic() - job.began) * 1e6) if job.began else 0


def _text(text: str) -> str:
    return text[:TEXT_MAX].encode("utf-8", "replace").decode()
