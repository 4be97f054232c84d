"""Lifetimes of coordinators, values and local clusters, and the effect of Ctrl-C."""
from __future__ import annotations

import gc
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

import muster
from closures import add, one
from conftest import DEADLINE, Cluster, until


def library_threads() -> set[str]:
    return {t.name for t in threading.enumerate() if t.name.startswith("muster")}


def count_to_three() -> range:
    return range(3)


def test_value_options_and_dataset_keep_their_coordinator_open(cluster: Cluster) -> None:
    before = library_threads()
    value = muster.ClusterCoordinator(cluster.server.grpc).schedule(add, args=(1, 2))
    options = muster.ClusterCoordinator(cluster.server.grpc).options(retries=1)
    dataset = muster.ClusterCoordinator(cluster.server.grpc).create_per_worker_dataset(count_to_three)
    iterator = iter(dataset)
    gc.collect()
    assert value.fetch(DEADLINE) == 3
    assert options.schedule(one).fetch(DEADLINE) == 1
    del dataset
    until(lambda: iterator.components() is not None, "it is known")  # noqa: F821  it is deleted below
    assert muster.ClusterCoordinator(cluster.server.grpc).schedule(one).fetch(DEADLINE) == 1
    del value, options, iterator
    gc.collect()
    until(lambda: library_threads() <= before, "no thread is left")


def test_value_held_only_by_a_callback_is_delivered(cluster: Cluster) -> None:
    before = library_threads()
    came = threading.Event()

    def begin() -> None:
        value = muster.ClusterCoordinator(cluster.server.grpc).schedule(add, args=(1, 2))
        value.add_done_callback(lambda: came.set() if value.fetch() == 3 else None)

    begin()
    gc.collect()
    assert came.wait(DEADLINE)
    gc.collect()
    until(lambda: library_threads() <= before, "its own thread has closed it")


def test_coordinator_and_its_values_keep_their_local_cluster() -> None:
    value = muster.LocalCluster(workers=1).coordinator().schedule(add, args=(1, 2))
    gc.collect()
    assert value.fetch(DEADLINE) == 3
    url = value._owner._beside[0].url
    del value
    gc.collect()

    def is_gone() -> bool:
        try:
            muster.Client(url).version()
        except muster.NoServer:
            return True
        return False

    until(is_gone, "its server has ended")


PROGRAM = """
import muster, time

with muster.LocalCluster(workers=1) as local:
    c = local.coordinator()
    assert c.schedule(abs, args=(-1,)).fetch(20) == 1
    try:
        print("waits", flush=True)
        c.schedule(time.sleep, args=(60,)).fetch()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    c.cancel()
    print("then", c.schedule(abs, args=(-2,)).fetch(20), flush=True)
"""


def test_ctrl_c_interrupts_the_call_but_not_the_cluster() -> None:
    """A terminal sends SIGINT to all processes of its foreground process group."""
    main, side = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=side, stdout=side, stderr=side, start_new_session=True,
        preexec_fn=_take_terminal, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    os.close(side)
    said = ""
    try:
        while "waits" not in said:
            said += os.read(main, 4096).decode()
        os.write(main, b"\x03")  # Ctrl-C
        while True:
            try:
                more = os.read(main, 4096).decode()
            except OSError:  # the program has closed the terminal
                break
            said += more
            if not more:
                break
        assert program.wait(DEADLINE) == 0, said
    finally:
        program.kill()
        program.wait()
        os.close(main)
    assert "interrupted" in said and "then 2" in said and "connection broke" not in said, said


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_local_cluster_shows_its_address(capfd: pytest.CaptureFixture[str]) -> None:
    with muster.LocalCluster(workers=1) as local:
        assert local.url in repr(local) and local.address in repr(local)
        assert f'href="{local.url}"' in local._repr_html_()
        with local.coordinator() as c, pytest.raises(ZeroDivisionError):
            c.schedule(lambda: 1 // 0).fetch(DEADLINE)
    said: Any = capfd.readouterr()
    assert "session_failed" not in said.err + said.out
