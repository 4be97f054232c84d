"""A worker whose process is killed while it has ranks."""
from __future__ import annotations

import json
import pathlib
import subprocess
import time

import muster
from conftest import Server, Workers, binary, until


def test_lost_worker_is_reported_until_its_ranks_are_given_up(tmp_path: pathlib.Path, workers: Workers) -> None:
    server = Server(tmp_path)
    first = workers.start(server, "--gpus", "1", "--host", "host0", "--index", "0", "--program-lease", "8s")
    second = workers.start(server, "--gpus", "1", "--host", "host1", "--index", "1", "--program-lease", "8s")
    p = muster.launch(["sleep", "1000"], tasks=2, resources={"gpu": 1}, spares=1, name="long", url=server.http)
    until(lambda: p.refresh()["state"] == "RUNNING", "it runs")
    workers.start(server, "--gpus", "1", "--host", "host2", "--index", "2")
    until(lambda: p.refresh()["spares_free"] == 1, "a spare is reserved")
    lost = {0: first, 1: second}[next(int(r["worker"][-1]) for r in p.ranks() if r["rank"] == 1)]
    lost.kill()
    (told,) = until(lambda: p.refresh().get("lost_workers"), "the loss is reported")
    worker, host = p.ranks()[1]["worker"], p.ranks()[1]["host"]
    assert (told["worker"], told["host"], told["ranks"], told["next_attempt"], told["next_hosts"]) == (
        worker, host, 1, 2, ["host2"])
    assert 0 < told["given_up_ms"] - time.time() * 1000 < 10_000
    assert told["text"].startswith(f"{worker} on {host} has been lost for ")
    assert told["text"].endswith(" s (--program-lease); then attempt 2 will begin on host2")
    assert [r.get("worker_lost", False) for r in p.ranks()] == [False, True]

    def said(*words: str) -> str:
        return subprocess.run([binary(), *words, "--url", server.http], capture_output=True, text=True, check=True).stdout
    sentence = f"{worker} on {host} has been lost for "
    assert sentence in said("programs", "show", "long") and "LOST" in said("programs", "show", "long")
    assert f"long ({p.id}) is RUNNING: {sentence}" in said("explain", p.id)
    assert sentence in json.loads(said("explain", p.id, "--output", "json"))["explanation"]
    until(lambda: p.refresh()["attempt"] == 2, "the next attempt begins")
    assert "lost_workers" not in p.view
    workers.stop()
    server.stop()
