"""Objects on tasks: real servers, real workers."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster, WorkerProcess, binary, until
from muster.objects import calls
from proxies import Proxy


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.count = start
        self.seen: list[int] = []

    def add(self, n: int = 1) -> int:
        self.count += n
        return self.count

    def note(self, n: int) -> int:
        self.seen.append(n)
        return n

    def all_seen(self) -> list[int]:
        return self.seen

    def fail(self) -> None:
        raise LookupError("not here")

    def pid(self) -> int:
        return os.getpid()

    def call(self, other: Any, method: str, *args: Any) -> Any:
        return getattr(other, method)(*args).fetch(20)

    def flood(self, own: Any, n: int) -> str:
        values = [own.add() for _ in range(n)]
        try:
            values[0].fetch(20)
        except muster.InputError as error:
            return str(error)
        return "it ended"


class Weights:
    def __init__(self, size: int) -> None:
        import numpy as np

        self.array = np.zeros(size)

    def add(self, delta: Any) -> None:
        self.array += delta

    def read(self) -> Any:
        return self.array


class Held:
    def __init__(self, content: bytes) -> None:
        self.held = content

    def size(self) -> int:
        return len(self.held)

    def content(self) -> bytes:
        return self.held


class Slow:
    def __init__(self) -> None:
        self.inside = 0
        self.most = 0

    def rest(self, seconds: float) -> int:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(seconds)
        self.inside -= 1
        return self.most


class Starts:
    def one(self, address: str) -> int:
        with muster.ClusterCoordinator(address) as c:
            return int(c.options(task="worker:0").submit(pow, 2, 2).fetch(20))


@pytest.fixture
def with_ps(make_cluster: Callable[..., Cluster]) -> Cluster:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    cluster.add("--index", "0", "--processes", "1")
    return cluster


def test_object_keeps_its_state_between_calls(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    h = c.create(Counter, (5,), task="ps:0")
    assert isinstance(h, muster.RemoteObject)
    first = h.add(2)
    assert isinstance(first, muster.RemoteValue)
    assert (first.fetch(20), h.add().fetch(20)) == (7, 8)
    assert c.fetch({"a": h.add(1), "b": [h.add(n=1)]}, 20) == {"a": 9, "b": [10]}


def test_calls_are_executed_once_and_in_order(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Counter, task="ps:0")
    values = [h.note(i) for i in range(20_000)]
    assert [v.fetch(60) for v in values] == list(range(20_000))
    assert h.all_seen().fetch(20) == list(range(20_000))


def test_method_exception_is_raised_by_its_value(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Counter, task="ps:0")
    with pytest.raises(LookupError, match="not here") as raised:
        h.fail().fetch(20)
    assert isinstance(raised.value, muster.ClosureError)
    assert raised.value.worker == "ps:0"
    with pytest.raises(AttributeError, match="nothing"):
        h.nothing().fetch(20)
    assert h.add().fetch(20) == 1


def test_constructor_exception_is_raised_by_the_object_calls(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Counter, ("a", "b"), task="ps:0")
    with pytest.raises(TypeError, match="positional"):
        h.add().fetch(20)


def test_large_arrays_are_sent_and_returned(with_ps: Cluster) -> None:
    np = pytest.importorskip("numpy")
    h = with_ps.coordinator().create(Weights, (1_000_000,), task="ps:0")
    h.add(np.ones(1_000_000)).fetch(20)
    assert h.read().fetch(20).sum() == 1_000_000


def test_outputs_of_closures_and_methods_are_arguments_of_each_other(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    h = c.create(Counter, task="ps:0")
    assert h.add(c.submit(sum, [1, 2])).fetch(20) == 3
    assert c.submit(pow, h.add(0), 2).fetch(20) == 9
    assert h.add(h.add(1)).fetch(20) == 8


def test_function_on_a_worker_calls_an_object(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    h = c.create(Counter, task="ps:0")

    def work(given: dict[str, Any], n: int) -> int:
        values = [given["deep"][0].add(1) for _ in range(n)]
        return max(v.fetch(20) for v in values)

    assert c.submit(work, {"deep": [h]}, 100).fetch(20) == 100
    assert c.submit(lambda: h.add(1).fetch(20)).fetch(20) == 101, "a captured handle works like an argument"


def test_function_on_the_same_task_uses_the_object(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    cluster.add("--index", "0", "--processes", "1")
    c = cluster.coordinator()
    h = c.create(Counter, task="worker:0")
    assert c.submit(lambda other: other.add(3).fetch(20), h).fetch(20) == 3
    assert h.pid().fetch(20) == c.submit(os.getpid).fetch(20), "the object is in the process that runs functions"


def test_objects_call_each_other_and_a_cycle_is_an_error(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    a, b = (c.create(Counter, task=task) for task in ("ps:0", "worker:0"))
    assert a.call(b, "add", 4).fetch(20) == 4
    with pytest.raises(muster.InputError, match="neither can finish"):
        a.call(b, "call", a, "add").fetch(20)
    with pytest.raises(muster.InputError, match="neither can finish"):
        a.call(a, "add").fetch(20)
    assert a.call(b, "add").fetch(20) == 5, "both objects continue"


def test_concurrency_allows_parallel_calls(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    one, four = (c.create(Slow, task="ps:0", concurrency=n) for n in (1, 4))
    assert max(v.fetch(20) for v in [one.rest(0.02) for _ in range(8)]) == 1
    assert 1 < max(v.fetch(20) for v in [four.rest(0.05) for _ in range(16)]) <= 4


def test_waiting_function_keeps_its_slot_for_short_calls(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    slow = c.create(Slow, task="ps:0", concurrency=64)

    def work() -> int:
        return max(slow.rest(0.04).fetch(20) for _ in range(5))

    assert max(c.fetch([c.schedule(work) for _ in range(8)], 60)) == 1, "one function at a time runs"
    address, starts = with_ps.server.grpc, c.create(Starts, task="ps:0")
    assert c.schedule(lambda: starts.one(address).fetch(20)).fetch(20) == 4, "the nested closure runs in the released slot"


def test_answer_does_not_wait_for_a_long_call_behind_it(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Slow, task="ps:0")
    first, second = h.rest(0), h.rest(5)
    first.fetch(3)
    assert not second.done()


def test_object_is_found_by_name(with_ps: Cluster) -> None:
    c, other = with_ps.coordinator(), with_ps.coordinator()
    c.create(Counter, task="ps:0", name="steps").add(4).fetch(20)
    assert other.get_object("steps").add(1).fetch(20) == 5
    with pytest.raises(muster.NotServedError, match="'nobody'"):
        other.get_object("nobody")
    with pytest.raises(muster.InputError, match="already"):
        other.create(Counter, task="ps:0", name="steps")


def test_object_ends_with_its_session_unless_it_is_detached(with_ps: Cluster) -> None:
    c, other = with_ps.coordinator(), with_ps.coordinator()
    c.create(Counter, task="ps:0", name="own")
    c.create(Counter, task="ps:0", name="kept", detached=True).add(2).fetch(20)
    own = other.get_object("own")
    c.close()

    def gone() -> bool:
        try:
            own.add().fetch(20)
            return False
        except muster.NotServedError:
            return True

    until(gone, "the object goes with its session")
    kept = other.get_object("kept")
    assert kept.add(1).fetch(20) == 3
    kept.delete()
    with pytest.raises(muster.NotServedError):
        kept.add().fetch(20)


def test_waiting_calls_of_a_deleted_object_are_cancelled(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    h = c.create(Slow, task="ps:0")
    value = h.rest(1)
    h.delete()
    with pytest.raises(muster.CancelledError, match="deleted"):
        value.fetch(20)


def test_name_is_free_after_its_object_was_deleted(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    for i in range(50):
        many = [c.create(Counter, task="ps:0", name=f"c{n}") for n in range(4)]
        assert [h.add(i).fetch(20) for h in many] == [i] * 4
        for h in many:
            h.delete()


def test_object_is_created_when_its_task_connects(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    value = c.create(Counter, task="ps:0").add(1)
    with pytest.raises(muster.WaitTimeout):
        value.fetch(0.2)
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    assert value.fetch(20) == 1


def test_lost_task_is_unavailable_for_all_users_of_its_object(with_ps: Cluster) -> None:
    c, other = with_ps.coordinator(), with_ps.coordinator()
    h = c.create(Counter, task="ps:0", name="weights")
    theirs = other.get_object("weights")
    theirs.add().fetch(20)
    slow = c.create(Slow, task="ps:0").rest(60)
    os.kill(h.pid().fetch(20), signal.SIGKILL)
    with pytest.raises(muster.UnavailableError, match="ps:0") as lost:
        slow.fetch(20)
    assert lost.value.dependency == ["ps:0"]
    with pytest.raises(muster.UnavailableError, match="'weights' was lost together with ps:0"):
        theirs.add().fetch(20)
    for session in (c, other):  # as in TensorFlow, each session raises it once
        with pytest.raises(muster.UnavailableError, match="ps:0"):
            until(lambda: session.join(20) or (session.schedule(pow, (1, 1)) and False))
        assert session.schedule(pow, (2, 2)).fetch(20) == 4
    assert c.create(Counter, task="ps:0", name="weights").add(1).fetch(20) == 1


@pytest.mark.parametrize("whose", ["worker", "coordinator", "both"])
def test_calls_are_executed_once_over_broken_connections(make_cluster: Callable[..., Cluster],
                                                         whose: str) -> None:
    cluster = make_cluster()
    proxy = Proxy(cluster.server.grpc)
    through = proxy.address
    of_worker = cluster.server.grpc if whose == "coordinator" else through
    words = ("--job", "ps", "--index", "0", "--processes", "1")
    cluster.workers.append(WorkerProcess(cluster.folder, 0, of_worker, words))
    with muster.ClusterCoordinator(cluster.server.grpc if whose == "worker" else through) as c:
        h = c.create(Counter, task="ps:0")
        h.note(-1).fetch(20)
        values = []
        for i in range(6000):
            values.append(h.note(i))
            if i % 1000 == 500:
                values[-400].fetch(20)  # the call is in progress
                proxy.reset()
            elif i % 1000 == 999:
                values[-1].fetch(20)  # the last call has returned
        assert [v.fetch(60) for v in values] == list(range(6000))
        assert h.all_seen().fetch(20) == list(range(-1, 6000))
    proxy.close()


def test_functions_call_once_over_broken_connections(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    proxy = Proxy(cluster.server.grpc)
    cluster.workers.append(WorkerProcess(cluster.folder, 1, proxy.address,
                                         ("--index", "0", "--processes", "1")))
    c = cluster.coordinator()
    h = c.create(Counter, task="ps:0")

    def work(other: Any) -> int:
        run = int.from_bytes(os.urandom(4), "big") << 16  # a repeated run of the function makes its calls again
        values = []
        for i in range(300):
            values.append(other.note(run + i))
            time.sleep(0.005)  # so that connections break between the calls
        assert [v.fetch(30) for v in values] == list(range(run, run + 300))
        return run

    value = c.submit(work, h)
    until(lambda: h.all_seen().fetch(20), "it has begun")
    for _ in range(4):
        proxy.reset()
        seen = len(h.all_seen().fetch(20))
        until(lambda: len(h.all_seen().fetch(20)) > seen or value.done(), "it goes on")
    whole = value.fetch(60)
    runs: dict[int, list[int]] = {}
    for n in h.all_seen().fetch(20):
        runs.setdefault(n >> 16 << 16, []).append(n & 0xffff)
    for run, seen_of in runs.items():
        assert seen_of == list(range(300 if run == whole else len(seen_of)))
    proxy.close()


def test_handled_parameter_server_failure_ends_the_program_as_requested(
        tmp_path: pathlib.Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import muster\n"
                       "from muster.errors import FailureKind\n"
                       "with muster.handle_parameter_server_failure():\n"
                       "    raise muster.UnavailableError(FailureKind.DEPENDENCY_LOST, '', 'ps:0 is lost')\n")
    path = {**os.environ, "PYTHONPATH": str(pathlib.Path(muster.__file__).parent.parent)}
    asked = {**path, "TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE": "67"}
    assert subprocess.run([sys.executable, str(program)], env=asked).returncode == 67
    path.pop("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", None)
    plain = subprocess.run([sys.executable, str(program)], env=path, capture_output=True, text=True)
    assert plain.returncode == 1 and "ps:0 is lost" in plain.stderr


def test_many_threads_call_in_their_own_order(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Counter, task="ps:0")
    failed: list[BaseException] = []

    def call(base: int) -> None:
        try:
            values = [h.note(base + i) for i in range(500)]
            assert [v.fetch(30) for v in values] == [base + i for i in range(500)]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call, args=(base,)) for base in (0, 1000, 2000, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    seen = h.all_seen().fetch(20)
    for base in (0, 1000, 2000, 3000):
        assert [n for n in seen if base <= n < base + 1000] == [base + i for i in range(500)]


def test_calls_of_a_detached_object_run_when_its_task_connects_later(
        make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    c.create(Counter, (1,), task="ps:0", name="late", detached=True).add(4)
    c.close()
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    with cluster.coordinator() as other:
        assert other.get_object("late").add(0).fetch(20) == 5


def test_calls_of_a_detached_object_are_sent_before_the_session_closes(with_ps: Cluster) -> None:
    c, other = with_ps.coordinator(), with_ps.coordinator()
    h = c.create(Counter, task="ps:0", name="kept", detached=True)
    for _ in range(5000):
        h.add(1)
    c.close()
    kept = other.get_object("kept")
    until(lambda: kept.add(0).fetch(20) == 5000, "all are executed")


def test_method_that_calls_its_own_object_recursively_gets_a_cycle_error(with_ps: Cluster) -> None:
    h = with_ps.coordinator().create(Counter, task="ps:0")
    assert "neither can finish" in h.flood(h, calls.CALLS_MAX + 1).fetch(60)


def test_large_objects_are_made_from_many_threads(with_ps: Cluster) -> None:
    """Together they exceed the size of one message of the server."""
    c = with_ps.coordinator()
    made: list[Any] = []

    def make() -> None:
        made.append(c.create(Held, (bytes(25 << 20),), task="ps:0"))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [h.size().fetch(60) for h in made] == [25 << 20] * 4
    large = [h.content() for h in made]
    assert [len(v.fetch(60)) for v in large] == [25 << 20] * 4


def objects(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(), "objects", *words, "--url", cluster.server.http], capture_output=True, text=True)


def shown(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(objects(cluster, "show", name, "--output", "json").stdout)
    return found


def test_command_line_lists_shows_and_deletes_objects(with_ps: Cluster) -> None:
    c = with_ps.coordinator()
    h = c.create(Counter, task="ps:0", name="steps", concurrency=2)
    assert h.add(2).fetch(20) == 2
    with pytest.raises(LookupError):
        h.fail().fetch(20)
    listed = objects(with_ps, "list", "--task", "ps")
    assert (listed.returncode, listed.stderr) == (0, "")
    titles, row = listed.stdout.splitlines()
    assert titles.split() == ["ID", "NAME", "CLASS", "TASK", "STATE", "WAITING", "EXECUTING", "ANSWERED"]
    assert objects(with_ps, "list", "--state", "lost").stdout.split() == titles.split()
    wrong = objects(with_ps, "list", "--state", "GONE")
    assert wrong.returncode != 0 and "state" in wrong.stderr and "READY" in wrong.stderr
    assert row.split()[1:] == ["steps", "Counter", "ps:0", "READY", "0", "0", "2"]
    seen = shown(with_ps, "steps")
    assert seen["id"] == row.split()[0]
    assert (seen["state"], seen["concurrency"], seen["detached"]) == ("READY", 2, False)
    assert seen["last_error"].endswith("not here")
    assert "READY" in objects(with_ps, "show", "steps").stdout
    deleted = objects(with_ps, "delete", "steps")
    assert (deleted.returncode, deleted.stdout) == (0, "steps is deleted\n")
    with pytest.raises(muster.MusterError):
        h.add().fetch(20)
    assert objects(with_ps, "show", "steps").returncode == 1
    assert objects(with_ps, "forget", "steps").returncode == 2


def test_lost_object_reports_the_reason(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster("--reconnect-grace", "500ms")
    cluster.add("--job", "ps", "--index", "0", "--processes", "1")
    h = cluster.coordinator().create(Counter, task="ps:0", name="steps")
    pid = h.pid().fetch(20)
    lost = shown(cluster, "steps")["id"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: shown(cluster, lost)["state"] == "LOST", "it is lost")
    assert shown(cluster, lost)["reason"] in ("TASK_LEFT", "TASK_AWAY", "REPLACED")
    assert "was lost together with ps:0" in objects(cluster, "show", lost).stdout


def test_object_without_a_task_goes_to_the_connected_task_with_the_fewest(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    with pytest.raises(muster.InputError, match="no connected worker can create the object"):
        c.create(Counter)
    cluster.add("--processes", "2", "--index", "0")
    made = [c.create(Counter, (i,)) for i in range(4)]
    assert sorted(o._task for o in made) == ["worker:0", "worker:0", "worker:1", "worker:1"]
    assert [o.add().fetch(20) for o in made] == [1, 2, 3, 4]
