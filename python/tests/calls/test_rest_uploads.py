"""An upload over REST whose connection breaks is sent again."""
from __future__ import annotations

import pathlib
import subprocess
from typing import Iterator

import pytest

import muster
from conftest import Cluster, Server, binary
from proxies import Proxy


class Breaking(Proxy):
    """Closes the first `breaks` connections that carry a PUT, in the middle of its body."""

    def __init__(self, server: Server, breaks: int) -> None:
        self.left = breaks
        super().__init__(server.http.partition("//")[2])
        self.url = f"http://{self.address}"

    def passes(self, data: bytes, up: bool) -> bool:
        if not (up and data.startswith(b"PUT ") and self.left > 0):
            return True
        self.left -= 1
        return False


@pytest.fixture
def breaking(cluster: Cluster) -> Iterator[Breaking]:
    made = Breaking(cluster.server, 3)
    yield made
    made.close()


def folder(tmp_path: pathlib.Path, text: str) -> pathlib.Path:
    made = tmp_path / "code"
    made.mkdir()
    (made / "file.txt").write_text(text)
    return made


def test_python_client_sends_it_again(breaking: Breaking, tmp_path: pathlib.Path) -> None:
    program = muster.Client(breaking.url).launch(["true"], upload=folder(tmp_path, "python"))
    assert breaking.left == 0
    program.cancel()


def test_command_line_sends_it_again(breaking: Breaking, tmp_path: pathlib.Path) -> None:
    done = subprocess.run([binary(), "launch", "-n", "1", "--detach", "--upload", str(folder(tmp_path, "cli")), "--url", breaking.url,
                           "--", "true"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and breaking.left == 0, done.stderr
