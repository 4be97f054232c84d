"""What people read of a call's arguments."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy
import pytest

import muster
from conftest import Cluster
from muster._pickled import calls, shown


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


def test_a_text_is_bounded():
    assert len(shown.text(tuple(range(1000)), {})) == shown.MAX
    assert len(shown.text(({"a" * 400: ["b" * 400] * 9},), {"c" * 400: 1})) == shown.MAX


def test_it_stands_behind_the_call_and_changes_nothing_of_it():
    arguments, _ = calls.dump_arguments((1, numpy.arange(9000)), {"k": "v"})
    call = calls.pack(b"function", [*arguments, shown.of_call((1,), {}), calls.origins([True])])
    assert b"1\1\0\0\0MPYR" in call
    assert calls.origins_of(call) == [True]
    function, rest = calls.unpack(call)
    (one, array), named = calls.load_arguments(rest, None)
    assert (function, one, array[8999], named) == (b"function", 1, 8999, {"k": "v"})


def test_a_call_without_arguments_says_nothing():
    assert shown.of_call((), {}) == b""


class Shapeless:
    __module__ = "numpy.test"

    @property
    def shape(self):
        raise RuntimeError("it has none")


def test_an_array_without_a_shape_is_named_by_its_type():
    assert shown.text((Shapeless(),), {}) == "<Shapeless>"


class Changing(dict):
    def items(self):
        raise RuntimeError("dictionary changed size during iteration")


def test_what_cannot_be_described_is_left_out():
    assert shown.of_call((), Changing(a=1)) == b""


def add(a: int, b: int = 0) -> int:
    return a + b


@pytest.mark.parametrize("shows", [True, False])
def test_the_server_tells_it_of_a_closure(cluster: Cluster, shows: bool) -> None:
    c = cluster.coordinator(show_arguments=shows)
    first = c.schedule(add, (1,), {"b": 2})
    second = c.schedule(add, (first,))
    assert second.fetch(20) == 3

    def told(value: muster.RemoteValue[Any]) -> Any:
        listed = cluster.server.get(f"/api/v1/jobs/{c.wait_open()}/closures")["closures"]
        return cluster.server.get(f"/api/v1/closures/{listed[0 if value is first else 1]['id']}").get("args_text")

    assert told(first) == ("1, b=2" if shows else None)
    assert told(second) == ("<RemoteValue>" if shows else None)


def test_arguments_that_can_be_read_once_are_told_too(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.schedule(add, iter((1, 2)))
    assert value.fetch(20) == 3
    (listed,) = cluster.server.get(f"/api/v1/jobs/{c.wait_open()}/closures")["closures"]
    assert cluster.server.get(f"/api/v1/closures/{listed['id']}")["args_text"] == "1, 2"
