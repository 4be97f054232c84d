"""Times of the steps of real ranks, also after a kill of the server."""
from __future__ import annotations

import json
import pathlib
import statistics
import time
import urllib.request
from typing import Any

import muster
from conftest import Server, Workers, python, until
from test_steps import STEPPING


def timeline(url: str, p: muster.Program, query: str = "") -> Any:
    with urllib.request.urlopen(f"{url}/api/v1/programs/{p.id}/timeline{query}") as answer:
        return json.load(answer)


def steps_of(seen: Any, rank: int) -> list[tuple[int, int, int]]:
    """Returns for each entry its last step, the number of steps in it, and the time at which the last step ended."""
    s = seen["steps"]
    return [(step, n, end) for r, step, n, end in zip(s["rank"], s["step"], s["count"], s["end_us"]) if r == rank]


def rises(made: list[tuple[int, int, int]]) -> bool:
    """Returns whether no step occurs twice and each entry ends after the previous one, within the clock difference of two
    reports."""
    return all(b[0] - b[1] >= a[0] and b[2] > a[2] - 5_000 for a, b in zip(made, made[1:]))


def test_steps_of_ranks_have_times(url: str) -> None:
    p = muster.launch(python(STEPPING), tasks=2, env={"SLOW": "1"})
    until(lambda: len(steps_of(timeline(url, p), 1)) > 20, "steps are made")
    seen = timeline(url, p)
    assert rises(steps_of(seen, 0)) and rises(steps_of(seen, 1))
    s = seen["steps"]
    took = {rank: statistics.median([t / n for r, t, n in zip(s["rank"], s["took_us"], s["count"]) if r == rank])
            for rank in (0, 1)}
    assert took[1] > 50_000 > took[0] and seen["usual_us"] > 9_000
    assert any(n > 1 for _, n, _ in steps_of(seen, 0)), "short steps are combined"
    assert seen["since_ms"] <= seen["until_ms"]
    p.cancel()


def test_steps_outlive_the_server(tmp_path: pathlib.Path, workers: Workers) -> None:
    server = Server(tmp_path, "--data-dir", str(tmp_path / "data"))
    workers.start(server)
    until(lambda: len(muster.Client(server.http).tasks()) == 1)
    p = muster.launch(python(STEPPING), tasks=1, url=server.http, env={"SLOW": "0"})
    until(lambda: len(steps_of(timeline(server.http, p), 0)) > 60, "a second of them is written")
    before = steps_of(timeline(server.http, p), 0)
    server.process.kill()
    server.process.wait()
    time.sleep(6)  # more steps than fit into a rank's page
    server.start(server.grpc, server.http.removeprefix("http://"))
    until(lambda: steps_of(timeline(server.http, p), 0)[-1][0] > before[-1][0] + 20, "it goes on")
    after = steps_of(timeline(server.http, p), 0)
    assert rises(after)
    late = [s for s in after if s[0] > before[-1][0]]
    missing = late[-1][0] - before[-1][0] - sum(n for _, n, _ in late)
    assert missing <= 20, "up to a second of steps may be in transit when the server ends"
    told = {step for step, _, _ in after}
    assert {step for step, _, _ in before[:-40]} <= told, "all steps but those of the last two seconds are kept"
    p.cancel()
    server.stop()
