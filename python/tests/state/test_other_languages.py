"""Variables on workers that are not of Python: those of the program muster itself."""
from __future__ import annotations

import pathlib
import subprocess
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, binary, until

np = pytest.importorskip("numpy")
WORKER = [binary(), "worker"]


@pytest.fixture
def with_others(make_cluster: Callable[..., Cluster], tmp_path: pathlib.Path) -> Iterator[Cluster]:
    cluster = make_cluster()
    started = []
    with (tmp_path / "ps.log").open("wb") as log:
        for i in (0, 1):
            started.append(subprocess.Popen([*WORKER, "--job", "ps", "--index", str(i), "--server",
                                             cluster.server.grpc], stderr=log, stdout=log))
    try:
        until(lambda: len(cluster.connected()) >= 2, "they are connected")
        served = cluster.server.get("/api/v1/functions?limit=1000")["functions"]
        if not any(f["name"] == "muster.variable" for f in served):
            pytest.skip("muster worker of this build has no variables")
        cluster.add("--processes", "2", "--index", "0")
        yield cluster
    finally:
        for one in started:
            one.terminate()
            one.wait(20)


def steps(v: Any) -> None:
    dice = np.random.default_rng(2)
    g, few = dice.normal(size=(7, 3)), dice.normal(size=(3, 3))
    v.adam(g, 0.1)
    v.adam_rows([0, 6, 0], few, 0.1)
    v.sgd(g, 0.1, momentum=0.9)
    v.sgd(g, 0.1, momentum=0.9)
    v.sgd_rows([5, 5, 1], few, 0.1)
    v.scatter_update([2], np.ones((1, 3)))
    v.scatter_sub([1, 1, 6], few)
    v.assign_add(1)
    v.assign_sub(np.float64(0.5))


def test_they_give_what_python_gives(with_others: Cluster) -> None:
    c = with_others.coordinator()
    start = np.random.default_rng(1).normal(size=(7, 3))
    theirs = c.variable(start, name="v", partitioner=muster.FixedShardsPartitioner(3), tasks=["ps:0", "ps:1"])
    ours = c.variable(start, task="worker:0")
    for v in (theirs, ours):
        steps(v)
    np.testing.assert_allclose(theirs.read().fetch(20), ours.read().fetch(20))
    np.testing.assert_allclose(theirs.gather([6, 0, 3, 3]).fetch(20), ours.gather([6, 0, 3, 3]).fetch(20))
    found = c.get_variable("v")
    assert (found.shape, found.dtype) == ((7, 3), np.float64)
    scalar, truth = c.variable(np.float32(2), task="ps:1"), c.variable([True, False], task="ps:0")
    scalar.assign_add(1)
    truth.assign([False, True])
    assert scalar.read().fetch(20) == 3 and truth.read().fetch(20).tolist() == [False, True]


def test_functions_on_workers_use_them(with_others: Cluster) -> None:
    c = with_others.coordinator()
    v = c.variable(np.zeros((4, 2)), name="v", partitioner=muster.FixedShardsPartitioner(2),
                   tasks=["ps:0", "ps:1"])

    def work(v: Any) -> None:
        for _ in range(50):
            v.scatter_add([3, 3], np.ones((2, 2)))
        v.read().fetch(20)

    c.fetch([c.schedule(work, (v,)) for _ in range(6)], 60)
    assert v.read().fetch(20)[:, 0].tolist() == [0, 0, 0, 600]


def test_what_they_have_is_saved_and_loaded_elsewhere(with_others: Cluster, tmp_path: pathlib.Path) -> None:
    start = np.random.default_rng(1).normal(size=(7, 3))
    large = np.arange(8 << 20, dtype="float32").reshape(-1, 8)  # more than a call carries
    with with_others.coordinator() as c:
        v = c.variable(start, name="v", partitioner=muster.FixedShardsPartitioner(3), tasks=["ps:0", "ps:1"])
        big = c.variable(large, name="big", task="ps:0")
        big.sgd(np.ones_like(large), 0.5).fetch(60)
        steps(v)
        assert c.save(tmp_path / "ckpt") == 1
        steps(v)
        expected = v.read().fetch(20)
    with with_others.coordinator() as c:
        v = c.variable(np.zeros((7, 3)), name="v", partitioner=muster.FixedShardsPartitioner(2),
                       tasks=["worker:1", "ps:1"])
        big = c.variable(shape=large.shape, name="big", task="ps:1")
        assert c.restore(tmp_path / "ckpt") == 1
        steps(v)
        np.testing.assert_allclose(v.read().fetch(20), expected)
        np.testing.assert_array_equal(big.read().fetch(60), large - np.float32(0.5))
