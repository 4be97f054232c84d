"""Creates, finds and deletes objects on tasks for a session, and sends method calls of these objects on the session's
stream.
"""
from __future__ import annotations

import collections
import os
import threading
import weakref
from typing import Any, Callable

from muster._pickled import calls as packing
from muster._wire.messages import BYTES, JSON, FindObject, NewDataset, NewObject
from muster.errors import from_wire
from muster.objects import handle
from muster.objects.call import Call
from muster.objects.calls import Calls
from muster.objects.handle import RemoteObject
from muster.objects.large import Memory
from muster.objects.named import NamedObject, arguments
from muster.objects.reasons import unavailable

DROPS_MAX = 10_000
"""Number of deleted objects that are reported to the server again on a later stream."""
ASKED_BYTES_MAX = 1 << 20
"""Maximum size in bytes of requests that are sent together. A larger request is sent alone."""


class Asked:
    """A request to create or find an object."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.answered = threading.Event()
        self.found: Any = None
        self.error: Any = None


class SessionObjects(Calls):
    """The objects of a session. Calls describes `lost`. `reads` returns whether the current thread processes the
    server's messages.
    """

    WHAT = "coordinator"

    def __init__(self, wake: Callable[[], None], lost: Callable[[str, Any], None], reads: Callable[[], bool],
                 memory: Callable[[], Memory | None] = lambda: None) -> None:
        super().__init__(wake, memory)
        self._lost = lost
        self._reads = reads
        self.ticket = os.urandom(24)
        self._told_ticket = False
        self._ends_with_it: set[int] = set()
        """Objects that are deleted at the end of the session."""
        self._asked: dict[int, Asked] = {}  # unanswered requests
        self._asks: list[Asked] = []  # unsent requests
        self._drops: collections.deque[int] = collections.deque(maxlen=DROPS_MAX)
        self._owner: weakref.ref[Any] | None = None
        self._dropped: Callable[[], Callable[[int], None] | None] = lambda: None
        handle.register(self.ticket, self)

    def _on_reader(self) -> bool:
        return self._reads() or super()._on_reader()

    def lost(self, task: str, error: Any) -> None:
        self._lost(task, error)

    def owned_by(self, owner: Any) -> None:
        self._owner = weakref.ref(owner)

    def tell_drops(self, to: Callable[[int], None]) -> None:
        """Sets a bound method that is called with the number of each deleted object. The session keeps only a weak
        reference to this method.
        """
        self._dropped = weakref.WeakMethod(to)

    def reason_of(self, call: Call, timeout: float | None) -> str:
        owner = self.owner()
        return owner.session.reason_of(timeout, [call.object]) if owner is not None else ""

    def owner(self) -> Any:
        return None if self._owner is None else self._owner()

    def create(self, words: dict[str, Any], function: bytes, arguments: list[Any]) -> RemoteObject:
        """Creates an object of a pickled class, and waits until the server has accepted the object. `words` contains
        fields of NewObject. Raises the server's error, or UnavailableError if there is no server.
        """
        args = packing.pack(function, arguments, True)
        if len(args) > handle.ARGUMENT_BYTES_MAX:
            raise ValueError(f"the arguments have {len(args)} bytes, the limit is "
                             f"{handle.ARGUMENT_BYTES_MAX}")
        return self.handle_of(self.make(words, packing.FUNCTION, args, BYTES), words["class_name"])

    def make(self, words: dict[str, Any], function: str, args: bytes, encoding: int) -> Any:
        """Creates an object with a function that workers provide by name, and returns an ObjectFound message. See
        `create`.
        """
        found = self._ask(NewObject(function=function, args=args, encoding=encoding, **words))
        if not words["detached"]:
            self._ends_with_it.add(found.object)
        return found

    def _outlives(self, call: Call) -> bool:
        return call.object not in self._ends_with_it

    def make_dataset(self, name: str, splits: list[bytes], epochs: int, position: Any) -> int:
        """Creates a dataset and returns the dataset's number. Raises the server's error, or UnavailableError if there
        is no server.
        """
        asked = NewDataset(name=name, split=splits, epochs=epochs)
        if position is not None:
            asked.position.epoch = position["epoch"]
            asked.position.done.extend(position["done"])
        return int(self._ask(asked).object)

    def look_for(self, name: str) -> Any:
        """Finds the object with this name and returns the ObjectFound message. Raises NotServedError if no object has
        this name.
        """
        return self._ask(FindObject(name=name))

    def create_named(self, words: dict[str, Any], cls: str, args: Any, kwargs: Any) -> NamedObject:
        """Creates an object of a class that the worker of the task has registered. See `create`."""
        found = self.make(words, cls, arguments(cls, args, kwargs), JSON)
        return NamedObject(found.object, found.task, words["class_name"], self.ticket, self, self.owner())

    def handle_of(self, found: Any, class_name: str) -> RemoteObject:
        return (NamedObject if found.json else RemoteObject)(found.object, found.task, class_name, self.ticket, self, self.owner())

    def _ask(self, message: Any) -> Any:
        if self._on_reader():
            raise RuntimeError("a callback cannot create or find objects, because it runs on the thread that receives the answer; "
                               "use a thread of your own")
        asked = Asked(message)
        with self._lock:
            if self._over is not None:
                raise unavailable(self._over)
            self._last = message.number = self._last + 1
            self._asked[message.number] = asked
            self._asks.append(asked)
        self._tell()
        asked.answered.wait()  # the wait ends with the session at the latest
        if asked.error is not None:
            raise asked.error.again()
        return asked.found

    def drop(self, object: int) -> None:
        told = self._dropped()
        if told is not None:
            told(object)
        self._ends_with_it.discard(object)
        with self._lock:
            self._drops.append(object)
            self._out.append(object)
        self._tell()

    def _fill_more(self, m: Any) -> bool:
        room = ASKED_BYTES_MAX if m.number else None
        said = False
        # Deletions are sent before creations, because a new object can have the name of a deleted one.
        may = bool(self._asks) and not m.drop and not any(isinstance(one, int) for one in self._out)
        while may and self._asks:
            message = self._asks[0].message
            size = message.ByteSize()
            if room is not None and size > room:
                break  # left for the next message: one can contain a single large request and a little more
            room = (ASKED_BYTES_MAX if room is None else room) - size
            (m.create if isinstance(message, NewObject) else
             m.create_dataset if isinstance(message, NewDataset) else m.find).append(message)
            del self._asks[0]
            said = True
        if (said or m.number or m.taken or m.drop) and not self._told_ticket:
            m.ticket = self.ticket
            self._told_ticket = True
        return said

    def _has_more(self) -> bool:
        return bool(self._asks)

    def _again_more(self) -> None:
        self._told_ticket = False
        self._asks = list(self._asked.values())
        self._out.extend(self._drops)

    def take(self, m: Any) -> None:
        for found in m.found:
            with self._lock:
                asked = self._asked.pop(found.number, None)
            if asked is None:
                continue
            if found.HasField("failure"):
                asked.error = from_wire(found.failure)
            asked.found = found
            asked.answered.set()
        if m.number:
            super().take(m)

    def end(self, reason: str) -> None:
        super().end(reason)
        with self._lock:
            asked, self._asked = self._asked, {}
        for one in asked.values():
            one.error = unavailable(reason)
            one.answered.set()
