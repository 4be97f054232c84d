"""CPython's own tests of executors, with muster.Executor and real workers."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time
import unittest
from typing import Any, Iterator

import pytest

import cpython_executor
from conftest import Cluster

WORKERS = 5
EXCLUDED = {
    "test_max_workers_negative": "the server decides how many workers there are, so an executor has no max_workers",
    "test_cancel_futures": "it expects that some calls have started, but calls that were not sent to the server yet are "
                           "cancelled, too; test_executor.py has the same test with a call that runs",
}
MIXINS = ("ExecutorTest", "ExecutorShutdownTest", "WaitTests", "AsCompletedTests")
"""The other classes test the threads or processes of one pool of the standard library."""


def _found() -> dict[str, Any]:
    try:
        return cpython_executor.load()
    except ModuleNotFoundError as error:
        reason = f"{error}; install {cpython_executor.PACKAGE}"
        # The package contains the tests of Debian's Python. An interpreter of another version has its own tests, or none.
        if os.environ.get("CI") == "true" and sys.version_info[:2] == (3, 11):
            raise
        pytest.skip(reason, allow_module_level=True)


found = _found()


def run_script(*words: str) -> tuple[int, bytes, bytes]:
    """Runs a test's program with this executor in place of the standard one. The name of the worker is removed from the lines
    that calls print."""
    code = words[-1].replace("from concurrent.futures import MusterExecutor",
                             "import cpython_executor; cpython_executor.load(); from cpython_executor import MusterExecutor")
    code = re.sub(r"( *)(from test\.test_concurrent.* import sleep_and_print)",
                  r"\1import cpython_executor; cpython_executor.load()\n\1\2", code)
    here = pathlib.Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent.parent)])
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60,
                           env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr
    return 0, re.sub(rb"(?m)^\([^)]*\) ", b"", ended.stdout), ended.stderr


@pytest.fixture(scope="module")
def _workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cpython"))
    made.add("--processes", str(WORKERS))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _server(_workers: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    _workers.wait_connected(WORKERS)
    monkeypatch.setenv("MUSTER_TEST_SERVER", _workers.server.grpc)
    module = sys.modules[found["ExecutorShutdownTest"].__module__]
    monkeypatch.setattr(module, "assert_python_ok", run_script)


def _case(name: str) -> type:
    mixin = found[name]

    def set_up(self: Any) -> None:
        self.t1 = time.monotonic()
        self.executor = cpython_executor.MusterExecutor()

    def tear_down(self: Any) -> None:
        self.executor.shutdown()

    members = {"executor_type": cpython_executor.MusterExecutor, "worker_count": WORKERS, "setUp": set_up,
               "tearDown": tear_down}
    members.update({test: None for test in dir(mixin) if test in EXCLUDED})
    return type(name, (mixin, unittest.TestCase), members)


for _name in MIXINS:
    globals()[f"Test{_name}"] = _case(_name)


def test_each_mixin_still_has_its_tests() -> None:
    counts = {name: sum(test.startswith("test_") for test in dir(found[name])) for name in MIXINS}
    assert sum(counts.values()) >= 28 and min(counts.values()) >= 5, counts
