"""Output written to descriptors 1 and 2 of a worker's process, by any code, belongs to the running closure."""
from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, until
from test_children import fork_servers

MakeCluster = Callable[..., Cluster]


def texts(value: Any, level: str) -> list[str]:
    return [line.text for line in value.logs() if line.level == level]


def test_output_written_to_descriptors_becomes_lines_of_the_closure(cluster: Cluster) -> None:
    def says() -> None:
        print("first")
        os.system("echo by a shell; echo by another >/dev/stderr")
        os.write(1, b"without an end")
        print("printed")
        subprocess.run([sys.executable, "-c", "print('by a process')"], check=True)
        thread = threading.Thread(target=lambda: print("by a thread"))
        thread.start()
        thread.join()
        ctypes.CDLL(None).puts(b"by C")
        ctypes.CDLL(None).printf(b"the rest")

    value = cluster.coordinator().schedule(says)
    value.fetch(20)
    assert texts(value, "stderr") == ["by another"]
    assert texts(value, "stdout") == ["first", "by a shell", "printed", "without an endby a process",
                                      "by a thread", "by C", "the rest"]


def test_thread_that_waits_for_input_in_c_blocks_no_closure(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--processes", "1")

    def reads() -> str:
        libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        stream = libc.fdopen(os.pipe()[0], b"r")
        arguments = ctypes.create_string_buffer(100), 100, ctypes.c_void_p(stream)
        threading.Thread(target=libc.fgets, args=arguments, daemon=True).start()
        time.sleep(0.2)  # the thread now has the lock of the stream
        libc.printf(b"by C")
        return "done"

    c = cluster.coordinator()
    value = c.schedule(reads)
    assert value.fetch(20) == "done"
    assert texts(value, "stdout") == ["by C"]


def test_lines_belong_to_the_closure_that_wrote_them(cluster: Cluster) -> None:
    def says(word: str) -> None:
        os.write(1, word.encode())

    c = cluster.coordinator()
    values = [c.schedule(says, args=(f"word {i}",)) for i in range(300)]
    c.join(20)
    for i in (0, 1, 150, 299):
        assert texts(values[i], "stdout") == [f"word {i}"]


def test_processes_of_a_function_print_into_its_lines(cluster: Cluster) -> None:
    def fork() -> None:
        import multiprocessing

        process = multiprocessing.get_context("fork").Process(target=print, args=("by a fork",))
        process.start()
        process.join()

    value = cluster.coordinator().schedule(fork)
    value.fetch(20)
    assert texts(value, "stdout") == ["by a fork"]


def test_function_that_holds_the_interpreter_can_write_unlimited_output(
        make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")

    def holds() -> int:
        done: int = ctypes.PyDLL(None).system(b"yes much | head -c 300000")  # PyDLL keeps the interpreter's lock
        return done

    c = cluster.coordinator()
    assert c.schedule(holds).fetch(30) == 0
    assert c.schedule(abs, args=(-1,)).fetch(10) == 1
    assert "much" in worker.text()  # output that the child could not read


def test_output_of_a_leftover_program_belongs_to_the_worker(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")

    def leaves() -> None:
        subprocess.Popen(["sh", "-c", "sleep 0.3; yes 'left behind' | head -n 30000; echo through"])

    value = cluster.coordinator().schedule(leaves)
    value.fetch(20)
    until(lambda: "through" in worker.text(), "it is printed")
    assert texts(value, "stdout") == []


def test_leftover_program_outlives_its_process(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")
    forks = tmp_path / "forks"

    def leaves() -> None:
        subprocess.Popen(["sh", "-c", f"while ! [ -e {forks} ]; do sleep 0.1; done; echo late words; "
                          f"yes many | head -n 30000; echo through >&2; touch {forks}.lives"])
        os.kill(os.getpid(), 9)

    c = cluster.coordinator(max_worker_failures=1)
    with pytest.raises(muster.AbortedError):
        c.submit(leaves).fetch(20)
    assert c.submit(abs, -1).fetch(20) == 1  # runs in another process, which is not involved
    forks.touch()
    until(pathlib.Path(f"{forks}.lives").exists, "it was not killed")
    until(lambda: "through" in worker.text() and "late words" in worker.text(), "it is printed")
    (server,) = fork_servers(worker)
    until(lambda: len(pipes_of(server)) == 2, "only those of the child that lives are left")


def pipes_of(pid: int) -> list[str]:
    """Returns the pipes of a process above descriptor 2."""
    folder = pathlib.Path(f"/proc/{pid}/fd")
    return [fd.name for fd in folder.iterdir() if int(fd.name) > 2 and os.readlink(fd).startswith("pipe:")]


def test_last_output_of_a_dying_process_is_kept(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    worker = cluster.add("--processes", "1")

    def dies() -> None:
        os.write(2, b"last words\n")
        os.kill(os.getpid(), 9)

    with pytest.raises(muster.AbortedError):
        cluster.coordinator(max_worker_failures=1).schedule(dies).fetch(20)
    until(lambda: "last words" in worker.text(), "they are in the worker's output")
