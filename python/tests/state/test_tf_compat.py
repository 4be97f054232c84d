"""TensorFlow's names without TensorFlow: muster.tf_compat."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import types
from typing import Any, Callable

import pytest

import muster
from conftest import DEADLINE, Cluster

numpy = pytest.importorskip("numpy")
from muster import tf_compat as tf  # noqa: E402  needs numpy

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "python" / "cluster_coordinator.py"
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "tensorflow-compatibility.md"


@pytest.fixture
def server(make_cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch) -> str:
    cluster = make_cluster()
    for i in (0, 1):
        cluster.add("--job", "ps", "--index", str(i), "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    monkeypatch.setenv("MUSTER_COORDINATOR", cluster.server.grpc)
    return cluster.server.grpc


def made(**more: Any) -> tuple[Any, Any]:
    strategy = tf.distribute.experimental.ParameterServerStrategy(**more)
    return strategy, tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="only beside the examples")
def test_the_examples_of_the_page_run_without_tensorflow(server: str) -> None:
    without = "import sys; sys.modules['tensorflow'] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", without, str(EXAMPLE)], capture_output=True, text=True, timeout=DEADLINE,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.stdout, done.returncode) == ("both examples have run\n", 0), done.stderr


@pytest.mark.skipif(not PAGE.is_file(), reason="only beside the documentation")
def test_the_program_of_the_documentation_runs(server: str, tmp_path: pathlib.Path) -> None:
    (text,) = re.findall(r"```python\n(from muster import tf_compat as tf\n.*?)```", PAGE.read_text(), re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text(text)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=DEADLINE,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.stdout, done.returncode) == ("4\n", 0), done.stderr


def test_other_strategies_are_a_value_error() -> None:
    for other in (None, muster.distribute.Strategy(), types.SimpleNamespace(scope=None)):
        with pytest.raises(ValueError, match="Only `tf.distribute.experimental.ParameterServerStrategy` is supported"):
            tf.distribute.experimental.coordinator.ClusterCoordinator(other)


def test_a_strategy_places_variables_and_has_one_session(server: str) -> None:
    resolver = muster.resolver('simple:{"worker":["a:1"],"ps":["b:1","c:1"]}')
    halves = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy, coordinator = made(cluster_resolver=resolver, variable_partitioner=halves)
    with pytest.raises(RuntimeError, match="with strategy.scope"):
        tf.Variable(0)
    with strategy.scope():
        scalars = [tf.Variable(0.0), tf.Variable(lambda: 1.0)]
        rows = tf.Variable(numpy.zeros((4, 2), "float32"), name="rows")
    assert [v.remote.task for v in scalars] == ["ps:0", "ps:1"]
    assert rows.remote.tasks == ["ps:0", "ps:1"]
    assert coordinator.strategy is strategy and strategy.cluster_resolver is resolver
    assert tf.distribute.coordinator.ClusterCoordinator(strategy)._underlying is coordinator._underlying

    def step() -> Any:
        rows.assign_add(numpy.ones((4, 2), "float32"))
        return rows.read_value()

    value = coordinator.schedule(step)
    coordinator.join()
    assert coordinator.done() and (value.fetch() == 1).all() and (numpy.asarray(rows) == 1).all()


def test_an_error_and_the_end_of_the_data_are_raised(server: str) -> None:
    _, coordinator = made()
    with pytest.raises(ZeroDivisionError):
        coordinator.schedule(lambda: 1 // 0)
        coordinator.join()
    iterator = iter(coordinator.create_per_worker_dataset(lambda: [1]))
    first, end = coordinator.schedule(next, (iterator,)), coordinator.schedule(next, (iterator,))
    with pytest.raises(StopIteration):
        coordinator.join()
    assert first.fetch() == 1
    with pytest.raises(tf.errors.OutOfRangeError):
        end.fetch()
    assert tf.errors.UnavailableError is muster.UnavailableError


def test_element_spec_is_not_implemented(server: str) -> None:
    _, coordinator = made()
    with pytest.raises(NotImplementedError, match="element_spec"):
        coordinator.create_per_worker_dataset(lambda: [1]).element_spec  # noqa: B018  it raises


def test_datasets_have_the_usual_methods() -> None:
    of = tf.data.Dataset
    assert list(of.from_tensor_slices([1, 2, 3]).repeat(2)) == [1, 2, 3, 1, 2, 3]
    assert list(of.range(5).repeat().take(7)) == [0, 1, 2, 3, 4, 0, 1]
    assert list(of.range(6).shard(2, 1).map(lambda x: x * 10)) == [10, 30, 50]
    pairs = list(of.from_tensor_slices(([1, 2, 3], "abc")).map(lambda n, s: (n, s)).batch(2))
    assert [(a.tolist(), b.tolist()) for a, b in pairs] == [([1, 2], ["a", "b"]), ([3], ["c"])]
    assert [b.tolist() for b in of.range(5).batch(2, drop_remainder=True)] == [[0, 1], [2, 3]]
    shuffled = of.range(100).shuffle(10, seed=1)
    assert sorted(shuffled) == list(range(100)) and list(shuffled) != list(range(100))
    assert list(of.range(0).repeat(0)) == []


def test_functions_take_arguments_or_none() -> None:
    @tf.function(jit_compile=True)
    def one() -> int:
        return 1

    assert one() == 1 and tf.function(one) is one


def test_resolvers_have_the_arguments_of_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tf.distribute.cluster_resolver
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}')
    assert made.TFConfigClusterResolver(task_id=1, rpc_layer="grpc").master() == "grpc://b:1"
    with pytest.raises(ValueError, match="At least one TPU must be specified"):
        made.TPUClusterResolver([])
    with pytest.raises(NotImplementedError):
        made.TPUClusterResolver(["a", "b"])
    tpu = made.TPUClusterResolver("grpc://10.0.0.1:8470", coordinator_name="main", coordinator_address="10.0.0.9:1")
    assert tpu.cluster_spec() == {"main": {0: "10.0.0.9:1"}, "worker": {0: "10.0.0.1:8470"}}
