"""Checkpoints on disk: a complete checkpoint is found, whatever process dies while one is written."""
from __future__ import annotations

import os
import pathlib
import shutil
from typing import Any

import pytest

import muster
from muster.variables import checkpoint, known
from muster.variables.checkpoint import Reader, Writer

np = pytest.importorskip("numpy")


def write(path: pathlib.Path, value: int, keep: Any = None) -> int:
    out = Writer(path)
    out.variable("w", (5, 2), "int64")
    for begin, end in ((0, 3), (3, 5)):
        rows = np.full((end - begin, 2), value)
        out.rows("w", begin, [("", rows), ("m", rows / 2), ("step", np.asarray(value))], value)
    out.variable("s", (), "float32")
    out.rows("s", 0, [("", np.float32(value))], 1)
    out.object("o", b"state %d" % value)
    number = out.finish()
    checkpoint.tidy(path, number, keep)
    return number


def found(path: pathlib.Path) -> Any:
    """Returns the only value of the newest checkpoint, or None."""
    reader, _ = checkpoint.newest(path)
    if reader is None:
        return None
    value = int(reader.object("o").split()[1])
    for begin, end in ((0, 5), (2, 4), (4, 5), (0, 1)):
        saved, version = reader.rows("w", begin, end)
        parts = dict(saved)
        assert parts[""].shape == parts["m"].shape == (end - begin, 2)
        assert (parts[""] == value).all() and (parts["m"] == value / 2).all()
        assert (int(parts["step"]), version) == (value, value)
    assert float(reader.rows("s", 0, 1)[0][0][1]) == value
    reader.close()
    return value


def test_newest_checkpoint_is_found_and_old_ones_are_deleted(tmp_path: pathlib.Path) -> None:
    assert found(tmp_path / "nowhere") is None
    assert [write(tmp_path / "new", v, keep=2) for v in (10, 20, 30)] == [1, 2, 3]
    assert found(tmp_path / "new") == 30
    assert sorted(os.listdir(tmp_path / "new")) == ["checkpoint-2", "checkpoint-3"]


def test_death_at_any_step_leaves_a_complete_checkpoint(tmp_path: pathlib.Path) -> None:
    """Each opened file, write, sync, directory and name is a step."""
    write(tmp_path / "start", 1)
    steps = 0
    while True:
        path = tmp_path / f"at-{steps}"
        shutil.copytree(tmp_path / "start", path)
        pid = os.fork()
        if pid == 0:
            die_at(steps)
            try:
                write(path, 2, keep=1)
            except BaseException:
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status in (0, 9), "the process died, or the checkpoint was written"
        value = found(path)
        assert value in ((2,) if status == 0 else (1, 2))
        assert write(path, 3, keep=1) and found(path) == 3, "the next checkpoint can be written afterwards"
        assert [n for n in os.listdir(path) if n.endswith(".tmp")] == []
        if status == 0:
            break
        steps += 1
    assert steps > 20


def die_at(step: int) -> None:
    left = step

    def counted(f: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left == 0:
                os._exit(9)
            left -= 1
            return f(*args, **kwargs)

        return call

    class Unbuffered:
        """Flushes each write, so that each write is a step."""

        def __init__(self, file: Any) -> None:
            self._file = file
            self.write = counted(lambda data: (file.write(data), file.flush())[0])

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            self._file.close()

    opened = pathlib.Path.open
    once = counted(lambda *args: Unbuffered(opened(*args)))
    pathlib.Path.open = lambda *args: once(*args)  # type: ignore[assignment,method-assign,misc]
    for name in ("fsync", "rename", "mkdir", "unlink", "rmdir", "open"):
        setattr(os, name, counted(getattr(os, name)))


@pytest.mark.parametrize("harm", [
    lambda folder: (folder / "manifest.json").unlink(),
    lambda folder: (folder / "data").unlink(),
    lambda folder: os.truncate(folder / "data", 17),
    lambda folder: os.truncate(folder / "manifest.json", 100),
    lambda folder: (folder / "manifest.json").write_text("[]"),
    lambda folder: (folder / "data").write_bytes(b"x" + (folder / "data").read_bytes()[1:]),
    lambda folder: (folder / "manifest.json").write_text(
        (folder / "manifest.json").read_text().replace('"begin": 3', '"begin": 2'))])
def test_damaged_checkpoint_is_skipped(tmp_path: pathlib.Path, harm: Any) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2)
    harm(tmp_path / "checkpoint-2")
    reader, wrong = checkpoint.newest(tmp_path)
    assert reader and reader.number == 1 and "checkpoint-2" in wrong[0]
    assert found(tmp_path) == 1
    with pytest.raises(checkpoint.Torn):
        Reader(tmp_path, 2)


def test_checkpoint_deleted_while_it_is_read_is_not_the_newest(tmp_path: pathlib.Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program keeps one checkpoint, and has just written it."""
    write(tmp_path, 1)
    listed = checkpoint.numbers
    monkeypatch.setattr(checkpoint, "numbers", lambda path: (monkeypatch.undo(), listed(path), write(path, 2, 1))[1])
    assert found(tmp_path) == 2


class Whole:
    """A large variable of a worker that can only be saved as a whole."""

    _bytes = 10 << 20
    shape = (5, 2)

    def _call(self, method: str, *args: Any) -> Any:
        if method != "save":
            raise muster.ClosureError(muster.FailureKind.USER, "no_method", f"there is no method {method}")
        return self

    def fetch(self) -> Any:
        return [np.ones((5, 2)), "m", np.zeros((5, 2)), np.asarray(3)]


def test_large_variable_is_saved_whole_if_its_worker_cannot_cut_it(tmp_path: pathlib.Path) -> None:
    out = Writer(tmp_path)
    out.variable("w", (5, 2), "float64")
    known._save_shards(out, [("w", Whole(), 0)])  # type: ignore[list-item]
    saved, version = Reader(tmp_path, out.finish()).rows("w", 0, 5)
    assert [name for name, _ in saved] == ["", "m"] and saved[0][1].all() and version == 3


def test_abandoned_checkpoint_leaves_no_files(tmp_path: pathlib.Path) -> None:
    out = Writer(tmp_path)
    out.object("o", b"state")
    out.abandon()
    assert os.listdir(tmp_path) == []


TWICE: list[Any] = [1]
DEEP: list[Any] = []
for _ in range(checkpoint.DEPTH_MAX + 1):
    DEEP = [DEEP]


@pytest.mark.parametrize("state, is_json", [
    ({"a": [1, -0.5, None, True, "\u00e9\u20ac", {}]}, True), (2**64 - 1, True), (-2**63, True), ("", True), ([], True),
    (2**64, False), (float("inf"), False), ((1,), False), ({1: 2}, False), ({"$object": "obj_1"}, False), (b"x", False),
    ("\ud800", False), (np.float64(1), False), ([TWICE, TWICE], False), (DEEP, False), ({1}, False)])
def test_state_is_stored_as_json_if_json_preserves_it(tmp_path: pathlib.Path, state: Any, is_json: bool) -> None:
    out = Writer(tmp_path)
    out.object("o", state)
    reader = Reader(tmp_path, out.finish())
    found = reader.object("o")
    assert found == state and type(found) is type(state)
    assert (reader.objects["o"].get("encoding") == "json") is is_json
