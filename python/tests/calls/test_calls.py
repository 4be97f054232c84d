"""Arguments and options of calls, and the errors for calls that cannot be made."""
from __future__ import annotations

import asyncio
import collections
import dataclasses
import sys
import threading
import time
from typing import Any, Callable

import pytest

import muster
from closures import add, one
from conftest import DEADLINE, Cluster, until
from muster._pickled import calls

MakeCluster = Callable[..., Cluster]


def div(a: Any, b: Any) -> Any:
    return a / b


def numbers() -> Any:
    yield from range(3)


async def later() -> int:
    return 1


def test_none_is_accepted_as_args(cluster: Cluster) -> None:
    c = cluster.coordinator()
    assert c.schedule(one, args=None).fetch(DEADLINE) == 1
    assert c.schedule(add, args=None, kwargs={"a": 1, "b": 2}).fetch(DEADLINE) == 3
    assert c.schedule("echo_json", args=None, kwargs={"value": 1}).fetch(DEADLINE) == 1


def test_arguments_that_are_not_a_tuple_are_named(cluster: Cluster) -> None:
    c: Any = cluster.coordinator()
    with pytest.raises(TypeError, match=r"schedule\(div, args=\(1, 2\)\), or submit\(div, 1, 2\)"):
        c.schedule(div, 1, 2)
    with pytest.raises(TypeError, match=r"schedule\(div, args=\(1,\)\), or submit\(div, 1\)"):
        c.schedule(div, 1)
    with pytest.raises(TypeError, match=r"args=\('part-0',\)"):
        c.schedule(div, "part-0")
    with pytest.raises(TypeError, match="schedule_many takes all arguments as one tuple"):
        c.schedule_many(div, [1])


def test_functions_whose_results_cannot_be_returned_are_named(cluster: Cluster) -> None:
    c = cluster.coordinator(continue_on_error=True)
    with pytest.raises(TypeError, match="numbers is a generator"):
        c.schedule(numbers)
    with pytest.raises(TypeError, match="later is an async function"):
        c.schedule(later)
    with pytest.raises(TypeError, match="returned a generator, which cannot be sent; return a list instead"):
        c.schedule(lambda: (i for i in range(3))).fetch(DEADLINE)
    iterator = iter(c.create_per_worker_dataset(numbers))
    assert c.schedule(next, args=(iterator,)).fetch(DEADLINE) == 0


def test_invalid_options_are_named(cluster: Cluster) -> None:
    c: Any = cluster.coordinator()
    with pytest.raises(TypeError, match=r"options: unknown option 'num_gpus'; use "
                                        r"resources=\{'gpu': 1\} \(known options: delay, labels, priority"):
        c.options(num_gpus=1)
    with pytest.raises(TypeError, match="'retry'; use retries"):
        c.options(retry=1)
    wrong: Any = {"continue_on_eror": True}
    with pytest.raises(TypeError, match="use continue_on_error"):
        muster.ClusterCoordinator("127.0.0.1:1", **wrong)


def test_invalid_addresses_are_named(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="'localhost' has no port; write the gRPC address as host:port, such as "
                                         "'localhost:8476'"):
        muster.ClusterCoordinator("localhost")
    with pytest.raises(ValueError, match="is an HTTP address"):
        muster.ClusterCoordinator("http://127.0.0.1:8477")
    with pytest.raises(ValueError, match="has no port"):
        muster.Worker("[::1]")
    with pytest.raises(ValueError, match="has no port from 1 to 65535"):
        muster.ClusterCoordinator("127.0.0.1:99999")
    with pytest.raises(muster.NoServer, match="not with HTTP .*; pass the HTTP address"):
        muster.Client("http://" + cluster.server.grpc).version()


def test_the_pause_before_a_retry_can_be_given(cluster: Cluster) -> None:
    c = cluster.coordinator()
    counted = c.create_per_worker_value(list)

    def at_last(calls: list[float]) -> int:
        calls.append(time.monotonic())
        if len(calls) < 4:
            raise ValueError("not yet")
        return len(calls)

    on = c.options(task="worker:0", retries=5, retry_delay=0.01, retry_delay_max=0.02)
    began = time.monotonic()
    assert on.schedule(at_last, args=(counted,)).fetch(DEADLINE) == 4
    assert time.monotonic() - began < 2.5  # the default pauses are 1, 2 and 4 s


def test_a_dataset_is_named_after_its_class(cluster: Cluster) -> None:
    c = cluster.coordinator()
    dataset = c.create_per_worker_dataset(list(range(300)))
    assert dataset.built.name == "list"
    assert c.schedule(next, args=(iter(dataset),)).fetch(DEADLINE) == 0


class Slow:
    """An iterator that only one thread may use at a time."""

    def __init__(self) -> None:
        self.next = 0
        self.busy = threading.Lock()

    def __iter__(self) -> Any:
        while True:
            assert self.busy.acquire(blocking=False)
            time.sleep(0.01)
            self.next += 1
            self.busy.release()
            yield self.next


def test_a_per_worker_iterator_serves_one_thread_at_a_time(make_cluster: MakeCluster) -> None:
    made = make_cluster()
    made.add("--threads", "4")
    with made.coordinator() as c:
        iterator = iter(c.create_per_worker_dataset(Slow))
        got = c.fetch([c.schedule(next, args=(iterator,)) for _ in range(40)], DEADLINE)
        assert sorted(got) == list(range(1, 41))


@dataclasses.dataclass(frozen=True)
class Both:
    left: Any
    right: Any = None


def test_structures_keep_their_classes(cluster: Cluster) -> None:
    c = cluster.coordinator()
    value = c.schedule(one)
    ordered = c.fetch(collections.OrderedDict(b=value, a=2), DEADLINE)
    assert type(ordered) is collections.OrderedDict and list(ordered.items()) == [("b", 1), ("a", 2)]
    default = c.fetch(collections.defaultdict(list, a=[value]), DEADLINE)
    assert default["a"] == [1] and default["new"] == []
    assert c.fetch(Both(value, {"x": (value,)}), DEADLINE) == Both(1, {"x": (1,)})
    plain = Both(1)
    assert c.fetch(plain) is plain


def test_asyncio_cancels_the_closure_that_it_waited_for(cluster: Cluster) -> None:
    c = cluster.coordinator()

    async def main() -> None:
        value = c.schedule(time.sleep, args=(60,))
        waiting = asyncio.ensure_future(_result(value))
        await asyncio.get_running_loop().run_in_executor(
            None, lambda: until(cluster.server.running, "it runs"))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, 0.05)
        with pytest.raises(muster.CancelledError):
            await asyncio.wait_for(_result(value), DEADLINE)

    asyncio.run(main())
    until(lambda: not cluster.server.running(), "its worker is free")


async def _result(value: muster.RemoteValue[Any]) -> Any:
    return await value


def test_python_version_that_no_worker_has_is_refused(cluster: Cluster,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = calls.FUNCTION
    monkeypatch.setattr(calls, "FUNCTION", "python:2.7")
    c = cluster.coordinator()
    value = c.schedule(one)
    with pytest.raises(muster.NotServedError,
                       match=f"requires python:2.7, but the connected workers have {theirs}; start a worker with 'python2.7") as caught:
        value.fetch(20)
    assert caught.value.kind is muster.FailureKind.STALE_HANDLE
    with pytest.raises(muster.NotServedError):
        c.join()


def test_call_without_python_workers_waits_and_logs_it(make_cluster: Any) -> None:
    cluster = make_cluster()
    c = cluster.coordinator()
    value = c.schedule(one)
    path = f"/api/v1/jobs/{c.wait_open()}/closures"
    (waiting,) = until(lambda: cluster.server.get(path)["closures"], "it is scheduled")
    assert waiting["state"] == "QUEUED"
    explained = cluster.server.get(f"/api/v1/closures/{waiting['id']}/explain")["explanation"]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"no worker is connected; start one with 'python{version} -m muster worker'." in explained
    cluster.add("--processes", "1")
    assert value.fetch(20) == 1
