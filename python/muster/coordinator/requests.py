"""Converts the calls that users make to the requests of closures."""
from __future__ import annotations

import base64
import collections
import collections.abc
import inspect
import json
import math
import reprlib
import types
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from muster._pickled import calls, names, shown
from muster._pickled.names import Called, Pickled
from muster._wire.messages import BYTES, JSON
from muster.coordinator.blobs import AnyContent, Blobs
from muster.coordinator.records import Record
from muster.coordinator.remote_value import PerWorkerValues, RemoteValue
from muster.objects import named
from muster.objects.handle import CallValue, RemoteObject

ARGUMENT_BYTES_MAX = 32 << 20
SERVER_WAIT = 1.0
"""Seconds to wait for the capabilities of the server, before the first call that can use them."""
CALLABLES_MAX = 256
"""Maximum number of functions whose pickled form is cached."""


class Input(NamedTuple):
    record: Record
    offset: int
    """Position in JSON arguments at which the output is inserted."""
    pickled: bool
    """Whether the bytes of the output are a pickle."""


class Request:
    __slots__ = ("function", "args", "encoding", "inputs", "per_worker", "contents", "called", "outputs")

    def __init__(self, function: str, args: bytes, encoding: int,
                 inputs: Sequence[Input] = (),
                 per_worker: Sequence[PerWorkerValues] = (),
                 contents: Sequence[AnyContent] = (), called: Called | None = None) -> None:
        if len(args) > ARGUMENT_BYTES_MAX:
            raise ValueError(f"the arguments have {len(args)} bytes, the limit is "
                             f"{ARGUMENT_BYTES_MAX}")
        self.function = function
        self.args = args
        self.encoding = encoding
        self.inputs = inputs
        """Outputs that are inserted into `args`, or sent next to them."""
        self.per_worker = per_worker
        self.contents = contents
        """Blobs that `args` refers to."""
        self.called = called
        """The callable that the function calls."""
        self.outputs: Sequence[RemoteValue[Any]] = ()
        """Handles that keep `inputs` alive, if the arguments can be read again; see `arguments_of`."""

    def drop(self) -> None:
        """Drops the arguments to free memory."""
        self.args = b""
        self.contents = self.outputs = ()


class Along(NamedTuple):
    """Data and settings that are sent with every call of a pickled callable."""

    uploads: Sequence[PerWorkerValues] = ()
    output_in_bytes: bool = False
    """Whether the output cannot be an argument of other calls."""
    blobs: Blobs | None = None
    """Storage for large data, or None if blobs are not possible."""
    beside: Callable[[float], bool] = lambda timeout: False
    """Returns whether the server accepts separate inputs for arguments in bytes. The parameter is the maximum number of
    seconds to wait for the server's answer.
    """
    name: str = ""
    """Display name, in place of the name of the callable."""
    show_arguments: bool = True
    """Whether to send a summary of the arguments for display."""


NOTHING = Along()


class Callables:
    """A cache of pickled callables. A plain function is pickled only when it is first scheduled, so workers see the
    values of its captured variables at that time. All other callables are pickled for every call. Use the cache on only
    one thread at a time.
    """

    def __init__(self) -> None:
        self._known: collections.OrderedDict[
            int, tuple[weakref.ref[Any], Pickled]] = collections.OrderedDict()

    def pickled(self, f: Callable[..., Any]) -> Pickled:
        known = self._known.get(id(f))
        if known is not None and known[0]() is f:
            return known[1]
        data = names.pickled(calls.dump_callable(f), f)
        if isinstance(f, types.FunctionType):
            self._known[id(f)] = (weakref.ref(f), data)
            while len(self._known) > CALLABLES_MAX:
                try:
                    self._known.popitem(last=False)
                except KeyError:  # another thread has removed the entry
                    break
        return data


def call_of(callables: Callables, f: str | Callable[..., Any], args: Sequence[Any],
            kwargs: Mapping[str, Any] | None, along: Along = NOTHING) -> Request:
    """Returns the request for a call.

    Raises:
        TypeError: The function or an argument cannot be pickled, an argument cannot be encoded as JSON, or the function
            cannot be called with these arguments.
        ValueError: The arguments are too large.
    """
    if isinstance(f, str):
        return named_call(f, args, kwargs or {}, along.name)
    check_returns(f)
    return packed_call(callables.pickled(f), args, kwargs, along)


_NO_PLAIN_FUNCTION = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def check_returns(f: Callable[..., Any]) -> None:
    """Raises TypeError if `f` is a coroutine function or a generator function, because a worker cannot return a
    coroutine or a generator.
    """
    if not (isinstance(f, types.FunctionType) and f.__code__.co_flags & _NO_PLAIN_FUNCTION):
        return
    if f.__code__.co_flags & inspect.CO_COROUTINE:
        raise TypeError(f"{f.__qualname__} is an async function, and a worker cannot return its coroutine; "
                        "schedule a plain function that calls asyncio.run")
    raise TypeError(f"{f.__qualname__} is a generator, which a worker cannot return; return a list, or pass the "
                    "generator to create_per_worker_dataset")


def given(call: str, f: Any, args: Any, kwargs: Any) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
    """Returns the arguments for `schedule`. Raises TypeError if `args` is not a sequence."""
    if args is None:
        args = ()
    wrong = isinstance(args, (str, bytes)) or not isinstance(args, collections.abc.Iterable)
    if not wrong and (kwargs is None or isinstance(kwargs, collections.abc.Mapping)):
        return args, kwargs
    name = repr(f) if isinstance(f, str) else calls.name_of(f)
    each = [args] if kwargs is None or isinstance(kwargs, collections.abc.Mapping) else [args, kwargs]
    text = ", ".join(reprlib.repr(value) for value in each)
    comma = "," if len(each) == 1 else ""
    other = "" if call == "create" else f", or submit({name}, {text})"
    raise TypeError(f"{call} takes all arguments as one tuple: {call}({name}, args=({text}{comma})){other}")


def packed_call(pickled: Pickled, args: Sequence[Any], kwargs: Mapping[str, Any] | None,
                along: Along = NOTHING, shown_args: Sequence[Any] | None = None,
                item: int | None = None) -> Request:
    """Returns a request to call `pickled`. The dashboard displays `shown_args` in place of `args`. For `map`, `item` is
    the number of the first item in `args`.
    """
    function, called = pickled
    if along.name:
        called = called._replace(name=along.name)
    naming = along.blobs.naming() if along.blobs is not None and along.blobs.limit(SERVER_WAIT) else None
    if naming is not None and len(function) > calls.CALLABLE_BLOB_MIN:
        function = calls.CALLABLE + naming.take_callable(function)
    args, kwargs = tuple(args), dict(kwargs) if kwargs else {}  # copied, because an iterator can be read only once
    try:
        data, slots = calls.dump_arguments(args, kwargs, None if naming is None else naming.take)
    except Exception as error:
        named = calls.unpicklable(error, called.name, args, kwargs, item)
        if named is None:
            raise
        raise named from error
    # No argument refers to the uploads. The worker uses them because they are among the per-worker values of the
    # request.
    per_worker = [*along.uploads, *reversed(slots.of_workers)]
    beside = along.beside(SERVER_WAIT)
    if along.show_arguments:
        data.append(shown.of_call(args if shown_args is None else shown_args, kwargs))
    if slots.outputs:
        data.append(calls.origins([value._is_pickled for value in slots.outputs]))
    packed = calls.pack(function, data, along.output_in_bytes or beside,
                        naming is not None)
    contents = () if naming is None else naming.contents
    if beside or not (slots.outputs or per_worker):
        inputs = [Input(value._record, 0, value._is_pickled) for value in slots.outputs]
        made = Request(calls.FUNCTION, packed, BYTES, inputs, per_worker, contents, called)
        made.outputs = slots.outputs
        return made
    return _in_json(packed, slots.outputs, per_worker, contents, called)


def arguments_of(request: Request, blobs: Blobs) -> tuple[Any, ...] | None:
    """Returns the original positional arguments of a packed call, even if the program has changed the objects since
    then. Returns None if the arguments were dropped, or are encoded as JSON for an older server.
    """
    if not request.args or request.encoding != BYTES:
        return None
    args, _ = calls.load_arguments(calls.unpack(request.args)[1], [*request.outputs, *request.per_worker],
                                   blobs.get)
    found: tuple[Any, ...] = args
    return found


def _in_json(packed: bytes, outputs: Sequence[RemoteValue[Any]],
             per_worker: Sequence[PerWorkerValues], contents: Sequence[AnyContent],
             called: Called) -> Request:
    text = b'["' + base64.b64encode(packed) + b'"'
    inputs: list[Input] = []
    for value in outputs:
        text += b","
        inputs.append(Input(value._record, len(text), value._is_pickled))
    for kept in per_worker:
        text += b',{"$per_worker":"pw_%016x"}' % kept.handle
    return Request(calls.FUNCTION, text + b"]", JSON, inputs, per_worker, contents, called)


def plain_call(callables: Callables, f: Callable[..., Any], args: Sequence[Any],
               kwargs: Mapping[str, Any] | None, blobs: Blobs | None = None) -> Request:
    """Returns the request for a function that builds a per-worker value. The function runs again when a worker
    reconnects. Raises TypeError if the arguments contain a RemoteValue or PerWorkerValues.
    """
    request = packed_call(callables.pickled(f), args, kwargs, Along(blobs=blobs))
    if request.encoding != BYTES:  # the arguments contain RemoteValues or PerWorkerValues
        raise TypeError("the arguments of a builder must be plain values, because it runs again when a worker "
                        "reconnects")
    return request


def named_call(function: str, args: Sequence[Any], kwargs: Mapping[str, Any],
               shown: str = "") -> Request:
    """Returns the request for a function that workers provide by name, with JSON arguments."""
    names.function_name(function)
    slots: list[Any] = []
    mark = "\x00muster:"

    def slot(value: Any) -> Any:
        if isinstance(value, (CallValue, RemoteObject)):
            return named.plain(value)
        if not isinstance(value, (RemoteValue, PerWorkerValues)):
            raise TypeError(f"{function!r} accepts only JSON arguments, not {type(value).__name__}")
        slots.append(value)
        return f"{mark}{len(slots) - 1}"

    text = json.dumps({"args": list(args), "kwargs": dict(kwargs)} if kwargs else list(args),
                      default=slot, separators=(",", ":"), allow_nan=False).encode()
    inputs: list[Input] = []
    per_worker: list[PerWorkerValues] = []
    parts: list[bytes] = []
    size = 0
    for i, value in enumerate(slots):
        before, _, text = text.partition(json.dumps(f"{mark}{i}").encode())
        if isinstance(value, RemoteValue):
            inputs.append(Input(value._record, size + len(before), value._is_pickled))
        else:
            per_worker.append(value)
            before += b'{"$per_worker":"pw_%016x"}' % value.handle
        parts.append(before)
        size += len(before)
    return Request(function, b"".join(parts) + text, JSON, inputs, per_worker,
                   called=Called(shown) if shown else None)


def chunks_of(count: int | None) -> int:
    """Returns the number of calls that `map` puts into a closure, at most 512. The number is chosen so that there are
    about 256 closures.
    """
    return 16 if count is None else max(1, min(512, math.ceil(count / 256)))
