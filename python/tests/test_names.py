"""Names of callables that the server shows, instead of only ``python:3.11``."""
from __future__ import annotations

import functools
import hashlib
import subprocess
import urllib.request
from typing import Any

import pytest

import muster
from closures import add, one
from conftest import Cluster, binary, until
from muster._pickled import calls, names


class Caller:
    def __call__(self) -> int:
        return 2

    def method(self) -> int:
        return 3


def listed(cluster: Cluster, c: muster.ClusterCoordinator) -> list[Any]:
    found: list[Any] = cluster.server.get(f"/api/v1/jobs/{c.wait_open()}/closures")["closures"]
    return sorted(found, key=lambda closure: closure["index"])


def test_callable_is_named_by_its_module_and_name() -> None:
    assert names.display_name(one) == "closures.one"
    assert names.display_name(functools.partial(functools.partial(add, 1), b=2)) == "closures.add"
    assert names.display_name(sum) == "sum"
    assert names.display_name(Caller()) == "test_names.Caller"
    assert names.display_name(Caller().method) == "test_names.Caller.method"
    assert names.display_name(lambda: 1).startswith("<lambda> test_names.py:")


def test_name_is_shortened_and_cleaned_for_the_server() -> None:
    made: Any = lambda: 1
    made.__qualname__ = "a\nb\ud800" + "ä" * 300
    name = names.display_name(made)
    assert name.startswith("test_names.a?b?ää")
    assert 254 <= len(name.encode()) <= 256


@pytest.mark.parametrize("bad", ["a\nb", "n" * 257])
def test_unreadable_name_is_refused(cluster: Cluster, bad: str) -> None:
    with pytest.raises(ValueError, match="name: .*256 bytes"):
        cluster.coordinator().options(name=bad)


def test_emoji_sequence_is_a_valid_name(cluster: Cluster) -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f"
    c = cluster.coordinator()
    assert c.options(name=family).schedule(one).fetch() == 1
    assert [x.get("display_name") for x in listed(cluster, c)] == [family]


def test_server_shows_the_name_of_a_callable(cluster: Cluster) -> None:
    c = cluster.coordinator()
    values = [c.schedule(one), *c.schedule_many(add, [(1, 2)]),
              c.options(name="epoch 3").schedule(one), c.options(name="echo").schedule("muster.echo"),
              c.put([1])]
    assert list(c.map(abs, [-1])) == [1]
    c.fetch([v for i, v in enumerate(values) if i != 3])
    all_of_them = listed(cluster, c)
    assert [x.get("display_name") for x in all_of_them] == [
        "closures.one", "closures.add", "epoch 3", "echo", "put", "abs"]
    assert {x["function"] for x in all_of_them} == {calls.FUNCTION, "muster.echo"}
    digest = hashlib.sha256(calls.dump_callable(one)).hexdigest()
    assert [all_of_them[i].get("callable") for i in (0, 2, 3)] == [digest, digest, None]
    values[3].cancel()


def test_executors_and_joblib_name_their_calls(cluster: Cluster) -> None:
    joblib = pytest.importorskip("joblib")
    import muster.joblib

    with joblib.parallel_config(backend="muster", server=cluster.server.grpc):
        joblib.Parallel(n_jobs=2)(joblib.delayed(add)(i, 1) for i in range(4))
    with muster.Executor(cluster.server.grpc) as executor:
        assert executor.submit(one).result(20) == 1
    with urllib.request.urlopen(cluster.server.http + "/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    counted = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
               for line in lines if line.startswith("muster_function_finished_total{")}
    for name in ("closures.add", "closures.one"):
        key = f'muster_function_finished_total{{function="{name}",state="succeeded"}}'
        assert counted[key] >= 1, counted


def test_command_line_and_trace_show_the_name(cluster: Cluster) -> None:
    def ask(*words: str) -> str:
        return subprocess.run([binary(), *words, "--url", cluster.server.http], check=True,
                              capture_output=True, text=True, timeout=20).stdout

    c = cluster.coordinator()
    value = c.schedule(one)
    assert value.fetch(20) == 1
    job = c.wait_open()
    (closure,) = listed(cluster, c)
    assert ask("explain", closure["id"]).startswith("closures.one: SUCCEEDED on ")
    assert "functions  closures.one 1\n" in ask("jobs", job)
    until(lambda: any(e["ph"] == "X" and e["name"] == "closures.one" for e in
                      cluster.server.get("/api/v1/stream/trace")["traceEvents"]), "its slice")


def test_name_survives_a_server_restart(make_cluster: Any, tmp_path: Any) -> None:
    cluster = make_cluster("--data-dir", str(tmp_path / "data"))
    c = cluster.coordinator()
    value = c.schedule(one)  # no worker is connected
    before = until(lambda: listed(cluster, c), "it is there")
    assert [x["display_name"] for x in before] == ["closures.one"]
    grpc, http = cluster.server.grpc, cluster.server.http.removeprefix("http://")
    # The closure is listed before it is on the disk.
    until(lambda: cluster.server.get("/api/v1/overview")["durable"]["changes_waiting"] == 0, "it is written")
    cluster.server.kill()
    cluster.server.start(grpc, http)
    after = listed(cluster, c)
    assert [(x["display_name"], x["callable"]) for x in after] == [
        (x["display_name"], x["callable"]) for x in before]
    cluster.add("--processes", "1")
    assert value.fetch(20) == 1
