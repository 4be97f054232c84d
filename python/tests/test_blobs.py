"""Large callables, arguments, values and uploads: blobs, through real servers and workers."""
from __future__ import annotations

import gc
import hashlib
import pathlib
import random
import shutil
import time
import urllib.error
import urllib.request
from typing import Any, Callable

import numpy
import pytest

import muster
from conftest import Cluster, Server, until
from muster._pickled import calls
from muster.coordinator import blobs

MB = 1 << 20


def put(server: Server, data: bytes, name: str = "") -> int:
    asked = urllib.request.Request(
        f"{server.http}/api/v1/blobs/{name or hashlib.sha256(data).hexdigest()}", data, method="PUT")
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status  # type: ignore[no-any-return]
    except urllib.error.HTTPError as error:
        return error.code


def get(server: Server, name: str, query: str = "") -> Any:
    with urllib.request.urlopen(f"{server.http}/api/v1/blobs/{name}{query}", timeout=30) as answer:
        return answer.read()


def counts(server: Server) -> Any:
    return server.get("/api/v1/blobs")


def array(mb: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).integers(0, 1 << 60, mb * MB // 8)


def echo(x: Any) -> Any:
    return x


def total(x: Any) -> int:
    return int(x.sum())


def test_array_of_200_mb_is_sent_and_returned(cluster: Cluster) -> None:
    big = array(200)
    with cluster.coordinator() as c:
        assert numpy.array_equal(c.schedule(echo, args=(big,)).fetch(), big)
        assert numpy.array_equal(next(c.map(echo, [big])), big)


def test_too_large_argument_is_refused_before_it_is_read(cluster: Cluster) -> None:
    too_large = numpy.zeros(1024 * MB // 8 + 1)  # takes no memory until it is written to
    with cluster.coordinator() as c:
        c.schedule(total, args=(array(2),)).fetch()  # so that the client knows the limit
        began = time.process_time()
        with pytest.raises(ValueError, match="an argument has 1073741832 bytes, the limit is 1073741824"):
            c.schedule(total, args=(too_large,))
        assert time.process_time() - began < 0.25  # a SHA-256 of the array alone takes longer


def test_arguments_and_values_are_writable(cluster: Cluster) -> None:
    def changed(x: Any) -> Any:
        x[0] = 7
        return x

    big = array(2)
    before = big.copy()
    with cluster.coordinator() as c:
        for _ in range(3):  # the file of the blob does not change
            found = c.schedule(changed, args=(big,)).fetch()
            assert found[0] == 7 and numpy.array_equal(found[1:], before[1:])
            found[1] = 8
    assert numpy.array_equal(big, before)


def test_large_bytes_text_and_structures_survive_a_round_trip(cluster: Cluster) -> None:
    values = [b"x" * (3 * MB), "y" * (3 * MB), {"a": [array(2), b"z" * (2 * MB)], "b": 1}]
    with cluster.coordinator() as c:
        for value in values:
            found = c.schedule(echo, args=(value,)).fetch()
            assert repr(found) == repr(value)


def test_argument_of_many_closures_reaches_a_worker_once(
        make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--processes", "3")

    def look(x: Any, i: int) -> Any:
        import os

        from muster.worker import uploads

        folder = os.path.join(uploads._folder or "", "blobs")
        files = [f for f in os.listdir(folder) if len(f) == 64]
        return int(x[i]), {f: os.stat(os.path.join(folder, f)).st_ino for f in files}

    big = array(8)
    with made.coordinator(shm_bytes_max=0) as c:
        found = c.fetch([c.schedule(look, args=(big, i)) for i in range(100)])
        assert [x for x, _ in found] == [int(x) for x in big[:100]]
        assert all(files == found[0][1] for _, files in found) and len(found[0][1]) == 1
        assert counts(made.server)["blobs"] == 1  # the client uploaded the blob once


def test_large_output_is_an_argument(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        made = c.schedule(array, args=(4, 3))
        sums = [c.schedule(total, args=(made,)) for _ in range(5)]
        nested = c.schedule(lambda d: total(d["x"][0]), args=({"x": [made]},))
        assert {*c.fetch(sums), nested.fetch()} == {total(array(4, 3))}


def test_put_value_is_an_argument(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        big = c.put(array(5))
        assert c.fetch([c.schedule(total, args=(big,)) for _ in range(4)]) == [total(array(5))] * 4


def test_large_callable_is_sent_once(cluster: Cluster) -> None:
    table = bytes(random.Random(1).randbytes(calls.CALLABLE_BLOB_MIN * 2))
    before = counts(cluster.server)["blobs"]
    with cluster.coordinator() as c:
        def of_table(i: int) -> int:
            return table[i]

        assert list(c.fetch([c.schedule(of_table, args=(i,)) for i in range(50)])) == list(table[:50])
        assert counts(cluster.server)["blobs"] == before + 1


def test_value_keeps_its_blob_until_it_is_released(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster()
    made.add("--shm-bytes-max", "0")
    with made.coordinator() as c:
        value = c.schedule(array, args=(3,))
        value.add_done_callback(lambda: None)
        until(value.done)
        until(lambda: counts(made.server)["held"] == 1, "the value holds it")
        assert counts(made.server)["held_bytes"] > 3 * MB
        del value
        gc.collect()
        until(lambda: counts(made.server)["held"] == 0, "nothing holds it")


def test_lost_blob_is_uploaded_again(make_cluster: Callable[..., Cluster],
                                     monkeypatch: pytest.MonkeyPatch,
                                     tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(blobs, "LEASE_EVERY", 0.3)
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    big = array(8)
    with made.coordinator(shm_bytes_max=0) as c:
        waiting = c.schedule(total, args=(big,))  # no worker is connected
        until(lambda: counts(made.server)["blobs"] == 1)
        grpc, http = made.server.grpc, made.server.http[len("http://"):]
        made.server.kill()
        shutil.rmtree(tmp_path / "data" / "blobs")
        made.server.start(grpc, http)
        until(lambda: counts(made.server)["blobs"] == 1, "it is put again")
        made.add()
        assert waiting.fetch() == total(big)


def test_blobs_survive_kill_9_of_a_durable_server(make_cluster: Callable[..., Cluster],
                                                  tmp_path: pathlib.Path) -> None:
    made = make_cluster("--data-dir", str(tmp_path / "data"))
    made.add("--processes", "2")

    def slow(x: Any, seconds: float) -> Any:
        import time

        time.sleep(seconds)
        return x + 1

    first, second = array(6, 1), array(6, 2)
    with made.coordinator() as c:
        ready = c.schedule(slow, args=(first, 0))
        until(ready.done)
        running = [c.schedule(slow, args=(second, 1.0)) for _ in range(4)]
        grpc, http = made.server.grpc, made.server.http[len("http://"):]
        made.server.kill()
        made.server.start(grpc, http)
        assert numpy.array_equal(ready.fetch(), first + 1)  # reported before the kill, fetched afterwards
        later = c.schedule(total, args=(ready,))
        for value in running:
            assert numpy.array_equal(value.fetch(), second + 1)
        assert later.fetch() == total(first + 1)


def test_value_above_the_blob_limit_is_an_error(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster("--blob-bytes-max", "4MiB")
    made.add("--shm-bytes-max", "0")
    with made.coordinator(shm_bytes_max=0, continue_on_error=True) as c:
        with pytest.raises(muster.ClosureError, match="blob-bytes-max"):
            c.schedule(array, args=(5,)).fetch()
        assert c.schedule(total, args=(array(2),)).fetch() == total(array(2))


def test_json_function_reports_why_it_cannot_take_a_blob(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c, pytest.raises(muster.InputError, match="blob"):
        c.schedule("mean", args=(c.schedule(array, args=(2,)),)).fetch()


def test_upload_of_40_mb_reaches_all_workers(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    package = tmp_path / "large_package"
    package.mkdir()
    (package / "__init__.py").write_text("import pathlib\nsize = (pathlib.Path(__file__).parent / "
                                         "'data').stat().st_size\n")
    (package / "data").write_bytes(random.Random(2).randbytes(40 * MB))

    def size() -> int:
        import large_package  # type: ignore[import-not-found]

        return large_package.size  # type: ignore[no-any-return]

    with cluster.coordinator(upload=[package]) as c:
        assert c.fetch([c.schedule(size) for _ in range(6)]) == [40 * MB] * 6


def test_rest_stores_and_checks_blobs(cluster: Cluster) -> None:
    server = cluster.server
    data = random.Random(3).randbytes(3 * MB)
    name = hashlib.sha256(data).hexdigest()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, name)
    assert put(server, data) == 201
    assert put(server, data) == 200
    assert get(server, name) == data
    assert get(server, name, f"?offset={2 * MB}") == data[2 * MB:]
    assert put(server, data + b"x", name) in (200, 422)
    assert put(server, data, hashlib.sha256(b"other").hexdigest()) == 422
    for wrong in ("x", "..%2f..%2fetc%2fpasswd", name.upper(), name + "0"):
        assert put(server, data, wrong) in (400, 404)
    with pytest.raises(urllib.error.HTTPError, match="422"):
        get(server, name, f"?offset={4 * MB}")


def test_rest_refuses_blobs_above_the_limit(make_cluster: Callable[..., Cluster]) -> None:
    server = make_cluster("--blob-bytes-max", "2MiB").server
    assert put(server, bytes(2 * MB)) == 201
    assert put(server, bytes(MB)) == 429


def test_value_waits_while_the_server_has_no_room_for_it(make_cluster: Callable[..., Cluster]) -> None:
    made = make_cluster("--blob-bytes-max", "4MiB")
    made.add("--shm-bytes-max", "0", "--processes", "1")
    with made.coordinator(shm_bytes_max=0) as c:
        first = c.submit(array, 3)
        first.future().result(20)
        second = c.submit(array, 2)
        with pytest.raises(muster.WaitTimeout):
            second.fetch(1.5)
        del first
        assert len(second.fetch(30)) == 2 * MB // 8
