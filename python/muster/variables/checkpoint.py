"""Checkpoints on disk. ``PATH/checkpoint-7`` contains the files ``data`` and ``manifest.json``. The manifest is written
last. The manifest contains the offsets and SHA-256 digests of all data, and its own digest. A checkpoint is written as
``checkpoint-7.tmp``, synced to disk, and then renamed, so earlier checkpoints survive any crash. This module does not
use a cluster.
"""
from __future__ import annotations

import hashlib
import json
import math
import os
import pathlib
import pickle
import re
import shutil
from typing import Any, Sequence, Union

from muster.objects import arrays

FORMAT = 1
JSON = "json"
"""Encoding of an object's state that is stored as JSON. Pickles have no encoding mark."""
DEPTH_MAX = 200
"""Maximum nesting depth of JSON, because JSON readers limit the depth."""
_NAME = re.compile(r"checkpoint-(\d+)(\.tmp)?$")
Path = Union[str, "os.PathLike[str]"]
Saved = tuple[str, Any]
"""The name of a slot, or "" for the variable itself, and its array."""


class Torn(Exception):
    """Raised if a checkpoint is incomplete or damaged. The message contains the reason."""


def numbers(path: Path, unfinished: bool = False) -> list[int]:
    """Returns the numbers of the existing checkpoints, oldest first, including incomplete checkpoints. With
    `unfinished`, returns the numbers of checkpoints that have not been renamed yet.
    """
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return []
    found = [m for m in map(_NAME.match, names) if m]
    return sorted(int(m[1]) for m in found if bool(m[2]) == unfinished)


class Writer:
    """Writes the next checkpoint, until `finish` or `abandon` is called. Can be used on only one thread. Only one
    program at a time can write to a path. Raises OSError if the checkpoint cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = pathlib.Path(path).absolute()
        if not self._path.is_dir():
            self._path.mkdir(parents=True, exist_ok=True)
            _sync(self._path.parent)
        self.number = max(numbers(path) + numbers(path, unfinished=True), default=0) + 1
        self._folder = self._path / f"checkpoint-{self.number}.tmp"
        self._folder.mkdir()
        self._data = (self._folder / "data").open("wb")
        self._hash = hashlib.sha256()
        self._at = 0
        self._variables: dict[str, Any] = {}
        self._objects: dict[str, Any] = {}

    def variable(self, name: str, shape: Sequence[int], dtype: str) -> None:
        self._variables[name] = {"shape": list(shape), "dtype": dtype, "parts": []}

    def rows(self, name: str, begin: int, saved: Sequence[Saved], version: int) -> None:
        """Writes rows of a variable, starting at row `begin`, with the matching part of the variable's slots."""
        kept = []
        for slot, array in saved:
            place = self._put(memoryview(arrays.numpy().ascontiguousarray(array).reshape(-1).view("uint8"))
                              if array.size else b"")
            kept.append({"slot": slot, "shape": list(array.shape), "dtype": array.dtype.name, **place})
        self._variables[name]["parts"].append({"begin": begin, "arrays": kept, "version": version})

    def object(self, name: str, state: Any) -> None:
        """Writes the state of an object. If JSON preserves the state, the state is written as JSON, which other
        languages can read. Otherwise the state is written as a pickle.
        """
        if is_plain(state, set()):
            self._objects[name] = {**self._put(json.dumps(state).encode()), "encoding": JSON}
        else:
            self._objects[name] = self._put(pickle.dumps(state))

    def _put(self, data: Any) -> dict[str, int]:
        self._data.write(data)
        self._hash.update(data)
        size = len(data)
        self._at += size
        return {"offset": self._at - size, "bytes": size}

    def finish(self) -> int:
        """Completes the checkpoint, and returns its number when the checkpoint is on disk."""
        self._data.flush()
        os.fsync(self._data.fileno())
        self._data.close()
        manifest = {"format": FORMAT, "bytes": self._at, "sha256": self._hash.hexdigest(),
                    "variables": self._variables, "objects": self._objects}
        manifest["manifest_sha256"] = _hash_of(manifest)
        with (self._folder / "manifest.json").open("w") as out:
            out.write(json.dumps(manifest, sort_keys=True))
            out.flush()
            os.fsync(out.fileno())
        _sync(self._folder)
        os.rename(self._folder, self._path / f"checkpoint-{self.number}")
        _sync(self._path)
        return self.number

    def abandon(self) -> None:
        self._data.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def is_plain(state: Any, seen: set[int], depth: int = 0) -> bool:
    """Returns whether JSON preserves the state. The state must have only JSON types and must not contain any object
    twice.
    """
    kind = type(state)
    if kind is dict or kind is list:
        if id(state) in seen or depth == DEPTH_MAX:
            return False
        seen.add(id(state))
        if kind is list:
            return all(is_plain(one, seen, depth + 1) for one in state)
        return all(type(key) is str and not key.startswith("$") and is_plain(key, seen) and  # "$" marks handles
                   is_plain(one, seen, depth + 1) for key, one in state.items())
    if kind is str:
        return not any("\ud800" <= c <= "\udfff" for c in state)
    if kind is int:
        return bool(-2**63 <= state < 2**64)  # the range that C++ can read
    return state is None or kind is bool or (kind is float and math.isfinite(state))


def check_keep(keep: int | None) -> None:
    """Raises TypeError or ValueError if `keep` is invalid."""
    if keep is not None and arrays.integer("keep", keep) < 1:
        raise ValueError(f"keep: {keep}, must be at least 1")


def tidy(path: Path, newest: int, keep: int | None) -> None:
    """Removes unfinished checkpoints that precede `newest`, and all complete checkpoints except the newest `keep`."""
    whole = numbers(path)
    old = [] if keep is None else whole[:max(0, len(whole) - keep)]
    for number in old:
        folder = pathlib.Path(path) / f"checkpoint-{number}"
        os.rename(folder, f"{folder}.tmp")  # a partly deleted checkpoint must not look complete
    for number in numbers(path, unfinished=True):
        if number < newest:
            shutil.rmtree(pathlib.Path(path) / f"checkpoint-{number}.tmp", ignore_errors=True)


class Reader:
    """Reads a checkpoint. The constructor reads all data once to verify the checkpoint. Raises Torn if the checkpoint
    is damaged, or OSError.
    """

    def __init__(self, path: Path, number: int) -> None:
        folder = pathlib.Path(path) / f"checkpoint-{number}"
        self.number = number
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            said = manifest.pop("manifest_sha256")
        except FileNotFoundError:
            raise Torn(f"{folder} has no manifest.json") from None
        except (ValueError, KeyError, AttributeError, TypeError):
            raise Torn(f"{folder}/manifest.json is truncated") from None
        if said != _hash_of(manifest):
            raise Torn(f"{folder}/manifest.json was changed after it was written")
        if manifest["format"] != FORMAT:
            raise Torn(f"{folder} has format {manifest['format']}, but this version reads format {FORMAT}")
        self.variables: dict[str, Any] = manifest["variables"]
        self.objects: dict[str, Any] = manifest["objects"]
        try:
            self._data = (folder / "data").open("rb")
        except FileNotFoundError:
            raise Torn(f"{folder} has no data file") from None
        digest, size = hashlib.sha256(), 0
        while piece := self._data.read(1 << 20):
            digest.update(piece)
            size += len(piece)
        if (size, digest.hexdigest()) != (manifest["bytes"], manifest["sha256"]):
            self.close()
            raise Torn(f"{folder}/data was changed after it was written: {size} bytes instead of {manifest['bytes']}")

    def arrays_of(self, name: str) -> int:
        """Returns the number of arrays in each part of a variable, namely the values and the slots."""
        return max((len(part["arrays"]) for part in self.variables[name]["parts"]), default=1)

    def rows(self, name: str, begin: int, end: int) -> tuple[list[Saved], int]:
        """Returns rows of a variable with their slots, and the variable's version. The rows can span several saved
        shards.
        """
        v = self.variables[name]
        np = arrays.numpy()
        shape = (end - begin, *v["shape"][1:]) if v["shape"] else ()
        found: dict[str, Any] = {"": np.zeros(shape, v["dtype"])}
        version = 0
        for part in v["parts"]:
            size = part["arrays"][0]["shape"][0] if v["shape"] else 1
            low, high = max(begin, part["begin"]), min(end, part["begin"] + size)
            if v["shape"] and low >= high:
                continue
            version = max(version, part["version"])
            for kept in part["arrays"]:
                if kept["shape"] != part["arrays"][0]["shape"]:
                    found.setdefault(kept["slot"], self._array(kept, None, None))
                    continue
                slot = found.setdefault(kept["slot"], np.zeros(shape, kept["dtype"]))
                if v["shape"]:
                    slot[low - begin:high - begin] = self._array(kept, low - part["begin"], high - part["begin"])
                else:
                    slot[...] = self._array(kept, None, None)
        return list(found.items()), version

    def _array(self, kept: dict[str, Any], low: int | None, high: int | None) -> Any:
        np = arrays.numpy()
        dtype, shape = np.dtype(kept["dtype"]), list(kept["shape"])
        at, size = kept["offset"], kept["bytes"]
        if low is not None and high is not None:
            row = size // max(1, shape[0])
            at, size, shape[0] = at + low * row, (high - low) * row, high - low
        self._data.seek(at)
        return np.frombuffer(self._data.read(size), dtype).reshape(shape)

    def object(self, name: str) -> Any:
        """Returns the state of an object."""
        place = self.objects[name]
        self._data.seek(place["offset"])
        state = self._data.read(place["bytes"])
        return json.loads(state) if place.get("encoding") == JSON else pickle.loads(state)

    def close(self) -> None:
        self._data.close()


def newest(path: Path) -> tuple[Reader | None, list[str]]:
    """Returns the newest complete checkpoint, or None, and a list of the errors found in newer checkpoints."""
    while True:
        wrong: list[str] = []
        there = numbers(path)
        for number in reversed(there):
            try:
                return Reader(path, number), wrong
            except Torn as error:
                wrong.append(str(error))
        if numbers(path) == there:
            return None, wrong  # otherwise the writer has replaced these checkpoints; search again


def _hash_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _sync(folder: pathlib.Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
