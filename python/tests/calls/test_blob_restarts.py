"""Large arguments and values while the server is killed and restarted."""
from __future__ import annotations

import pathlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import grpc
import numpy
import pytest

from conftest import DEADLINE, Cluster
from muster._wire import blobs
from muster.errors import FailureKind
from muster.worker import blobs as child_blobs
from muster.worker.blob_cache import BlobCache
from muster.worker.functions import CONNECTION_LOST, FunctionTable

MakeCluster = Callable[..., Cluster]
PATIENCE = 60.0
"""Time limit in seconds for calls that wait for a restarted server."""


def total(x: Any, seconds: float = 0) -> float:
    time.sleep(seconds)
    return float(x.sum())


def ones(count: int) -> Any:
    return numpy.ones(count)


def restart(cluster: Cluster, gap: float) -> None:
    grpc_address, http = cluster.server.grpc, cluster.server.http.partition("//")[2]
    cluster.server.kill()
    time.sleep(gap)
    cluster.server.start(grpc_address, http)


def test_large_contents_are_waited_for_as_long_as_the_session_can_be_resumed(make_cluster: MakeCluster,
                                                                            tmp_path: pathlib.Path) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add("--processes", "1", "--shm-bytes-max", "0")
    with made.coordinator(connect_timeout=1, shm_bytes_max=0) as c, ThreadPoolExecutor() as threads:
        there = c.submit(ones, 400_000)
        there.future().result(DEADLINE)
        large = made.coordinator(connect_timeout=1).submit(ones, 500_000)
        while not large.done():
            time.sleep(0.05)
        c.submit(time.sleep, 1.5)
        waiting = [c.submit(total, numpy.full(300_000 + i, 2.0)) for i in range(3)]  # the worker already has these arguments
        chained = c.submit(total, c.submit(ones, 600_000))
        time.sleep(0.5)
        restarting = threads.submit(restart, made, 8.0)
        time.sleep(0.5)
        fetched = threads.submit(large.fetch, PATIENCE)
        put = threads.submit(lambda: c.submit(total, numpy.full(700_000, 3.0)).fetch(PATIENCE))
        restarting.result(PATIENCE)
        assert [value.fetch(PATIENCE) for value in waiting] == [600_000, 600_002, 600_004]
        assert chained.fetch(PATIENCE) == 600_000
        assert len(fetched.result(PATIENCE)) == 500_000
        assert put.result(PATIENCE) == 2_100_000


@pytest.mark.parametrize("memory", ["0", str(1 << 30)])
def test_calls_with_large_arguments_survive_several_restarts(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                             memory: str) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add("--processes", "2", "--shm-bytes-max", memory)
    with made.coordinator(shm_bytes_max=int(memory)) as c:
        stop = threading.Event()

        def restart_often() -> None:
            for _ in range(4):
                time.sleep(0.7)
                restart(made, 0.7)
            stop.set()

        restarting = threading.Thread(target=restart_often)
        restarting.start()
        sums = []
        count = 0
        while not stop.is_set():
            values = [c.submit(total, numpy.full(200_000, float(i)), 0.02) for i in range(10)]
            chain = c.submit(total, c.submit(ones, 200_000 + count))
            sums.append((sum(c.fetch(values, PATIENCE)), chain.fetch(PATIENCE) - count))
            count += 1
        restarting.join()
    assert set(sums) == {(200_000 * 45.0, 200_000.0)}


class Broken(grpc.RpcError):  # type: ignore[misc]
    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return f"it is {self._code.name}"


def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, *codes: grpc.StatusCode) -> Any:
    """Returns a cache whose calls fail with `codes`, the last one repeatedly, and a counter of the calls."""
    calls: list[grpc.StatusCode] = []

    def get(channel: Any, digest: bytes, begin: Any, take: Any) -> None:
        calls.append(codes[min(len(calls), len(codes) - 1)])
        if calls[-1] is not grpc.StatusCode.OK:
            raise Broken(calls[-1])
        begin(1)
        take(b"x")

    monkeypatch.setattr(blobs, "get", get)
    return BlobCache(str(tmp_path), 1 << 20, ["127.0.0.1:1"]), calls


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN,
                                  grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL])
def test_a_worker_repeats_a_call_whose_connection_broke(monkeypatch: pytest.MonkeyPatch,
                                                        tmp_path: pathlib.Path, code: grpc.StatusCode) -> None:
    cache, calls = failing(monkeypatch, tmp_path, code, code, grpc.StatusCode.OK)
    cache.ask("get", b"d" * 32)
    assert len(calls) == 3 and (tmp_path / (b"d" * 32).hex()).read_bytes() == b"x"


def test_only_not_found_means_that_a_blob_is_missing(monkeypatch: pytest.MonkeyPatch,
                                                     tmp_path: pathlib.Path) -> None:
    cache, calls = failing(monkeypatch, tmp_path, grpc.StatusCode.NOT_FOUND)
    with pytest.raises(OSError) as missing:
        cache.ask("get", b"d" * 32)
    assert not isinstance(missing.value, ConnectionError) and len(calls) == 1
    monkeypatch.setattr(blobs, "RETRY_WITHIN", 0.3)
    cache, calls = failing(monkeypatch, tmp_path, grpc.StatusCode.UNAVAILABLE)
    with pytest.raises(ConnectionError, match="it is UNAVAILABLE"):
        cache.ask("get", b"d" * 32)
    assert len(calls) > 1


@pytest.mark.parametrize("error, kind, type", [
    (ConnectionError("refused"), FailureKind.DEPENDENCY_LOST, CONNECTION_LOST),
    (OSError("not there"), FailureKind.INPUT, "muster.InputError")])
def test_attempt_that_lost_the_server_is_not_an_error_of_its_call(tmp_path: pathlib.Path, error: Exception,
                                                                  kind: FailureKind, type: str) -> None:
    sent: list[bytes] = []
    asking = child_blobs.Asking(sent.append)

    def ask(what: str, digest: bytes, beside: bytes = b"") -> None:
        asked = threading.Thread(target=lambda: asking.answered(child_blobs.answer(digest, error)))
        threading.Timer(0.05, asked.start).start()
        asking.ask(what, digest, beside)

    table = FunctionTable({}, True)
    table.use_blobs(child_blobs.Blobs(str(tmp_path), ask))
    with pytest.raises(Exception, match=str(error)) as caught:
        table._callables._open(b"d" * 32)
    assert (caught.value.kind, caught.value.type) == (kind, type)
