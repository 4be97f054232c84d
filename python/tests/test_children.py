"""Processes of a worker and the fork server that starts them, killed for real."""
from __future__ import annotations

import os
import pathlib
import signal
from typing import Any, Callable

import muster
from conftest import Cluster, WorkerProcess, state_and_parent, until
from muster.worker import folder
from muster.worker.children import ForkServer

MakeCluster = Callable[..., Cluster]


def fork_servers(worker: WorkerProcess) -> list[int]:
    """Returns the running fork servers of this worker."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        state, parent = state_and_parent(pid)
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == worker.process.pid and state != "Z" and b"muster.worker.forkserver" in words:
            found.append(pid)
    return found


def children(cluster: Cluster) -> list[int]:
    """Returns the processes that run closures and are connected."""
    return [t["pid"] for t in cluster.server.tasks() if t["state"] == "CONNECTED"]


def kill_fork_server(worker: WorkerProcess) -> int:
    (pid,) = fork_servers(worker)
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in fork_servers(worker), "it is dead")
    return pid


def own_pid() -> int:
    return os.getpid()


def slow(path: str) -> int:
    pathlib.Path(path).touch()
    context = muster.context()
    while not os.path.exists(path + ".go"):
        context.wait_cancelled(0.02)
    return context.attempt


def ends_cleanly(worker: WorkerProcess) -> None:
    assert worker.stop() == 0, worker.text()
    assert "Traceback" not in worker.text(), worker.text()
    assert "Broken pipe" not in worker.text(), worker.text()


def test_ctrl_c_during_startup_is_ignored() -> None:
    server = ForkServer()
    try:
        os.kill(server._process.pid, signal.SIGINT)  # the interpreter is still starting
        child = server.fork()
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        blocked = next(line for line in pathlib.Path(f"/proc/{child.pid}/status").read_text().splitlines()
                       if line.startswith("SigBlk"))
        assert not int(blocked.split()[1], 16) & 1 << signal.SIGINT - 1, "SIGINT is not blocked in children"
    finally:
        server.close()


def test_dead_fork_server_ends_no_process(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "2")
    before = set(children(cluster))
    kill_fork_server(worker)
    c = cluster.coordinator()
    assert set(c.map(lambda _: own_pid(), range(20))) <= before
    until(lambda: "the forkserver" in worker.text(), "the log says so")
    assert "was killed by SIGKILL" in worker.text()
    ends_cleanly(worker)
    assert not [pid for pid in before if state_and_parent(pid)[0] not in "XZ"]


def test_next_process_gets_a_new_fork_server(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "2", "--index", "0")
    first = kill_fork_server(worker)
    victim = children(cluster)[0]
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(now := children(cluster)) == 2 and victim not in now, "there are two again")
    (second,) = fork_servers(worker)
    assert second != first
    c = cluster.coordinator()
    values = [c.options(task=f"worker:{i}").schedule(own_pid) for i in (0, 1)]
    assert len({v.fetch(20) for v in values}) == 2
    # The new fork server works like the first one: it notices the death of its children.
    fresh = next(pid for pid in children(cluster) if pid != victim)
    os.kill(fresh, signal.SIGKILL)
    until(lambda: len(now := children(cluster)) == 2 and fresh not in now, "and again")
    ends_cleanly(worker)


def test_closure_runs_again_after_its_process_and_fork_server_are_killed(make_cluster: MakeCluster, tmp_path: Any) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    c = cluster.coordinator()
    mark = str(tmp_path / "runs")
    value = c.schedule(slow, args=(mark,))
    until(lambda: os.path.exists(mark), "it runs")
    os.unlink(mark)
    (victim,) = children(cluster)
    kill_fork_server(worker)
    os.kill(victim, signal.SIGKILL)
    until(lambda: os.path.exists(mark), "it runs again, in a new process")
    assert victim not in children(cluster)
    pathlib.Path(mark + ".go").touch()
    assert value.fetch(20) == 2
    ends_cleanly(worker)


def test_closure_continues_without_the_fork_server(make_cluster: MakeCluster, tmp_path: Any) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    c = cluster.coordinator()
    mark = str(tmp_path / "runs")
    value = c.schedule(slow, args=(mark,))
    until(lambda: os.path.exists(mark), "it runs")
    kill_fork_server(worker)
    pathlib.Path(mark + ".go").touch()
    assert value.fetch(20) == 1
    ends_cleanly(worker)


def test_closure_that_ignores_cancellation_is_killed_without_the_fork_server(make_cluster: MakeCluster
                                                                   ) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1", "--stop-grace", "500ms")
    c = cluster.coordinator(continue_on_error=True)
    value = c.schedule("deaf", args=(60,))
    until(lambda: cluster.server.running() == 1, "it runs")
    kill_fork_server(worker)
    value.cancel()
    until(value.done, "it is killed")
    assert c.schedule(own_pid).fetch(20) > 0
    ends_cleanly(worker)


def test_folder_of_a_killed_worker_is_removed_by_the_next_worker(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                                 monkeypatch: Any) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    def folders() -> set[pathlib.Path]:
        return set(temporary.glob(folder.WORKER + "*"))

    cluster = make_cluster()
    killed = cluster.add("--processes", "1")
    (left,) = folders()
    (left / "blobs" / "one").write_bytes(b"large")
    killed.kill()
    lives = cluster.add("--processes", "1")
    (own,) = folders()
    assert own != left
    another = cluster.add("--processes", "1")
    assert own in folders() and len(folders()) == 2, "the folder of a running worker is kept"
    ends_cleanly(lives)
    ends_cleanly(another)
    assert not folders()
