"""Values of classes that the program itself defines, which are pickled by value in both directions."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from conftest import Cluster
from muster._pickled import picklers

PROGRAM = """
import dataclasses, enum, sys, typing
import muster

@dataclasses.dataclass{slots}
class Point:
    x: int = 0

@dataclasses.dataclass{frozen}
class Frozen:
    x: int = 0

class Base:
    __slots__ = ("__secret", "__weakref__")
    def __init__(self): self.__secret = 7
    def secret(self): return self.__secret

class Derived(Base):
    __slots__ = "more",
    count = 1

class Open(Base):
    pass

class Pair(typing.NamedTuple):
    first: int

class Colour(enum.Enum):
    RED = 1

class Word(str, enum.Enum):
    __slots__ = ()
    GO = "go"

def several():
    derived, opened = Derived(), Open()
    derived.more, opened.any = 8, 9
    return {{"list": [Point(2), Frozen(3)], "derived": derived, "open": opened, "pair": Pair(4), "colour": Colour.RED}}

with muster.ClusterCoordinator({server!r}, log_to_driver=False) as c, muster.Executor({server!r}) as executor:
    value = c.submit(lambda: Point(2))
    found = value.fetch(20)
    assert type(found) is Point and found == Point(2), found
    assert c.submit(lambda p: p.x, value).fetch(20) == 2
    assert c.submit(lambda p: p, value).fetch(20) == Point(2)
    assert c.submit(lambda p: p, Point(5)).fetch(20) == Point(5)
    Derived.count = 3
    every = c.submit(several)
    found = every.fetch(20)
    assert found["list"] == [Point(2), Frozen(3)] and type(found["list"][0]) is Point
    assert (found["derived"].secret(), found["derived"].more, found["open"].secret(), found["open"].any) == (7, 8, 7, 9)
    assert (found["pair"], type(found["pair"]), found["colour"]) == (Pair(4), Pair, Colour.RED)
    assert c.submit(lambda: Word.GO).fetch(20) is Word.GO
    assert Derived.count == 3, "a returned instance does not change the class"
    again = c.submit(lambda every, also: [every["list"][1].x, every["derived"].secret(), also.x], every, value)
    assert again.fetch(20) == [3, 7, 2]
    assert executor.submit(Point, 6).result(20) == Point(6)
    assert list(c.map(Point, [1, 2])) == [Point(1), Point(2)]
    try:
        import joblib, muster.joblib
    except ImportError:
        pass
    else:
        with joblib.parallel_config(backend="muster", server={server!r}):
            assert joblib.Parallel(2)(joblib.delayed(Point)(i) for i in range(3)) == [Point(0), Point(1), Point(2)]
    class Error(Exception):
        __slots__ = ("point",)
    def fails():
        error = Error()
        error.point = Point(1)
        raise error
    try:
        c.submit(fails).fetch(20)
    except muster.ClosureError as error:
        assert error.original.point == Point(1)
print("good")
"""


def test_instances_of_classes_with_slots_are_returned(cluster: Cluster) -> None:
    slots = sys.version_info >= (3, 10)
    program = PROGRAM.format(server=cluster.server.grpc, slots="(slots=True)" if slots else "",
                             frozen="(slots=True, frozen=True)" if slots else "(frozen=True)")
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.stdout == "good\n", ended.stderr


def test_value_that_cannot_be_unpickled_names_its_call(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    def of_worker_alone() -> object:
        import sys
        import types

        module = types.ModuleType("of_worker_alone")
        exec("class Thing: pass", module.__dict__)
        sys.modules[module.__name__] = module
        return module.Thing()

    with pytest.raises(ImportError, match="the value of .*of_worker_alone cannot be unpickled here: ModuleNotFoundError"):
        cluster.coordinator().submit(of_worker_alone).fetch(20)


class Slotted:
    x: int
    __slots__ = ("x",)


def test_instance_that_lost_its_slots_mentions_them_in_the_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of older versions lose the slots."""
    monkeypatch.setattr(picklers, "_with_slots", lambda value, made: made)
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        def make() -> Slotted:
            made = Slotted()
            made.x = 1
            return made

        said = " its class has __slots__" if sys.version_info >= (3, 10) else ""
        with pytest.raises(AttributeError, match=f"make cannot be unpickled here: .*{said}"):
            cluster.coordinator().submit(make).fetch(20)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
