"""Programs as ranks on workers: launched, followed, waited for, changed."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import pytest

import muster
from conftest import DEADLINE, Server, Workers, python, until
from test_tls import SecureServer
from test_tokens import token

WHO = python("import os, json; print(json.dumps([os.environ[k] for k in ('MUSTER_PROGRAM', "
             "'JAX_PROCESS_ID', 'CUDA_VISIBLE_DEVICES', 'COLOUR')]))")


def test_program_is_launched_and_waited_for(url: str) -> None:
    p = muster.launch(WHO, tasks=2, name="train", resources={"gpu": 2}, env={"COLOUR": "blue"}, grace=2.5,
                      metadata={"team": "a"})
    assert p.id.startswith("prog_") and p.name == "train"
    assert p.wait(DEADLINE) is p
    assert p.state == "SUCCEEDED" and p.cause is None
    assert p.view["grace_ms"] == 2500 and p.view["metadata"] == {"team": "a"}
    assert p.view["tasks"]["worker"]["resources"] == {"gpu": 2}
    told = [json.loads(line) for rank in (0, 1) for line in p.logs(rank)]
    assert [t[:2] for t in told] == [["train", "0"], ["train", "1"]]
    assert sorted(t[2] for t in told) == ["0,1", "2,3"] and told[0][3] == "blue"
    assert [(r["rank"], r["task"], r["state"]) for r in p.ranks()] == [
        (0, "worker:0", "SUCCEEDED"), (1, "worker:1", "SUCCEEDED")]
    assert [a["attempt"] for a in p.attempts()] == [1]


def test_each_task_type_has_its_own_command_and_resources(url: str) -> None:
    p = muster.launch(["sh", "-c", "echo worker"], tasks={
        "worker": 2, "ps": {"count": 1, "command": ["sh", "-c", "echo ps"], "resources": {"gpu": 2}}},
        resources={"gpu": 1}, ends_with=["worker", "ps"])
    p.wait(DEADLINE)
    assert {r["task"]: r["resources"]["gpu"] for r in p.ranks()} == {"worker:0": 1, "worker:1": 1, "ps:0": 2}
    assert sorted(line for rank in range(3) for line in p.logs(rank)) == ["ps", "worker", "worker"]


def test_failure_of_a_program_is_raised_by_wait(url: str) -> None:
    p = muster.launch(["sh", "-c", "echo 'out of data' >&2; exit 3"], name="sad")
    with pytest.raises(muster.ProgramFailedError, match=r"sad \(prog_\w+\) is FAILED: .*worker:0.*\n.*out of data") as e:
        p.wait(DEADLINE)
    assert e.value.state == "FAILED" and e.value.program is p
    assert e.value.cause and e.value.cause["exit_status"] == 3
    assert e.value.cause["stderr"] == ["out of data"] and p.cause == e.value.cause


def test_stacks_of_ranks_name_their_lines(url: str) -> None:
    p = muster.launch(python("def waits_here():\n    import time; time.sleep(1000)\nwaits_here()"), tasks=2)

    def taken() -> Any:
        groups = p.stacks()
        return groups if [g["state"] for g in groups] == ["TAKEN"] and "waits_here" in groups[0]["stack"] else None
    (group,) = until(taken, "both are in one line")
    assert [r["task"] for r in group["ranks"]] == ["worker:0", "worker:1"]
    assert group["ranks"][0]["process"].startswith("S")
    p.cancel()


def test_program_that_cannot_be_placed_reports_the_reason(url: str, monkeypatch: pytest.MonkeyPatch,
                                                          caplog: pytest.LogCaptureFixture) -> None:
    until(lambda: bool(muster.Client(url).tasks()))
    p = muster.launch(["true"], name="large", resources={"gpu": 9})
    with pytest.raises(muster.WaitTimeout, match="large .* is PENDING, no worker that runs programs has gpu=9"):
        p.wait(0.05)
    monkeypatch.setattr("muster.rest.programs.SAY_AFTER", 0.1)
    with pytest.raises(muster.WaitTimeout):
        p.wait(1)
    (said,) = [r.getMessage() for r in caplog.records if r.name == "muster"]
    assert said == f"the program large ({p.id}) is PENDING: no worker that runs programs has gpu=9"
    p.cancel()
    with pytest.raises(muster.ProgramFailedError, match="is CANCELLED") as e:
        p.wait(DEADLINE)
    assert e.value.state == "CANCELLED"


def test_lines_are_followed_through_restarts(url: str, tmp_path: pathlib.Path) -> None:
    fifo = tmp_path / "go"
    script = (f"echo attempt $MUSTER_ATTEMPT; [ $MUSTER_ATTEMPT = 2 ] || {{ read line <{fifo}; exit 1; }}; "
              "printf 'no end'")
    subprocess.run(["mkfifo", str(fifo)], check=True)
    p = muster.launch(["sh", "-c", script], max_restarts=1)
    lines = p.logs(0, follow=True)
    assert next(lines) == "attempt 1"
    fifo.write_text("go\n")
    assert list(lines) == ["attempt 2", "no end"]
    assert p.state == "SUCCEEDED"
    assert p.logs(0) == list(p.logs(0, follow=True, attempt=2)) == ["attempt 2", "no end"]
    assert list(p.logs(0, follow=True)) == ["attempt 2", "no end"]
    with pytest.raises(muster.ServerError, match="has no rank 1; it has 1 rank"):
        list(p.logs(1, follow=True))
    assert [a["end"] for a in p.attempts()] == ["FAILED", "SUCCEEDED"]


def test_attempts_that_end_at_once_lose_no_lines(url: str) -> None:
    p = muster.launch(["sh", "-c", "seq -f \"$MUSTER_ATTEMPT.%g\" 300; [ $MUSTER_ATTEMPT = 3 ]"], max_restarts=2)
    lines = p.logs(0, follow=True)
    p.wait(DEADLINE)
    assert list(lines)[-600:] == [f"{a}.{n}" for a in (2, 3) for n in range(1, 301)]
    assert [p.logs(0, attempt=a)[-1] for a in (1, 2, 3)] == ["1.300", "2.300", "3.300"]


def test_program_is_stopped_restarted_and_found(url: str) -> None:
    p = muster.launch(["bash", "-c", "trap 'exit 0' TERM; echo here; sleep 600 & wait"], name="long")
    assert next(p.logs(follow=True)) == "here"
    found = muster.get_program("long")
    assert found.id == p.id and muster.get_program(p.id).name == "long"
    assert repr(found) == f"<muster.Program long ({p.id}) RUNNING>"
    assert p.restart() is p
    until(lambda: p.refresh()["attempt"] == 2 and p.logs() == ["here"], "the second attempt")
    stopped = threading.Thread(target=lambda: found.wait(DEADLINE))
    stopped.start()
    p.stop()
    stopped.join(DEADLINE)
    assert not stopped.is_alive() and p.state == "SUCCEEDED"
    other = muster.launch(["true"], name="other").wait(DEADLINE)
    assert [q.name for q in muster.programs()] == ["other", "long"]
    assert [q.id for q in muster.programs(1)] == [other.id]
    assert [q.id for q in muster.programs(state="FAILED")] == []
    with pytest.raises(muster.ServerError, match="there is no program 'none'"):
        muster.get_program("none")


EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "python" / "data_parallel_torch.py"


def python_with_torch() -> str:
    """Returns the Python of Debian's python3-torch, if it is installed. The package of PyPI takes a gigabyte."""
    system = "/usr/bin/python3"
    if subprocess.run([system, "-c", "import torch"], capture_output=True).returncode:
        assert os.environ.get("CI") != "true" or not EXAMPLE.is_file(), "python3-torch is not installed here"
        pytest.skip("SKIPPED, NOT RUN: python3-torch is not installed")
    return system


def test_data_parallel_pytorch_runs_as_a_program(url: str) -> None:
    if not EXAMPLE.is_file():
        pytest.skip("without the examples of the repository")
    p = muster.launch([python_with_torch(), str(EXAMPLE)], tasks=4)
    p.wait(120)
    assert [p.logs(rank) for rank in range(4)] == [
        [f"rank {rank} of 4: loss 0.0000, weights [0, 1, 2, 3, 4, 5, 6, 7]"] for rank in range(4)]


def test_sixty_four_ranks_of_a_shell_run(url: str) -> None:
    p = muster.launch(["sh", "-c", "echo $MUSTER_TASK_TYPE $RANK of $WORLD_SIZE"], tasks=64)
    p.wait(DEADLINE)
    assert [p.logs(rank) for rank in range(64)] == [[f"worker {rank} of 64"] for rank in range(64)]
    pids = {r["pid"] for r in p.ranks()}
    assert len(pids) == 64 and not [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]


def test_two_programs_that_need_more_than_half_each_both_end(url: str) -> None:
    both = [muster.launch(["true"], resources={"gpu": 3}, name=name) for name in ("one", "two")]
    for p in both:
        p.wait(DEADLINE)


def test_many_closures_do_not_starve_a_waiting_program(tmp_path: pathlib.Path,
                                                       workers: Workers) -> None:
    """The closures use the same resource, and more of them are always queued than have room."""
    server = Server(tmp_path)
    try:
        workers.start(server, "--resource", "gpu=4", "--slots", "4")
        client = muster.Client(server.http)
        closure = {"function": "muster.sleep", "args": [20], "options": {"resources": {"gpu": 1}}}
        flood = client.job(server.post("/api/v1/jobs", {"closures": [closure] * 2000})["id"])
        until(lambda: client.job(flood.id).view["counts"]["running"] == 4, "the flood runs")
        client.launch(["true"], tasks=2, resources={"gpu": 2}).wait(DEADLINE)
        counts = client.job(flood.id).view["counts"]
        assert counts["succeeded"] + counts["running"] < counts["total"], "all closures ended before the program started"
        flood.cancel()
        workers.stop()
    finally:
        server.stop()


def test_worker_hides_its_token_from_ranks(tmp_path: pathlib.Path, workers: Workers,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path)
    try:
        monkeypatch.setenv("MUSTER_TOKEN", "muster.the-secret")
        workers.start(server)
        p = muster.launch(["sh", "-c", "tr '\\0' '\\n' </proc/self/environ"], tasks=2, url=server.http)
        p.wait(DEADLINE)
        for rank in range(2):
            assert f"MUSTER_TASK_INDEX={rank}" in p.logs(rank)
            assert not [line for line in p.logs(rank) if "secret" in line or "TOKEN" in line]
        workers.stop()
    finally:
        server.stop()


def test_invalid_launches_are_refused(url: str) -> None:
    with pytest.raises(TypeError, match="a list of strings"):
        muster.launch("python train.py")
    with pytest.raises(muster.ServerError) as e:
        muster.launch(["true"], tasks={"worker": {"min": 3, "max": 2}})
    assert e.value.status == 422 and e.value.field
    with pytest.raises(muster.NoServer):
        muster.launch(["true"], url="http://127.0.0.1:1")


def test_launch_needs_a_token_and_repeats_with_the_same_key_are_one_program(guarded: Server, workers: Workers,
                                                                            tmp_path: pathlib.Path) -> None:
    workers.start(guarded, "--token", token(guarded, tmp_path, "worker"))
    words: dict[str, Any] = {"url": guarded.http}
    with pytest.raises(muster.ServerError, match="UNAUTHENTICATED"):
        muster.launch(["true"], **words)
    with pytest.raises(muster.ServerError, match="muster.exec|allow-exec"):
        muster.launch(["true"], token=token(guarded, tmp_path, "submitter"), **words)
    words["token"] = token(guarded, tmp_path, "submitter", "--allow-exec")
    p = muster.launch(["env"], idempotency_key="once", **words)
    p.wait(DEADLINE)
    assert not [line for line in p.logs() if "TOKEN" in line or "muster." in line]
    assert muster.Client(guarded.http, token=words["token"]).launch(["env"], idempotency_key="once").id == p.id
    assert [q.id for q in muster.programs(**words)] == [p.id]
    workers.stop()


def test_program_runs_over_tls(tmp_path: pathlib.Path, workers: Workers) -> None:
    server = SecureServer(tmp_path)
    try:
        who = server.who("worker")
        workers.start(server, "--ca", who["ca"], "--cert", who["cert"], "--key", who["key"])
        p = muster.launch(["true"], url=server.http, ca=who["ca"])
        p.wait(DEADLINE)
        assert muster.get_program(p.id, url=server.http, ca=who["ca"]).state == "SUCCEEDED"
        workers.stop()
    finally:
        server.stop()


def test_preloaded_modules_are_imported_once_for_all_ranks(url: str) -> None:
    code = "import os, sys; print(os.getppid(), 'csv' in sys.modules, sys.argv)"
    p = muster.launch([sys.executable, "-c", code, "x"], tasks=2, preload=["csv"]).wait(DEADLINE)
    assert p.view["preload"] == ["csv"]
    assert [r.get("not_preloaded") for r in p.ranks()] == [None, None]
    first, second = (p.logs(rank) for rank in (0, 1))
    assert first == second and first[0].endswith("True ['-c', 'x']")
    p = muster.launch([sys.executable, "-c", code], tasks=1, preload=["no_such"]).wait(DEADLINE)
    assert "No module named 'no_such'" in p.ranks()[0]["not_preloaded"]


def test_python_worker_refers_to_muster_worker_for_programs() -> None:
    done = subprocess.run([sys.executable, "-m", "muster", "worker", "--allow-programs"],
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert "also start 'muster worker --allow-programs'" in done.stderr
