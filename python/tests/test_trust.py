"""Protection against pickles of other parties: results are data, whatever they look like, unless they come from a pickled
function of the program itself."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import pathlib
import pickle
import subprocess
import threading
import urllib.request
from typing import Any, Callable, Iterator

import pytest

import muster
from conftest import Cluster, binary
from muster._pickled import calls, values
from muster._wire.messages import BYTES, INPUT_JSON, INPUT_PICKLE, JSON
from muster.coordinator.session_state import SessionState
from muster.worker import runner
from muster.worker.functions import Beside, FunctionTable, Kept

MakeCluster = Callable[..., Cluster]


class Trap:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / "opened"

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)

    def pickled(self) -> bytes:
        return pickle.dumps(self)

    def json(self) -> dict[str, Any]:
        return {"$pickle": base64.b64encode(self.pickled()).decode()}

    @property
    def opened(self) -> bool:
        return self.folder.exists()


@pytest.fixture
def trap(tmp_path: pathlib.Path) -> Trap:
    return Trap(tmp_path)


def same(value: Any) -> Any:
    return value


def returns(value: Any) -> Any:
    """Returns a value that JSON cannot represent."""
    return {1, value}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A worker in C++ and one in Python."""
    made = Cluster(tmp_path_factory.mktemp("mixed"))
    made.add("--processes", "1")
    other = subprocess.Popen([binary(), "worker", "--server", made.server.grpc],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made.wait_connected(2)
    yield made
    other.kill()
    other.wait()
    made.close()


def looks_like_pickles(trap: Trap) -> list[Any]:
    """Returns JSON values that resemble pickles: at the top, nested, and next to other members."""
    return [trap.json(), {"a": [trap.json()]}, [trap.json()], {**trap.json(), "b": 1}]


def test_result_of_a_function_with_a_name_is_not_unpickled(mixed: Cluster, trap: Trap) -> None:
    with mixed.coordinator() as c:
        for given in looks_like_pickles(trap):
            assert c.schedule("muster.echo", args=(given,)).fetch(20) == given
            assert c.schedule("from_json", args=(json.dumps(given),)).fetch(20) == given
    assert not trap.opened


def test_argument_from_a_function_with_a_name_is_not_unpickled(mixed: Cluster, trap: Trap) -> None:
    with mixed.coordinator() as c:
        for given in looks_like_pickles(trap):
            echoed = c.schedule("muster.echo", args=(given,))
            assert c.schedule(same, args=(echoed,)).fetch(20) == given
            assert c.schedule(same, args=([{"k": echoed}],)).fetch(20) == [{"k": given}]
    assert not trap.opened


def test_argument_from_an_older_server_is_not_unpickled(mixed: Cluster, trap: Trap, monkeypatch: Any) -> None:
    silent = property(lambda self: False, lambda self, value: None)
    monkeypatch.setattr(SessionState, "inputs_beside_bytes", silent, raising=False)
    with mixed.coordinator() as c:
        kept = c.create_per_worker_value(lambda: "kept")
        for given in looks_like_pickles(trap):
            echoed = c.schedule("muster.echo", args=(given,))
            pickled = c.schedule(returns, args=(2,))
            assert c.schedule(lambda *a: a, args=(echoed, pickled, kept)).fetch(20) == (
                given, {1, 2}, "kept")
    assert not trap.opened


def blob_of(cluster: Cluster, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    asked = urllib.request.Request(f"{cluster.server.http}/api/v1/blobs/{digest}", data, method="PUT")
    urllib.request.urlopen(asked, timeout=10).close()
    return {"$blob": digest, "bytes": len(data)}


def test_blob_from_a_function_with_a_name_is_not_unpickled(mixed: Cluster, trap: Trap) -> None:
    given = blob_of(mixed, trap.pickled())
    with mixed.coordinator() as c:
        echoed = c.schedule("from_json", args=(json.dumps(given),))
        assert echoed.fetch(20) == given
        assert c.schedule(same, args=(echoed,)).fetch(20) == given
    assert not trap.opened


def test_values_of_python_functions_are_returned_unchanged(mixed: Cluster, trap: Trap) -> None:
    with mixed.coordinator() as c:
        large = c.schedule(bytes, args=(3 << 20,))  # stored as a blob
        assert c.schedule(len, args=(large,)).fetch(30) == 3 << 20 and len(large.fetch(30)) == 3 << 20
        # Data that resembles a pickle is pickled itself.
        assert c.schedule(same, args=(trap.json(),)).fetch(20) == trap.json()
        assert c.schedule(same, args=(c.schedule(same, args=([trap.json()],)),)).fetch(20) == [trap.json()]
    assert not trap.opened


def test_pickles_of_functions_with_names_need_an_option(mixed: Cluster) -> None:
    given = {"$pickle": base64.b64encode(pickle.dumps({1, 2})).decode()}
    with mixed.coordinator() as c:
        trusting = c.options(trust_pickles=True)
        assert trusting.schedule("muster.echo", args=(given,)).fetch(20) == {1, 2}
        assert trusting.schedule("muster.echo", args=([given],)).fetch(20) == [given], "nested pickles are not unpickled"
        assert c.schedule("muster.echo", args=(given,)).fetch(20) == given


@pytest.fixture
def hostile(make_cluster: MakeCluster, trap: Trap, monkeypatch: Any) -> Iterator[Cluster]:
    """A cluster whose worker sends a trap as the exception of each failed call."""
    monkeypatch.setattr(FunctionTable, "is_pickled", lambda self, number: True)
    node = (trap.pickled(), trap.pickled(), {"a": trap.pickled()}, {}, None, -1, -1, False)
    monkeypatch.setattr(runner, "packed", lambda error: pickle.dumps([node]))
    cluster = make_cluster()
    worker = muster.Worker(cluster.server.grpc, threads=2)

    def broken(kind: str = "") -> None:
        raise muster.DependencyLost("lost", "ps:1") if kind else ValueError("broken")

    worker.function("broken", broken)
    serving = threading.Thread(target=worker.run)
    serving.start()
    cluster.wait_connected(1)
    yield cluster
    worker.stop()
    serving.join()


def test_exception_of_a_function_with_a_name_is_not_unpickled(hostile: Cluster, trap: Trap) -> None:
    with hostile.coordinator(continue_on_error=True) as c:
        value = c.schedule("broken")
        with pytest.raises(ValueError, match="broken") as caught:
            value.fetch(20)
        assert caught.value.original is None
        for behind in (c.schedule(same, args=(value,)), c.schedule(same, args=([value],))):
            with pytest.raises(muster.InputError, match="broken") as told:
                c.schedule(same, args=(behind,)).fetch(20)
            assert type(told.value.__cause__) is type(caught.value)
        assert [type(e).__name__ for e in c.failures()] == ["ValueError"] + 4 * ["InputError"]
    with hostile.coordinator() as c:
        c.schedule("broken")
        with pytest.raises(ValueError):
            c.join(20)
    assert not trap.opened


def test_exception_of_a_python_function_is_unpickled(hostile: Cluster, trap: Trap) -> None:
    def broken() -> None:
        raise ValueError("broken")

    with hostile.coordinator(continue_on_error=True) as c, pytest.raises(ValueError, match="broken"):
        c.schedule(broken).fetch(20)
    assert trap.opened, "the trap works, so the test above is meaningful"


def test_inputs_are_unpickled_only_with_a_trusted_origin(trap: Trap, tmp_path: pathlib.Path) -> None:
    table, kept = FunctionTable({}), Kept()
    text = json.dumps(trap.json(), separators=(",", ":")).encode()
    calls._filling.found = found = calls.Slots([], [])
    marker = type("Marker", (), {"__reduce__": lambda self: calls.reduce_to_slot(self, "it")})()
    try:
        arguments = calls.dump(((marker,), {}))
    finally:
        calls._filling.found = None
    assert found.outputs == [marker]

    def called(origins: list[bool] | None, value: bytes, form: int = INPUT_JSON) -> Any:
        parts = arguments + ([] if origins is None else [calls.origins(origins)])
        call = calls.pack(pickle.dumps(same), parts)
        return table.call(0, call, BYTES, kept, Beside([(value, form)]))

    assert called(None, text) == trap.json() == called([False], text)
    assert called([True], b"[1]") == [1] and not trap.opened
    good = values.encode({1, 2})[0]
    assert called([True], good) == {1, 2} == called([False], pickle.dumps({1, 2}), INPUT_PICKLE)
    # Clients of version 0.1 do not send origins.
    call = base64.b64encode(calls.pack(pickle.dumps(same), arguments)).decode()
    assert table.call(0, f'["{call}",{good.decode()}]'.encode(), JSON, kept) == {1, 2}
    deep = f'["{call}",[{text.decode()}]]'.encode()
    assert table.call(0, deep, JSON, kept) == [trap.json()] and not trap.opened


def test_origins_are_read_only_from_the_end() -> None:
    call = calls.pack(b"f", [b"a", calls.origins([True, False, True])])
    assert calls.origins_of(call) == [True, False, True]
    assert bytes(calls.unpack(call)[1][:1]) == b"a"
    for cut in range(len(call)):
        assert calls.origins_of(call[:cut]) is None
    assert calls.origins_of(calls.pack(b"f", [b"\xff\xff\xff\xffMPYI"])) is None
