"""Registers named functions, and executes the calls of closures."""
from __future__ import annotations

import base64
import collections
import collections.abc
import json
import threading
from typing import Any, Callable, NamedTuple, Sequence, TypeVar, overload

from muster._pickled import calls, shown, values
from muster._pickled.buffers import Data
from muster._pickled.unpicklers import loads
from muster._wire.messages import BYTES, JSON
from muster.errors import FailureKind
from muster.objects import named
from muster.objects.reasons import ARGUMENT_GONE
from muster.variables import variable
from muster.worker import failures, uploads
from muster.worker.blobs import BlobError, Blobs, Unreachable
from muster.worker.context import current

F = TypeVar("F", bound=Callable[..., Any])
Output = tuple[bytes, int]
"""Bytes of an output and their encoding."""

CALLABLES_MAX = 1024
"""Maximum number of unpickled callables that a worker keeps. The least recently used callable is dropped."""

_registered: dict[str, Callable[..., Any]] = {}


class Refused(Exception):
    """Raised if a closure cannot be called as requested."""

    def __init__(self, message: str, type: str = "muster.InputError",
                 kind: FailureKind = FailureKind.INPUT) -> None:
        super().__init__(message)
        self.kind = kind
        self.type = type


CONNECTION_LOST = "muster::connection_lost"
"""Failure type for a worker that could not reach the server. The server counts the attempt as a lost worker and retries
the call.
"""


def _refused(error: BlobError) -> Refused:
    """Returns the exception to raise if an argument or the output of a call cannot be transferred."""
    if isinstance(error, Unreachable):
        return Refused(str(error), CONNECTION_LOST, FailureKind.DEPENDENCY_LOST)
    return Refused(str(error))


@overload
def function(name: str) -> Callable[[F], F]: ...
@overload
def function(name: F) -> F: ...
def function(name: Any) -> Any:
    """Registers a function under a name. The workers of this process provide the function.

    Use ``@muster.function("text.count")``, or ``@muster.function`` to use the function's own name. Arguments and
    results are JSON, so that clients in any language can call the function. The function can also return bytes. If a
    client passes raw bytes, the function receives them as its only argument. If the function raises an exception, the
    call fails with that exception.

    Args:
        name: The name, of 1 to 256 bytes, or the function itself.

    Returns:
        The function itself, or a decorator.

    Raises:
        ValueError: The name is already registered, empty or too long.

    Example:
        ```python
        @muster.function("text.count")
        def count(text):
            return len(text.split())
        ```
    """
    if callable(name):
        register(name.__name__, name)
        return name

    def with_name(f: F) -> F:
        register(name, f)
        return f

    return with_name


def register(name: str, f: Callable[..., Any]) -> None:
    """Registers a function. Raises ValueError if the name is already registered, empty, or longer than 256 bytes."""
    if not name or len(name.encode()) > 256:
        raise ValueError(f"a function name must have 1 to 256 bytes, not {name!r}")
    if _registered.get(name, f) is not f:
        raise ValueError(f"a function named {name!r} already exists")
    _registered[name] = f


def registered() -> dict[str, Callable[..., Any]]:
    return dict(_registered)


class Kept:
    """Stores PerWorkerValues by handle. Each entry is a value, or the exception that the value's builder raised.
    Thread-safe.
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[bool, Any]] = {}

    def keep(self, handle: int, value: Any) -> None:
        self._values[handle] = (True, value)

    def keep_error(self, handle: int, error: str) -> None:
        self._values[handle] = (False, error)

    def drop(self, handle: int) -> None:
        self._values.pop(handle, None)

    def find(self, text: str) -> Any:
        return self.find_handle(_handle(text))

    def find_handle(self, handle: int) -> Any:
        if handle not in self._values:
            raise Refused(f"the per-worker value pw_{handle:016x} is not on this worker",
                          kind=FailureKind.STALE_HANDLE)
        good, value = self._values[handle]
        if not good:
            raise Refused(f"the per-worker value pw_{handle:016x} could not be built: {value}")
        return value


class Beside(NamedTuple):
    """Values that are sent separately from the bytes of the arguments."""

    inputs: Sequence[tuple[Data, int]] = ()
    """Outputs of other closures, and the encodings of these outputs."""
    uses: Sequence[int] = ()
    """Handles of PerWorkerValues."""


NOTHING = Beside()


class Callables:
    """Executes calls of pickled functions. Each callable is unpickled only once."""

    def __init__(self) -> None:
        self.blobs: Blobs | None = None
        self._lock = threading.Lock()  # protects _known
        self._known: collections.OrderedDict[Any, Callable[..., Any]] = collections.OrderedDict()

    def _load(self, pickled: bytes, installed: list[uploads.Installed]) -> Callable[..., Any]:
        # Equal bytes are different functions if they refer to different modules of the same name.
        key = (pickled, *(i.number for i in installed)) if installed else pickled
        found = self._known.get(key)
        if found is None:
            found = loads(self._open(pickled[len(calls.CALLABLE):]) if pickled.startswith(calls.CALLABLE) else pickled)
            with self._lock:
                self._known[key] = found
                while len(self._known) > CALLABLES_MAX:
                    self._known.popitem(last=False)
        elif len(self._known) > CALLABLES_MAX // 2:
            with self._lock:
                if key in self._known:
                    self._known.move_to_end(key)
        return found

    def _open(self, digest: bytes) -> memoryview:
        if self.blobs is None:
            raise Refused("this worker does not support blobs")
        try:
            return self.blobs.open(digest)
        except BlobError as error:
            raise _refused(error) from error

    def _inputs(self, origins: list[bool] | None, in_json: list[Any] | None,
                beside: Beside) -> list[Any]:
        """Returns the outputs of other closures that are inputs of a call.

        JSON results of functions that were not pickled are never unpickled, because any function can return JSON that
        looks like a pickle. Clients of version 0.1 do not send the origins of values. Values from these clients are
        unpickled, as in version 0.1.
        """
        if in_json is not None:
            return [values.unpickled(value, self._open) if origins is None or origins[i] else value
                    for i, value in enumerate(in_json)]
        known = origins or []
        return [values.decode_input(value, form, self._open, i < len(known) and known[i])
                for i, (value, form) in enumerate(beside.inputs)]

    def call(self, args: Data, encoding: int, kept: Kept, beside: Beside) -> Any:
        slots: list[Any] | None = None
        try:
            in_json: list[Any] | None = None
            uses: Sequence[int] = beside.uses
            if encoding == JSON:  # the value is from an older client or server
                packed, *given = json.loads(str(args, "utf-8"))
                args = base64.b64decode(packed)
                in_json, uses = _split(given, calls.origins_of(args))
            of_workers = [kept.find_handle(handle) for handle in uses]
            installed = [s for s in of_workers if isinstance(s, uploads.Installed)]
            uploads.activate_for(current(), installed)  # the pickles below may refer to their modules
            if in_json or beside.inputs or uses:
                slots = self._inputs(calls.origins_of(args), in_json, beside) + of_workers
            pickled, arguments = calls.unpack(args)
            f = self._load(pickled, installed)
            positional, named = calls.load_arguments(arguments, slots, self._open)
        except Refused:
            raise
        except ModuleNotFoundError as error:
            raise Refused(
                f"this worker has no module {error.name!r}, which the function or its arguments need: "
                f"install it there, or send it with upload=[{(error.name or '').partition('.')[0]}]",
                "ModuleNotFoundError") from error
        except Exception as error:
            raise Refused(f"the call could not be unpickled: {type(error).__name__}: {error}"
                          ) from error
        try:
            return f(*positional, **named)
        except Exception as error:
            failures.note(error, f, shown.in_call(args))
            raise


def _split(given: list[Any], origins: list[bool] | None) -> tuple[list[Any], list[int]]:
    """Splits the JSON values of a call into outputs and the handles of PerWorkerValues that follow them."""
    count = len(given)
    if origins is not None:
        count = min(count, len(origins))
    else:
        while count and type(given[count - 1]) is dict and list(given[count - 1]) == ["$per_worker"]:
            count -= 1
    return given[:count], [_handle(value["$per_worker"]) for value in given[count:]]


def _handle(text: str) -> int:
    return int(text.rpartition("_")[2], 16)


def call_json(f: Callable[..., Any], args: Data, encoding: int, kept: Kept,
              beside: Beside = NOTHING) -> Any:
    """Calls a function with arguments given as JSON."""
    if encoding == BYTES:
        if any(beside):
            raise Refused("a function that is called with bytes cannot receive closure outputs or per-worker values; "
                          "pass JSON arguments instead")
        return f(bytes(args))

    def hook(found: dict[str, Any]) -> Any:
        if "$object" in found:
            return named.hook(found)
        if len(found) == 1:
            if "$per_worker" in found:
                return kept.find(found["$per_worker"])
            if values.PICKLED in found:
                raise Refused("an argument is a pickled Python value, but the function accepts only JSON")
        elif values.blob_of(found):
            raise Refused("an argument is a large pickled Python value (a blob), but the function accepts only JSON")
        return found

    try:
        given = json.loads(str(args, "utf-8"), object_hook=hook)
    except ValueError as error:
        raise Refused(f"the arguments are not JSON: {error}") from error
    if isinstance(given, list):
        return f(*given)
    if not isinstance(given, dict) or not set(given) <= {"args", "kwargs"}:
        raise Refused("arguments must be an array, or an object with args and kwargs")
    return f(*given.get("args", ()), **given.get("kwargs", {}))


def json_output(value: Any, name: str) -> Output:
    """Returns the encoded output of a named function. Raises TypeError if the output is neither JSON nor bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), BYTES
    try:
        return named.dumps(value).encode(), JSON
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} returned a value that is not JSON: {error}") from error


class FunctionTable:
    """The functions of a worker: registered functions, functions pickled by this Python version, and variables."""

    def __init__(self, functions: dict[str, Callable[..., Any]], pickled: bool = True) -> None:
        self.names = list(functions)
        self._functions: list[Callable[..., Any] | None] = list(functions.values())
        self._callables = Callables()
        self.pickled = pickled
        """Whether data of clients may be unpickled."""
        if pickled:
            self.names.append(calls.FUNCTION)
            self._functions.append(None)
        self.names.append(variable.NAME)
        self._functions.append(variable.make)

    @property
    def blobs(self) -> Blobs | None:
        return self._callables.blobs

    def open_argument(self, name: bytes) -> memoryview:
        """Returns the bytes of an argument of an object's call. The caller may change these bytes. Raises Refused if
        the argument is not available.
        """
        try:
            if self.blobs is None:
                raise BlobError("this worker does not support blobs")
            return self.blobs.open(name, "take")
        except BlobError as error:
            raise Refused(str(error), ARGUMENT_GONE) from error

    def use_blobs(self, blobs: Blobs) -> None:
        """Sets the blob store. Must be called before the first call is executed."""
        self._callables.blobs = blobs

    def call(self, number: int, args: Data, encoding: int, kept: Kept,
             beside: Beside = NOTHING) -> Any:
        if number >= len(self._functions):
            raise Refused(f"this worker has no function with the number {number}", kind=FailureKind.STALE_HANDLE)
        f = self._functions[number]
        if f is None:
            return self._callables.call(args, encoding, kept, beside)
        return call_json(f, args, encoding, kept, beside)

    def is_pickled(self, number: int) -> bool:
        """Returns whether a function executes pickled callables. Clients of such a function also unpickle its
        exceptions.
        """
        return number < len(self._functions) and self._functions[number] is None

    def output(self, number: int, value: Any, args: Data, encoding: int) -> Output:
        """Calls the function with these arguments and returns the encoded output."""
        if self._functions[number] is None:
            in_json, blobs = encoding == JSON, self._callables.blobs
            as_blob = blobs is not None and calls.output_as_blob(args, in_json)
            try:
                return values.encode(value, calls.output_in_bytes(args, in_json),
                                     blobs.keep if blobs is not None and as_blob else None,
                                     reads_text=calls.reads_text(args, in_json))
            except Unreachable as error:
                raise _refused(error) from error
            except TypeError as error:
                if isinstance(value, collections.abc.Iterator):
                    raise TypeError(f"the function returned a {type(value).__name__}, which cannot be sent; return a "
                                    "list instead") from error
                if isinstance(value, collections.abc.Awaitable):
                    raise TypeError(f"the function returned a {type(value).__name__}, which cannot be sent; run it "
                                    "with asyncio.run") from error
                raise
        return json_output(value, self.names[number])
