"""Collects the data that a session must send on its stream, and converts the data to messages.

Closures are sent in the order of their tokens. Data that refers to a token is sent only after the closure with this
token. A message contains up to 1000 closures and 256 KiB; a larger closure is sent alone. The session's lock protects
this data.
"""
from __future__ import annotations

import collections
from typing import Any

from muster._pickled.names import Called
from muster._wire import columns
from muster._wire.messages import BYTES, SessionRequest
from muster.coordinator.options import ClosureOptions
from muster.coordinator.records import Built, Record

CLOSURES_PER_MESSAGE = 1000
BYTES_PER_MESSAGE = 256 << 10


class Outbox:
    """Unsent data of a session. Its size is limited by the session's pending_max and by the number of handles."""

    def __init__(self) -> None:
        self.records: collections.deque[Record] = collections.deque()
        self.bytes = 0
        self.built: list[Built] = []
        self.release: list[int] = []
        self.cancel_one: list[int] = []
        self.release_built: list[int] = []
        self.open: Any | None = None
        self.objects: Any = None
        """Objects of the session, which add their calls to messages."""
        self.cancel = False
        self.close = False
        self._names_sent = 0
        self.last_sent = 0
        """The highest token of a sent closure."""

    def add(self, record: Record) -> None:
        self.bytes += len(record.args)
        self.records.append(record)  # this call must be the last, because Ctrl-C can interrupt the method after it

    def drop(self, tokens: set[int]) -> int:
        """Removes unsent closures and returns the number of removed closures."""
        dropped = [r for r in self.records if r.token in tokens]
        self.bytes -= sum(len(r.args) for r in dropped)
        self.records = collections.deque(r for r in self.records if r.token not in tokens)
        return len(dropped)

    @property
    def waiting(self) -> bool:
        return bool(self.records or self.built or self.release or self.cancel_one or
                    self.release_built or self.cancel or self.close)

    def next_message(self, names: list[str]) -> bytes | None:
        """Returns the next message, or None if there is nothing to send."""
        m = SessionRequest()
        said = bool(self.records or self.built or self.open)
        if self.open is not None:
            m.open.CopyFrom(self.open)
            self.open = None
        if said and self._names_sent < len(names):
            m.function_name.extend(names[self._names_sent:])
            self._names_sent = len(names)
        for b in self.built:
            m.per_worker.add(token=b.token, function=b.function, args=b.args, encoding=BYTES,
                             name=b.name)
        self.built = []
        large = self._add_closures(m) if self.records else None
        said |= self._add_rest(m)
        if large is None and self.objects is not None and self.objects.fill(m.objects):
            said = True
        else:
            m.ClearField("objects")
        if large is not None:
            return columns.serialize(m, "args", large)
        data: bytes = m.SerializeToString()
        return data if said else None

    def _add_closures(self, m: Any) -> bytes | None:
        """Adds closures to a message. If the message contains a single large closure, returns the closure's arguments,
        which are not in the message.
        """
        taken: list[Record] = []
        size = 0
        generation = self.records[0].generation
        records = self.records
        while records and len(taken) < CLOSURES_PER_MESSAGE and size < BYTES_PER_MESSAGE:
            r = records[0]
            if r.generation != generation or (taken and size + len(r.args) > BYTES_PER_MESSAGE):
                break
            taken.append(records.popleft())
            size += len(r.args)
        self.bytes -= size
        m.generation = generation
        m.token.extend([r.token for r in taken])
        m.function.extend([r.function for r in taken])
        large = taken[0].args if size >= columns.LARGE and len(taken) == 1 else None
        if large is None:
            m.args.extend([r.args for r in taken])
        if any(r.encoding == BYTES for r in taken):
            m.encoding.extend([r.encoding for r in taken])
        if generation == 0 or any(r.options is not None for r in taken):
            _add_options(m, taken, generation == 0)
        if any(r.called is not None for r in taken):
            _add_callables(m, taken)
        for position, r in enumerate(taken):
            if r.inputs or r.per_worker:
                _add_inputs(m, position, r)
        self.last_sent = taken[-1].token
        return large

    def _add_rest(self, m: Any) -> bool:
        # Calls of objects are sent first, because a detached object outlives the session.
        close = self.close and not (self.objects is not None and self.objects.has_more())
        said = bool(self.release_built or self.cancel or close)
        if self.release:
            said |= _move(self.release, m.release_token, self.last_sent)
        if self.cancel_one:
            said |= _move(self.cancel_one, m.cancel_token, self.last_sent)
        m.release_per_worker.extend(self.release_built)
        self.release_built = []
        if self.cancel and not self.records:
            m.cancel, self.cancel = True, False
        if close:
            m.close, self.close = True, False
        return said


def _move(tokens: list[int], to: Any, last_sent: int) -> bool:
    """Moves tokens from `tokens` to a message if their closures have already been sent."""
    ready = [t for t in tokens if t <= last_sent]
    tokens[:] = [t for t in tokens if t > last_sent]
    to.extend(ready)
    return bool(ready)


_NO_OPTIONS = ClosureOptions()


def _add_options(m: Any, taken: list[Record], own_errors: bool) -> None:
    numbers: dict[int, int] = {}
    for r in taken:
        o: ClosureOptions | None = _NO_OPTIONS if own_errors and r.options is None else r.options
        number = 0
        if o is not None:
            number = numbers.get(id(o), 0)
            if number == 0:
                wire = o.to_wire()
                wire.own_error = own_errors
                m.options.append(wire)
                number = numbers[id(o)] = len(m.options)
        m.options_of.append(number)


def _add_callables(m: Any, taken: list[Record]) -> None:
    numbers: dict[Called | None, int] = {None: 0}
    column: list[int] = []
    last: Called | None = None
    number = 0
    for r in taken:
        if r.called is not last:
            last = r.called
            number = numbers.get(last, -1)
            if number < 0 and last is not None:
                number = numbers[last] = len(numbers)
                m.callable.add(name=last.name, hash=last.hash)
        column.append(number)
    m.callable_of.extend(column)


def _add_inputs(m: Any, position: int, r: Record) -> None:
    for record, closure, offset, pickled in r.inputs:
        added = m.input.add(position=position, offset=offset, pickled=pickled)
        if record is not None:
            added.token = record.token
        else:
            added.closure = closure
    for built in r.per_worker:
        m.input.add(position=position, per_worker=built.handle)
