"""TLS for REST clients, coordinators, and workers that show a certificate."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

import muster
from conftest import Server, WorkerProcess, binary, until
from test_bounded_file import piped


class SecureServer(Server):
    def __init__(self, folder: pathlib.Path, *words: str) -> None:
        subprocess.run([binary(), "tls", "init", str(folder / "tls")], check=True,
                       stdout=subprocess.DEVNULL)
        self.files = folder / "tls"
        super().__init__(folder, "--tls-cert", self.pem("server.pem"), "--tls-key",
                         self.pem("server.key"), "--tls-client-ca", self.pem("ca.pem"), *words)
        self.http = self.http.replace("http:", "https:")

    def pem(self, name: str) -> str:
        return str(self.files / name)

    def who(self, name: str) -> dict[str, str]:
        return {"ca": self.pem("ca.pem"), "cert": self.pem(f"{name}.pem"),
                "key": self.pem(f"{name}.key")}


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Any:
    running = SecureServer(tmp_path, "--tls-client-required")
    yield running
    running.stop()


@pytest.mark.parametrize("words", [{"ca": "bad.pem"}, {"cert": "bad.pem", "key": "bad.pem"},
                                   {"cert": "tls/client.pem", "key": "tls/worker.key"}])
def test_files_that_grpc_cannot_use_are_refused(tmp_path: pathlib.Path, words: dict[str, str]) -> None:
    subprocess.run([binary(), "tls", "init", str(tmp_path / "tls")], check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "bad.pem").write_text("{0}BEGIN CERTIFICATE{0}\nAAAA\n{0}END CERTIFICATE{0}\n".format("-----"))
    files = {name: str(tmp_path / file) for name, file in words.items()}
    with pytest.raises(ValueError, match=re.escape(next(iter(files.values())))):
        muster.ClusterCoordinator("127.0.0.1:1", **files)
    flags = [word for name, path in files.items() for word in (f"--{name}", path)]
    worker = subprocess.run([sys.executable, "-m", "muster", "worker", "--processes", "1", *flags],
                            capture_output=True, text=True, timeout=30)
    assert worker.returncode == 2
    assert next(iter(files.values())) in worker.stderr and worker.stderr.count("\n") == 1


def test_workers_and_coordinators_show_their_certificates(server: SecureServer,
                                                          tmp_path: pathlib.Path) -> None:
    client = muster.Client(server.http, **server.who("client"))
    words = [word for flag, path in server.who("worker").items() for word in (f"--{flag}", path)]
    worker = WorkerProcess(tmp_path, 0, server.grpc, ("--processes", "1", *words))
    until(lambda: [t for t in client.tasks() if t["state"] == "CONNECTED"], worker.text())
    with muster.ClusterCoordinator(server.grpc, **server.who("client")) as c:
        assert c.schedule(sum, args=([1, 2, 3],)).fetch() == 6
        large = os.urandom(1 << 20)  # a blob, which has a channel of its own
        assert c.schedule(len, args=(large,)).fetch() == len(large)

        def nested() -> int:
            with muster.ClusterCoordinator() as own:
                return own.submit(abs, -7).fetch(20)

        assert c.submit(nested).fetch(30) == 7, "a coordinator in a function uses the worker's files"
    assert client.submit("mean", [1, 2, 6]).join(20).state == "SUCCEEDED"
    assert worker.stop() == 0


def test_environment_names_the_files(server: SecureServer,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in server.who("client").items():
        monkeypatch.setenv(f"MUSTER_{name.upper()}", path)
    assert muster.Client(server.http).version()
    with muster.ClusterCoordinator(server.grpc, connect_timeout=10) as c:
        assert c.wait_open()
    with muster.LocalCluster(workers=1) as local, local.coordinator() as c:
        assert c.schedule(sum, args=([1, 2],)).fetch() == 3, "a client of another server uses plaintext"


def test_files_can_be_pipes(server: SecureServer) -> None:
    pipes = {name: piped(pathlib.Path(path).read_bytes()) for name, path in server.who("client").items()}
    for _ in range(2):
        assert muster.Client(server.http, **pipes).version()
        with muster.ClusterCoordinator(server.grpc, connect_timeout=10, **pipes) as c:
            assert c.wait_open()


def test_client_without_a_certificate_or_with_another_ca_is_refused(server: SecureServer,
                                                                    tmp_path: pathlib.Path) -> None:
    with pytest.raises(muster.UnavailableError), muster.ClusterCoordinator(server.grpc, ca=server.pem("ca.pem"),
                                   connect_timeout=1) as c:
        c.wait_open()
    subprocess.run([binary(), "tls", "init", str(tmp_path / "other")], check=True,
                   stdout=subprocess.DEVNULL)
    other = str(tmp_path / "other" / "ca.pem")
    with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        muster.Client(server.http, **{**server.who("client"), "ca": other}).version()


def test_unusable_files_are_named(server: SecureServer) -> None:
    with pytest.raises(ValueError, match="ca: .*nowhere.pem"):
        muster.ClusterCoordinator(server.grpc, ca="/nowhere.pem")
    with pytest.raises(ValueError, match="pass both the certificate and its key"):
        muster.Client(server.http, cert=server.pem("client.pem"))
    with pytest.raises(ValueError, match="is not in PEM form"):
        muster.Worker(server.grpc, ca=__file__)
    assert json.loads(server.ready.read_text())["tls"] is True
