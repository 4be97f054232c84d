"""Tokens: sent with every call, from an argument or the environment. A wrong token is reported."""
from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import grpc
import pytest

import muster
from conftest import Server, binary, until
from muster._wire import messages

numpy = pytest.importorskip("numpy")


def token(server: Server, folder: pathlib.Path, role: str, *words: str) -> str:
    admin = str(folder / "data" / "admin.token")
    made = subprocess.run([binary(), "token", "create", "--role", role, "--url", server.http,
                           "--token-file", admin, *words], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def lines_seen_by(server: Server, token: str, session: str) -> Any:
    """Returns all lines of a session, or the status of the failed call."""
    with grpc.insecure_channel(server.grpc) as channel:
        ask = channel.unary_unary("/muster.v1.CoordinatorService/GetLogs",
                                  messages.GetLogsRequest.SerializeToString,
                                  messages.GetLogsResponse.FromString)
        try:
            answer = ask(messages.GetLogsRequest(session=session), timeout=10,
                         metadata=[("authorization", f"Bearer {token}")] if token else [])
        except grpc.RpcError as error:
            return error.code()
        return [line.text for line in answer.line]


def test_token_file_of_the_environment_is_read(guarded: Server, tmp_path: pathlib.Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_TOKEN_FILE", str(tmp_path / "data" / "admin.token"))
    assert muster.Client(guarded.http).jobs() == []
    with muster.ClusterCoordinator(guarded.grpc) as c:
        c.wait_open()
    monkeypatch.setenv("MUSTER_TOKEN_FILE", "/nowhere/token")
    with pytest.raises(ValueError, match="MUSTER_TOKEN_FILE /nowhere/token: No such file"):
        muster.Client(guarded.http)
    monkeypatch.setenv("MUSTER_TOKEN", "wrong")
    with pytest.raises(muster.MusterError, match="token"):
        muster.Client(guarded.http).jobs()


def test_every_call_carries_the_token(guarded: Server, tmp_path: pathlib.Path,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker.token").write_text(token(guarded, tmp_path, "worker") + "\n")
    submitter = token(guarded, tmp_path, "submitter")
    viewer = token(guarded, tmp_path, "viewer")
    worker = subprocess.Popen([sys.executable, "-m", "muster", "worker", "--server", guarded.grpc,
                               "--processes", "1", "--token-file", str(tmp_path / "worker.token")])
    try:
        client = muster.Client(guarded.http, token=viewer)
        until(lambda: [t for t in client.tasks() if t["state"] == "CONNECTED"], "the worker")
        with muster.ClusterCoordinator(guarded.grpc, token=submitter) as c:
            assert c.schedule(lambda x: x + 1, args=(41,)).fetch() == 42
            large = numpy.zeros(1 << 19)  # sent as a blob
            assert c.schedule(lambda a: len(a), args=(large,)).fetch() == 1 << 19
            said = c.schedule(print, args=("secret",))
            said.fetch(20)
            session = c.wait_open()
            stranger = token(guarded, tmp_path, "submitter")
            assert lines_seen_by(guarded, stranger, session) == grpc.StatusCode.PERMISSION_DENIED
        assert [line.text for line in said.logs()] == ["secret"]
        assert lines_seen_by(guarded, stranger, session) == grpc.StatusCode.PERMISSION_DENIED
        assert lines_seen_by(guarded, "", session) == grpc.StatusCode.UNAUTHENTICATED
        assert lines_seen_by(guarded, submitter, session) == ["secret"]
        monkeypatch.setenv("MUSTER_TOKEN", submitter)
        with muster.ClusterCoordinator(guarded.grpc) as c:
            assert c.schedule(lambda x: x + 1, args=(1,)).fetch() == 2
            assert client.jobs()[0]["submitted_by"].startswith("submitter-")
        keys = muster.CoordinationClient(guarded.http, token=token(guarded, tmp_path, "worker"))
        keys.set("a", b"b")
    finally:
        worker.terminate()
        assert worker.wait(20) == 0


def test_wrong_token_is_reported(guarded: Server, tmp_path: pathlib.Path) -> None:
    with pytest.raises(muster.MusterError, match="unknown, revoked or expired"):
        muster.Client(guarded.http, token="muster.x.y").jobs()
    with pytest.raises(muster.MusterError, match="has the role viewer, which cannot submit"), muster.ClusterCoordinator(guarded.grpc,
                                   token=token(guarded, tmp_path, "viewer")) as c:
        c.schedule(abs, args=(1,)).fetch()
    refused = subprocess.run([sys.executable, "-m", "muster", "worker", "--server", guarded.grpc,
                              "--processes", "1"], capture_output=True, text=True, timeout=30)
    assert refused.returncode == 1
    assert "no credentials" in refused.stderr
