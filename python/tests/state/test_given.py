"""Arguments of variables: they are converted completely, or the call that gives them fails at once."""
from __future__ import annotations

from typing import Any, Callable

import pytest

import muster
from conftest import Cluster
from muster.variables.variable import Variable

np = pytest.importorskip("numpy")
HALVES = muster.FixedShardsPartitioner(2)


@pytest.fixture
def c(make_cluster: Callable[..., Cluster]) -> muster.ClusterCoordinator:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    return cluster.coordinator()


def both(c: muster.ClusterCoordinator, array: Any) -> list[Any]:
    """Returns a whole variable and a sharded one."""
    return [c.variable(array), c.variable(array, partitioner=HALVES, task="ps:0")]


def test_value_outside_of_the_dtype_is_an_error(c: muster.ClusterCoordinator) -> None:
    for dtype, wrong, said in (
            ("int32", np.int64(2 ** 40), "out of range for int32, which is -2147483648 to "
                                         "2147483647"), ("int32", -2 ** 31 - 1, "for int32"),
            ("int32", [1, np.int64(2 ** 40), 3], "1099511627776"), ("uint8", 300, "for uint8, which is 0 to 255"),
            ("uint8", [-1, 0, 0], "-1"), ("bool", [0, 1, 2], "for bool, which is 0 to 1")):
        for v in both(c, np.zeros(3, dtype)):
            with pytest.raises(ValueError, match=said):
                v.assign(wrong)
    for dtype, strange, said in (("float32", [None, 1, 2], "object"), ("float32", ["1", "2", "3"], "<U1"),
                                 ("float32", "1", "<U1"), ("int64", 2 ** 70, "object"), ("float32", 1j, "complex")):
        for v in both(c, np.zeros(3, dtype)):
            with pytest.raises(TypeError, match=said):
                v.assign(strange)
    flags = c.variable(np.zeros(3, "bool"))
    flags.assign([1, False, True])
    assert flags.read().fetch(20).tolist() == [True, False, True]
    held = Variable(np.zeros(2, "int32"))
    with pytest.raises(ValueError, match="for int32"):
        held.assign_add(np.array(2 ** 40))


def test_arrays_of_any_memory_layout_are_accepted(c: muster.ClusterCoordinator) -> None:
    array = np.arange(24, dtype=">f4").reshape(4, 6)[::2, ::-1].T  # in the other byte order
    for v in both(c, np.zeros((6, 2), "float32")):
        v.assign(array)
        v.scatter_add(np.array([5, 0], ">u2"), np.asfortranarray(np.ones((2, 2), ">f4")))
        expected = array.astype("float32")
        expected[[0, 5]] += 1
        assert (v.read().fetch(20) == expected).all()


def test_rates_are_single_finite_numbers(c: muster.ClusterCoordinator) -> None:
    g, rows = np.ones((3, 2), "float32"), np.ones((1, 2), "float32")
    for v in both(c, np.zeros((3, 2), "float32")):
        for wrong in (None, "0.1", [0.1, 0.2], np.ones(1), True):
            for call in (lambda: v.sgd(g, wrong), lambda: v.adam(g, wrong), lambda: v.sgd_rows([0], rows, wrong),
                         lambda: v.adam_rows([0], rows, wrong)):
                with pytest.raises(TypeError, match="learning_rate: .* is not a (single )?number"):
                    call()
        for call, said in ((lambda: v.sgd(g, float("nan")), "learning_rate: nan"),
                           (lambda: v.sgd(g, 0.1, float("inf")), "momentum: inf"),
                           (lambda: v.adam(g, 0.1, beta1=1.0), r"beta1: 1\.0, .* less than 1"),
                           (lambda: v.adam_rows([0], rows, 0.1, beta2=-0.5), r"beta2: -0\.5"),
                           (lambda: v.adam(g, 0.1, epsilon=-1), "epsilon: -1")):
            with pytest.raises(ValueError, match=said):
                call()
        v.sgd(g, c.submit(float, 0.5))
        assert (v.read().fetch(20) == -0.5).all(), "no other call changed the variable"


def test_failed_step_changes_nothing() -> None:
    """The arguments are those of callers that check less."""
    v = Variable(np.ones(2, "float32"))
    g, rate = np.ones(2, "float32"), np.array(0.1)
    for wrong in ((None, 0.9, 0.99, 1e-3), (rate, np.array(1.0), 0.99, 1e-3), (rate, 0.9, np.ones(2), 1e-3)):
        with pytest.raises((TypeError, ValueError)):
            v.adam(g, *wrong)
    with pytest.raises(TypeError, match="learning_rate"):
        v.sgd(g, None)
    with pytest.raises(TypeError, match="momentum"):
        v.sgd(g, rate, np.ones(2))
    assert v.save() == Variable(np.ones(2, "float32")).save()


def test_rows_and_indices_are_integers(c: muster.ClusterCoordinator) -> None:
    for v in both(c, np.arange(6.0).reshape(3, 2)):
        for wrong in ((0.5, 2), (0, 1.7), ("0", 1)):
            with pytest.raises(TypeError, match="(begin|end): .* is not an integer"):
                v.read_rows(*wrong)
        for strange, said in ((1, r"of \(\)"), (np.zeros((0, 3), int), r"of \(0, 3\)"), ([True], "bool"), ({0}, "object")):
            with pytest.raises(TypeError, match="indices: must be integers in one dimension.*" + said):
                v.gather(strange)
        assert v.gather([]).fetch(20).shape == (0, 2)
        assert v.read_rows(np.int32(1), 2).fetch(20).tolist() == [[2, 3]]
        for rows, error, said in (((0.5, np.ones((1, 2))), TypeError, "begin: 0.5 is not an integer"),
                                  ((0, 1.0), ValueError, "shape"), ((0, np.ones((1, 3))), ValueError, "shape"),
                                  ((2, np.ones((2, 2))), IndexError, "rows 2 to 4"), ((0, [[1, "a"]]), TypeError, "<U")):
            with pytest.raises(error, match=said):
                v.assign_rows(*rows)
        v.assign_rows(1, [[7, 7], [8, 8]])
        v.assign_rows(3, np.zeros((0, 2)))
        assert v.read().fetch(20).tolist() == [[0, 1], [7, 7], [8, 8]]


def test_invalid_variable_definitions_are_refused_at_once(c: muster.ClusterCoordinator) -> None:
    for wrong, error, said in (
            ({}, TypeError, "an array or a shape"), ({"shape": (-1, 2)}, ValueError, r"shape: \(-1, 2\)"),
            ({"shape": (2.7,)}, TypeError, "shape: 2.7 is not an integer"), ({"shape": 5}, TypeError, "shape: 5"),
            ({"array": np.zeros(2, "float16")}, TypeError, "cannot have dtype float16"),
            ({"shape": (2,), "dtype": "uint16"}, TypeError, "cannot have dtype uint16"), ({"array": ["a"]}, TypeError, "<U1"),
            ({"shape": (2,), "initializer": "twos"}, ValueError, "unknown initializer 'twos'"),
            ({"array": np.zeros(2), "task": "ps:99999999999"}, ValueError, "task: 'ps:99999999999'"),
            ({"array": np.zeros(2), "task": "ps:²"}, ValueError, "task: 'ps:²'"),
            ({"array": np.zeros(2), "tasks": "ps:0"}, TypeError, "tasks: 'ps:0'")):
        with pytest.raises(error, match=said):
            c.variable(**wrong)  # type: ignore[arg-type]
    assert c.variable(shape=np.array([2, 2])).shape == (2, 2) and c.variable(shape=()).shape == ()
    assert c.variable(c.submit(np.ones, 3)).read().fetch(20).tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="num_shards: 2.5 is not an integer"):
        muster.FixedShardsPartitioner(2.5)  # type: ignore[arg-type]


def test_checkpoint_intervals_and_counts_are_checked_at_the_call(c: muster.ClusterCoordinator,
                                                                            tmp_path: Any) -> None:
    for wrong, said in (({"every": float("nan")}, "every: nan"), ({"every": float("inf")}, "every: inf"),
                        ({"every": 0}, "every: 0"), ({"keep": 0}, "keep: 0")):
        with pytest.raises(ValueError, match=said):
            c.checkpoints(tmp_path, **wrong)
    with pytest.raises(TypeError, match="keep: 2.5 is not an integer"):
        c.save(tmp_path, keep=2.5)  # type: ignore[arg-type]


def test_arguments_of_an_object_are_one_sequence(c: muster.ClusterCoordinator) -> None:
    for wrong in ("ab", 5):
        with pytest.raises(TypeError, match="create takes all arguments as one tuple"):
            c.create(list, wrong, task="ps:0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="concurrency: -1"):
        c.create(dict, task="ps:0", concurrency=-1)
