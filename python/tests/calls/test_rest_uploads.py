"""An upload over REST whose connection breaks is sent again."""
from __future__ import annotations

import pathlib
import socket
import subprocess
import threading
from typing import Iterator

import pytest

import muster
from conftest import Cluster, Server, binary


class Breaking:
    """A TCP proxy that closes the first connections that carry a PUT, in the midst of its body."""

    def __init__(self, server: Server, breaks: int) -> None:
        self.left = breaks
        host, _, port = server.http.partition("//")[2].rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._to) as server:
            threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                if data.startswith(b"PUT ") and self.left > 0:
                    self.left -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                server.sendall(data)

    def _copy(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(65536):
                client.sendall(data)
        except OSError:
            pass

    def close(self) -> None:
        self._listener.close()


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
