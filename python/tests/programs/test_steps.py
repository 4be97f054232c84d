"""Steps that ranks of programs report: they are shown, compared, and used to stop all ranks at the same step."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

import muster
from conftest import DEADLINE, HERE, Server, Workers, binary, python, until

STEPPING = f"""
import os, sys, time
sys.path.insert(0, {str(HERE.parent)!r})
import muster
rank, n = int(os.environ["RANK"]), 0
slow = rank == int(os.environ.get("SLOW", "-1"))
while not muster.step(n):
    n += 1
    time.sleep(0.05 if slow else 0.01)
print("stopped after", n, "in attempt", os.environ["MUSTER_ATTEMPT"], flush=True)
"""


def last_lines(p: muster.Program, ranks: int) -> set[str]:
    return {p.logs(rank)[-1] for rank in range(ranks)}


def test_steps_are_shown_and_the_slow_rank_is_found(url: str) -> None:
    p = muster.launch(python(STEPPING), tasks=4, env={"SLOW": "2"})

    def slow() -> Any:
        steps = p.refresh().get("steps") or {}
        return [s for s in steps.get("slow", ()) if s["chronic"]]
    until(lambda: 2 in [s["rank"] for s in slow()], "the slow one is found")
    found = next(s for s in slow() if s["rank"] == 2)
    assert found["percent"] > 5 and found["worker"] == "worker:0"
    steps = p.view["steps"]
    assert steps["ranks"] == 4 and steps["least"] < steps["most"] and 5 < steps["median_ms"] < 500
    ranks = p.ranks()
    assert ranks[2]["step_ms"] > ranks[0]["step_ms"]
    assert all(steps["least"] <= r["step"] for r in ranks)
    said = subprocess.run([binary(), "programs", "show", p.id, "--url", url], capture_output=True, text=True,
                          check=True).stdout
    assert "behind, step after step; run 'muster cordon worker:0' to exclude" in said and "STEP" in said
    p.stop(at_step="next")
    assert p.wait(DEADLINE).state == "SUCCEEDED"


@pytest.mark.parametrize("preload", [None, ["json"]])
def test_printed_steps_are_read(url: str, preload: Any) -> None:
    """The ranks do not use Muster; some of them are forked."""
    printing = ("import itertools, os, time\n"
                "for n in itertools.count(1):\n"
                "    print(f'epoch 7 [{n}/1000] loss 0.1', flush=True)\n"
                "    time.sleep(0.2 if os.environ['RANK'] == '2' else 0.02)\n")
    p = muster.launch(python(printing), tasks=4, step_pattern=r"\[(\d+)/", **({"preload": preload} if preload else {}))
    steps = until(lambda: p.refresh().get("steps"), "steps are read")
    assert steps["ranks"] > 0 and p.view["step_pattern"] == r"\[(\d+)/"
    until(lambda: all(r.get("step", 0) > 3 for r in p.ranks()), "all go on")
    metrics = urllib.request.urlopen(url + "/metrics").read().decode()
    assert f'muster_program_step{{program="{p.id}",name="{p.name}"}} ' in metrics
    with pytest.raises(muster.ServerError, match="has a step_pattern") as refused:
        p.stop(at_step="next")
    assert refused.value.status == 409
    p.stop()
    until(lambda: p.refresh()["state"] == "CANCELLED", "its ranks were ended by a signal")


def test_all_ranks_stop_after_the_same_step(url: str) -> None:
    p = muster.launch(python(STEPPING), tasks=4)
    until(lambda: (p.refresh().get("steps") or {}).get("ranks") == 4, "all have said a step")
    p.stop(at_step="next")
    step = p.view["steps"]["stop_after"]
    assert p.view["state"] == "RUNNING"
    p.wait(DEADLINE)
    assert last_lines(p, 4) == {f"stopped after {step} in attempt 1"}


def test_step_to_stop_at_can_be_chosen(url: str) -> None:
    p = muster.launch(python(STEPPING), tasks=2)
    until(lambda: (p.refresh().get("steps") or {}).get("ranks") == 2, "both have said a step")
    step = p.view["steps"]["most"] + 1000
    said = subprocess.run([binary(), "programs", "stop", p.id, "--at-step", str(step), "--url", url],
                          capture_output=True, text=True, check=True).stdout
    assert f"all ranks stop after step {step}" in said
    p.wait(DEADLINE)
    assert last_lines(p, 2) == {f"stopped after {step} in attempt 1"}


def test_stop_at_a_step_is_refused_if_no_rank_reports_steps(url: str) -> None:
    p = muster.launch(["sleep", "1000"])
    until(lambda: p.refresh()["state"] == "RUNNING")
    with pytest.raises(muster.ServerError, match="none of the program's ranks has reported a step") as e:
        p.stop(at_step="next")
    assert e.value.status == 409
    for wrong in ("soon", -1):
        with pytest.raises(muster.ServerError, match="at_step"):
            p.stop(at_step=wrong)  # type: ignore[arg-type]
    assert p.refresh()["state"] == "RUNNING"
    p.cancel()


def test_worker_that_leaves_preempts_after_a_step(tmp_path: pathlib.Path, workers: Workers) -> None:
    server = Server(tmp_path)
    first = workers.start(server, "--host", "a")
    workers.start(server, "--host", "b")
    until(lambda: len(muster.Client(server.http).tasks()) == 2)
    p = muster.launch(python(STEPPING), tasks=2, per_worker=1, url=server.http)
    until(lambda: (p.refresh().get("steps") or {}).get("ranks") == 2, "both have said a step")
    workers.start(server, "--host", "c")
    until(lambda: len(muster.Client(server.http).tasks()) == 3)
    (stays,) = [r["rank"] for r in p.ranks() if r["host"] == "b"]
    first.send_signal(signal.SIGTERM)
    until(lambda: p.refresh()["attempt"] == 2 and p.view["state"] == "RUNNING", "it goes on elsewhere")
    (before, _) = p.attempts()
    assert before["end"] == "PREEMPTED" and before["cause"]["kind"] == "WORKER_LEFT"
    assert {r["host"] for r in p.ranks()} == {"b", "c"} and p.view["restarts"] == 0
    # The output of the other rank was lost with its worker.
    assert p._log(stays, 1, 0)["data"].splitlines()[-1].startswith("stopped after")
    assert first.wait(DEADLINE) == 0
    p.cancel()
    server.stop()


def test_worker_that_leaves_before_the_first_report_preempts_after_a_step(tmp_path: pathlib.Path, workers: Workers) -> None:
    """Workers report steps once per second. The worker is asked to leave right after the first step."""
    server = Server(tmp_path)
    first = workers.start(server, "--host", "a")
    workers.start(server, "--host", "b")
    until(lambda: len(muster.Client(server.http).tasks()) == 2)
    begun = tmp_path / "begun"
    script = STEPPING.replace("while not", f"muster.step(n)\nn += 1\nopen({str(begun)!r} + str(rank), 'w').close()\nwhile not")
    p = muster.launch(python(script), tasks=2, per_worker=1, url=server.http)
    until(lambda: all(begun.with_name(f"begun{rank}").exists() for rank in (0, 1)), "both have taken a step")
    first.send_signal(signal.SIGTERM)
    until(lambda: p.attempts()[0]["end"] != "NONE", "the attempt ends")
    assert p.attempts()[0]["end"] == "PREEMPTED", p.attempts()
    p.cancel()
    server.stop()


def test_stop_at_a_step_outlives_the_server_and_the_attempt(tmp_path: pathlib.Path, workers: Workers) -> None:
    server = Server(tmp_path, "--data-dir", str(tmp_path / "data"))
    workers.start(server)
    until(lambda: len(muster.Client(server.http).tasks()) == 1)
    p = muster.launch(python(STEPPING), tasks=2, url=server.http, max_restarts=1)
    until(lambda: (p.refresh().get("steps") or {}).get("ranks") == 2, "both have said a step")
    step = p.view["steps"]["most"] + 700
    p.stop(at_step=step)
    server.process.kill()
    server.process.wait()
    server.start(server.grpc, server.http.removeprefix("http://"))
    until(lambda: (p.refresh().get("steps") or {}).get("stop_after") == step, "the step is known again")
    assert p.view["attempt"] == 1 and p.view["stop_at_step"] == step
    os.kill(p.ranks()[1]["pid"], signal.SIGKILL)
    assert p.wait(DEADLINE).state == "SUCCEEDED"
    assert last_lines(p, 2) == {f"stopped after {step} in attempt 2"}
    server.stop()


def test_notice_before_the_deadline_stops_after_a_step(url: str) -> None:
    p = muster.launch(python(STEPPING), tasks=2, deadline=6, notice=4)
    until(lambda: p.refresh()["state"] == "FAILED", "its deadline is over")
    (line,) = last_lines(p, 2)
    assert line.startswith("stopped after")
    assert p.cause and p.cause["kind"] == "DEADLINE"


def test_step_outside_of_a_program_returns_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSTER_STEPS", raising=False)
    assert muster.step(3) is False
    for wrong in (-1, 2**53 + 1):
        with pytest.raises(ValueError, match="from 0 to"):
            muster.step(wrong)
    assert not any(muster.step(n) for n in range(10_000))


def test_step_is_imported_without_grpc_and_protobuf() -> None:
    code = "import sys, muster; muster.step(1); sys.exit('grpc' in sys.modules or 'google.protobuf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
