"""The scenario of a transcript between a server and a worker: jobs, actions on them, and a cut connection. `record.py`
records it with an older program; `test_upgrades.py` replays it.

A transcript is a list of steps: {"do": …} of the scenario, {"from": "worker"|"server", "bytes": base64} as sent on the wire,
{"cut": true} where the connection was broken, {"end": "worker"|"server"} for an orderly end of a stream, and
{"job": n, "closures": …} for the result of a job.
"""
from __future__ import annotations

from typing import Any


def job(function: str, *argument_lists: list[Any]) -> dict[str, Any]:
    return {"name": function, "closures": [{"function": function, "args": a} for a in argument_lists]}


CPP: list[dict[str, Any]] = [
    {"do": "submit", "body": job("muster.echo", [1], ["two"], [{"three": [3.5, None]}])},
    {"do": "result"},
    {"do": "submit", "body": job("muster.fail", ["no such column"])},
    {"do": "result"},
    {"do": "submit", "body": job("muster.exec", [["sh", "-c", "echo printed; echo said >&2"]])},
    {"do": "result"},
    {"do": "submit", "body": job("muster.sleep", ["10m"])},
    {"do": "started"},
    {"do": "cancel"},
    {"do": "result"},
    {"do": "submit", "body": job("muster.sleep", ["6s"])},
    {"do": "started"},
    {"do": "run", "seconds": 3},  # a server waits for a reconnect for a quarter of its uptime
    {"do": "cut"},
    {"do": "result"},
    {"do": "drain"},
]

PYTHON: list[dict[str, Any]] = [
    {"do": "submit", "body": job("mean", [[1, 2, 3]], [[4.0, 6.0]])},
    {"do": "result"},
    {"do": "submit", "body": job("fail", ["no such column"])},
    {"do": "result"},
    {"do": "submit", "body": job("progress", [600])},
    {"do": "started"},
    {"do": "cancel"},
    {"do": "result"},
    {"do": "submit", "body": job("progress", [6])},
    {"do": "started"},
    {"do": "run", "seconds": 3},  # a server waits for a reconnect for a quarter of its uptime
    {"do": "cut"},
    {"do": "result"},
    {"do": "drain"},
]
