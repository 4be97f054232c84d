"""Checkpoints across languages: each language restores variables and objects that the other one has saved."""
from __future__ import annotations

import gzip
import os
import pathlib
import signal
import subprocess
from typing import Any, Callable, Iterator

import pytest

from conftest import Cluster, binary, until
from muster.variables import checkpoint

np = pytest.importorskip("numpy")
OBJECTS, TRAIN = (pathlib.Path(binary()).with_name(f"example_{name}") for name in ("objects", "train"))
pytestmark = pytest.mark.skipif(not OBJECTS.exists(), reason="only beside the examples in C++")
Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts C++ programs, and ends them with the test."""
    made: list[Any] = []

    def begin(*words: Any) -> Any:
        with (tmp_path / f"program-{len(made)}.log").open("wb") as log:
            made.append(subprocess.Popen([str(w) for w in words], stderr=log, stdout=log))
        return made[-1]

    yield begin
    for each in made:
        each.kill()
        each.wait(20)


class Weights:
    """The Python counterpart of the class in examples/objects.cpp."""

    def __init__(self, size: int) -> None:
        self.w: Any = [0.0] * size

    def read(self) -> Any:
        return self.w

    def save_state(self) -> Any:
        return self.w

    def load_state(self, state: Any) -> None:
        self.w = state


@pytest.fixture
def cluster_of_both(make_cluster: Callable[..., Cluster], start: Start) -> Cluster:
    """ps:0 in C++, ps:1 in Python, and a worker in C++."""
    cluster = make_cluster()
    for role in ("ps", "worker"):
        start(OBJECTS, role, cluster.server.grpc)
    cluster.add("--job", "ps", "--index", "1", "--processes", "1")
    until(lambda: sum(t["state"] == "CONNECTED" for t in cluster.server.tasks()) == 3)
    return cluster


def test_objects_are_restored_in_the_other_language(cluster_of_both: Cluster, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "checkpoints"

    def program_of_cpp() -> Any:
        words = [str(OBJECTS), "train", cluster_of_both.server.grpc, str(path)]
        return subprocess.run(words, capture_output=True, text=True, timeout=60)

    def read(w: Any) -> Any:
        return w.read().fetch(20)

    assert program_of_cpp().stdout == "2 2 2 are about 2\n"
    c = cluster_of_both.coordinator()
    of_python = c.create(Weights, (1,), task="ps:1", name="weights")
    assert c.restore(path) == 1 and read(of_python) == pytest.approx([2, 2, 2], abs=0.2)
    of_python.load_state([7, 0.5, -1, 1e-300]).fetch(20)
    assert c.save(path) == 2
    of_python.delete()
    of_cpp = c.create("Weights", (1,), task="ps:0", name="weights", saved=True)
    assert c.restore(path) == 2 and read(of_cpp) == [7, 0.5, -1, 1e-300]
    of_cpp.load_state([5] * 5).fetch(20)
    assert c.save(path) == 3
    c.close()
    assert program_of_cpp().stdout == "from a checkpoint\n2 2 2 2 2 are about 2\n"
    c = cluster_of_both.coordinator()
    of_python = c.create(Weights, (1,), task="ps:1", name="weights")
    of_python.load_state({7}).fetch(20)
    assert c.save(path) == 5
    of_python.load_state([]).fetch(20)
    assert c.restore(path) == 5 and read(of_python) == {7}, "a state that JSON cannot represent is pickled"
    c.close()
    refused = program_of_cpp()
    assert refused.returncode == 1 and "'weights' in checkpoint 5 is a pickle" in refused.stderr
    (path / "checkpoint-5" / "manifest.json").unlink()
    assert program_of_cpp().stdout.startswith("from a checkpoint\n"), "the program uses the previous checkpoint"


def test_class_without_save_state_is_an_error_in_either_language(cluster_of_both: Cluster, tmp_path: pathlib.Path) -> None:
    c = cluster_of_both.coordinator()
    with pytest.raises(ValueError, match="saved: an object that is saved in checkpoints needs a name"):
        c.create("Weights", (1,), task="ps:0", saved=True)
    c.create(dict, task="ps:1", name="dict", saved=True)
    with pytest.raises(AttributeError, match="save_state"):
        c.save(tmp_path)
    c.close()
    c = cluster_of_both.coordinator()
    c.create(Weights, (1,), task="ps:1", saved=False)
    assert c.save(tmp_path) == 1 and checkpoint.Reader(tmp_path, 1).objects == {}


def test_killed_cpp_coordinator_continues_from_its_checkpoint(make_cluster: Callable[..., Cluster], start: Start,
                                                              tmp_path: pathlib.Path) -> None:
    """It continues from the newest complete checkpoint, wherever it was killed. Python can read the checkpoint too."""
    datasets = pytest.importorskip("sklearn.datasets")
    packed = pathlib.Path(datasets.__file__).parent / "data" / "digits.csv.gz"
    digits, path = tmp_path / "digits.csv", tmp_path / "checkpoints"
    digits.write_bytes(gzip.decompress(packed.read_bytes()))
    cluster = make_cluster()
    for i in (0, 1):
        start(binary(), "worker", "--server", cluster.server.grpc, "--job", "ps", "--index", i)
    for _ in range(2):
        start(TRAIN, "worker", cluster.server.grpc, digits)
    words = [str(TRAIN), "coordinator", cluster.server.grpc, str(digits), str(path)]

    def newest() -> int:
        reader, _ = checkpoint.newest(path)
        return 0 if reader is None else int(dict(reader.rows("steps", 0, 1)[0])[""])

    done = 0
    for kill in range(3):
        before = max(checkpoint.numbers(path), default=0)
        program: Any = None

        def has_saved() -> bool:
            """Returns whether a new checkpoint exists. Restarts the program, which ends while its names still belong to the killed one."""
            nonlocal program
            if program is None or program.poll() is not None:
                program = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return max(checkpoint.numbers(path), default=0) > before

        until(has_saved)
        program.send_signal(signal.SIGKILL)
        program.wait(20)
        assert newest() >= done, f"{kill}: only work after the newest checkpoint may be lost"
        done = newest()
    last = until(lambda: subprocess.run(words, capture_output=True, text=True, timeout=120).stdout)
    assert last.startswith("from a checkpoint\n") and newest() >= 1000
    assert [n for n in os.listdir(path) if n.endswith(".tmp")] == []
