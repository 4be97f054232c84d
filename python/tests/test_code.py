"""Directories of code that programs upload."""
from __future__ import annotations

import io
import os
import pathlib
import sys
import tarfile
from typing import Iterator

import pytest

import muster
from conftest import DEADLINE
from muster.rest import code


def ignores(lines: str, path: str, is_directory: bool = False, below: str = "") -> bool:
    directory = tuple(below.split("/")) if below else ()
    return code.ignored([*code.rules(directory, lines)], tuple(path.split("/")), is_directory)


@pytest.mark.parametrize("lines, yes, no", [
    ("*.o\nbuild\n", ["a.o", "x/y/a.o", "x/build/"], ["a.cpp", "builder/"]),
    ("/out\ndocs/*.pdf\n", ["out/", "docs/a.pdf"], ["x/out/", "docs/x/a.pdf", "x/docs/a.pdf"]),
    ("data/\n", ["data/", "x/data/"], ["data"]),
    ("**/cache\na/**/z\nlogs/**\n", ["cache/", "x/y/cache/", "a/z", "a/b/c/z", "logs/x"], ["logs/"]),
    ("*.log\n!keep.log\n", ["a.log"], ["keep.log"]),
    ("*.[^p]*\n[[:digit:]]x\n[]a]\nz[^^]\n[b\\]]c\n[[:punct:]]y\n",
     ["a.c", "5x", "]", "a", "zx", "]c", "bc", "]y", "-y"], ["a.py", "ax", "z^", "xc", "yy"]),
    ("!keep.log\n*.log\n", ["keep.log"], []),
    ("# no\n\n\\#yes\n\\!also\nspace  \nkept\\ \nrange[0-9]\none?\r\n/\n!\nst\\*r\n",
     ["#yes", "!also", "space", "kept ", "range7", "one1", "st*r"],
     ["# no", "rangex", "anything", "star"]),
])
def test_ignore_rules_match_those_of_git(lines: str, yes: list[str], no: list[str]) -> None:
    for paths, expected in ((yes, True), (no, False)):
        for path in paths:
            assert ignores(lines, path.rstrip("/"), path.endswith("/")) == expected, path


def test_ignore_rules_of_a_directory_apply_below_it() -> None:
    assert ignores("/only\n", "x/y/only", below="x/y") and not ignores("/only\n", "only", below="x/y")


def names(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return [e.name for e in tar]


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    root = tmp_path / "code"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "part.py").write_text("WORD = 'of the upload'\n")
    (root / "train.py").write_text("from lib.part import WORD\nprint(WORD)\n")
    (root / "link").symlink_to("lib/part.py")
    (root / ".git").mkdir()
    (root / "big.bin").write_text("left at home")
    (root / ".gitignore").write_text("*.bin\n")
    yield root


def test_probable_secrets_are_reported(tree: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, mode in (("ca.key", 0o600), ("admin.token", 0o600), ("vocabulary.token", 0o644)):
        (tree / name).write_text("secret")
        (tree / name).chmod(mode)
    code.pack(tree)
    assert "admin.token and ca.key, readable only by you" in caplog.text
    caplog.clear()
    (tree / ".musterignore").write_text("*.key\n*.token\n")
    code.pack(tree)
    assert not caplog.text


def test_equal_files_produce_equal_archives(tree: pathlib.Path) -> None:
    first = code.pack(tree)
    assert names(first) == [".gitignore", "lib", "lib/part.py", "link", "train.py"]
    os.utime(tree / "train.py", (1, 1))
    (tree / "big.bin").write_text("something else")
    assert code.pack(tree) == first
    (tree / ".musterignore").write_text("lib\nlink\n")
    assert "big.bin" in names(code.pack(tree)) and "lib" not in names(code.pack(tree))


def test_unsupported_uploads_are_refused(tree: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="is not a directory"):
        muster.launch(["true"], upload=tree / "train.py")
    monkeypatch.setattr(code, "BYTES_MAX", 10)
    with pytest.raises(ValueError, match="the limit of 0.0 KiB.*\n.* KiB  train.py"):
        code.pack(tree)
    monkeypatch.setattr(code, "ENTRIES_MAX", 2)
    with pytest.raises(ValueError, match="more than 2 files and directories"):
        code.pack(tree)
    monkeypatch.undo()
    for target in ("/etc/passwd", "../elsewhere", "lib/../../elsewhere"):
        (tree / "out").unlink(missing_ok=True)
        (tree / "out").symlink_to(target)
        with pytest.raises(ValueError, match="'out' is a symbolic link to "):
            code.pack(tree)


def test_ranks_start_in_the_uploaded_directory(url: str, tree: pathlib.Path) -> None:
    command = [sys.executable, "train.py"]
    for _ in range(2):  # the second program finds the directory on the worker
        assert [*muster.launch(command, upload=tree).wait(DEADLINE).logs()] == ["of the upload"]
    known = code.Upload(tree).hash
    assert [*muster.launch(command, upload=known).wait(DEADLINE).logs()] == ["of the upload"]


def test_blob_that_the_server_lacks_is_not_a_directory(url: str) -> None:
    with pytest.raises(muster.ServerError, match="upload"):
        muster.launch(["true"], upload="0" * 64)
