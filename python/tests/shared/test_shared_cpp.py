"""Large values in shared memory between languages: C++ programs with Python's clients and workers."""
from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any, Callable, Iterator

import grpc
import numpy
import pytest

from conftest import Cluster, binary, until
from memories import memories, nowhere
from muster._pickled import buffers
from muster._shared.store import NotTaken, Store
from muster._wire.blobs import locate
from shared_closures import MB, array

BLOBS = pathlib.Path(binary()).with_name("example_blobs")
pytestmark = pytest.mark.skipif(not BLOBS.exists(), reason="only beside the examples in C++")


@pytest.fixture
def both(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> Iterator[tuple[Cluster, Any]]:
    """Yields a cluster with worker:0 in Python and worker:1 in C++, and the process of the latter."""
    found = make_cluster()
    found.add("--processes", "1", "--index", "0")
    with (tmp_path / "program.log").open("wb") as log:
        program = subprocess.Popen([str(BLOBS), "worker", found.server.grpc], stderr=log, stdout=log)
    try:
        found.wait_connected(2)
        yield found, program
    finally:
        program.kill()
        program.wait(20)
        found.close()


def blobs(made: Cluster) -> Any:
    return made.server.get("/api/v1/blobs")


def test_cpp_function_reads_a_value_of_a_python_worker(both: tuple[Cluster, Any]) -> None:
    made, _ = both
    with made.coordinator() as c:
        value = c.schedule(array, args=(8, 3))
        length = c.schedule("length", args=(value,)).fetch()
        assert length > 8 * MB  # the pickle of the array
        copying = c.schedule("copied", args=(value,))
        copied = copying.fetch()
        name = bytes.fromhex(copied["$blob"])
        assert copied["bytes"] == length
        # A function with a name returns data; the client decodes the bytes.
        found = buffers.load(c._session.blobs.get(name))
        assert numpy.array_equal(found, array(8, 3))
        assert blobs(made)["blobs"] == 0
        until(lambda: blobs(made)["taken_bytes"]["shared"] >= 2 * length)
        del value, copying, found
    names = set(memories())
    until(lambda: blobs(made)["elsewhere"]["values"] == 0, "nobody needs them any more")
    until(lambda: nowhere(names))


@pytest.mark.parametrize("workers", [1, 2])
def test_value_of_a_killed_cpp_worker_is_computed_again(both: tuple[Cluster, Any], workers: int) -> None:
    """With one worker, the value is computed on the only slot, whose closure waits for it."""
    made, program = both
    with made.coordinator() as c:
        value = c.schedule(array, args=(4, 3))
        copying = c.schedule("copied", args=(value,))
        copied = copying.fetch()
        program.kill()
        program.wait()
        until(lambda: blobs(made)["elsewhere"]["values"] == 1)
        again = [subprocess.Popen([str(BLOBS), "worker", made.server.grpc]) for _ in range(workers)]
        try:  # a closure that was dispatched with the lost value gets its replacement
            assert c.schedule("length", args=(copying,)).fetch(60) == copied["bytes"]
        finally:
            for each in again:
                each.kill()
                each.wait()


def test_copy_of_a_cpp_worker_outlives_its_maker(both: tuple[Cluster, Any]) -> None:
    made, _ = both
    with made.coordinator() as c:
        value = c.options(task="worker:0").schedule(array, args=(8, 3))
        assert c.schedule("length", args=(value,)).fetch() > 8 * MB
        until(lambda: blobs(made)["elsewhere"]["copies"] == 1)
        made.workers[0].kill()
        until(lambda: blobs(made)["elsewhere"]["copies"] == 0, "its maker has gone")
        assert numpy.array_equal(value.fetch(), array(8, 3))
        assert blobs(made)["elsewhere"]["values"] == 1
        del value
    until(lambda: blobs(made)["elsewhere"]["values"] == 0, "nobody needs it any more")


def test_cpp_worker_serves_a_value_once_for_its_ticket(both: tuple[Cluster, Any]) -> None:
    made, _ = both
    with made.coordinator() as c:
        value = c.schedule("filled", args=(2,))
        name = bytes.fromhex(value.fetch()["$blob"])
        with grpc.insecure_channel(made.server.grpc) as channel:
            place, = locate(channel, [name], 10, peers=True, host="")

        def take(ticket: bytes) -> None:
            store = Store(0)
            try:
                os.close(store.take_from_peer(place.peer, ticket, name, 2 * MB, ""))
            finally:
                store.close()

        with pytest.raises(NotTaken):
            take(os.urandom(32))
        take(place.ticket)
        with pytest.raises(NotTaken):
            take(place.ticket)
