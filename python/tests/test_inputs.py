"""Outputs as arguments of pickled functions: sent as bytes next to the call, and never through the client."""
from __future__ import annotations

import base64
import collections
import dataclasses
import json
import pathlib
import pickle
import re
import subprocess
import threading
import urllib.request
from typing import Any, Callable

import numpy as np
import pytest

import muster
from closures import bad, start_one
from conftest import Cluster, binary, until
from muster._pickled import calls, values
from muster._wire.messages import BYTES, INPUT_BYTES, INPUT_JSON, INPUT_PICKLE, JSON
from muster.coordinator.requests import Input, Request
from muster.coordinator.session_state import SessionState
from muster.worker import attachment
from muster.worker.functions import Beside, FunctionTable, Kept, Refused
from proxies import Proxy

MakeCluster = Callable[..., Cluster]


def array(kib: int) -> Any:
    return np.arange(kib << 7, dtype=np.int64)


def more(a: Any) -> Any:
    a += 1  # the array belongs to the closure
    return a


def total(a: Any) -> int:
    return int(a.sum())


def echo(*args: Any, **kwargs: Any) -> Any:
    return (args, kwargs) if kwargs else args


def same(a: Any, b: Any) -> bool:
    return a is b


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Holder:
    inner: Any


class Wire(Proxy):
    """Counts the bytes in each direction."""

    up = down = 0

    def passes(self, data: bytes, up: bool) -> bool:
        if up:
            self.up += len(data)
        else:
            self.down += len(data)
        return True


def check_chain(c: muster.ClusterCoordinator) -> None:
    for kib in (1, 32, 512, 2048):  # within the pickle, next to it, inline, and as a blob
        end = c.schedule(more, args=(c.schedule(more, args=(c.schedule(array, args=(kib,)),)),))
        assert c.schedule(total, args=(end,)).fetch(30) == int((array(kib) + 2).sum())
        assert (end.fetch(30) == array(kib) + 2).all()


def check_structures(c: muster.ClusterCoordinator) -> None:
    a, b = c.schedule(array, args=(1,)), c.schedule(lambda: {1, 2})
    number, kept = c.schedule(lambda: 7), c.create_per_worker_value(lambda: "kept")
    given = c.schedule(echo, args=([{"a": [a]}, (b, number)], Pair(b, Holder(Holder(a)))),
                       kwargs={"k": {"x": kept, "y": [number, kept]}}).fetch(30)
    (first, pair), kwargs = given
    assert (first[0]["a"][0] == array(1)).all() and first[1] == ({1, 2}, 7)
    assert pair.left == {1, 2} and (pair.right.inner.inner == array(1)).all()
    assert kwargs == {"k": {"x": "kept", "y": [7, "kept"]}}
    assert c.schedule(same, args=(a, a)).fetch(30) is True


@pytest.fixture
def old_server(monkeypatch: Any) -> None:
    """Simulates a server that does not support inputs of arguments in bytes."""
    silent = property(lambda self: False, lambda self, value: None)
    monkeypatch.setattr(SessionState, "inputs_beside_bytes", silent, raising=False)


def test_chain_of_arrays_is_computed(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        check_chain(c)


def test_inputs_are_found_at_any_depth(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        check_structures(c)


def test_inputs_work_in_threads(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "2")
    with cluster.coordinator() as c:
        check_chain(c)
        check_structures(c)


def test_inputs_work_with_an_older_server(cluster: Cluster, old_server: None) -> None:
    with cluster.coordinator() as c:
        check_chain(c)
        check_structures(c)
        with pytest.raises(muster.InputError, match="pickled Python value"):
            c.schedule("mean", args=(c.schedule(lambda: {1, 2}),)).fetch(20)


def test_older_worker_gets_one_json_document(make_cluster: MakeCluster, monkeypatch: Any) -> None:
    hello = attachment.Attachment._hello

    def said_before(self: Any) -> Any:
        m = hello(self)
        m.hello.ClearField("inputs_beside_bytes")
        return m

    monkeypatch.setattr(attachment.Attachment, "_hello", said_before)
    monkeypatch.setattr(calls, "origins_of", lambda call: None)  # an older worker ignores the origins
    encodings: list[int] = []
    call = FunctionTable.call

    def noting(self: Any, number: int, args: Any, encoding: int, kept: Any,
               beside: Beside = Beside()) -> Any:
        encodings.append(encoding)
        assert not any(beside)
        return call(self, number, args, encoding, kept, beside)

    monkeypatch.setattr(FunctionTable, "call", noting)
    cluster = make_cluster()
    worker = muster.Worker(cluster.server.grpc, threads=2)
    worker.function("raw", lambda: b"raw\x80\x00bytes")
    serving = threading.Thread(target=worker.run)
    serving.start()
    try:
        cluster.wait_connected(1)
        with cluster.coordinator() as c:
            check_chain(c)
            check_structures(c)
            assert c.schedule(echo, args=(c.schedule("raw"),)).fetch(20) == (b"raw\x80\x00bytes",)
        assert JSON in encodings and BYTES in encodings
    finally:
        worker.stop()
        serving.join()


def test_inputs_work_with_functions_of_a_cpp_worker(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "1", "--index", "0")
    other = subprocess.Popen([binary(), "worker", "--server", cluster.server.grpc],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        cluster.wait_connected(2)
        with cluster.coordinator(continue_on_error=True) as c:
            said = {"text": ["\u00fc", None, True, 1, 2.5, 1e300, []]}
            echoed = c.schedule("muster.echo", args=(said,))
            (got,) = c.schedule(echo, args=(c.schedule(echo, args=(echoed,)),)).fetch(20)
            assert got == (said,) and type(got[0]["text"][3]) is int
            pickled = c.schedule(array, args=(1,))
            with pytest.raises(muster.InputError, match="JSON arguments of 'muster.echo'"):
                c.schedule("muster.echo", args=(pickled,)).fetch(20)
            asked = Request("muster.echo", b"x", BYTES, [Input(pickled._record, 0, True)])
            value: Any = muster.RemoteValue(c._owner, c._session.put([asked], None)[0])
            with pytest.raises(muster.InputError, match="cannot receive outputs of other closures"):
                value.fetch(20)
    finally:
        other.terminate()
        other.wait()


def test_input_does_not_pass_through_the_client(cluster: Cluster) -> None:
    wire = Wire(cluster.server.grpc)
    steps, kib = 8, 512
    with muster.ClusterCoordinator(wire.address) as c:
        value = c.schedule(array, args=(kib,))
        for _ in range(steps - 1):
            value = c.schedule(more, args=(value,))
        assert c.schedule(total, args=(value,)).fetch(30) == int((array(kib) + steps - 1).sum())
        c.join()
    wire.close()
    assert wire.up < 40_000, "only calls are sent"
    assert wire.down < steps * (kib << 10) * 1.05, "each output is received once, as the result of its closure"


def test_json_of_other_languages_becomes_python_values(cluster: Cluster) -> None:
    said = [None, True, False, 0, -7, 1 << 62, 0.5, 1e300, "", "gr\u00fc\u00dfe \U0001f40d\0", [], {},
            {"a": [1, {"b": None}]}]
    with cluster.coordinator() as c:
        (got,) = c.schedule(echo, args=(c.schedule("echo_json", args=(said,)),)).fetch(20)
        assert got == said and [type(x) for x in got] == [type(x) for x in said]


def test_bytes_of_a_named_function_stay_bytes(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        pickled = base64.b64encode(pickle.dumps("not to be unpickled")).decode()
        raw = c.schedule("from_base64", args=(pickled,))
        assert c.schedule(echo, args=(raw,)).fetch(20) == (pickle.dumps("not to be unpickled"),)
        assert c.schedule(echo, args=(c.schedule(lambda: b"a\0b"),)).fetch(20) == (b"a\0b",)


def test_pickle_as_a_json_argument_is_refused_with_both_formats(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        pickled = c.schedule(lambda: {1, 2})
        with pytest.raises(muster.InputError, match=r"input cl_\w+ is bytes \(raw, or a pickled Python "
                           r"value\), which cannot be part of the JSON arguments of 'mean'"):
            c.schedule("mean", args=(pickled,)).fetch(20)
        assert pickled.fetch(20) == {1, 2}
        job = c.wait_open()
        (made,) = [one for one in cluster.server.get(f"/api/v1/jobs/{job}/closures")["closures"]
                   if one["state"] == "SUCCEEDED"]
        asked = cluster.server.post("/api/v1/jobs", {"closures": [
            {"function": "mean", "args": [{"$remote_value": made["remote_value"]}]}]})
        url = f"/api/v1/jobs/{asked['id']}/closures"
        (failed,) = until(lambda: [one for one in cluster.server.get(url)["closures"]
                                   if one["state"] == "FAILED"])
        assert failed["error"]["kind"] == "INPUT" and "pickled Python value" in failed["error"]["message"]


def test_map_accepts_values(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        arrays = c.schedule_many(array, [(n,) for n in (1, 2, 16, 64)])
        wanted = [total(array(n)) for n in (1, 2, 16, 64)]
        assert list(c.map(total, arrays)) == wanted
        assert list(c.map(total, arrays, chunksize=3)) == wanted
        assert c.fetch(c.schedule_many(total, [(a,) for a in arrays])) == wanted
        assert c.schedule(len, args=(arrays,)).fetch(20) == 4


def test_inputs_of_a_call_are_limited_in_number(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        sets = c.schedule_many(lambda n: {n}, [(n,) for n in range(1000)])
        assert c.schedule(lambda s: len(set().union(*s)), args=(sets,)).fetch(30) == 1000
        with pytest.raises(muster.InputError, match="refer to 1001 RemoteValues; the limit is 1000"):
            c.schedule(len, args=([*sets, c.schedule(lambda: {1})],)).fetch(30)


def test_inputs_of_a_call_are_limited_in_bytes(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        arrays = [c.schedule(array, args=(1000,)) for _ in range(34)]
        with pytest.raises(muster.InputError, match=r"the inputs have \d+ bytes, the limit is 33554432"):
            c.schedule(len, args=(arrays,)).fetch(30)
        assert c.schedule(len, args=(arrays[:32],)).fetch(30) == 32


def test_call_with_a_failed_or_cancelled_input_fails(cluster: Cluster) -> None:
    with cluster.coordinator(continue_on_error=True) as c:
        first = c.schedule(bad, args=("it is broken",))
        end = c.schedule(more, args=(c.schedule(more, args=(first,)),))
        with pytest.raises(muster.InputError, match=r"input cl_\w+ failed: it is broken"):
            end.fetch(20)
        running = start_one(cluster, c)
        waiting = c.schedule(more, args=(running,))
        other = c.schedule(echo, args=(running,))
        waiting.cancel()
        with pytest.raises(muster.CancelledError):
            waiting.fetch(20)
        running.cancel()
        with pytest.raises(muster.InputError, match="failed"):
            other.fetch(20)


def test_inputs_of_uploaded_classes_are_unpickled(cluster: Cluster, tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    (tmp_path / "sent_along.py").write_text(
        "class Thing:\n    def __init__(self, x):\n        self.x = x\n"
        "def make(x):\n    return Thing(x)\n"
        "def read(thing):\n    return type(thing).__module__, thing.x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import sent_along  # type: ignore[import-not-found]

    with cluster.coordinator(upload=[sent_along]) as c:
        things = [c.schedule(sent_along.make, args=(n,)) for n in range(6)]  # on every worker
        for n, thing in enumerate(things):
            assert c.schedule(sent_along.read, args=(thing,)).fetch(20) == ("sent_along", n)
    with cluster.coordinator(continue_on_error=True) as c:
        value = c.schedule(lambda: 1)
        assert c.schedule(echo, args=(value,)).fetch(20) == (1,), "the call works without the modules"


def test_inputs_survive_kill_9_of_the_server(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    cluster.add("--processes", "2")
    gate = tmp_path / "gate"

    def slow() -> Any:
        import time
        while not gate.exists():
            time.sleep(0.01)
        return {1, 2}

    with cluster.coordinator() as c:
        made = c.schedule(array, args=(64,))
        text = c.schedule(lambda: "text")
        made.fetch(20)
        waits = c.schedule(echo, args=(c.schedule(slow), made, [text]))
        until(lambda: cluster.server.running(), "it runs")
        before = cluster.server.grpc, cluster.server.http.removeprefix("http://")
        cluster.server.kill()
        cluster.server.start(*before)
        late = c.schedule(more, args=(made,))
        gate.touch()
        first, second, third = waits.fetch(60)
        assert first == {1, 2} and (second == array(64)).all() and third == ["text"]
        assert (late.fetch(60) == array(64) + 1).all()


def test_lost_value_is_computed_again(make_cluster: MakeCluster, tmp_path: pathlib.Path) -> None:
    cluster = make_cluster("--spill-dir", str(tmp_path / "spilled"), "--spill-above", "200kb",
                           "--spill-bytes-max", "400kb")
    cluster.add("--processes", "1")
    with cluster.coordinator() as c:
        first = c.schedule(array, args=(64,))
        second = c.schedule(more, args=(first,))
        c.join()
        others = [c.schedule(array, args=(64,)) for _ in range(20)]
        c.join()
        # The oldest values are dropped first, so the two values above are among the dropped ones.
        dropped = lambda: re.search(r'muster_values_dropped_total{reason="spill_bytes"} (\d+)', _metrics(cluster))
        until(lambda: (found := dropped()) and int(found[1]) >= 10, "values are dropped")
        assert c.schedule(total, args=(second,)).fetch(30) == int((array(64) + 1).sum())
        assert "is being recomputed by" in json.dumps(cluster.server.get("/api/v1/events"))
        del others


def _metrics(cluster: Cluster) -> str:
    with urllib.request.urlopen(cluster.server.http + "/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def test_function_with_a_name_takes_no_inputs_next_to_bytes() -> None:
    table = FunctionTable({"f": len})
    with pytest.raises(Refused, match="pass JSON arguments instead"):
        table.call(0, b"x", BYTES, Kept(), Beside([(b"1", INPUT_JSON)]))
    assert table.call(0, b"abc", BYTES, Kept()) == 3


def test_inputs_are_decoded_by_form_and_slot() -> None:
    def opened(digest: bytes) -> memoryview:
        raise AssertionError("there is none")

    assert values.decode_input(b'{"a":[1,null]}', INPUT_JSON, opened) == {"a": [1, None]}
    assert values.decode_input(memoryview(b"\x80\x04"), INPUT_BYTES, opened) == b"\x80\x04"
    assert values.decode_input(pickle.dumps({1}), INPUT_PICKLE, opened) == {1}
    kept = Kept()
    kept.keep(5, "five")
    call = calls.pack(pickle.dumps(echo), [pickle.dumps(((), {}))])
    table = FunctionTable({})
    with pytest.raises(Refused, match="pw_0000000000000006 is not on this worker"):
        table.call(0, call, BYTES, kept, Beside(uses=[5, 6]))
    with pytest.raises(Refused, match="could not be unpickled"):
        table.call(0, call, BYTES, kept, Beside([(b"no pickle", INPUT_PICKLE)]))
    calls._filling.values = ["a", "b"]
    try:
        assert [calls.slot_value(i) for i in (0, 1, -1, -2)] == ["a", "b", "b", "a"]
        for i in (2, -3):
            with pytest.raises(pickle.UnpicklingError, match="is missing"):
                calls.slot_value(i)
    finally:
        calls._filling.values = None
