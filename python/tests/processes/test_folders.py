"""Temporary folders of killed processes are removed, and folders of running processes are kept."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest

import muster
from conftest import Server, WorkerProcess, binary, until
from muster.worker.folder import LOCAL, PROGRAMS, UPLOADS, WORKER, remove_left_ones


@pytest.fixture
def temporary(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def names(folder: pathlib.Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("muster-"))


def test_next_worker_removes_folders_of_killed_workers(temporary: pathlib.Path, tmp_path: pathlib.Path) -> None:
    server = Server(tmp_path)
    alive = WorkerProcess(tmp_path, 0, server.grpc, ("--threads", "1"))
    killed = []
    try:
        until(lambda: len(names(temporary)) == 1, "the folder of the first")
        (own,) = names(temporary)
        for number, words in enumerate((("--processes", "1"), ("--threads", "1"))):
            worker = WorkerProcess(tmp_path, 1 + number, server.grpc, words)
            until(lambda: any(t["state"] == "CONNECTED" and t["pid"] for t in server.tasks()[1:]), "the worker")
            worker.kill()
            killed.append(worker)
        cpp = subprocess.Popen([binary(), "worker", "--server", server.grpc, "--allow-programs"])
        until(lambda: list(temporary.glob(f"{PROGRAMS}*/lock")), "the folder of the C++ worker")
        cpp.kill()
        cpp.wait()
        assert len([n for n in names(temporary) if n.startswith(PROGRAMS)]) == 1
        with muster.LocalCluster(workers=1) as local:
            assert own in names(temporary)
            until(lambda: len([n for n in names(temporary) if n.startswith(WORKER)]) == 2, "those of living workers stay")
            assert [n for n in names(temporary) if n.startswith(PROGRAMS)] == []
            assert [n.startswith(LOCAL) for n in names(temporary)].count(True) == 1
            os.kill(local._process.pid, signal.SIGKILL)
            local._process.wait()
        remove_left_ones()
        assert names(temporary) == [own]
    finally:
        alive.stop()
        server.stop()
    assert names(temporary) == []


def test_uploads_of_a_program_without_a_worker_are_removed_at_its_exit(temporary: pathlib.Path) -> None:
    code = ("import os, sys, hashlib; from muster.worker import uploads; from muster._pickled.uploads import collect\n"
            "import muster.steps as module; u = collect([module]); uploads.install(u.digest, u.data)\n"
            "sys.argv[1:] and os.kill(os.getpid(), 9)")
    path = os.pathsep.join(p for p in sys.path if p)
    for words, left in (((), 0), (("kill",), 1), (("kill",), 1)):
        subprocess.run([sys.executable, "-c", code, *words], env={**os.environ, "PYTHONPATH": path})
        assert [n.startswith(UPLOADS) for n in names(temporary)] == [True] * left


def test_folder_of_an_older_version_without_a_lock_is_kept(temporary: pathlib.Path) -> None:
    (temporary / "muster-uploads-other").mkdir()
    remove_left_ones()
    assert names(temporary) == ["muster-uploads-other"]


def test_folder_of_another_user_is_kept(temporary: pathlib.Path, monkeypatch: Any) -> None:
    for prefix in (WORKER, LOCAL, UPLOADS):
        (temporary / f"{prefix}other").mkdir()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    remove_left_ones()
    assert len(names(temporary)) == 3
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    remove_left_ones()
    assert names(temporary) == []
