"""The class of variables on its own, as a worker uses it."""
from __future__ import annotations

from typing import Any

import pytest

from muster.objects import arrays
from muster.variables.variable import CUTS_MAX, Variable, make

np = pytest.importorskip("numpy")


def value(encoded: Any) -> Any:
    return arrays.answer_of(encoded.data)


def f32(*rows: Any) -> Any:
    return np.array(rows, "float32")


def test_variable_is_created_from_an_array_or_a_shape() -> None:
    given = f32(1, 2)
    v = make(arrays.encode([given]))
    given[0] = 9
    assert value(v.read()).tolist() == [1, 2]
    ones = make(arrays.encode([np.array([2, 3]), "int32", "ones"]))
    assert value(ones.read()).tolist() == [[1] * 3] * 2
    shape, dtype, version = value(ones.info())
    assert (shape.tolist(), dtype, int(version)) == ([2, 3], "int32", 0)
    for wrong, said in (([np.zeros(1, "uint16")], "uint16"), ([np.array([1]), "text", "ones"], "text"),
                        ([np.array([1]), "int32", "twos"], "twos"), ([], "created from an array")):
        with pytest.raises((TypeError, ValueError), match=said):
            make(arrays.encode(wrong))


def test_updates_are_counted_and_need_equal_shapes_and_dtypes() -> None:
    v = Variable(f32([1, 2], [3, 4]))
    v.assign_add(f32([1, 1], [1, 1]))
    v.assign_sub(np.array(2.0))  # a scalar of float64
    v.assign_rows(np.array(1), f32([9, 9]))
    assert value(v.read()).tolist() == [[0, 1], [9, 9]]
    assert int(value(v.info())[2]) == 3
    with pytest.raises(ValueError, match=r"\(2, 2\).*\(2,\)"):
        v.assign(f32(1, 2))
    with pytest.raises(TypeError, match="float32.*float64"):
        v.assign_add(np.zeros((2, 2)))
    with pytest.raises(IndexError, match="rows 1 to 3: the number of rows is 2"):
        v.assign_rows(np.array(1), f32([0, 0], [0, 0]))
    with pytest.raises(TypeError, match="assigned, read and gathered"):
        Variable(np.zeros(2, "bool")).assign_add(np.zeros(2, "bool"))


def test_rows_are_gathered_and_scattered() -> None:
    v = Variable(np.zeros((4, 2), "float32"))
    v.scatter_add(np.array([3, 1, 3]), f32([1, 1], [2, 2], [3, 3]))
    assert value(v.gather(np.array([3, 1, 0]))).tolist() == [[4, 4], [2, 2], [0, 0]]
    v.scatter_sub(np.array([1, 3]), f32([1, 0], [4, 4]))
    v.scatter_update(np.array([0]), f32([7, 7]))
    assert value(v.read()).tolist() == [[7, 7], [1, 2], [0, 0], [0, 0]]
    assert value(v.read_rows(np.array(1), np.array(2))).tolist() == [[1, 2]]
    for wrong in (4, -1):
        with pytest.raises(IndexError, match=f"index {wrong}: the number of rows is 4"):
            v.scatter_add(np.array([0, wrong]), np.zeros((2, 2), "float32"))
    with pytest.raises(ValueError, match="shape"):
        v.scatter_add(np.array([0]), np.zeros((1, 3), "float32"))


def test_integers_do_not_accept_optimizer_steps() -> None:
    v = Variable(np.ones((2, 1), "int32"))
    step, rate = np.ones((2, 1), "int32"), np.array(0.5)
    adam = tuple(map(np.array, (0.1, 0.9, 0.99, 1e-3)))
    for call in (lambda: v.sgd(step, rate), lambda: v.sgd_rows(np.array([0, 1]), step, rate),
                 lambda: v.adam(step, *adam), lambda: v.adam_rows(np.array([0, 1]), step, *adam)):
        with pytest.raises(TypeError, match="int32 cannot be updated by optimizers"):
            call()
    assert value(v.read()).tolist() == [[1], [1]] and int(value(v.info())[2]) == 0


def test_gradient_descent_with_and_without_momentum() -> None:
    v = Variable(f32(1, 1))
    v.sgd(f32(1, 2), np.array(0.5))
    assert value(v.read()).tolist() == [0.5, 0]
    v.sgd(f32(1, 1), np.array(0.5), np.array(0.5))
    v.sgd(f32(1, 1), np.array(0.5), np.array(0.5))  # the slot is now 1.5
    assert value(v.read()).tolist() == [-0.75, -1.25]
    rows = Variable(f32([1], [1], [1]))
    rows.sgd_rows(np.array([2, 0, 2]), f32([1], [1], [1]), np.array(0.5))
    assert value(rows.read()).tolist() == [[0.5], [1], [0]]


def adam_of_the_paper(x: Any, gradients: list[Any], rate: float, b1: float, b2: float, epsilon: float) -> Any:
    m = v = np.zeros_like(x)
    for t, g in enumerate(gradients, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        x = x - rate * (m / (1 - b1 ** t)) / (np.sqrt(v / (1 - b2 ** t)) + epsilon)
    return x


def test_adam_follows_the_paper() -> None:
    dice = np.random.default_rng(1)
    x, gradients = dice.normal(size=(3, 2)), [dice.normal(size=(3, 2)) for _ in range(5)]
    v = Variable(x.copy())
    for g in gradients:
        v.adam(g, *map(np.array, (0.1, 0.9, 0.99, 1e-3)))
    np.testing.assert_allclose(value(v.read()), adam_of_the_paper(x, gradients, 0.1, 0.9, 0.99, 1e-3))
    w = Variable(x.copy())
    for g in gradients:
        half = np.concatenate([g[[1]] / 2, g[[1]] / 2])
        w.adam_rows(np.array([1, 1]), half, *map(np.array, (0.1, 0.9, 0.99, 1e-3)))
    np.testing.assert_allclose(value(w.read())[1], value(v.read())[1])
    assert (value(w.read())[[0, 2]] == x[[0, 2]]).all()
    scalar = Variable(np.array(1.0))
    scalar.adam(np.array(1.0), *map(np.array, (0.1, 0.9, 0.99, 0.0)))
    assert value(scalar.read()) == pytest.approx(0.9)


def test_saved_variable_is_loaded_with_slots_and_version() -> None:
    v = Variable(f32([1, 2], [3, 4], [5, 6]))
    v.adam(f32([1, 1], [1, 1], [1, 1]), *map(np.array, (0.1, 0.9, 0.99, 1e-7)))
    saved = arrays.decode(v.save().data)
    assert [part for part in saved if isinstance(part, str)] == ["m", "step", "v"]
    whole, rows = (Variable(np.zeros((3, 2), "float32")) for _ in range(2))
    whole.load(*saved)
    cut = np.array(v.begin_cut())
    v.assign(f32([0, 0], [0, 0], [0, 0]))  # after the start of the cut
    for begin, end in ((0, 2), (2, 3)):
        rows.load_rows(np.array(begin), *arrays.decode(v.cut_rows(cut, np.array(begin), np.array(end)).data))
    v.end_cut(cut)
    assert whole.save() == rows.save() and arrays.decode(whole.save().data)[0].tolist() == saved[0].tolist()
    with pytest.raises(ValueError, match="snapshot .* no longer exists"):
        v.cut_rows(cut, np.array(0), np.array(1))
    with pytest.raises(TypeError, match="alternating names and slots"):
        whole.load(saved[0], "m")


def test_each_cut_has_its_own_state_and_the_oldest_is_dropped_at_the_limit() -> None:
    v = Variable(f32([1], [1]))
    cuts = []
    for _ in range(CUTS_MAX + 1):
        cuts.append(np.array(v.begin_cut()))
        v.assign_add(f32([1], [1]))

    def rows(cut: Any) -> Any:
        return arrays.decode(v.cut_rows(cut, np.array(0), np.array(2)).data)

    for i, cut in list(enumerate(cuts))[1:]:
        array, version = rows(cut)
        assert (array.tolist(), int(version)) == ([[1 + i]] * 2, i)
    with pytest.raises(ValueError, match="snapshot 1 .* no longer exists"):
        rows(cuts[0])
    v.end_cut(cuts[0])
    v.end_cut(cuts[1])
    assert rows(cuts[2])[0].tolist() == [[3]] * 2
