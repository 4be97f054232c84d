"""Variables across languages: Python's variables on C++ parameter servers, and C++ variables on Python's."""
from __future__ import annotations

import gzip
import pathlib
import re
import subprocess
import threading
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, binary, until
from muster.errors import ClosureError
from muster.variables import checkpoint, handle
from muster.variables.variable import CUTS_MAX, Variable

np = pytest.importorskip("numpy")
TRAIN = pathlib.Path(binary()).parent / "example_train"
READ_WITHIN = 180.0
"""Time limit in seconds."""
Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts C++ programs, and ends them with the test."""
    made: list[Any] = []

    def begin(*words: str) -> Any:
        with (tmp_path / f"program-{len(made)}.log").open("wb") as log:
            made.append(subprocess.Popen(words, stderr=log, stdout=log))
        return made[-1]

    yield begin
    for each in made:
        each.terminate()
    for each in made:
        each.wait(20)


@pytest.fixture
def cluster_of_cpp(make_cluster: Callable[..., Cluster], start: Start) -> Cluster:
    """Two parameter servers in C++, and a worker in Python."""
    cluster = make_cluster()
    for i in (0, 1):
        start(binary(), "worker", "--server", cluster.server.grpc, "--job", "ps", "--index", str(i))
    cluster.add("--index", "0", "--processes", "2")
    cluster.wait_connected(2)
    until(lambda: sum(t["state"] == "CONNECTED" for t in cluster.server.tasks()) == 4)
    return cluster


def test_python_variables_work_on_cpp_tasks(cluster_of_cpp: Cluster) -> None:
    """Each operation is also applied to an instance of the Python class for comparison."""
    c = cluster_of_cpp.coordinator()
    halves = muster.FixedShardsPartitioner(2)
    dice = np.random.default_rng(1)
    begin = dice.normal(size=(6, 3)).astype("float32")
    for v in (c.variable(begin, name="whole"), c.variable(begin, name="halves", partitioner=halves, tasks=["ps:0", "ps:1"])):
        own = Variable(begin.copy())
        rows = np.array([5, 0, 5])
        for method, args in (("assign_add", (dice.normal(size=(6, 3)).astype("float32"),)),
                             ("assign_sub", (np.float32(0.5),)),
                             ("scatter_add", (rows, np.ones((3, 3), "float32"))),
                             ("scatter_sub", (rows, begin[:3])),
                             ("scatter_update", (rows[:2], begin[:2])),
                             ("sgd", (begin, 0.1)),
                             ("sgd", (begin, 0.1, 0.9)),
                             ("sgd", (begin + 1, 0.1, 0.9)),
                             ("sgd_rows", (rows, begin[:3], 0.1)),
                             ("adam", (begin, 0.01, 0.9, 0.999, 1e-7)),
                             ("adam_rows", (rows, begin[:3], 0.01, 0.9, 0.999, 1e-7))):
            assert getattr(v, method)(*args).fetch(20) is None
            getattr(own, method)(*(np.asarray(a) for a in args))
            np.testing.assert_allclose(v.read().fetch(20), own._array, rtol=1e-5, atol=1e-6, err_msg=method)
        assert v.gather([4, 1]).fetch(20).tolist() == v.read().fetch(20)[[4, 1]].tolist()
        assert v.read_rows(2, 5).fetch(20).tolist() == v.read().fetch(20)[2:5].tolist()
    found = cluster_of_cpp.coordinator().get_variable("halves")
    assert (found.shape, found.dtype) == ((6, 3), np.float32)

    def train(v: Any) -> float:
        v.assign_add(np.ones(v.shape, v.dtype))
        return float(v.read().fetch()[0, 0])

    before = float(found.read().fetch(20)[0, 0])
    assert c.schedule(train, (found,)).fetch(20) == pytest.approx(before + 1)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "uint8", "bool"])
def test_variables_of_every_dtype_work(cluster_of_cpp: Cluster, dtype: str) -> None:
    c = cluster_of_cpp.coordinator()
    v = c.variable(np.zeros((2, 2), dtype))
    v.assign([[0, 1], [1, 0]])
    v.scatter_update([1], np.ones((1, 2), dtype))
    found = v.read().fetch(20)
    assert found.dtype == dtype and found.tolist() == [[0, 1], [1, 1]]
    scalar = c.variable(shape=(), dtype=dtype, initializer="ones")
    assert scalar.read().fetch(20).shape == () and scalar.read().fetch(20) == 1


def test_errors_have_the_same_type_and_message_as_in_python(cluster_of_cpp: Cluster) -> None:
    """The calls bypass the checks of the client."""
    v = cluster_of_cpp.coordinator().variable(np.zeros((3, 2), "float32"))
    own = Variable(np.zeros((3, 2), "float32"))
    for method, args in (("assign", (np.zeros(3, "float32"),)),
                         ("assign_add", (np.zeros((3, 2)),)),
                         ("assign", (np.asarray("x"),)),
                         ("scatter_add", (np.array([0, 3]), np.zeros((2, 2), "float32"))),
                         ("scatter_add", (np.array([0]), np.zeros((2, 2), "float32"))),
                         ("gather", (np.array([0.5]),)),
                         ("read_rows", (1, 4)),
                         ("cut_rows", (7, 0, 1)),
                         ("adam", (np.zeros((3, 2), "float32"), 0.1, 1.0, 0.9, 1e-7))):
        try:
            theirs = v._call(method, *args)
        except TypeError:
            continue  # the protocol has no such dtype
        with pytest.raises((ValueError, TypeError, IndexError)) as said:
            getattr(own, method)(*(np.asarray(a) for a in args))
        with pytest.raises(ClosureError) as error:
            theirs.fetch(20)
        assert error.value.type == said.type.__name__, method
        assert error.value.message == str(said.value), method


def test_checkpoints_are_restored_in_the_other_language(cluster_of_cpp: Cluster, tmp_path: pathlib.Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    c = cluster_of_cpp.coordinator()
    begin = np.arange(12, dtype="float32").reshape(4, 3)
    v = c.variable(begin, name="w", partitioner=muster.FixedShardsPartitioner(2), tasks=["ps:0", "ps:1"])
    v.adam(begin)
    v.sgd(begin, 0.1, 0.9)
    c.save(tmp_path / "whole")
    monkeypatch.setattr("muster.variables.known.WHOLE_MAX", 16)
    monkeypatch.setattr("muster.variables.known.PIECE", 12)
    c.save(tmp_path / "in_rows")
    v.sgd(begin, 0.1, 0.9)
    wanted = v.read().fetch(20)
    cluster_of_cpp.add("--job", "ps", "--index", "2", "--processes", "1")  # in Python
    v.delete()
    for folder in ("whole", "in_rows"):
        other = cluster_of_cpp.coordinator()
        there = other.variable(shape=(4, 3), name="w", task="ps:2")
        assert other.restore(tmp_path / folder) == 1
        there.sgd(begin, 0.1, 0.9)
        np.testing.assert_allclose(there.read().fetch(20), wanted, rtol=1e-6)
        other.save(tmp_path / f"{folder}_of_python")
        there.delete()
        back = other.variable(shape=(4, 3), name="w", partitioner=muster.FixedShardsPartitioner(3),
                              tasks=["ps:0", "ps:1"])
        assert other.restore(tmp_path / f"{folder}_of_python") == 1
        np.testing.assert_allclose(back.read().fetch(20), wanted, rtol=1e-6)
        back.adam(begin).fetch(20)
        back.delete()


def test_oldest_cut_is_dropped_at_the_limit(cluster_of_cpp: Cluster) -> None:
    v = cluster_of_cpp.coordinator().variable(np.ones((3, 2), "float32"))
    cuts = [v._call("begin_cut").fetch(20) for _ in range(CUTS_MAX + 1)]
    v.assign(2)
    with pytest.raises(ClosureError, match=f"snapshot {cuts[0]} of this variable no longer exists"):
        v._call("cut_rows", cuts[0], 0, 1).fetch(20)
    array, version = v._call("cut_rows", cuts[1], 1, 2).fetch(20)
    assert array.tolist() == [[1, 1]] and int(version) == 0
    v._call("end_cut", cuts[1]).fetch(20)
    with pytest.raises(ClosureError, match="no longer exists"):
        v._call("cut_rows", cuts[1], 0, 1).fetch(20)


def test_large_variables_are_sent_in_pieces(cluster_of_cpp: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "WHOLE_MAX", 4096)
    monkeypatch.setattr(handle, "PIECE", 1000)
    monkeypatch.setattr("muster.variables.making.WHOLE_MAX", 4096)
    c = cluster_of_cpp.coordinator()
    begin = np.arange(5000, dtype="float32").reshape(500, 10)
    v = c.variable(begin)
    v.assign_add(begin)
    v.sgd(begin, 0.5)
    np.testing.assert_allclose(v.read().fetch(20), 1.5 * begin)


@pytest.mark.skipif(not TRAIN.is_file(), reason="only beside the examples of C++")
@pytest.mark.parametrize("ps", ["C++", "Python"])
def test_cpp_program_trains_while_tasks_are_replaced(make_cluster: Callable[..., Cluster], start: Start, tmp_path: pathlib.Path,
                                                     ps: str) -> None:
    """A worker leaves and another one joins, and a parameter server is killed."""
    datasets = pytest.importorskip("sklearn.datasets")
    packed = pathlib.Path(datasets.__file__).parent / "data" / "digits.csv.gz"
    digits = tmp_path / "digits.csv"
    digits.write_bytes(gzip.decompress(packed.read_bytes()))
    cluster = make_cluster()
    server = cluster.server.grpc

    def parameter_server(index: int) -> Any:
        if ps == "C++":
            return start(binary(), "worker", "--server", server, "--job", "ps", "--index", str(index))
        return cluster.add("--job", "ps", "--index", str(index), "--processes", "1").process

    parameter_server(0)
    second = parameter_server(1)
    workers = [start(str(TRAIN), "worker", server, str(digits)) for _ in range(3)]
    checkpoints = tmp_path / "checkpoints"
    words = [str(TRAIN), "coordinator", server, str(digits), str(checkpoints)]
    made = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert made.stdout
    deadline = threading.Timer(READ_WITHIN, made.kill)
    deadline.daemon = True
    deadline.start()
    seen: list[str] = []
    rounds = 0
    for line in made.stdout:
        seen.append(line)
        rounds += line.startswith("step ")
        if line.startswith("step ") and rounds == 1:
            workers[0].kill()
            start(str(TRAIN), "worker", server, str(digits))
        elif line.startswith("step ") and rounds == 3:
            until(lambda: checkpoint.numbers(checkpoints), "there is a checkpoint")
            second.kill()
            parameter_server(1)
    assert made.wait(20) == 0, seen
    deadline.cancel()
    assert seen[0] == "from the beginning\n"
    assert any(re.match("once more: .*ps:1", line) for line in seen), seen
    assert "from a checkpoint\n" in seen
    last = re.fullmatch(r"step (\d+): accuracy (\S+)\n", seen[-1])
    assert last and int(last[1]) >= 1000 and float(last[2]) > 0.87, seen
    c = cluster.coordinator()
    names = {"w1": (64, 32), "b1": (32,), "w2": (32, 10), "b2": (10,)}
    model = {name: c.variable(shape=shape, name=name, task="ps:0") for name, shape in names.items()}
    steps = c.variable(shape=(), dtype="int64", name="steps", task="ps:1")
    assert c.restore(checkpoints), "Python reads the checkpoint that C++ has written"
    assert int(steps.read().fetch(20)) == int(last[1])
    assert all(np.abs(v.read().fetch(20)).max() > 0 for v in model.values())
    for v in (*model.values(), steps):
        v.assign_add(v.read().fetch(20) * 0)
    c.save(checkpoints)
    c.close()
    again = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert again.stdout == "from a checkpoint\n", "the program reads the checkpoint that Python has written, and is already complete"
