"""Encoding of arrays for calls of objects, and decoding of valid and broken bytes."""
from __future__ import annotations

import random
import struct
import subprocess
import sys
from typing import Any

import pytest

from muster.objects import arrays

np = pytest.importorskip("numpy")


def samples() -> list[Any]:
    return [np.arange(12, dtype="float32").reshape(3, 4), np.array([True, False, True]), np.zeros((0, 5)),
            np.float64(2.5), np.arange(7, dtype="uint8")[::2], np.arange(6).reshape(2, 3).T, np.int64(-3)]


def test_arrays_texts_and_none_survive_a_round_trip() -> None:
    found = arrays.decode(arrays.encode([*samples(), "näme", None, True, 7, 0.5]))
    for sent, came in zip(samples(), found):
        assert came.dtype == np.asarray(sent).dtype and came.shape == np.asarray(sent).shape
        assert (came == sent).all()
    assert found[len(samples()):len(samples()) + 2] == ["näme", None]
    assert [str(v.dtype) for v in found[-3:]] == ["bool", "int64", "float64"]


def test_encoded_bytes_match_the_specification() -> None:
    data = arrays.encode([np.array([[1, 2]], "<u2"), "ab"])
    head = (b"\x93ARRAYS\x01" + struct.pack("<I", 2) + b"\x06uint16\x02" + struct.pack("<QQQ", 1, 2, 4) +
            b"\x04utf8\x01" + struct.pack("<QQ", 2, 2))
    at = len(head) + -len(head) % 16
    assert data == head.ljust(at, b"\0") + b"\1\0\2\0" + bytes(12) + b"ab"


def test_arrays_of_another_byte_order_are_converted() -> None:
    assert arrays.decode(arrays.encode([np.array([1, 2], ">i4")]))[0].tolist() == [1, 2]


def test_copies_are_writable_and_views_are_read_only() -> None:
    data = arrays.encode([np.zeros(3)])
    arrays.decode(data, copies=True)[0][0] = 1
    with pytest.raises(ValueError, match="read-only"):
        arrays.decode(data)[0][0] = 1


@pytest.mark.parametrize("value, said", [(np.array(["a"]), "<U1"), (np.zeros((1,) * 9), "9 dimensions"),
                                         (object(), "object"), (np.zeros(1, "datetime64[s]"), "datetime64")])
def test_unsupported_values_are_refused(value: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        arrays.encode([value])


def one(name: bytes, shape: tuple[int, ...], size: int, data: bytes = b"") -> bytes:
    head = (arrays.MAGIC + struct.pack("<I", 1) + bytes((len(name),)) + name + bytes((len(shape),)) +
            b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<Q", size))
    return head + bytes(-len(head) % 16) + data


@pytest.mark.parametrize("data, field", [
    (b"\x93ARRAYS\x03" + bytes(4), "magic"), (arrays.MAGIC + b"\1\0", "count"),
    (arrays.MAGIC + struct.pack("<I", 1 << 31), "count"), (arrays.MAGIC + struct.pack("<I", 1), "dtype"),
    (one(b"object", (1,), 8, bytes(8)), "dtype"), (one(b"int64", (1,) * 9, 8, bytes(8)), "dimensions"),
    (one(b"int64", (2,), 8, bytes(8)), "bytes"), (one(b"int64", (1 << 62, 4), 0), "bytes"),
    (one(b"int64", (1 << 61,), 0), "bytes"), (one(b"int64", (1,), 8, bytes(7)), "data"),
    (one(b"int64", (1 << 40,), 1 << 43), "data"), (one(b"bool", (1,), 1, b"\2"), "data"),
    (one(b"utf8", (1, 2), 2, b"ab"), "bytes"), (one(b"none", (), 1, b"a"), "bytes"),
    (one(b"int64", (0, 1 << 62), 0), "shape")])
def test_broken_bytes_name_the_field(data: bytes, field: str) -> None:
    with pytest.raises(ValueError, match=f"arrays: (array 0: )?{field}"):
        arrays.decode(data)


def test_random_bytes_are_an_error_or_decode_to_arrays_of_their_size() -> None:
    dice = random.Random(7)
    whole = arrays.encode([*samples(), "text", None])
    for _ in range(5000):
        data = bytearray(whole[:dice.randrange(len(whole) + 1)])
        for _ in range(dice.randrange(4)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            found = arrays.decode(bytes(data))
        except ValueError:
            continue
        assert sum(a.nbytes for a in found if hasattr(a, "nbytes")) <= len(data)


def test_large_data_can_be_stored_elsewhere() -> None:
    kept: dict[bytes, bytes] = {}

    def take(data: Any) -> bytes:
        name = bytes([len(kept) + 1]) * arrays.NAME
        kept[name] = bytes(data)
        return name

    given = [*samples(), np.arange(100.0), "text", None]
    data = arrays.encode(given, take, above=400)
    assert arrays.is_arrays(data) and arrays.may_be_elsewhere(data) and not arrays.may_be_elsewhere(arrays.encode(given))
    assert arrays.names_of(data) == list(kept) and len(kept) == 1
    found = arrays.decode(data, open=lambda name: memoryview(bytearray(kept[name])))
    assert all((a == b).all() if hasattr(a, "all") else a == b for a, b in zip(found, given))
    found[-3][0] = 7  # writes to the memory itself
    with pytest.raises(ValueError, match="array .*: name: arrays stored under a name are not supported here"):
        arrays.decode(data)
    with pytest.raises(ValueError, match="array .*: bytes: 800, but the named data has 5"):
        arrays.decode(data, open=lambda name: memoryview(b"short"))
    at = data.index(next(iter(kept))) - 1
    with pytest.raises(ValueError, match="name: must have 32 bytes, got 31"):
        arrays.decode(data[:at] + b"\x1f" + data[at + 1:])
    with pytest.raises(ValueError, match="name"):
        arrays.decode(data[:at + 9])


def test_package_is_imported_without_numpy_and_variables_report_it_missing() -> None:
    program = ("import sys; sys.modules['numpy'] = None\n"
               "import muster; muster.ClusterCoordinator; import muster.worker.objects\n"
               "from muster.variables import variable; from muster.objects import arrays\n"
               "assert arrays.decode(arrays.encode(['text', None])) == ['text', None]\n"
               "try: variable.make(arrays.encode(['x', 'float32', 'zeros']))\n"
               "except ImportError as error: print(error)\n")
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install numpy" in made.stdout, made.stderr
