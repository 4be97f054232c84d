"""Serialization of exceptions for the client: class, `args`, attributes, notes, and the exceptions that caused them.

Methods of an exception's class are never called on either side, because such a method could fail. For example, pickle
would create exceptions from their `args`, which is not possible for many classes. Each part is a separate pickle. If a
part cannot be pickled or unpickled, only this part is omitted.
"""
from __future__ import annotations

import pickle
import sys
import types
from typing import Any, Callable, Iterator, NamedTuple

from muster._pickled import picklers

BYTES_MAX = 64 << 10
"""Maximum size of a serialized exception. A larger exception is sent without its causes, or is omitted."""
PART_BYTES_MAX = 16 << 10
"""Maximum size of a single attribute or of `args`. Larger attributes are omitted."""
NODES_MAX = 32
"""Maximum number of exceptions, including causes, contexts and members of groups."""
_HEAP_TYPE = 1 << 9
_OWN = frozenset(vars(BaseException)) | frozenset(vars(object)) | {"__weakref__"}
_MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)


class Node(NamedTuple):
    """One exception. A node refers to other exceptions by their positions; -1 means no exception."""

    type: bytes
    args: bytes
    attributes: dict[str, bytes]
    """Attributes in the exception's dictionary."""
    members: dict[str, bytes]
    """Other attributes, such as `errno` of an OSError, and slots."""
    group: list[int] | None
    cause: int
    context: int
    suppress: bool


def pack(error: BaseException) -> bytes:
    """Returns the serialized exception. Returns empty bytes if the exception is too large even without its causes.
    Raises any exception that inspecting it raises.
    """
    for nodes_max, part_max in ((NODES_MAX, PART_BYTES_MAX), (1, PART_BYTES_MAX), (1, 1 << 10)):
        data = pickle.dumps([tuple(n) for n in _nodes(error, nodes_max, part_max)], protocol=5)
        if len(data) <= BYTES_MAX:
            return data
    return b""


def unpack(data: bytes) -> BaseException | None:
    """Returns the exception with its causes, or None if its class is not available.

    Unpickles `data`, which must therefore come from a function of the same user. Raises any exception that inspecting
    the classes raises.
    """
    nodes = [Node(*n) for n in pickle.loads(data)]
    made: list[BaseException | None] = [None] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):  # members of a group have higher positions than the group
        node = nodes[i]
        kind = _load(node.type)
        group = None if node.group is None else [e for k in node.group if (e := made[k]) is not None]
        if isinstance(kind, type) and issubclass(kind, BaseException):
            made[i] = new(kind, _load(node.args, ()), group)
            _fill(made[i], node)
    for node, error in zip(nodes, made):
        if error is not None:
            chain(error, made[node.cause] if node.cause >= 0 else None,
                  made[node.context] if node.context >= 0 else None, node.suppress)
    return made[0]


def new(kind: type, args: Any, group: list[BaseException] | None = None) -> BaseException:
    """Creates an instance of a class without calling methods that are written in Python. Raises TypeError if this is
    impossible.
    """
    builtin: Any = kind
    while builtin.__flags__ & _HEAP_TYPE:
        builtin = builtin.__base__  # the base class that defines the memory layout
    given = args if isinstance(args, tuple) else ()
    if group is not None:
        given = (given[0] if given and isinstance(given[0], str) else "", group)
    made: BaseException = builtin.__new__(kind, *given)
    BaseException.args.__set__(made, given)  # type: ignore[attr-defined]
    return made


def like(original: BaseException, kind: type) -> BaseException:
    """Returns an instance of `kind`, a subclass of the class of `original`, with all attributes of `original`."""
    group = getattr(original, "exceptions", None) if _is_group(original) else None
    made = new(kind, BaseException.args.__get__(original),  # type: ignore[attr-defined]
               list(group) if group is not None else None)
    for name, value in _members_of(original):
        _set(made, name, value)
    dictionary(made).update(dictionary(original))
    chain(made, original.__cause__, original.__context__, original.__suppress_context__)
    return made


def chain(error: BaseException, cause: BaseException | None, context: BaseException | None,
          suppress: bool = True) -> None:
    """Sets the cause and the context of an exception, even if its class does not allow attributes to be set."""
    object.__setattr__(error, "__cause__", cause)
    object.__setattr__(error, "__context__", context)
    object.__setattr__(error, "__suppress_context__", suppress)


def dictionary(error: BaseException) -> dict[str, Any]:
    found: dict[str, Any] = object.__getattribute__(error, "__dict__")
    return found


def _nodes(error: BaseException, nodes_max: int, part_max: int) -> list[Node]:
    known: dict[int, int] = {}
    found: list[BaseException] = []

    def place(other: BaseException | None) -> int:
        if other is None or (id(other) not in known and len(found) >= nodes_max):
            return -1
        if id(other) not in known:
            known[id(other)] = len(found)
            found.append(other)
        return known[id(other)]

    def dump(value: Any) -> bytes | None:
        try:
            return picklers.dump_back(value, part_max)
        except Exception:
            return None

    def or_text(value: Any) -> Any:
        return repr(value)[:1000] if dump(value) is None else value

    place(error)
    nodes: list[Node] = []
    while len(nodes) < len(found):
        e = found[len(nodes)]
        args = BaseException.args.__get__(e)  # type: ignore[attr-defined]
        group = None
        if _is_group(e):
            first = len(found)
            places = [place(each) for each in e.exceptions]  # type: ignore[attr-defined]
            group, args = [k for k in places if k >= first], args[:1]
        nodes.append(Node(
            dump(type(e)) or dump(_stand_in(type(e), dump)) or b"", dump(args) or dump(tuple(map(or_text, args))) or b"",
            {k: v for k, value in dictionary(e).items() if (v := dump(value)) is not None},
            {k: v for k, value in _members_of(e) if (v := dump(value)) is not None},
            group, place(e.__cause__), place(e.__context__), e.__suppress_context__))
    return nodes


def _stand_in(kind: type, dump: Callable[[Any], bytes | None]) -> type:
    """Returns a replacement for a class that cannot be pickled. The replacement has the same name, and derives from the
    first base class that can be pickled.
    """
    base = next(each for each in kind.__mro__[1:] if dump(each) is not None)
    return type(kind.__name__, (base,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})


def _is_group(error: BaseException) -> bool:
    return sys.version_info >= (3, 11) and isinstance(error, BaseExceptionGroup)


def _members_of(error: BaseException) -> Iterator[tuple[str, Any]]:
    for kind in type(error).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, _MEMBERS) and name not in _OWN:
                try:
                    yield name, member.__get__(error)
                except AttributeError:  # the member has no value
                    pass


def _fill(error: Any, node: Node) -> None:
    for name, data in node.members.items():
        _set(error, name, _load(data))
    for name, data in node.attributes.items():
        dictionary(error)[name] = _load(data)


def _set(error: BaseException, name: str, value: Any) -> None:
    try:
        object.__setattr__(error, name, value)
    except (AttributeError, TypeError):  # the attribute is read-only, as in groups, and therefore already set
        pass


def _load(data: bytes, instead: Any = None) -> Any:
    try:
        return picklers.load_back(data) if data else instead
    except Exception:
        return instead
