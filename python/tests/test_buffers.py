"""Arrays are copied once when they are sent, and once when they are received."""
from __future__ import annotations

import base64
import pickle
import tracemalloc
from typing import Any, Callable

import pytest

import muster
from conftest import Cluster
from muster._pickled import buffers, calls, values
from muster._wire import columns
from muster._wire.messages import BYTES, JSON, SessionRequest, WorkerMessage
from muster.coordinator.outbox import Outbox
from muster.coordinator.records import Record
from muster.coordinator.requests import Callables, call_of

np = pytest.importorskip("numpy")
MEGABYTES = 16


def array() -> Any:
    return np.random.default_rng(7).random(MEGABYTES << 17)


def echo(x: Any) -> Any:
    return x


def add_one(x: Any) -> float:
    x += 1
    return float(x.sum())


def through(value: Any) -> Any:
    return buffers.load(b"".join(buffers.framed(*buffers.parts(value, pickle.dumps))))


def copies(f: Callable[[], Any]) -> float:
    """Returns the peak allocation of `f` as a multiple of the array's size."""
    tracemalloc.start()
    try:
        kept = f()
        return tracemalloc.get_traced_memory()[1] / (MEGABYTES << 20)
    finally:
        tracemalloc.stop()
        del kept


def test_large_buffers_are_stored_next_to_the_pickle() -> None:
    large = np.arange(6000.0).reshape(60, 100)
    fixed = large.copy()
    fixed.flags.writeable = False
    given = {"c": large, "fortran": np.asfortranarray(large), "parts": large[::2, ::3], "fixed": fixed,
             "small": np.arange(3), "raw": bytearray(b"x" * 50_000), "same": [large, large]}
    got = through(given)
    for name in ("c", "fortran", "parts", "fixed", "small"):
        assert (got[name] == given[name]).all() and got[name].dtype == given[name].dtype
    assert got["fortran"].flags.f_contiguous and got["raw"] == given["raw"]
    assert got["same"][0] is got["c"] and got["same"][1] is got["c"]
    assert got["c"].flags.writeable and not got["fixed"].flags.writeable and got["c"].flags.aligned
    parts = buffers.framed(*buffers.parts([large], pickle.dumps))
    assert any(np.shares_memory(np.frombuffer(p, np.uint8), large) for p in parts if len(p))
    assert sum(map(len, parts)) < large.nbytes + 1000


def test_pickles_without_large_buffers_are_plain_ones() -> None:
    for value in (np.arange(100), {"a": [1]}, b"x" * 100_000):
        (plain,) = buffers.framed(*buffers.parts(value, pickle.dumps))
        assert (np.asarray(pickle.loads(plain)) == np.asarray(value)).all()
    assert values.decode(b'{"$pickle":"%s"}' % base64.b64encode(pickle.dumps({1, 2}, 4))) == {1, 2}


def test_truncated_data_is_an_error() -> None:
    whole = b"".join(buffers.framed(*buffers.parts(np.zeros(9000), pickle.dumps)))
    for length in (3, 10, 20, 60, len(whole) - 1):
        with pytest.raises(Exception):  # noqa: B017  whichever pickle raises
            buffers.load(whole[:length])
    message = columns.serialize(SessionRequest(token=[1]), "args", bytes(columns.LARGE))
    with pytest.raises(ValueError, match="truncated"):
        columns.parse(SessionRequest, message[:-1], "args")


@pytest.mark.parametrize("sizes", [[], [0], [5, 300_000, 0, 70], [127, 128, 1 << 21]])
def test_columns_equal_the_output_of_protobuf(sizes: list[int]) -> None:
    kept = [bytes([i % 256]) * size for i, size in enumerate(sizes)]
    m = WorkerMessage(closure=range(1000), attempt=[1, 300] * 500, value=kept, log_text=["a line"],
                      progress_fraction=[0.5], drain=True)
    m.failure.add(position=3, message="why")
    raw = m.SerializeToString()
    parsed, found = columns.parse(WorkerMessage, raw, "value")
    assert list(found) == kept
    if len(raw) >= columns.LARGE:
        assert not parsed.value
        parsed.value.extend(kept)
    assert parsed == m
    last = m.value.pop() if kept else b""
    assert WorkerMessage.FromString(columns.serialize(m, "value", last)).value == (kept or [b""])


def test_argument_is_copied_once_when_scheduled_and_once_for_the_stream() -> None:
    given, functions = array(), Callables()
    request = call_of(functions, echo, (given,), {})
    assert copies(lambda: call_of(functions, echo, (given,), {})) < 1.1
    out = Outbox()
    out.add(Record(1, 0, request.args, request.encoding, None, 1))
    message = []
    assert copies(lambda: message.append(out.next_message(["python"]))) < 1.1
    assert SessionRequest.FromString(message[0]).args == [request.args]
    assert message[0].endswith(request.args)  # next to the message of protobuf, whose own copies are not counted


def test_output_is_copied_once_out_of_its_message() -> None:
    given = array()
    raw, encoding = values.encode(given, in_bytes=True)
    assert encoding == BYTES and values.encode(given)[1] == JSON
    assert values.encode({"a": 1}, in_bytes=True) == (b'{"a":1}', JSON)
    message = columns.serialize(WorkerMessage(closure=[1]), "value", raw)

    def received() -> Any:
        _, (value,) = columns.parse(WorkerMessage, message, "value")
        return buffers.load(value)

    assert copies(received) < 1.1 and (received() == given).all()


def check_arrays(c: muster.ClusterCoordinator) -> None:
    given = array()
    before = given.copy()
    values = [c.schedule(f, args=(given,)) for f in (echo, add_one, echo)]
    given[:] = 0  # the call keeps the content at the time of schedule
    assert (values[0].fetch(60) == before).all() and values[0].fetch().flags.writeable
    assert values[1].fetch(60) == pytest.approx((before + 1).sum())
    chained = c.schedule(lambda d: d["x"][0][::2], args=({"x": [values[2]]},))
    assert (chained.fetch(60) == before[::2]).all()
    for got in c.map(echo, [before, before], chunksize=1):
        assert (got == before).all()
        got += 1
    assert list(c.map(echo, [b"raw", {"a"}, "text"])) == [b"raw", {"a"}, "text"]


def test_arrays_are_sent_to_processes_and_back(cluster: Cluster) -> None:
    with cluster.coordinator() as c:
        check_arrays(c)
    with muster.Executor(cluster.server.grpc) as executor:
        given = array()
        assert (executor.submit(echo, given).result(60) == given).all()


def test_arrays_are_sent_to_threads_and_back(make_cluster: Any) -> None:
    cluster = make_cluster()
    cluster.add("--threads", "2")
    check_arrays(cluster.coordinator())


def test_calls_packed_by_older_clients_are_understood() -> None:
    call = calls.pack(b"function", [pickle.dumps(((np.zeros(9999),), {}))])
    function, arguments = calls.unpack(call)
    assert function == b"function"
    assert not calls.output_in_bytes(call, False)
    assert calls.load_arguments(arguments, None)[0][0].shape == (9999,)
    flagged = calls.pack(b"function", [b"x"], True)
    in_json = b'["' + base64.b64encode(flagged) + b'"]'
    assert calls.output_in_bytes(flagged, False) and calls.output_in_bytes(in_json, True)
    assert calls.unpack(flagged)[0] == b"function"
    assert not calls.output_in_bytes(b"[1]", True) and not calls.output_in_bytes(b"", False)
    with_limit = flagged[:calls.HEAD.size - 1] + b"\3" + flagged[calls.HEAD.size:]  # a limit of lost workers
    assert calls.unpack(with_limit)[0] == b"function"
