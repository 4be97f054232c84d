"""Small files have a size limit, so an endless device is refused."""
from __future__ import annotations

import os
import pathlib

import pytest

from muster._bounded_file import BYTES_MAX, PIPES_MAX, read_bounded_file
from muster._tls import Tls
from muster._token import first_line


def test_file_beyond_the_limit_is_refused(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * BYTES_MAX)
    assert len(read_bounded_file(file)) == BYTES_MAX
    for path in (str(file), "/dev/zero"):
        if path == str(file):
            file.write_bytes(b"x" * (BYTES_MAX + 1))
        with pytest.raises(ValueError, match=f"{path}: is larger than 1 MiB"):
            read_bounded_file(path)


def test_token_files_and_certificates_have_the_limit() -> None:
    with pytest.raises(ValueError, match="/dev/zero: is larger than 1 MiB"):
        first_line("/dev/zero", "token_file")
    with pytest.raises(ValueError, match="/dev/zero: is larger than 1 MiB"):
        Tls(ca="/dev/zero").channel("127.0.0.1:1", [])


def piped(content: bytes) -> str:
    """Returns the path of a pipe, like ``<(…)`` of a shell."""
    out, into = os.pipe()
    os.write(into, content)
    os.close(into)
    return f"/dev/fd/{out}"


def test_pipe_has_the_same_content_for_each_reader() -> None:
    first, second = piped(b"one"), piped(b"two")
    for _ in range(2):
        assert (read_bounded_file(first), read_bounded_file(second)) == (b"one", b"two")


def test_content_of_a_limited_number_of_pipes_is_kept() -> None:
    first = piped(b"first")
    assert read_bounded_file(first) == b"first"
    for _ in range(PIPES_MAX - 1):
        read_bounded_file(piped(b"more"))
    assert read_bounded_file(first) == b"first"
    read_bounded_file(piped(b"one more"))
    assert read_bounded_file(first) == b""
