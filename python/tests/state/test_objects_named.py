"""Objects of classes that workers have registered by name, in Python and C++: arguments and results are JSON."""
from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
from typing import Any, Iterator

import pytest

import muster
from conftest import Cluster, until
from muster.objects import handle, named
from muster.objects.calls import Calls

CPP = pathlib.Path(os.environ.get("MUSTER_BINARY", "muster")).with_name("example_objects")


def test_python_class_is_created_by_its_name(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        t = c.create("Tally", (5,), {"step": 2}, task="worker:0", name="tally")
        assert repr(t) == "<muster.RemoteObject Tally on worker:0>"
        assert [t.add().fetch(20), t.add(n=3).fetch(20)] == [7, 13]
        found = c.get_object("tally")
        assert found == t and found.same({"a": [1, None, "é"]}).fetch(20) == {"a": [1, None, "é"]}
        assert t.add(t.add(1)).fetch(20) == 45, "an output can be passed before it is ready"
        with pytest.raises(LookupError, match="not here"):
            t.fail().fetch(20)
        with pytest.raises(TypeError, match="Tally.same accepts only JSON: object is not JSON"):
            t.same(object())
        with pytest.raises(ValueError, match="the arguments have .* the limit is"):
            t.same("x" * (handle.ARGUMENT_BYTES_MAX + 1))
        with pytest.raises(TypeError, match="accepts only JSON: set is not JSON"):
            c.create("Tally", ({1},), task="worker:0")
        with pytest.raises(muster.ClosureError, match="no function 'Nobody'"):
            c.create("Nobody", task="worker:0").add().fetch(20)


def test_handles_are_passed_in_json_and_in_pickles(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        a, b = (c.create("Tally", task=task) for task in ("worker:0", "worker:1"))
        assert a.add_to(b, 3).fetch(20) == 3
        assert a.same([{"h": b}]).fetch(20) == [{"h": b}]
        assert a.same(b).fetch(20).add().fetch(20) == 4
        assert c.schedule("add_to", (b, 5)).fetch(20) == 9
        assert c.schedule(lambda t: t.add(1).fetch(20), (b,)).fetch(20) == 10
        assert c.schedule("add_to", (b, b.add(0))).fetch(20) == 20, "also for an output of a method"


def test_json_that_resembles_a_handle_stays_json() -> None:
    good = {"$object": "obj_00000000000000ff", "task": "ps:0", "class": "C", "ticket": "eHh4"}
    assert named.hook(dict(good)) == good, "no session here has this ticket"
    calls = Calls(lambda: None)
    handle.register(b"xxx", calls)
    made = named.hook(dict(good))
    assert isinstance(made, named.NamedObject) and (made._id, made._ticket) == (255, b"xxx")
    for field, wrong in (("$object", "ds_1"), ("$object", "obj_zz"), ("ticket", "?"), ("task", 1), ("more", "")):
        other: dict[str, Any] = {**good, field: wrong}
        assert named.hook(dict(other)) == other


def test_method_of_a_named_class_is_not_repeated_for_lack_of_room() -> None:
    """`read` of a variable can be repeated; of other classes this is not known."""
    from muster.objects import reasons

    calls = Calls(lambda: None)
    call = calls.add(1, "read", b"[]", b"", plain=True, loads=bytes.decode)
    assert not reasons.may_be_repeated(call, reasons.NO_ROOM_FOR_CALL)


@contextlib.contextmanager
def cpp(cluster: Cluster) -> Iterator[None]:
    """Starts a parameter server and a worker of examples/objects.cpp."""
    begun = [subprocess.Popen([str(CPP), role, cluster.server.grpc]) for role in ("ps", "worker")]
    try:
        until(lambda: {"ps"} <= {t["job"] for t in cluster.server.tasks() if t["state"] == "CONNECTED"})
        yield
    finally:
        for one in begun:
            one.terminate()
        for one in begun:
            one.wait(20)


@pytest.mark.skipif(not CPP.exists(), reason="only beside the examples in C++")
def test_cpp_class_is_used_from_python(tmp_path: pathlib.Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        cluster.add("--processes", "1", "--index", "7")
        with cpp(cluster), cluster.coordinator() as c:
            w = c.create("Weights", (3,), task="ps:0", name="weights")
            w.add([1, 2, 3.5])
            assert w.read().fetch(20) == [1, 2, 3.5]
            for _ in range(40):
                c.schedule("train", (w, 2.0))  # the C++ worker runs it, and calls the object in turn
            c.join()
            assert w.read().fetch(20) == pytest.approx([2, 2, 2], abs=0.1)
            c.schedule(lambda w: w.add([1, 1, 1]).fetch(20), (w,)).fetch(20)  # the Python worker runs it
            assert c.get_object("weights").read().fetch(20) == pytest.approx([3, 3, 3], abs=0.1)
            with pytest.raises(muster.ClosureError, match="'sub'"):
                w.sub([1]).fetch(20)
            with pytest.raises(muster.ClosureError):
                w.add("text").fetch(20)
            with pytest.raises(muster.ClosureError, match="Weights"):
                c.create("Nobody", task="ps:0").add().fetch(20)
            t = c.create("Tally", task="worker:7")
            assert t.same(w).fetch(20).read().fetch(20) == w.read().fetch(20), "a handle of C++ as an argument"
    finally:
        cluster.close()
