"""Variables on tasks: real servers, real workers."""
from __future__ import annotations

import asyncio
import gc
import os
import pathlib
import pickle
import signal
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until
from muster._pickled import values
from muster._wire.messages import BYTES, JSON, Failure, SessionResponse
from muster.objects import calls
from muster.variables import handle
from muster.worker.failures import packed

np = pytest.importorskip("numpy")


@pytest.fixture
def cluster_of_two(make_cluster: Callable[..., Cluster]) -> Cluster:
    cluster = make_cluster()
    for i in (0, 1):
        cluster.add("--job", "ps", "--index", str(i), "--processes", "1")
    cluster.add("--index", "0", "--processes", "2")
    return cluster


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Affects only this program; workers use the piece size that a call contains."""
    monkeypatch.setattr(handle, "WHOLE_MAX", 4096)
    monkeypatch.setattr(handle, "PIECE", 1000)
    monkeypatch.setattr("muster.variables.making.WHOLE_MAX", 4096)


def test_variable_is_read_assigned_and_added_to(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    v = c.variable(np.zeros((3, 2), "float32"), name="w", task="ps:1")
    assert isinstance(v, muster.RemoteVariable)
    assert (v.shape, v.dtype, v.name, v.task) == ((3, 2), np.float32, "w", "ps:1")
    assert isinstance(v.read(), muster.RemoteValue)
    v.assign(np.ones((3, 2), "float32"))
    v.assign_add([[1, 1], [1, 1], [1, 1]])
    v.assign_sub(np.float64(0.25))
    v.assign_sub(np.asarray(0.25))
    v.scatter_add([2, 2], np.ones((2, 2), "float32"))
    assert v.read().fetch(20).tolist() == [[1.5, 1.5], [1.5, 1.5], [3.5, 3.5]]
    assert v.gather([2, 0]).fetch(20)[:, 0].tolist() == [3.5, 1.5]
    v.sgd(np.ones((3, 2), "float32"), 0.5)
    v.adam(np.zeros((3, 2), "float32"))
    assert c.fetch({"a": v.read_rows(0, 1)}, 20)["a"].tolist() == [[1.0, 1.0]]
    assert v.assign_add(0).fetch(20) is None
    found = v.read().fetch(20)
    found[0, 0] = 7  # the array is writable


def test_invalid_calls_of_a_variable_are_refused_at_once(cluster_of_two: Cluster) -> None:
    """The error is raised by the call, not by a value that might never be fetched."""
    c = cluster_of_two.coordinator()
    halves = muster.FixedShardsPartitioner(2)
    for v in (c.variable(np.zeros(3, "float32")), c.variable(np.zeros(3, "float32"), partitioner=halves, task="ps:0")):
        rows = np.zeros(1, "float32")
        for wrong, error, said in (
                (lambda: v.assign([1, 2]), ValueError, r"\(3,\).*\(2,\)"),
                (lambda: v.assign_add(np.zeros(3)), TypeError, "float32.*float64"),
                (lambda: v.adam(np.zeros(3)), TypeError, "float32.*float64"),
                (lambda: v.gather([0, 3]), IndexError, "index 3: the number of rows is 3"),
                (lambda: v.gather([0.5]), TypeError, "integers in one dimension"),
                (lambda: v.scatter_add([-1], rows), IndexError, "index -1"),
                (lambda: v.scatter_sub([0, 1], rows), ValueError, r"\(2,\).*\(1,\)"),
                (lambda: v.read_rows(1, 4), IndexError, "rows 1 to 4: the number of rows is 3")):
            with pytest.raises(error, match=said):
                wrong()
        assert v.read().fetch(20).tolist() == [0, 0, 0]
    with pytest.raises(IndexError, match="rows 2 to 4"):
        c.variable(np.zeros(3)).assign_rows(2, [1, 1])
    with pytest.raises(ValueError, match="no rows"):
        c.variable(0.0).gather([0])
    with pytest.raises(TypeError, match="assigned, read and gathered"):
        c.variable(np.zeros(1, "bool")).assign_add(np.ones(1, "bool"))
    v = c.variable(np.zeros(3, "float32"))
    with pytest.raises(AttributeError, match="no attribute 'multiply'"):
        v.multiply(2)
    with pytest.raises(TypeError, match="uint16"):
        cluster_of_two.coordinator().variable(np.zeros(1, "uint16")).read().fetch(20)


def test_integers_are_not_truncated(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    halves = muster.FixedShardsPartitioner(2)
    for v in (c.variable(np.zeros((3, 1), "int32")),
              c.variable(np.zeros((3, 1), "int32"), partitioner=halves, task="ps:0")):
        for wrong in (lambda: v.assign_add(0.5), lambda: v.assign([[0.5]] * 3), lambda: v.scatter_add([0], [[1.5]]),
                      lambda: v.sgd(np.ones((3, 1), "int32"), 0.1), lambda: v.adam(1),
                      lambda: v.sgd_rows([0], [[1]], 0.1), lambda: v.adam_rows([0], [[1]])):
            with pytest.raises(TypeError, match="int32"):
                wrong()
        v.assign_add(2)
        v.scatter_add([0], [[1]])
        assert v.read().fetch(20).tolist() == [[3], [2], [2]]
    flags = c.variable(np.zeros(2, "uint8"))
    flags.assign([1, 2])
    assert flags.read().fetch(20).tolist() == [1, 2]


def test_failed_creation_leaves_no_names(cluster_of_two: Cluster, small_pieces: None,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    c = cluster_of_two.coordinator()
    kept = c.variable(np.zeros(1), name="v/part_1")
    halves = muster.FixedShardsPartitioner(2)
    with pytest.raises(muster.InputError):
        c.variable(np.zeros(4), name="v", partitioner=halves, task="ps:0")
    kept.delete()
    with monkeypatch.context() as m:
        m.setattr(handle.RemoteVariable, "assign", lambda *args: 1 / 0)
        for shards in (1, 2):
            with pytest.raises(ZeroDivisionError):
                c.variable(np.zeros(4000), name="v", partitioner=muster.FixedShardsPartitioner(shards), task="ps:0")
    assert c.variable(np.zeros(4), name="v", partitioner=halves, task="ps:0").read().fetch(20).shape == (4,)


def test_name_belongs_to_one_whole_or_sharded_variable(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    halves = muster.FixedShardsPartitioner(2)
    c.variable(np.zeros(4), name="whole")
    with pytest.raises(muster.InputError, match="whole"):
        c.variable(np.zeros(4), name="whole", partitioner=halves, task="ps:0")
    c.variable(np.zeros(4), name="parts", partitioner=halves, task="ps:0")
    with pytest.raises(muster.InputError, match="parts"):
        c.variable(np.zeros(4), name="parts")
    assert isinstance(c.get_variable("whole"), muster.RemoteVariable)
    assert isinstance(c.get_variable("parts"), muster.ShardedVariable)


def test_step_that_fails_on_one_shard_changes_no_shard(cluster_of_two: Cluster,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    c = cluster_of_two.coordinator()
    v = c.variable(np.zeros((1000, 2)), partitioner=muster.FixedShardsPartitioner(2), task="ps:0")
    monkeypatch.setattr(handle, "ARGUMENT_BYTES_MAX", 4096)
    with pytest.raises(ValueError, match="adam_rows: the arguments have .* the limit is 4096"):
        v.adam_rows([0, *range(500, 1000)], np.ones((501, 2)), 0.1)
    assert not v.read().fetch(20).any()


def test_dtype_converts_an_array_and_a_conflicting_shape_is_an_error(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    assert c.variable([1, 2], dtype="float32").dtype == np.float32
    assert c.variable([1, 2], shape=(2,)).shape == (2,)
    for wrong, said in (({"shape": (3,)}, r"\(3,\), but the array has \(2,\)"), ({"initializer": "ones"}, "initializer")):
        with pytest.raises(ValueError, match=said):
            c.variable([1, 2], **wrong)
    with pytest.raises(ValueError, match="a row of .* has 8388616 bytes"):
        c.variable(shape=(2, (1 << 20) + 1), dtype="float64")


def test_empty_variables_and_other_byte_orders_are_supported(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    for partitioner in (muster.FixedShardsPartitioner(2), muster.MaxSizePartitioner(16), muster.MinSizePartitioner()):
        assert c.variable(np.zeros((0, 2)), partitioner=partitioner, task="ps:0").read().fetch(20).shape == (0, 2)
    v = c.variable(np.arange(3, dtype=">f4"))
    assert v.dtype == np.float32 and v.read().fetch(20).tolist() == [0, 1, 2]


def test_coordinator_with_named_variables_is_collected(cluster_of_two: Cluster) -> None:
    other = cluster_of_two.coordinator()

    def use() -> None:
        c = muster.ClusterCoordinator(cluster_of_two.server.grpc)
        c.variable(np.zeros(4), name="whole")
        c.variable(np.zeros(4), name="parts", partitioner=muster.FixedShardsPartitioner(2), task="ps:0")
        other.get_variable("whole")

    use()
    gc.collect()

    def gone() -> bool:
        try:
            other.get_variable("whole")
            return False
        except muster.NotServedError:
            return True

    until(gone, "its session has ended")


def test_functions_use_a_variable_and_lose_no_update(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    whole = c.variable(np.zeros(4), name="whole")
    parts = c.variable(np.zeros((5, 2)), name="parts", partitioner=muster.FixedShardsPartitioner(2),
                       tasks=["ps:0", "ps:1"])

    def work(given: dict[str, Any], n: int) -> float:
        for _ in range(n):
            given["deep"][0].assign_add(1)
            given["parts"].scatter_add([0, 4, 4], np.ones((3, 2)))
        return float(given["parts"].gather([4]).fetch(20)[0, 0])

    c.fetch([c.schedule(work, ({"deep": [whole], "parts": parts}, 50)) for _ in range(8)], 60)
    assert whole.read().fetch(20).tolist() == [400] * 4
    assert parts.read().fetch(20)[:, 0].tolist() == [400, 0, 0, 0, 800]
    assert c.submit(lambda: whole.read().fetch(20).sum()).fetch(20) == 1600, "a captured variable works like an argument"


def test_outputs_of_functions_and_of_variables_are_arguments_of_each_other(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    v = c.variable(np.zeros(2))
    v.assign_add(c.submit(np.ones, 2))
    assert c.submit(np.sum, v.read()).fetch(20) == 2
    v.scatter_add(c.submit(list, [0]), c.submit(np.ones, 1))
    assert v.read().fetch(20).tolist() == [2, 1]


def test_large_values_are_sent_in_pieces(cluster_of_two: Cluster, small_pieces: None) -> None:
    c = cluster_of_two.coordinator()
    array = np.arange(12000, dtype="float32").reshape(3000, 4)
    v = c.variable(array)
    assert (v.read().fetch(20) == array).all()
    v.assign_add(array)
    v.assign_sub(array)
    v.sgd(array, 1.0)
    assert not v.read().fetch(20).any()
    v.assign(array)
    v.scatter_add(np.arange(3000)[::-1], array[::-1])
    indices = np.arange(2999, -1, -1)
    assert (v.gather(indices).fetch(20) == 2 * array[::-1]).all()
    with pytest.raises(ValueError, match="shape"):
        v.assign(np.zeros((5000, 4), "float32"))
    done: list[int] = []
    value = v.read()
    value.add_done_callback(lambda: done.append(1))
    value.fetch(20)
    assert value.done() and value.future().result(20).shape == (3000, 4) and done == [1]


def test_values_above_the_size_of_one_call_survive_a_round_trip(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    array = 1 + np.random.default_rng(1).random((18, 1 << 19))  # 72 MiB
    v = c.variable(array)
    assert (v.read().fetch(60) == array).all()
    v.adam(array, 0.5)
    assert v.read().fetch(60) == pytest.approx(array - 0.5, abs=1e-3)
    with cluster_of_two.coordinator(shm_bytes_max=0) as without_memory:
        v = without_memory.variable(array)
        assert (v.read().fetch(60) == array).all()
        with pytest.raises(ValueError, match="partitioner"):
            v.adam(array)


def test_variable_is_created_from_a_shape_without_an_array(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    assert c.variable(shape=(2, 2), dtype="int32", initializer="ones").read().fetch(20).tolist() == [[1, 1]] * 2
    sharded = c.variable(shape=(5,), partitioner=muster.FixedShardsPartitioner(2), tasks=["ps:1"])
    assert sharded.read().fetch(20).tolist() == [0] * 5


def test_whole_and_sharded_variables_are_found_by_name(cluster_of_two: Cluster) -> None:
    c, other = cluster_of_two.coordinator(), cluster_of_two.coordinator()
    c.variable(np.arange(3), name="whole")
    made = c.variable(np.arange(10).reshape(5, 2), name="parts", partitioner=muster.FixedShardsPartitioner(3),
                      tasks=["ps:0", "ps:1"])
    assert isinstance(made, muster.ShardedVariable)
    assert [s.name for s in made.shards] == ["parts/part_0", "parts/part_1", "parts/part_2"]
    assert made.tasks == ["ps:0", "ps:1", "ps:0"] and made.bounds == [0, 2, 4, 5]
    for find in (other.get_variable, other.get_object):
        whole, parts = find("whole"), find("parts")
        assert (whole.shape, whole.dtype) == ((3,), np.int64)
        assert (parts.shape, parts.dtype, parts.bounds) == ((5, 2), np.int64, [0, 2, 4, 5])
    parts.assign_add(1).fetch(20)
    assert made.read().fetch(20).tolist() == (np.arange(10).reshape(5, 2) + 1).tolist()
    with pytest.raises(muster.NotServedError, match="'nobody'"):
        other.get_variable("nobody")
    c.create(dict, task="ps:0", name="a dict")
    with pytest.raises(TypeError, match="not a variable"):
        other.get_variable("a dict")


def test_shards_give_the_same_results_as_a_whole_variable(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    dice = np.random.default_rng(3)
    start = dice.normal(size=(7, 3))
    whole = c.variable(start)
    parts = c.variable(start, partitioner=muster.FixedShardsPartitioner(3), tasks=["ps:0", "ps:1"])
    g, few = dice.normal(size=(7, 3)), dice.normal(size=(3, 3))
    for v in (whole, parts):
        v.adam(g, 0.1)
        v.adam_rows([0, 6, 0], few, 0.1)
        v.sgd(g, 0.1, momentum=0.9)
        v.sgd(g, 0.1, momentum=0.9)
        v.sgd_rows([5, 5, 1], few, 0.1)
        v.scatter_update([2], np.ones((1, 3)))
        v.scatter_sub([1, 1, 6], few)
    np.testing.assert_allclose(parts.read().fetch(20), whole.read().fetch(20))
    assert parts.gather([]).fetch(20).shape == (0, 3)
    order = [6, 0, 3, 3, 6]
    np.testing.assert_allclose(parts.gather(order).fetch(20), whole.gather(order).fetch(20))
    np.testing.assert_allclose(parts.read_rows(2, 6).fetch(20), whole.read_rows(2, 6).fetch(20))
    assert parts.read_rows(3, 3).fetch(20).shape == (0, 3)
    before = parts.read().fetch(20)
    for wrong, said in ((lambda: parts.assign_add(np.zeros((7, 2))), "shape"),
                        (lambda: parts.scatter_add([7], few[:1]), "index 7"),
                        (lambda: parts.assign(np.zeros((7, 3), "int64")), "dtype")):
        with pytest.raises((ValueError, IndexError, TypeError), match=said):
            wrong()
    assert (parts.read().fetch(20) == before).all()


def test_lost_task_loses_its_shards(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    v = c.variable(np.zeros(4), name="v", partitioner=muster.FixedShardsPartitioner(2), tasks=["ps:0", "ps:1"])
    v.read().fetch(20)
    os.kill(c.options(task="ps:1").submit(os.getpid).fetch(20), signal.SIGKILL)
    with pytest.raises(muster.UnavailableError, match="ps:1"):
        while True:
            v.read().fetch(20)


def test_names_and_tasks_are_checked(cluster_of_two: Cluster) -> None:
    c = cluster_of_two.coordinator()
    with pytest.raises(ValueError, match="'ps'"):
        c.variable(np.zeros(1), task="ps")
    with pytest.raises(ValueError, match="pass only one of the two"):
        c.variable(np.zeros(1), task="ps:0", tasks=["ps:1"])
    with pytest.raises(ValueError, match="only the first can be above 1"):
        c.variable(np.zeros((4, 4)), partitioner=lambda shape, dtype: [2, 2], task="ps:0")
    with pytest.raises(ValueError, match="tasks: a partitioner"):
        c.variable(np.zeros(4), partitioner=muster.FixedShardsPartitioner(2))


opened: list[str] = []


def open_trap(who: str) -> str:
    opened.append(who)
    return who


class Trap:
    def __reduce__(self) -> Any:
        return open_trap, ("unpickled",)


def test_worker_that_reads_no_pickles_has_variables(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1", "--no-pickled")
    v = cluster.coordinator().variable([1.0], name="v")
    v.assign_add(1)
    assert v.read().fetch(20).tolist() == [2]
    by_pickle = handle.RemoteObject(v._id, v.task, "", v._ticket, v._calls)
    with pytest.raises(muster.InputError, match="does not accept pickles"):
        by_pickle.assign(Trap()).fetch(20)


def test_holder_of_a_variable_cannot_make_its_reader_run_code() -> None:
    made = calls.Calls(lambda: None)
    error = ValueError("no")
    error.trap = Trap()  # type: ignore[attr-defined]
    for raw, encoding in ((pickle.dumps(Trap()), BYTES), (values.encode(Trap())[0], JSON)):
        call = made.add(1, "read", b"", b"", plain=True)
        failure = Failure(kind=int(muster.FailureKind.USER), type="ValueError", message="no",
                          exception=packed(error))
        call.raw, call.encoding, call.answered = raw, encoding, True
        if encoding == BYTES:
            with pytest.raises(ValueError, match="not encoded arrays"):
                made.value_of(call)
        else:
            assert "$pickle" in made.value_of(call)
        failed = made.add(1, "read", b"", b"", plain=True)
        failure.position = 0
        answers = SessionResponse().objects
        answers.number.append(failed.number)
        answers.value.append(b"")
        answers.encoding.append(JSON)
        answers.failure.append(failure)
        made.take(answers)
        with pytest.raises(ValueError, match="no"):
            made.value_of(failed)
    assert not opened
    by_pickle = made.add(1, "read", b"", b"")
    by_pickle.raw, by_pickle.encoding, by_pickle.answered = pickle.dumps(Trap()), BYTES, True
    assert made.value_of(by_pickle) == "unpickled" == opened.pop(), "the trap works, so the checks above are meaningful"


def test_values_can_be_awaited_and_taken_as_they_complete(cluster_of_two: Cluster, small_pieces: None) -> None:
    c = cluster_of_two.coordinator()
    halves = muster.FixedShardsPartitioner(2)
    several = [c.variable(np.full((2000, 2), i), partitioner=halves, tasks=["ps:0", "ps:1"]) for i in range(3)]

    async def read() -> Any:
        return await several[2].read()

    assert (asyncio.run(read()) == 2).all()
    found = muster.as_completed([v.read() for v in several], 20)
    assert sorted(int(value.fetch()[0, 0]) for value in found) == [0, 1, 2]
    with pytest.raises(muster.WaitTimeout):
        c.variable(np.zeros((2000, 2)), task="ps:1").read().fetch(0)
    with pytest.raises(muster.WaitTimeout):
        c.variable(shape=(2000, 2), task="ps:7").read().fetch(0.1)


def test_variable_is_unavailable_after_a_server_restart(make_cluster: Callable[..., Cluster],
                                                        tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    c = cluster.coordinator()
    v = c.variable(np.ones(3), name="v")
    steps = c.create(dict, task="ps:0")
    assert v.read().fetch(20).tolist() == [1, 1, 1] and not steps.get(1).fetch(20)
    before = cluster.server.grpc, cluster.server.http.removeprefix("http://")
    cluster.server.kill()
    cluster.server.start(*before)
    with pytest.raises(muster.UnavailableError, match="the variable 'v' on ps:0 no longer exists") as caught:
        v.read().fetch(20)
    assert caught.value.kind is muster.FailureKind.DEPENDENCY_LOST and caught.value.dependency == ["ps:0"]
    with pytest.raises(muster.UnavailableError, match="dict on ps:0"):
        steps.get(1).fetch(20)
    with pytest.raises(muster.UnavailableError, match="the variable 'v' on ps:0"):
        c.join(20)
    c.join(20)  # raises the error only once
    with pytest.raises(muster.UnavailableError, match="the variable 'v' on ps:0"):
        c.submit(lambda: v.assign_add(1).fetch(20)).fetch(20)
    again = c.variable(np.zeros(3), name="v")
    assert again.read().fetch(20).tolist() == [0, 0, 0]
    again.delete()
    with pytest.raises(muster.ClosureError) as deleted:
        again.read().fetch(20)
    assert not isinstance(deleted.value, muster.UnavailableError)
