"""Keeps a task connected to the server over a sequence of streams, and owns the link that executes the closures.

    dialling --welcome--> attached --leave() or the server's drain--> leaving --> over
        └--------------------┴-- broken: backoff, dial again (with the held closures)
    the child dies or is killed: the stream is cancelled; a new child has a new incarnation

`run` is called on its own thread, the link makes its calls on another thread, and the worker's thread calls `beat`.
"""
from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections import deque
from typing import Any, Callable, Sequence

import grpc

from muster._pickled.buffers import Data
from muster._wire import columns
from muster._wire.credentials import with_token
from muster._wire.messages import Hello, ServerMessage, WorkerMessage
from muster.errors import FailureKind
from muster.worker.context import LEVELS
from muster.worker.held import Held
from muster.worker.link import Link, StartError
from muster.worker.options import WorkerOptions
from muster.worker.out import Out

log = logging.getLogger("muster.worker")

METHOD = "/muster.v1.WorkerService/Attach"
_FOR_GOOD = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED,
             grpc.StatusCode.PERMISSION_DENIED}
"""Status codes after which the server would reject the same hello again."""
QUICK_PAUSE = 0.004
"""Seconds before the first retry if the connection broke while closures were running."""
WELCOME_LIMIT = 2.0
"""Seconds that a leaving worker waits for a pending welcome."""
LAST_WORDS = 5.0
"""Seconds that the server has to close the stream after the worker has half-closed it."""
LAST_TAKING = 5.0
"""Seconds that a leaving worker waits for the server to store the last answers."""
SAID_MAX = 16
"""Maximum number of different connection errors that are logged until the next connection."""
LAST_LINES = 0.05
"""Seconds to send the last output of a dead process before the stream is cancelled."""
MakeLink = Callable[["Attachment", Callable[[bytes], None]], Link]


class Group:
    """The tasks of a worker, each with a separate process. The server counts all tasks as soon as the first task
    attaches. Thread-safe.
    """

    def __init__(self, size: int) -> None:
        self.number = random.SystemRandom().randrange(1, 1 << 64)
        self._lock = threading.Lock()  # protects size
        self.size = size

    def leave(self) -> None:
        """Removes a task that will not reconnect. The last task is kept, because the whole worker then leaves."""
        with self._lock:
            self.size = max(1, self.size - 1)


class Attachment:
    """A task of a worker. `final` is the reason why the task must not reconnect, and is empty after an orderly
    shutdown.
    """

    def __init__(self, number: int, options: WorkerOptions, make_link: MakeLink,
                 on_attached: Callable[[str, str], None] = lambda server, task: None,
                 group: Group | None = None) -> None:
        self._number = number
        self._options = options
        self._make_link = make_link
        self._on_attached = on_attached
        self._group = group
        self.index: int | None = options.index_of(number)
        self._fixed_index = self.index is not None
        self.final = ""
        self._lock = threading.RLock()  # protects all below
        self._link: Link | None = None
        self._held = Held()
        self._incarnation = 0
        self._attached = 0  # the newest incarnation that a server has welcomed
        self._streams = 0  # number of streams of all incarnations
        self._killed = False  # this process has killed the child process
        self._job = options.job
        self._out: Out | None = None  # output of the open stream
        self._call: Any = None
        self._welcomed = False
        self._takes_process_end = False  # the server supports this message
        self._said: set[str] = set()  # logged connection errors since the last connection
        self._beat_every = 5.0
        self._leaving = False  # leave() was called, or the server has drained the task
        self._drained = False  # the server sends no more closures to the task
        self._leave_by = 0.0
        self._taken_by = 0.0  # the task leaves at this time even if answers are not acknowledged; 0: not set
        self._parked: deque[tuple[bytes, Any, Sequence[Data]]] = deque()
        """Received messages that wait until answers are acknowledged. Their number is at most the task's credits."""
        self._gone = threading.Event()  # set to interrupt pauses

    # The attachment's thread.

    def run(self) -> None:
        pause = self._options.backoff_min
        servers = self._options.servers
        attempt = in_vain = 0
        while not self._leaving or self._held.attempts:
            began = time.monotonic()
            dialled = False
            with self._lock:
                self._welcomed = False
            try:
                self._start_link()
                dialled = True
                self._stream(servers[attempt % len(servers)])
            except StartError as error:
                said = f"the functions cannot be served: {error}"
                if not self._incarnation:
                    self.final = said
                log.error("%s: %s", self._name(), said)
            except OSError as error:
                log.error("%s: %s", self._name(), error)
            if self.final or self._drained:
                break
            attempt += 1
            # Pauses only after all servers were tried, because another server may have become the
            # leader.
            in_vain = in_vain + 1 if dialled and not self._welcomed else 0
            if in_vain % len(servers):
                continue
            if time.monotonic() - began > self._options.backoff_reset_after:
                pause = self._options.backoff_min
            # Reconnects quickly if closures are running, because the server waits only briefly for
            # them.
            quick = self._welcomed and bool(self._held.attempts)
            if self._gone.wait((QUICK_PAUSE if quick else pause) * random.uniform(0.5, 1.0)):
                time.sleep(self._options.backoff_min)  # leaving: connects again to deliver answers
            if not quick:
                pause = min(pause * 2, self._options.backoff_max)
        if self._group:
            self._group.leave()
        with self._lock:
            link, self._link = self._link, None
        if link:
            link.close()

    def _start_link(self) -> None:
        with self._lock:
            if self._link:
                return
            self._held = Held()
            self._killed = False
        link = self._make_link(self, self._from_child)  # slow, so the lock is not held
        with self._lock:
            self._link = link
            self._incarnation = random.SystemRandom().randrange(1, 1 << 64)

    def _stream(self, server: str) -> None:
        out = Out()
        options = self._options
        channel = with_token(options.tls.channel(server, options.channel_options), options.token)
        method = channel.stream_stream(METHOD, None, None)
        with self._lock:
            out.put(self._hello().SerializeToString())
            offered = list(self._held.attempts)
            waiting = set(self._held.waiting)
            self._welcomed = False
            self._call = call = method(iter(out))
        dialling = threading.Timer(self._options.connect_timeout, self._cancel_unwelcome, [call])
        dialling.daemon = True
        dialling.start()
        try:
            for raw in call:
                message, args = columns.parse(ServerMessage, raw, "args")
                if message.HasField("welcome"):
                    dialling.cancel()
                    self._take_welcome(message.welcome, out, offered, waiting, server)
                self._take(raw, message, args)
            log.info("%s left %s", self._name(), server)
        except grpc.RpcError as error:
            self._ended(error, server)
        finally:
            dialling.cancel()
            with self._lock:
                self._out = self._call = None
            out.close()
            channel.close()
            self._forget_parked()
            self._drop_unstarted()

    def _forget_parked(self) -> None:
        """Forgets received messages that no process has received: the server sends their closures again."""
        with self._lock:
            while self._parked:
                self._held.never_begun(self._parked.popleft()[1])

    def _cancel_unwelcome(self, call: Any) -> None:
        with self._lock:
            if not self._welcomed:
                call.cancel()

    def _hello(self) -> Any:
        assert self._link
        o = self._options
        self._streams += 1
        hello = Hello(cluster=o.cluster, job=o.job, incarnation=self._incarnation,
                      stream=self._streams, slots=o.slots, credits=o.credits,
                      function=self._link.names, label=o.labels, resource=o.resources,
                      host=o.host or socket.gethostname().encode("utf-8", "replace").decode(), version=o.version,
                      pid=self._link.pid, per_worker=sorted(self._held.per_worker),
                      keeps_answers=True, inputs_beside_bytes=True, objects=True,
                      answers=self._held.untaken.again())
        if self._attached != self._incarnation:
            hello.replaces = self._attached
        if self._group:
            hello.group, hello.group_size = self._group.number, self._group.size
            hello.group_position = min(self._number, self._group.size - 1)
        if self._fixed_index:
            hello.index = self.index
        elif self.index is not None:
            hello.last_index = self.index
        for i, (closure, attempt) in enumerate(self._held.attempts.items()):
            hello.held_closure.append(closure)
            hello.held_attempt.append(attempt)
            if closure in self._held.waiting:
                hello.held_waits.append(i)
        return WorkerMessage(hello=hello)

    def _take_welcome(self, w: Any, out: Out, offered: list[int], waiting: set[int],
                      server: str) -> None:
        with self._lock:
            self._welcomed = True
            self._said.clear()
            self._attached = self._incarnation
            self.index = w.index
            self._beat_every = max(w.heartbeat_interval_ms, 1) / 1000
            self._job = w.job
            self._takes_process_end = w.takes_process_end
            answers, stop = self._held.void({offered[i] for i in w.kept})
            untaken = self._held.untaken
            untaken.acknowledged = w.acknowledges
            if not w.acknowledges:
                untaken.clear()
            for one in answers:
                data = one.SerializeToString()
                untaken.add(len(one.closure), data)
                out.put(data)
            changed = self._held.waits_since(waiting)
            if w.nested_max and changed.wait_closure:
                out.put(changed.SerializeToString())
            self._out = out
            if self._leaving:
                out.put(WorkerMessage(drain=True).SerializeToString())
        if stop:
            self._deliver(ServerMessage(stop_closure=[c for c, _ in stop],
                                        stop_attempt=[a for _, a in stop]))
        self._on_attached(server, self._name())
        log.info("attached to %s as %s:%d", server, w.job, w.index)

    def _take(self, raw: bytes, message: Any, args: Sequence[Data]) -> None:
        with self._lock:
            self._held.sent(message)
            self._held.untaken.taken(message.answers_taken)
            self._parked.append((raw, message, args))
        self._deliver_parked()
        with self._lock:
            if message.drain:
                self._leaving = self._drained = True
                self._leave_by = self._leave_by or time.monotonic() + self._options.drain_timeout
            self._leave_if_done()

    def _deliver_parked(self) -> None:
        """Delivers received messages in order. Delays closures while too many answers are unacknowledged."""
        while True:
            with self._lock:
                if not self._parked:
                    return
                if self._parked[0][1].closure and self._held.untaken.full:
                    return
                raw, message, args = self._parked.popleft()
            self._deliver(message, raw, args)  # may block until the child reads, so the lock is not held

    def _deliver(self, message: Any, raw: bytes | None = None, args: Sequence[Data] = ()) -> None:
        link = self._link
        if link is None:
            return  # the child has died, and the stream is being cancelled
        try:
            link.deliver(message.SerializeToString() if raw is None else raw, message, args)
        except OSError:
            pass  # the reading thread reports it

    def _ended(self, error: Any, server: str) -> None:
        text = error.details() or error.code().name
        trailers = dict(error.trailing_metadata() or ())
        invalid = error.code() in _FOR_GOOD and not self._welcomed
        if "muster-final" in trailers or invalid:
            self.final = text
            log.error("%s: %s refuses this worker: %s", self._name(), server, text)
        elif not self._leaving and self._link:
            self._say(f"the connection to {server} was lost: {text}" if self._welcomed else
                      f"no connection to {server}: {text}; retrying until the server answers")

    def _say(self, why: str) -> None:
        """Logs a connection error only the first time it occurs."""
        if why not in self._said and len(self._said) < SAID_MAX:
            self._said.add(why)
            log.warning("%s: %s", self._name(), why)

    def _drop_unstarted(self) -> None:
        """Drops the closures that had not started when the stream broke. Dropped closures do not count as lost."""
        with self._lock:
            held = dict(self._held.attempts)
        if held:
            self._deliver(ServerMessage(recall_closure=list(held), recall_attempt=held.values()))

    # The link's thread.

    def _from_child(self, data: bytes) -> None:
        m, _ = columns.parse(WorkerMessage, data, "value")
        with self._lock:
            if m.wait_closure:
                self._held.waits(m)
            out = self._out
            if out is None:
                self._held.keep(WorkerMessage.FromString(data), offered=self._call is not None)
                return
            if not self._held.wanted(m):
                m = self._held.only_wanted(WorkerMessage.FromString(data))
                data = m.SerializeToString()
            self._held.answered(m, data)
        out.put_when_room(data)
        with self._lock:
            self._leave_if_done()

    def child_gone(self, link: Link, how: str) -> None:
        with self._lock:
            if link is not self._link:
                return
            self._link = None
            if not self._leaving or self._held.attempts:
                log.error("%s: its process %d %s; closures returned to the server: %d", self._name(), link.pid, how,
                          len(self._held.attempts))
            if self._killed and self._out:
                # Closures that had not started are returned to the server without counting as lost.
                self._half_close()
            elif self._out and self._call:
                self._report_process_end(link, how, self._out)
            elif self._call:
                self._call.cancel()

    def _report_process_end(self, link: Link, how: str, out: Out) -> None:
        """Reports how the process exited, and which closure the process was executing.

        Only that closure counts as lost, and the server then closes the stream. An older server only detects a broken
        stream, so the reason is also written to the closure's log.
        """
        suspect = self._held.suspect()
        if suspect is None and not self._takes_process_end:
            self._call.cancel()
            return
        said = f"its process {link.pid} {how}"
        last = WorkerMessage(process_end={"how": said})
        if suspect is not None:
            closure, attempt = suspect
            last = WorkerMessage(process_end={"how": said, "closure": closure, "attempt": attempt},
                                 log_closure=[closure], log_attempt=[attempt],
                                 log_level=[LEVELS["error"]], log_time_ms=[int(time.time() * 1000)],
                                 log_text=[said])
        out.put(last.SerializeToString())
        self._out = None
        breaking = threading.Timer(LAST_WORDS if self._takes_process_end else LAST_LINES, self._call.cancel)
        breaking.daemon = True
        breaking.start()

    # The worker's thread.

    def beat(self, now: float, machine: bytes = b"") -> None:
        """Sends a heartbeat if no other message was sent, and handles exceeded time limits. Called regularly."""
        with self._lock:
            out = self._out
            if out and now - out.written_at >= self._beat_every / 2:
                out.put(b"")
            if out and machine:
                out.put_if_room(machine)
            stuck = self._held.overdue(self._options.stop_grace)
            if stuck is not None and out and self._link:
                self._kill(stuck, out)
            if self._leave_by and now >= self._leave_by and self._held.attempts:
                log.warning("%s returns the closures that did not finish within the drain timeout: %d",
                            self._name(), len(self._held.attempts))
                self._held.attempts.clear()
                self._drained = True
            self._leave_if_done()

    def leave(self, at_once: bool = False) -> None:
        """Stops accepting closures, and leaves when all received closures are answered."""
        with self._lock:
            asked, self._leaving = self._leaving, True
            limit = 0.0 if at_once else self._options.drain_timeout
            self._leave_by = min(self._leave_by or float("inf"), time.monotonic() + limit)
            self._gone.set()
            if self._out and not asked:
                self._out.put(WorkerMessage(drain=True).SerializeToString())
            elif self._call and not self._welcomed and not at_once:
                # The server may already have attached this worker, and would count a cancelled
                # connection as a lost worker.
                timer = threading.Timer(WELCOME_LIMIT, self._cancel_unwelcome, [self._call])
                timer.daemon = True
                timer.start()
            elif self._call and not self._welcomed:
                self._call.cancel()
            if at_once and self._out:
                self._drained = True
                self._held.attempts.clear()
                self._leave_if_done()

    def _leave_if_done(self) -> None:
        if not (self._leaving and self._drained and self._out) or self._held.attempts:
            return
        if len(self._held.untaken):
            self._taken_by = self._taken_by or time.monotonic() + LAST_TAKING
            if time.monotonic() < self._taken_by:
                return
        self._half_close()

    def _half_close(self) -> None:
        assert self._out
        self._out.half_close()
        self._out = None
        timer = threading.Timer(LAST_WORDS, self._call.cancel)
        timer.daemon = True
        timer.start()

    def _kill(self, closure: int, out: Out) -> None:
        """Answers a closure that ignores its stop request and kills the closure's process."""
        assert self._link
        attempt = self._held.attempts[closure]
        said = f"killed: it did not stop within {self._options.stop_grace:g} s"
        if not self._link.kill():
            return  # a thread cannot be killed
        self._killed = True
        answer = WorkerMessage(closure=[closure], attempt=[attempt], value=[b""],
                               execution_us=[0])
        answer.failure.add(kind=int(FailureKind.CANCELLED), message=said)
        data = answer.SerializeToString()
        self._held.answered(answer, data)
        out.put(data)
        log.warning("%s: closure %d %s", self._name(), closure, said)

    def _name(self) -> str:
        return f"{self._job}:{self._number if self.index is None else self.index}"
