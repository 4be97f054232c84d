"""The text that shows people the arguments of a call."""
from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy
import pytest

from conftest import until
from muster._pickled import buffers, calls, shown, values


@dataclasses.dataclass
class Batch:
    rows: int

    def __repr__(self) -> str:
        raise AssertionError("nobody's __repr__ is called")


@pytest.mark.parametrize("args, kwargs, text", [
    ((1, 2.5, "abc"), {"lr": 0.1}, "1, 2.5, 'abc', lr=0.1"),
    (([1, 2, 3, 4, 5, 6],), {}, "[1, 2, 3, 4, … 6 in all]"),
    (((1,), {"a": [[[1]]]}), {}, "(1,), {'a': [[…]]}"),
    ((1 << 4000, True, None), {}, "<int of 4001 bits>, True, None"),
    (("x" * 50, b"y" * 50), {}, f"'{'x' * 40}'…, <bytes of 50>"),
    ((Batch(1), Batch, len), {}, "<Batch>, Batch, len"),
    ((numpy.zeros((2, 3)), numpy.float32(1)), {}, "ndarray(2x3 float64), float32(scalar float32)"),
    (("\ud800",), {}, "'\\ud800'"),
])
def test_values_are_named(args, kwargs, text):
    assert shown.text(args, kwargs) == text


def test_text_of_arguments_has_a_size_limit():
    assert len(shown.text(tuple(range(1000)), {})) == shown.MAX
    assert len(shown.text(({"a" * 400: ["b" * 400] * 9},), {"c" * 400: 1})) == shown.MAX


def test_text_follows_the_call_and_does_not_change_it():
    arguments, _ = calls.dump_arguments((1, numpy.arange(9000)), {"k": "v"})
    call = calls.pack(b"function", [*arguments, shown.of_call((1,), {}), calls.origins([True])])
    assert b"1\1\0\0\0MPYR" in call
    assert shown.in_call(call) == shown.in_call(memoryview(call)[:-9]) == "1"
    assert all(shown.in_call(call[n:]) in ("", "1") for n in range(len(call)))
    assert shown.in_call(b"\xff\xff\xff\xffMPYR") == shown.in_call(b"x\xff\0\0\0MPYI") == ""
    assert calls.origins_of(call) == [True]
    function, rest = calls.unpack(call)
    (one, array), named = calls.load_arguments(rest, None)
    assert (function, one, array[8999], named) == (b"function", 1, 8999, {"k": "v"})


@pytest.mark.parametrize("value, text", [
    ({"a": (1, 2)}, "{'a': (1, 2)}"),
    (numpy.arange(6).reshape(2, 3) / 4, "ndarray(2x3 float64) [0, 0.25, 0.5, 0.75, …]"),
    (numpy.array([1, -2], "int8"), "ndarray(2 int8) [1, -2]"),
    (numpy.zeros((0, 3)), "ndarray(0x3 float64)"),
    (numpy.array(["a"]), "ndarray(1 <U1)"),
    (Batch(1), "<Batch>"),
    ("\ud800" * 9, repr("\ud800" * 9)),
    (["x" * 40] * 9, f"{'[' + ', '.join([repr('x' * 40)] * 4)}"[:shown.MAX - 1] + "…"),
])
def test_values_are_described(value, text):
    assert shown.of_value(value) == text
    for in_bytes in (False, True):
        data, encoding = values.encode({"value": value, "set": {1}}, in_bytes)
        found = buffers.load(data) if encoding == values.BYTES else values.decode(data)
        assert type(found["value"]) is type(value) and found["set"] == {1}


def test_json_of_a_blob_contains_the_description_only_for_clients_that_read_it():
    kept: list[bytes] = []

    def keep(parts: list[Any]) -> bytes:
        kept.append(b"".join(parts))
        return b"\xab" * 32

    array = numpy.zeros(calls.BLOB_MIN, "int8")
    new, _ = values.encode(array, keep=keep)
    old, _ = values.encode(array, keep=keep, reads_text=False)
    assert new == old[:-1] + b',"text":"ndarray(1048576 int8) [0, 0, 0, 0, \xe2\x80\xa6]"}'
    for text in (new, old):
        assert values.decode(text, lambda name: memoryview(kept[name == b""])).shape == array.shape
    assert calls.reads_text(calls.pack(b"f", []), False)
    assert not calls.reads_text(calls.HEAD.pack(calls.MAGIC, 0, 0), False)


def test_value_that_cannot_be_described_is_encoded_without_text():
    odd = type("ndarray", (), {"__module__": "numpy"})()  # an array without elements
    assert shown.of_value(odd) == ""
    assert shown.tail("") == b""


def test_call_without_arguments_has_no_text():
    assert shown.of_call((), {}) == b""


class Shapeless:
    __module__ = "numpy.test"

    @property
    def shape(self):
        raise RuntimeError("it has none")


def test_array_without_a_shape_is_named_by_its_type():
    assert shown.text((Shapeless(),), {}) == "<Shapeless>"


class Changing(dict):
    def items(self):
        raise RuntimeError("dictionary changed size during iteration")


def test_arguments_that_cannot_be_described_are_omitted():
    assert shown.of_call((), Changing(a=1)) == b""


def add(a: int, b: int = 0) -> int:
    return a + b


@pytest.mark.parametrize("shows", [True, False])
def test_server_shows_the_arguments_of_a_closure(make_cluster: Any, shows: bool) -> None:
    cluster = make_cluster()  # no worker is connected, so the closures stay queued
    c = cluster.coordinator(show_arguments=shows)
    first = c.schedule(add, iter((1, 2)))
    second = c.schedule(add, (first,), {"b": 3})
    path = f"/api/v1/jobs/{c.wait_open()}/closures"
    until(lambda: len(cluster.server.get(path)["closures"]) == 2, "they are there")
    told = [cluster.server.get(f"/api/v1/closures/{one['id']}").get("args_text") for one in cluster.server.get(path)["closures"]]
    assert told == (["1, 2", "<RemoteValue>, b=3"] if shows else [None, None])
    del second


def arrays(n: int) -> Any:
    return numpy.arange(n, dtype="float32")


def test_server_shows_the_type_shape_and_beginning_of_a_value(make_cluster: Any) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")
    c = cluster.coordinator()
    for n in (9, 3_000_000):  # the second value is a blob
        value = c.schedule(arrays, (n,))
        assert value.fetch(20)[8] == 8
        (listed,) = [one for one in cluster.server.get(f"/api/v1/jobs/{c.wait_open()}/closures?sort=started&order=desc")["closures"][:1]]
        preview = cluster.server.get(f"/api/v1/remote_values/{listed['id'].replace('cl_', 'rv_')}/preview?bytes=1")
        assert preview["description"] == f"ndarray({n} float32) [0, 1, 2, 3, …]"


class Odd(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("nobody asks this")


AGAIN = ValueError("again")


def fail(how: str, n: int = 0) -> None:
    raise {"odd": Odd("odd"), "again": AGAIN}.get(how) or ValueError(how)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from 3.11 on")
def test_failed_call_is_shown_with_its_arguments(make_cluster: Any) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def notes(*args: Any, **options: Any) -> Any:
        c = cluster.coordinator(continue_on_error=True, **options)
        value = c.schedule(fail, args)
        with pytest.raises(Exception) as raised:
            value.fetch(20)
        error = raised.value
        (listed,) = cluster.server.get(f"/api/v1/jobs/{c.wait_open()}/closures")["closures"]
        text = cluster.server.get(f"/api/v1/closures/{listed['id']}")["error"]["traceback"]
        return getattr(error, "__notes__", []), text

    found, text = notes("bad", 3)
    assert found == ["called as fail('bad', 3)"]
    assert text.endswith("ValueError: bad\ncalled as fail('bad', 3)\n")
    assert notes("bad", show_arguments=False)[0] == []
    assert notes("again", 1)[0] == ["called as fail('again', 1)"]
    assert notes("again", 2)[0] == ["called as fail('again', 2)"]
    notes("odd")  # the failure is reported, whatever the exception class does
