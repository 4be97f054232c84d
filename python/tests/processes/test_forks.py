"""Programs and processes that functions start inherit nothing of the worker, and do not keep the worker from continuing."""
from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, state_and_parent, until
from muster.worker import descriptors, forkserver
from muster.worker.descriptors import Left, pipes
from test_children import children, kill_fork_server

MakeCluster = Callable[..., Cluster]
BOTH = pytest.mark.parametrize("words", [("--processes", "1"), ("--threads", "1")], ids=["processes", "threads"])


@contextlib.contextmanager
def ended(mark: pathlib.Path) -> Iterator[None]:
    """Kills the process whose id is in the file at the end of the block."""
    try:
        yield
    finally:
        if mark.exists() and mark.read_text():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(mark.read_text()), signal.SIGKILL)


def leave_a_fork(mark: str) -> None:
    """Forks a process that keeps running, and writes its id into the file."""
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    pathlib.Path(mark).write_text(str(pid))


def fork_and_die(mark: str) -> None:
    leave_a_fork(mark)
    os._exit(3)


def fork_and_be_deaf(mark: str) -> None:
    leave_a_fork(mark)
    while True:
        with contextlib.suppress(muster.Cancelled):
            time.sleep(0.05)


def pid() -> int:
    return os.getpid()


def test_death_of_a_process_is_noticed_while_its_fork_runs(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    mark = tmp_path / "fork"
    with ended(mark):
        c = cluster.coordinator(max_worker_failures=1)
        with pytest.raises(muster.AbortedError):
            c.submit(fork_and_die, str(mark)).fetch(10)
        assert c.submit(pid).fetch(10) > 0
        assert "exited with status 3" in worker.text()
        assert state_and_parent(int(mark.read_text()))[0] == "S", "the fork still runs"


def test_death_is_noticed_without_the_fork_server_as_well(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    mark = tmp_path / "fork"
    with ended(mark):
        c = cluster.coordinator(max_worker_failures=1)
        kill_fork_server(worker)
        with pytest.raises(muster.AbortedError):
            c.submit(fork_and_die, str(mark)).fetch(10)
        assert c.submit(pid).fetch(10) > 0


@pytest.mark.parametrize("fork_server", ["alive", "dead"])
def test_closure_that_ignores_cancellation_is_killed_while_its_fork_runs(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                                         fork_server: str) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1", "--stop-grace", "200ms")
    mark = tmp_path / "fork"
    with ended(mark):
        c = cluster.coordinator()
        value = c.submit(fork_and_be_deaf, str(mark))
        until(mark.exists, "it has forked")
        if fork_server == "dead":
            kill_fork_server(worker)
        (before,) = children(cluster)
        value.cancel()
        assert c.submit(pid).fetch(10) != before
        until(lambda: state_and_parent(before)[0] in "XZ", "the deaf process is dead")


def test_processes_end_with_their_worker_while_a_fork_runs(tmp_path: pathlib.Path) -> None:
    """C code made the fork, so it has all sockets of the worker."""
    mark = tmp_path / "pids"
    program = f"""
import ctypes, os, pathlib, time
from muster.worker.children import ForkServer
server = ForkServer()
child = server.fork()
fork = ctypes.CDLL(None).fork()
if fork:
    pathlib.Path({str(mark)!r}).write_text(f"{{fork}} {{server._process.pid}} {{child.pid}} .")
time.sleep(60)
"""
    worker = subprocess.Popen([sys.executable, "-c", program])
    until(lambda: mark.exists() and mark.read_text().endswith("."), "it has forked")
    fork, server, child = map(int, mark.read_text().split()[:3])
    try:
        worker.kill()
        worker.wait()
        until(lambda: state_and_parent(server)[0] in "XZ", "the fork server ends")
        until(lambda: state_and_parent(child)[0] in "XZ", "its child ends")
        assert state_and_parent(fork)[0] == "S"
    finally:
        os.kill(fork, signal.SIGKILL)


@BOTH
def test_fork_that_returns_from_the_function_sends_no_result(make_cluster: MakeCluster, tmp_path: pathlib.Path,
                                                             words: Any) -> None:
    cluster = make_cluster()
    cluster.add(*words)
    c = cluster.coordinator()

    def forks(how: str) -> tuple[str, int]:
        pid = os.fork()
        if pid == 0:
            if how == "returns":
                return "of the fork", 0
            if how == "raises":
                raise ValueError("of the fork")
            sys.exit(7)
        return "of the function", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    for how, status in (("returns", 0), ("raises", 1), ("exits", 7)):
        assert c.submit(forks, how).fetch(20) == ("of the function", status)
    assert c.submit(pid).fetch(10) > 0


def inherited(start: str) -> dict[str, Any]:
    """Returns the signals, descriptors and settings of a process started by `start`, as /proc shows them."""
    look = ("import os, sys; own = {f'/proc/{os.getpid()}/fd', '/proc/self/fd'}; "
            "print(repr({'status': open('/proc/self/status').read(), 'umask': os.umask(0o22), 'cwd': os.getcwd(), "
            "'path': os.environ.get('PYTHONPATH'), 'fds': [(int(fd), to) for fd in os.listdir('/proc/self/fd') "
            "if os.path.islink(f'/proc/self/fd/{fd}') and (to := os.readlink(f'/proc/self/fd/{fd}')) not in own]}))")
    reading, writing = os.pipe()
    if start == "fork":
        if os.fork() == 0:
            os.close(reading)
            os.dup2(writing, 1)
            os.close(writing)
            sys.stdout = os.fdopen(1, "w")
            exec(look, {})
            sys.stdout.flush()
            os._exit(0)
    else:
        subprocess.run([sys.executable, "-I", "-c", look], stdout=writing, check=True)
    os.close(writing)
    with os.fdopen(reading) as found:
        seen: dict[str, Any] = eval(found.read())
    words = [line.split(":\t") for line in seen.pop("status").splitlines()]
    return {**seen, **{name: int(value, 16) for name, value in words if name.startswith("Sig") and name != "SigQ"}}


@pytest.mark.parametrize("start", ["fork", "exec"])
@BOTH
def test_processes_started_by_functions_inherit_nothing_of_the_worker(make_cluster: MakeCluster, words: Any, start: str) -> None:
    cluster = make_cluster()
    cluster.add(*words)
    seen = cluster.coordinator().submit(inherited, start).fetch(20)
    by_python = {signal.SIGPIPE, signal.SIGXFSZ}
    ignored = {number for number in signal.valid_signals() if seen["SigIgn"] >> number - 1 & 1}
    assert ignored <= by_python | {n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN}
    assert seen["SigBlk"] == 0
    handled = {number for number in range(1, 65) if seen["SigCgt"] >> number - 1 & 1}
    assert signal.SIGTERM not in handled
    os.umask(own := os.umask(0o22))
    assert seen["umask"] == own
    assert seen["cwd"] == str(cluster.folder)
    assert seen["path"] == cluster.workers[0].path
    fds = dict(seen["fds"])
    assert fds[0] == "/dev/null" or "threads" in words[0]
    if "processes" in words[0] or start == "exec":
        more = {fd: to for fd, to in fds.items() if fd > 2 and not to.startswith("/memfd:muster-stacks")}
        assert not more


def limits(start: str) -> str:
    """Returns the resource limits of a process started by `start`, as /proc shows them."""
    if start == "exec":
        return subprocess.run(["cat", "/proc/self/limits"], stdout=subprocess.PIPE, check=True, text=True).stdout
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, pathlib.Path("/proc/self/limits").read_bytes())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as found:
        return found.read()


@pytest.mark.parametrize("start", ["fork", "exec"])
@BOTH
def test_limits_are_those_of_the_worker_until_a_function_changes_them(make_cluster: MakeCluster, words: Any, start: str) -> None:
    cluster = make_cluster()
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    try:
        worker = cluster.add(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    c = cluster.coordinator()
    seen = c.submit(limits, start).fetch(20)
    assert seen == pathlib.Path(f"/proc/{worker.process.pid}/limits").read_text()
    assert re.search(r"Max core file size +0 ", seen)

    def open_fewer_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (321, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    c.submit(open_fewer_files).fetch(20)
    assert re.search(r"Max open files +321 ", c.submit(limits, start).fetch(20)), "the next function of this process"


def locks_of_a_fork() -> dict[str, bool]:
    """Returns which locks can be acquired in a fork while a thread of the forking process holds all of them."""
    executor, link = (importlib.import_module(name) for name in ("muster.executor", "muster.coordinator.link"))
    own = threading.Lock()
    locks: dict[str, Callable[[], Any]] = {
        "own": lambda: own,
        "links": lambda: link._links_lock,
        "executors": lambda: executor._executors_lock,
    }
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        with contextlib.ExitStack() as stack:
            for lock in locks.values():
                stack.enter_context(lock())
            if hasattr(sys.stdout, "below"):
                stack.enter_context(sys.stdout.below._lock)
            held.set()
            released.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    reading, writing = os.pipe()
    if os.fork() == 0:
        sys.stdout.write("a line of a fork\n")
        os.write(writing, repr({name: lock().acquire(blocking=False) for name, lock in locks.items()}).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as found:
        seen: dict[str, bool] = eval(found.read())
    released.set()
    thread.join()
    return seen


@BOTH
def test_locks_of_muster_are_free_in_a_fork_and_others_stay_locked(make_cluster: MakeCluster, words: Any) -> None:
    cluster = make_cluster()
    cluster.add(*words)
    assert cluster.coordinator().submit(locks_of_a_fork).fetch(20) == {"own": False, "links": True, "executors": True}


def terminated(start: str) -> int:
    if start == "program":
        program = subprocess.Popen(["sleep", "30"])
        program.terminate()
        return program.wait(10)
    context: Any = multiprocessing.get_context(start)
    process = context.Process(target=time.sleep, args=(30,))
    process.start()
    # Python before 3.10 loses a signal that arrives between fork and exec in a process of multiprocessing.
    while start == "spawn" and b"spawn_main" not in pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    process.terminate()
    process.join(10)
    return int(process.exitcode or 0)


@pytest.mark.parametrize("start", ["program", "fork", "spawn"])
@BOTH
def test_sigterm_ends_processes_that_functions_start(make_cluster: MakeCluster, words: Any, start: str) -> None:
    cluster = make_cluster()
    cluster.add(*words)
    assert cluster.coordinator().submit(terminated, start).fetch(20) == -signal.SIGTERM


def test_pools_of_functions_end(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def pool(start: str) -> list[int]:
        with multiprocessing.get_context(start).Pool(2) as made:
            return made.map(abs, [-1, -2])

    c = cluster.coordinator()
    for start in ("fork", "spawn") * 3:
        assert c.submit(pool, start).fetch(20) == [1, 2]


def test_worker_process_ignores_sigterm(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def hears() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        return os.getpid()

    c = cluster.coordinator()
    assert c.submit(hears).fetch(10) == c.submit(pid).fetch(10)


def test_output_of_a_worker_ends_with_the_worker(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    """A fork that still runs does not keep the reader of the output waiting."""
    cluster = make_cluster()
    mark = tmp_path / "fork"
    worker = subprocess.Popen([sys.executable, "-m", "muster", "worker", "--server", cluster.server.grpc, "--processes", "1"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    with ended(mark):
        cluster.coordinator().submit(leave_a_fork, str(mark)).fetch(20)
        worker.terminate()
        assert worker.communicate(timeout=10)[0]
        assert state_and_parent(int(mark.read_text()))[0] == "S"


def test_pipes_of_the_child_that_exited_first_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forkserver, "LEFT_MAX", 2)
    ours, theirs = socket.socketpair()
    left: list[Left] = []
    written: list[int] = []
    with ours, theirs:
        for _ in range(3):
            ends = pipes()
            written += [os.dup(ends.write[0])]  # as in a process that the child has left behind
            child = subprocess.Popen(["true"])
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            forkserver._reap(theirs, {child.pid: Left(ends)}, left)
            assert ours.recv(100) == b"exited %d 0\n" % child.pid
    assert len(left) == 2
    with pytest.raises(BrokenPipeError):
        os.write(written[0], b"x")
    assert [os.write(fd, b"x") for fd in written[1:]] == [1, 1]
    for each in left:
        each.forget()
    for fd in written:
        os.close(fd)


def test_reaped_child_is_forgotten_if_the_worker_has_exited() -> None:
    """The fork server kills its remaining children when it exits, and a reaped child cannot be killed."""
    ours, theirs = socket.socketpair()
    ours.close()
    ends = pipes()
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    left = Left(ends)
    remaining = {child.pid: left}
    with theirs, pytest.raises(BrokenPipeError):
        forkserver._reap(theirs, remaining, [])
    left.forget()
    assert remaining == {}


def test_reader_that_does_not_read_delays_others_only_briefly() -> None:
    reading, writing = os.pipe()
    began = time.monotonic()
    for _ in range(50):
        descriptors._write_all(writing, bytes(100_000))
    assert time.monotonic() - began < 20 * descriptors.PATIENCE_MS / 1000
    os.read(reading, 1 << 20)
    time.sleep(descriptors.DROPS_FOR)
    descriptors._write_all(writing, b"again")
    assert os.read(reading, 100) == b"again"
    os.close(reading)
    os.close(writing)


def test_programs_of_a_local_cluster_with_threads_do_not_have_its_pipes() -> None:
    """A program with these pipes could block on output that is not read, and could read input that is meant for the cluster."""
    with muster.LocalCluster(threads=1) as local:
        c = local.coordinator(log_to_driver=False)
        assert c.submit(os.system, "head -c 300000 /dev/zero").fetch(20) == 0
        assert c.submit(lambda: os.readlink("/proc/self/fd/0")).fetch(20) == "/dev/null"
