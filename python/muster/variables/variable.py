"""The class that implements "muster.variable" on workers. Each method is atomic. Never imports grpc."""
from __future__ import annotations

import collections
import threading
from typing import Any, NamedTuple, Sequence

from muster.objects.arrays import Encoded, decode, encode, is_mapped, names_of, numpy
from muster.objects.within import Shelf, within

NAME = "muster.variable"
CLASS_NAME = "muster.Variable"
DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")
ONLY_ASSIGNED = ("uint8", "bool")
"""Dtypes without addition."""
STEPPED = ("float32", "float64")
"""Dtypes that optimizers can update. Steps on integers would be truncated."""
FILLS = {"zeros": 0, "ones": 1}
CUTS_MAX = 4
"""Maximum number of simultaneous copies for checkpoints of different coordinators."""
LARGE = 1 << 20
"""Size in bytes above which an answer stays in shared memory, if the caller supports shared memory."""
Cut = tuple[Any, dict[str, Any], int]
"""An array, its slots and their version."""


class Shown(NamedTuple):
    answer: Encoded
    names: list[bytes]
    """Names of the shared memory that contains the answer."""
    shelf: Shelf


def converted(number: Any, dtype: Any) -> Any:
    """Converts numbers to a dtype. Raises ValueError if an integer does not fit into the dtype."""
    if number.size and number.dtype.kind in "iu" and dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else (numpy().iinfo(dtype).min, numpy().iinfo(dtype).max)
        for n in (int(number.min()), int(number.max())):
            if not low <= n <= high:
                raise ValueError(f"value: {n} is out of range for {dtype}, which is {low} to {high}")
    return number.astype(dtype)


def checked_dtype(dtype: Any) -> None:
    """Raises TypeError if variables do not support the dtype."""
    if dtype.name not in DTYPES:
        raise TypeError(f"a variable cannot have dtype {dtype}; supported dtypes are {', '.join(DTYPES)}")


def checked_initializer(name: str) -> None:
    """Raises ValueError if the initializer does not exist."""
    if name not in FILLS:
        raise ValueError(f"unknown initializer {name!r}; use {' or '.join(FILLS)}")


def make(args: bytes) -> Variable:
    """Creates a variable from the arguments [array] or [shape, dtype, initializer]. Raises ValueError or TypeError if
    an argument is invalid.
    """
    given = decode(args)
    if len(given) == 3 and isinstance(given[1], str):
        shape, dtype, fill = given
        np = numpy()
        checked_dtype(np.dtype(dtype))
        checked_initializer(fill)
        sizes = [int(n) for n in np.asarray(shape).reshape(-1)]
        return Variable(np.zeros(sizes, dtype) if fill == "zeros" else np.ones(sizes, dtype))
    if len(given) != 1:
        raise TypeError("a variable must be created from an array, or from a shape, a dtype and an initializer")
    return Variable(numpy().array(given[0]))


def _answer(values: Sequence[Any]) -> Encoded:
    shelf = within.shelf
    if shelf is not None:
        try:
            return Encoded(encode(values, shelf.take, LARGE))
        except OSError:  # no room
            shelf.undo()
    return Encoded(encode(values))


class Variable:
    """A variable on its task. The variable owns `array`."""

    def __init__(self, array: Any) -> None:
        checked_dtype(array.dtype)
        self._lock = threading.Lock()  # protects all below
        self._array = array
        self._slots: dict[str, Any] = {}
        self._version = 0
        self._cuts: collections.OrderedDict[int, Cut] = collections.OrderedDict()
        self._last_cut = 0
        self._shown: Shown | None = None
        """The answer of `read`, until the array changes."""

    def read(self) -> Encoded:
        """Returns the array. A large array is copied only once between two changes, and all readers share the copy."""
        with self._lock:
            if within.shelf is None or self._array.nbytes <= LARGE:
                return _answer([self._array])
            if self._shown is None or not within.shelf.again(self._shown.names):
                made = _answer([self._array])
                names = names_of(made.data)
                if not names:
                    return made
                within.shelf.show(names)
                self._shown = Shown(made, names, within.shelf)
            return self._shown.answer

    def _change_all(self) -> None:
        """Prepares for the replacement of all values. The caller must hold the lock."""
        self._version += 1
        if self._shown is not None:
            shown, self._shown = self._shown, None
            shown.shelf.hide(shown.names)

    def _change(self) -> None:
        """Prepares for a change of some values. The caller must hold the lock."""
        self._change_all()
        if not self._array.flags.writeable:  # the array is memory of the caller that assigned it
            self._array = self._array.copy()

    def read_rows(self, begin: Any, end: Any) -> Encoded:
        with self._lock:
            return _answer([self._array[self._rows(begin, end)]])

    def info(self) -> Encoded:
        with self._lock:
            shape = numpy().asarray(self._array.shape, "int64")
            return Encoded(encode([shape, self._array.dtype.name, self._version]))

    def assign(self, array: Any) -> None:
        with self._lock:
            array = self._same(array, adds=False)
            if array.shape == self._array.shape and is_mapped(array):
                array.flags.writeable = False
                self._array = array  # not copied until a part of it changes
                self._change_all()
                return
            self._change()
            self._array[...] = array

    def assign_add(self, array: Any) -> None:
        with self._lock:
            array = self._same(array)
            self._change()
            self._array += array

    def assign_sub(self, array: Any) -> None:
        with self._lock:
            array = self._same(array)
            self._change()
            self._array -= array

    def assign_rows(self, begin: Any, array: Any) -> None:
        with self._lock:
            begin = int(begin)
            rows = self._rows(begin, begin + (len(array) if array.ndim else 0))
            array = self._same_rows(array, rows.stop - rows.start, adds=False)
            self._change()
            self._array[rows] = array

    def gather(self, indices: Any) -> Encoded:
        with self._lock:
            return _answer([self._array[self._indices(indices)]])

    def scatter_add(self, indices: Any, rows: Any) -> None:
        self._scatter(numpy().add, indices, rows)

    def scatter_sub(self, indices: Any, rows: Any) -> None:
        self._scatter(numpy().subtract, indices, rows)

    def scatter_update(self, indices: Any, rows: Any) -> None:
        with self._lock:
            indices = self._indices(indices)
            rows = self._same_rows(rows, len(indices), adds=False)
            self._change()
            self._array[indices] = rows

    def _scatter(self, update: Any, indices: Any, rows: Any) -> None:
        with self._lock:
            indices = self._indices(indices)
            rows = self._same_rows(rows, len(indices))
            self._change()
            if (indices[1:] > indices[:-1]).all():  # without duplicates, a much faster operation is possible
                self._array[indices] = update(self._array[indices], rows)
            else:
                update.at(self._array, indices, rows)

    # Optimizers.

    def sgd(self, gradient: Any, learning_rate: Any, momentum: Any = None) -> None:
        with self._lock:
            step = self._same(gradient, steps=True)
            rate = self._number("learning_rate", learning_rate)
            if momentum is not None:
                decay = self._number("momentum", momentum)
                slot = self._slot("momentum")
                slot *= decay
                slot += step
                step = slot
            self._change()
            self._array -= rate * step

    def sgd_rows(self, indices: Any, rows: Any, learning_rate: Any) -> None:
        with self._lock:
            indices, rows = self._summed(indices, rows)
            rate = self._number("learning_rate", learning_rate)
            self._change()
            self._array[indices] -= rate * rows

    def adam(self, gradient: Any, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any) -> None:
        with self._lock:
            self._adam(..., self._same(gradient, steps=True), learning_rate, beta1, beta2, epsilon)

    def adam_rows(self, indices: Any, rows: Any, learning_rate: Any, beta1: Any, beta2: Any,
                  epsilon: Any) -> None:
        """Performs a step of Adam for some rows. The moments of all other rows are unchanged."""
        with self._lock:
            indices, rows = self._summed(indices, rows)
            self._adam(indices, rows, learning_rate, beta1, beta2, epsilon)

    def _adam(self, where: Any, g: Any, rate: Any, beta1: Any, beta2: Any, epsilon: Any) -> None:
        np = numpy()
        rate, b1, b2, epsilon = (_float(name, value) for name, value in (
            ("learning_rate", rate), ("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)))
        if not (0 <= b1 < 1 and 0 <= b2 < 1):
            raise ValueError(f"beta1: {b1}, beta2: {b2}; both must be at least 0 and less than 1")
        own = self._array.dtype.type
        m, v = self._slot("m"), self._slot("v")
        step = self._slots.setdefault("step", np.zeros((), "int64"))
        step += 1
        m[where] = own(b1) * m[where] + own(1 - b1) * g
        v[where] = own(b2) * v[where] + own(1 - b2) * (g * g)
        root = (1 - b2 ** int(step)) ** 0.5  # the paper's bias correction of v, moved out of the square root
        rate = rate * root / (1 - b1 ** int(step))
        self._change()
        self._array[where] -= own(rate) * m[where] / (np.sqrt(v[where]) + own(epsilon * root))

    # Checkpoints.

    def save(self) -> Encoded:
        with self._lock:
            return Encoded(_saved(self._array, self._slots, self._version))

    def load(self, array: Any, *more: Any) -> None:
        """Replaces the values, version and slots. Slots that `more` does not contain are removed."""
        with self._lock:
            slots = self._given_slots(more)
            array = self._same(array, adds=False, scalar=False)
            self._change()
            self._array[...] = array
            self._slots = {name: numpy().array(slot) for name, slot in slots.items()}
            self._version = int(more[-1])

    def begin_cut(self) -> int:
        """Copies the array for `cut_rows`, and returns the number of the copy. `end_cut` drops the copy. If there are
        too many copies, the oldest copy is dropped, because its coordinator may have exited.
        """
        with self._lock:
            while len(self._cuts) >= CUTS_MAX:
                self._cuts.popitem(last=False)
            self._last_cut += 1
            self._cuts[self._last_cut] = (self._array.copy(), {k: s.copy() for k, s in self._slots.items()},
                                          self._version)
            return self._last_cut

    def cut_rows(self, number: Any, begin: Any, end: Any) -> Encoded:
        """Returns some rows of a copy in the format of `save`. Slots whose shape differs from the array's shape are
        returned whole.
        """
        with self._lock:
            cut = self._cuts.get(int(number))
            if cut is None:
                raise ValueError(f"snapshot {int(number)} of this variable no longer exists")
            array, slots, version = cut
            rows = self._rows(begin, end)
            return Encoded(_saved(array[rows], {k: s[rows] if s.shape == array.shape else s
                                                for k, s in slots.items()}, version))

    def end_cut(self, number: Any) -> None:
        with self._lock:
            self._cuts.pop(int(number), None)

    def load_rows(self, begin: Any, array: Any, *more: Any) -> None:
        """Replaces some rows, as `load` does for all rows. If the rows include the first row, slots that `more` does
        not contain are removed.
        """
        with self._lock:
            begin = int(begin)
            rows = self._rows(begin, begin + (len(array) if array.ndim else 0))
            array = self._same_rows(array, rows.stop - rows.start, adds=False)
            self._change()
            if begin == 0:
                self._slots = {}
            for name, slot in self._given_slots(more).items():
                if slot.shape == array.shape:
                    self._slot(name)[rows] = slot
                else:
                    self._slots[name] = numpy().array(slot)
            self._array[rows] = array
            self._version = int(more[-1])

    # Checks of arguments, all of which run under the lock.

    def _given_slots(self, more: tuple[Any, ...]) -> dict[str, Any]:
        names, slots = more[:-1:2], more[1::2]
        if len(more) % 2 == 0 or not all(isinstance(n, str) for n in names) or isinstance(more[-1], str):
            raise TypeError("a variable must be loaded from an array, alternating names and slots, and its version")
        return dict(zip(names, slots))

    def _slot(self, name: str) -> Any:
        slot = self._slots.get(name)
        if slot is None:
            slot = self._slots[name] = numpy().zeros(self._array.shape, self._array.dtype)
        return slot

    def _number(self, field: str, value: Any) -> Any:
        return self._array.dtype.type(_float(field, value))

    def _typed(self, array: Any, adds: bool, steps: bool = False) -> Any:
        own = self._array.dtype
        if steps and own.name not in STEPPED:
            raise TypeError(f"variables of dtype {own} cannot be updated by optimizers: their steps would be truncated")
        if adds and own.name in ONLY_ASSIGNED:
            raise TypeError(f"variables of dtype {own} can only be assigned, read and gathered")
        if array.dtype == own:
            return array
        if array.ndim == 0 and numpy().can_cast(array.dtype, own, "same_kind"):
            return converted(array, own)
        raise TypeError(f"dtype: the variable has {own}, the argument has {array.dtype}")

    def _same(self, array: Any, adds: bool = True, scalar: bool = True, steps: bool = False) -> Any:
        if array.shape != self._array.shape and not (scalar and array.ndim == 0):
            raise ValueError(f"shape: the variable has {self._array.shape}, the argument has {array.shape}")
        return self._typed(array, adds, steps)

    def _same_rows(self, rows: Any, count: int, adds: bool = True, steps: bool = False) -> Any:
        wanted = (count, *self._array.shape[1:])
        if rows.shape != wanted and rows.ndim:
            raise ValueError(f"shape: the rows have {wanted}, the argument has {rows.shape}")
        return self._typed(rows, adds, steps)

    def _rows(self, begin: Any, end: Any) -> slice:
        size = self._size()
        if not 0 <= int(begin) <= int(end) <= size:
            raise IndexError(f"rows {int(begin)} to {int(end)}: the number of rows is {size}")
        return slice(int(begin), int(end))

    def _size(self) -> int:
        if not self._array.ndim:
            raise ValueError("a scalar variable has no rows")
        return len(self._array)

    def _indices(self, indices: Any) -> Any:
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise TypeError(f"indices: must be integers in one dimension, not {indices.dtype} of {indices.shape}")
        size = self._size()
        wrong = indices[(indices < 0) | (indices >= size)]
        if wrong.size:
            raise IndexError(f"index {int(wrong[0])}: the number of rows is {size}")
        return indices

    def _summed(self, indices: Any, rows: Any) -> tuple[Any, Any]:
        np = numpy()
        indices = self._indices(indices)
        rows = self._same_rows(rows, len(indices), steps=True)
        if (indices[1:] > indices[:-1]).all():
            return indices, rows
        found, places = np.unique(indices, return_inverse=True)
        summed = np.zeros((len(found), *self._array.shape[1:]), self._array.dtype)
        np.add.at(summed, places.reshape(-1), rows)
        return found, summed


def _float(field: str, value: Any) -> float:
    if getattr(value, "ndim", 0) or isinstance(value, (str, type(None))):
        raise TypeError(f"{field}: {value!r} is not a number")
    return float(value)


def _saved(array: Any, slots: dict[str, Any], version: int) -> bytes:
    named = [part for name in sorted(slots) for part in (name, slots[name])]
    return encode([array, *named, version])
