"""Runs objects in the process that runs a worker's functions. Each object has its own threads. Never imports grpc.

Each call of a caller is executed once, and in order. If a stream breaks, the server sends unanswered calls again.
"""
from __future__ import annotations

import collections
import itertools
import queue
import threading
import time
import types
from typing import Any, Callable, NamedTuple

from muster import _forks
from muster._pickled import buffers, values
from muster._wire.messages import BYTES, JSON, WorkerMessage
from muster.errors import FailureKind
from muster.objects import arrays, handle, large
from muster.objects.arrays import Encoded
from muster.objects.large import Memory
from muster.objects.within import Name, within
from muster.worker.failures import message_of, packed, traceback_of, type_name_of
from muster.worker.functions import FunctionTable, Kept, Refused, call_json, json_output
from muster.worker.object_calls import ObjectCalls, WorkerMemory
from muster.worker.object_loop import Loop
from muster.worker.shelf import Shelf

RESULT_BYTES_MAX = 32 << 20
TEXT_MAX = 64 << 10
ANSWERS_WAIT = 0.001
"""Maximum seconds that an answer waits to be sent together with other answers."""
ANSWERS_MAX = 1000
BYTES_MAX = 256 << 10
"""Maximum size of one message."""
CALLERS_MAX = 4096
"""Maximum number of callers of an object whose last call number is stored. The least recent caller is dropped."""


class Order(NamedTuple):
    name: Name
    method: str
    args: bytes
    encoding: int = BYTES


class Answer(NamedTuple):
    object: int
    name: Name
    value: bytes
    encoding: int
    failure: Any


class Hosted:
    """A hosted object. A None in `orders` stops a thread of the object."""

    def __init__(self, build: Any) -> None:
        self.build = build
        self.instance: Any = None
        self.failure: Any = None
        self.made = threading.Event()
        self.gone = False
        self.orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self.threads = 0
        self.last: collections.OrderedDict[tuple[int, bool], int] = collections.OrderedDict()
        self.loop = Loop()

    def is_new(self, name: Name) -> bool:
        caller, number = name[:2], name[2]
        if number <= self.last.get(caller, 0):
            return False
        self.last[caller] = number
        self.last.move_to_end(caller)
        if len(self.last) > CALLERS_MAX:
            self.last.popitem(last=False)
        return True


class Objects:
    """The objects of this process. `take` must be called on the reading thread. `send` is called with serialized
    WorkerMessages, on any thread.
    """

    def __init__(self, table: FunctionTable, send: Callable[[bytes], None]) -> None:
        self._table = table
        self._send = send
        self.calls = ObjectCalls(send, self._memory)
        self._shelf = Shelf(lambda: table.blobs)
        self._generation = _forks.generation
        self._objects: dict[int, Hosted] = {}
        self._lock = threading.Lock()  # protects all below; held while sending
        self._out: list[Answer] = []
        self._out_bytes = 0
        self._since = 0.0
        self._sent = 0  # number of answers that this process has sent on all streams
        self._kept: dict[tuple[int, Name], tuple[int, Answer]] = {}  # answers that the server has not acknowledged
        self._due = threading.Event()
        self._flushes = False

    def _memory(self) -> Memory | None:
        blobs = self._table.blobs
        return WorkerMemory(blobs) if blobs is not None and blobs.shared else None

    def take(self, orders: Any) -> None:
        """Handles an ObjectOrders message."""
        if orders.begin:
            kept = set(orders.kept)
            for id in [id for id in self._objects if id not in kept]:
                self._drop(id)
            if self.calls.again():
                self.calls._tell()
        for build in orders.build:
            self._build(build)
        if orders.object:
            self._order(orders)
        for id in orders.drop:
            self._drop(id)
        if orders.answers_taken:
            with self._lock:
                for key in [k for k, (n, _) in self._kept.items() if n <= orders.answers_taken]:
                    del self._kept[key]

    def _order(self, m: Any) -> None:
        again: list[Answer] = []
        encodings = m.encoding or itertools.repeat(BYTES)
        for id, *name, method, args, encoding in zip(m.object, m.caller, m.of_worker, m.number, m.method,
                                                     m.args, encodings):
            hosted = self._objects.get(id)
            if hosted is None:
                continue
            named: Name = tuple(name)
            if method == large.METHOD:  # answered here, so that a long call does not delay the answer
                hosted.is_new(named)
                again.append(self._take_large(id, named, args))
            elif hosted.is_new(named):
                hosted.orders.put(Order(named, method, args, encoding))
                if hosted.threads < hosted.build.concurrency and hosted.orders.qsize() > 0:
                    self._start(id, hosted, False)
            elif (id, named) in self._kept:
                again.append(self._kept[id, named][1])
        for answer in again:
            self._answer(answer)
        if again:
            self.flush()

    def _take_large(self, id: int, name: Name, args: bytes) -> Answer:
        """Handles the message of a caller that has received its results. The answer indicates whether large results can
        remain in this process's memory.
        """
        self._shelf.taken([(name[0], name[1], number) for number in large.numbers(args)])
        if self._shelf.there():
            return Answer(id, name, b"1", JSON, None)
        return Answer(id, name, b"", JSON, _failure(Refused("this worker does not use shared memory")))

    def _start(self, id: int, hosted: Hosted, first: bool) -> None:
        hosted.threads += 1
        try:
            threading.Thread(target=self._run, args=(id, hosted, first), daemon=True,
                             name=f"muster-object-{hosted.threads}").start()
        except RuntimeError as error:  # the system has no more threads; one thread is enough for the object
            hosted.threads -= 1
            if first:
                hosted.failure = _failure(error)
                hosted.made.set()
                self._tell_built(id, hosted)

    def _build(self, build: Any) -> None:
        hosted = self._objects.get(build.object)
        if hosted is not None:
            if hosted.made.is_set():
                self._tell_built(build.object, hosted)
            return
        if not self._flushes:
            self._flushes = True
            threading.Thread(target=self._flush_late, name="muster-object-answers", daemon=True).start()
        copied = type(build)()
        copied.CopyFrom(build)
        self._objects[build.object] = hosted = Hosted(copied)
        self._start(build.object, hosted, True)

    def _drop(self, id: int) -> None:
        hosted = self._objects.pop(id, None)
        if hosted is None:
            return
        hosted.gone = True
        hosted.loop.stop()
        for _ in range(hosted.threads):
            hosted.orders.put(None)

    # The threads of an object.

    def _run(self, id: int, hosted: Hosted, first: bool) -> None:
        handle.here.calls = self.calls
        if first:
            self._make(id, hosted)
        hosted.made.wait()  # returns when building the object has succeeded or failed
        orders = hosted.orders
        while True:
            try:
                order = orders.get_nowait()
            except queue.Empty:
                self.flush()
                order = orders.get()  # no deadline: woken by calls until the object is dropped
            if order is None or hosted.gone:
                break
            answer = self._call(id, hosted, order)
            self._answer(answer, orders.empty())  # sent at once if no further call is waiting
        hosted.instance = None

    def _make(self, id: int, hosted: Hosted) -> None:
        build = hosted.build
        try:
            if build.function not in self._table.names:
                raise Refused(f"this worker has no function {build.function!r}",
                              kind=FailureKind.STALE_HANDLE)
            number = self._table.names.index(build.function)
            hosted.instance = self._table.call(number, build.args, build.encoding, Kept())
            self._end_fork()
        except BaseException as error:
            self._end_fork(error)
            hosted.failure = _failure(error)
        build.args = b""
        hosted.made.set()
        self._tell_built(id, hosted)

    def _tell_built(self, id: int, hosted: Hosted) -> None:
        m = WorkerMessage()
        if hosted.failure is None:
            m.objects.built.append(id)
        else:
            m.objects.failed.add(object=id).failure.CopyFrom(hosted.failure)
        self._try_to_send(m)

    def _call(self, id: int, hosted: Hosted, order: Order) -> Answer:
        within.call = order.name
        within.shelf = self._shelf if order.encoding == BYTES and large.is_marked(order.args) else None
        try:
            found = self._found(hosted, order)
            self._end_fork()
            if type(found) is Encoded:
                value, encoding = found.data, BYTES
            elif order.encoding == JSON:
                value, encoding = json_output(found, order.method)
            else:
                value, encoding = _encoded(found)
            if len(value) > RESULT_BYTES_MAX:
                raise Refused(f"the result has {len(value)} bytes, the limit is {RESULT_BYTES_MAX}",
                              "muster.ResultTooLarge", FailureKind.USER)
            return Answer(id, order.name, value, encoding, None)
        except BaseException as error:
            self._end_fork(error)
            return Answer(id, order.name, b"", JSON, _failure(error))
        finally:
            within.call = within.shelf = None

    def _end_fork(self, error: BaseException | None = None) -> None:
        """Exits a process that a method has forked. Otherwise, the forked process would also send an answer."""
        if _forks.generation != self._generation:
            _forks.leave(error)

    def _found(self, hosted: Hosted, order: Order) -> Any:
        instance = hosted.instance
        if order.method.startswith("_"):
            raise AttributeError(f"{order.method!r} cannot be called: methods that begin with an underscore are "
                                 f"private")  # handles do not have it, either
        method = getattr(instance, order.method)
        if not callable(method):
            raise TypeError(f"{type(instance).__name__}.{order.method} is an attribute of the object, not a method: define a "
                            "method that returns it")
        if order.encoding == JSON:  # calls of clients in other languages
            found = call_json(method, order.args, JSON, Kept())
        else:
            args, kwargs = self._arguments(order.args)
            found = method(*args, **kwargs)
        kind = type(found)
        if kind is types.CoroutineType:
            return hosted.loop.run(found, self.calls)
        if kind is types.GeneratorType or kind is types.AsyncGeneratorType:
            raise TypeError(f"{type(instance).__name__}.{order.method} is a generator, which cannot be sent; return a "
                            "list instead")
        return found

    def _arguments(self, data: bytes) -> Any:
        if arrays.is_arrays(data):
            return arrays.decode(data, open=self._table.open_argument), {}
        if not self._table.pickled:
            raise Refused("this worker does not accept pickles: --no-pickled")
        return buffers.load(data, self._table.open_argument)

    # Answers.

    def _answer(self, answer: Answer, at_once: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            if self._out_bytes + len(answer.value) > BYTES_MAX:
                self._flush()  # the size of a message is also limited
            self._out.append(answer)
            self._out_bytes += len(answer.value)
            first = len(self._out) == 1
            if at_once:
                self._flush()
                return
            if first:
                self._since = now
            elif (now - self._since > ANSWERS_WAIT or len(self._out) >= ANSWERS_MAX or
                  self._out_bytes >= BYTES_MAX):
                self._flush()
        if first:
            self._due.set()

    def _flush_late(self) -> None:
        """Sends answers that were queued before a long call started."""
        while True:
            self._due.wait()  # no deadline: woken by answers until the process exits
            self._due.clear()
            time.sleep(2 * ANSWERS_WAIT)
            self.flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if not self._out:
            return
        out, self._out, self._out_bytes = self._out, [], 0
        m = WorkerMessage()
        reports = m.objects
        reports.first = self._sent + 1
        for i, a in enumerate(out):
            self._sent += 1
            self._kept[a.object, a.name] = (self._sent, a)
            if a.failure is not None:
                reports.failure.add().CopyFrom(a.failure)
                reports.failure[-1].position = i
        reports.object.extend([a.object for a in out])
        reports.caller.extend([a.name[0] for a in out])
        reports.of_worker.extend([a.name[1] for a in out])
        reports.number.extend([a.name[2] for a in out])
        reports.value.extend([a.value for a in out])
        reports.encoding.extend([a.encoding for a in out])
        self._try_to_send(m)

    def _try_to_send(self, m: Any) -> None:
        try:
            self._send(m.SerializeToString())
        except OSError:
            pass  # the worker has exited, and this process will exit soon


def _encoded(found: Any) -> tuple[bytes, int]:
    if within.shelf is not None:
        try:
            return values.encode(found, True, take=within.shelf.take)
        except OSError:  # an error raised by pickling is raised again below
            within.shelf.undo()
    return values.encode(found, True)


def _failure(error: Any) -> Any:
    from muster._wire.messages import Failure
    from muster.errors import ClosureError

    if isinstance(error, Refused):
        return Failure(kind=int(error.kind), type=error.type, message=_text(message_of(error)))
    made = Failure(kind=int(FailureKind.USER), type=_text(type_name_of(error)),
                   message=_text(message_of(error)), traceback=_text(traceback_of(error)),
                   exception=packed(error))
    if isinstance(error, ClosureError) and error.kind is FailureKind.DEPENDENCY_LOST and error.dependency:
        made.kind = int(FailureKind.DEPENDENCY_LOST)
        made.dependency.extend(map(_text, error.dependency))
    return made


def _text(text: str) -> str:
    return text[:TEXT_MAX].encode("utf-8", "replace").decode()
