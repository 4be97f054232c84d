"""Handles of objects on tasks, and the RemoteValues of their method calls."""
from __future__ import annotations

import contextlib
import pickle
import threading
import weakref
from typing import Any, Callable, Iterator, Mapping, Sequence

from muster._elsewhere import METHOD, Hints
from muster._pickled import calls as packing
from muster._pickled.buffers import Data
from muster.coordinator.log_lines import Logs
from muster.coordinator.remote_value import RemoteValue, RemoteValueStatus
from muster.errors import FailureKind
from muster.objects.call import Call, Kept
from muster.objects.calls import Calls
from muster.objects.large import NotKept

ARGUMENT_BYTES_MAX = 32 << 20


def check_argument_bytes(size: int) -> None:
    """Raises ValueError if the arguments of a call are too large."""
    if size > ARGUMENT_BYTES_MAX:
        raise ValueError(f"the arguments have {size} bytes, the limit is {ARGUMENT_BYTES_MAX}")


def _refuse(data: Data) -> bytes:
    raise NotKept("the receiver of the value is unknown")


class CallValue(RemoteValue[Any]):
    """The RemoteValue of a method call. A CallValue is passed to functions by value, so passing a CallValue as an
    argument waits for the method.
    """

    __slots__ = ("_calls", "_call")

    def __init__(self, calls: Calls, call: Call, owner: Any) -> None:
        self._owner = owner
        self._calls = calls
        self._call = call

    def __del__(self) -> None:
        pass  # the answer is dropped together with the call

    def _fetch(self, timeout: float | None = None, stops: bool = False) -> Any:
        if not self._call.answered:
            self._calls.wait(self._call, timeout)
        return self._calls.value_of(self._call, stops)

    def _warn(self) -> None:
        pass

    def _reason(self, timeout: float | None) -> str:
        return self._calls.reason_of(self._call, timeout)

    def done(self) -> bool:
        if not self._call.answered:
            self._calls.check_process()
        return self._call.answered

    def _status(self) -> RemoteValueStatus:
        if not self._call.answered:
            return RemoteValueStatus.NOT_READY
        error = self._call.error
        lost = error is not None and error.kind is FailureKind.DEPENDENCY_LOST
        return RemoteValueStatus.ABORTED if lost else RemoteValueStatus.READY

    def logs(self, timeout: float = 10.0) -> Logs:
        raise TypeError("a method call has no log lines; methods print to the output of their worker")

    def cancel(self) -> None:
        """Does nothing, because a method call cannot be cancelled."""

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        if self._call.answered:
            yield
            return
        wait = self._calls.begin_wait(self._call)
        try:
            yield
        finally:
            self._calls.end_wait(wait)

    def add_done_callback(self, f: Callable[[], None]) -> None:
        self._calls.when_answered(self._call, f)

    def _forget_callback(self, f: Callable[[], None]) -> None:
        self._calls.forget_callback(self._call, f)

    @property
    def _is_large(self) -> bool:
        return False  # answers are received as a whole

    @property
    def _is_pickled(self) -> bool:
        return True

    def __reduce__(self) -> Any:
        return packing.same, (self._fetch(),)

    def __repr__(self) -> str:
        return f"<muster.RemoteValue of {self._call.method} {self._status().value}>"


class Method(Hints):
    """A method of a remote object."""

    __slots__ = ("_handle", "_name")
    _instead = METHOD
    _shown = "method of a RemoteObject"

    def __init__(self, handle: RemoteObject, name: str) -> None:
        self._handle = handle
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> RemoteValue[Any]:
        return self._handle._pack(self._name, args, kwargs)

    def __repr__(self) -> str:
        return f"<method {self._name} of {self._handle!r}; call it: .{self._name}(...)>"


class RemoteObject:
    """The handle of an object on a task.

    ``handle.method(...)`` calls a method on the task and returns a RemoteValue immediately. The calls of each caller
    are executed in order. A handle can be an argument of functions and methods, at any nesting depth, which can then
    call the object as well. The object's attributes, and names with a leading underscore, are not accessible.
    """

    __slots__ = ("_id", "_task", "_class_name", "_ticket", "_calls", "_owner", "__weakref__")

    def __init__(self, id: int, task: str, class_name: str, ticket: bytes, calls: Calls,
                 owner: Any = None) -> None:
        self._id = id
        self._task = task
        self._class_name = class_name
        self._ticket = ticket
        self._calls = calls
        self._owner = owner

    def __getattr__(self, name: str) -> Method:
        if name.startswith("_"):
            raise AttributeError(f"an object on a task has no attribute {name!r}")
        return Method(self, name)

    def _pack(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallValue:
        self._calls.check_process()
        data, kept = self._packed(method, tuple(args), dict(kwargs))
        check_argument_bytes(len(data))
        return CallValue(self._calls, self._calls.add(self._id, method, data, self._ticket,
                                                      of=(self._task, self._class_name), kept=kept), self._owner)

    def _packed(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bytes, Sequence[Kept]]:
        """Returns the encoded arguments and the memory that they refer to. Large data remains in shared memory if the
        task supports shared memory. The task is asked about its support at the first large argument, and after the
        first large result.
        """
        of = self._task, self._class_name
        keeping = self._calls.large.keeping(self._id, self._ticket, of, asks=False)
        try:
            if keeping is None:
                parts = packing.dump_inline(args, kwargs, _refuse)
            else:
                parts = packing.dump_inline(args, kwargs, keeping.take, always=True)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            if keeping is not None:
                keeping.undo()
            named = packing.unpicklable(error, f"{self._class_name}.{method}", args, kwargs)
            if named is None:
                raise
            raise named from error
        except NotKept:
            if keeping is not None:
                keeping.undo()
                return b"".join(packing.dump_inline(args, kwargs)), ()
            if self._calls.large.keeping(self._id, self._ticket, of) is not None:
                return self._packed(method, args, kwargs)
            parts = packing.dump_inline(args, kwargs)
        return b"".join(parts), keeping.kept if keeping is not None else ()

    def _unowned(self) -> RemoteObject:
        """Returns a handle that does not keep the session open."""
        return type(self)(self._id, self._task, self._class_name, self._ticket, self._calls)

    def delete(self) -> None:
        """Deletes the object. Unanswered calls fail with CancelledError. Only a coordinator can delete objects.

        Raises:
            TypeError: The handle is used in a function on a worker.
        """
        drop = getattr(self._calls, "drop", None)
        if drop is None:
            raise TypeError("a function on a worker cannot delete an object; delete it with its coordinator")
        drop(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteObject) and other._id == self._id

    def __hash__(self) -> int:
        return hash(self._id)

    def __reduce__(self) -> Any:
        return restored, (self._id, self._task, self._class_name, self._ticket)

    def __repr__(self) -> str:
        return f"<muster.RemoteObject {self._class_name} on {self._task}>"


_sessions: weakref.WeakValueDictionary[bytes, Calls] = weakref.WeakValueDictionary()
"""Calls objects of this process's coordinators, by ticket."""


class _Here(threading.local):
    calls: Calls | None = None


here = _Here()
"""Calls object of the session whose functions and methods this thread executes. Set by the worker."""
_process: list[Calls] = []


def serve(calls: Calls) -> None:
    """Sets the Calls object for all threads of a worker's process, including threads that functions have started."""
    _process[:] = [calls]


def register(ticket: bytes, calls: Calls) -> None:
    _sessions[ticket] = calls


def restored(id: int, task: str, class_name: str, ticket: bytes) -> RemoteObject:
    """Recreates a handle. Called when a handle is unpickled."""
    calls = calls_of(ticket, f"{class_name} on {task}")
    owner = getattr(calls, "owner", lambda: None)()
    return RemoteObject(id, task, class_name, ticket, calls, owner)


def calls_of(ticket: bytes, what: str) -> Calls:
    """Returns the Calls object that an unpickled handle uses.

    Raises:
        TypeError: This process has no session for the handle and is not a worker.
    """
    calls = here.calls or _sessions.get(ticket) or (_process[0] if _process else None)
    if calls is None:
        raise TypeError(f"a handle of {what} can be used only in the process of its session, and in the session's "
                        "functions and methods on workers")
    return calls
